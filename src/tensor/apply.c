#include "tensor/apply.h"

#include <string.h>

#include "graph/convert.h"
#include "graph/reference.h"
#include "tensor/eval.h"

/* Automatic evaluation. A lazy chain of MAX_DEPTH ops is evaluated: a loop that never reads a value must
 * not grow it without end. A shorter chain is evaluated if more than MAX_WAITING_BYTES of new values may be
 * held by it; but not below MIN_WAITING_DEPTH, since that would cut what could become one kernel. */
#define MAX_DEPTH 2000
#define MAX_WAITING_BYTES ((size_t)64 << 20)
#define MIN_WAITING_DEPTH 64

static sn_tensor *fail(sn_context *ctx, sn_status status) {
  sn_context_report(ctx, status);
  return NULL;
}

sn_status sn_same_context(const sn_tensor *x, const sn_tensor *y, const char *what) {
  SN_FAIL_IF(
      &x->ctx->env, x->ctx != y->ctx, SN_ERR_ARGUMENT, what,
      "inputs of two contexts, or on two devices" SN_HINT
      "bring one over first: x.to('webgpu'), await x.to('cpu'), or jit(f, { device: 'webgpu' })");
  return SN_OK;
}

static bool has_much_waiting(const sn_tensor *t) {
  sn_context *ctx = t->ctx;
  const size_t live = ctx->storages.live_bytes;
  if (live < ctx->settled_bytes) ctx->settled_bytes = live;
  return t->depth >= MIN_WAITING_DEPTH && live - ctx->settled_bytes > MAX_WAITING_BYTES &&
         sn_type_bytes(&t->type) <= MAX_WAITING_BYTES;
}

/* Evaluates t if its chain is too long. Not if it is tracked, since it keeps its graph for sn_gradients anyway, or traced,
 * since it has no value. */
static sn_tensor *limit_depth(sn_tensor *t) {
  if (t->tracked || t->traced || (t->depth < MAX_DEPTH && !has_much_waiting(t))) return t;
  const sn_status status = sn_eval_tensors(t->ctx, &t, 1, NULL);
  if (!status) return t;
  sn_context *ctx = t->ctx;
  sn_release(t);
  return fail(ctx, status);
}

static sn_tensor *node_as_it_is(sn_context *ctx, sn_op op, sn_tensor *const *inputs,
                                size_t n_inputs, const int64_t *attrs, size_t n_attrs,
                                const sn_type *proposed) {
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

/* ---- small dtypes ---------------------------------------------------------------------------- */

/* The small dtype that an op cannot take, so that it needs casts around it; SN_F32: none. */
static sn_dtype small_of(sn_op op, sn_tensor *const *inputs, size_t n, const sn_type *proposed) {
  const sn_op_info *info = sn_op_describe(op);
  if (info->kind == SN_CLASS_LEAF && sn_dtype_is_small(proposed->dtype)) return proposed->dtype;
  for (size_t k = 0; k < n && info->kind != SN_CLASS_CAST; k++) {
    const sn_dtype dtype = inputs[k]->type.dtype;
    if (sn_dtype_is_small(dtype) && !sn_op_takes(op, dtype)) return dtype;
  }
  return SN_F32;
}

/* Whether an op that adds up many values gives float32 even for small floats: it does within a precision. */
static bool sums_wide(const sn_context *ctx, const sn_op_info *op) {
  const bool sums = op->kind == SN_CLASS_REDUCE || op->kind == SN_CLASS_RAGGED ||
                    op->kind == SN_CLASS_SCAN || op->kind == SN_CLASS_SOFTMAX;
  return ctx->precision && sums;
}

/* Whether the op's result for a small dtype is of that dtype again. */
static bool keeps_small(const sn_context *ctx, const sn_op_info *op, sn_dtype small) {
  if (sn_dtype_is_float(small)) return op->result != SN_RESULT_I32 && !sums_wide(ctx, op);
  return op->result != SN_RESULT_I32 && !op->widens;
}

/* The op on inputs in their wide dtypes, and its result cast back. */
static sn_tensor *through_wide(sn_context *ctx, sn_op op, sn_tensor *const *inputs, size_t n,
                               const int64_t *attrs, size_t n_attrs, const sn_type *proposed,
                               sn_dtype small) {
  sn_tensor *wide[SN_MAX_ARITY] = {NULL}, *y = NULL;
  sn_type type = proposed ? *proposed : sn_type_scalar(SN_F32);
  bool complete = true;
  for (size_t k = 0; k < n && complete; k++)
    complete = (wide[k] = sn_as_dtype(inputs[k], sn_dtype_wide(inputs[k]->type.dtype))) != NULL;
  type.dtype = op == SN_OP_constant ? SN_F32 : sn_dtype_wide(small);
  if (complete) y = node_as_it_is(ctx, op, wide, n, attrs, n_attrs, proposed ? &type : NULL);
  for (size_t k = 0; k < n; k++) sn_release(wide[k]);
  const bool back = y && y->type.dtype == type.dtype && keeps_small(ctx, sn_op_describe(op), small);
  return back ? sn_recast(y, small) : y;
}

static bool is_rounded_product(const sn_context *ctx, sn_op op, sn_tensor *const *inputs) {
  const sn_op_class kind = sn_op_describe(op)->kind;
  const bool product = kind == SN_CLASS_MATMUL || kind == SN_CLASS_CONV;
  return ctx->precision && product && inputs[0]->type.dtype == SN_F32;
}

/* A product of float32 within a precision: its operands and its result are rounded to that. */
static sn_tensor *rounded_product(sn_context *ctx, sn_op op, sn_tensor *const *inputs,
                                  const int64_t *attrs, size_t n_attrs, const sn_type *proposed) {
  const sn_dtype small = ctx->precision;
  sn_tensor *x = sn_as_dtype(inputs[0], small), *y = sn_as_dtype(inputs[1], small);
  sn_tensor *in[] = {x, y}, *product = NULL;
  if (x && y) product = through_wide(ctx, op, in, 2, attrs, n_attrs, proposed, small);
  sn_release(x);
  sn_release(y);
  return product;
}

sn_tensor *sn_node_of(sn_context *ctx, sn_op op, sn_tensor *const *inputs, size_t n_inputs,
                      const int64_t *attrs, size_t n_attrs, const sn_type *proposed) {
  if (is_rounded_product(ctx, op, inputs))
    return rounded_product(ctx, op, inputs, attrs, n_attrs, proposed);
  const sn_dtype small = small_of(op, inputs, n_inputs, proposed);
  if (small) return through_wide(ctx, op, inputs, n_inputs, attrs, n_attrs, proposed, small);
  return node_as_it_is(ctx, op, inputs, n_inputs, attrs, n_attrs, proposed);
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

bool sn_is_number(const sn_tensor *t) { return t->weak && t->op == SN_OP_constant; }

/* The common dtype of a bare number and a tensor: the tensor's dtype, unless that cannot hold the number. */
static sn_dtype meet_number(const sn_tensor *number, sn_dtype dtype) {
  const double value = sn_attr_double(number->attrs[0]);
  if (sn_dtype_is_float(dtype)) return dtype;
  if (dtype != SN_BOOL && value == sn_ref_convert(dtype, value)) return dtype;
  return value == (double)sn_i32_from_f64(value) ? SN_I32 : SN_F32;
}

sn_dtype sn_promote_dtypes(sn_dtype a, sn_dtype b) {
  const uint8_t first = sn_dtype_table[a].order, second = sn_dtype_table[b].order;
  if (a != b && first == second) return sn_dtype_wide(a);
  return first > second ? a : b;
}

sn_dtype sn_promote(const sn_tensor *a, const sn_tensor *b) {
  if (sn_is_number(a) != sn_is_number(b))
    return sn_is_number(a) ? meet_number(a, b->type.dtype) : meet_number(b, a->type.dtype);
  return sn_promote_dtypes(a->type.dtype, b->type.dtype);
}

sn_dtype sn_product_dtype(sn_dtype dtype) { return sn_dtype_is_float(dtype) ? dtype : SN_I32; }

sn_tensor *sn_number(sn_context *ctx, sn_dtype dtype, double value) {
  const sn_type type = sn_type_scalar(dtype);
  const int64_t bits = sn_double_attr(value);
  return sn_node_of(ctx, SN_OP_constant, NULL, 0, &bits, 1, &type);
}

/* maximum or minimum (op) of x and the limit. Releases x. */
static sn_tensor *limited(sn_tensor *x, sn_op op, double limit) {
  if (!x) return NULL;
  sn_tensor *in[] = {x, sn_number(x->ctx, x->type.dtype, limit)};
  sn_tensor *y = sn_elementwise(op, in, 2);
  for (int i = 0; i < 2; i++) sn_release(in[i]);
  return y;
}

/* A float as an integer of a small dtype, clamped to its range. */
static sn_tensor *as_small_integer(sn_tensor *x, sn_dtype dtype) {
  const sn_dtype_info *range = &sn_dtype_table[dtype];
  sn_tensor *y = limited(sn_as_dtype(x, SN_I32), SN_OP_maximum, range->least);
  return sn_recast(limited(y, SN_OP_minimum, range->most), dtype);
}

/* Whether one node can do this cast: a small dtype is cast only from and to its wide dtype. */
static bool is_one_cast(sn_dtype from, sn_dtype to) {
  if (sn_dtype_is_small(to)) return from == sn_dtype_wide(to);
  return !sn_dtype_is_small(from) || to == sn_dtype_wide(from);
}

sn_tensor *sn_as_dtype(sn_tensor *x, sn_dtype dtype) {
  if (!x) return NULL;
  sn_type type = x->type;
  const sn_dtype from = type.dtype, wide = sn_dtype_wide(from);
  if (from == dtype && !sn_is_number(x)) return sn_retain(x);
  if (!is_one_cast(from, dtype)) {
    if (wide == from && sn_dtype_is_float(from) && !sn_dtype_is_float(dtype))
      return as_small_integer(x, dtype);
    return sn_recast(sn_as_dtype(x, wide == from ? sn_dtype_wide(dtype) : wide), dtype);
  }
  type.dtype = dtype;
  const bool constant = x->state == SN_TENSOR_LAZY && x->op == SN_OP_constant;
  if (sn_is_number(x) || (constant && !sn_dtype_is_small(dtype))) {
    const double value =
        sn_attr_double(x->attrs[0]); /* that of a bare number has not been rounded yet */
    const int64_t bits = sn_double_attr(sn_is_number(x) ? value : sn_ref_convert(from, value));
    return sn_node_of(x->ctx, SN_OP_constant, NULL, 0, &bits, 1, &type);
  }
  return sn_node_of(x->ctx, SN_OP_astype, &x, 1, NULL, 0, &type);
}

sn_tensor *sn_recast(sn_tensor *x, sn_dtype dtype) {
  sn_tensor *y = sn_as_dtype(x, dtype);
  sn_release(x);
  return y;
}

static sn_dtype op_dtype(sn_op op, sn_dtype dtype) {
  const unsigned types = sn_op_describe(op)->types;
  if (sn_op_takes(op, sn_dtype_wide(dtype))) return dtype;
  if (types == SN_TYPES_B) return SN_BOOL;
  if (dtype == SN_BOOL && (types & SN_TYPES_I)) return SN_I32;
  return types & SN_TYPES_F ? SN_F32 : dtype; /* sn_infer then reports the error */
}

sn_tensor *sn_as_op_dtype(sn_op op, sn_tensor *x) {
  return x ? sn_as_dtype(x, op_dtype(op, x->type.dtype)) : NULL;
}

sn_status sn_common_dtype(sn_tensor *const *x, size_t n, const char *what, sn_dtype *out) {
  const sn_tensor *first = x[0]; /* becomes the first that is no bare number */
  for (size_t k = 0; k < n; k++) {
    SN_TRY(sn_same_context(x[0], x[k], what));
    if (sn_is_number(first)) first = x[k];
  }
  *out = first->type.dtype;
  for (size_t k = 0; k < n; k++)
    *out = sn_is_number(x[k]) && !sn_is_number(first) ? meet_number(x[k], *out)
                                                      : sn_promote_dtypes(*out, x[k]->type.dtype);
  return SN_OK;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

sn_status sn_type_of(sn_context *ctx, const char *what, sn_dtype dtype, int rank,
                     const int64_t *dims, sn_type *out) {
  *out = (sn_type){.dtype = dtype, .rank = rank};
  SN_FAIL_IF(&ctx->env, rank < 0 || rank > SN_MAX_RANK, SN_ERR_SHAPE, what,
             "rank %d is not in 0..%d", rank, SN_MAX_RANK);
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
  if (dtype == SN_BOOL && sn_op_describe(op)->on_bools) op = sn_op_describe(op)->on_bools;
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
