#include "derivative_cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tensor/apply.h"

derivative_point derivative_random_point(const derivative_case *c, case_random *r) {
  derivative_point p = {0};
  for (int k = 0; k < c->n; k++) {
    assert_true(sn_type_size(&c->in[k]) <= DERIVATIVE_ELEMENTS);
    for (int64_t i = 0; i < sn_type_size(&c->in[k]); i++) {
      const double cell = floor(case_between(r, c->lo, c->hi) * 4) / 4;
      p.x[k][i] = cell + (k % 2 ? 0.1875 : 0.0625) + case_between(r, -0.02, 0.02);
    }
  }
  return p;
}

/* ---- rows of the table ----------------------------------------------------------------------- */

/* Ops that take no floats get their inputs cast; nothing flows back through that. */
static sn_tensor *build_row(sn_context *ctx, const derivative_case *c, sn_tensor *const *x) {
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

void derivative_rows(derivative_check *check) {
  static const sn_type shapes[][DERIVATIVE_INPUTS] = {
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
      derivative_case c = {.name = row->name, .build = build_row, .n = row->arity, .op = (sn_op)op};
      memcpy(c.in, shapes[s], sizeof c.in);
      /* where the function is steep, differences say little */
      c.lo = domain->lo >= 0 ? fmax(domain->lo, 0.3) : fmax(0.7 * domain->lo, -2);
      c.hi = fmin(domain->hi, 2);
      c.stops = op == SN_OP_stop_gradient;
      check(&c);
    }
  }
}

/* ---- structured ops -------------------------------------------------------------------------- */

#define BUILD(id) \
  static sn_tensor *build_##id(sn_context *ctx, const derivative_case *c, sn_tensor *const *x)
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define X (x[0])
#define Y (x[1])

BUILD(reshape) { return (void)c, (void)ctx, sn_tanh(sn_reshape(X, 3, DIMS(3, 1, 4))); }
BUILD(transpose) { return (void)c, (void)ctx, sn_square(sn_transpose(X, (const int[]){1, 2, 0})); }
BUILD(broadcast) { return (void)c, (void)ctx, sn_mul(sn_broadcast_to(X, 3, DIMS(2, 3, 2)), X); }
BUILD(slice) {
  return (void)c, (void)ctx, sn_square(sn_slice(X, DIMS(1, 0), DIMS(2, 2), DIMS(2, 1)));
}
BUILD(slice_down) {
  return (void)c, (void)ctx, sn_square(sn_slice(X, DIMS(4, 2), DIMS(2, 3), DIMS(-2, -1)));
}
BUILD(slice_nothing) {
  return (void)c, (void)ctx, sn_slice(X, DIMS(0, 1), DIMS(0, 1), DIMS(-1, 1));
}
BUILD(slices_overlap) {
  (void)c, (void)ctx;
  return sn_mul(sn_slice(X, DIMS(0, 0), DIMS(4, 3), NULL),
                sn_slice(X, DIMS(1, 0), DIMS(4, 3), NULL));
}
/* side by side with a gap, over each other, the same rows twice, in a corner, and of slices */
BUILD(slices_many) {
  (void)c, (void)ctx;
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
  (void)c, (void)ctx;
  sn_tensor *h = sn_scalar(ctx, 0);
  for (int64_t t = 0; t < 5; t++)
    h = sn_tanh(sn_add(h, sn_slice(X, DIMS(0, t), DIMS(3, 1), DIMS(1, -1))));
  return sn_mul(h, X);
}
BUILD(pad) {
  return (void)c, (void)ctx, sn_square(sn_pad(X, DIMS(1, 0), DIMS(0, 2), SN_PAD_CONSTANT, 3));
}
BUILD(concat) {
  return (void)c, (void)ctx, sn_square(sn_concat((sn_tensor *const[]){X, Y, X}, 3, 1));
}
BUILD(chain_of_views) {
  (void)c, (void)ctx;
  sn_tensor *flip = sn_slice(sn_transpose(X, NULL), DIMS(3, 0), DIMS(4, 3), DIMS(-1, 1));
  return sn_exp(sn_reshape(sn_broadcast_to(sn_reshape(flip, 3, DIMS(2, 1, 6)), 3, DIMS(2, 2, 6)), 2,
                           DIMS(4, 6)));
}
BUILD(sum_all) { return (void)c, (void)ctx, sn_square(sn_sum(sn_sin(X), SN_ALL_AXES, false)); }
BUILD(sum_axis) { return (void)c, (void)ctx, sn_mul(X, sn_sum(sn_square(X), 2, true)); }
BUILD(mean) { return (void)c, (void)ctx, sn_square(sn_mean(sn_mul(X, X), 1, false)); }
BUILD(max) { return (void)c, (void)ctx, sn_square(sn_max(X, 1, false)); }
BUILD(min) { return (void)c, (void)ctx, sn_mul(sn_min(X, SN_ALL_AXES, true), X); }
BUILD(variance) {
  (void)c, (void)ctx;
  sn_tensor *centred = sn_sub(X, sn_mean(X, 2, true));
  return sn_div(centred,
                sn_sqrt(sn_add(sn_mean(sn_square(centred), 2, true), sn_scalar(ctx, 0.1))));
}
BUILD(matmul) { return (void)c, (void)ctx, sn_matmul(X, Y); }
BUILD(matmul_squared) { return (void)c, (void)ctx, sn_square(sn_matmul(X, Y)); }
BUILD(matmul_transposed) {
  return (void)c, (void)ctx, sn_matmul(sn_transpose(X, NULL), sn_transpose(Y, NULL));
}
BUILD(matmul_with_itself) { return (void)c, (void)ctx, sn_matmul(X, sn_transpose(X, NULL)); }
static const sn_window_options strided = {
    .strides = DIMS(2, 1), .dilation = DIMS(1, 2), .padding = SN_PADDING_SAME};
static const sn_window_options grouped = {.strides = DIMS(1, 2), .groups = 2};
BUILD(conv) { return (void)c, (void)ctx, sn_square(sn_conv(X, Y, 2, &strided)); }
BUILD(conv_transpose) {
  return (void)c, (void)ctx, sn_square(sn_conv_transpose(X, Y, 2, &strided));
}
BUILD(conv_grouped) { return (void)c, (void)ctx, sn_square(sn_conv(X, Y, 2, &grouped)); }
/* The slopes of a loss that is of third degree: their own slopes have all parts. */
BUILD(conv_slopes) {
  (void)c, (void)ctx;
  sn_tensor *in[] = {X, Y}, *d[2], *y = sn_conv(X, Y, 1, NULL);
  if (sn_gradients(sn_sum(sn_mul(sn_square(y), y), SN_ALL_AXES, false), in, 2, d)) return NULL;
  return sn_mul(sn_sum(d[0], SN_ALL_AXES, false), sn_sum(sn_square(d[1]), SN_ALL_AXES, false));
}
BUILD(max_pool) { return (void)c, (void)ctx, sn_square(sn_max_pool(X, DIMS(2, 2), 2, &strided)); }
BUILD(avg_pool) { return (void)c, (void)ctx, sn_square(sn_avg_pool(X, DIMS(3, 2), 2, &strided)); }
BUILD(where_mask) {
  (void)c, (void)ctx;
  return sn_where(sn_less(X, Y), sn_mul(X, Y), sn_sub(X, Y));
}
BUILD(labels) {
  (void)c, (void)ctx;
  static const int32_t classes[] = {2, 0, 3};
  return sn_softmax_cross_entropy(X, sn_from_data(ctx, SN_I32, 1, DIMS(3), classes), SN_DEFAULT);
}
BUILD(distribution) {
  return (void)c, (void)ctx, sn_softmax_cross_entropy(X, sn_sigmoid(Y), SN_DEFAULT);
}
BUILD(two_layers) {
  (void)c, (void)ctx;
  sn_tensor *hidden = sn_tanh(sn_add(sn_matmul(X, Y), x[2]));
  return sn_softmax_cross_entropy(sn_matmul(hidden, sn_transpose(hidden, NULL)),
                                  sn_from_data(ctx, SN_I32, 1, DIMS(3), (const int32_t[]){1, 0, 2}),
                                  SN_DEFAULT);
}
BUILD(used_often) {
  (void)c, (void)ctx;
  sn_tensor *y = X;
  for (int i = 0; i < 20; i++) y = sn_mul(sn_add(sn_sin(y), X), sn_scalar(ctx, 0.7));
  return y;
}
/* indices below 0, twice, and outside */
static const int32_t places[] = {1, -1, 0, 1, 9};
BUILD(take) {
  (void)c, (void)ctx;
  return sn_square(sn_take(X, sn_from_data(ctx, SN_I32, 2, DIMS(5, 1), places), 0));
}
BUILD(take_last) {
  return (void)c, (void)ctx,
         sn_mul(sn_take(X, sn_from_data(ctx, SN_I32, 1, DIMS(5), places), -1), Y);
}
BUILD(scatter_add) {
  (void)c, (void)ctx;
  return sn_square(sn_scatter_add(X, sn_from_data(ctx, SN_I32, 1, DIMS(5), places), Y, 1));
}
BUILD(scatter_mul) {
  (void)c, (void)ctx;
  return sn_scatter(X, sn_from_data(ctx, SN_I32, 1, DIMS(5), places), Y, 1, SN_SCATTER_MUL);
}
BUILD(scatter_max) {
  (void)c, (void)ctx;
  return sn_square(
      sn_scatter(X, sn_from_data(ctx, SN_I32, 1, DIMS(5), places), Y, 1, SN_SCATTER_MAX));
}
BUILD(scatter_min) {
  (void)c, (void)ctx;
  return sn_square(
      sn_scatter(X, sn_from_data(ctx, SN_I32, 1, DIMS(5), places), Y, 1, SN_SCATTER_MIN));
}
BUILD(scatter_set) {
  (void)c, (void)ctx;
  return sn_square(
      sn_scatter(X, sn_from_data(ctx, SN_I32, 1, DIMS(5), places), Y, 1, SN_SCATTER_SET));
}
BUILD(sort) { return (void)c, (void)ctx, sn_mul(sn_sort(X, 0, false), Y); }
BUILD(sort_down) { return (void)c, (void)ctx, sn_square(sn_sort(sn_sin(X), 1, true)); }
BUILD(take_along) {
  return (void)c, (void)ctx, sn_square(sn_take_along_axis(X, sn_argsort(Y, 1, false), 1));
}
BUILD(cumsum) { return (void)c, (void)ctx, sn_square(sn_cumsum(X, 0, false, false)); }
BUILD(cumsum_back) { return (void)c, (void)ctx, sn_square(sn_cumsum(X, 1, true, true)); }
BUILD(cumprod) { return (void)c, (void)ctx, sn_square(sn_cumprod(X, 1, false, false)); }
BUILD(cumprod_before) { return (void)c, (void)ctx, sn_square(sn_cumprod(X, 0, false, true)); }
BUILD(cumprod_back) { return (void)c, (void)ctx, sn_square(sn_cumprod(X, 1, true, false)); }
BUILD(cumprod_behind) { return (void)c, (void)ctx, sn_square(sn_cumprod(X, 1, true, true)); }
BUILD(recurrence) {
  (void)c, (void)ctx;
  sn_tensor *y[2];
  for (int reverse = 0; reverse < 2; reverse++)
    y[reverse] = sn_hand_out(sn_node_of(ctx, SN_OP_recurrence, (sn_tensor *[]){X, Y}, 2,
                                        (int64_t[]){1, reverse, 0}, 3, NULL));
  return sn_mul(y[0], y[1]);
}
BUILD(prod) { return (void)c, (void)ctx, sn_square(sn_prod(X, SN_ALL_AXES, false)); }
BUILD(prod_axes) { return (void)c, (void)ctx, sn_mul(sn_prod(X, 5, true), X); }
BUILD(std) { return (void)c, (void)ctx, sn_mul(sn_std(X, 2, true, 1), X); }
BUILD(logsumexp) { return (void)c, (void)ctx, sn_square(sn_logsumexp(X, 1, false)); }
BUILD(norms) {
  (void)c, (void)ctx;
  sn_tensor *y = sn_norm(X, 2, true, 2);
  static const double orders[] = {1, 3, 0.5, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
    y = sn_mul(y, sn_norm(X, 2, true, orders[i]));
  return y;
}
BUILD(softmax) { return (void)c, (void)ctx, sn_square(sn_softmax(X, 0)); }
BUILD(log_softmax) { return (void)c, (void)ctx, sn_mul(sn_log_softmax(X, 1), X); }
BUILD(layer_norm) {
  return (void)c, (void)ctx, sn_square(sn_layer_norm(X, 1u << (sn_rank(X) - 1), Y, x[2], 0.1));
}
BUILD(batch_norm) {
  return (void)c, (void)ctx, sn_square(sn_batch_norm(X, 1, NULL, NULL, Y, x[2], 0.1));
}
BUILD(batch_norm_of_statistics) {
  (void)c, (void)ctx;
  sn_tensor *mean = sn_mean(X, 1, false), *variance = sn_var(X, 1, false, 0);
  return sn_square(sn_batch_norm(X, -1, mean, variance, NULL, NULL, 0.1));
}
BUILD(rms_norm) { return (void)c, (void)ctx, sn_square(sn_rms_norm(X, Y, 0.1)); }
BUILD(clip) {
  (void)c, (void)ctx;
  sn_tensor *above = sn_clip(X, sn_scalar(ctx, -1), NULL);
  return sn_mul(above, sn_clip(X, sn_scalar(ctx, -1.5), sn_scalar(ctx, 1)));
}
BUILD(leaky_relu) { return (void)c, (void)ctx, sn_square(sn_leaky_relu(X, 0.2)); }
BUILD(elu) { return (void)c, (void)ctx, sn_elu(X, 1.5); }
BUILD(selu) { return (void)c, (void)ctx, sn_selu(X); }
BUILD(hardswish) { return (void)c, (void)ctx, sn_hardswish(sn_mul(X, sn_scalar(ctx, 2))); }
BUILD(gelu_tanh) { return (void)c, (void)ctx, sn_gelu_tanh(X); }
BUILD(unused) { return (void)c, (void)ctx, sn_square(Y); }

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
static const derivative_case structured[] = {
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

void derivative_structured(derivative_check *check) {
  for (size_t i = 0; i < sizeof structured / sizeof *structured; i++) check(&structured[i]);
}
