/* pack_small.c - packing of small dtypes: their bits, each in 32, for the strip kernel that makes
 * values of them in place (sn_gemm_walk). Bytes come without their sign. */
#include <string.h>

#include "kernels/pack.h"

enum { LANES = 4 };
typedef int32_t lanes __attribute__((vector_size(LANES * 4)));

/* Rows of whole vectors where elements across are adjacent; else one by one, zeros past width. */
#define DEFINE_GATHER(T)                                                                        \
  static void gather_##T(int32_t *to, const T *from, const ptrdiff_t *offsets, ptrdiff_t width, \
                         ptrdiff_t k, ptrdiff_t ws, ptrdiff_t ks, int panel) {                  \
    typedef T few __attribute__((vector_size(LANES * sizeof(T))));                              \
    const bool rows = ws == 1 && !offsets && width == panel && panel % LANES == 0;              \
    for (; k > 0; k--, from += ks, to += panel) {                                               \
      ptrdiff_t w = 0;                                                                          \
      for (; rows && w < width; w += LANES) {                                                   \
        few bits;                                                                               \
        memcpy(&bits, from + w, sizeof bits);                                                   \
        const lanes wide = __builtin_convertvector(bits, lanes);                                \
        memcpy(to + w, &wide, sizeof wide);                                                     \
      }                                                                                         \
      for (; w < width; w++) to[w] = from[offsets ? offsets[w] : w * ws];                       \
      for (; w < panel; w++) to[w] = 0;                                                         \
    }                                                                                           \
  }

DEFINE_GATHER(uint8_t)
DEFINE_GATHER(uint16_t)

void sn_pack_small(sn_dtype dtype, void *panels_out, const void *source, const ptrdiff_t *offsets,
                   int64_t width, int64_t k, ptrdiff_t ws, ptrdiff_t ks, int panel, int64_t ld) {
  int32_t *to = panels_out;
  const char *from = source;
  const ptrdiff_t item = (ptrdiff_t)sn_dtype_bytes(dtype);
  for (; width > 0; width -= panel, to += ld) {
    const ptrdiff_t n = (ptrdiff_t)(width < panel ? width : panel);
    if (item == 1)
      gather_uint8_t(to, (const void *)from, offsets, n, (ptrdiff_t)k, ws, ks, panel);
    else
      gather_uint16_t(to, (const void *)from, offsets, n, (ptrdiff_t)k, ws, ks, panel);
    from += panel * ws * item;
  }
}
