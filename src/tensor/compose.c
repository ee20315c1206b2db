/* compose.c - public functions that are graphs of ops of the table. Derivatives, fusion and every
 * backend come from these ops. Formulas stand above. */
#include "tensor/apply.h"

/* Owns the temporaries of one composition: every result goes through T(), all are released at its
 * end but the one that is handed out. */
#define MAX_TEMPORARIES 24
typedef struct temporaries {
  sn_tensor *list[MAX_TEMPORARIES];
  int n;
} temporaries;

static sn_tensor *note(temporaries *t, sn_tensor *x) { return t->list[t->n++] = x; }

static sn_tensor *finish(temporaries *t, sn_tensor *result) {
  sn_retain(result);
  for (int i = 0; i < t->n; i++) sn_release(t->list[i]);
  return sn_hand_out(result);
}

#define T(x) note(&t, (x))
#define UNARY(op, x) T(sn_elementwise(SN_OP_##op, (sn_tensor *[]){x}, 1))
#define BINARY(op, x, y) T(sn_elementwise(SN_OP_##op, (sn_tensor *[]){x, y}, 2))
#define WHERE(c, x, y) T(sn_elementwise(SN_OP_where, (sn_tensor *[]){c, x, y}, 3))
#define REDUCE(op, x, axes, keep) T(sn_reduce(SN_OP_##op, x, axes, keep))

static sn_tensor *number(sn_context *ctx, sn_dtype dtype, double value) {
  const sn_type type = sn_type_scalar(dtype);
  const int64_t bits = sn_double_attr(value);
  return sn_node_of(ctx, SN_OP_constant, NULL, 0, &bits, 1, &type);
}

static sn_tensor *index_along(const sn_tensor *x, int axis) {
  const sn_type type = {SN_I32, x->type.rank, {0}};
  sn_type full = x->type;
  full.dtype = type.dtype;
  const int64_t attr = axis;
  return sn_node_of(x->ctx, SN_OP_iota, NULL, 0, &attr, 1, &full);
}

static sn_tensor *refuse(sn_context *ctx, sn_status status) {
  sn_context_report(ctx, status);
  return NULL;
}

/* mean x = sum x / n */
sn_tensor *sn_mean(sn_tensor *x, uint32_t axes, bool keepdims) {
  if (!x) return NULL;
  temporaries t = {0};
  sn_tensor *f = T(sn_dtype_is_float(x->type.dtype) ? sn_retain(x) : sn_as_dtype(x, SN_F32));
  double count = 1;
  for (int i = 0; i < x->type.rank; i++)
    if (axes == SN_ALL_AXES || axes >> i & 1) count *= (double)x->type.dims[i];
  sn_tensor *sum = REDUCE(sum, f, axes, keepdims);
  sn_tensor *n = sum ? T(number(x->ctx, sum->type.dtype, count)) : NULL;
  return finish(&t, BINARY(div, sum, n));
}

/* argmax x = min { i : x_i = max x or x_i is NaN }: the first largest, the first NaN before all */
static sn_tensor *arg_extremum(sn_op op, sn_tensor *x, int axis, bool keepdims) {
  if (!x) return NULL;
  sn_context *ctx = x->ctx;
  const int rank = x->type.rank, at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank)
    return refuse(ctx, sn_fail(&ctx->env, SN_ERR_SHAPE, "arg%s: axis %d out of range for rank %d",
                               sn_op_describe(op)->name, axis, rank));
  temporaries t = {0};
  sn_tensor *v = T(sn_as_op_dtype(op, x));
  sn_tensor *best = T(sn_reduce(op, v, 1u << at, true));
  sn_tensor *hit = BINARY(equal, v, best);
  if (v && sn_dtype_is_float(v->type.dtype)) hit = BINARY(logical_or, hit, UNARY(isnan, v));
  sn_tensor *index = T(index_along(x, at)), *none = T(number(ctx, SN_I32, (double)INT32_MAX));
  return finish(&t, REDUCE(min, WHERE(hit, index, none), 1u << at, keepdims));
}

sn_tensor *sn_argmax(sn_tensor *x, int axis, bool keepdims) {
  return arg_extremum(SN_OP_max, x, axis, keepdims);
}

sn_tensor *sn_argmin(sn_tensor *x, int axis, bool keepdims) {
  return arg_extremum(SN_OP_min, x, axis, keepdims);
}

static sn_status check_labels(const sn_tensor *logits, const sn_tensor *labels) {
  sn_env *env = &logits->ctx->env;
  const sn_type *x = &logits->type, *y = &labels->type;
  char tx[SN_SHAPE_TEXT], ty[SN_SHAPE_TEXT];
  sn_type rows = *x;
  rows.rank--;
  SN_FAIL_IF(env, logits->ctx != labels->ctx, SN_ERR_ARGUMENT,
             "softmaxCrossEntropy: inputs of two contexts");
  SN_FAIL_IF(env, x->rank < 1 || x->dims[x->rank - 1] == 0, SN_ERR_SHAPE,
             "softmaxCrossEntropy: logits need classes, not shape %s", sn_shape_text(x, tx));
  SN_FAIL_IF(env, !sn_same_dims(y, &rows) && !sn_same_dims(y, x), SN_ERR_SHAPE,
             "softmaxCrossEntropy: labels fit neither as classes nor as a distribution: logits %s, "
             "labels %s",
             sn_shape_text(x, tx), sn_shape_text(y, ty));
  SN_FAIL_IF(env, !sn_same_dims(y, x) && y->dtype != SN_I32, SN_ERR_DTYPE,
             "softmaxCrossEntropy: classes must be int32, not %s", sn_dtype_name(y->dtype));
  SN_FAIL_IF(env, sn_same_dims(y, x) && !sn_dtype_is_float(y->dtype), SN_ERR_DTYPE,
             "softmaxCrossEntropy: a distribution must be float, not %s", sn_dtype_name(y->dtype));
  return SN_OK;
}

/* z = x - max x, the maximum as a constant: it cancels in n_c = log sum e^z - z_c, the loss of
 * class c; loss = n_class, or sum_c p_c n_c for a distribution p (whatever p sums to) */
sn_tensor *sn_softmax_cross_entropy(sn_tensor *logits, sn_tensor *labels) {
  if (!logits || !labels) return NULL;
  sn_context *ctx = logits->ctx;
  const sn_status status = check_labels(logits, labels);
  if (status) return refuse(ctx, status);
  temporaries t = {0};
  sn_tensor *x =
      T(sn_dtype_is_float(logits->type.dtype) ? sn_retain(logits) : sn_as_dtype(logits, SN_F32));
  const int last = logits->type.rank - 1;
  const uint32_t classes = 1u << last;
  sn_tensor *top = UNARY(stop_gradient, REDUCE(max, x, classes, true));
  sn_tensor *z = BINARY(sub, x, top);
  const bool distribution = labels->type.rank == logits->type.rank;
  sn_tensor *norm = UNARY(log, REDUCE(sum, UNARY(exp, z), classes, distribution));
  if (distribution) {
    sn_tensor *losses = BINARY(mul, labels, BINARY(sub, norm, z));
    return finish(&t, REDUCE(sum, losses, classes, false));
  }
  sn_type column = labels->type;
  column.dims[column.rank++] = 1;
  sn_tensor *class_ = T(sn_as_reshaped(labels, &column));
  sn_tensor *zero = T(number(ctx, x ? x->type.dtype : SN_F32, 0));
  sn_tensor *picked = WHERE(BINARY(equal, T(index_along(logits, last)), class_), z, zero);
  return finish(&t, BINARY(sub, norm, REDUCE(sum, picked, classes, false)));
}
