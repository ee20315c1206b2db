/* math_reference.h - the meanings of the functions of ops.def, written a second time on purpose in
 * plain C, in double (to judge float32) and long double (to judge float64); and the distance of a
 * result from its exact value in ULP. A function that is more than instructions must have a meaning
 * (test_math.c); a row that consists of words alone need not. */
#ifndef SN_TESTS_MATH_REFERENCE_H
#define SN_TESTS_MATH_REFERENCE_H

#include <stdbool.h>
#include <tgmath.h>

#include "graph/ops.h"
#include "math/scalar_math.h"

/* The helpers of the meanings, once per type R; <tgmath.h> picks exp or expl by it. */
#define SN_REFERENCES(R, id)                                                                \
  static inline R id##_sign(R x) { return x > 0 ? 1 : x < 0 ? -1 : x; }                     \
  /* IEEE 754-2019 maximum: NaN from either side, -0 below +0. */                           \
  static inline R id##_larger(R x, R y) {                                                   \
    if (isnan(x) || isnan(y)) return x + y;                                                 \
    if (x == y) return signbit(x) ? y : x;                                                  \
    return x > y ? x : y;                                                                   \
  }                                                                                         \
  /* As Python's %: fmod is exact; where the signs differ one divisor is added. */          \
  static inline R id##_mod(R x, R y) {                                                      \
    const R r = fmod(x, y);                                                                 \
    return r == 0 ? copysign((R)0, y) : (r < 0) != (y < 0) ? r + y : r;                     \
  }                                                                                         \
  static inline R id##_normal(R x) {                                                        \
    return erfc(x * -(R)0.70710678118654752440084436210485L) / 2;                           \
  }                                                                                         \
  static inline R id##_softplus(R x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); } \
  /* x times a weight from 0 to 1; the product has the limit -0 at -infinity. */            \
  static inline R id##_weighted(R x, R weight) { return isinf(x) && x < 0 ? -(R)0 : x * weight; }

SN_REFERENCES(double, single)
SN_REFERENCES(long double, wide)
#undef SN_REFERENCES

#define sign_of(x) _Generic((x), double : single_sign, long double : wide_sign)(x)
#define larger(x, y) _Generic((x), double : single_larger, long double : wide_larger)(x, y)
#define floored(x, y) _Generic((x), double : single_mod, long double : wide_mod)(x, y)
#define softplus_of(x) _Generic((x), double : single_softplus, long double : wide_softplus)(x)
#define normal_of(x) _Generic((x), double : single_normal, long double : wide_normal)(x)
#define weighted(x, w) _Generic((x), double : single_weighted, long double : wide_weighted)(x, w)

static inline int64_t floored_integer(int64_t i, int64_t j) {
  const int64_t r = j ? i % j : 0;
  return r && (r < 0) != (j < 0) ? r + j : r;
}
static inline int64_t bits32(int64_t i) { return (int64_t)(uint32_t)i; }
/* As NumPy shifts int32, by any count. */
static inline int64_t shifted_left(int64_t i, int64_t j) {
  return j < 0 || j > 31 ? 0 : (int32_t)(uint32_t)(i * ((int64_t)1 << j));
}
static inline int64_t shifted_right(int64_t i, int64_t j) {
  return j < 0 || j > 31 ? -(i < 0) : (i - (i & (((int64_t)1 << j) - 1))) / ((int64_t)1 << j);
}

/* id, on floats (x, y), on int32 and bool as wide integers (i, j); what a row does not take is 0 */
/* clang-format off */
#define SN_MEANINGS(ROW)                                         \
  ROW(copy, x, i)                                                \
  ROW(neg, -x, -i)                                               \
  ROW(abs, fabs(x), i < 0 ? -i : i)                              \
  ROW(sign, sign_of(x), (i > 0) - (i < 0))                       \
  ROW(floor, floor(x), 0)                                        \
  ROW(ceil, ceil(x), 0)                                          \
  ROW(trunc, trunc(x), 0)                                        \
  ROW(round, rint(x), 0)                                         \
  ROW(sqrt, sqrt(x), 0)                                          \
  ROW(rsqrt, 1 / sqrt(x), 0)                                     \
  ROW(square, x * x, i * i)                                      \
  ROW(reciprocal, 1 / x, 0)                                      \
  ROW(exp, exp(x), 0)                                            \
  ROW(log, log(x), 0)                                            \
  ROW(log1p, log1p(x), 0)                                        \
  ROW(sin, sin(x), 0)                                            \
  ROW(cos, cos(x), 0)                                            \
  ROW(tanh, tanh(x), 0)                                          \
  ROW(sigmoid, 1 / (1 + exp(-x)), 0)                             \
  ROW(erf, erf(x), 0)                                            \
  ROW(exp2, exp2(x), 0)                                          \
  ROW(expm1, expm1(x), 0)                                        \
  ROW(log2, log2(x), 0)                                          \
  ROW(tan, tan(x), 0)                                            \
  ROW(asin, asin(x), 0)                                          \
  ROW(acos, acos(x), 0)                                          \
  ROW(atan, atan(x), 0)                                          \
  ROW(sinh, sinh(x), 0)                                          \
  ROW(cosh, cosh(x), 0)                                          \
  ROW(asinh, asinh(x), 0)                                        \
  ROW(acosh, acosh(x), 0)                                        \
  ROW(atanh, atanh(x), 0)                                        \
  ROW(silu, weighted(x, 1 / (1 + exp(-x))), 0)                   \
  ROW(softplus, softplus_of(x), 0)                               \
  ROW(gelu, weighted(x, normal_of(x)), 0)                       \
  ROW(mish, weighted(x, tanh(softplus_of(x))), 0)                \
  ROW(relu, larger(x, 0), i > 0 ? i : 0)                         \
  ROW(isnan, isnan(x), 0)                                        \
  ROW(isfinite, isfinite(x), 0)                                  \
  ROW(logical_not, 0, !i)                                        \
  ROW(add, x + y, i + j)                                         \
  ROW(sub, x - y, i - j)                                         \
  ROW(mul, x * y, i * j)                                         \
  ROW(div, x / y, 0)                                             \
  ROW(pow, pow(x, y), 0)                                         \
  ROW(mod, floored(x, y), floored_integer(i, j))                 \
  ROW(atan2, atan2(x, y), 0)                                     \
  ROW(maximum, larger(x, y), i > j ? i : j)                      \
  ROW(minimum, -larger(-x, -y), i < j ? i : j)                   \
  ROW(equal, x == y, i == j)                                     \
  ROW(not_equal, x != y, i != j)                                 \
  ROW(less, x < y, i < j)                                        \
  ROW(less_equal, x <= y, i <= j)                                \
  ROW(greater, x > y, i > j)                                     \
  ROW(greater_equal, x >= y, i >= j)                             \
  ROW(logical_and, 0, i && j)                                    \
  ROW(logical_or, 0, i || j)                                     \
  ROW(logical_xor, 0, !i != !j)                                  \
  ROW(bitwise_and, 0, i & j)                                     \
  ROW(bitwise_or, 0, i | j)                                      \
  ROW(bitwise_xor, 0, i ^ j)                                     \
  ROW(bitwise_invert, 0, -1 - i)                                 \
  ROW(bitwise_left_shift, 0, shifted_left(i, j))                 \
  ROW(bitwise_right_shift, 0, shifted_right(i, j))               \
  ROW(shift_left, 0, bits32(i) << (j & 31))                      \
  ROW(shift_right_logical, 0, bits32(i) >> (j & 31))
/* clang-format on */

#define ROW(id, on_floats, on_integers)                                    \
  static inline double exact_f32_##id(double x, double y) {                \
    (void)x, (void)y;                                                      \
    return (double)(on_floats);                                            \
  }                                                                        \
  static inline long double exact_f64_##id(long double x, long double y) { \
    (void)x, (void)y;                                                      \
    return (long double)(on_floats);                                       \
  }                                                                        \
  static inline int64_t exact_int_##id(int64_t i, int64_t j) {             \
    (void)i, (void)j;                                                      \
    return (on_integers);                                                  \
  }
SN_MEANINGS(ROW)
#undef ROW

typedef struct math_meaning {
  double (*f32)(double x, double y);
  long double (*f64)(long double x, long double y);
  int64_t (*integers)(int64_t i, int64_t j);
} math_meaning;

/* By op; NULL: it has none. */
static const math_meaning math_meanings[SN_OP_COUNT] = {
#define ROW(id, ...) [SN_OP_##id] = {exact_f32_##id, exact_f64_##id, exact_int_##id},
    SN_MEANINGS(ROW)
#undef ROW
};

/* The remainder of huge quotients is defined by its limits only; see math/expand_f64.inc and
 * expand_f32.inc. */
static inline bool reference_has_meaning(int op, bool single, double x, double y) {
  return op != SN_OP_mod || !(fabs(x / y) >= (single ? 0x1p43 : 0x1p50)) || isinf(x) || y == 0;
}

/* |got - exact| in units of the last place that float32 has at exact. An infinite got counts as
 * 2^128, so overflow at the right place costs at most half a unit; a NaN on one side only, or the
 * wrong zero, costs infinity. */
static inline double ulp_f32(float got, double exact) {
  if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0 : INFINITY;
  if (isinf(exact)) return exact == (double)got ? 0 : INFINITY;
  if (exact == 0 && got == 0) return !signbit(exact) == !signbit(got) ? 0 : INFINITY;
  const int exponent = (int)(sn_f64_to_bits(exact) >> 52 & 0x7ff) - 1023;
  const int place = (exponent < -126 ? -126 : exponent > 127 ? 127 : exponent) - 23;
  const double per_ulp = sn_f64_from_bits((uint64_t)(1023 - place) << 52);
  const double value = isinf(got) ? (got > 0 ? 0x1p128 : -0x1p128) : (double)got;
  if (fabs(exact) >= 0x1p128 && isinf(got)) return value * exact > 0 ? 0 : INFINITY;
  return fabs(value - exact) * per_ulp;
}

static inline double ulp_f64(double got, long double exact) {
  if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0 : INFINITY;
  if (isinf(exact)) return exact == (long double)got ? 0 : INFINITY;
  if (exact == 0 && got == 0) return !signbit(exact) == !signbit(got) ? 0 : INFINITY;
  int exponent;
  frexpl(exact, &exponent);
  const int place = (exponent - 1 < -1022 ? -1022 : exponent - 1 > 1023 ? 1023 : exponent - 1) - 52;
  const long double value = isinf(got) ? (got > 0 ? 0x1p1024L : -0x1p1024L) : (long double)got;
  if (fabsl(exact) >= 0x1p1024L && isinf(got)) return value * exact > 0 ? 0 : INFINITY;
  return (double)ldexpl(fabsl(value - exact), -place);
}

#endif
