/* position.h - the position that an index read from memory stands for, as op gather has it. */
#ifndef SN_KERNELS_POSITION_H
#define SN_KERNELS_POSITION_H

#include <stdint.h>

/* Among n positions; a negative index counts from the end, one that is still outside is clamped. */
static inline int64_t sn_position(int32_t index, int64_t n) {
  const int64_t at = index < 0 ? index + n : index;
  return at < 0 ? 0 : at >= n ? n - 1 : at;
}

#endif
