/* scalar_math.h - Sinter's own functions for single values: sn_f32_exp(float), sn_f64_exp(double),
 * and likewise all that the expansions define. Used by the reference kernels and by constant
 * folding; bit for bit what simd.h computes (NaN payloads aside). Accuracy:
 * see the heads of graph/expand_f32.inc and expand_f64.inc. */
#ifndef SN_KERNELS_SCALAR_MATH_H
#define SN_KERNELS_SCALAR_MATH_H

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

static inline float sn_f32_round(float x) { return __builtin_rintf(x); }
static inline float sn_f32_floor(float x) { return __builtin_floorf(x); }
static inline float sn_f32_trunc(float x) { return __builtin_truncf(x); }
static inline double sn_f64_round(double x) { return __builtin_rint(x); }
static inline double sn_f64_floor(double x) { return __builtin_floor(x); }
static inline double sn_f64_trunc(double x) { return __builtin_trunc(x); }

#define SN_WORDS_F32
#include "graph/words.h"

#include "graph/expand_f32.inc"

#define SN_WORDS_F64
#include "graph/words.h"

#include "graph/expand_f64.inc"

#include "graph/words.h" /* removes them */

#endif
