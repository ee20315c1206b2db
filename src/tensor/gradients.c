/* gradients.c - vjp, jvp and grad of lazy tensors: cotangents and tangents as more lazy tensors. */
#include "autodiff/jvp.h"
#include "autodiff/vjp.h"
#include "tensor/apply.h"
#include "tensor/build_tensors.h"

typedef struct request {
  sn_context *ctx;
  sn_tensor *const *outputs;
  size_t n_outputs;
  sn_tensor *const *wrt;
  size_t n_wrt;
  /* forward: tangents of wrt, an element is NULL for zero; else cotangents of the outputs, or NULL: then the outputs are
   * scalars with cotangent 1 */
  sn_tensor *const *given;
  bool forward;
  const char *name; /* the public function's name */
} request;

/* Without given cotangents the output must be one float, whose cotangent is 1. */
static sn_status check_scalar(const request *r, const sn_type *y) {
  SN_FAIL_IF(&r->ctx->env, sn_type_size(y) != 1, SN_ERR_SHAPE, r->name,
             "needs a scalar, not shape %*p", y->rank, y->dims);
  SN_FAIL_IF(&r->ctx->env, !sn_dtype_is_float(y->dtype), SN_ERR_DTYPE, r->name,
             "needs a float, not %s", sn_dtype_name(y->dtype));
  return SN_OK;
}

static sn_status check_float(const request *r, const char *what, size_t k, const sn_type *x) {
  SN_FAIL_IF(&r->ctx->env, !sn_dtype_is_float(x->dtype), SN_ERR_DTYPE, r->name,
             "%s %zu is %s; only floats have gradients", what, k, sn_dtype_name(x->dtype));
  return SN_OK;
}

/* Checks tangent or cotangent k against x, the tensor that it belongs to. */
static sn_status check_given(const request *r, size_t k, const sn_type *x) {
  const char *what = r->forward ? "tangent" : "cotangent", *of = r->forward ? "argument" : "output";
  const sn_type *dx = &r->given[k]->type;
  SN_FAIL_IF(&r->ctx->env, !sn_same_dims(x, dx), SN_ERR_SHAPE, r->name,
             "%s %zu has shape %*p, its %s %*p", what, k, dx->rank, dx->dims, of, x->rank, x->dims);
  SN_FAIL_IF(&r->ctx->env, x->dtype != dx->dtype && !sn_is_number(r->given[k]), SN_ERR_DTYPE,
             r->name, "%s %zu is %s, its %s %s", what, k, sn_dtype_name(dx->dtype), of,
             sn_dtype_name(x->dtype));
  return SN_OK;
}

static sn_status check(const request *r) {
  for (size_t k = 0; k < r->n_outputs; k++) {
    const sn_type *y = &r->outputs[k]->type;
    SN_TRY(r->given ? check_float(r, "output", k, y) : check_scalar(r, y));
    if (r->given && !r->forward) SN_TRY(check_given(r, k, y));
  }
  for (size_t i = 0; i < r->n_wrt; i++) {
    if (r->forward && !r->given[i]) continue;
    SN_TRY(check_float(r, "argument", i, &r->wrt[i]->type));
    if (r->forward) SN_TRY(check_given(r, i, &r->wrt[i]->type));
  }
  return SN_OK;
}

/* *out is the number of the tangent or cotangent of x, in the wide dtype of x; SN_NONE for a zero tangent. */
static sn_status given_for(const request *r, sn_tensor_build *tb, size_t k, const sn_tensor *x,
                           sn_id *out) {
  sn_type type = x->type;
  type.dtype = sn_dtype_wide(type.dtype);
  if (!r->given) {
    *out = sn_build_full(&tb->b, &type, 1);
  } else if (!r->given[k]) {
    *out = SN_NONE;
  } else if (sn_is_number(r->given[k])) {
    *out = sn_build_full(&tb->b, &type, sn_attr_double(r->given[k]->attrs[0]));
  } else {
    *out = sn_build_cast(&tb->b, SN_OP_astype, r->given[k]->id, type.dtype);
  }
  return tb->b.status;
}

static sn_status build(const request *r, sn_tensor_build *tb, sn_tensor **out) {
  sn_arena *arena = tb->b.arena;
  const size_t n_given = r->forward ? r->n_wrt : r->n_outputs;
  const size_t n_made = r->forward ? r->n_outputs : r->n_wrt;
  sn_tensor *const *of = r->forward ? r->wrt : r->outputs;
  sn_tensor *const *like = r->forward ? r->outputs : r->wrt;
  sn_id *y, *x, *given, *made;
  SN_TRY(sn_arena_alloc(arena, r->n_outputs, sizeof *y, (void **)&y));
  SN_TRY(sn_arena_alloc(arena, r->n_wrt, sizeof *x, (void **)&x));
  SN_TRY(sn_arena_alloc(arena, n_given, sizeof *given, (void **)&given));
  SN_TRY(sn_arena_alloc(arena, n_made, sizeof *made, (void **)&made));
  for (size_t k = 0; k < n_given && r->given; k++)
    if (r->given[k]) SN_TRY(sn_tensor_build_leaf(tb, r->given[k]));
  for (size_t k = 0; k < n_given; k++) SN_TRY(given_for(r, tb, k, of[k], &given[k]));
  for (size_t k = 0; k < r->n_outputs; k++) y[k] = r->outputs[k]->id;
  for (size_t i = 0; i < r->n_wrt; i++) x[i] = r->wrt[i]->id;
  if (r->forward)
    SN_TRY(sn_jvp_nodes(&tb->b, y, r->n_outputs, x, given, r->n_wrt, made));
  else
    SN_TRY(sn_vjp_nodes(&tb->b, y, given, r->n_outputs, x, r->n_wrt, made));
  for (size_t k = 0; k < n_made && !tb->b.status; k++)
    made[k] = sn_build_cast(&tb->b, SN_OP_astype, made[k], like[k]->type.dtype);
  SN_TRY(tb->b.status);
  return sn_tensor_build_results(tb, made, n_made, out);
}

static sn_status differentiate(const request *r, sn_tensor **out) {
  sn_context *ctx = r->ctx;
  const size_t n_made = r->forward ? r->n_outputs : r->n_wrt;
  SN_TRY(check(r));
  SN_TRY(sn_scope_reserve(ctx, n_made));
  sn_arena arena;
  sn_arena_init(&arena, &ctx->env);
  sn_tensor_build tb;
  sn_status status =
      sn_tensor_build_begin(&tb, ctx, &arena, r->wrt, r->n_wrt, r->outputs, r->n_outputs);
  if (!status) status = build(r, &tb, out);
  sn_tensor_build_end(&tb);
  sn_arena_free(&arena);
  for (size_t i = 0; i < n_made && !status; i++) out[i] = sn_hand_out(out[i]);
  return status;
}

sn_tensor *sn_variable(sn_tensor *x) {
  sn_tensor *t = x ? sn_node_of(x->ctx, SN_OP_marker, &x, 1, NULL, 0, NULL) : NULL;
  if (t) t->tracked = true;
  return sn_hand_out(t);
}

sn_tensor *sn_untracked(sn_tensor *x) {
  sn_tensor *t = x ? sn_node_of(x->ctx, SN_OP_marker, &x, 1, NULL, 0, NULL) : NULL;
  if (t) t->tracked = false;
  return sn_hand_out(t);
}

sn_status sn_vjp(sn_context *ctx, sn_tensor *const *outputs, size_t n_outputs,
                 sn_tensor *const *cotangents, sn_tensor *const *wrt, size_t n_wrt,
                 sn_tensor **grads) {
  SN_TRY(sn_context_check_tensors(ctx, outputs, n_outputs, "vjp: output"));
  SN_TRY(sn_context_check_tensors(ctx, cotangents, n_outputs, "vjp: cotangent"));
  SN_TRY(sn_context_check_tensors(ctx, wrt, n_wrt, "vjp: argument"));
  const request r = {ctx, outputs, n_outputs, wrt, n_wrt, cotangents, false, "vjp"};
  return sn_context_report(ctx, differentiate(&r, grads));
}

sn_status sn_jvp(sn_context *ctx, sn_tensor *const *outputs, size_t n_outputs,
                 sn_tensor *const *wrt, sn_tensor *const *tangents, size_t n_wrt, sn_tensor **out) {
  SN_TRY(sn_context_check_tensors(ctx, outputs, n_outputs, "jvp: output"));
  SN_TRY(sn_context_check_tensors(ctx, wrt, n_wrt, "jvp: argument"));
  for (size_t i = 0; i < n_wrt; i++)
    if (tangents[i]) SN_TRY(sn_context_check_tensors(ctx, &tangents[i], 1, "jvp: tangent"));
  const request r = {ctx, outputs, n_outputs, wrt, n_wrt, tangents, true, "jvp"};
  return sn_context_report(ctx, differentiate(&r, out));
}

sn_status sn_gradients(sn_tensor *y, sn_tensor *const *wrt, size_t count, sn_tensor **out) {
  if (!y) return count && wrt[0] ? sn_context_null_status(wrt[0]->ctx) : SN_ERR_ARGUMENT;
  SN_TRY(sn_context_check_tensors(y->ctx, wrt, count, "grad: argument"));
  const request r = {y->ctx, &y, 1, wrt, count, NULL, false, "grad"};
  return sn_context_report(y->ctx, differentiate(&r, out));
}
