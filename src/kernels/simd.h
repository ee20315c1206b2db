/* simd.h - vectors of SN_SIMD_BYTES bytes (16, 32 or 64; 16 if not defined) on the compilers'
 * vector extensions, and Sinter's own functions on them: sn_vf32_exp(fused, vf32),
 * sn_vf64_exp(vf64), and likewise log, log1p, tanh, sigmoid, erf, sin, cos and pow(x, y); bit for
 * bit what math/scalar_math.h computes.
 *
 * A translation unit is compiled once per instruction set, with SN_SIMD_BYTES and the compiler's
 * flags to match; the same text serves SSE2, AVX2, AVX-512, NEON and wasm SIMD128. Everything is
 * static inline, so the instances never meet in the linker. Arithmetic and comparisons are C's own
 * operators on the types; comparisons give masks (lanes of all or no bits) of type vi32 or vi64. */
#ifndef SN_KERNELS_SIMD_H
#define SN_KERNELS_SIMD_H

#include <stdint.h>
#include <string.h>

#include "math/scalar_words.h"

#ifndef SN_SIMD_BYTES
#define SN_SIMD_BYTES 16
#endif

#define SN_VECTOR __attribute__((vector_size(SN_SIMD_BYTES)))
#define SN_HALF_VECTOR __attribute__((vector_size(SN_SIMD_BYTES / 2)))
typedef float vf32 SN_VECTOR;
typedef int32_t vi32 SN_VECTOR;
typedef uint32_t vu32 SN_VECTOR;
typedef double vf64 SN_VECTOR;
typedef int64_t vi64 SN_VECTOR;
typedef uint64_t vu64 SN_VECTOR;
typedef float vf32_half SN_HALF_VECTOR; /* as many lanes as vf64 */
#undef SN_VECTOR
#undef SN_HALF_VECTOR

enum { SN_LANES_F32 = SN_SIMD_BYTES / 4, SN_LANES_F64 = SN_SIMD_BYTES / 8 };

/* ---- load, store, splat ---- */

/* From and to any address, aligned or not. */
static inline vf32 sn_vf32_load(const float *p) {
  vf32 v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline vi32 sn_vi32_load(const int32_t *p) {
  vi32 v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline vf64 sn_vf64_load(const double *p) {
  vf64 v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void sn_vf32_store(float *p, vf32 v) { memcpy(p, &v, sizeof v); }
static inline void sn_vi32_store(int32_t *p, vi32 v) { memcpy(p, &v, sizeof v); }
static inline void sn_vf64_store(double *p, vf64 v) { memcpy(p, &v, sizeof v); }

/* x - 0 is x for every x, -0 included; x + 0 is not. */
static inline vf32 sn_vf32_splat(float x) { return x - (vf32){0}; }
static inline vf64 sn_vf64_splat(double x) { return x - (vf64){0}; }
static inline vi32 sn_vi32_splat(int32_t x) { return x - (vi32){0}; }
static inline vu32 sn_vu32_splat(uint32_t x) { return x - (vu32){0}; }
static inline vu64 sn_vu64_splat(uint64_t x) { return x - (vu64){0}; }

/* ---- masks: a where the mask is set, else b (compilers make blends of it) ---- */

static inline vu32 sn_vu32_select(vi32 mask, vu32 a, vu32 b) {
  return (a & (vu32)mask) | (b & ~(vu32)mask);
}
static inline vi32 sn_vi32_select(vi32 mask, vi32 a, vi32 b) { return (a & mask) | (b & ~mask); }
static inline vf32 sn_vf32_select(vi32 mask, vf32 a, vf32 b) {
  return (vf32)(((vi32)a & mask) | ((vi32)b & ~mask));
}
static inline vu64 sn_vu64_select(vi64 mask, vu64 a, vu64 b) {
  return (a & (vu64)mask) | (b & ~(vu64)mask);
}
static inline vf64 sn_vf64_select(vi64 mask, vf64 a, vf64 b) {
  return (vf64)(((vi64)a & mask) | ((vi64)b & ~mask));
}

#if defined(__wasm_simd128__) && SN_SIMD_BYTES == 16
static inline int sn_vi64_any(vi64 mask) { return __builtin_wasm_any_true_v128(mask); }
#else
static inline int sn_vi64_any(vi64 mask) {
  int64_t any = 0;
  for (int i = 0; i < SN_LANES_F64; i++) any |= mask[i];
  return any != 0;
}
#endif
static inline int sn_vi32_any(vi32 mask) { return sn_vi64_any((vi64)mask); }

/* ---- square root, and the smaller and the larger of two, where compilers need to be told ---- */

#if defined(__wasm_simd128__) && SN_SIMD_BYTES == 16
static inline vf32 sn_vf32_sqrt(vf32 a) { return __builtin_wasm_sqrt_f32x4(a); }
static inline vf64 sn_vf64_sqrt(vf64 a) { return __builtin_wasm_sqrt_f64x2(a); }
#elif defined(__AVX512F__) && SN_SIMD_BYTES == 64
#include <immintrin.h>
static inline vf32 sn_vf32_sqrt(vf32 a) { return (vf32)_mm512_sqrt_ps((__m512)a); }
static inline vf64 sn_vf64_sqrt(vf64 a) { return (vf64)_mm512_sqrt_pd((__m512d)a); }
#elif defined(__AVX__) && SN_SIMD_BYTES == 32
static inline vf32 sn_vf32_sqrt(vf32 a) { return __builtin_ia32_sqrtps256(a); }
static inline vf64 sn_vf64_sqrt(vf64 a) { return __builtin_ia32_sqrtpd256(a); }
#elif defined(__SSE2__) && SN_SIMD_BYTES == 16
static inline vf32 sn_vf32_sqrt(vf32 a) { return __builtin_ia32_sqrtps(a); }
static inline vf64 sn_vf64_sqrt(vf64 a) { return __builtin_ia32_sqrtpd(a); }
#else
static inline vf32 sn_vf32_sqrt(vf32 a) {
  for (int i = 0; i < SN_LANES_F32; i++) a[i] = __builtin_sqrtf(a[i]);
  return a;
}
static inline vf64 sn_vf64_sqrt(vf64 a) {
  for (int i = 0; i < SN_LANES_F64; i++) a[i] = __builtin_sqrt(a[i]);
  return a;
}
#endif

/* pmin: b < a ? b : a, pmax: a < b ? b : a. Compilers have to be told: from the select, Clang makes f32x4.min, which engines
 * lower to many instructions on x86, where f32x4.pmin becomes one; and GCC makes a comparison and a blend, though x86's own
 * minimum is just that select. */
#if defined(__wasm_simd128__) && SN_SIMD_BYTES == 16
static inline vf32 sn_vf32_pmin(vf32 a, vf32 b) { return __builtin_wasm_pmin_f32x4(a, b); }
static inline vf32 sn_vf32_pmax(vf32 a, vf32 b) { return __builtin_wasm_pmax_f32x4(a, b); }
static inline vf64 sn_vf64_pmin(vf64 a, vf64 b) { return __builtin_wasm_pmin_f64x2(a, b); }
static inline vf64 sn_vf64_pmax(vf64 a, vf64 b) { return __builtin_wasm_pmax_f64x2(a, b); }
#elif defined(__AVX512F__) && SN_SIMD_BYTES == 64
static inline vf32 sn_vf32_pmin(vf32 a, vf32 b) { return (vf32)_mm512_min_ps((__m512)b, (__m512)a); }
static inline vf32 sn_vf32_pmax(vf32 a, vf32 b) { return (vf32)_mm512_max_ps((__m512)b, (__m512)a); }
static inline vf64 sn_vf64_pmin(vf64 a, vf64 b) {
  return (vf64)_mm512_min_pd((__m512d)b, (__m512d)a);
}
static inline vf64 sn_vf64_pmax(vf64 a, vf64 b) {
  return (vf64)_mm512_max_pd((__m512d)b, (__m512d)a);
}
#elif defined(__AVX__) && SN_SIMD_BYTES == 32
static inline vf32 sn_vf32_pmin(vf32 a, vf32 b) { return __builtin_ia32_minps256(b, a); }
static inline vf32 sn_vf32_pmax(vf32 a, vf32 b) { return __builtin_ia32_maxps256(b, a); }
static inline vf64 sn_vf64_pmin(vf64 a, vf64 b) { return __builtin_ia32_minpd256(b, a); }
static inline vf64 sn_vf64_pmax(vf64 a, vf64 b) { return __builtin_ia32_maxpd256(b, a); }
#elif defined(__SSE2__) && SN_SIMD_BYTES == 16
static inline vf32 sn_vf32_pmin(vf32 a, vf32 b) { return __builtin_ia32_minps(b, a); }
static inline vf32 sn_vf32_pmax(vf32 a, vf32 b) { return __builtin_ia32_maxps(b, a); }
static inline vf64 sn_vf64_pmin(vf64 a, vf64 b) { return __builtin_ia32_minpd(b, a); }
static inline vf64 sn_vf64_pmax(vf64 a, vf64 b) { return __builtin_ia32_maxpd(b, a); }
#else
static inline vf32 sn_vf32_pmin(vf32 a, vf32 b) { return sn_vf32_select(b < a, b, a); }
static inline vf32 sn_vf32_pmax(vf32 a, vf32 b) { return sn_vf32_select(a < b, b, a); }
static inline vf64 sn_vf64_pmin(vf64 a, vf64 b) { return sn_vf64_select(b < a, b, a); }
static inline vf64 sn_vf64_pmax(vf64 a, vf64 b) { return sn_vf64_select(a < b, b, a); }
#endif

/* ---- to integers: ties to even, down, toward zero; -0 and integers stay as they are ---- */

#if defined(__wasm_simd128__) && SN_SIMD_BYTES == 16
#define SN_DEFINE_ROUNDING(V, shape)                                                \
  static inline V sn_##V##_round(V a) { return __builtin_wasm_nearest_##shape(a); } \
  static inline V sn_##V##_floor(V a) { return __builtin_wasm_floor_##shape(a); }   \
  static inline V sn_##V##_trunc(V a) { return __builtin_wasm_trunc_##shape(a); }
SN_DEFINE_ROUNDING(vf32, f32x4)
SN_DEFINE_ROUNDING(vf64, f64x2)
#elif defined(__AVX512F__) && SN_SIMD_BYTES == 64
static inline vf32 sn_vf32_round(vf32 a) { return (vf32)_mm512_roundscale_ps((__m512)a, 8); }
static inline vf32 sn_vf32_floor(vf32 a) { return (vf32)_mm512_roundscale_ps((__m512)a, 9); }
static inline vf32 sn_vf32_trunc(vf32 a) { return (vf32)_mm512_roundscale_ps((__m512)a, 11); }
static inline vf64 sn_vf64_round(vf64 a) { return (vf64)_mm512_roundscale_pd((__m512d)a, 8); }
static inline vf64 sn_vf64_floor(vf64 a) { return (vf64)_mm512_roundscale_pd((__m512d)a, 9); }
static inline vf64 sn_vf64_trunc(vf64 a) { return (vf64)_mm512_roundscale_pd((__m512d)a, 11); }
#elif defined(__AVX__) && SN_SIMD_BYTES == 32
static inline vf32 sn_vf32_round(vf32 a) { return __builtin_ia32_roundps256(a, 8); }
static inline vf32 sn_vf32_floor(vf32 a) { return __builtin_ia32_roundps256(a, 9); }
static inline vf32 sn_vf32_trunc(vf32 a) { return __builtin_ia32_roundps256(a, 11); }
static inline vf64 sn_vf64_round(vf64 a) { return __builtin_ia32_roundpd256(a, 8); }
static inline vf64 sn_vf64_floor(vf64 a) { return __builtin_ia32_roundpd256(a, 9); }
static inline vf64 sn_vf64_trunc(vf64 a) { return __builtin_ia32_roundpd256(a, 11); }
#elif defined(__SSE4_1__) && SN_SIMD_BYTES == 16
static inline vf32 sn_vf32_round(vf32 a) { return __builtin_ia32_roundps(a, 8); }
static inline vf32 sn_vf32_floor(vf32 a) { return __builtin_ia32_roundps(a, 9); }
static inline vf32 sn_vf32_trunc(vf32 a) { return __builtin_ia32_roundps(a, 11); }
static inline vf64 sn_vf64_round(vf64 a) { return __builtin_ia32_roundpd(a, 8); }
static inline vf64 sn_vf64_floor(vf64 a) { return __builtin_ia32_roundpd(a, 9); }
static inline vf64 sn_vf64_trunc(vf64 a) { return __builtin_ia32_roundpd(a, 11); }
#elif defined(__aarch64__) && SN_SIMD_BYTES == 16
#include <arm_neon.h>
static inline vf32 sn_vf32_round(vf32 a) { return (vf32)vrndnq_f32((float32x4_t)a); }
static inline vf32 sn_vf32_floor(vf32 a) { return (vf32)vrndmq_f32((float32x4_t)a); }
static inline vf32 sn_vf32_trunc(vf32 a) { return (vf32)vrndq_f32((float32x4_t)a); }
static inline vf64 sn_vf64_round(vf64 a) { return (vf64)vrndnq_f64((float64x2_t)a); }
static inline vf64 sn_vf64_floor(vf64 a) { return (vf64)vrndmq_f64((float64x2_t)a); }
static inline vf64 sn_vf64_trunc(vf64 a) { return (vf64)vrndq_f64((float64x2_t)a); }
#else
/* From WHOLE on every number is an integer; adding it leaves no fraction bits. */
#define SN_DEFINE_ROUNDING(V, I, WHOLE, SIGN)                                      \
  static inline V sn_##V##_round(V a) {                                            \
    const V magnitude = (V)((I)a & ~SIGN), rounded = (magnitude + WHOLE) - WHOLE;  \
    return sn_##V##_select(magnitude < WHOLE, (V)((I)rounded | ((I)a & SIGN)), a); \
  }                                                                                \
  static inline V sn_##V##_floor(V a) {                                            \
    const V rounded = sn_##V##_round(a);                                           \
    return sn_##V##_select(a < rounded, rounded - 1, rounded);                     \
  }                                                                                \
  static inline V sn_##V##_trunc(V a) {                                            \
    const V down = sn_##V##_floor((V)((I)a & ~SIGN));                              \
    return (V)((I)down | ((I)a & SIGN));                                           \
  }
SN_DEFINE_ROUNDING(vf32, vi32, 0x1p23f, INT32_MIN)
SN_DEFINE_ROUNDING(vf64, vi64, 0x1p52, INT64_MIN)
#endif
#undef SN_DEFINE_ROUNDING

/* ---- conversions ---- */

static inline vf32 sn_vf32_from_vi32(vi32 a) { return __builtin_convertvector(a, vf32); }

/* Toward zero; saturates, NaN gives 0. Out-of-range lanes never reach the instruction. */
static inline vi32 sn_vi32_from_vf32(vf32 a) {
  const vi32 above = a >= 0x1p31f;
  const vi32 inside = ~above & (a >= -0x1p31f);
  const vi32 below = a < -0x1p31f;
  const vf32 safe = (vf32)((vi32)a & inside);
  return __builtin_convertvector(safe, vi32) | (above & INT32_MAX) | (below & INT32_MIN);
}

/* The lower and the upper half of a's lanes, widened; and back, rounded. */
static inline vf64 sn_vf64_from_low(vf32 a) {
  vf32_half half;
  memcpy(&half, &a, sizeof half);
  return __builtin_convertvector(half, vf64);
}
static inline vf64 sn_vf64_from_high(vf32 a) {
  vf32_half half;
  memcpy(&half, (const char *)&a + sizeof half, sizeof half);
  return __builtin_convertvector(half, vf64);
}
static inline vf32 sn_vf32_from_vf64(vf64 low, vf64 high) {
  const vf32_half halves[2] = {__builtin_convertvector(low, vf32_half),
                               __builtin_convertvector(high, vf32_half)};
  vf32 v;
  memcpy(&v, halves, sizeof v);
  return v;
}

/* ---- functions ---- */

#if defined(__AVX512F__) && SN_SIMD_BYTES == 64
static inline vf32 sn_vf32_fused_madd(vf32 a, vf32 b, vf32 c) {
  return (vf32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
#elif defined(__FMA__) && SN_SIMD_BYTES == 32
static inline vf32 sn_vf32_fused_madd(vf32 a, vf32 b, vf32 c) {
  return __builtin_ia32_vfmaddps256(a, b, c);
}
#elif defined(__FMA__) && SN_SIMD_BYTES == 16
static inline vf32 sn_vf32_fused_madd(vf32 a, vf32 b, vf32 c) {
  return __builtin_ia32_vfmaddps(a, b, c);
}
#elif defined(__aarch64__) && SN_SIMD_BYTES == 16
static inline vf32 sn_vf32_fused_madd(vf32 a, vf32 b, vf32 c) {
  return (vf32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
#elif defined(__FMA__)
static inline vf32 sn_vf32_fused_madd(vf32 a, vf32 b, vf32 c) {
  for (int i = 0; i < SN_LANES_F32; i++) a[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return a;
}
#else
/* a b + c rounded to odd, as in sn_f32_fused_madd: a and b are float32 numbers, so that a b is exact. */
static inline vf64 sn_vf64_madd_to_odd(vf64 a, vf64 b, vf64 c) {
  const vf64 product = a * b, sum = product + c, back = sum - product;
  const vf64 error = (product - (sum - back)) + (c - back);
  const vi64 away = (error < 0) - (error > 0), not_above = ~(sum > 0), bits = (vi64)sum;
  const vi64 step = (away ^ not_above) - not_above, even = (bits & 1) - 1;
  return (vf64)(bits + (step & even));
}
/* Not inline, as functions contain many of these. */
__attribute__((noinline)) static vf32 sn_vf32_fused_madd(vf32 a, vf32 b, vf32 c) {
  const vf64 low =
      sn_vf64_madd_to_odd(sn_vf64_from_low(a), sn_vf64_from_low(b), sn_vf64_from_low(c));
  const vf64 high =
      sn_vf64_madd_to_odd(sn_vf64_from_high(a), sn_vf64_from_high(b), sn_vf64_from_high(c));
  return sn_vf32_from_vf64(low, high);
}
#endif
/* The choice is inline, so that plain functions keep their speed. */
__attribute__((always_inline)) static inline vf32 sn_vf32_madd(bool fused, vf32 a, vf32 b, vf32 c) {
  return fused ? sn_vf32_fused_madd(a, b, c) : a * b + c;
}

/* A constant of a function. If GCC knows its value, it broadcasts it before each use, though an AVX2 operation could take all
 * lanes from memory itself. The attribute `used` hides the value. */
#if defined(__AVX2__) && SN_SIMD_BYTES == 32 && !defined(__clang__)
#define SN_VF32_CONST(c)                                                    \
  (__extension__({                                                          \
    static vf32 constant __attribute__((used)) = {(float)(c), (float)(c), (float)(c), (float)(c), \
                                                  (float)(c), (float)(c), (float)(c), (float)(c)}; \
    constant;                                                               \
  }))
#else
#define SN_VF32_CONST(c) sn_vf32_splat((float)(c))
#endif

#define SN_WORDS_VF32
#include "math/words.h"

#include "math/expand_f32.inc"

#define SN_WORDS_VF64
#include "math/words.h"

#include "math/expand_f64.inc"

#include "math/words.h" /* removes them */

#endif
