#include <string.h>

#include "kernels/call.h"

#define COPY(T)                                          \
  for (int64_t i = 0; i < n; i++) {                      \
    const T *x = (const T *)from->data + i * from->along; \
    T *y = (T *)to->data + i * to->along;                \
    for (int64_t k = 0; k < width; k++) y[k * to->across] = x[k * from->across]; \
  }                                                      \
  break

void sn_copy_lines(sn_dtype dtype, const sn_lines *from, const sn_lines *to, int64_t n,
                   int64_t width) {
  const size_t bytes = sn_dtype_bytes(dtype);
  if (width == 1 && from->along == 1 && to->along == 1) {
    memcpy(to->data, from->data, (size_t)n * bytes);
    return;
  }
  switch (bytes) {
  case 1: COPY(uint8_t);
  case 2: COPY(uint16_t);
  case 4: COPY(uint32_t);
  default: COPY(uint64_t);
  }
}
