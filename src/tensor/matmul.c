/* matmul.c - products of tensors of any rank: vectors become matrices, and batches are broadcast. */
#include "tensor/compose.h"

static bool batches_fit(const sn_type *a, const sn_type *b) {
  for (int i = 3; i <= a->rank && i <= b->rank; i++) {
    const int64_t da = a->dims[a->rank - i], db = b->dims[b->rank - i];
    if (da != db && da != 1 && db != 1) return false;
  }
  return true;
}

static sn_status check_product(const sn_tensor *a, const sn_tensor *b) {
  sn_env *env = &a->ctx->env;
  const int ra = a->type.rank, rb = b->type.rank;
  const char *why = NULL;
  SN_TRY(sn_same_context(a, b, "matmul"));
  if (!ra || !rb)
    why = "needs at least one dimension";
  else if (a->type.dims[ra - 1] != b->type.dims[rb == 1 ? 0 : rb - 2])
    why = "inner dimensions differ";
  else if (!batches_fit(&a->type, &b->type))
    why = "batch dimensions do not broadcast";
  SN_FAIL_IF(env, why, SN_ERR_SHAPE, "matmul", "%s: a %*p, b %*p", why, a->type.rank, a->type.dims,
             b->type.rank, b->type.dims);
  return SN_OK;
}

/* The type of x in a product: a vector becomes a matrix with its elements along `axis`, a row (1) or a column (0). */
static sn_type as_matrices(const sn_type *x, sn_dtype dtype, int axis) {
  sn_type type = *x;
  type.dtype = dtype;
  if (x->rank > 1) return type;
  type.rank = 2;
  type.dims[axis] = x->dims[0];
  type.dims[1 - axis] = 1;
  return type;
}

static sn_type matrices(const sn_type *batch, int64_t rows, int64_t columns) {
  sn_type type = *batch;
  type.dims[type.rank++] = rows;
  type.dims[type.rank++] = columns;
  return type;
}

sn_tensor *sn_matmul(sn_tensor *a, sn_tensor *b) {
  if (!a || !b) return NULL;
  sn_status status = check_product(a, b);
  if (status) return sn_refuse(a->ctx, status);
  const sn_dtype dtype = sn_product_dtype(sn_promote(a, b));
  sn_type left = as_matrices(&a->type, dtype, 1), right = as_matrices(&b->type, dtype, 0);
  sn_type batch_a = left, batch_b = right, batch = left;
  batch_a.rank -= 2;
  batch_b.rank -= 2;
  status = sn_broadcast_dims(&a->ctx->env, "matmul", &batch_a, &batch_b, &batch);
  if (status) return sn_refuse(a->ctx, status);
  const int64_t m = left.dims[batch_a.rank], k = left.dims[batch_a.rank + 1];
  const int64_t n = right.dims[batch_b.rank + 1];
  sn_type to_left = matrices(&batch, m, k), to_right = matrices(&batch, k, n), seen = batch;
  if (a->type.rank > 1) seen.dims[seen.rank++] = m;
  if (b->type.rank > 1) seen.dims[seen.rank++] = n;
  if (batch_a.rank && !batch_b.rank) { /* a batch times one matrix is one product of all rows */
    left = to_left = (sn_type){dtype, 2, {m * sn_type_size(&batch), k}};
    to_right = right;
  }
  temporaries t = sn_begin(a, "matmul");
  sn_tensor *x = sn_note(sn_as_dtype(a, dtype)), *y = sn_note(sn_as_dtype(b, dtype));
  x = sn_note(sn_as_reshaped(x, &left));
  y = sn_note(sn_as_reshaped(y, &right));
  x = sn_note(sn_as_dims(x, &to_left));
  y = sn_note(sn_as_dims(y, &to_right));
  if (x && y)
    y = sn_note(sn_node_of(a->ctx, SN_OP_matmul, (sn_tensor *[]){x, y}, 2, NULL, 0, NULL));
  return sn_finish(&t, x ? sn_note(sn_as_reshaped(y, &seen)) : NULL);
}

/* dot x y: contracts the last axis of x with the last but one of y, or its only one; for a scalar it is x y */
sn_tensor *sn_dot(sn_tensor *x, sn_tensor *y) {
  if (!x || !y) return NULL;
  const sn_status status = sn_same_context(x, y, "dot");
  if (status) return sn_refuse(x->ctx, status);
  const int m = x->type.rank, n = y->type.rank;
  if (!m || !n) return sn_mul(x, y);
  if (n <= 2) return sn_matmul(x, y);
  sn_type matrix = {y->type.dtype, 2, {y->type.dims[n - 2], 1}}, type = x->type;
  type.rank = m - 1;
  if (m + n - 2 > SN_MAX_RANK)
    return sn_refuse(x->ctx,
                     SN_FAIL(&x->ctx->env, SN_ERR_SHAPE, "dot",
                             "the result has more than %d dimensions: a %*p, b %*p", SN_MAX_RANK,
                             x->type.rank, x->type.dims, y->type.rank, y->type.dims));
  for (int i = 0; i < n; i++) {
    if (i == n - 2) continue;
    matrix.dims[1] *= y->type.dims[i];
    type.dims[type.rank++] = y->type.dims[i];
  }
  temporaries t = sn_begin(x, "dot");
  sn_tensor *columns = sn_moveaxis(y, -2, 0);
  sn_tensor *product = sn_matmul(x, sn_note(sn_as_reshaped(columns, &matrix)));
  return sn_finish(&t, product ? sn_reshape(product, type.rank, type.dims) : NULL);
}

/* outer x y = (x_i y_j), elements counted in row-major order */
sn_tensor *sn_outer(sn_tensor *x, sn_tensor *y) {
  if (!x || !y) return NULL;
  const sn_status status = sn_same_context(x, y, "outer");
  if (status) return sn_refuse(x->ctx, status);
  const sn_type column = {x->type.dtype, 2, {sn_type_size(&x->type), 1}};
  const sn_type row = {y->type.dtype, 2, {1, sn_type_size(&y->type)}};
  temporaries t = sn_begin(x, "outer");
  sn_tensor *a = sn_note(sn_as_reshaped(x, &column)), *b = sn_note(sn_as_reshaped(y, &row));
  return sn_finish(&t, sn_binary(SN_OP_mul, a, b));
}
