#include "tensor/tensor.h"

#include <string.h>

#include "base/format.h"
#include "base/size.h"
#include "tensor/region.h"

/* The name of an op's public function: "logicalAnd" for "logical_and". */
static void camel_case(char *to, const char *name) {
  for (; *name; name++) *to++ = *name == '_' && name[1] ? (char)(*++name - 'a' + 'A') : *name;
  *to = 0;
}

/* Makes an error name the public function that was called: "max: no elements" becomes "argmax: no elements" within argmax. */
static void name_function(sn_error *error, const char *composed) {
  if (error->status == SN_ERR_INTERNAL || !error->op[0]) return;
  const sn_error given = *error;
  camel_case(error->op, composed ? composed : given.op);
  sn_format(error->message, sizeof error->message, "%s%s", error->op,
            given.message + strlen(given.op));
}

sn_status sn_context_report(sn_context *ctx, sn_status status) {
  if (!status || ctx->first_error.status) return status;
  ctx->first_error = ctx->env.error;
  name_function(&ctx->first_error, ctx->composed);
  if (status == SN_ERR_MEMORY) sn_hint_at_usage(ctx);
  return status;
}

sn_status sn_context_null_status(sn_context *ctx) {
  if (ctx->first_error.status) return ctx->first_error.status;
  return sn_context_report(ctx, SN_FAIL(&ctx->env, SN_ERR_ARGUMENT, NULL, "a tensor is NULL"));
}

sn_status sn_context_check_tensors(sn_context *ctx, sn_tensor *const *tensors, size_t n,
                                   const char *what) {
  for (size_t i = 0; i < n; i++) {
    if (!tensors[i]) return sn_context_null_status(ctx);
    if (tensors[i]->ctx != ctx)
      return sn_context_report(
          ctx, SN_FAIL(&ctx->env, SN_ERR_ARGUMENT, NULL,
                       "%s %zu is of another context, or on another device" SN_HINT
                       "bring it here first: await x.to('cpu'), or jit(f, { device: 'webgpu' })",
                       what, i));
  }
  return SN_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

static void free_tensor(sn_tensor *t) {
  sn_env *env = &t->ctx->env;
  if (t->inputs != t->few_inputs) sn_free(env, t->inputs, t->n_inputs * sizeof *t->inputs);
  if (t->attrs != t->few_attrs) sn_free(env, t->attrs, t->n_attrs * sizeof *t->attrs);
  t->ctx->n_tensors--;
  if (t->older) t->older->newer = t->newer;
  *(t->newer ? &t->newer->older : &t->ctx->newest) = t->older;
  sn_free(env, t, sizeof *t);
}

static sn_status fill(sn_context *ctx, sn_tensor *t, sn_tensor *const *inputs, size_t n_inputs,
                      const int64_t *attrs, size_t n_attrs) {
  if (n_inputs > SN_MAX_ARITY)
    SN_TRY(sn_alloc_zeroed(&ctx->env, n_inputs, sizeof *inputs, (void **)&t->inputs));
  t->n_inputs = (uint32_t)n_inputs;
  if (n_attrs > 2) SN_TRY(sn_alloc_zeroed(&ctx->env, n_attrs, sizeof *attrs, (void **)&t->attrs));
  t->n_attrs = (uint32_t)n_attrs;
  if (n_attrs) memcpy(t->attrs, attrs, n_attrs * sizeof *attrs);
  for (size_t k = 0; k < n_inputs; k++) {
    const sn_tensor *x = t->inputs[k] = inputs[k];
    t->tracked = t->tracked || x->tracked;
    t->traced = t->traced || x->traced;
    if (x->state == SN_TENSOR_LAZY && x->depth >= t->depth) t->depth = x->depth + 1;
  }
  return SN_OK;
}

static sn_status new_blank(sn_context *ctx, const sn_type *type, sn_tensor **out) {
  sn_tensor *t;
  SN_TRY(sn_alloc_zeroed(&ctx->env, 1, sizeof *t, (void **)&t));
  t->ctx = ctx;
  t->refs = 1;
  t->type = *type;
  t->inputs = t->few_inputs;
  t->attrs = t->few_attrs;
  ctx->n_tensors++;
  t->older = ctx->newest;
  if (t->older) t->older->newer = t;
  ctx->newest = t;
  *out = t;
  return SN_OK;
}

sn_status sn_tensor_new(sn_context *ctx, sn_op op, sn_tensor *const *inputs, size_t n_inputs,
                        const int64_t *attrs, size_t n_attrs, const sn_type *type,
                        sn_tensor **out) {
  sn_tensor *t;
  SN_TRY(new_blank(ctx, type, &t));
  t->op = op;
  t->origin.call = ctx->call;
  const sn_status status = fill(ctx, t, inputs, n_inputs, attrs, n_attrs);
  if (status) {
    free_tensor(t);
    return status;
  }
  for (size_t k = 0; k < n_inputs; k++) inputs[k]->refs++;
  sn_regions_retain(op, attrs);
  *out = t;
  return SN_OK;
}

sn_status sn_tensor_from_storage(sn_context *ctx, const sn_type *type, sn_storage *storage,
                                 sn_tensor **out) {
  sn_tensor *t;
  SN_TRY(new_blank(ctx, type, &t));
  t->state = SN_TENSOR_VALUE;
  t->storage = storage;
  *out = t;
  return SN_OK;
}

/* ---- letting go ------------------------------------------------------------------------------ */

/* Drops one reference to each input. Those that reach zero are chained onto *dead, so that a chain of a
 * million nodes is freed by a loop and not by recursion. */
static void drop_inputs(sn_tensor *t, sn_tensor **dead) {
  for (uint32_t k = 0; k < t->n_inputs; k++) {
    sn_tensor *x = t->inputs[k];
    if (--x->refs) continue;
    x->next = *dead;
    *dead = x;
  }
}

static void destroy_all(sn_tensor *dead) {
  while (dead) {
    sn_tensor *t = dead;
    dead = t->next;
    drop_inputs(t, &dead);
    sn_storage_release(&t->ctx->storages, t->storage);
    sn_regions_release(t->op, t->attrs);
    free_tensor(t);
  }
}

void sn_release(sn_tensor *t) {
  if (!t || --t->refs) return;
  t->next = NULL;
  destroy_all(t);
}

sn_tensor *sn_retain(sn_tensor *t) {
  if (t) t->refs++;
  return t;
}

static void let_go_of_inputs(sn_tensor *t, sn_tensor **dead) {
  drop_inputs(t, dead);
  if (t->inputs != t->few_inputs) sn_free(&t->ctx->env, t->inputs, t->n_inputs * sizeof *t->inputs);
  t->inputs = t->few_inputs;
  t->n_inputs = 0;
}

void sn_tensor_settle(sn_tensor *t, sn_storage *storage, uint32_t ticket) {
  sn_tensor *dead = NULL;
  t->state = SN_TENSOR_VALUE;
  t->storage = storage;
  t->ticket = ticket;
  t->depth = 0;
  if (t->tracked) return;
  let_go_of_inputs(t, &dead);
  destroy_all(dead);
}

/* Visits each tracked ancestor once: its flag is cleared when it is put on the list (by next). All are
 * retained until the walk is over, so that nothing on the lists is freed during it. */
void sn_untrack(sn_tensor *root) {
  if (!root || !root->tracked) return;
  sn_tensor *list = root, *done = NULL, *dead = NULL;
  root->tracked = false;
  root->next = NULL;
  while (list) {
    sn_tensor *t = list;
    list = t->next;
    for (uint32_t k = 0; k < t->n_inputs; k++) {
      sn_tensor *x = t->inputs[k];
      if (!x->tracked) continue;
      x->tracked = false;
      x->next = list;
      list = x;
    }
    t->next = done;
    done = t;
    t->refs++;
  }
  while (done) {
    sn_tensor *t = done;
    done = t->next;
    if (t->state == SN_TENSOR_VALUE) let_go_of_inputs(t, &dead);
    if (!--t->refs) {
      t->next = dead;
      dead = t;
    }
  }
  destroy_all(dead);
}

/* ---- scopes ---------------------------------------------------------------------------------- */

sn_status sn_scope_begin(sn_context *ctx) {
  SN_TRY(sn_context_report(ctx, sn_grow(&ctx->env, (void **)&ctx->scope, &ctx->cap_scope,
                                        ctx->n_scope, sizeof(sn_tensor *))));
  ctx->scope[ctx->n_scope++] = NULL;
  return SN_OK;
}

void sn_scope_end(sn_context *ctx) {
  while (ctx->n_scope) {
    sn_tensor *t = ctx->scope[--ctx->n_scope];
    if (!t) return;
    sn_release(t);
  }
}

/* Whether new references are noted: a scope or a composition is open. */
static bool is_noting(const sn_context *ctx) { return ctx->n_scope || ctx->composed; }

sn_status sn_scope_reserve(sn_context *ctx, size_t n) {
  while (is_noting(ctx) && ctx->cap_scope - ctx->n_scope < n)
    SN_TRY(sn_grow(&ctx->env, (void **)&ctx->scope, &ctx->cap_scope, ctx->cap_scope,
                   sizeof(sn_tensor *)));
  return SN_OK;
}

sn_tensor *sn_hand_out(sn_tensor *t) {
  if (!t || !is_noting(t->ctx)) return t;
  sn_context *ctx = t->ctx;
  if (sn_context_report(ctx, sn_scope_reserve(ctx, 1))) {
    sn_release(t);
    return NULL;
  }
  return ctx->scope[ctx->n_scope++] = t;
}

sn_tensor *sn_keep(sn_tensor *t) {
  /* the scope keeps the reference that it noted; the caller gets a new one */
  if (t && is_noting(t->ctx)) sn_retain(t);
  return t;
}
