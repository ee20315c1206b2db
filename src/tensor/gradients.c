/* gradients.c - cotangents of tensors, as more lazy tensors. */
#include "autodiff/vjp.h"
#include "tensor/apply.h"
#include "tensor/build_tensors.h"

typedef struct request {
  sn_context *ctx;
  sn_tensor *const *outputs;
  size_t n_outputs;
  sn_tensor *const *cotangents; /* NULL: the outputs are scalars, their cotangents one */
  sn_tensor *const *wrt;
  size_t n_wrt;
  const char *name; /* of the function that was called */
} request;

/* A scalar stands for its derivative: its cotangent is one. */
static sn_status check_scalar(const request *r, const sn_type *y) {
  char text[SN_SHAPE_TEXT];
  SN_FAIL_IF(&r->ctx->env, sn_type_size(y) != 1, SN_ERR_SHAPE, "%s: needs a scalar, not shape %s",
             r->name, sn_shape_text(y, text));
  SN_FAIL_IF(&r->ctx->env, !sn_dtype_is_float(y->dtype), SN_ERR_DTYPE, "%s: needs a float, not %s",
             r->name, sn_dtype_name(y->dtype));
  return SN_OK;
}

static sn_status check_cotangent(const request *r, size_t k) {
  const sn_type *y = &r->outputs[k]->type, *dy = &r->cotangents[k]->type;
  char is[SN_SHAPE_TEXT], want[SN_SHAPE_TEXT];
  SN_FAIL_IF(&r->ctx->env, !sn_dtype_is_float(y->dtype), SN_ERR_DTYPE,
             "%s: output %zu is %s; only floats have gradients", r->name, k,
             sn_dtype_name(y->dtype));
  SN_FAIL_IF(&r->ctx->env, !sn_same_dims(y, dy), SN_ERR_SHAPE,
             "%s: cotangent %zu has shape %s, its output %s", r->name, k, sn_shape_text(dy, is),
             sn_shape_text(y, want));
  SN_FAIL_IF(&r->ctx->env, y->dtype != dy->dtype && !sn_is_number(r->cotangents[k]), SN_ERR_DTYPE,
             "%s: cotangent %zu is %s, its output %s", r->name, k, sn_dtype_name(dy->dtype),
             sn_dtype_name(y->dtype));
  return SN_OK;
}

static sn_status check(const request *r) {
  for (size_t k = 0; k < r->n_outputs; k++)
    SN_TRY(r->cotangents ? check_cotangent(r, k) : check_scalar(r, &r->outputs[k]->type));
  for (size_t i = 0; i < r->n_wrt; i++)
    SN_FAIL_IF(&r->ctx->env, !sn_dtype_is_float(r->wrt[i]->type.dtype), SN_ERR_DTYPE,
               "%s: argument %zu is %s; only floats have gradients", r->name, i,
               sn_dtype_name(r->wrt[i]->type.dtype));
  return SN_OK;
}

/* The number of output k's cotangent, in the wide dtype. */
static sn_status cotangent_of(const request *r, sn_tensor_build *tb, size_t k, sn_id *out) {
  sn_type type = r->outputs[k]->type;
  type.dtype = sn_dtype_wide(type.dtype);
  if (!r->cotangents) {
    *out = sn_build_full(&tb->b, &type, 1);
  } else if (sn_is_number(r->cotangents[k])) {
    *out = sn_build_full(&tb->b, &type, sn_attr_double(r->cotangents[k]->attrs[0]));
  } else {
    *out = r->cotangents[k]->id;
    *out = sn_build_cast(&tb->b, SN_OP_astype, *out, type.dtype);
  }
  return tb->b.status;
}

/* A cotangent that is a tensor of before, or another one's too, is handed out as a node of its own. */
static sn_status hand_out(const request *r, const sn_tensor_build *tb, const sn_id *dx,
                          sn_tensor **out) {
  for (size_t i = 0; i < r->n_wrt; i++) {
    sn_tensor *x = tb->tensors[dx[i]];
    const sn_status status =
        sn_tensor_new(r->ctx, SN_OP_marker, &x, 1, NULL, 0, &x->type, &out[i]);
    if (!status) continue;
    while (i--) sn_release(out[i]);
    return status;
  }
  return SN_OK;
}

static sn_status build(const request *r, sn_tensor_build *tb, sn_tensor **out) {
  sn_arena *arena = tb->b.arena;
  sn_id *y, *dy, *x, *dx;
  SN_TRY(sn_arena_alloc(arena, r->n_outputs, sizeof *y, (void **)&y));
  SN_TRY(sn_arena_alloc(arena, r->n_outputs, sizeof *dy, (void **)&dy));
  SN_TRY(sn_arena_alloc(arena, r->n_wrt, sizeof *x, (void **)&x));
  SN_TRY(sn_arena_alloc(arena, r->n_wrt, sizeof *dx, (void **)&dx));
  for (size_t k = 0; k < r->n_outputs && r->cotangents; k++)
    SN_TRY(sn_tensor_build_leaf(tb, r->cotangents[k]));
  for (size_t k = 0; k < r->n_outputs; k++) {
    y[k] = r->outputs[k]->id;
    SN_TRY(cotangent_of(r, tb, k, &dy[k]));
  }
  for (size_t i = 0; i < r->n_wrt; i++) x[i] = r->wrt[i]->id;
  SN_TRY(sn_vjp_nodes(&tb->b, y, dy, r->n_outputs, x, r->n_wrt, dx));
  return hand_out(r, tb, dx, out);
}

static sn_status differentiate(const request *r, sn_tensor **out) {
  sn_context *ctx = r->ctx;
  SN_TRY(check(r));
  SN_TRY(sn_scope_reserve(ctx, r->n_wrt));
  sn_arena arena;
  sn_arena_init(&arena, &ctx->env);
  sn_tensor_build tb;
  sn_status status =
      sn_tensor_build_begin(&tb, ctx, &arena, r->wrt, r->n_wrt, r->outputs, r->n_outputs);
  if (!status) status = build(r, &tb, out);
  sn_tensor_build_end(&tb);
  sn_arena_free(&arena);
  for (size_t i = 0; i < r->n_wrt && !status; i++) out[i] = sn_hand_out(out[i]);
  return status;
}

sn_tensor *sn_variable(sn_tensor *x) {
  sn_tensor *t = x ? sn_node_of(x->ctx, SN_OP_marker, &x, 1, NULL, 0, NULL) : NULL;
  if (t) t->tracked = true;
  return sn_hand_out(t);
}

sn_status sn_vjp(sn_context *ctx, sn_tensor *const *outputs, size_t n_outputs,
                 sn_tensor *const *cotangents, sn_tensor *const *wrt, size_t n_wrt,
                 sn_tensor **grads) {
  SN_TRY(sn_context_accept(ctx, outputs, n_outputs, "vjp: output"));
  SN_TRY(sn_context_accept(ctx, cotangents, n_outputs, "vjp: cotangent"));
  SN_TRY(sn_context_accept(ctx, wrt, n_wrt, "vjp: argument"));
  const request r = {ctx, outputs, n_outputs, cotangents, wrt, n_wrt, "vjp"};
  return sn_context_report(ctx, differentiate(&r, grads));
}

sn_status sn_gradients(sn_tensor *y, sn_tensor *const *wrt, size_t count, sn_tensor **out) {
  if (!y) return count && wrt[0] ? sn_context_missing(wrt[0]->ctx) : SN_ERR_ARGUMENT;
  SN_TRY(sn_context_accept(y->ctx, wrt, count, "grad: argument"));
  const request r = {y->ctx, &y, 1, NULL, wrt, count, "grad"};
  return sn_context_report(y->ctx, differentiate(&r, out));
}
