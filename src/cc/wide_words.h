/* wide_words.h - values of WIDE vectors, for loops that call functions of math/. Such a function is a chain of dependent
 * operations, so long that a processor looks only two or three calls ahead. Here the text of math/ is included once more
 * with words that each do WIDE independent operations side by side. The bits are those of the vectors one by one.
 *
 * wide_<word> does for WIDE vectors what <word> of kernel_words.h does for one. There is no float64. */
#define SN_WORDS_VF32
#include "math/words.h"

enum { WIDE = 4 };
#define INLINE static inline __attribute__((always_inline))

#define WIDE_TYPE(name, V) \
  typedef struct name {    \
    V v[WIDE];             \
  } name;
WIDE_TYPE(wide_value_f32, vf32)
WIDE_TYPE(wide_value_i32, vu32)
WIDE_TYPE(wide_value_bool, vi32)
typedef wide_value_f32 wide_f;
typedef wide_value_i32 wide_i;
typedef wide_value_bool wide_m;

/* f of each vector. */
#define OF_1(f, a) {{f(a.v[0]), f(a.v[1]), f(a.v[2]), f(a.v[3])}}
#define OF_2(f, a, b) {{f(a.v[0], b.v[0]), f(a.v[1], b.v[1]), f(a.v[2], b.v[2]), f(a.v[3], b.v[3])}}
#define OF_3(f, a, b, c)                                                               \
  {{f(a.v[0], b.v[0], c.v[0]), f(a.v[1], b.v[1], c.v[1]), f(a.v[2], b.v[2], c.v[2]), \
    f(a.v[3], b.v[3], c.v[3])}}
#define EACH_1(R, name, A, f) \
  INLINE R wide_##name(A a) { return (R)OF_1(f, a); }
#define EACH_2(R, name, A, B, f) \
  INLINE R wide_##name(A a, B b) { return (R)OF_2(f, a, b); }
#define EACH_3(R, name, A, B, C, f) \
  INLINE R wide_##name(A a, B b, C c) { return (R)OF_3(f, a, b, c); }

/* The same vector WIDE times. */
INLINE wide_f wide_all_f32(vf32 v) { return (wide_f){{v, v, v, v}}; }
INLINE wide_i wide_all_i32(vu32 v) { return (wide_i){{v, v, v, v}}; }
INLINE wide_m wide_all_bool(vi32 v) { return (wide_m){{v, v, v, v}}; }

/* ---- memory ---- */

/* Written without a loop: a compiler that did not unroll it would keep all of v in memory, because of v[i]. */
#define TO_EACH(f, p, v) \
  (f(p, v.v[0]), f(p + LANES, v.v[1]), f(p + 2 * LANES, v.v[2]), f(p + 3 * LANES, v.v[3]))

#define WIDE_ACCESS(s, R, T)                                                                      \
  INLINE R wide_get_##s(const T *p) {                                                             \
    return (R){{get_##s(p), get_##s(p + LANES), get_##s(p + 2 * LANES), get_##s(p + 3 * LANES)}}; \
  }                                                                                               \
  INLINE void wide_put_##s(T *p, R v) { TO_EACH(put_##s, p, v); }
WIDE_ACCESS(mask, wide_m, int32_t)
#define WIDE_FLOAT(s, T)
#define WIDE_INT(s, T) WIDE_ACCESS(s, wide_i, T)
#define WIDE_FLAG(s, T) WIDE_ACCESS(flag, wide_m, T)
#define WIDE_HALF(s, T) WIDE_ACCESS(s, wide_i, T) typedef wide_i wide_value_##s;
#define WIDE_SMALL(s, T) WIDE_HALF(s, T)
#define DTYPE(id, name, s, T, kind, ...) WIDE_##kind(s, T)
#include "graph/dtypes.def"
WIDE_ACCESS(f32, wide_f, float)

INLINE void wide_stream_f32(float *p, wide_f v) { TO_EACH(stream_f32, p, v); }
INLINE void wide_stream_i32(int32_t *p, wide_i v) { TO_EACH(stream_i32, p, v); }
INLINE void wide_ask_for(const void *p) {
  for (int i = 0; i < WIDE * SN_SIMD_BYTES; i += 64) ask_for((const char *)p + i);
}
INLINE wide_i wide_count_i32(int64_t from, int64_t step) {
  return (wide_i){{count_i32(from, step), count_i32(from + LANES * step, step),
                   count_i32(from + 2 * LANES * step, step),
                   count_i32(from + 3 * LANES * step, step)}};
}

/* ---- select and casts, which ops.def has no expressions for ---- */

EACH_3(wide_f, select_f32, wide_m, wide_f, wide_f, select_f32)
EACH_3(wide_i, select_i32, wide_m, wide_i, wide_i, select_i32)
EACH_3(wide_m, select_bool, wide_m, wide_m, wide_m, select_bool)
EACH_1(wide_f, cast_f32_f32, wide_f, cast_f32_f32)
EACH_1(wide_i, cast_f32_i32, wide_f, cast_f32_i32)
EACH_1(wide_m, cast_f32_bool, wide_f, cast_f32_bool)
EACH_1(wide_f, cast_i32_f32, wide_i, cast_i32_f32)
EACH_1(wide_i, cast_i32_i32, wide_i, cast_i32_i32)
EACH_1(wide_m, cast_i32_bool, wide_i, cast_i32_bool)
EACH_1(wide_f, cast_bool_f32, wide_m, cast_bool_f32)
EACH_1(wide_i, cast_bool_i32, wide_m, cast_bool_i32)
EACH_1(wide_m, cast_bool_bool, wide_m, cast_bool_bool)

/* ---- the words of math/expand_f32.inc ---- */

EACH_2(wide_f, add, wide_f, wide_f, X_ADD)
EACH_2(wide_f, sub, wide_f, wide_f, X_SUB)
EACH_2(wide_f, mul, wide_f, wide_f, X_MUL)
EACH_2(wide_f, div, wide_f, wide_f, X_DIV)
EACH_1(wide_f, neg, wide_f, X_NEG)
EACH_1(wide_f, abs, wide_f, X_ABS)
EACH_2(wide_f, pmin, wide_f, wide_f, X_PMIN)
EACH_2(wide_f, pmax, wide_f, wide_f, X_PMAX)
EACH_1(wide_f, sqrt, wide_f, X_SQRT)
EACH_1(wide_f, floor, wide_f, X_FLOOR)
EACH_1(wide_f, trunc, wide_f, X_TRUNC)
EACH_1(wide_f, round, wide_f, X_ROUND)
EACH_1(wide_i, bits, wide_f, X_BITS)
EACH_1(wide_f, float, wide_i, X_FLOAT)
EACH_2(wide_i, iadd, wide_i, wide_i, X_IADD)
EACH_2(wide_i, isub, wide_i, wide_i, X_ISUB)
EACH_2(wide_i, imul, wide_i, wide_i, X_IMUL)
EACH_2(wide_i, iand, wide_i, wide_i, X_IAND)
EACH_2(wide_i, ior, wide_i, wide_i, X_IOR)
EACH_2(wide_i, ixor, wide_i, wide_i, X_IXOR)
EACH_2(wide_i, imax, wide_i, wide_i, X_IMAX)
EACH_2(wide_i, imin, wide_i, wide_i, X_IMIN)
EACH_1(wide_i, toi, wide_f, X_TOI)
EACH_1(wide_f, tof, wide_i, X_TOF)
EACH_2(wide_m, lt, wide_f, wide_f, X_LT)
EACH_2(wide_m, le, wide_f, wide_f, X_LE)
EACH_2(wide_m, eq, wide_f, wide_f, X_EQ)
EACH_2(wide_m, ieq, wide_i, wide_i, X_IEQ)
EACH_2(wide_m, ilt, wide_i, wide_i, X_ILT)
EACH_3(wide_f, sel, wide_m, wide_f, wide_f, X_SEL)
EACH_3(wide_i, isel, wide_m, wide_i, wide_i, X_ISEL)
EACH_2(wide_m, mand, wide_m, wide_m, X_MAND)
EACH_2(wide_m, mor, wide_m, wide_m, X_MOR)
EACH_1(wide_m, mnot, wide_m, X_MNOT)
INLINE wide_i wide_ishl(wide_i a, int n) {
  return (wide_i){{a.v[0] << n, a.v[1] << n, a.v[2] << n, a.v[3] << n}};
}
INLINE wide_i wide_ishr(wide_i a, int n) {
  return (wide_i){{a.v[0] >> n, a.v[1] >> n, a.v[2] >> n, a.v[3] >> n}};
}
INLINE wide_f wide_fma(bool fused, wide_f a, wide_f b, wide_f c) {
  return (wide_f){{sn_vf32_madd(fused, a.v[0], b.v[0], c.v[0]),
                   sn_vf32_madd(fused, a.v[1], b.v[1], c.v[1]),
                   sn_vf32_madd(fused, a.v[2], b.v[2], c.v[2]),
                   sn_vf32_madd(fused, a.v[3], b.v[3], c.v[3])}};
}
INLINE bool wide_any(wide_m m) {
  return sn_vi32_any(m.v[0] | m.v[1] | m.v[2] | m.v[3]);
}

#include "math/words.h"
#define X_F wide_f
#define X_I wide_i
#define X_M wide_m
#define X_PARAM __attribute__((unused)) const bool fused,
#define X_ARG fused,
#define X_FUSED fused
#define X_FN(name) sn_wide_##name
#define X_C(c) wide_all_f32(SN_VF32_CONST(c))
#define X_IC(c) wide_all_i32(sn_vu32_splat((uint32_t)(c)))
#define X_ADD(a, b) wide_add(a, b)
#define X_SUB(a, b) wide_sub(a, b)
#define X_MUL(a, b) wide_mul(a, b)
#define X_DIV(a, b) wide_div(a, b)
#define X_NEG(a) wide_neg(a)
#define X_ABS(a) wide_abs(a)
#define X_PMIN(a, b) wide_pmin(a, b)
#define X_PMAX(a, b) wide_pmax(a, b)
#define X_SQRT(a) wide_sqrt(a)
#define X_FLOOR(a) wide_floor(a)
#define X_TRUNC(a) wide_trunc(a)
#define X_ROUND(a) wide_round(a)
#define X_FMA(a, b, c) wide_fma(fused, a, b, c)
#define X_BITS(a) wide_bits(a)
#define X_FLOAT(a) wide_float(a)
#define X_IADD(a, b) wide_iadd(a, b)
#define X_ISUB(a, b) wide_isub(a, b)
#define X_IMUL(a, b) wide_imul(a, b)
#define X_IAND(a, b) wide_iand(a, b)
#define X_IOR(a, b) wide_ior(a, b)
#define X_IXOR(a, b) wide_ixor(a, b)
#define X_ISHL(a, n) wide_ishl(a, n)
#define X_ISHR(a, n) wide_ishr(a, n)
#define X_IMAX(a, b) wide_imax(a, b)
#define X_IMIN(a, b) wide_imin(a, b)
#define X_TOI(a) wide_toi(a)
#define X_TOF(a) wide_tof(a)
#define X_LT(a, b) wide_lt(a, b)
#define X_LE(a, b) wide_le(a, b)
#define X_EQ(a, b) wide_eq(a, b)
#define X_IEQ(a, b) wide_ieq(a, b)
#define X_ILT(a, b) wide_ilt(a, b)
#define X_SEL(m, a, b) wide_sel(m, a, b)
#define X_ISEL(m, a, b) wide_isel(m, a, b)
#define X_SEL_RARE(m, a, b) (wide_any(m) ? wide_sel(m, a, b) : (b))
#define X_MAND(a, b) wide_mand(a, b)
#define X_MOR(a, b) wide_mor(a, b)
#define X_MNOT(m) wide_mnot(m)

#include "math/expand_f32.inc"

/* ---- rows of ops: functions of math/ by the wide words, others vector by vector ---- */

#define WIDE_FUNCTION(id, expr)                                               \
  static inline wide_f wide_apply_##id##_f32(bool fused, wide_f a, wide_f b) { \
    (void)fused;                                                              \
    (void)b;                                                                  \
    return expr;                                                              \
  }
#define WIDE_ROW(id, s, A, R)                                              \
  INLINE R wide_apply_##id##_##s(bool fused, A a, A b) {                    \
    return (R){{apply_##id##_##s(fused, a.v[0], b.v[0]),                   \
                apply_##id##_##s(fused, a.v[1], b.v[1]),                   \
                apply_##id##_##s(fused, a.v[2], b.v[2]),                   \
                apply_##id##_##s(fused, a.v[3], b.v[3])}};                 \
  }
#define ROW_FI(id) WIDE_ROW(id, f32, wide_f, wide_f) WIDE_ROW(id, i32, wide_i, wide_i)
#define EW_F(id, n, f, c, lo, hi, u, d, xf, ...) WIDE_FUNCTION(id, xf)
#define EW_FI(id, ...) ROW_FI(id)
#define EW_FIB(id, ...) ROW_FI(id) WIDE_ROW(id, bool, wide_m, wide_m)
#define EW_I(id, ...) WIDE_ROW(id, i32, wide_i, wide_i)
#define EW_B(id, ...) WIDE_ROW(id, bool, wide_m, wide_m)
#define CMP_F(id, ...) WIDE_ROW(id, f32, wide_f, wide_m)
#define CMP_FIB(id, ...) \
  WIDE_ROW(id, f32, wide_f, wide_m) WIDE_ROW(id, i32, wide_i, wide_m) WIDE_ROW(id, bool, wide_m, wide_m)
#define REDUCE(id, ...) ROW_FI(id)
#define REDUCE_I(id, ...) WIDE_ROW(id, i32, wide_i, wide_i)
#include "graph/ops.def"

#undef WIDE_FLOAT
#undef WIDE_INT
#undef WIDE_FLAG
#undef WIDE_HALF
#undef WIDE_SMALL
#define WIDE_FLOAT(s)
#define WIDE_INT(s)
#define WIDE_FLAG(s)
#define WIDE_HALF(s) WIDE_ROW(widen, s, wide_i, wide_f) WIDE_ROW(narrow, s, wide_f, wide_i)
#define WIDE_SMALL(s) WIDE_ROW(narrow, s, wide_i, wide_i)
#define DTYPE(id, name, s, T, kind, ...) WIDE_##kind(s)
#include "graph/dtypes.def"
#include "math/words.h"
