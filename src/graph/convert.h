/* convert.h - what astype does to single values, the same everywhere. Float to int truncates and
 * saturates, and NaN gives 0; anything to bool is "not equal 0" (NaN is true). Storage dtypes are
 * cast from and to their wide dtype only: float16 and bfloat16 round to nearest even; int8 and uint8
 * wrap an int32. A float that is stored as one of the latter directly truncates and saturates. */
#ifndef SN_GRAPH_CONVERT_H
#define SN_GRAPH_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

static inline int32_t sn_i32_from_f64(double x) {
  if (x != x) return 0;
  if (x >= 2147483648.0) return INT32_MAX;
  if (x <= -2147483649.0) return INT32_MIN;
  return (int32_t)x;
}

/* x truncated to an integer and clamped to lo .. hi. */
static inline int32_t sn_within(double x, int32_t lo, int32_t hi) {
  const int32_t i = sn_i32_from_f64(x);
  return i < lo ? lo : i > hi ? hi : i;
}

#endif
