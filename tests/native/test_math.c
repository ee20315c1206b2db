/* test_math.c - the functions of ops.def against their exact meanings, within the ULP that their rows
 * state; their special values; vectors against scalars; and docs/accuracy.md, which has to name each
 * function. For float32 it tests one of each 1,024 neighbouring bit patterns; math_table tests all of
 * them. */
#include "math_rows.h"
#include "op_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { F64_POINTS = 200000 };

static int same_f32(float a, float b) {
  return (isnan(a) && isnan(b)) || sn_f32_to_bits(a) == sn_f32_to_bits(b);
}
static int same_f64(double a, double b) {
  return (isnan(a) && isnan(b)) || sn_f64_to_bits(a) == sn_f64_to_bits(b);
}

/* ---- float32 ---- */

/* Every call fails with its arguments, so a report is enough to repeat it. */
static void check_f32(const math_row *row, float x, float y, float got) {
  const sn_op_info *op = sn_op_describe(row->op);
  const double bound = sn_op_bounds_table[row->op].ulp;
  if (!reference_has_meaning((int)row->op, true, (double)x, (double)y)) return;
  const double exact = math_meanings[row->op].f32((double)x, (double)y);
  if (ulp_f32(got, exact) <= bound) return;
  fail_msg("%s(%a, %a) = %a, exact %a: %g ULP", op->name, (double)x, (double)y, (double)got, exact,
           ulp_f32(got, exact));
}

/* Of so many bit patterns, a power of 2, one is tried; scripts/accuracy.mjs tries all. */
static uint32_t step_f32(void) { return case_short() ? 1 << 14 : 1 << 10; }

/* One of the `step` bit patterns from i step on; low bits differ from block to block. */
static float sample_f32(uint32_t i, uint32_t step) {
  return sn_f32_from_bits(i * step + (uint32_t)(random_at(i) & (step - 1)));
}

static void check_same_f32(const math_row *row, float x, float y, float scalar, float vector) {
  if (!same_f32(scalar, vector))
    fail_msg("%s(%a, %a): scalar %a, vector %a", sn_op_describe(row->op)->name, (double)x,
             (double)y, (double)scalar, (double)vector);
}

static void row_f32(const math_row *row) {
  const uint32_t step = step_f32();
  const bool pairs = sn_op_describe(row->op)->arity == 2;
  for (uint32_t i = 0; i < (UINT64_C(1) << 32) / step;) {
    float x[SN_LANES_F32], y[SN_LANES_F32] = {0}, vector[SN_LANES_F32], fused[SN_LANES_F32];
    for (int lane = 0; lane < SN_LANES_F32; lane++, i++) {
      x[lane] = sample_f32(i, step);
      if (pairs) y[lane] = (float)second_argument(row->op, (double)x[lane], true, i);
    }
    row->vf32(x, y, vector);
    row->fused_vf32(x, y, fused);
    for (int lane = 0; lane < SN_LANES_F32; lane++) {
      check_f32(row, x[lane], y[lane], vector[lane]);
      if (i & 0xf0) continue; /* scalars are slow: a part of them */
      check_f32(row, x[lane], y[lane], fused[lane]);
      check_same_f32(row, x[lane], y[lane], row->f32(x[lane], y[lane]), vector[lane]);
      check_same_f32(row, x[lane], y[lane], row->fused_f32(x[lane], y[lane]), fused[lane]);
    }
  }
}

static void functions_have_a_meaning(void **state) {
  (void)state;
  for (size_t i = 0; i < MATH_ROW_COUNT; i++)
    if (math_row_is_function(&math_rows[i]) && !math_meanings[math_rows[i].op].f64)
      fail_msg("%s: math_reference.h does not say what it means",
               sn_op_describe(math_rows[i].op)->name);
}

static void all_f32(void **state) {
  (void)state;
  for (size_t i = 0; i < MATH_ROW_COUNT; i++)
    if (math_row_is_function(&math_rows[i])) row_f32(&math_rows[i]);
}

/* Lanes on both sides of the switch to the reduction for large arguments do not disturb each
 * other. */
static void f32_sin_mixed_lanes(void **state) {
  (void)state;
  for (int large = 0; large < SN_LANES_F32; large++) {
    float x[SN_LANES_F32], sine[SN_LANES_F32], cosine[SN_LANES_F32];
    for (int lane = 0; lane < SN_LANES_F32; lane++) x[lane] = lane == large ? 1e30f : (float)lane;
    sn_vf32_store(sine, sn_vf32_sin(false, sn_vf32_load(x)));
    sn_vf32_store(cosine, sn_vf32_cos(false, sn_vf32_load(x)));
    for (int lane = 0; lane < SN_LANES_F32; lane++) {
      assert_true(same_f32(sine[lane], sn_f32_sin(false, x[lane])));
      assert_true(same_f32(cosine[lane], sn_f32_cos(false, x[lane])));
    }
  }
}

/* ---- float64 ---- */

static void check_f64(const math_row *row, double x, double y, double got) {
  const sn_op_info *op = sn_op_describe(row->op);
  const double bound = sn_op_bounds_table[row->op].ulp;
  if (!reference_has_meaning((int)row->op, false, x, y)) return;
  const long double exact = math_meanings[row->op].f64((long double)x, (long double)y);
  if (ulp_f64(got, exact) <= bound) return;
  fail_msg("%s(%a, %a) = %a, exact %La: %g ULP", op->name, x, y, got, exact, ulp_f64(got, exact));
}

static void row_f64(const math_row *row) {
  const bool pairs = sn_op_describe(row->op)->arity == 2;
  for (uint64_t i = 0; i < F64_POINTS / (case_short() ? 16 : 1);) {
    double x[SN_LANES_F64], y[SN_LANES_F64] = {0}, vector[SN_LANES_F64];
    for (int lane = 0; lane < SN_LANES_F64; lane++, i++) {
      x[lane] = sample_f64(i);
      if (pairs) y[lane] = second_argument(row->op, x[lane], false, i);
    }
    row->vf64(x, y, vector);
    for (int lane = 0; lane < SN_LANES_F64; lane++) {
      check_f64(row, x[lane], y[lane], vector[lane]);
      const double scalar = row->f64(x[lane], y[lane]);
      if (!same_f64(scalar, vector[lane]))
        fail_msg("%s(%a, %a): scalar %a, vector %a", sn_op_describe(row->op)->name, x[lane],
                 y[lane], scalar, vector[lane]);
    }
  }
}

static void all_f64(void **state) {
  (void)state;
  for (size_t i = 0; i < MATH_ROW_COUNT; i++)
    if (math_row_is_function(&math_rows[i])) row_f64(&math_rows[i]);
}

/* ---- special values: C99 Annex F ---- */

/* What functions of both types are of numbers with a value of their own; NaN is the last. */
#define INF INFINITY
enum { MOST_SPECIALS = 9 };
/* clang-format off */
#define SPECIALS(name, ...) {#name, sn_f32_##name, sn_f64_##name, {__VA_ARGS__}}
static const struct {
  const char *name;
  float (*f32)(bool fused, float);
  double (*f64)(double);
  double pairs[MOST_SPECIALS][2]; /* argument, result */
} specials[] = {
  SPECIALS(exp, {0.0, 1.0}, {-0.0, 1.0}, {INF, INF}, {-INF, 0.0}, {1e30, INF}, {-1e30, 0.0},
           {NAN, NAN}),
  SPECIALS(log, {1.0, 0.0}, {0.0, -INF}, {-0.0, -INF}, {-1.0, NAN}, {-INF, NAN}, {INF, INF},
           {NAN, NAN}),
  SPECIALS(log1p, {0.0, 0.0}, {-0.0, -0.0}, {0x1p-126, 0x1p-126}, {-0x1p-149, -0x1p-149},
           {-1.0, -INF}, {-1.5, NAN}, {-INF, NAN}, {INF, INF}, {NAN, NAN}),
  SPECIALS(tanh, {0.0, 0.0}, {-0.0, -0.0}, {0x1p-149, 0x1p-149}, {INF, 1.0}, {-INF, -1.0},
           {40.0, 1.0}, {NAN, NAN}),
  SPECIALS(sigmoid, {0.0, 0.5}, {INF, 1.0}, {-INF, 0.0}, {NAN, NAN}),
  SPECIALS(erf, {0.0, 0.0}, {-0.0, -0.0}, {INF, 1.0}, {-INF, -1.0}, {7.0, 1.0}, {NAN, NAN}),
  SPECIALS(rsqrt, {0.0, INF}, {-0.0, -INF}, {INF, 0.0}, {-1.0, NAN}, {-1e30, NAN}, {-INF, NAN},
           {0x1p-148, 0x1p74}, {NAN, NAN}),
  SPECIALS(exp2, {0.0, 1.0}, {10.0, 1024.0}, {-149.0, 0x1p-149}, {INF, INF}, {-INF, 0.0},
           {NAN, NAN}),
  SPECIALS(expm1, {0.0, 0.0}, {-0.0, -0.0}, {0x1p-149, 0x1p-149}, {INF, INF}, {-INF, -1.0},
           {NAN, NAN}),
  SPECIALS(log2, {1.0, 0.0}, {1024.0, 10.0}, {0x1p-149, -149.0}, {0.0, -INF}, {-0.0, -INF},
           {-1.0, NAN}, {INF, INF}, {NAN, NAN}),
  SPECIALS(tan, {0.0, 0.0}, {-0.0, -0.0}, {0x1p-149, 0x1p-149}, {INF, NAN}, {-INF, NAN},
           {NAN, NAN}),
  SPECIALS(asin, {0.0, 0.0}, {-0.0, -0.0}, {1.5, NAN}, {-INF, NAN}, {NAN, NAN}),
  SPECIALS(acos, {1.0, 0.0}, {-1.5, NAN}, {INF, NAN}, {NAN, NAN}),
  SPECIALS(atan, {0.0, 0.0}, {-0.0, -0.0}, {0x1p-149, 0x1p-149}, {NAN, NAN}),
  SPECIALS(sinh, {0.0, 0.0}, {-0.0, -0.0}, {-0x1p-149, -0x1p-149}, {INF, INF}, {-INF, -INF},
           {NAN, NAN}),
  SPECIALS(cosh, {0.0, 1.0}, {INF, INF}, {-INF, INF}, {NAN, NAN}),
  SPECIALS(asinh, {0.0, 0.0}, {-0.0, -0.0}, {0x1p-149, 0x1p-149}, {INF, INF}, {-INF, -INF},
           {NAN, NAN}),
  SPECIALS(acosh, {1.0, 0.0}, {0.5, NAN}, {-1.0, NAN}, {-1e30, NAN}, {-INF, NAN}, {INF, INF},
           {NAN, NAN}),
  SPECIALS(atanh, {0.0, 0.0}, {-0.0, -0.0}, {1.0, INF}, {-1.0, -INF}, {1.5, NAN}, {-INF, NAN},
           {NAN, NAN}),
  SPECIALS(silu, {0.0, 0.0}, {-0.0, -0.0}, {INF, INF}, {-INF, -0.0}, {-1e30, -0.0}, {1e30, 1e30},
           {NAN, NAN}),
  SPECIALS(softplus, {INF, INF}, {-INF, 0.0}, {-1e30, 0.0}, {NAN, NAN}),
  SPECIALS(gelu, {0.0, 0.0}, {-0.0, -0.0}, {INF, INF}, {-INF, -0.0}, {-1e30, -0.0}, {NAN, NAN}),
  SPECIALS(mish, {0.0, 0.0}, {-0.0, -0.0}, {INF, INF}, {-INF, -0.0}, {NAN, NAN}),
  SPECIALS(sin, {0.0, 0.0}, {-0.0, -0.0}, {0x1p-149, 0x1p-149}, {INF, NAN}, {-INF, NAN},
           {NAN, NAN}),
  SPECIALS(cos, {0.0, 1.0}, {-0.0, 1.0}, {INF, NAN}, {-INF, NAN}, {NAN, NAN}),
};
/* clang-format on */
#undef INF

static void expect_special(size_t row, double x, double expected) {
  const char *name = specials[row].name;
  for (int fused = 0; fused < 2; fused++) {
    const float got = specials[row].f32(fused, (float)x);
    if (!same_f32(got, (float)expected)) fail_msg("f32 %s(%a) = %a", name, x, (double)got);
  }
  const double got = specials[row].f64(x);
  if (!same_f64(got, expected)) fail_msg("f64 %s(%a) = %a", name, x, got);
}

static void special_values(void **state) {
  (void)state;
  for (size_t row = 0; row < sizeof specials / sizeof *specials; row++)
    for (const double(*pair)[2] = specials[row].pairs;; pair++) {
      expect_special(row, (*pair)[0], (*pair)[1]);
      if (isnan((*pair)[0])) break;
    }
}

/* Every pair of these, for pow, atan2 and mod: class, sign and, where exact, value are libm's. */
static void special_values_of_pairs(void **state) {
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
  for (size_t k = 0; k < MATH_ROW_COUNT; k++) {
    const math_row *row = &math_rows[k];
    if (!math_row_is_function(row) || sn_op_describe(row->op)->arity != 2) continue;
    for (size_t i = 0; i < count; i++)
      for (size_t j = 0; j < count; j++) {
        const double x = values[i], y = values[j];
        const float single = row->f32((float)x, (float)y);
        check_f32(row, (float)x, (float)y, single);
        check_f32(row, (float)x, (float)y, row->fused_f32((float)x, (float)y));
        check_f64(row, x, y, row->f64(x, y));
        const double exact = math_meanings[row->op].f32((double)(float)x, (double)(float)y);
        if (!isnan(exact) && reference_has_meaning((int)row->op, true, x, y))
          assert_int_equal(signbit(single) != 0, signbit(exact) != 0);
      }
  }
}

/* ---- the published table ---- */

static void check_published_line(sn_op op, const char *line, size_t start_length) {
  const double bound = sn_op_bounds_table[op].ulp;
  const char *last = line + 1 + strcspn(line + 1, "\n") - strlen(" |");
  while (last[-1] != ' ') last--;
  const double single = strtod(line + start_length, NULL), wide = strtod(last, NULL);
  if (!(single > 0 && single <= bound && wide > 0 && wide <= bound))
    fail_msg("%s: published errors %g, %g, bound %g", sn_op_describe(op)->name, single, wide,
             bound);
}

/* Each function stands in docs/accuracy.md with the bound of its row and errors within it: once
 * plain, once fused. */
static void accuracy_is_published(void **state) {
  (void)state;
  static char text[1 << 16];
  FILE *file = fopen("docs/accuracy.md", "r");
  if (!file) fail_msg("docs/accuracy.md cannot be read");
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  for (size_t i = 0; i < MATH_ROW_COUNT; i++) {
    if (!math_row_is_function(&math_rows[i])) continue;
    const sn_op op = math_rows[i].op;
    char start[64];
    snprintf(start, sizeof start, "\n| %s | %g | ", sn_op_describe(op)->name,
             sn_op_bounds_table[op].ulp);
    size_t lines = 0;
    for (const char *line = text; (line = strstr(line, start)); line++, lines++)
      check_published_line(op, line, strlen(start));
    if (lines != 2) fail_msg("docs/accuracy.md has %zu lines %s", lines, start + 1);
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

/* ---- multiply-adds rounded once, on a machine without the instruction ---- */

/* Every other one a product half way between two numbers, and an addend too small for float64 beside
 * it: only that says which way to round. */
static void madd_sample(uint64_t i, float *x, float *y, float *z) {
  const uint64_t random = random_at(i), more = random_at(random);
  *x = sn_f32_from_bits((uint32_t)random);
  *y = sn_f32_from_bits((uint32_t)(random >> 32));
  *z = sn_f32_from_bits((uint32_t)more);
  if (i & 1) return;
  *x = ldexpf(1 + (float)((random & 0x3ff) | 1) * 0x1p-12f, (int)(random >> 10 & 31) - 16);
  *y = ldexpf(1 + (float)((random >> 16 & 0x3ff) | 1) * 0x1p-12f, (int)(random >> 32 & 31) - 16);
  *z = ldexpf(random >> 40 & 1 ? 1 : -1, (int)(random >> 41 & 31) - 120);
  if (random >> 50 & 1) *x = -*x;
}

static void fused_madds_round_once(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 1 << 20;) {
    float x[SN_LANES_F32], y[SN_LANES_F32], z[SN_LANES_F32], got[SN_LANES_F32];
    for (int lane = 0; lane < SN_LANES_F32; lane++) madd_sample(i++, x + lane, y + lane, z + lane);
    sn_vf32_store(got, sn_vf32_fused_madd(sn_vf32_load(x), sn_vf32_load(y), sn_vf32_load(z)));
    for (int lane = 0; lane < SN_LANES_F32; lane++) {
      const float exact = fmaf(x[lane], y[lane], z[lane]);
      const float scalar = sn_f32_fused_madd(x[lane], y[lane], z[lane]);
      if (!same_f32(got[lane], exact) || !same_f32(scalar, exact))
        fail_msg("%a * %a + %a is %a: scalar %a, vector %a", (double)x[lane], (double)y[lane],
                 (double)z[lane], (double)exact, (double)scalar, (double)got[lane]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(special_values),
      cmocka_unit_test(special_values_of_pairs),
      cmocka_unit_test(f32_sin_mixed_lanes),
      cmocka_unit_test(functions_have_a_meaning),
      cmocka_unit_test(all_f32),
      cmocka_unit_test(all_f64),
      cmocka_unit_test(conversions),
      cmocka_unit_test(fused_madds_round_once),
      cmocka_unit_test(accuracy_is_published),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
