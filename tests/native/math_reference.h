/* math_reference.h - what test_math.c and math_table.c share: the list of functions with their
 * exact counterparts and bounds, the distance in ULP, and pairs of arguments for pow. */
#ifndef SN_TESTS_MATH_REFERENCE_H
#define SN_TESTS_MATH_REFERENCE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double reference_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static inline long double reference_sigmoidl(long double x) { return 1 / (1 + expl(-x)); }

/* name, float64 reference, long double reference, bound in ULP of float32 and of float64 */
#define MATH_UNARY(ROW)                                     \
  ROW(exp, exp, expl, 1, 1)                                 \
  ROW(log, log, logl, 1, 1)                                 \
  ROW(log1p, log1p, log1pl, 1, 1)                           \
  ROW(tanh, tanh, tanhl, 2, 2)                              \
  ROW(sigmoid, reference_sigmoid, reference_sigmoidl, 2, 2) \
  ROW(erf, erf, erfl, 2, 2)                                 \
  ROW(sin, sin, sinl, 1, 1)                                 \
  ROW(cos, cos, cosl, 1, 1)

static inline float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline double double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* |got - exact| in units of the last place that float32 has at exact. An infinite got counts as
 * 2^128, so overflow at the right place costs at most half a unit; a NaN on one side only costs
 * infinity. */
static inline double ulp_f32(float got, double exact) {
  if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0 : INFINITY;
  if (isinf(exact)) return exact == (double)got ? 0 : INFINITY;
  const int exponent = (int)(bits_of(exact) >> 52 & 0x7ff) - 1023;
  const int place = (exponent < -126 ? -126 : exponent > 127 ? 127 : exponent) - 23;
  const double per_ulp = double_of((uint64_t)(1023 - place) << 52);
  const double value = isinf(got) ? (got > 0 ? 0x1p128 : -0x1p128) : (double)got;
  if (fabs(exact) >= 0x1p128 && isinf(got)) return value * exact > 0 ? 0 : INFINITY;
  return fabs(value - exact) * per_ulp;
}

static inline double ulp_f64(double got, long double exact) {
  if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0 : INFINITY;
  if (isinf(exact)) return exact == (long double)got ? 0 : INFINITY;
  int exponent;
  frexpl(exact, &exponent);
  const int place = (exponent - 1 < -1022 ? -1022 : exponent - 1 > 1023 ? 1023 : exponent - 1) - 52;
  const long double value = isinf(got) ? (got > 0 ? 0x1p1024L : -0x1p1024L) : (long double)got;
  if (fabsl(exact) >= 0x1p1024L && isinf(got)) return value * exact > 0 ? 0 : INFINITY;
  return (double)ldexpl(fabsl(value - exact), -place);
}

/* Well mixed bits of a counter (splitmix64). */
static inline uint64_t mixed(uint64_t counter) {
  uint64_t z = counter + UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* An exponent for x: three of four times so that x^y is anywhere in float32's range, else any
 * float. */
static inline float pow_exponent(float x, uint64_t counter) {
  const uint64_t random = mixed(counter);
  if ((random & 3) == 0) return float_of((uint32_t)(random >> 32));
  const double target = (double)(random >> 32) * 0x1p-32 * 284 - 154;
  const double y = target / log2(fabs((double)x));
  return (float)((random & 3) == 1 ? nearbyint(y) : y);
}

#endif
