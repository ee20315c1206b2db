/* size.h - the one checked-arithmetic API for sizes. Every product or sum of sizes that comes from
 * a user goes through it; an overflow is SN_ERR_MEMORY before anything is allocated. */
#ifndef SN_BASE_SIZE_H
#define SN_BASE_SIZE_H

#include "base/env.h"

static inline bool sn_size_mul_overflows(size_t a, size_t b, size_t *out) {
  return __builtin_mul_overflow(a, b, out);
}

static inline bool sn_size_add_overflows(size_t a, size_t b, size_t *out) {
  return __builtin_add_overflow(a, b, out);
}

static inline bool sn_int_mul_overflows(int64_t a, int64_t b, int64_t *out) {
  return __builtin_mul_overflow(a, b, out);
}

static inline bool sn_int_add_overflows(int64_t a, int64_t b, int64_t *out) {
  return __builtin_add_overflow(a, b, out);
}

/* Rounds up to a multiple of unit (a power of two); false on overflow. */
static inline bool sn_size_round_up(size_t bytes, size_t unit, size_t *out) {
  size_t sum;
  if (__builtin_add_overflow(bytes, unit - 1, &sum)) return false;
  *out = sum & ~(unit - 1);
  return true;
}

#endif
