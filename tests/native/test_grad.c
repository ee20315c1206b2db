/* test_grad.c - gradients against central differences, in float64, every element of every input:
 *
 *   g[i] = (L(x + eps e_i) - L(x - eps e_i)) / (2 eps)      eps 1e-6, atol 1e-7, rtol 1e-5
 *
 * with L the sum of what is tested times random weights. The gradient of the gradient is checked in
 * the same way with rtol 1e-4, and the float32 gradient against the float64 one. */
#include "case_support.h"
#include "derivative_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/apply.h"

enum { TEXT = 512 };
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

static const double EPS = 1e-6, ATOL = 1e-7, RTOL = 1e-5, RTOL_SECOND = 1e-4;

/* ---- the two gradients ----------------------------------------------------------------------- */

typedef struct derivative {
  sn_tensor *inputs[DERIVATIVE_INPUTS]; /* placeholders */
  sn_tensor *loss, *grads[DERIVATIVE_INPUTS];
} derivative;

static sn_tensor *weighted_sum(sn_tensor *t, sn_dtype dtype, uint64_t seed) {
  return sn_sum(sn_mul(sn_astype(t, dtype), sn_astype(random_like(t, seed), dtype)), SN_ALL_AXES,
                false);
}

/* second: the loss is a weighted sum of the first gradients. */
static derivative differentiate(const derivative_case *c, sn_dtype dtype, bool second) {
  derivative d = {.loss = NULL};
  sn_tensor *vars[DERIVATIVE_INPUTS];
  for (int k = 0; k < c->n; k++) {
    d.inputs[k] = sn_placeholder(ctx, dtype, c->in[k].rank, c->in[k].dims);
    vars[k] = sn_variable(d.inputs[k]);
  }
  d.loss = weighted_sum(must(c->name, c->build(ctx, c, vars)), dtype, 7);
  succeed(c->name, sn_gradients(d.loss, vars, (size_t)c->n, d.grads));
  if (!second) return d;
  sn_tensor *sum = NULL;
  for (int k = 0; k < c->n; k++) {
    sn_tensor *part = weighted_sum(d.grads[k], dtype, 11 + (uint64_t)k);
    sum = sum ? sn_add(sum, part) : part;
  }
  d.loss = must(c->name, sum);
  succeed(c->name, sn_gradients(d.loss, vars, (size_t)c->n, d.grads));
  return d;
}

static sn_program *compile(const derivative_case *c, const derivative *d, sn_tensor *const *outputs,
                           size_t n) {
  sn_program *program;
  succeed(c->name, sn_compile(ctx, d->inputs, (size_t)c->n, outputs, n, NULL, &program));
  return program;
}

static void run(const derivative_case *c, sn_program *program, sn_dtype dtype,
                const derivative_point *at, sn_tensor **outputs) {
  sn_tensor *arguments[DERIVATIVE_INPUTS];
  for (int k = 0; k < c->n; k++)
    arguments[k] =
        sn_astype(sn_from_data(ctx, SN_F64, c->in[k].rank, c->in[k].dims, at->x[k]), dtype);
  succeed(c->name, sn_program_run(program, arguments, outputs));
}

static double loss_at(const derivative_case *c, sn_program *program, const derivative_point *at) {
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  sn_tensor *loss;
  double value;
  run(c, program, SN_F64, at, &loss);
  assert_int_equal(sn_read(loss, &value, sizeof value), SN_OK);
  sn_scope_end(ctx);
  return value;
}

static void gradient_at(const derivative_case *c, const derivative *d, sn_dtype dtype,
                        const derivative_point *at, derivative_point *out) {
  sn_tensor *outputs[DERIVATIVE_INPUTS];
  sn_program *program = compile(c, d, d->grads, (size_t)c->n);
  run(c, program, dtype, at, outputs);
  sn_program_release(program);
  for (int k = 0; k < c->n; k++) {
    assert_int_equal(sn_dtype_of(outputs[k]), dtype);
    assert_int_equal(sn_size(outputs[k]), sn_type_size(&c->in[k]));
    assert_int_equal(sn_read(sn_astype(outputs[k], SN_F64), out->x[k], sizeof out->x[k]), SN_OK);
  }
}

static void differences_at(const derivative_case *c, const derivative *d,
                           const derivative_point *at, derivative_point *out) {
  sn_program *program = compile(c, d, &d->loss, 1);
  derivative_point moved = *at;
  for (int k = 0; k < c->n; k++)
    for (int64_t i = 0; i < sn_type_size(&c->in[k]); i++) {
      double *x = &moved.x[k][i];
      const double was = *x;
      *x = was + EPS;
      const double up = loss_at(c, program, &moved);
      *x = was - EPS;
      out->x[k][i] = c->stops ? 0 : (up - loss_at(c, program, &moved)) / (2 * EPS);
      *x = was;
    }
  sn_program_release(program);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool all_close(const derivative_case *c, const derivative_point *got,
                      const derivative_point *want, double atol, double rtol, char text[TEXT]) {
  for (int k = 0; k < c->n; k++)
    for (int64_t i = 0; i < sn_type_size(&c->in[k]); i++) {
      const double g = got->x[k][i], w = want->x[k][i];
      if (fabs(g - w) <= atol + rtol * fabs(w)) continue;
      snprintf(text, TEXT, "%s: input %d, element %lld: %.9g, expected %.9g", c->name, k,
               (long long)i, g, w);
      return false;
    }
  return true;
}

static double largest(const derivative_case *c, const derivative_point *p) {
  double most = 0;
  for (int k = 0; k < c->n; k++)
    for (int64_t i = 0; i < sn_type_size(&c->in[k]); i++) most = fmax(most, fabs(p->x[k][i]));
  return most;
}

static void check_case(const derivative_case *c) {
  char text[TEXT];
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  const derivative_point at = derivative_random_point(c, &rng);
  derivative_point grad = {0}, second = {0}, single = {0}, want = {0};
  const derivative d = differentiate(c, SN_F64, false), dd = differentiate(c, SN_F64, true);
  const derivative f = differentiate(c, SN_F32, false);
  gradient_at(c, &d, SN_F64, &at, &grad);
  differences_at(c, &d, &at, &want);
  if (!all_close(c, &grad, &want, ATOL, RTOL, text)) fail_msg("%s", text);
  gradient_at(c, &f, SN_F32, &at, &single);
  if (!all_close(c, &single, &grad, 1e-5 * largest(c, &grad), 0, text))
    fail_msg("float32 %s", text);
  gradient_at(c, &dd, SN_F64, &at, &second);
  differences_at(c, &dd, &at, &want);
  if (!all_close(c, &second, &want, ATOL, RTOL_SECOND, text)) fail_msg("second %s", text);
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

/* The cases with fusion off, and with every pass off. */
static void without_passes(void **state) {
  (void)state;
  for (uint32_t off = 0; off < 2; off++) {
    case_passes_off(ctx, off ? ~0u : 1u << (sn_pass_count() - 1));
    structured_ops(state);
  }
  case_passes_off(ctx, 0);
}

/* ---- agreed values where there is no derivative ---------------------------------------------- */

typedef sn_tensor *function_of(sn_tensor *x, sn_tensor *y);

static sn_tensor *relu_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_relu(x); }
static sn_tensor *abs_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_abs(x); }
static sn_tensor *max_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_max(x, 1, false); }
static sn_tensor *min_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_min(x, 1, false); }
static sn_tensor *elu_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_elu(x, 1); }
static sn_tensor *leaky_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_leaky_relu(x, 0.25); }
static sn_tensor *softplus_of_x(sn_tensor *x, sn_tensor *y) { return (void)y, sn_softplus(x); }
static sn_tensor *gelu_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_gelu(x); }
static sn_tensor *sqrt_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_sqrt(x); }
static sn_tensor *float32_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_astype(x, SN_F32); }
static sn_tensor *int32_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_astype(x, SN_I32); }
static sn_tensor *prod_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_prod(x, 1, false); }
static sn_tensor *cumprod_of(sn_tensor *x, sn_tensor *y) {
  return (void)y, sn_cumprod(x, 0, false, false);
}
static sn_tensor *slope_of_prod(sn_tensor *x, sn_tensor *y) {
  (void)y;
  sn_tensor *slope;
  return sn_gradients(sn_prod(x, 1, false), &x, 1, &slope) ? NULL : slope;
}
static sn_tensor *slope_of_cumprod(sn_tensor *x, sn_tensor *y) {
  (void)y;
  sn_tensor *slope, *sum = sn_sum(sn_cumprod(x, 0, false, false), 1, false);
  return sn_gradients(sum, &x, 1, &slope) ? NULL : slope;
}
static sn_tensor *norm_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_norm(x, 1, false, 2); }
static sn_tensor *std_of(sn_tensor *x, sn_tensor *y) { return (void)y, sn_std(x, 1, false, 0); }
static sn_tensor *set_of(sn_tensor *x, sn_tensor *y) {
  const int32_t twice[] = {2, 0, 2};
  return sn_scatter(x, sn_from_data(ctx, SN_I32, 1, (int64_t[]){3}, twice), y, 0, SN_SCATTER_SET);
}
/* log where it is defined: both the value and what it is taken of have to be masked */
static sn_tensor *safe_log_of(sn_tensor *x, sn_tensor *y) {
  sn_tensor *positive = sn_greater(x, y);
  return sn_where(positive, sn_log(sn_where(positive, x, sn_scalar(ctx, 1))), sn_scalar(ctx, 0));
}

static void special_points(void **state) {
  (void)state;
  static const struct {
    const char *name;
    function_of *fn;
    double x[3], y[3], dx[3], dy[3];
  } table[] = {
      {"relu", relu_of, {0, -0.0, 2}, {0}, {0, 0, 1}, {0}},
      {"relu of NaN", relu_of, {NAN, -1, INFINITY}, {0}, {0, 0, 1}, {0}},
      {"abs", abs_of, {0, -3, -0.0}, {0}, {0, -1, 0}, {0}},
      {"max, ties share", max_of, {3, 3, 1}, {0}, {0.5, 0.5, 0}, {0}},
      {"min, ties share", min_of, {3, 1, 1}, {0}, {0, 0.5, 0.5}, {0}},
      {"maximum, ties share", sn_maximum, {1, 2, 3}, {1, 3, 2}, {0.5, 0, 1}, {0.5, 1, 0}},
      {"minimum, ties share", sn_minimum, {1, 2, 3}, {1, 3, 2}, {0.5, 1, 0}, {0.5, 0, 1}},
      {"sqrt", sqrt_of, {0, 4, 1}, {0}, {INFINITY, 0.25, 0.5}, {0}},
      {"elu at 0 and far", elu_of, {0, 1000, -1000}, {0}, {1, 1, 0}, {0}},
      {"leakyRelu", leaky_of, {0, 5, -5}, {0}, {0.25, 1, 0.25}, {0}},
      {"softplus far", softplus_of_x, {0, 1000, -1000}, {0}, {0.5, 1, 0}, {0}},
      {"gelu far", gelu_of, {0, 100, -100}, {0}, {0.5, 1, 0}, {0}},
      {"atan2 on the axes", sn_atan2, {0, 2, 0}, {1, 0, -4}, {1, 0, -0.25}, {0, -0.5, 0}},
      {"mod", sn_mod, {5, -5, 7}, {3, 3, -4}, {1, 1, 1}, {-1, 2, 2}},
      {"pow of 0", sn_pow, {0, 0, 0}, {0, 1, 2}, {0, 1, 0}, {0, 0, 0}},
      {"pow, whole",
       sn_pow,
       {-2, 3, 5},
       {2, 1, 0},
       {-4, 1, 0},
       {NAN, 3.295836866004329, 1.6094379124341003}},
      {"where masks", safe_log_of, {-1, 0, 2}, {0, 0, 0}, {0, 0, 0.5}, {0}},
      {"prod with a zero", prod_of, {0, 2, 3}, {0}, {6, 0, 0}, {0}},
      {"prod with two zeros", prod_of, {0, 0, 3}, {0}, {0, 0, 0}, {0}},
      {"slope of prod", slope_of_prod, {0, 0, 3}, {0}, {3, 3, 0}, {0}},
      {"cumprod with a zero", cumprod_of, {2, 0, 3}, {0}, {1, 8, 0}, {0}},
      {"slope of cumprod", slope_of_cumprod, {2, 0, 3}, {0}, {4, 6, 2}, {0}},
      {"norm of 0", norm_of, {0, 0, 0}, {0}, {0, 0, 0}, {0}},
      {"std of equals", std_of, {2, 2, 2}, {0}, {0, 0, 0}, {0}},
      {"the last set stays", set_of, {1, 2, 3}, {4, 5, 6}, {0, 1, 0}, {0, 1, 1}},
      {"astype float32", float32_of, {1, 2, 3}, {0}, {1, 1, 1}, {0}},
      {"astype int32", int32_of, {1, 2, 3}, {0}, {0, 0, 0}, {0}},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    assert_int_equal(sn_scope_begin(ctx), SN_OK);
    sn_tensor *vars[2] = {sn_variable(sn_from_data(ctx, SN_F64, 1, DIMS(3), table[i].x)),
                          sn_variable(sn_from_data(ctx, SN_F64, 1, DIMS(3), table[i].y))};
    sn_tensor *sum = sn_sum(sn_astype(table[i].fn(vars[0], vars[1]), SN_F64), SN_ALL_AXES, false);
    sn_tensor *grads[2];
    assert_int_equal(sn_gradients(sum, vars, 2, grads), SN_OK);
    for (int k = 0; k < 2; k++) {
      const double *got = sn_data(grads[k]), *want = k ? table[i].dy : table[i].dx;
      assert_non_null(got);
      for (int e = 0; e < 3; e++)
        if (isnan(want[e]) ? !isnan(got[e])
                           : !(got[e] == want[e] || fabs(got[e] - want[e]) < 1e-15))
          fail_msg("%s: d%c[%d] = %g, agreed %g", table[i].name, 'x' + k, e, got[e], want[e]);
    }
    sn_scope_end(ctx);
  }
}

/* ---- more of the walk ------------------------------------------------------------------------ */

/* A wrt tensor ends the walk: what it was made from is not differentiated through it. */
static void intermediate_variables(void **state) {
  (void)state;
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  sn_tensor *x = sn_variable(sn_from_data(ctx, SN_F64, 1, DIMS(2), ((double[]){2, 3})));
  sn_tensor *y = sn_variable(sn_square(x));
  sn_tensor *loss = sn_sum(sn_add(sn_mul(y, y), x), SN_ALL_AXES, false), *grads[2];
  assert_int_equal(sn_gradients(loss, (sn_tensor *[]){x, y}, 2, grads), SN_OK);
  const double *dx = sn_data(grads[0]), *dy = sn_data(grads[1]);
  assert_true(dx && dy && dx[0] == 1 && dx[1] == 1 && dy[0] == 8 && dy[1] == 18);
  sn_scope_end(ctx);
}

/* Several outputs of any shape give what the gradient of their weighted sum does, to the bit. One
 * is made of another, one is an argument, one does not depend on any, and two equal expressions are
 * one node of the walk. A cotangent may be what is differentiated, and argument 2 belongs to no
 * output. */
static void several_outputs(void **state) {
  (void)state;
  double got[3][6], want[3][6];
  for (int which = 0; which < 2; which++) {
    assert_int_equal(sn_scope_begin(ctx), SN_OK);
    sn_tensor *x =
        sn_variable(sn_from_data(ctx, SN_F64, 2, DIMS(2, 3), ((double[]){1, 2, 3, 4, 5, 6})));
    sn_tensor *v = sn_variable(sn_from_data(ctx, SN_F64, 1, DIMS(3), ((double[]){.1, .2, .3})));
    sn_tensor *other = sn_variable(sn_from_data(ctx, SN_F64, 1, DIMS(2), ((double[]){7, 8})));
    sn_tensor *y = sn_mul(sn_exp(v), sn_add(sn_mul(x, v), sn_mul(x, v)));
    sn_tensor *part = sn_slice(x, DIMS(0, 1), DIMS(2, 2), NULL);
    sn_tensor *outputs[] = {y, sn_sum(y, 2, false), x, part, sn_iota(ctx, SN_F64, 1, DIMS(2), 0)};
    sn_tensor *cotangents[5], *sum = NULL, *grads[3], *wrt[] = {x, v, other};
    for (size_t k = 0; k < 5; k++) {
      cotangents[k] = k ? random_like(outputs[k], k) : y;
      sn_tensor *fixed = sn_stop_gradient(cotangents[k]);
      sn_tensor *term = sn_sum(sn_mul(outputs[k], fixed), SN_ALL_AXES, false);
      sum = k ? sn_add(sum, term) : term;
    }
    if (which)
      assert_int_equal(sn_gradients(sum, wrt, 3, grads), SN_OK);
    else
      assert_int_equal(sn_vjp(ctx, outputs, 5, cotangents, wrt, 3, grads), SN_OK);
    for (int i = 0; i < 3; i++)
      assert_int_equal(sn_read(grads[i], (which ? want : got)[i], sn_size_bytes(grads[i])), SN_OK);
    sn_scope_end(ctx);
  }
  for (int e = 0; e < 6; e++) assert_true(fabs(got[0][e] - want[0][e]) <= 1e-12 * fabs(want[0][e]));
  for (int e = 0; e < 3; e++) assert_true(fabs(got[1][e] - want[1][e]) <= 1e-12 * fabs(want[1][e]));
  assert_true(got[2][0] == 0 && got[2][1] == 0);
}

/* A cotangent of a small dtype, and a bare number for one. */
static void cotangents_of_small_dtypes(void **state) {
  (void)state;
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  sn_tensor *x =
      sn_variable(sn_astype(sn_from_data(ctx, SN_F32, 1, DIMS(2), ((float[]){2, 3})), SN_F16));
  sn_tensor *y[] = {sn_square(x), sn_sum(x, SN_ALL_AXES, false)}, *g;
  assert_int_equal(sn_vjp(ctx, y, 2, (sn_tensor *[]){x, sn_scalar(ctx, 0.5)}, &x, 1, &g), SN_OK);
  assert_int_equal(sn_dtype_of(g), SN_F16);
  const float *values = sn_data(sn_astype(g, SN_F32));
  assert_true(values && values[0] == 8.5f && values[1] == 18.5f);
  sn_scope_end(ctx);
}

/* A chain of many ops: no recursion, linear time. d/dx of x (1 + 2^-12)^n */
static void long_chains(void **state) {
  (void)state;
  const int n = case_short() ? 3000 : 20000;
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  sn_tensor *x = sn_variable(sn_from_data(ctx, SN_F64, 0, NULL, &(double){1}));
  sn_tensor *factor = sn_from_data(ctx, SN_F64, 0, NULL, &(double){1 + 0x1p-12}), *y = x, *dx;
  for (int i = 0; i < n; i++) y = sn_mul(y, factor);
  assert_int_equal(sn_gradients(y, &x, 1, &dx), SN_OK);
  double value;
  assert_int_equal(sn_read(dx, &value, sizeof value), SN_OK);
  const double exact = exp(n * log1p(0x1p-12));
  assert_true(fabs(value - exact) <= 1e-11 * exact);
  sn_scope_end(ctx);
}

/* ---- the tests themselves -------------------------------------------------------------------- */

static sn_tensor *build_cube(sn_context *of, const derivative_case *c, sn_tensor *const *x) {
  return (void)of, (void)c, sn_mul(sn_square(x[0]), x[0]);
}

/* A sign, a factor of a thousandth, a dropped term and NaN are all seen; the right gradient
 * passes. */
static void planted_errors_are_caught(void **state) {
  (void)state;
  const derivative_case c = {.name = "cube",
                             .build = build_cube,
                             .n = 1,
                             .lo = 0.5,
                             .hi = 2,
                             .in = {{.rank = 1, .dims = {6}}}};
  char text[TEXT];
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  const derivative_point at = derivative_random_point(&c, &rng);
  derivative_point grad = {0}, want = {0};
  const derivative d = differentiate(&c, SN_F64, false);
  gradient_at(&c, &d, SN_F64, &at, &grad);
  differences_at(&c, &d, &at, &want);
  assert_true(all_close(&c, &grad, &want, ATOL, RTOL, text));
  const double right = grad.x[0][3], wrong[] = {-right, right * 1.001, right * 2 / 3, 0, NAN};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    grad.x[0][3] = wrong[i];
    assert_false(all_close(&c, &grad, &want, ATOL, RTOL, text));
  }
  sn_scope_end(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planted_errors_are_caught),
      cmocka_unit_test(rows_of_the_table),
      cmocka_unit_test(structured_ops),
      cmocka_unit_test(without_passes),
      cmocka_unit_test(special_points),
      cmocka_unit_test(intermediate_variables),
      cmocka_unit_test(several_outputs),
      cmocka_unit_test(cotangents_of_small_dtypes),
      cmocka_unit_test(long_chains),
  };
  return cmocka_run_group_tests(tests, open_cases, close_cases);
}
