/* compose.c - begins and ends compositions, and their common steps. */
#include "tensor/compose.h"

temporaries sn_begin_in(sn_context *ctx, const char *what) {
  const temporaries t = {.ctx = ctx, .n_noted = ctx->n_scope, .outer = ctx->composed};
  if (!ctx->composed) ctx->composed = what;
  return t;
}

temporaries sn_begin(const sn_tensor *x, const char *what) {
  return x ? sn_begin_in(x->ctx, what) : (temporaries){0};
}

static void release_noted(temporaries *t) {
  sn_context *ctx = t->ctx;
  ctx->composed = t->outer;
  while (ctx->n_scope > t->n_noted) sn_release(ctx->scope[--ctx->n_scope]);
}

sn_tensor *sn_finish(temporaries *t, sn_tensor *result) {
  if (!t->ctx) return NULL;
  const bool small = t->n_floats && sn_dtype_is_small(t->dtype);
  if (small && result && result->type.dtype == sn_dtype_wide(t->dtype))
    result = sn_note(sn_as_dtype(result, t->dtype));
  sn_retain(result);
  release_noted(t);
  return sn_hand_out(result);
}

sn_status sn_finish_all(temporaries *t, sn_tensor **results, size_t n) {
  bool complete = !sn_context_report(t->ctx, sn_scope_reserve(t->ctx, n));
  for (size_t i = 0; i < n; i++) complete = complete && results[i];
  for (size_t i = 0; i < n; i++) results[i] = complete ? sn_retain(results[i]) : NULL;
  release_noted(t);
  if (!complete) return sn_context_null_status(t->ctx);
  for (size_t i = 0; i < n; i++) sn_hand_out(results[i]);
  return SN_OK;
}

sn_tensor *sn_unary(sn_op op, sn_tensor *x) { return sn_note(sn_elementwise(op, &x, 1)); }

sn_tensor *sn_binary(sn_op op, sn_tensor *x, sn_tensor *y) {
  return sn_note(sn_elementwise(op, (sn_tensor *[]){x, y}, 2));
}

sn_tensor *sn_choose(sn_tensor *condition, sn_tensor *x, sn_tensor *y) {
  return sn_note(sn_elementwise(SN_OP_where, (sn_tensor *[]){condition, x, y}, 3));
}

sn_tensor *sn_reduced(sn_op op, sn_tensor *x, uint32_t axes, bool keepdims) {
  return sn_note(sn_reduce(op, x, axes, keepdims));
}

sn_tensor *sn_as_float(temporaries *t, sn_tensor *x) {
  if (!x) return NULL;
  const sn_dtype dtype = sn_dtype_is_float(x->type.dtype) ? x->type.dtype : SN_F32;
  t->dtype = t->n_floats++ ? sn_promote_dtypes(t->dtype, dtype) : dtype;
  return sn_note(sn_as_dtype(x, sn_dtype_wide(dtype)));
}

sn_tensor *sn_as_terms(temporaries *t, sn_tensor *x) {
  if (!x || !x->ctx->precision) return sn_as_float(t, x);
  return sn_note(sn_as_dtype(x, sn_float_dtype(x->type.dtype)));
}

sn_tensor *sn_number_like(const sn_tensor *x, double value) {
  return sn_note(x ? sn_number(x->ctx, x->type.dtype, value) : NULL);
}

sn_tensor *sn_cast(sn_tensor *x, sn_dtype dtype) { return sn_note(sn_as_dtype(x, dtype)); }

sn_tensor *sn_binary_number(sn_op op, sn_tensor *x, double value) {
  return sn_binary(op, x, sn_number_like(x, value));
}

sn_tensor *sn_part(sn_tensor *x, int axis, int64_t begin, int64_t size) {
  if (!x) return NULL;
  sn_type type = x->type;
  int64_t from[SN_MAX_RANK] = {0};
  from[axis] = begin;
  type.dims[axis] = size;
  return sn_slice(x, from, type.dims, NULL);
}

sn_tensor *sn_split_axis(sn_tensor *x, int axis, int64_t outer, int64_t inner) {
  if (!x) return NULL;
  int64_t dims[SN_MAX_RANK + 1];
  for (int i = 0; i <= x->type.rank; i++) dims[i] = x->type.dims[i > axis ? i - 1 : i];
  dims[axis] = outer;
  dims[axis + 1] = inner;
  return sn_reshape(x, x->type.rank + 1, dims);
}

sn_tensor *sn_merge_axes(sn_tensor *x, int outer) {
  if (!x) return NULL;
  sn_type type = x->type;
  type.dims[outer] *= type.dims[outer + 1];
  type.rank--;
  for (int i = outer + 1; i < type.rank; i++) type.dims[i] = x->type.dims[i + 1];
  return sn_note(sn_as_reshaped(x, &type));
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

sn_status sn_resolve_axis_of(sn_env *env, const sn_type *type, const char *what, int *axis) {
  const int rank = type->rank, at = *axis < 0 ? *axis + rank : *axis;
  SN_FAIL_IF(env, !rank, SN_ERR_SHAPE, what,
             "axis %d is out of range: a %*p of rank 0, it has no axes", *axis, rank, type->dims);
  SN_FAIL_IF(env, at < 0 || at >= rank, SN_ERR_SHAPE, what,
             "axis %d is out of range: a %*p of rank %d, axes are %d to %d", *axis, type->rank,
             type->dims, rank, -rank, rank - 1);
  *axis = at;
  return SN_OK;
}

sn_status sn_resolve_axis(const sn_tensor *x, const char *what, int *axis) {
  return sn_resolve_axis_of(&x->ctx->env, &x->type, what, axis);
}

bool sn_has_axes(const sn_tensor *x, const char *what, uint32_t axes) {
  if (!x || axes == SN_ALL_AXES || !(axes >> x->type.rank)) return x != NULL;
  int axis = x->type.rank;
  while (!(axes >> axis & 1)) axis++;
  sn_context_report(x->ctx, sn_resolve_axis(x, what, &axis));
  return false;
}

sn_tensor *sn_along(sn_tensor *x, int *axis) {
  if (!x || *axis != SN_FLAT) return sn_retain(x);
  const sn_type line = {x->type.dtype, 1, {sn_type_size(&x->type)}};
  *axis = 0;
  return sn_as_reshaped(x, &line);
}
