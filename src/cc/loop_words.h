/* loop_words.h - the C text that every compiled loop begins with (loop_text.h): WebAssembly's instructions as functions, by
 * the words in which the functions of math/ are written. scripts/embed.mjs puts it, with all that it includes, into the
 * library as text. SN_SIMD_BYTES is 16.
 *
 * Operands come first, then immediates. Addresses need not be aligned. */
#define INFINITY __builtin_inff()

#include "jit/lane_words.h"
#include "kernels/simd.h"

#define EXPORT __attribute__((visibility("default")))
#define WORD static inline __attribute__((always_inline))

typedef vu32 v128;
typedef int8_t vi8 __attribute__((vector_size(16)));
typedef uint8_t vu8 __attribute__((vector_size(16)));
typedef int16_t vi16 __attribute__((vector_size(16)));
typedef uint16_t vu16 __attribute__((vector_size(16)));

/* ---- scalar integers: counts, addresses, single lanes ---- */

#define COMPARE(id, T, op) \
  WORD intptr_t id(intptr_t a, intptr_t b) { return (T)a op(T) b; }
COMPARE(i32_eq, intptr_t, ==)
COMPARE(i32_ne, intptr_t, !=)
COMPARE(i32_lt_s, intptr_t, <)
COMPARE(i32_gt_s, intptr_t, >)
COMPARE(i32_ge_s, intptr_t, >=)
COMPARE(i32_lt_u, uint32_t, <)
COMPARE(i32_gt_u, uint32_t, >)
COMPARE(i32_le_u, uint32_t, <=)
COMPARE(i32_ge_u, uint32_t, >=)
WORD intptr_t i32_eqz(intptr_t a) { return !a; }
WORD intptr_t i32_add(intptr_t a, intptr_t b) { return a + b; }
WORD intptr_t i32_sub(intptr_t a, intptr_t b) { return a - b; }

/* Instructions on single lanes: 32 bits, which wrap around. */
#define LANES(id, expr)                              \
  WORD intptr_t id(intptr_t x, intptr_t y) {         \
    const uint32_t a = (uint32_t)x, b = (uint32_t)y; \
    return (int32_t)(expr);                          \
  }
LANES(i32_mul, a *b)
LANES(i32_div_u, a / b)
LANES(i32_rem_u, a % b)
LANES(i32_and, a &b)
LANES(i32_or, a | b)
LANES(i32_shl, a << (b & 31))
LANES(i32_shr_s, (int32_t)a >> (b & 31))
LANES(i32_shr_u, a >> (b & 31))

/* ---- memory ---- */

/* Loads an entry of the table of addresses. In WebAssembly an entry has 4 bytes, which the offset counts. */
WORD intptr_t i32_load(intptr_t at, uint32_t offset) { return ((const intptr_t *)at)[offset / 4]; }
WORD intptr_t i32_load8_u(intptr_t at, uint32_t offset) { return ((const uint8_t *)at)[offset]; }
WORD void i32_store(intptr_t at, intptr_t x, uint32_t offset) {
  const int32_t value = (int32_t)x;
  memcpy((char *)at + offset, &value, sizeof value);
}
WORD void i32_store8(intptr_t at, intptr_t x, uint32_t offset) {
  ((uint8_t *)at)[offset] = (uint8_t)x;
}

#define LOAD(id, T, expr)                            \
  WORD v128 id(intptr_t at, uint32_t offset) {       \
    T x;                                             \
    memcpy(&x, (const char *)at + offset, sizeof x); \
    return (v128)(expr);                             \
  }
LOAD(v128_load, v128, x)
LOAD(v128_load8_splat, uint8_t, x - (vu8){0})
LOAD(v128_load16_splat, uint16_t, x - (vu16){0})
LOAD(v128_load32_splat, uint32_t, sn_vu32_splat(x))
LOAD(v128_load64_splat, uint64_t, sn_vu64_splat(x))
LOAD(v128_load32_zero, uint32_t, ((vu32){x}))
LOAD(v128_load64_zero, uint64_t, ((vu64){x}))
WORD v128 i32x4_load16x4_u(intptr_t at, uint32_t offset) {
  uint16_t x[4];
  memcpy(x, (const char *)at + offset, sizeof x);
  return (v128){x[0], x[1], x[2], x[3]};
}

WORD void v128_store(intptr_t at, v128 v, uint32_t offset) {
  memcpy((char *)at + offset, &v, sizeof v);
}

#define LANE(bits, V)                                                                      \
  WORD v128 v128_load##bits##_lane(intptr_t at, v128 v, uint32_t offset, uint32_t lane) {  \
    V lanes = (V)v;                                                                        \
    uint##bits##_t x;                                                                      \
    memcpy(&x, (const char *)at + offset, sizeof x);                                       \
    lanes[lane] = x;                                                                       \
    return (v128)lanes;                                                                    \
  }                                                                                        \
  WORD void v128_store##bits##_lane(intptr_t at, v128 v, uint32_t offset, uint32_t lane) { \
    const uint##bits##_t x = ((V)v)[lane];                                                 \
    memcpy((char *)at + offset, &x, sizeof x);                                             \
  }
LANE(8, vu8)
LANE(16, vu16)
LANE(32, vu32)
LANE(64, vu64)

/* ---- lanes ---- */

WORD v128 i32x4_splat(intptr_t a) { return sn_vu32_splat((uint32_t)a); }
WORD intptr_t i32x4_extract_lane(v128 v, uint32_t lane) { return (int32_t)v[lane]; }
WORD v128 i32x4_replace_lane(v128 v, intptr_t a, uint32_t lane) {
  v[lane] = (uint32_t)a;
  return v;
}
#ifdef __clang__
#define i8x16_shuffle(a, b, ...) ((v128)__builtin_shufflevector((vu8)(a), (vu8)(b), __VA_ARGS__))
#else
#define i8x16_shuffle(a, b, ...) ((v128)__builtin_shuffle((vu8)(a), (vu8)(b), (vu8){__VA_ARGS__}))
#endif
WORD intptr_t v128_any_true(v128 a) { return sn_vi32_any((vi32)a); }

WORD v128 v128_not(v128 a) { return ~a; }
WORD v128 v128_and(v128 a, v128 b) { return a & b; }
WORD v128 v128_andnot(v128 a, v128 b) { return a & ~b; }
WORD v128 v128_or(v128 a, v128 b) { return a | b; }
WORD v128 v128_xor(v128 a, v128 b) { return a ^ b; }
WORD v128 v128_bitselect(v128 a, v128 b, v128 mask) { return (a & mask) | (b & ~mask); }
WORD v128 i32x4_relaxed_laneselect(v128 a, v128 b, v128 mask) { return v128_bitselect(a, b, mask); }
WORD v128 i64x2_relaxed_laneselect(v128 a, v128 b, v128 mask) { return v128_bitselect(a, b, mask); }

/* x, y, z: the operands; a, b: the first two as floats, i, j: as bits. */
#define ONE(id, expr)        \
  WORD v128 id(v128 x) {     \
    const X_F a = (X_F)x;    \
    const X_I i = X_BITS(a); \
    (void)i;                 \
    return (v128)(expr);     \
  }
#define TWO(id, expr)                       \
  WORD v128 id(v128 x, v128 y) {            \
    const X_F a = (X_F)x, b = (X_F)y;       \
    const X_I i = X_BITS(a), j = X_BITS(b); \
    (void)i, (void)j;                       \
    return (v128)(expr);                    \
  }
/* WebAssembly takes a shift's count modulo the width of a lane. */
#define SHIFT(id, expr)                                              \
  WORD v128 id(v128 x, intptr_t count) {                             \
    const X_I i = (X_I)x;                                            \
    const int bits = (int)(count & (intptr_t)(sizeof i[0] * 8 - 1)); \
    return (v128)(expr);                                             \
  }
#define EXTREMES(floats)         \
  TWO(floats##_min, X_MIN(a, b)) \
  TWO(floats##_max, X_MAX(a, b))

#define SN_WORDS_VF64
#include "math/words.h"
SN_LANE_WORDS(ONE, TWO, SHIFT, f64x2, i64x2)
EXTREMES(f64x2)
#define SN_WORDS_VF32
#include "math/words.h"
SN_LANE_WORDS(ONE, TWO, SHIFT, f32x4, i32x4)
EXTREMES(f32x4)
SHIFT(i32x4_shr_s, (vi32)i >> bits)
TWO(i32x4_mul, X_IMUL(i, j))
TWO(i32x4_min_s, X_ISEL(X_ILT(i, j), i, j))
TWO(i32x4_max_s, X_ISEL(X_ILT(i, j), j, i))
TWO(i8x16_ne, (vu8)i != (vu8)j)
ONE(i32x4_trunc_sat_f32x4_s, sn_vi32_from_vf32(a))
ONE(f32x4_convert_i32x4_s, X_TOF(i))
#include "math/words.h" /* removes the words */

WORD v128 f32x4_relaxed_madd(v128 a, v128 b, v128 c) {
  return (v128)sn_vf32_fused_madd((vf32)a, (vf32)b, (vf32)c);
}
WORD v128 f64x2_relaxed_madd(v128 a, v128 b, v128 c) {
  vf64 x = (vf64)a, y = (vf64)b, z = (vf64)c;
  return (v128)(vf64){__builtin_fma(x[0], y[0], z[0]), __builtin_fma(x[1], y[1], z[1])};
}

/* ---- other widths ---- */

WORD v128 f64x2_promote_low_f32x4(v128 a) { return (v128)sn_vf64_from_low((vf32)a); }
WORD v128 f32x4_demote_f64x2_zero(v128 a) { return (v128)sn_vf32_from_vf64((vf64)a, (vf64){0}); }
WORD v128 f64x2_convert_low_i32x4_s(v128 a) { return (v128)(vf64){(int32_t)a[0], (int32_t)a[1]}; }
/* Saturates; NaN gives 0. */
WORD int32_t saturated(double a) {
  return a >= 0x1p31 ? INT32_MAX : a <= -0x1p31 ? INT32_MIN : a == a ? (int32_t)a : 0;
}
WORD v128 i32x4_trunc_sat_f64x2_s_zero(v128 v) {
  const vf64 a = (vf64)v;
  return (v128)(vi32){saturated(a[0]), saturated(a[1]), 0, 0};
}
WORD v128 i64x2_extend_low_i32x4_s(v128 a) { return (v128)(vi64){(int32_t)a[0], (int32_t)a[1]}; }
WORD v128 i64x2_extend_high_i32x4_s(v128 a) { return (v128)(vi64){(int32_t)a[2], (int32_t)a[3]}; }

#define FIRST_4(v) v[0], v[1], v[2], v[3]
#define EXTEND_16(id, V)             \
  WORD v128 id(v128 a) {             \
    const V v = (V)a;                \
    return (v128)(vi32){FIRST_4(v)}; \
  }
#define EXTEND_8(id, V)                                      \
  WORD v128 id(v128 a) {                                     \
    const V v = (V)a;                                        \
    return (v128)(vi16){FIRST_4(v), v[4], v[5], v[6], v[7]}; \
  }
EXTEND_16(i32x4_extend_low_i16x8_s, vi16)
EXTEND_16(i32x4_extend_low_i16x8_u, vu16)
EXTEND_8(i16x8_extend_low_i8x16_s, vi8)
EXTEND_8(i16x8_extend_low_i8x16_u, vu8)

WORD int32_t clamped(int32_t a, int32_t least, int32_t most) {
  return a < least ? least : a > most ? most : a;
}
WORD v128 i16x8_narrow_i32x4_u(v128 a, v128 b) {
  vu16 out;
  for (int i = 0; i < 4; i++) {
    out[i] = (uint16_t)clamped((int32_t)a[i], 0, UINT16_MAX);
    out[i + 4] = (uint16_t)clamped((int32_t)b[i], 0, UINT16_MAX);
  }
  return (v128)out;
}
WORD v128 i8x16_narrow_i16x8_s(v128 a, v128 b) {
  vi8 out;
  for (int i = 0; i < 8; i++) {
    out[i] = (int8_t)clamped(((vi16)a)[i], INT8_MIN, INT8_MAX);
    out[i + 8] = (int8_t)clamped(((vi16)b)[i], INT8_MIN, INT8_MAX);
  }
  return (v128)out;
}
