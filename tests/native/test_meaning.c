/* test_meaning.c - the scalar reference, with which everything else is compared, against the
 * meanings of math_reference.h: every row with such a meaning, in the next wider type, within the ULP
 * that the row states, on its domain and on all special values. */
#include "math_reference.h"
#include "op_cases.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/reference.h"

typedef long double real;

/* ---- one value ------------------------------------------------------------------------------- */

static double error_of(sn_dtype dtype, double got, real exact) {
  return dtype == SN_F32 ? ulp_f32((float)got, (double)exact) : ulp_f64(got, exact);
}

static void check_floats(sn_op op, sn_dtype dtype, const double *in, double got) {
  const sn_op_info *row = sn_op_describe(op);
  const double bound = sn_op_bounds_table[op].ulp;
  if (!reference_has_meaning((int)op, dtype == SN_F32, in[0], in[1])) return;
  const real exact = math_meanings[op].f64((real)in[0], (real)in[1]);
  if (row->kind == SN_CLASS_COMPARE ? got == (double)exact : error_of(dtype, got, exact) <= bound)
    return;
  fail_msg("%s of %s (%a, %a) = %a, exact %La: %g ULP, its row says %g", row->name,
           sn_dtype_name(dtype), in[0], in[1], got, exact, error_of(dtype, got, exact), bound);
}

static void check_integers(sn_op op, sn_dtype dtype, const double *in, double got) {
  const int64_t exact = math_meanings[op].integers((int64_t)in[0], (int64_t)in[1]);
  const bool flag = dtype == SN_BOOL || sn_op_describe(op)->kind == SN_CLASS_COMPARE;
  const double held = flag ? (double)(exact != 0) : (double)(int32_t)(uint32_t)(uint64_t)exact;
  if (got == held) return;
  fail_msg("%s of %s (%.0f, %.0f) = %.0f, not %.0f", sn_op_describe(op)->name, sn_dtype_name(dtype),
           in[0], in[1], got, held);
}

/* ---- all rows -------------------------------------------------------------------------------- */

static case_random rng;

static void check_row(sn_op op, sn_dtype dtype, case_values values, int64_t n) {
  const sn_op_class kind = sn_op_describe(op)->kind;
  const sn_dtype result = kind == SN_CLASS_COMPARE ? SN_BOOL : dtype;
  void *x = malloc((size_t)n * 8), *y = malloc((size_t)n * 8);
  case_fill(&rng, op, 0, dtype, values, n, x);
  case_fill(&rng, op, 1, dtype, values, n, y);
  for (int64_t i = 0; i < n; i++) {
    const double in[SN_MAX_ARITY] = {sn_ref_load(dtype, x, i), sn_ref_load(dtype, y, i), 0};
    const double got = sn_ref_scalar(false, op, dtype, in, result);
    if (sn_dtype_is_float(dtype))
      check_floats(op, dtype, in, got);
    else
      check_integers(op, dtype, in, got);
  }
  free(x);
  free(y);
}

static void check_all(case_values values) {
  rng.state = case_seed();
  for (int op = 0; op < SN_OP_COUNT; op++)
    for (int dtype = SN_F32; dtype <= SN_BOOL; dtype++) {
      if (!math_meanings[op].f64 || !case_takes((sn_op)op, (sn_dtype)dtype)) continue;
      const int64_t specials = (int64_t)case_special_count((sn_dtype)dtype);
      check_row((sn_op)op, (sn_dtype)dtype, values,
                values == CASE_SPECIALS ? specials * specials
                : case_short()          ? 2000
                                        : 20000);
    }
}

static void on_the_domain(void **state) {
  (void)state;
  check_all(CASE_DOMAIN);
}

static void on_special_values(void **state) {
  (void)state;
  check_all(CASE_SPECIALS);
}

static void where_selects(void **state) {
  (void)state;
  for (int condition = 0; condition < 2; condition++) {
    const double in[SN_MAX_ARITY] = {condition, NAN, 7};
    const double got = sn_ref_scalar(false, SN_OP_where, SN_F32, in, SN_F32);
    assert_true(condition ? isnan(got) : got == 7);
  }
}

/* float to int truncates and saturates, NaN gives 0; to bool is "not 0"; each value once, by
 * hand. */
static void casts(void **state) {
  (void)state;
  static const struct {
    sn_dtype to;
    double value, expected;
  } table[] = {
      {SN_I32, 2.9, 2},
      {SN_I32, -2.9, -2},
      {SN_I32, NAN, 0},
      {SN_I32, INFINITY, INT32_MAX},
      {SN_I32, -INFINITY, INT32_MIN},
      {SN_I32, 3e9, INT32_MAX},
      {SN_I32, -3e9, INT32_MIN},
      {SN_I32, 2147483647.5, INT32_MAX},
      {SN_BOOL, 0.5, 1},
      {SN_BOOL, -0.0, 0},
      {SN_BOOL, NAN, 1},
      {SN_BOOL, 1e-300, 1},
      {SN_F32, 16777217, 16777216},
      {SN_F32, 1e300, INFINITY},
      {SN_F32, 1e-300, 0},
      {SN_F64, 0.1, 0.1},
      {SN_F32, 0.1, 0x1.99999ap-4},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const double got = sn_ref_scalar(false, SN_OP_astype, SN_F64, &table[i].value, table[i].to);
    if (got != table[i].expected)
      fail_msg("%g as %s = %g", table[i].value, sn_dtype_name(table[i].to), got);
  }
}

/* The ruler measures: half a unit, one unit, the wrong sign of zero, NaN against a number. */
static void planted_errors_are_measured(void **state) {
  (void)state;
  assert_true(error_of(SN_F32, 1, 1 + 0x1p-24L) == 0.5);
  assert_true(error_of(SN_F32, 0x1.000002p0, 1) == 1);
  assert_true(error_of(SN_F64, 0x1.0000000000001p0, 1) == 1);
  assert_true(isinf(error_of(SN_F32, -0.0, 0)));
  assert_true(isinf(error_of(SN_F64, NAN, 0)));
  assert_true(isinf(error_of(SN_F32, 1, (real)NAN)));
  assert_true(isinf(error_of(SN_F32, FLT_MAX, (real)INFINITY)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planted_errors_are_measured),
      cmocka_unit_test(on_the_domain),
      cmocka_unit_test(on_special_values),
      cmocka_unit_test(where_selects),
      cmocka_unit_test(casts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
