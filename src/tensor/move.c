/* move.c - the public functions that only move or convert elements: they check arguments and bring
 * them into canonical form. */
#include <string.h>

#include "base/size.h"
#include "tensor/compose.h"

#define REFUSE(ctx, status, ...) sn_refuse((ctx), SN_FAIL(&(ctx)->env, (status), __VA_ARGS__))

sn_tensor *sn_astype(sn_tensor *x, sn_dtype dtype) {
  if (x && !sn_dtype_is_known(dtype))
    return REFUSE(x->ctx, SN_ERR_DTYPE, "astype", "unknown dtype %d", (int)dtype);
  return sn_hand_out(sn_as_dtype(x, dtype));
}

sn_tensor *sn_bitcast(sn_tensor *x, sn_dtype dtype) {
  if (!x) return NULL;
  const sn_type type = {.dtype = dtype};
  return sn_hand_out(sn_node_of(x->ctx, SN_OP_bitcast, &x, 1, NULL, 0, &type));
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static sn_status infer_dim(sn_context *ctx, const sn_type *from, sn_type *to) {
  int unknown = -1;
  int64_t known = 1;
  for (int i = 0; i < to->rank; i++) {
    if (to->dims[i] != -1) {
      SN_FAIL_IF(&ctx->env, sn_int_mul_overflows(known, to->dims[i], &known), SN_ERR_MEMORY,
                 "reshape", "shape is too large");
      continue;
    }
    SN_FAIL_IF(&ctx->env, unknown >= 0, SN_ERR_SHAPE, "reshape", "more than one -1 in %*p",
               to->rank, to->dims);
    unknown = i;
  }
  if (unknown < 0) return SN_OK;
  const int64_t size = sn_type_size(from);
  SN_FAIL_IF(&ctx->env, known <= 0 || size % known, SN_ERR_SHAPE, "reshape",
             "cannot infer -1: a %*p, b %*p", from->rank, from->dims, to->rank, to->dims);
  to->dims[unknown] = size / known;
  return SN_OK;
}

/* Reshapes a value in memory without a node: the new tensor shares its storage. */
static sn_tensor *share_value(sn_tensor *x, const sn_type *type) {
  sn_tensor *y;
  sn_storage_retain(x->storage);
  const sn_status status = sn_tensor_from_storage(x->ctx, type, x->storage, &y);
  if (status) {
    sn_storage_release(&x->ctx->storages, x->storage);
    return sn_refuse(x->ctx, status);
  }
  y->ticket = x->ticket;
  return y;
}

sn_tensor *sn_reshape(sn_tensor *x, int rank, const int64_t *dims) {
  if (!x) return NULL;
  sn_type type;
  sn_status status = sn_type_of(x->ctx, "reshape", x->type.dtype, rank, dims, &type);
  if (!status) status = infer_dim(x->ctx, &x->type, &type);
  if (!status) status = sn_type_check(&x->ctx->env, &type, "reshape");
  if (status) return sn_refuse(x->ctx, status);
  if (x->state == SN_TENSOR_VALUE && !x->tracked && sn_type_size(&type) == sn_type_size(&x->type))
    return sn_hand_out(share_value(x, &type));
  return sn_hand_out(sn_as_reshaped(x, &type));
}

sn_tensor *sn_transpose(sn_tensor *x, const int *perm) {
  if (!x) return NULL;
  int64_t attrs[SN_MAX_RANK];
  const int rank = x->type.rank;
  for (int i = 0; i < rank; i++)
    attrs[i] = !perm ? rank - 1 - i : perm[i] < 0 ? perm[i] + rank : perm[i];
  return sn_hand_out(sn_node_of(x->ctx, SN_OP_transpose, &x, 1, attrs, (size_t)rank, &x->type));
}

sn_tensor *sn_broadcast_to(sn_tensor *x, int rank, const int64_t *dims) {
  if (!x) return NULL;
  sn_type type;
  const sn_status status = sn_type_of(x->ctx, "broadcastTo", x->type.dtype, rank, dims, &type);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, "broadcastTo");
  return sn_finish(&t, sn_note(sn_as_dims(x, &type)));
}

sn_tensor *sn_slice(sn_tensor *x, const int64_t *begin, const int64_t *size,
                    const int64_t *strides) {
  if (!x) return NULL;
  const int rank = x->type.rank;
  int64_t attrs[2 * SN_MAX_RANK];
  sn_type type = x->type;
  for (int i = 0; i < rank; i++) {
    const int64_t stride = strides ? strides[i] : 1;
    attrs[i] = size[i] ? begin[i] : 0; /* attributes that no element depends on get one normal form */
    attrs[rank + i] = stride && (size[i] == 0 || size[i] == 1) ? 1 : stride;
    type.dims[i] = size[i];
  }
  return sn_hand_out(sn_node_of(x->ctx, SN_OP_slice, &x, 1, attrs, 2 * (size_t)rank, &type));
}

sn_tensor *sn_concat(sn_tensor *const *inputs, size_t count, int axis) {
  for (size_t i = 0; i < count; i++)
    if (!inputs[i]) return NULL;
  if (!count) return NULL;
  sn_context *ctx = inputs[0]->ctx;
  sn_dtype dtype;
  sn_tensor **cast = NULL;
  sn_status status = sn_resolve_axis(inputs[0], "concat", &axis);
  if (!status) status = sn_common_dtype(inputs, count, "concat", &dtype);
  if (!status) status = sn_alloc_zeroed(&ctx->env, count, sizeof *cast, (void **)&cast);
  if (status) return sn_refuse(ctx, status);
  bool complete = true;
  for (size_t i = 0; i < count && complete; i++)
    complete = (cast[i] = sn_as_dtype(inputs[i], sn_dtype_wide(dtype))) != NULL;
  sn_tensor *y =
      complete ? sn_node_of(ctx, SN_OP_concat, cast, count, (int64_t[]){axis}, 1, NULL) : NULL;
  for (size_t i = 0; i < count; i++) sn_release(cast[i]);
  sn_free(&ctx->env, cast, count * sizeof *cast);
  return sn_hand_out(sn_recast(y, dtype));
}
