/* test_jvp.c - forward mode on every op, in float64, at a random point x along random directions v:
 *
 *   J v                      against (f(x + h v) - f(x - h v)) / 2 h, element by element
 *   <u, J v> = <J^T u, v>    to 1e-12 of the sum of the terms' magnitudes
 *   second derivatives       jvp of vjp and jvp of jvp against such differences of vjp and jvp; vjp
 *                            of jvp against jvp of vjp, as both are (d/dx u^T J) v
 *
 * So f itself is the only reference. */
#include "case_support.h"
#include "derivative_cases.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 512 };
static const double STEP = 1e-6, ATOL = 1e-7, RTOL = 1e-5, RTOL_SECOND = 1e-4, ADJOINT = 1e-12;

/* All elements of a list of tensors, one after the other. */
typedef struct values {
  double v[MOST];
  size_t n;
} values;

static values read_all(const derivative_case *c, sn_tensor *const *t, size_t n) {
  values all = {.n = 0};
  for (size_t i = 0; i < n; i++) {
    const size_t size = (size_t)sn_size(must(c->name, t[i]));
    assert_true(all.n + size <= MOST);
    succeed(c->name, sn_read(t[i], all.v + all.n, size * sizeof(double)));
    all.n += size;
  }
  return all;
}

/* ---- f and what is made of it ---------------------------------------------------------------- */

typedef struct made {
  size_t n;
  sn_tensor *x[DERIVATIVE_INPUTS], *v[DERIVATIVE_INPUTS], *u;
  sn_tensor *y, *jv, *ju[DERIVATIVE_INPUTS];
} made;

/* f, J v and J^T u at a point. */
static made make(const derivative_case *c, const derivative_point *at) {
  made m = {.n = (size_t)c->n};
  for (size_t k = 0; k < m.n; k++) {
    m.x[k] = sn_variable(sn_from_data(ctx, SN_F64, c->in[k].rank, c->in[k].dims, at->x[k]));
    m.v[k] = random_like(m.x[k], 3 + k);
  }
  m.y = sn_astype(must(c->name, c->build(ctx, c, m.x)), SN_F64);
  m.u = random_like(m.y, 7);
  succeed(c->name, sn_jvp(ctx, &m.y, 1, m.x, m.v, m.n, &m.jv));
  succeed(c->name, sn_vjp(ctx, &m.y, 1, &m.u, m.x, m.n, m.ju));
  return m;
}

/* The point at + h v. */
static derivative_point moved(const derivative_case *c, const derivative_point *at, double h) {
  derivative_point to = *at;
  for (int k = 0; k < c->n; k++) {
    case_random r = {3 + (uint64_t)k};
    for (int64_t i = 0; i < sn_type_size(&c->in[k]); i++)
      to.x[k][i] += h * case_between(&r, 0.5, 1.5) * (i % 2 ? -1 : 1);
  }
  return to;
}

typedef values measure(const derivative_case *c, const made *m);
static values measure_y(const derivative_case *c, const made *m) { return read_all(c, &m->y, 1); }
static values measure_jv(const derivative_case *c, const made *m) { return read_all(c, &m->jv, 1); }
static values measure_ju(const derivative_case *c, const made *m) {
  return read_all(c, m->ju, m->n);
}

static values difference(const derivative_case *c, const derivative_point *at, measure *f) {
  const derivative_point up = moved(c, at, STEP), down = moved(c, at, -STEP);
  const made above = make(c, &up), below = make(c, &down);
  values slope = f(c, &above);
  const values subtracted = f(c, &below);
  for (size_t i = 0; i < slope.n; i++)
    slope.v[i] = c->stops ? 0 : (slope.v[i] - subtracted.v[i]) / (2 * STEP);
  return slope;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool near(const values *got, const values *want, double atol, double rtol, size_t *where) {
  assert_int_equal(got->n, want->n);
  for (size_t i = 0; i < got->n; i++) {
    *where = i;
    if (!(fabs(got->v[i] - want->v[i]) <= atol + rtol * fabs(want->v[i]))) return false;
  }
  return true;
}

static void expect_near(const derivative_case *c, const char *what, const values *got,
                        const values *want, double atol, double rtol) {
  size_t i;
  if (!near(got, want, atol, rtol, &i))
    fail_msg("%s: %s: element %zu is %.12g, not %.12g", c->name, what, i, got->v[i], want->v[i]);
}

static double dot(const values *a, const values *b, double *size) {
  double sum = 0;
  assert_int_equal(a->n, b->n);
  for (size_t i = 0; i < a->n; i++) {
    sum += a->v[i] * b->v[i];
    *size += fabs(a->v[i] * b->v[i]);
  }
  return sum;
}

static double largest(const values *a) {
  double most = 0;
  for (size_t i = 0; i < a->n; i++) most = fmax(most, fabs(a->v[i]));
  return most;
}

static void check_adjoint(const derivative_case *c, const made *m, const values *jv,
                          const values *ju) {
  double size = 0;
  const values u = read_all(c, &m->u, 1), v = read_all(c, m->v, m->n);
  const double forward = dot(&u, jv, &size), back = dot(ju, &v, &size);
  if (!(fabs(forward - back) <= ADJOINT * size))
    fail_msg("%s: <u, J v> is %.17g, <J^T u, v> %.17g", c->name, forward, back);
}

/* J v is linear in v: its parts by one argument each add up to it. */
static void check_parts(const derivative_case *c, const made *m, const values *jv) {
  values sum = {.n = jv->n};
  for (size_t k = 0; k < m->n; k++) {
    sn_tensor *v[DERIVATIVE_INPUTS] = {NULL}, *part;
    v[k] = m->v[k];
    succeed(c->name, sn_jvp(ctx, &m->y, 1, m->x, v, m->n, &part));
    const values by_one = read_all(c, &part, 1);
    for (size_t i = 0; i < sum.n; i++) sum.v[i] += by_one.v[i];
  }
  expect_near(c, "sum of parts", &sum, jv, ADJOINT * largest(jv), ADJOINT);
}

static void check_case(const derivative_case *c) {
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  const derivative_point at = derivative_random_point(c, &rng);
  const made m = make(c, &at);
  const values jv = measure_jv(c, &m), ju = measure_ju(c, &m);
  values want = difference(c, &at, measure_y);
  expect_near(c, "J v", &jv, &want, ATOL, RTOL);
  check_adjoint(c, &m, &jv, &ju);
  check_parts(c, &m, &jv);

  sn_tensor *made_of[DERIVATIVE_INPUTS], *twice;
  succeed(c->name, sn_jvp(ctx, m.ju, m.n, m.x, m.v, m.n, made_of));
  const values second = read_all(c, made_of, m.n);
  want = difference(c, &at, measure_ju);
  expect_near(c, "jvp of vjp", &second, &want, ATOL, RTOL_SECOND);
  succeed(c->name, sn_vjp(ctx, &m.jv, 1, &m.u, m.x, m.n, made_of));
  want = read_all(c, made_of, m.n);
  expect_near(c, "vjp of jvp", &want, &second, 1e-11 * largest(&second), 0);
  succeed(c->name, sn_jvp(ctx, &m.jv, 1, m.x, m.v, m.n, &twice));
  const values bent = read_all(c, &twice, 1);
  want = difference(c, &at, measure_jv);
  expect_near(c, "jvp of jvp", &bent, &want, ATOL, RTOL_SECOND);
  sn_scope_end(ctx);
}

static void rows_of_the_table(void **state) {
  (void)state;
  derivative_rows(check_case);
}

static void structured_ops(void **state) {
  (void)state;
  derivative_structured(check_case);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static double number_of(sn_tensor *t) {
  double value;
  assert_int_equal(sn_read(sn_astype(t, SN_F64), &value, sizeof value), SN_OK);
  return value;
}

/* An int32 among the arguments, a bare number as a tangent, an output that does not depend. */
static void tangents_given(void **state) {
  (void)state;
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  const float two = 2;
  const int32_t three = 3;
  sn_tensor *x = sn_variable(sn_from_data(ctx, SN_F32, 0, NULL, &two));
  sn_tensor *n = sn_from_data(ctx, SN_I32, 0, NULL, &three), *wrt[] = {x, n};
  sn_tensor *y[] = {sn_mul(sn_square(x), n), sn_astype(sn_square(n), SN_F32)}, *dy[2];
  sn_tensor *tangents[] = {sn_scalar(ctx, 0.5), NULL};
  assert_int_equal(sn_jvp(ctx, y, 2, wrt, tangents, 2, dy), SN_OK);
  assert_true(number_of(dy[0]) == 6 && number_of(dy[1]) == 0);
  assert_int_equal(sn_dtype_of(dy[1]), SN_F32);
  sn_scope_end(ctx);
}

/* Of an argument in half precision it is computed in float32 and handed out in the dtype of y. */
static void tangents_of_small_dtypes(void **state) {
  (void)state;
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  const float two = 2;
  sn_tensor *one = sn_astype(sn_scalar(ctx, 1), SN_F16), *dy;
  sn_tensor *x = sn_variable(sn_astype(sn_from_data(ctx, SN_F32, 0, NULL, &two), SN_F16));
  sn_tensor *y = sn_square(sn_reshape(x, 1, (const int64_t[]){1}));
  assert_int_equal(sn_dtype_of(y), SN_F16);
  assert_int_equal(sn_jvp(ctx, &y, 1, &x, &one, 1, &dy), SN_OK);
  assert_int_equal(sn_dtype_of(dy), SN_F16);
  assert_true(number_of(dy) == 4);
  sn_scope_end(ctx);
}

static void refused(sn_tensor *y, sn_tensor *x, sn_tensor *dx, sn_status status, const char *text) {
  sn_tensor *dy;
  assert_int_equal(sn_jvp(ctx, &y, 1, &x, &dx, 1, &dy), status);
  assert_string_equal(sn_error_message(ctx), text);
  sn_error_clear(ctx);
}

static void bad_arguments(void **state) {
  (void)state;
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  const int64_t dims[] = {2};
  const double data[] = {1, 2};
  sn_tensor *x = sn_from_data(ctx, SN_F64, 1, dims, data), *y = sn_square(x);
  sn_tensor *single = sn_astype(x, SN_F32), *whole = sn_astype(x, SN_I32);
  refused(y, x, sn_sum(x, 1, false), SN_ERR_SHAPE,
          "jvp: tangent 0 has shape (), its argument (2,)");
  refused(y, x, single, SN_ERR_DTYPE, "jvp: tangent 0 is float32, its argument float64");
  refused(y, whole, whole, SN_ERR_DTYPE, "jvp: argument 0 is int32; only floats have gradients");
  refused(whole, x, x, SN_ERR_DTYPE, "jvp: output 0 is int32; only floats have gradients");
  sn_scope_end(ctx);
}

/* What is untracked lets go of its past once it is computed, though that depends on a variable. */
static void untracked_results(void **state) {
  (void)state;
  sn_memory_info before, after;
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  sn_memory(ctx, &before);
  const double two = 2;
  sn_tensor *x = sn_from_data(ctx, SN_F64, 0, NULL, &two), *v = sn_variable(x);
  sn_tensor *y = sn_square(v), *out = sn_keep(sn_untracked(y));
  sn_scope_end(ctx);
  double value;
  assert_int_equal(sn_read(out, &value, sizeof value), SN_OK);
  assert_true(value == 4);
  sn_memory(ctx, &after);
  assert_int_equal(after.tensors, before.tensors + 1);
  assert_null(sn_untracked(NULL));
  sn_error_clear(ctx);
  sn_release(out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_the_table), cmocka_unit_test(structured_ops),
      cmocka_unit_test(tangents_given),    cmocka_unit_test(tangents_of_small_dtypes),
      cmocka_unit_test(bad_arguments),     cmocka_unit_test(untracked_results),
  };
  return cmocka_run_group_tests(tests, open_cases, close_cases);
}
