/* test_math.c - Sinter's own functions against libm in the next wider type, their special values,
 * and vectors against scalars. float32: one argument out of each 4096 neighbours, over all bit
 * patterns; math_table runs all of them. */
#include "graph/scalar_math.h"
#include "kernels/simd.h"
#include "math_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { F32_POINTS = 1 << 20, F64_POINTS = 200000 };

static int same_f32(float a, float b) {
  return (isnan(a) && isnan(b)) || sn_f32_to_bits(a) == sn_f32_to_bits(b);
}
static int same_f64(double a, double b) {
  return (isnan(a) && isnan(b)) || sn_f64_to_bits(a) == sn_f64_to_bits(b);
}

/* Every call fails with its arguments, so a report is enough to repeat it. */
static void check_f32(const char *name, float x, float y, float got, double exact, double bound) {
  if (ulp_f32(got, exact) <= bound) return;
  fail_msg("%s(%a, %a) = %a, exact %a: %g ULP", name, (double)x, (double)y, (double)got, exact,
           ulp_f32(got, exact));
}
static void check_f64(const char *name, double x, double y, double got, long double exact,
                      double bound) {
  if (ulp_f64(got, exact) <= bound) return;
  fail_msg("%s(%a, %a) = %a, exact %La: %g ULP", name, x, y, got, exact, ulp_f64(got, exact));
}

/* ---- float32 ---- */

/* One of the 4096 bit patterns from 4096 i on; low bits differ from block to block. */
static float sample_f32(uint32_t i) { return float_of(i << 12 | (uint32_t)(mixed(i) & 0xfff)); }

#define ROW(name, exact, exactl, bound, bound64)                                           \
  static void f32_##name(void **state) {                                                   \
    (void)state;                                                                           \
    for (uint32_t i = 0; i < F32_POINTS; i += SN_LANES_F32) {                              \
      float x[SN_LANES_F32], vector[SN_LANES_F32];                                         \
      for (uint32_t lane = 0; lane < SN_LANES_F32; lane++) x[lane] = sample_f32(i + lane); \
      sn_vf32_store(vector, sn_vf32_##name(sn_vf32_load(x)));                              \
      for (int lane = 0; lane < SN_LANES_F32; lane++) {                                    \
        const float scalar = sn_f32_##name(x[lane]);                                       \
        check_f32(#name, x[lane], 0, scalar, exact((double)x[lane]), bound);               \
        if (!same_f32(scalar, vector[lane]))                                               \
          fail_msg(#name "(%a): scalar %a, vector %a", (double)x[lane], (double)scalar,    \
                   (double)vector[lane]);                                                  \
      }                                                                                    \
    }                                                                                      \
  }
MATH_UNARY(ROW)
#undef ROW

static void f32_pow(void **state) {
  (void)state;
  for (uint32_t i = 0; i < F32_POINTS; i += SN_LANES_F32) {
    float x[SN_LANES_F32], y[SN_LANES_F32], vector[SN_LANES_F32];
    for (uint32_t lane = 0; lane < SN_LANES_F32; lane++) {
      x[lane] = sample_f32(i + lane);
      y[lane] = pow_exponent(x[lane], i + lane);
    }
    sn_vf32_store(vector, sn_vf32_pow(sn_vf32_load(x), sn_vf32_load(y)));
    for (int lane = 0; lane < SN_LANES_F32; lane++) {
      const float scalar = sn_f32_pow(x[lane], y[lane]);
      check_f32("pow", x[lane], y[lane], scalar, pow((double)x[lane], (double)y[lane]), 2);
      if (!same_f32(scalar, vector[lane]))
        fail_msg("pow(%a, %a): scalar %a, vector %a", (double)x[lane], (double)y[lane],
                 (double)scalar, (double)vector[lane]);
    }
  }
}

/* Lanes on both sides of the switch to the reduction for large arguments do not disturb each other.
 */
static void f32_sin_mixed_lanes(void **state) {
  (void)state;
  for (int large = 0; large < SN_LANES_F32; large++) {
    float x[SN_LANES_F32], sine[SN_LANES_F32], cosine[SN_LANES_F32];
    for (int lane = 0; lane < SN_LANES_F32; lane++) x[lane] = lane == large ? 1e30f : (float)lane;
    sn_vf32_store(sine, sn_vf32_sin(sn_vf32_load(x)));
    sn_vf32_store(cosine, sn_vf32_cos(sn_vf32_load(x)));
    for (int lane = 0; lane < SN_LANES_F32; lane++) {
      assert_true(same_f32(sine[lane], sn_f32_sin(x[lane])));
      assert_true(same_f32(cosine[lane], sn_f32_cos(x[lane])));
    }
  }
}

/* ---- float64 ---- */

/* A third each: any bit pattern; |x| up to 30; |x| below 2^30 with all exponents down to 2^-34. */
static double sample_f64(uint64_t i) {
  const uint64_t random = mixed(i);
  if (i % 3 == 0) return double_of(random);
  const double unit = (double)(random >> 11) * 0x1p-53;
  const double sign = random & 1 ? -1 : 1;
  if (i % 3 == 1) return sign * unit * 30;
  return sign * ldexp(1 + unit, (int)(random & 63) - 34);
}

/* float64's sine and cosine are defined by their limits beyond 2^30; see expand_f64.inc. */
static int f64_has_meaning(const char *name, double x) {
  const int reduced = !strcmp(name, "sin") || !strcmp(name, "cos");
  return !reduced || fabs(x) <= 0x1p30;
}

#define ROW(name, exact, exactl, bound, bound64)                                           \
  static void f64_##name(void **state) {                                                   \
    (void)state;                                                                           \
    for (uint64_t i = 0; i < F64_POINTS; i += SN_LANES_F64) {                              \
      double x[SN_LANES_F64], vector[SN_LANES_F64];                                        \
      for (uint64_t lane = 0; lane < SN_LANES_F64; lane++) x[lane] = sample_f64(i + lane); \
      sn_vf64_store(vector, sn_vf64_##name(sn_vf64_load(x)));                              \
      for (int lane = 0; lane < SN_LANES_F64; lane++) {                                    \
        const double scalar = sn_f64_##name(x[lane]);                                      \
        if (f64_has_meaning(#name, x[lane]))                                               \
          check_f64(#name, x[lane], 0, scalar, exactl((long double)x[lane]), bound64);     \
        else if (!(fabs(scalar) <= 1) && isfinite(x[lane]))                                \
          fail_msg(#name "(%a) = %a", x[lane], scalar);                                    \
        if (!same_f64(scalar, vector[lane]))                                               \
          fail_msg(#name "(%a): scalar %a, vector %a", x[lane], scalar, vector[lane]);     \
      }                                                                                    \
    }                                                                                      \
  }
MATH_UNARY(ROW)
#undef ROW

static void f64_pow(void **state) {
  (void)state;
  for (uint64_t i = 0; i < F64_POINTS; i += SN_LANES_F64) {
    double x[SN_LANES_F64], y[SN_LANES_F64], vector[SN_LANES_F64];
    for (uint64_t lane = 0; lane < SN_LANES_F64; lane++) {
      const uint64_t random = mixed(~(i + lane));
      const double target = (double)(random >> 32) * 0x1p-32 * 2110 - 1080;
      x[lane] = sample_f64(i + lane);
      y[lane] = random & 1 ? target / log2(fabs(x[lane])) : nearbyint(target / log2(fabs(x[lane])));
    }
    sn_vf64_store(vector, sn_vf64_pow(sn_vf64_load(x), sn_vf64_load(y)));
    for (int lane = 0; lane < SN_LANES_F64; lane++) {
      const double scalar = sn_f64_pow(x[lane], y[lane]);
      check_f64("pow", x[lane], y[lane], scalar, powl((long double)x[lane], (long double)y[lane]),
                2);
      if (!same_f64(scalar, vector[lane]))
        fail_msg("pow(%a, %a): scalar %a, vector %a", x[lane], y[lane], scalar, vector[lane]);
    }
  }
}

/* ---- special values: C99 Annex F ---- */

typedef struct {
  const char *name;
  float (*f32)(float);
  double (*f64)(double);
  double x, expected;
} special;

#define SPECIAL(name, x, expected) \
  { #name, sn_f32_##name, sn_f64_##name, x, expected }

static void special_values(void **state) {
  (void)state;
  const special table[] = {
      SPECIAL(exp, 0.0, 1.0),
      SPECIAL(exp, -0.0, 1.0),
      SPECIAL(exp, INFINITY, INFINITY),
      SPECIAL(exp, -INFINITY, 0.0),
      SPECIAL(exp, 1e30, INFINITY),
      SPECIAL(exp, -1e30, 0.0),
      SPECIAL(exp, NAN, NAN),
      SPECIAL(log, 1.0, 0.0),
      SPECIAL(log, 0.0, -INFINITY),
      SPECIAL(log, -0.0, -INFINITY),
      SPECIAL(log, -1.0, NAN),
      SPECIAL(log, -INFINITY, NAN),
      SPECIAL(log, INFINITY, INFINITY),
      SPECIAL(log, NAN, NAN),
      SPECIAL(log1p, 0.0, 0.0),
      SPECIAL(log1p, -0.0, -0.0),
      SPECIAL(log1p, 0x1p-126, 0x1p-126),
      SPECIAL(log1p, -0x1p-149, -0x1p-149),
      SPECIAL(log1p, -1.0, -INFINITY),
      SPECIAL(log1p, -1.5, NAN),
      SPECIAL(log1p, -INFINITY, NAN),
      SPECIAL(log1p, INFINITY, INFINITY),
      SPECIAL(log1p, NAN, NAN),
      SPECIAL(tanh, 0.0, 0.0),
      SPECIAL(tanh, -0.0, -0.0),
      SPECIAL(tanh, 0x1p-149, 0x1p-149),
      SPECIAL(tanh, INFINITY, 1.0),
      SPECIAL(tanh, -INFINITY, -1.0),
      SPECIAL(tanh, 40.0, 1.0),
      SPECIAL(tanh, NAN, NAN),
      SPECIAL(sigmoid, 0.0, 0.5),
      SPECIAL(sigmoid, INFINITY, 1.0),
      SPECIAL(sigmoid, -INFINITY, 0.0),
      SPECIAL(sigmoid, NAN, NAN),
      SPECIAL(erf, 0.0, 0.0),
      SPECIAL(erf, -0.0, -0.0),
      SPECIAL(erf, INFINITY, 1.0),
      SPECIAL(erf, -INFINITY, -1.0),
      SPECIAL(erf, 7.0, 1.0),
      SPECIAL(erf, NAN, NAN),
      SPECIAL(sin, 0.0, 0.0),
      SPECIAL(sin, -0.0, -0.0),
      SPECIAL(sin, 0x1p-149, 0x1p-149),
      SPECIAL(sin, INFINITY, NAN),
      SPECIAL(sin, -INFINITY, NAN),
      SPECIAL(sin, NAN, NAN),
      SPECIAL(cos, 0.0, 1.0),
      SPECIAL(cos, -0.0, 1.0),
      SPECIAL(cos, INFINITY, NAN),
      SPECIAL(cos, -INFINITY, NAN),
      SPECIAL(cos, NAN, NAN),
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const special *s = &table[i];
    if (!same_f32(s->f32((float)s->x), (float)s->expected))
      fail_msg("f32 %s(%a) = %a", s->name, s->x, (double)s->f32((float)s->x));
    if (!same_f64(s->f64(s->x), s->expected))
      fail_msg("f64 %s(%a) = %a", s->name, s->x, s->f64(s->x));
  }
}

/* Every pair of these: pow agrees with libm's in class, sign and, where exact, value. */
static void special_values_of_pow(void **state) {
  (void)state;
  const double values[] = {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           2.0,
                           -2.0,
                           0.5,
                           -0.5,
                           3.0,
                           -3.0,
                           4.0,
                           -4.0,
                           2.5,
                           -2.5,
                           INFINITY,
                           NAN,
                           -INFINITY,
                           0x1p-149,
                           1e30,
                           -1e30,
                           8388607.0,
                           -8388607.0,
                           16777215.0,
                           -16777216.0,
                           0x1p-126,
                           -0x1p-149,
                           0x1.fffffep127,
                           -0x1.fffffep127,
                           0x1.fffffep-1,
                           1e-30};
  const size_t count = sizeof values / sizeof *values;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < count; j++) {
      const double x = values[i], y = values[j];
      const float single = sn_f32_pow((float)x, (float)y);
      check_f32("pow", (float)x, (float)y, single, pow((double)(float)x, (double)(float)y), 2);
      check_f64("pow", x, y, sn_f64_pow(x, y), powl((long double)x, (long double)y), 2);
      assert_int_equal(!isnan(single) && signbit(single), !isnan(pow(x, y)) && signbit(pow(x, y)));
    }
  }
}

/* ---- the rest of simd.h ---- */

static void conversions(void **state) {
  (void)state;
  const float x[] = {0.0f,           -0.0f,       1.9f,    -1.9f, 2147483520.0f, 2147483648.0f,
                     -2147483648.0f, -3e9f,       1e30f,   NAN,   0x1p-149f,     INFINITY,
                     -INFINITY,      16777217.0f, -0.999f, 7.0f};
  const int32_t expected[] = {0,         0,         1,         -1, 2147483520, INT32_MAX,
                              INT32_MIN, INT32_MIN, INT32_MAX, 0,  0,          INT32_MAX,
                              INT32_MIN, 16777216,  0,         7};
  for (size_t i = 0; i < sizeof x / sizeof *x; i += SN_LANES_F32) {
    int32_t got[SN_LANES_F32];
    sn_vi32_store(got, sn_vi32_from_vf32(sn_vf32_load(x + i)));
    assert_memory_equal(got, expected + i, sizeof got);
    const vf32 v = sn_vf32_load(x + i);
    float back[SN_LANES_F32], root[SN_LANES_F32];
    sn_vf32_store(back, sn_vf32_from_vf64(sn_vf64_from_low(v), sn_vf64_from_high(v)));
    sn_vf32_store(root, sn_vf32_sqrt(v));
    for (size_t lane = 0; lane < SN_LANES_F32; lane++) {
      assert_true(same_f32(back[lane], x[i + lane]));
      assert_true(same_f32(root[lane], sqrtf(x[i + lane])));
    }
  }
}

int main(void) {
#define ROW(name, exact, exactl, bound, bound64) \
  cmocka_unit_test(f32_##name), cmocka_unit_test(f64_##name),
  const struct CMUnitTest tests[] = {
      MATH_UNARY(ROW) cmocka_unit_test(f32_pow), cmocka_unit_test(f64_pow),
      cmocka_unit_test(f32_sin_mixed_lanes),     cmocka_unit_test(special_values),
      cmocka_unit_test(special_values_of_pow),   cmocka_unit_test(conversions),
  };
#undef ROW
  return cmocka_run_group_tests(tests, NULL, NULL);
}
