/* position.h - what an index that memory tells means. */
#ifndef SN_KERNELS_POSITION_H
#define SN_KERNELS_POSITION_H

#include <stdint.h>

/* The position that an index names among n. */
static inline int64_t sn_position(int32_t index, int64_t n) {
  const int64_t at = index < 0 ? index + n : index;
  return at < 0 ? 0 : at >= n ? n - 1 : at;
}

#endif
