/* compose.c - what compositions share, and the index of an extremum. */
#include "tensor/compose.h"

sn_tensor *sn_note(temporaries *t, sn_tensor *x) { return t->list[t->n++] = x; }

sn_tensor *sn_finish(temporaries *t, sn_tensor *result) {
  const bool small = t->n_floats && sn_dtype_is_small(t->dtype);
  if (small && result && result->type.dtype == sn_dtype_wide(t->dtype))
    result = sn_note(t, sn_as_dtype(result, t->dtype));
  sn_retain(result);
  for (int i = 0; i < t->n; i++) sn_release(t->list[i]);
  return sn_hand_out(result);
}

sn_tensor *sn_number(sn_context *ctx, sn_dtype dtype, double value) {
  const sn_type type = sn_type_scalar(dtype);
  const int64_t bits = sn_double_attr(value);
  return sn_node_of(ctx, SN_OP_constant, NULL, 0, &bits, 1, &type);
}

sn_tensor *sn_compose_unary(temporaries *t, sn_op op, sn_tensor *x) {
  return sn_note(t, sn_elementwise(op, &x, 1));
}

sn_tensor *sn_compose_binary(temporaries *t, sn_op op, sn_tensor *x, sn_tensor *y) {
  return sn_note(t, sn_elementwise(op, (sn_tensor *[]){x, y}, 2));
}

sn_tensor *sn_compose_where(temporaries *t, sn_tensor *condition, sn_tensor *x, sn_tensor *y) {
  return sn_note(t, sn_elementwise(SN_OP_where, (sn_tensor *[]){condition, x, y}, 3));
}

sn_tensor *sn_compose_reduce(temporaries *t, sn_op op, sn_tensor *x, uint32_t axes, bool keepdims) {
  return sn_note(t, sn_reduce(op, x, axes, keepdims));
}

sn_tensor *sn_compose_float(temporaries *t, sn_tensor *x) {
  if (!x) return NULL;
  const sn_dtype dtype = sn_dtype_is_float(x->type.dtype) ? x->type.dtype : SN_F32;
  t->dtype = t->n_floats++ ? sn_promote_dtypes(t->dtype, dtype) : dtype;
  return sn_note(t, sn_as_dtype(x, sn_dtype_wide(dtype)));
}

sn_tensor *sn_compose_number(temporaries *t, const sn_tensor *x, double value) {
  return sn_note(t, x ? sn_number(x->ctx, x->type.dtype, value) : NULL);
}

sn_tensor *sn_index_along(sn_context *ctx, const sn_type *type, int axis) {
  sn_type full = *type;
  full.dtype = SN_I32;
  const int64_t attr = axis;
  return sn_node_of(ctx, SN_OP_iota, NULL, 0, &attr, 1, &full);
}

sn_tensor *sn_refuse(sn_context *ctx, sn_status status) {
  sn_context_report(ctx, status);
  return NULL;
}

sn_status sn_resolve_axis(const sn_tensor *x, const char *what, int *axis) {
  const int rank = x->type.rank, at = *axis < 0 ? *axis + rank : *axis;
  char text[SN_SHAPE_TEXT];
  SN_FAIL_IF(&x->ctx->env, at < 0 || at >= rank, SN_ERR_SHAPE, "%s: axis %d is out of range: a %s",
             what, *axis, sn_shape_text(&x->type, text));
  *axis = at;
  return SN_OK;
}

/* argmax x = min { i : x_i = max x or x_i is NaN }: the first largest, the first NaN before all */
static sn_tensor *arg_extremum(sn_op op, sn_tensor *x, int axis, bool keepdims) {
  if (!x) return NULL;
  int at = axis;
  const sn_status status = sn_resolve_axis(x, op == SN_OP_max ? "argmax" : "argmin", &at);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = {0};
  sn_tensor *v = T(sn_as_op_dtype(op, x));
  sn_tensor *best = T(sn_reduce(op, v, 1u << at, true));
  sn_tensor *hit = BINARY(equal, v, best);
  if (v && sn_dtype_is_float(v->type.dtype)) hit = BINARY(logical_or, hit, UNARY(isnan, v));
  sn_tensor *index = T(sn_index_along(x->ctx, &x->type, at));
  sn_tensor *none = T(sn_number(x->ctx, SN_I32, (double)INT32_MAX));
  return sn_finish(&t, REDUCE(min, WHERE(hit, index, none), 1u << at, keepdims));
}

sn_tensor *sn_argmax(sn_tensor *x, int axis, bool keepdims) {
  return arg_extremum(SN_OP_max, x, axis, keepdims);
}

sn_tensor *sn_argmin(sn_tensor *x, int axis, bool keepdims) {
  return arg_extremum(SN_OP_min, x, axis, keepdims);
}
