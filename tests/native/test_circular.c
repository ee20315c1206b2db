/* test_circular.c - sine, cosine and tangent of float64 arguments of any magnitude: the hard arguments of
 * tests/golden/circular.h against values with many digits, samples of every exponent against long
 * double, and vectors with lanes on both sides of the switch to the reduction for large arguments. */
#include "math_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { FUNCTIONS = 3, SAMPLES_PER_EXPONENT = 64 };

typedef struct hard_case {
  double x, exact[FUNCTIONS][2];
} hard_case;

static const hard_case hard_cases[] = {
#include "../golden/circular.h"
};
static const sn_op ops[FUNCTIONS] = {SN_OP_sin, SN_OP_cos, SN_OP_tan};

static const math_row *row_of(sn_op op) {
  for (size_t i = 0; i < MATH_ROW_COUNT; i++)
    if (math_rows[i].op == op) return &math_rows[i];
  fail_msg("no row");
  return NULL;
}

/* In ULP; ops.def has the bounds of float32, of which tan has a larger one. */
static const double bound = 1;

/* x, as a scalar and in one lane of a vector whose others are small. */
static void check(sn_op op, double x, long double exact) {
  const math_row *row = row_of(op);
  const double got = row->f64(x, 0);
  if (!(ulp_f64(got, exact) <= bound))
    fail_msg("%s(%a) = %a, exact %La: %g ULP", sn_op_describe(op)->name, x, got, exact,
             ulp_f64(got, exact));
  for (int large = 0; large < SN_LANES_F64; large++) {
    double in[SN_LANES_F64], none[SN_LANES_F64] = {0}, out[SN_LANES_F64];
    for (int lane = 0; lane < SN_LANES_F64; lane++) in[lane] = lane == large ? x : lane + 0.5;
    row->vf64(in, none, out);
    for (int lane = 0; lane < SN_LANES_F64; lane++) {
      const double alone = row->f64(in[lane], 0);
      assert_true(sn_f64_to_bits(out[lane]) == sn_f64_to_bits(alone) ||
                  (isnan(out[lane]) && isnan(alone)));
    }
  }
}

static void hard_arguments(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof hard_cases / sizeof *hard_cases; i++) {
    const hard_case *c = &hard_cases[i];
    for (int f = 0; f < FUNCTIONS; f++) {
      const long double exact = (long double)c->exact[f][0] + (long double)c->exact[f][1];
      check(ops[f], c->x, exact);
      check(ops[f], -c->x, ops[f] == SN_OP_cos ? exact : -exact);
    }
  }
}

static void every_exponent(void **state) {
  (void)state;
  for (uint64_t exponent = 0; exponent < 2047; exponent++) {
    for (uint64_t i = 0; i < SAMPLES_PER_EXPONENT; i++) {
      const uint64_t random = random_at(exponent * SAMPLES_PER_EXPONENT + i);
      const double x = sn_f64_from_bits(exponent << 52 | random >> 12 | random << 63);
      for (int f = 0; f < FUNCTIONS; f++) check(ops[f], x, math_meanings[ops[f]].f64(x, 0));
    }
  }
}

static void what_has_no_value_is_nan(void **state) {
  (void)state;
  for (int f = 0; f < FUNCTIONS; f++) {
    check(ops[f], INFINITY, NAN);
    check(ops[f], -INFINITY, NAN);
    check(ops[f], NAN, NAN);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hard_arguments),
      cmocka_unit_test(every_exponent),
      cmocka_unit_test(what_has_no_value_is_nan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
