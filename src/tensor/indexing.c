/* indexing.c - the public ops along one axis. Gather and scatter take one index per element that is
 * moved; indices of any shape are brought to that by views, which take no memory. */
#include <string.h>

#include "tensor/compose.h"

/* Types for a take. seen: that of the result, x[:axis] + indices + x[axis + 1:]; flat: the same with the
 * indices in one dimension; column: that of the indices, in a shape that broadcasts to flat. */
typedef struct places {
  sn_type seen, flat, column;
} places;

static sn_status find_places(const sn_tensor *x, const sn_tensor *indices, const char *what,
                             int *axis, places *out) {
  sn_env *env = &x->ctx->env;
  const sn_type *a = &x->type, *i = &indices->type;
  SN_TRY(sn_same_context(x, indices, what));
  SN_TRY(sn_resolve_axis(x, what, axis));
  SN_FAIL_IF(env, sn_dtype_wide(i->dtype) != SN_I32, SN_ERR_DTYPE, what,
             "indices must be int32, not %s", sn_dtype_name(i->dtype));
  SN_FAIL_IF(env, a->rank - 1 + i->rank > SN_MAX_RANK, SN_ERR_SHAPE, what,
             "the result has more than %d dimensions: a %*p, indices %*p", SN_MAX_RANK, a->rank,
             a->dims, i->rank, i->dims);
  const int64_t count = sn_type_size(i);
  SN_FAIL_IF(env, a->dims[*axis] == 0 && count, SN_ERR_SHAPE, what,
             "no elements along axis %d: a %*p, indices %*p", *axis, a->rank, a->dims, i->rank,
             i->dims);
  *out = (places){.flat = *a, .column = {SN_I32, a->rank, {0}}};
  out->flat.dims[*axis] = count;
  for (int d = 0; d < a->rank; d++) out->column.dims[d] = d == *axis ? count : 1;
  out->seen = (sn_type){a->dtype, a->rank - 1 + i->rank, {0}};
  const int64_t behind = a->rank - 1 - *axis;
  memcpy(out->seen.dims, a->dims, (size_t)*axis * sizeof *a->dims);
  memcpy(out->seen.dims + *axis, i->dims, (size_t)i->rank * sizeof *i->dims);
  memcpy(out->seen.dims + *axis + i->rank, a->dims + *axis + 1, (size_t)behind * sizeof *a->dims);
  return SN_OK;
}

static sn_tensor *spread_indices(sn_tensor *indices, const places *p) {
  sn_tensor *numbers = sn_note(sn_as_dtype(indices, SN_I32));
  return sn_note(sn_as_dims(sn_note(sn_as_reshaped(numbers, &p->column)), &p->flat));
}

static sn_tensor *along(sn_op op, sn_tensor *const *inputs, size_t n, const int64_t *attrs,
                        size_t n_attrs) {
  for (size_t k = 0; k < n; k++)
    if (!inputs[k]) return NULL;
  return sn_node_of(inputs[0]->ctx, op, inputs, n, attrs, n_attrs, NULL);
}

sn_tensor *sn_take(sn_tensor *x, sn_tensor *indices, int axis) {
  if (!x || !indices) return NULL;
  places p;
  const sn_status status = find_places(x, indices, "take", &axis, &p);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, "take");
  const int64_t attr = axis;
  sn_tensor *full = spread_indices(indices, &p);
  sn_tensor *y = sn_note(along(SN_OP_gather, (sn_tensor *[]){x, full}, 2, &attr, 1));
  return sn_finish(&t, sn_note(sn_as_reshaped(y, &p.seen)));
}

/* *from and *at are the types of x and indices after broadcasting: equal sizes except along the axis. */
static sn_status check_along(const sn_tensor *x, const sn_tensor *indices, int axis, sn_type *from,
                             sn_type *at) {
  static const char what[] = "takeAlongAxis";
  sn_env *env = &x->ctx->env;
  SN_TRY(sn_same_context(x, indices, what));
  SN_FAIL_IF(env, sn_dtype_wide(indices->type.dtype) != SN_I32, SN_ERR_DTYPE, what,
             "indices must be int32, not %s", sn_dtype_name(indices->type.dtype));
  *from = x->type;
  *at = indices->type;
  bool fits = from->rank == at->rank;
  for (int d = 0; fits && d < from->rank; d++) {
    int64_t *n = &from->dims[d], *m = &at->dims[d];
    if (d == axis) continue;
    fits = *n == *m || *n == 1 || *m == 1;
    *n = *m = *n == 1 ? *m : *n;
  }
  const bool nothing = fits && from->dims[axis] == 0 && sn_type_size(at);
  SN_FAIL_IF(env, !fits || nothing, SN_ERR_SHAPE, what, "%s axis %d: a %*p, indices %*p",
             fits ? "no elements along" : "indices do not broadcast outside of", axis, x->type.rank,
             x->type.dims, indices->type.rank, indices->type.dims);
  return SN_OK;
}

sn_tensor *sn_take_along_axis(sn_tensor *x, sn_tensor *indices, int axis) {
  if (!x || !indices) return NULL;
  sn_type from, at;
  sn_status status = sn_resolve_axis(x, "takeAlongAxis", &axis);
  if (!status) status = check_along(x, indices, axis, &from, &at);
  if (status) return sn_refuse(x->ctx, status);
  const int64_t attr = axis;
  temporaries t = sn_begin(x, "takeAlongAxis");
  sn_tensor *numbers = sn_note(sn_as_dims(sn_note(sn_as_dtype(indices, SN_I32)), &at));
  sn_tensor *elements = sn_note(sn_as_dims(x, &from));
  return sn_finish(&t,
                   sn_note(along(SN_OP_gather, (sn_tensor *[]){elements, numbers}, 2, &attr, 1)));
}

static bool broadcasts(const sn_type *from, const sn_type *to) {
  bool fits = from->rank <= to->rank;
  for (int i = 1; fits && i <= from->rank; i++) {
    const int64_t dim = from->dims[from->rank - i];
    fits = dim == 1 || dim == to->dims[to->rank - i];
  }
  return fits;
}

static sn_status check_updates(const sn_tensor *x, const sn_tensor *updates, const char *what,
                               const places *p) {
  sn_env *env = &x->ctx->env;
  SN_TRY(sn_same_context(x, updates, what));
  SN_FAIL_IF(env, sn_promote(x, updates) != x->type.dtype, SN_ERR_DTYPE, what,
             "updates of %s do not fit into %s", sn_dtype_name(updates->type.dtype),
             sn_dtype_name(x->type.dtype));
  SN_FAIL_IF(env, !broadcasts(&updates->type, &p->seen), SN_ERR_SHAPE, what,
             "updates do not broadcast to what is indexed: a %*p, updates %*p", p->seen.rank,
             p->seen.dims, updates->type.rank, updates->type.dims);
  return SN_OK;
}

static sn_tensor *scatter(sn_op op, const char *what, sn_tensor *x, sn_tensor *indices,
                          sn_tensor *updates, int axis) {
  if (!x || !indices || !updates) return NULL;
  places p;
  sn_status status = find_places(x, indices, what, &axis, &p);
  if (!status) status = check_updates(x, updates, what, &p);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, what);
  const int64_t attr = axis;
  sn_tensor *full = spread_indices(indices, &p), *own = sn_note(sn_as_dtype(x, x->type.dtype));
  sn_tensor *shaped = sn_note(sn_as_dims(sn_note(sn_as_dtype(updates, x->type.dtype)), &p.seen));
  sn_tensor *flat = sn_note(sn_as_reshaped(shaped, &p.flat));
  return sn_finish(&t, sn_note(along(op, (sn_tensor *[]){own, full, flat}, 3, &attr, 1)));
}

sn_tensor *sn_scatter_add(sn_tensor *x, sn_tensor *indices, sn_tensor *updates, int axis) {
  return scatter(SN_OP_scatter_add, "scatterAdd", x, indices, updates, axis);
}

sn_tensor *sn_scatter(sn_tensor *x, sn_tensor *indices, sn_tensor *updates, int axis,
                      sn_scatter_mode mode) {
  static const sn_op ops[] = {
      [SN_SCATTER_SET] = SN_OP_scatter_set, [SN_SCATTER_ADD] = SN_OP_scatter_add,
      [SN_SCATTER_MUL] = SN_OP_scatter_mul, [SN_SCATTER_MIN] = SN_OP_scatter_min,
      [SN_SCATTER_MAX] = SN_OP_scatter_max, [SN_SCATTER_OR] = SN_OP_scatter_or};
  if (!x) return NULL;
  if ((unsigned)mode >= sizeof ops / sizeof *ops)
    return sn_refuse(x->ctx,
                     SN_FAIL(&x->ctx->env, SN_ERR_ARGUMENT, "scatter", "no mode %d", (int)mode));
  return scatter(ops[mode], "scatter", x, indices, updates, axis);
}

/* oneHot i = [c = i for c in 0 .. classes - 1] */
sn_tensor *sn_one_hot(sn_tensor *indices, int64_t classes, sn_dtype dtype) {
  if (!indices) return NULL;
  static const char what[] = "oneHot";
  sn_context *ctx = indices->ctx;
  sn_type type = indices->type, column = indices->type;
  if (sn_dtype_wide(type.dtype) != SN_I32)
    return sn_refuse(ctx, SN_FAIL(&ctx->env, SN_ERR_DTYPE, what, "indices must be int32, not %s",
                                  sn_dtype_name(type.dtype)));
  if (type.rank == SN_MAX_RANK)
    return sn_refuse(ctx, SN_FAIL(&ctx->env, SN_ERR_SHAPE, what,
                                  "the result has more than %d dimensions: indices %*p",
                                  SN_MAX_RANK, type.rank, type.dims));
  column.dims[column.rank++] = 1;
  type.dims[type.rank++] = classes;
  type.dtype = dtype;
  const sn_status status = sn_type_check(&ctx->env, &type, what);
  if (status) return sn_refuse(ctx, status);
  temporaries t = sn_begin(indices, what);
  sn_tensor *class_ = sn_note(sn_index_along(ctx, &type, type.rank - 1));
  sn_tensor *hit = sn_binary(SN_OP_equal, class_, sn_note(sn_as_reshaped(indices, &column)));
  return sn_finish(&t, sn_note(sn_as_dtype(hit, dtype)));
}

/* ---- order and running sums ------------------------------------------------------------------ */

static sn_tensor *sorted(sn_op op, sn_tensor *x, int axis, bool descending) {
  if (!x) return NULL;
  const sn_status status = sn_resolve_axis(x, sn_op_describe(op)->name, &axis);
  if (status) return sn_refuse(x->ctx, status);
  return sn_hand_out(along(op, &x, 1, (int64_t[]){axis, descending}, 2));
}

sn_tensor *sn_sort(sn_tensor *x, int axis, bool descending) {
  return sorted(SN_OP_sort, x, axis, descending);
}

sn_tensor *sn_argsort(sn_tensor *x, int axis, bool descending) {
  return sorted(SN_OP_argsort, x, axis, descending);
}

/* Sorts the flipped x in ascending order and takes the end: NaN then counts as largest, and of equal elements the first
 * one in x wins. */
sn_status sn_topk(sn_tensor *x, int64_t k, int axis, sn_tensor **values, sn_tensor **indices) {
  *values = *indices = NULL;
  if (!x) return SN_ERR_ARGUMENT;
  sn_status status = sn_resolve_axis(x, "topk", &axis);
  const int64_t n = status ? 0 : x->type.dims[axis];
  if (!status && (k < 0 || k > n))
    status = SN_FAIL(&x->ctx->env, SN_ERR_SHAPE, "topk", "no %lld elements along axis %d: a %*p",
                     (long long)k, axis, x->type.rank, x->type.dims);
  if (status) return sn_context_report(x->ctx, status);
  temporaries t = sn_begin(x, "topk");
  sn_tensor *upward = sn_argsort(sn_flip(x, 1u << axis), axis, false);
  sn_tensor *largest = sn_flip(sn_part(upward, axis, n - k, k), 1u << axis);
  sn_tensor *last = sn_number_like(largest, (double)(n - 1));
  sn_tensor *at = sn_binary(SN_OP_sub, last, largest);
  sn_tensor *results[] = {sn_take_along_axis(x, at, axis), at};
  status = sn_finish_all(&t, results, 2);
  *values = results[0];
  *indices = results[1];
  return status;
}

static sn_tensor *scanned(sn_op op, sn_tensor *x, int axis, bool reverse, bool exclusive) {
  temporaries t = sn_begin(x, sn_op_describe(op)->name);
  x = sn_note(sn_along(x, &axis));
  if (!x) return sn_finish(&t, NULL);
  const sn_status status = sn_resolve_axis(x, sn_op_describe(op)->name, &axis);
  if (status) return sn_finish(&t, sn_refuse(x->ctx, status));
  sn_tensor *numbers = sn_note(sn_as_dtype(x, x->type.dtype == SN_BOOL ? SN_I32 : x->type.dtype));
  return sn_finish(&t, sn_note(along(op, &numbers, 1, (int64_t[]){axis, reverse, exclusive}, 3)));
}

sn_tensor *sn_cumsum(sn_tensor *x, int axis, bool reverse, bool exclusive) {
  return scanned(SN_OP_cumsum, x, axis, reverse, exclusive);
}

sn_tensor *sn_cumprod(sn_tensor *x, int axis, bool reverse, bool exclusive) {
  return scanned(SN_OP_cumprod, x, axis, reverse, exclusive);
}
