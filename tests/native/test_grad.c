/* test_grad.c - gradients against central differences, in float64, every element of every input:
 *
 *   g[i] = (L(x + eps e_i) - L(x - eps e_i)) / (2 eps)      eps 1e-6, atol 1e-7, rtol 1e-5
 *
 * with L the sum of what is tested times random weights. The gradient of the gradient is held to
 * rtol 1e-4 the same way, and the float32 gradient to the float64 one. Inputs keep a distance from
 * kinks: from every multiple of 1/4, and from each other. Rows of the op table are all taken;
 * structured ops have a case each below. */
#include "case_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/apply.h"

enum { MAX_INPUTS = 3, MAX_ELEMENTS = 64, TEXT = 512 };

static const double EPS = 1e-6, ATOL = 1e-7, RTOL = 1e-5, RTOL_SECOND = 1e-4;

/* What is differentiated: a tensor of any shape and dtype made from n float inputs. */
typedef struct grad_case {
  const char *name;
  sn_tensor *(*build)(const struct grad_case *c, sn_tensor *const *x);
  int n;
  sn_type in[MAX_INPUTS];
  sn_op op; /* for build */
  double lo, hi;
  bool stops; /* the gradient is 0 whatever the differences say */
} grad_case;

typedef struct point {
  double x[MAX_INPUTS][MAX_ELEMENTS];
} point;

/* ---- the two gradients ----------------------------------------------------------------------- */

typedef struct derivative {
  sn_tensor *inputs[MAX_INPUTS]; /* placeholders */
  sn_tensor *loss, *grads[MAX_INPUTS];
} derivative;

static sn_tensor *must(sn_tensor *t, const char *what) {
  if (!t) fail_msg("%s: %s", what, sn_error_message(ctx));
  return t;
}

static sn_tensor *weights_like(sn_tensor *t, sn_dtype dtype, uint64_t seed) {
  case_random r = {seed};
  const int64_t n = sn_size(t);
  double *w = calloc((size_t)n + 1, sizeof *w);
  for (int64_t i = 0; i < n; i++) w[i] = case_between(&r, 0.5, 1.5) * (i % 2 ? -1 : 1);
  sn_tensor *wide = sn_from_data(ctx, SN_F64, sn_rank(t), sn_dims(t), w);
  free(w);
  return sn_astype(wide, dtype);
}

static sn_tensor *weighted_sum(sn_tensor *t, sn_dtype dtype, uint64_t seed) {
  return sn_sum(sn_mul(sn_astype(t, dtype), weights_like(t, dtype, seed)), SN_ALL_AXES, false);
}

/* second: the loss is a weighted sum of the first gradients. */
static derivative differentiate(const grad_case *c, sn_dtype dtype, bool second) {
  derivative d = {.loss = NULL};
  sn_tensor *vars[MAX_INPUTS];
  for (int k = 0; k < c->n; k++) {
    d.inputs[k] = sn_placeholder(ctx, dtype, c->in[k].rank, c->in[k].dims);
    vars[k] = sn_variable(d.inputs[k]);
  }
  d.loss = weighted_sum(must(c->build(c, vars), c->name), dtype, 7);
  if (sn_gradients(d.loss, vars, (size_t)c->n, d.grads)) must(NULL, c->name);
  if (!second) return d;
  sn_tensor *sum = NULL;
  for (int k = 0; k < c->n; k++) {
    sn_tensor *part = weighted_sum(d.grads[k], dtype, 11 + (uint64_t)k);
    sum = sum ? sn_add(sum, part) : part;
  }
  d.loss = must(sum, c->name);
  if (sn_gradients(d.loss, vars, (size_t)c->n, d.grads)) must(NULL, c->name);
  return d;
}

static sn_program *compile(const grad_case *c, const derivative *d, sn_tensor *const *outputs,
                           size_t n) {
  sn_program *program;
  if (sn_compile(ctx, d->inputs, (size_t)c->n, outputs, n, NULL, &program)) must(NULL, c->name);
  return program;
}

static void run(const grad_case *c, sn_program *program, sn_dtype dtype, const point *at,
                sn_tensor **outputs) {
  sn_tensor *arguments[MAX_INPUTS];
  for (int k = 0; k < c->n; k++)
    arguments[k] =
        sn_astype(sn_from_data(ctx, SN_F64, c->in[k].rank, c->in[k].dims, at->x[k]), dtype);
  if (sn_program_run(program, arguments, outputs)) must(NULL, c->name);
}

static double loss_at(const grad_case *c, sn_program *program, const point *at) {
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  sn_tensor *loss;
  double value;
  run(c, program, SN_F64, at, &loss);
  assert_int_equal(sn_read(loss, &value, sizeof value), SN_OK);
  sn_scope_end(ctx);
  return value;
}

static void gradient_at(const grad_case *c, const derivative *d, sn_dtype dtype, const point *at,
                        point *out) {
  sn_tensor *outputs[MAX_INPUTS];
  sn_program *program = compile(c, d, d->grads, (size_t)c->n);
  run(c, program, dtype, at, outputs);
  sn_program_release(program);
  for (int k = 0; k < c->n; k++) {
    assert_int_equal(sn_dtype_of(outputs[k]), dtype);
    assert_int_equal(sn_size(outputs[k]), sn_type_size(&c->in[k]));
    assert_int_equal(sn_read(sn_astype(outputs[k], SN_F64), out->x[k], sizeof out->x[k]), SN_OK);
  }
}

static void differences_at(const grad_case *c, const derivative *d, const point *at, point *out) {
  sn_program *program = compile(c, d, &d->loss, 1);
  point moved = *at;
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

static bool all_close(const grad_case *c, const point *got, const point *want, double atol,
                      double rtol, char text[TEXT]) {
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

static double largest(const grad_case *c, const point *p) {
  double most = 0;
  for (int k = 0; k < c->n; k++)
    for (int64_t i = 0; i < sn_type_size(&c->in[k]); i++) most = fmax(most, fabs(p->x[k][i]));
  return most;
}

/* Inputs of even and odd number fall into different places between the multiples of 1/4. */
static point random_point(const grad_case *c) {
  point p = {0};
  for (int k = 0; k < c->n; k++) {
    assert_true(sn_type_size(&c->in[k]) <= MAX_ELEMENTS);
    for (int64_t i = 0; i < sn_type_size(&c->in[k]); i++) {
      const double cell = floor(case_between(&rng, c->lo, c->hi) * 4) / 4;
      p.x[k][i] = cell + (k % 2 ? 0.1875 : 0.0625) + case_between(&rng, -0.02, 0.02);
    }
  }
  return p;
}

static void check_case(const grad_case *c) {
  char text[TEXT];
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  const point at = random_point(c);
  point grad = {0}, second = {0}, single = {0}, want = {0};
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

/* ---- rows of the table ----------------------------------------------------------------------- */

/* Ops that take no floats get their inputs cast; nothing flows back through that. */
static sn_tensor *build_row(const grad_case *c, sn_tensor *const *x) {
  const sn_op_info *row = sn_op_describe(c->op);
  sn_tensor *in[SN_MAX_ARITY];
  for (int k = 0; k < row->arity; k++) {
    in[k] = x[k];
    if (!(row->types & SN_TYPES_F))
      in[k] = sn_astype(x[k], row->types & SN_TYPES_I ? SN_I32 : SN_BOOL);
  }
  if (row->kind == SN_CLASS_SELECT) in[0] = sn_greater(x[0], sn_scalar(ctx, 0.5));
  return case_apply(c->op, in, row->arity);
}

static void rows_of_the_table(void **state) {
  (void)state;
  static const sn_type shapes[][MAX_INPUTS] = {
      {{.rank = 0}, {.rank = 0}, {.rank = 0}},
      {{.rank = 1, .dims = {5}}, {.rank = 1, .dims = {5}}, {.rank = 0}},
      {{.rank = 2, .dims = {2, 3}}, {.rank = 1, .dims = {3}}, {.rank = 2, .dims = {2, 1}}},
      {{.rank = 1, .dims = {3}}, {.rank = 3, .dims = {2, 2, 1}}, {.rank = 1, .dims = {3}}},
      {{.rank = 2, .dims = {0, 3}}, {.rank = 1, .dims = {1}}, {.rank = 1, .dims = {3}}},
  };
  for (int op = 0; op < SN_OP_COUNT; op++) {
    const sn_op_info *row = sn_op_describe((sn_op)op);
    const sn_op_bounds *domain = &sn_op_bounds_table[op];
    if (!sn_op_is_elementwise((sn_op)op) || row->kind == SN_CLASS_CAST) continue;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
      grad_case c = {.name = row->name, .build = build_row, .n = row->arity, .op = (sn_op)op};
      memcpy(c.in, shapes[s], sizeof c.in);
      /* where the function is steep, differences say little */
      c.lo = domain->lo >= 0 ? fmax(domain->lo, 0.3) : fmax(0.7 * domain->lo, -2);
      c.hi = fmin(domain->hi, 2);
      c.stops = op == SN_OP_stop_gradient;
      check_case(&c);
    }
  }
}

/* ---- structured ops -------------------------------------------------------------------------- */

#define BUILD(id) static sn_tensor *build_##id(const grad_case *c, sn_tensor *const *x)
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define X (x[0])
#define Y (x[1])

BUILD(reshape) { return (void)c, sn_tanh(sn_reshape(X, 3, DIMS(3, 1, 4))); }
BUILD(transpose) { return (void)c, sn_square(sn_transpose(X, (const int[]){1, 2, 0})); }
BUILD(broadcast) { return (void)c, sn_mul(sn_broadcast_to(X, 3, DIMS(2, 3, 2)), X); }
BUILD(slice) { return (void)c, sn_square(sn_slice(X, DIMS(1, 0), DIMS(2, 2), DIMS(2, 1))); }
BUILD(slice_down) { return (void)c, sn_square(sn_slice(X, DIMS(4, 2), DIMS(2, 3), DIMS(-2, -1))); }
BUILD(slice_nothing) { return (void)c, sn_slice(X, DIMS(0, 1), DIMS(0, 1), DIMS(-1, 1)); }
BUILD(slices_overlap) {
  (void)c;
  return sn_mul(sn_slice(X, DIMS(0, 0), DIMS(4, 3), NULL),
                sn_slice(X, DIMS(1, 0), DIMS(4, 3), NULL));
}
/* side by side with a gap, over each other, the same rows twice, in a corner, and of slices */
BUILD(slices_many) {
  (void)c;
  const int64_t boxes[][4] = {{4, 0, 1, 4}, {0, 0, 2, 4}, {2, 0, 1, 4}, {0, 1, 2, 2},
                              {3, 2, 2, 2}, {0, 0, 4, 4}, {5, 0, 1, 1}, {5, 2, 1, 1}};
  sn_tensor *y = sn_scalar(ctx, 0);
  for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
    sn_tensor *part = sn_slice(X, boxes[i], boxes[i] + 2, NULL);
    y = sn_add(y, sn_sum(sn_mul(sn_square(part), sn_scalar(ctx, 1 + (double)i)), 3, false));
  }
  sn_tensor *rows = sn_slice(X, DIMS(1, 0), DIMS(4, 4), NULL);
  for (int64_t i = 0; i < 4; i++)
    y = sn_mul(y, sn_sum(sn_slice(rows, DIMS(i, 0), DIMS(1, 3), NULL), 3, false));
  return y;
}
BUILD(slices_of_steps) {
  (void)c;
  sn_tensor *h = sn_scalar(ctx, 0);
  for (int64_t t = 0; t < 5; t++)
    h = sn_tanh(sn_add(h, sn_slice(X, DIMS(0, t), DIMS(3, 1), DIMS(1, -1))));
  return sn_mul(h, X);
}
BUILD(pad) { return (void)c, sn_square(sn_pad(X, DIMS(1, 0), DIMS(0, 2), 3)); }
BUILD(concat) { return (void)c, sn_square(sn_concat((sn_tensor *const[]){X, Y, X}, 3, 1)); }
BUILD(chain_of_views) {
  (void)c;
  sn_tensor *flip = sn_slice(sn_transpose(X, NULL), DIMS(3, 0), DIMS(4, 3), DIMS(-1, 1));
  return sn_exp(sn_reshape(sn_broadcast_to(sn_reshape(flip, 3, DIMS(2, 1, 6)), 3, DIMS(2, 2, 6)), 2,
                           DIMS(4, 6)));
}
BUILD(sum_all) { return (void)c, sn_square(sn_sum(sn_sin(X), SN_ALL_AXES, false)); }
BUILD(sum_axis) { return (void)c, sn_mul(X, sn_sum(sn_square(X), 2, true)); }
BUILD(mean) { return (void)c, sn_square(sn_mean(sn_mul(X, X), 1, false)); }
BUILD(max) { return (void)c, sn_square(sn_max(X, 1, false)); }
BUILD(min) { return (void)c, sn_mul(sn_min(X, SN_ALL_AXES, true), X); }
BUILD(variance) {
  (void)c;
  sn_tensor *centred = sn_sub(X, sn_mean(X, 2, true));
  return sn_div(centred,
                sn_sqrt(sn_add(sn_mean(sn_square(centred), 2, true), sn_scalar(ctx, 0.1))));
}
BUILD(matmul) { return (void)c, sn_matmul(X, Y); }
BUILD(matmul_squared) { return (void)c, sn_square(sn_matmul(X, Y)); }
BUILD(matmul_transposed) {
  return (void)c, sn_matmul(sn_transpose(X, NULL), sn_transpose(Y, NULL));
}
BUILD(matmul_with_itself) { return (void)c, sn_matmul(X, sn_transpose(X, NULL)); }
static const sn_window_options strided = {
    .strides = DIMS(2, 1), .dilation = DIMS(1, 2), .padding = SN_PADDING_SAME};
static const sn_window_options grouped = {.strides = DIMS(1, 2), .groups = 2};
BUILD(conv) { return (void)c, sn_square(sn_conv(X, Y, 2, &strided)); }
BUILD(conv_transpose) { return (void)c, sn_square(sn_conv_transpose(X, Y, 2, &strided)); }
BUILD(conv_grouped) { return (void)c, sn_square(sn_conv(X, Y, 2, &grouped)); }
/* The slopes of a loss that is of third degree: their own slopes have all parts. */
BUILD(conv_slopes) {
  (void)c;
  sn_tensor *in[] = {X, Y}, *d[2], *y = sn_conv(X, Y, 1, NULL);
  if (sn_gradients(sn_sum(sn_mul(sn_square(y), y), SN_ALL_AXES, false), in, 2, d)) return NULL;
  return sn_mul(sn_sum(d[0], SN_ALL_AXES, false), sn_sum(sn_square(d[1]), SN_ALL_AXES, false));
}
BUILD(max_pool) { return (void)c, sn_square(sn_max_pool(X, DIMS(2, 2), 2, &strided)); }
BUILD(avg_pool) { return (void)c, sn_square(sn_avg_pool(X, DIMS(3, 2), 2, &strided)); }
BUILD(where_mask) {
  (void)c;
  return sn_where(sn_less(X, Y), sn_mul(X, Y), sn_sub(X, Y));
}
BUILD(labels) {
  (void)c;
  static const int32_t classes[] = {2, 0, 3};
  return sn_softmax_cross_entropy(X, sn_from_data(ctx, SN_I32, 1, DIMS(3), classes));
}
BUILD(distribution) { return (void)c, sn_softmax_cross_entropy(X, sn_sigmoid(Y)); }
BUILD(two_layers) {
  (void)c;
  sn_tensor *hidden = sn_tanh(sn_add(sn_matmul(X, Y), x[2]));
  return sn_softmax_cross_entropy(
      sn_matmul(hidden, sn_transpose(hidden, NULL)),
      sn_from_data(ctx, SN_I32, 1, DIMS(3), (const int32_t[]){1, 0, 2}));
}
BUILD(used_often) {
  (void)c;
  sn_tensor *y = X;
  for (int i = 0; i < 20; i++) y = sn_mul(sn_add(sn_sin(y), X), sn_scalar(ctx, 0.7));
  return y;
}
/* indices below 0, twice, and outside */
static const int32_t places[] = {1, -1, 0, 1, 9};
BUILD(take) {
  (void)c;
  return sn_square(sn_take(X, sn_from_data(ctx, SN_I32, 2, DIMS(5, 1), places), 0));
}
BUILD(take_last) {
  return (void)c, sn_mul(sn_take(X, sn_from_data(ctx, SN_I32, 1, DIMS(5), places), -1), Y);
}
BUILD(scatter_add) {
  (void)c;
  return sn_square(sn_scatter_add(X, sn_from_data(ctx, SN_I32, 1, DIMS(5), places), Y, 1));
}
BUILD(scatter_mul) {
  (void)c;
  return sn_scatter(X, sn_from_data(ctx, SN_I32, 1, DIMS(5), places), Y, 1, SN_SCATTER_MUL);
}
BUILD(scatter_max) {
  (void)c;
  return sn_square(
      sn_scatter(X, sn_from_data(ctx, SN_I32, 1, DIMS(5), places), Y, 1, SN_SCATTER_MAX));
}
BUILD(scatter_min) {
  (void)c;
  return sn_square(
      sn_scatter(X, sn_from_data(ctx, SN_I32, 1, DIMS(5), places), Y, 1, SN_SCATTER_MIN));
}
BUILD(scatter_set) {
  (void)c;
  return sn_square(
      sn_scatter(X, sn_from_data(ctx, SN_I32, 1, DIMS(5), places), Y, 1, SN_SCATTER_SET));
}
BUILD(sort) { return (void)c, sn_mul(sn_sort(X, 0, false), Y); }
BUILD(sort_down) { return (void)c, sn_square(sn_sort(sn_sin(X), 1, true)); }
BUILD(take_along) { return (void)c, sn_square(sn_take_along_axis(X, sn_argsort(Y, 1, false), 1)); }
BUILD(cumsum) { return (void)c, sn_square(sn_cumsum(X, 0, false, false)); }
BUILD(cumsum_back) { return (void)c, sn_square(sn_cumsum(X, 1, true, true)); }
BUILD(cumprod) { return (void)c, sn_square(sn_cumprod(X, 1, false, false)); }
BUILD(cumprod_before) { return (void)c, sn_square(sn_cumprod(X, 0, false, true)); }
BUILD(cumprod_back) { return (void)c, sn_square(sn_cumprod(X, 1, true, false)); }
BUILD(cumprod_behind) { return (void)c, sn_square(sn_cumprod(X, 1, true, true)); }
BUILD(recurrence) {
  (void)c;
  sn_tensor *y[2];
  for (int reverse = 0; reverse < 2; reverse++)
    y[reverse] = sn_hand_out(sn_node_of(ctx, SN_OP_recurrence, (sn_tensor *[]){X, Y}, 2,
                                        (int64_t[]){1, reverse, 0}, 3, NULL));
  return sn_mul(y[0], y[1]);
}
BUILD(prod) { return (void)c, sn_square(sn_prod(X, SN_ALL_AXES, false)); }
BUILD(prod_axes) { return (void)c, sn_mul(sn_prod(X, 5, true), X); }
BUILD(std) { return (void)c, sn_mul(sn_std(X, 2, true, 1), X); }
BUILD(logsumexp) { return (void)c, sn_square(sn_logsumexp(X, 1, false)); }
BUILD(norms) {
  (void)c;
  sn_tensor *y = sn_norm(X, 2, true, 2);
  static const double orders[] = {1, 3, 0.5, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
    y = sn_mul(y, sn_norm(X, 2, true, orders[i]));
  return y;
}
BUILD(softmax) { return (void)c, sn_square(sn_softmax(X, 0)); }
BUILD(log_softmax) { return (void)c, sn_mul(sn_log_softmax(X, 1), X); }
BUILD(layer_norm) { return (void)c, sn_square(sn_layer_norm(X, Y, x[2], 0.1)); }
BUILD(batch_norm) { return (void)c, sn_square(sn_batch_norm(X, 1, NULL, NULL, Y, x[2], 0.1)); }
BUILD(batch_norm_of_statistics) {
  (void)c;
  sn_tensor *mean = sn_mean(X, 1, false), *variance = sn_var(X, 1, false, 0);
  return sn_square(sn_batch_norm(X, -1, mean, variance, NULL, NULL, 0.1));
}
BUILD(rms_norm) { return (void)c, sn_square(sn_rms_norm(X, Y, 0.1)); }
BUILD(clip) {
  (void)c;
  sn_tensor *above = sn_clip(X, sn_scalar(ctx, -1), NULL);
  return sn_mul(above, sn_clip(X, sn_scalar(ctx, -1.5), sn_scalar(ctx, 1)));
}
BUILD(leaky_relu) { return (void)c, sn_square(sn_leaky_relu(X, 0.2)); }
BUILD(elu) { return (void)c, sn_elu(X, 1.5); }
BUILD(selu) { return (void)c, sn_selu(X); }
BUILD(hardswish) { return (void)c, sn_hardswish(sn_mul(X, sn_scalar(ctx, 2))); }
BUILD(gelu_tanh) { return (void)c, sn_gelu_tanh(X); }
BUILD(unused) { return (void)c, sn_square(Y); }

#undef X
#undef Y

#define CASE(id, n_, ...)                                                               \
  {                                                                                     \
    .name = #id, .build = build_##id, .n = n_, .lo = -2, .hi = 2, .in = { __VA_ARGS__ } \
  }
#define IN(rank_, ...)                     \
  {                                        \
    .rank = rank_, .dims = { __VA_ARGS__ } \
  }
static const grad_case structured[] = {
    CASE(reshape, 1, IN(2, 2, 6)),
    CASE(transpose, 1, IN(3, 2, 3, 2)),
    CASE(broadcast, 1, IN(2, 3, 1)),
    CASE(slice, 1, IN(2, 4, 3)),
    CASE(slice_down, 1, IN(2, 5, 3)),
    CASE(slice_nothing, 1, IN(2, 2, 3)),
    CASE(slices_overlap, 1, IN(2, 5, 3)),
    CASE(slices_many, 1, IN(2, 6, 4)),
    CASE(slices_of_steps, 1, IN(2, 3, 5)),
    CASE(pad, 1, IN(2, 2, 3)),
    CASE(concat, 2, IN(2, 2, 3), IN(2, 2, 1)),
    CASE(chain_of_views, 1, IN(2, 3, 4)),
    CASE(sum_all, 1, IN(2, 3, 4)),
    CASE(sum_axis, 1, IN(2, 3, 4)),
    CASE(mean, 1, IN(2, 3, 4)),
    CASE(max, 1, IN(2, 3, 4)),
    CASE(min, 1, IN(2, 3, 2)),
    CASE(variance, 1, IN(2, 3, 5)),
    CASE(matmul, 2, IN(2, 3, 4), IN(2, 4, 2)),
    CASE(matmul, 2, IN(3, 2, 2, 3), IN(2, 3, 2)),
    CASE(matmul, 2, IN(4, 2, 1, 2, 3), IN(3, 3, 3, 2)),
    CASE(matmul, 2, IN(1, 4), IN(2, 4, 3)),
    CASE(matmul, 2, IN(2, 3, 4), IN(1, 4)),
    CASE(matmul, 2, IN(1, 4), IN(1, 4)),
    CASE(matmul, 2, IN(2, 2, 0), IN(2, 0, 3)),
    CASE(matmul_squared, 2, IN(3, 2, 2, 3), IN(3, 1, 3, 2)),
    CASE(matmul_transposed, 2, IN(2, 4, 3), IN(2, 2, 4)),
    CASE(matmul_with_itself, 1, IN(2, 3, 2)),
    CASE(conv, 2, IN(4, 1, 3, 2, 2), IN(4, 2, 1, 2, 3)),
    CASE(conv_transpose, 2, IN(4, 1, 2, 1, 2), IN(4, 3, 2, 1, 2)),
    CASE(conv_grouped, 2, IN(4, 1, 2, 3, 2), IN(4, 2, 1, 1, 4)),
    CASE(conv_grouped, 2, IN(4, 1, 1, 3, 4), IN(4, 1, 2, 2, 2)),
    CASE(conv_slopes, 2, IN(3, 1, 4, 1), IN(3, 2, 1, 2)),
    CASE(max_pool, 1, IN(4, 1, 3, 4, 1)),
    CASE(avg_pool, 1, IN(4, 1, 3, 2, 2)),
    CASE(where_mask, 2, IN(2, 3, 2), IN(1, 2)),
    CASE(labels, 1, IN(2, 3, 4)),
    CASE(distribution, 2, IN(2, 3, 4), IN(2, 3, 4)),
    CASE(two_layers, 3, IN(2, 3, 4), IN(2, 4, 3), IN(1, 3)),
    CASE(take, 1, IN(2, 3, 2)),
    CASE(take, 1, IN(1, 2)),
    CASE(take_last, 2, IN(2, 2, 3), IN(1, 5)),
    CASE(scatter_add, 2, IN(2, 2, 3), IN(2, 2, 5)),
    CASE(scatter_add, 2, IN(3, 2, 3, 2), IN(0)),
    CASE(scatter_set, 2, IN(2, 2, 3), IN(2, 2, 5)),
    CASE(scatter_mul, 2, IN(2, 2, 3), IN(2, 2, 5)),
    CASE(scatter_mul, 2, IN(3, 2, 3, 2), IN(3, 2, 5, 2)),
    CASE(scatter_max, 2, IN(2, 2, 3), IN(2, 2, 5)),
    CASE(scatter_min, 2, IN(2, 2, 3), IN(2, 2, 5)),
    CASE(scatter_set, 2, IN(3, 2, 3, 2), IN(3, 1, 5, 2)),
    CASE(sort, 2, IN(2, 4, 3), IN(2, 4, 3)),
    CASE(sort_down, 1, IN(2, 2, 4)),
    CASE(take_along, 2, IN(2, 2, 4), IN(2, 2, 3)),
    CASE(cumsum, 1, IN(2, 4, 2)),
    CASE(cumsum_back, 1, IN(2, 2, 4)),
    CASE(cumsum_back, 1, IN(2, 2, 0)),
    CASE(cumprod, 1, IN(2, 2, 4)),
    CASE(cumprod, 1, IN(2, 3, 1)),
    CASE(cumprod, 1, IN(2, 2, 0)),
    CASE(cumprod_before, 1, IN(2, 4, 2)),
    CASE(cumprod_back, 1, IN(2, 2, 4)),
    CASE(cumprod_behind, 1, IN(2, 2, 4)),
    CASE(recurrence, 2, IN(2, 2, 4), IN(2, 2, 4)),
    CASE(prod, 1, IN(2, 2, 3)),
    CASE(prod, 1, IN(2, 2, 0)),
    CASE(prod_axes, 1, IN(3, 2, 3, 2)),
    CASE(std, 1, IN(2, 2, 4)),
    CASE(logsumexp, 1, IN(2, 3, 2)),
    CASE(norms, 1, IN(2, 2, 3)),
    CASE(softmax, 1, IN(2, 4, 2)),
    CASE(log_softmax, 1, IN(2, 2, 4)),
    CASE(layer_norm, 3, IN(2, 2, 4), IN(1, 4), IN(1, 4)),
    CASE(batch_norm, 3, IN(3, 2, 3, 2), IN(1, 3), IN(1, 3)),
    CASE(batch_norm_of_statistics, 1, IN(2, 4, 3)),
    CASE(rms_norm, 2, IN(2, 2, 4), IN(1, 4)),
    CASE(used_often, 1, IN(1, 4)),
    CASE(clip, 1, IN(2, 3, 4)),
    CASE(leaky_relu, 1, IN(2, 3, 4)),
    CASE(elu, 1, IN(2, 3, 4)),
    CASE(selu, 1, IN(1, 12)),
    CASE(hardswish, 1, IN(1, 12)),
    CASE(gelu_tanh, 1, IN(1, 12)),
    CASE(unused, 2, IN(1, 4), IN(1, 2)),
};
#undef CASE
#undef IN

static void structured_ops(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof structured / sizeof *structured; i++) check_case(&structured[i]);
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

/* Several outputs of any shape give what the gradient of their weighted sum does, to the bit. One is
 * made of another, one is an argument, one does not depend on any, and two equal expressions are one
 * node of the walk. A cotangent may be what is differentiated, and argument 2 belongs to no output. */
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
      cotangents[k] = k ? weights_like(outputs[k], SN_F64, k) : y;
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

static sn_tensor *build_cube(const grad_case *c, sn_tensor *const *x) {
  return (void)c, sn_mul(sn_square(x[0]), x[0]);
}

/* A sign, a factor of a thousandth, a dropped term and NaN are all seen; the right gradient
 * passes. */
static void planted_errors_are_caught(void **state) {
  (void)state;
  const grad_case c = {.name = "cube",
                       .build = build_cube,
                       .n = 1,
                       .lo = 0.5,
                       .hi = 2,
                       .in = {{.rank = 1, .dims = {6}}}};
  char text[TEXT];
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  const point at = random_point(&c);
  point grad = {0}, want = {0};
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
