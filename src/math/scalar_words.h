/* scalar_words.h - the small functions that the scalar words of words.h use. */
#ifndef SN_MATH_SCALAR_WORDS_H
#define SN_MATH_SCALAR_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t sn_f32_to_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float sn_f32_from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline uint64_t sn_f64_to_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline double sn_f64_from_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* a b + c rounded once, without a machine instruction for it: the product is exact in float64; the
 * sum is rounded to odd there, so rounding it to float32 gives the same as rounding once. */
static inline float sn_f32_fused_madd(float a, float b, float c) {
  const double product = (double)a * (double)b, addend = (double)c, sum = product + addend;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (addend - back);
  uint64_t bits = sn_f64_to_bits(sum);
  const bool even = !(bits & 1);
  if (even && error > 0) bits += sum > 0 ? 1 : -UINT64_C(1);
  if (even && error < 0) bits += sum > 0 ? -UINT64_C(1) : 1;
  return (float)sn_f64_from_bits(bits);
}
static inline float sn_f32_madd(bool fused, float a, float b, float c) {
  return fused ? sn_f32_fused_madd(a, b, c) : a * b + c;
}

static inline float sn_f32_round(float x) { return __builtin_rintf(x); }
static inline float sn_f32_floor(float x) { return __builtin_floorf(x); }
static inline float sn_f32_trunc(float x) { return __builtin_truncf(x); }
static inline double sn_f64_round(double x) { return __builtin_rint(x); }
static inline double sn_f64_floor(double x) { return __builtin_floor(x); }
static inline double sn_f64_trunc(double x) { return __builtin_trunc(x); }

#endif
