/* normalize.c - softmax and its loss, and the norms: graphs of reductions and elementwise ops, which
 * fusion turns into few kernels. Each function's formula is in the comment above it. */
#include "tensor/compose.h"

/* z = x - max x along axis. The maximum counts as a constant in derivatives, since it cancels in all that is made from z. */
static sn_tensor *centre(temporaries *t, sn_tensor *x, int axis) {
  sn_tensor *f = sn_as_terms(t, x);
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
  sn_tensor *f = sn_as_terms(&t, x);
  if (!f) return sn_finish(&t, NULL);
  return sn_finish(&t,
                   sn_note(sn_node_of(x->ctx, SN_OP_softmax, &f, 1, (int64_t[]){axis}, 1, NULL)));
}

/* logSoftmax x = z - log sum e^z; an empty axis, which has no maximum, gives an empty result */
sn_tensor *sn_log_softmax(sn_tensor *x, int axis) {
  if (!x) return NULL;
  const sn_status status = sn_resolve_axis(x, "logSoftmax", &axis);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, "logSoftmax");
  if (!x->type.dims[axis]) {
    sn_tensor *none = sn_as_terms(&t, x);
    return sn_finish(&t, none);
  }
  sn_tensor *z = centre(&t, x, axis);
  sn_tensor *sum = sn_reduced(SN_OP_sum, sn_unary(SN_OP_exp, z), 1u << axis, true);
  return sn_finish(&t, sn_binary(SN_OP_sub, z, sn_unary(SN_OP_log, sum)));
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* Checks that scale is NULL or has a number for each position along axes (bits) of x. */
static sn_status check_scale(const sn_tensor *x, uint32_t axes, const sn_tensor *scale,
                             const char *what, const char *name) {
  sn_env *env = &x->ctx->env;
  sn_type want = {.rank = 0};
  if (!scale) return SN_OK;
  SN_TRY(sn_same_context(x, scale, what));
  for (int i = 0; i < x->type.rank; i++)
    if (axes >> i & 1) want.dims[want.rank++] = x->type.dims[i];
  SN_FAIL_IF(env, !sn_same_dims(&scale->type, &want), SN_ERR_SHAPE, what,
             "%s is not %*p: a %*p, %s %*p", name, want.rank, want.dims, x->type.rank, x->type.dims,
             name, scale->type.rank, scale->type.dims);
  return SN_OK;
}

static sn_status check_norm(const sn_tensor *x, uint32_t axes, const sn_tensor *weight,
                            const sn_tensor *bias, const char *what) {
  SN_FAIL_IF(&x->ctx->env, x->type.rank < 1, SN_ERR_SHAPE, what, "needs at least one axis: a %*p",
             x->type.rank, x->type.dims);
  SN_TRY(check_scale(x, axes, weight, what, "weight"));
  return check_scale(x, axes, bias, what, "bias");
}

/* The mean over the given axes, which stay with size 1. */
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

/* Reshapes scale, a number for each position along axes, so that it broadcasts to x; NULL stays NULL. */
static sn_tensor *along_axes(const sn_type *x, uint32_t axes, sn_tensor *scale) {
  if (!scale || axes >> (x->rank - scale->type.rank) == (1u << scale->type.rank) - 1) return scale;
  sn_type type = {.dtype = scale->type.dtype, .rank = x->rank};
  for (int i = 0; i < type.rank; i++) type.dims[i] = axes >> i & 1 ? x->dims[i] : 1;
  return sn_note(sn_as_reshaped(scale, &type));
}

/* y weight + bias; each may be NULL */
static sn_tensor *weigh(sn_tensor *y, uint32_t axes, sn_tensor *weight, sn_tensor *bias) {
  if (!y) return NULL;
  if (weight) y = sn_binary(SN_OP_mul, y, along_axes(&y->type, axes, weight));
  if (bias && y) y = sn_binary(SN_OP_add, y, along_axes(&y->type, axes, bias));
  return y;
}

/* Within a precision: rounds x, which a derivative needs and memory therefore keeps, to the small dtype of
 * the argument. */
static sn_tensor *as_kept(const temporaries *t, sn_tensor *x) {
  if (!x || !x->ctx->precision || !sn_dtype_is_small(t->dtype)) return x;
  return sn_cast(sn_cast(x, t->dtype), x->type.dtype);
}

/* c / sqrt(mean c^2 + eps), c = x - mean x. The mean is subtracted before squaring, so large values with
 * a small spread lose no precision. */
static sn_tensor *standardize(const temporaries *t, sn_tensor *x, uint32_t axes, double eps) {
  return scale_to_one(as_kept(t, sn_binary(SN_OP_sub, x, mean_over(x, axes))), axes, eps);
}

/* layerNorm x = standardize x weight + bias */
sn_tensor *sn_layer_norm(sn_tensor *x, uint32_t axes, sn_tensor *weight, sn_tensor *bias,
                         double eps) {
  static const char what[] = "layerNorm";
  if (!sn_has_axes(x, what, axes)) return NULL;
  if (axes == SN_ALL_AXES) axes = (1u << x->type.rank) - 1;
  const sn_status status = check_norm(x, axes, weight, bias, what);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, what);
  return sn_finish(&t, weigh(standardize(&t, sn_as_float(&t, x), axes, eps), axes, weight, bias));
}

/* rmsNorm x = x / sqrt(mean x^2 + eps) weight */
sn_tensor *sn_rms_norm(sn_tensor *x, sn_tensor *weight, double eps) {
  if (!x) return NULL;
  const uint32_t axes = x->type.rank ? 1u << (x->type.rank - 1) : 0;
  const sn_status status = check_norm(x, axes, weight, NULL, "rmsNorm");
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, "rmsNorm");
  return sn_finish(&t, weigh(scale_to_one(sn_as_float(&t, x), axes, eps), axes, weight, NULL));
}

static sn_status check_channels(const sn_tensor *x, const char *what, int64_t groups, int *axis) {
  sn_env *env = &x->ctx->env;
  SN_FAIL_IF(env, groups < 1, SN_ERR_ARGUMENT, what,
             "groups is %lld, expected a whole number from 1 on", (long long)groups);
  SN_TRY(sn_resolve_axis(x, what, axis));
  SN_FAIL_IF(env, !*axis, SN_ERR_SHAPE, what,
             "channels cannot be the first axis, that of the batch: a %*p", x->type.rank,
             x->type.dims);
  SN_FAIL_IF(env, x->type.dims[*axis] % groups, SN_ERR_SHAPE, what,
             "%lld groups do not divide the channels: a %*p", (long long)groups, x->type.rank,
             x->type.dims);
  return SN_OK;
}

/* groupNorm x = standardize x weight + bias, for each example over all positions of a group of channels */
sn_tensor *sn_group_norm(sn_tensor *x, int64_t groups, int axis, sn_tensor *weight, sn_tensor *bias,
                         double eps) {
  static const char what[] = "groupNorm";
  if (!x) return NULL;
  sn_status status = check_channels(x, what, groups, &axis);
  if (!status) status = check_norm(x, 1u << axis, weight, bias, what);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, what);
  sn_tensor *f = sn_split_axis(sn_as_float(&t, x), axis, groups, x->type.dims[axis] / groups);
  const uint32_t axes = ((2u << x->type.rank) - 1) & ~(1u | 1u << axis);
  sn_tensor *y = sn_merge_axes(standardize(&t, f, axes, eps), axis);
  return sn_finish(&t, weigh(y, 1u << axis, weight, bias));
}

/* instanceNorm x = the same for each channel by itself */
sn_tensor *sn_instance_norm(sn_tensor *x, int axis, sn_tensor *weight, sn_tensor *bias,
                            double eps) {
  static const char what[] = "instanceNorm";
  if (!x) return NULL;
  sn_status status = check_channels(x, what, 1, &axis);
  if (!status) status = check_norm(x, 1u << axis, weight, bias, what);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, what);
  const uint32_t axes = ((1u << x->type.rank) - 1) & ~(1u | 1u << axis);
  return sn_finish(&t,
                   weigh(standardize(&t, sn_as_float(&t, x), axes, eps), 1u << axis, weight, bias));
}

static sn_status check_batch_norm(const sn_tensor *x, int *axis, const sn_tensor *mean,
                                  const sn_tensor *variance, const sn_tensor *weight,
                                  const sn_tensor *bias) {
  static const char what[] = "batchNorm";
  SN_TRY(sn_resolve_axis(x, what, axis));
  SN_FAIL_IF(&x->ctx->env, !mean != !variance, SN_ERR_ARGUMENT, what,
             "a mean and a variance are needed together");
  SN_TRY(check_scale(x, 1u << *axis, mean, what, "mean"));
  SN_TRY(check_scale(x, 1u << *axis, variance, what, "variance"));
  SN_TRY(check_scale(x, 1u << *axis, weight, what, "weight"));
  return check_scale(x, 1u << *axis, bias, what, "bias");
}

/* batchNorm x = c / sqrt(variance + eps) weight + bias, c = x - mean; mean and variance are given, or
 * those of x over all axes but `axis` */
sn_tensor *sn_batch_norm(sn_tensor *x, int axis, sn_tensor *mean, sn_tensor *variance,
                         sn_tensor *weight, sn_tensor *bias, double eps) {
  if (!x) return NULL;
  const sn_status status = check_batch_norm(x, &axis, mean, variance, weight, bias);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, "batchNorm");
  const uint32_t axes = ((1u << x->type.rank) - 1) & ~(1u << axis);
  sn_tensor *f = sn_as_terms(&t, x);
  const uint32_t channel = 1u << axis;
  sn_tensor *middle = mean ? along_axes(&x->type, channel, mean) : mean_over(f, axes);
  sn_tensor *c = sn_binary(SN_OP_sub, f, middle);
  sn_tensor *y =
      mean ? scale_by(c, along_axes(&x->type, channel, variance), eps) : scale_to_one(c, axes, eps);
  return sn_finish(&t, weigh(y, channel, weight, bias));
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

/* z = x - max x, with the maximum as a constant, since it cancels in n_c = log sum e^z - z_c, the loss of
 * class c. loss = n_class, or sum_c p_c n_c for a distribution p (whatever p sums to). The class is
 * picked from x, not from z: then e^z is the last reader of x and may be written in its place. */
static sn_tensor *cross_entropy(temporaries *t, sn_tensor *logits, sn_tensor *labels) {
  sn_tensor *x = sn_as_terms(t, logits);
  const int last = logits->type.rank - 1;
  const uint32_t classes = 1u << last;
  sn_tensor *top = sn_unary(SN_OP_stop_gradient, sn_reduced(SN_OP_max, x, classes, true));
  sn_tensor *z = sn_binary(SN_OP_sub, x, top);
  const bool distribution = labels->type.rank == logits->type.rank;
  sn_tensor *norm =
      sn_unary(SN_OP_log, sn_reduced(SN_OP_sum, sn_unary(SN_OP_exp, z), classes, distribution));
  if (distribution) {
    sn_tensor *losses = sn_binary(SN_OP_mul, labels, sn_binary(SN_OP_sub, norm, z));
    return sn_reduced(SN_OP_sum, losses, classes, false);
  }
  sn_type column = labels->type;
  column.dims[column.rank++] = 1;
  sn_tensor *class_ = sn_note(sn_as_reshaped(labels, &column));
  sn_tensor *zero = sn_number_like(x, 0);
  sn_tensor *picked = sn_choose(
      sn_binary(SN_OP_equal, sn_note(sn_index_along(logits->ctx, &logits->type, last)), class_), x,
      zero);
  sn_tensor *below = sn_unary(SN_OP_stop_gradient, sn_reduced(SN_OP_max, x, classes, false));
  return sn_binary(SN_OP_sub, norm,
                   sn_binary(SN_OP_sub, sn_reduced(SN_OP_sum, picked, classes, false), below));
}

/* Rows with the label ignore_index have loss 0. Their loss is computed with label 0, which exists, and dropped. */
sn_tensor *sn_softmax_cross_entropy(sn_tensor *logits, sn_tensor *labels, int64_t ignore_index) {
  if (!logits || !labels) return NULL;
  sn_context *ctx = logits->ctx;
  const bool ignores = ignore_index != SN_DEFAULT;
  sn_status status = check_labels(logits, labels);
  if (!status && ignores && sn_dtype_wide(labels->type.dtype) != SN_I32)
    status = SN_FAIL(&ctx->env, SN_ERR_DTYPE, "softmaxCrossEntropy",
                     "ignoreIndex needs classes as int32, labels are %s",
                     sn_dtype_name(labels->type.dtype));
  if (status) return sn_refuse(ctx, status);
  temporaries t = sn_begin(logits, "softmaxCrossEntropy");
  if (!ignores) return sn_finish(&t, cross_entropy(&t, logits, labels));
  sn_tensor *none = sn_scalar(ctx, 0);
  sn_tensor *ignored = sn_binary(SN_OP_equal, labels, sn_scalar(ctx, (double)ignore_index));
  sn_tensor *kept = sn_choose(ignored, none, labels);
  return sn_finish(&t, kept ? sn_choose(ignored, none, cross_entropy(&t, logits, kept)) : NULL);
}
