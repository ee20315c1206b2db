#include "tensor/apply.h"

#include <string.h>

#include "graph/convert.h"
#include "graph/reference.h"
#include "tensor/eval.h"

/* A lazy chain of this many ops is evaluated by itself: a loop that never reads must not grow
 * without end. So is a shorter one, once this many bytes of new values may be waiting for it; not
 * before the given depth, as a piece of what will be one kernel would then be computed apart. */
#define MAX_DEPTH 2000
#define MAX_WAITING_BYTES ((size_t)64 << 20)
#define MIN_WAITING_DEPTH 64

static sn_tensor *fail(sn_context *ctx, sn_status status) {
  sn_context_report(ctx, status);
  return NULL;
}

sn_status sn_same_context(const sn_tensor *x, const sn_tensor *y, const char *what) {
  SN_FAIL_IF(&x->ctx->env, x->ctx != y->ctx, SN_ERR_ARGUMENT, "%s: inputs of two contexts", what);
  return SN_OK;
}

static bool has_much_waiting(const sn_tensor *t) {
  sn_context *ctx = t->ctx;
  const size_t live = ctx->storages.live_bytes;
  if (live < ctx->settled_bytes) ctx->settled_bytes = live;
  return t->depth >= MIN_WAITING_DEPTH && live - ctx->settled_bytes > MAX_WAITING_BYTES &&
         sn_type_bytes(&t->type) <= MAX_WAITING_BYTES;
}

/* Tracked tensors keep their graph for sn_gradients, and traced ones have no value to compute. */
static sn_tensor *limit_depth(sn_tensor *t) {
  if (t->tracked || t->traced || (t->depth < MAX_DEPTH && !has_much_waiting(t))) return t;
  const sn_status status = sn_eval_tensors(t->ctx, &t, 1, NULL);
  if (!status) return t;
  sn_context *ctx = t->ctx;
  sn_release(t);
  return fail(ctx, status);
}

sn_tensor *sn_node_of(sn_context *ctx, sn_op op, sn_tensor *const *inputs, size_t n_inputs,
                      const int64_t *attrs, size_t n_attrs, const sn_type *proposed) {
  const sn_type *few[SN_MAX_ARITY], **in = few;
  sn_type type = proposed ? *proposed : sn_type_scalar(SN_F32);
  sn_arena arena;
  sn_arena_init(&arena, &ctx->env);
  sn_status status = SN_OK;
  if (n_inputs > SN_MAX_ARITY) status = sn_arena_alloc(&arena, n_inputs, sizeof *in, (void **)&in);
  for (size_t k = 0; k < n_inputs && !status; k++) in[k] = &inputs[k]->type;
  if (!status) status = sn_infer(&ctx->env, op, in, n_inputs, attrs, n_attrs, &type);
  sn_tensor *t = NULL;
  if (!status) status = sn_tensor_new(ctx, op, inputs, n_inputs, attrs, n_attrs, &type, &t);
  sn_arena_free(&arena);
  return status ? fail(ctx, status) : limit_depth(t);
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static bool is_integral(const sn_tensor *number) {
  const double value = sn_attr_double(number->attrs[0]);
  return value == (double)sn_i32_from_f64(value);
}

static bool is_weak(const sn_tensor *t) { return t->weak && t->op == SN_OP_constant; }

/* A bare number meeting a tensor: the tensor's dtype, unless that cannot hold the number. */
static sn_dtype meet_number(const sn_tensor *number, sn_dtype dtype) {
  if (sn_dtype_is_float(dtype)) return dtype;
  return is_integral(number) ? SN_I32 : SN_F32;
}

sn_dtype sn_promote(const sn_tensor *a, const sn_tensor *b) {
  static const int order[] = {[SN_BOOL] = 0, [SN_I32] = 1, [SN_F32] = 2, [SN_F64] = 3};
  if (is_weak(a) != is_weak(b))
    return is_weak(a) ? meet_number(a, b->type.dtype) : meet_number(b, a->type.dtype);
  return order[a->type.dtype] > order[b->type.dtype] ? a->type.dtype : b->type.dtype;
}

sn_tensor *sn_as_dtype(sn_tensor *x, sn_dtype dtype) {
  if (!x) return NULL;
  sn_type type = x->type;
  if (type.dtype == dtype && !is_weak(x)) return sn_retain(x);
  type.dtype = dtype;
  if (is_weak(x) || (x->state == SN_TENSOR_LAZY && x->op == SN_OP_constant)) {
    const double value = sn_attr_double(x->attrs[0]); /* a weak one is not float32 yet */
    const int64_t bits = sn_double_attr(is_weak(x) ? value : sn_ref_convert(x->type.dtype, value));
    return sn_node_of(x->ctx, SN_OP_constant, NULL, 0, &bits, 1, &type);
  }
  return sn_node_of(x->ctx, SN_OP_astype, &x, 1, NULL, 0, &type);
}

static sn_dtype op_dtype(sn_op op, sn_dtype dtype) {
  const uint8_t types = sn_op_describe(op)->types;
  if (types >> dtype & 1) return dtype;
  if (types == SN_TYPES_B) return SN_BOOL;
  if (dtype == SN_BOOL && (types & SN_TYPES_I)) return SN_I32;
  return types & SN_TYPES_F ? SN_F32 : dtype; /* else sn_infer says what is wrong */
}

sn_tensor *sn_as_op_dtype(sn_op op, sn_tensor *x) {
  return x ? sn_as_dtype(x, op_dtype(op, x->type.dtype)) : NULL;
}

sn_status sn_common_dtype(sn_tensor *const *x, size_t n, const char *what, sn_dtype *out) {
  size_t best = 0;
  for (size_t k = 0; k < n; k++) {
    SN_TRY(sn_same_context(x[0], x[k], what));
    *out = sn_promote(x[best], x[k]);
    if (*out == x[k]->type.dtype) best = k;
  }
  return SN_OK;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

sn_status sn_type_of(sn_context *ctx, const char *what, sn_dtype dtype, int rank,
                     const int64_t *dims, sn_type *out) {
  *out = (sn_type){.dtype = dtype, .rank = rank};
  SN_FAIL_IF(&ctx->env, rank < 0 || rank > SN_MAX_RANK, SN_ERR_SHAPE, "%s: rank %d is not in 0..%d",
             what, rank, SN_MAX_RANK);
  if (rank) memcpy(out->dims, dims, (size_t)rank * sizeof *dims);
  return SN_OK;
}

sn_tensor *sn_as_dims(sn_tensor *x, const sn_type *type) {
  if (!x) return NULL;
  if (sn_same_dims(&x->type, type)) return sn_retain(x);
  return sn_node_of(x->ctx, SN_OP_broadcast, &x, 1, NULL, 0, type);
}

sn_tensor *sn_as_reshaped(sn_tensor *x, const sn_type *type) {
  if (!x) return NULL;
  if (sn_same_dims(&x->type, type)) return sn_retain(x);
  return sn_node_of(x->ctx, SN_OP_reshape, &x, 1, NULL, 0, type);
}

/* ---- elementwise ----------------------------------------------------------------------------- */

static sn_status common_dims(sn_op op, sn_tensor *const *x, size_t n, sn_type *out) {
  const char *name = sn_op_describe(op)->name;
  *out = x[0]->type;
  for (size_t k = 1; k < n; k++) {
    const sn_type a = *out;
    SN_TRY(sn_same_context(x[0], x[k], name));
    SN_TRY(sn_broadcast_dims(&x[0]->ctx->env, name, &a, &x[k]->type, out));
  }
  return SN_OK;
}

sn_tensor *sn_elementwise(sn_op op, sn_tensor *const *x, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (!x[k]) return NULL;
  sn_context *ctx = x[0]->ctx;
  sn_type dims;
  const sn_status status = common_dims(op, x, n, &dims);
  if (status) return fail(ctx, status);
  const bool select = sn_op_describe(op)->kind == SN_CLASS_SELECT;
  const size_t first = select ? 1 : 0;
  sn_dtype dtype = n - first > 1 ? sn_promote(x[first], x[first + 1]) : x[first]->type.dtype;
  dtype = op_dtype(op, dtype);
  sn_tensor *ready[SN_MAX_ARITY] = {NULL};
  bool complete = true;
  for (size_t k = 0; k < n && complete; k++) {
    sn_tensor *cast = sn_as_dtype(x[k], k < first ? SN_BOOL : dtype);
    ready[k] = sn_as_dims(cast, &dims);
    sn_release(cast);
    complete = ready[k] != NULL;
  }
  sn_tensor *y = complete ? sn_node_of(ctx, op, ready, n, NULL, 0, NULL) : NULL;
  for (size_t k = 0; k < n; k++) sn_release(ready[k]);
  return y;
}
