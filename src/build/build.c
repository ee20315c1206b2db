#include "build/build.h"

sn_id sn_build_op(sn_build *b, sn_op op, const sn_id *inputs, size_t n_inputs, const int64_t *attrs,
                  size_t n_attrs, const sn_type *type) {
  sn_id id = SN_NONE;
  if (!b->status) b->status = b->maker->add(b, op, inputs, n_inputs, attrs, n_attrs, type, &id);
  return b->status ? SN_NONE : id;
}

sn_id sn_build_unary(sn_build *b, sn_op op, sn_id x) {
  return sn_build_op(b, op, &x, 1, NULL, 0, NULL);
}

sn_id sn_build_binary(sn_build *b, sn_op op, sn_id x, sn_id y) {
  return sn_build_op(b, op, (sn_id[]){x, y}, 2, NULL, 0, NULL);
}

sn_id sn_build_where(sn_build *b, sn_id condition, sn_id x, sn_id y) {
  return sn_build_op(b, SN_OP_where, (sn_id[]){condition, x, y}, 3, NULL, 0, NULL);
}

sn_id sn_build_full(sn_build *b, const sn_type *type, double value) {
  const sn_type scalar = sn_type_scalar(type->dtype);
  const int64_t bits = sn_double_attr(value);
  const sn_id id = sn_build_op(b, SN_OP_constant, NULL, 0, &bits, 1, &scalar);
  return type->rank ? sn_build_broadcast(b, id, type) : id;
}

sn_id sn_build_like(sn_build *b, sn_id x, double value) {
  if (b->status) return SN_NONE;
  const sn_type type = *sn_build_type(b, x);
  return sn_build_full(b, &type, value);
}

sn_id sn_build_cast(sn_build *b, sn_op op, sn_id x, sn_dtype dtype) {
  if (b->status || sn_build_type(b, x)->dtype == dtype) return b->status ? SN_NONE : x;
  const sn_type type = sn_type_scalar(dtype);
  return sn_build_op(b, op, &x, 1, NULL, 0, &type);
}

sn_id sn_build_reshape(sn_build *b, sn_id x, const sn_type *type) {
  if (b->status || sn_same_dims(sn_build_type(b, x), type)) return b->status ? SN_NONE : x;
  return sn_build_op(b, SN_OP_reshape, &x, 1, NULL, 0, type);
}

sn_id sn_build_broadcast(sn_build *b, sn_id x, const sn_type *type) {
  if (b->status || sn_same_dims(sn_build_type(b, x), type)) return b->status ? SN_NONE : x;
  return sn_build_op(b, SN_OP_broadcast, &x, 1, NULL, 0, type);
}

sn_id sn_build_transpose(sn_build *b, sn_id x, const int64_t *perm) {
  if (b->status) return SN_NONE;
  const sn_type type = *sn_build_type(b, x);
  return sn_build_op(b, SN_OP_transpose, &x, 1, perm, (size_t)type.rank, &type);
}

sn_id sn_build_reduce(sn_build *b, sn_op op, sn_id x, uint64_t axes) {
  if (b->status || !axes) return b->status ? SN_NONE : x;
  const int64_t mask = (int64_t)axes;
  return sn_build_op(b, op, &x, 1, &mask, 1, NULL);
}

sn_id sn_build_broadcast_back(sn_build *b, sn_id x, const sn_type *type, uint64_t axes) {
  if (b->status) return SN_NONE;
  sn_type kept = *type;
  for (int i = 0; i < type->rank; i++)
    if (axes >> i & 1) kept.dims[i] = 1;
  return sn_build_broadcast(b, sn_build_reshape(b, x, &kept), type);
}

sn_id sn_build_windows(sn_build *b, sn_id x, int axis, int64_t out, int64_t size, int64_t step,
                       int64_t dilation) {
  if (b->status) return SN_NONE;
  const sn_type from = *sn_build_type(b, x);
  sn_type type;
  sn_windows_type(&from, axis, out, size, &type);
  return sn_build_op(b, SN_OP_windows, &x, 1, (int64_t[]){axis, step, dilation}, 3, &type);
}

sn_id sn_build_part(sn_build *b, sn_op op, sn_id x, int64_t axis, int64_t at, int64_t step,
                    const sn_type *type) {
  int64_t attrs[SN_MAX_ATTRS] = {0}; /* the last one is a pad's value */
  const int rank = type->rank;
  for (int i = 0; i < rank; i++) attrs[rank + i] = 1;
  attrs[axis] = at;
  attrs[rank + axis] = step;
  return sn_build_op(b, op, &x, 1, attrs, 2 * (size_t)rank + (op == SN_OP_pad), type);
}

sn_id sn_build_interleave(sn_build *b, const sn_id *x, int64_t n, int axis, int64_t out) {
  if (b->status) return SN_NONE;
  sn_type type = *sn_build_type(b, *x), part = type, joined = type;
  memmove(part.dims + axis + 2, part.dims + axis + 1,
          sizeof *part.dims * (size_t)(part.rank - axis - 1));
  part.dims[axis + 1] = 1;
  part.rank++;
  joined.dims[axis] *= n;
  type.dims[axis] = out;
  sn_id *parts = NULL;
  b->status = sn_arena_alloc(b->arena, (size_t)n, sizeof *parts, (void **)&parts);
  if (b->status) return SN_NONE;
  for (int64_t i = 0; i < n; i++) parts[i] = sn_build_reshape(b, x[i], &part);
  sn_id y = sn_build_op(b, SN_OP_concat, parts, (size_t)n, (int64_t[]){axis + 1}, 1, NULL);
  y = sn_build_reshape(b, y, &joined);
  return joined.dims[axis] == out ? y : sn_build_part(b, SN_OP_slice, y, axis, 0, 1, &type);
}

sn_id sn_build_sum_pairs(sn_build *b, sn_id *x, int64_t n) {
  for (; n > 1; n = (n + 1) / 2)
    for (int64_t i = 0; i < n; i += 2)
      x[i / 2] = i + 1 < n ? sn_build_binary(b, SN_OP_add, x[i], x[i + 1]) : x[i];
  return x[0];
}

sn_id sn_build_sum_blocks(sn_build *b, sn_id x, int64_t axis) {
  if (b->status) return SN_NONE;
  sn_type type = *sn_build_type(b, x), part = type;
  const int64_t n = type.dims[axis];
  sn_id *blocks = NULL;
  part.dims[axis] = 1;
  type.rank--;
  for (int64_t i = axis; i < type.rank; i++) type.dims[i] = type.dims[i + 1];
  if (!n) return sn_build_full(b, &type, 0);
  b->status = sn_arena_alloc(b->arena, (size_t)n, sizeof *blocks, (void **)&blocks);
  for (int64_t i = 0; i < n && !b->status; i++)
    blocks[i] = sn_build_reshape(b, sn_build_part(b, SN_OP_slice, x, axis, i, 1, &part), &type);
  return b->status ? SN_NONE : sn_build_sum_pairs(b, blocks, n);
}

sn_id sn_build_matmul(sn_build *b, sn_id x, sn_id y) {
  return sn_build_op(b, SN_OP_matmul, (sn_id[]){x, y}, 2, NULL, 0, NULL);
}

sn_id sn_build_swap_last(sn_build *b, sn_id x) {
  if (b->status) return SN_NONE;
  const int rank = sn_build_type(b, x)->rank;
  int64_t perm[SN_MAX_RANK];
  for (int i = 0; i < rank; i++) perm[i] = i;
  perm[rank - 1] = rank - 2;
  perm[rank - 2] = rank - 1;
  return sn_build_transpose(b, x, perm);
}

sn_id sn_build_result(sn_build *b, sn_id node, size_t k, const sn_type *type) {
  const int64_t number = (int64_t)k;
  return sn_build_op(b, SN_OP_result, &node, 1, &number, 1, type);
}
