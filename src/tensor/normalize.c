/* normalize.c - softmax and its losses, layer, RMS and batch norm: graphs of reductions and what
 * lies between them, which fusion makes few kernels of. Formulas stand above. */
#include "tensor/compose.h"

/* z = x - max x along axis; the maximum is a constant, as it cancels in everything made from z */
static sn_tensor *centre(temporaries *t, sn_tensor *x, int axis) {
  sn_tensor *f = sn_as_float(t, x);
  sn_tensor *top = sn_reduced(SN_OP_max, f, 1u << axis, true);
  sn_tensor *fixed = sn_unary(SN_OP_stop_gradient, top);
  return sn_binary(SN_OP_sub, f, fixed);
}

/* softmax x = e^z / sum e^z */
sn_tensor *sn_softmax(sn_tensor *x, int axis) {
  if (!x) return NULL;
  const sn_status status = sn_resolve_axis(x, "softmax", &axis);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, "softmax");
  sn_tensor *f = sn_as_float(&t, x);
  if (!f) return sn_finish(&t, NULL);
  return sn_finish(&t,
                   sn_note(sn_node_of(x->ctx, SN_OP_softmax, &f, 1, (int64_t[]){axis}, 1, NULL)));
}

/* logSoftmax x = z - log sum e^z; of nothing nothing, which has no maximum */
sn_tensor *sn_log_softmax(sn_tensor *x, int axis) {
  if (!x) return NULL;
  const sn_status status = sn_resolve_axis(x, "logSoftmax", &axis);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, "logSoftmax");
  if (!x->type.dims[axis]) {
    sn_tensor *none = sn_as_float(&t, x);
    return sn_finish(&t, none);
  }
  sn_tensor *z = centre(&t, x, axis);
  sn_tensor *sum = sn_reduced(SN_OP_sum, sn_unary(SN_OP_exp, z), 1u << axis, true);
  return sn_finish(&t, sn_binary(SN_OP_sub, z, sn_unary(SN_OP_log, sum)));
}

/* ---- norms ----------------------------------------------------------------------------------- */

static int last_axis(const sn_tensor *x) { return x->type.rank - 1; }

/* scale: NULL, or a number for each position along axis. */
static sn_status check_scale(const sn_tensor *x, int axis, const sn_tensor *scale, const char *what,
                             const char *name) {
  sn_env *env = &x->ctx->env;
  if (!scale) return SN_OK;
  SN_TRY(sn_same_context(x, scale, what));
  SN_FAIL_IF(env, scale->type.rank != 1 || scale->type.dims[0] != x->type.dims[axis], SN_ERR_SHAPE,
             what, "%s is not as long as axis %d: a %*p, %s %*p", name, axis, x->type.rank,
             x->type.dims, name, scale->type.rank, scale->type.dims);
  return SN_OK;
}

static sn_status check_norm(const sn_tensor *x, const sn_tensor *weight, const sn_tensor *bias,
                            const char *what) {
  SN_FAIL_IF(&x->ctx->env, x->type.rank < 1, SN_ERR_SHAPE, what, "needs at least one axis: a %*p",
             x->type.rank, x->type.dims);
  SN_TRY(check_scale(x, last_axis(x), weight, what, "weight"));
  return check_scale(x, last_axis(x), bias, what, "bias");
}

/* Over the given axes, which stay with size 1. */
static sn_tensor *mean_over(sn_tensor *x, uint32_t axes) {
  if (!x) return NULL;
  double n = 1;
  for (int i = 0; i < x->type.rank; i++)
    if (axes >> i & 1) n *= (double)x->type.dims[i];
  sn_tensor *sum = sn_reduced(SN_OP_sum, x, axes, true);
  sn_tensor *count = sn_number_like(sum, n);
  return sn_binary(SN_OP_div, sum, count);
}

/* x / sqrt(variance + eps) */
static sn_tensor *scale_by(sn_tensor *x, sn_tensor *variance, double eps) {
  sn_tensor *least = sn_number_like(variance, eps);
  sn_tensor *raised = sn_binary(SN_OP_add, variance, least);
  sn_tensor *factor = sn_unary(SN_OP_rsqrt, raised);
  return sn_binary(SN_OP_mul, x, factor);
}

/* x / sqrt(mean x^2 + eps) over the given axes */
static sn_tensor *scale_to_one(sn_tensor *x, uint32_t axes, double eps) {
  sn_tensor *squares = sn_unary(SN_OP_square, x);
  return scale_by(x, mean_over(squares, axes), eps);
}

/* y weight + bias, of those that are given */
static sn_tensor *weigh(sn_tensor *y, sn_tensor *weight, sn_tensor *bias) {
  if (weight) y = sn_binary(SN_OP_mul, y, weight);
  if (bias) y = sn_binary(SN_OP_add, y, bias);
  return y;
}

/* layerNorm x = c / sqrt(mean c^2 + eps) weight + bias, c = x - mean x: the mean is taken out
 * before anything is squared, so large values with a small spread lose nothing */
sn_tensor *sn_layer_norm(sn_tensor *x, sn_tensor *weight, sn_tensor *bias, double eps) {
  if (!x) return NULL;
  const sn_status status = check_norm(x, weight, bias, "layerNorm");
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, "layerNorm");
  const uint32_t axes = 1u << last_axis(x);
  sn_tensor *f = sn_as_float(&t, x), *centred = sn_binary(SN_OP_sub, f, mean_over(f, axes));
  return sn_finish(&t, weigh(scale_to_one(centred, axes, eps), weight, bias));
}

/* rmsNorm x = x / sqrt(mean x^2 + eps) weight */
sn_tensor *sn_rms_norm(sn_tensor *x, sn_tensor *weight, double eps) {
  if (!x) return NULL;
  const sn_status status = check_norm(x, weight, NULL, "rmsNorm");
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, "rmsNorm");
  sn_tensor *y = scale_to_one(sn_as_float(&t, x), 1u << last_axis(x), eps);
  return sn_finish(&t, weigh(y, weight, NULL));
}

static sn_status check_batch_norm(const sn_tensor *x, int *axis, const sn_tensor *mean,
                                  const sn_tensor *variance, const sn_tensor *weight,
                                  const sn_tensor *bias) {
  static const char what[] = "batchNorm";
  SN_TRY(sn_resolve_axis(x, what, axis));
  SN_FAIL_IF(&x->ctx->env, !mean != !variance, SN_ERR_ARGUMENT, what,
             "a mean and a variance are needed together");
  SN_TRY(check_scale(x, *axis, mean, what, "mean"));
  SN_TRY(check_scale(x, *axis, variance, what, "variance"));
  SN_TRY(check_scale(x, *axis, weight, what, "weight"));
  return check_scale(x, *axis, bias, what, "bias");
}

/* A number for each position along axis, in the rank of x; NULL stays. */
static sn_tensor *along_axis(const sn_tensor *x, int axis, sn_tensor *scale) {
  if (!scale || axis == last_axis(x)) return scale;
  sn_type type = {.dtype = scale->type.dtype, .rank = x->type.rank};
  for (int i = 0; i < type.rank; i++) type.dims[i] = i == axis ? x->type.dims[i] : 1;
  return sn_note(sn_as_reshaped(scale, &type));
}

/* batchNorm x = c / sqrt(variance + eps) weight + bias, c = x - mean: of all axes but one, as those
 * of x itself or as given */
sn_tensor *sn_batch_norm(sn_tensor *x, int axis, sn_tensor *mean, sn_tensor *variance,
                         sn_tensor *weight, sn_tensor *bias, double eps) {
  if (!x) return NULL;
  const sn_status status = check_batch_norm(x, &axis, mean, variance, weight, bias);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, "batchNorm");
  const uint32_t axes = ((1u << x->type.rank) - 1) & ~(1u << axis);
  sn_tensor *f = sn_as_float(&t, x);
  sn_tensor *middle = mean ? along_axis(x, axis, mean) : mean_over(f, axes);
  sn_tensor *c = sn_binary(SN_OP_sub, f, middle);
  sn_tensor *y =
      mean ? scale_by(c, along_axis(x, axis, variance), eps) : scale_to_one(c, axes, eps);
  return sn_finish(&t, weigh(y, along_axis(x, axis, weight), along_axis(x, axis, bias)));
}

/* ---- cross-entropy --------------------------------------------------------------------------- */

static sn_status check_labels(const sn_tensor *logits, const sn_tensor *labels) {
  static const char what[] = "softmaxCrossEntropy";
  sn_env *env = &logits->ctx->env;
  const sn_type *x = &logits->type, *y = &labels->type;
  sn_type rows = *x;
  rows.rank--;
  const bool distribution = sn_same_dims(y, x);
  SN_TRY(sn_same_context(logits, labels, what));
  SN_FAIL_IF(env, x->rank < 1 || x->dims[x->rank - 1] == 0, SN_ERR_SHAPE, what,
             "logits need classes, not shape %*p", x->rank, x->dims);
  SN_FAIL_IF(env, !sn_same_dims(y, &rows) && !distribution, SN_ERR_SHAPE, what,
             "labels fit neither as classes nor as a distribution: logits %*p, labels %*p", x->rank,
             x->dims, y->rank, y->dims);
  const bool fits = distribution ? sn_dtype_is_float(y->dtype) : sn_dtype_wide(y->dtype) == SN_I32;
  SN_FAIL_IF(env, !fits, SN_ERR_DTYPE, what, "%s, not %s",
             distribution ? "a distribution must be float" : "classes must be int32",
             sn_dtype_name(y->dtype));
  return SN_OK;
}

/* z = x - max x, the maximum as a constant: it cancels in n_c = log sum e^z - z_c, the loss of
 * class c; loss = n_class, or sum_c p_c n_c for a distribution p (whatever p sums to) */
sn_tensor *sn_softmax_cross_entropy(sn_tensor *logits, sn_tensor *labels) {
  if (!logits || !labels) return NULL;
  sn_context *ctx = logits->ctx;
  const sn_status status = check_labels(logits, labels);
  if (status) return sn_refuse(ctx, status);
  temporaries t = sn_begin(logits, "softmaxCrossEntropy");
  sn_tensor *x = sn_as_float(&t, logits);
  const int last = logits->type.rank - 1;
  const uint32_t classes = 1u << last;
  sn_tensor *top = sn_unary(SN_OP_stop_gradient, sn_reduced(SN_OP_max, x, classes, true));
  sn_tensor *z = sn_binary(SN_OP_sub, x, top);
  const bool distribution = labels->type.rank == logits->type.rank;
  sn_tensor *norm =
      sn_unary(SN_OP_log, sn_reduced(SN_OP_sum, sn_unary(SN_OP_exp, z), classes, distribution));
  if (distribution) {
    sn_tensor *losses = sn_binary(SN_OP_mul, labels, sn_binary(SN_OP_sub, norm, z));
    return sn_finish(&t, sn_reduced(SN_OP_sum, losses, classes, false));
  }
  sn_type column = labels->type;
  column.dims[column.rank++] = 1;
  sn_tensor *class_ = sn_note(sn_as_reshaped(labels, &column));
  sn_tensor *zero = sn_number_like(x, 0);
  sn_tensor *picked = sn_choose(
      sn_binary(SN_OP_equal, sn_note(sn_index_along(ctx, &logits->type, last)), class_), z, zero);
  return sn_finish(&t, sn_binary(SN_OP_sub, norm, sn_reduced(SN_OP_sum, picked, classes, false)));
}
