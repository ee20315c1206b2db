/* test_op_facts.c - what ops.def says of ops is true: every fact on which rewrites and kernels rely
 * (ops.h), against the scalar reference on special values and values between them; and attributes are
 * what their kinds say. */
#include <math.h>

#include "support.h"

#include "graph/attributes.h"
#include "graph/reference.h"

static const double floats[] = {NAN,    -INFINITY, -1e30, -88.5, -2,   -1.5,    -1,      -0.75,
                                -1e-30, -0.0,      0,     1e-30, 0.25, 0.5,     0.99999, 1,
                                1.5,    2,         3,     88.5,  1e30, INFINITY};
static const double integers[] = {INT32_MIN, -7, -2, -1, 0, 1, 2, 3, 31, 255, INT32_MAX};
static const double bools[] = {0, 1};

typedef struct sample {
  const double *values;
  size_t n;
} sample;

static sample sample_of(sn_dtype dtype) {
  if (sn_dtype_is_float(dtype)) return (sample){floats, sizeof floats / sizeof *floats};
  if (dtype == SN_BOOL) return (sample){bools, 2};
  return (sample){integers, sizeof integers / sizeof *integers};
}

static bool is_minus_zero(double x) { return x == 0 && signbit(x); }

static bool same(double a, double b) {
  return (isnan(a) && isnan(b)) || sn_double_attr(a) == sn_double_attr(b);
}

static double scalar(sn_op op, sn_dtype dtype, double a, double b, bool fused) {
  const double in[SN_MAX_ARITY] = {a, b};
  const bool flag = sn_op_describe(op)->result == SN_RESULT_BOOL;
  return sn_ref_scalar(fused, op, dtype, in, flag ? SN_BOOL : dtype);
}

/* Whether the row allows -0 as a result of these inputs. */
static bool may_be_minus_zero(const sn_op_info *op, double a, double b) {
  const bool first = is_minus_zero(a), second = is_minus_zero(b);
  switch (op->minus_zero) {
  case SN_ZERO_UNKNOWN: return !op->not_negative;
  case SN_ZERO_NEVER: return false;
  case SN_ZERO_OF_FIRST: return first;
  case SN_ZERO_OF_ANY: return first || (op->arity > 1 && second);
  case SN_ZERO_OF_ALL: return first && second;
  }
  return true;
}

static void check_floats(sn_op op, double a, double b, double y) {
  const sn_op_info *row = sn_op_describe(op);
  if (row->not_negative) assert_true(isnan(y) || y > 0 || (y == 0 && !signbit(y)));
  if (row->whole) assert_true(isnan(y) || isinf(y) || y == trunc(y));
  if (is_minus_zero(y) && !may_be_minus_zero(row, a, b))
    fail_msg("%s(%g, %g) is -0, which its row excludes", row->name, a, b);
}

static void check_comparison(sn_op op, sn_dtype dtype, double a, double b, double y, bool fused) {
  const sn_op_info *row = sn_op_describe(op);
  const bool nan = isnan(a) || (row->arity > 1 && isnan(b));
  if (nan) assert_int_equal(y != 0, row->of_nan);
  if (!row->opposite) return;
  assert_int_equal(sn_op_describe(row->opposite)->opposite, op);
  const double opposite = scalar(row->opposite, dtype, a, b, fused);
  if (!nan || row->of_nan != sn_op_describe(row->opposite)->of_nan)
    assert_int_equal(y != 0, opposite == 0);
}

static void check_step(sn_op op, sn_dtype dtype, double a, double b, double y, bool fused) {
  const sn_op_info *row = sn_op_describe(op);
  if (row->kind != SN_CLASS_REDUCE) return;
  assert_true(row->step != SN_OP_NONE && same(y, scalar(row->step, dtype, a, b, fused)));
  if (row->picks) assert_true(isnan(y) || same(y, a) || same(y, b));
  if (row->picks) assert_true(same(y, scalar(op, dtype, b, a, fused)));
}

/* On bools: what it is there agrees with numbers 0 and 1; the same op on all bits does the same to
 * each. */
static void check_bools(sn_op op, sn_dtype dtype, double a, double b, double y) {
  const sn_op_info *row = sn_op_describe(op);
  const bool flags = (a == 0 || a == 1) && (b == 0 || b == 1);
  const bool set = row->arity > 1 ? y != 0 : (int32_t)y & 1; /* of ~x, the lowest bit */
  if (dtype == SN_I32 && row->on_bools && flags)
    assert_int_equal(set, scalar(row->on_bools, SN_BOOL, a, b, false) != 0);
  if (dtype != SN_BOOL || !row->on_bits) return;
  const double other = row->arity > 1 ? b : 1;
  assert_int_equal(y != 0, scalar(row->on_bits, SN_I32, a, other, false) != 0);
}

static void check_pair(sn_op op, sn_dtype dtype, double first, double second, bool fused) {
  const sn_op_info *row = sn_op_describe(op);
  const double a = sn_ref_convert(dtype, first), b = sn_ref_convert(dtype, second);
  const double y = scalar(op, dtype, a, b, fused);
  if (row->commutative) assert_true(same(y, scalar(op, dtype, b, a, fused)));
  if (row->result == SN_RESULT_BOOL)
    check_comparison(op, dtype, a, b, y, fused);
  else if (sn_dtype_is_float(dtype) && row->kind != SN_CLASS_REDUCE)
    check_floats(op, a, b, y);
  check_step(op, dtype, a, b, y, fused);
  check_bools(op, dtype, a, b, y);
}

static bool has_scalar(sn_op op) {
  const sn_op_class kind = sn_op_describe(op)->kind;
  return kind == SN_CLASS_MAP || kind == SN_CLASS_COMPARE || kind == SN_CLASS_REDUCE;
}

static void facts_hold(void **state) {
  (void)state;
  for (sn_op op = 0; op < SN_OP_COUNT; op++)
    for (sn_dtype dtype = 0; has_scalar(op) && dtype <= SN_BOOL; dtype++) {
      if (!sn_op_takes(op, dtype)) continue;
      const sample s = sample_of(dtype);
      for (size_t i = 0; i < 2 * s.n * s.n; i++)
        check_pair(op, dtype, s.values[i / 2 / s.n], s.values[i / 2 % s.n], i % 2);
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

static sn_status checked(sn_op op, int rank, const int64_t *attrs, size_t n) {
  sn_env env = {0};
  const sn_type of = {.dtype = SN_F32, .rank = rank, .dims = {2, 3, 4, 5}};
  return sn_attrs_check(&env, op, attrs, n, &of);
}
#define CHECKED(op, rank, ...)                        \
  checked(SN_OP_##op, rank, (int64_t[]){__VA_ARGS__}, \
          sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void attributes_are_what_their_kinds_say(void **state) {
  (void)state;
  assert_int_equal(sn_op_attrs_length(SN_OP_add, 2), 0);
  assert_int_equal(sn_op_attrs_length(SN_OP_slice, 3), 6);
  assert_int_equal(sn_op_attrs_length(SN_OP_pad, 2), 5);
  assert_int_equal(sn_op_attrs_length(SN_OP_conv, 4), 10);
  assert_int_equal(CHECKED(cumsum, 2, 1, 0, 1), SN_OK);
  assert_int_equal(CHECKED(cumsum, 2, 2, 0, 1), SN_ERR_SHAPE);
  assert_int_equal(CHECKED(cumsum, 2, -1, 0, 1), SN_ERR_SHAPE);
  assert_int_equal(CHECKED(cumsum, 2, 1, 2, 1), SN_ERR_INTERNAL);
  assert_int_equal(CHECKED(cumsum, 2, 1, 0), SN_ERR_INTERNAL);
  assert_int_equal(CHECKED(sum, 2, 3), SN_OK);
  assert_int_equal(CHECKED(sum, 2, 4), SN_ERR_SHAPE);
  assert_int_equal(CHECKED(transpose, 3, 2, 0, 1), SN_OK);
  assert_int_equal(CHECKED(transpose, 3, 2, 0, 2), SN_ERR_SHAPE);
  assert_int_equal(CHECKED(windows, 3, 2, 1, 1), SN_OK);
  assert_int_equal(CHECKED(windows, 3, 2, 0, 1), SN_ERR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(facts_hold),
      cmocka_unit_test(attributes_are_what_their_kinds_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
