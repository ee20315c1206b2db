/* map_examples.c - sn_vmap: from what a function made of one example, lazy tensors that do it for all examples at once. */
#include "batching/vmap.h"
#include "tensor/apply.h"
#include "tensor/build_tensors.h"

typedef struct request {
  sn_context *ctx;
  sn_tensor *const *outputs;
  const int *out_axes;
  size_t n_outputs;
  sn_tensor *const *examples, *const *batches;
  const int *in_axes;
  size_t n;
} request;

/* *place is the axis, counted from 0, of a tensor of this rank. */
static sn_status place_of(const request *r, const char *what, size_t i, int axis, int rank,
                          int *place) {
  SN_FAIL_IF(&r->ctx->env, axis < -rank || axis >= rank, SN_ERR_SHAPE, "vmap",
             "axis %d of %s %zu is out of range for rank %d", axis, what, i, rank);
  *place = axis < 0 ? axis + rank : axis;
  return SN_OK;
}

/* *size is the number of examples in batch i. */
static sn_status size_of(const request *r, size_t i, int64_t *size) {
  const sn_type *example = &r->examples[i]->type, *batch = &r->batches[i]->type;
  int axis;
  SN_TRY(place_of(r, "batch", i, r->in_axes[i], batch->rank, &axis));
  bool fits = batch->rank == example->rank + 1 && batch->dtype == example->dtype;
  for (int d = 0; d < example->rank && fits; d++)
    fits = example->dims[d] == batch->dims[d < axis ? d : d + 1];
  SN_FAIL_IF(&r->ctx->env, !fits, SN_ERR_SHAPE, "vmap",
             "batch %zu is %s %*p, its example %s %*p; axis %d", i, sn_dtype_name(batch->dtype),
             batch->rank, batch->dims, sn_dtype_name(example->dtype), example->rank, example->dims,
             axis);
  *size = batch->dims[axis];
  return SN_OK;
}

static sn_status check(const request *r, int64_t *size) {
  SN_FAIL_IF(&r->ctx->env, r->n == 0, SN_ERR_ARGUMENT, "vmap", "nothing is mapped");
  for (size_t i = 0; i < r->n; i++) {
    int64_t n;
    SN_TRY(size_of(r, i, &n));
    if (i == 0) *size = n;
    SN_FAIL_IF(&r->ctx->env, n != *size, SN_ERR_SHAPE, "vmap",
               "batch 0 has %lld examples, batch %zu %lld", (long long)*size, i, (long long)n);
  }
  return SN_OK;
}

static sn_id move_axis(sn_build *b, sn_id x, int from, int to) {
  int64_t perm[SN_MAX_RANK];
  if (b->status || from == to) return b->status ? SN_NONE : x;
  sn_move_axis(sn_build_type(b, x)->rank, from, to, perm);
  return sn_build_transpose(b, x, perm);
}

/* Moves the new axis of output k from the front to where it is wanted. *out is SN_NONE if the output does not depend on what
 * is mapped: it is then broadcast, or, if no axis is wanted, stays as it is. */
static sn_status place_output(const request *r, sn_tensor_build *tb, size_t k, int64_t size,
                              sn_id *out) {
  sn_env *env = &r->ctx->env;
  const sn_type *type = &r->outputs[k]->type;
  int axis;
  if (r->out_axes[k] == SN_NO_AXIS) {
    SN_FAIL_IF(env, *out != SN_NONE, SN_ERR_ARGUMENT, "vmap",
               "output %zu depends on what is mapped, so it needs an axis", k);
    *out = r->outputs[k]->id;
    return SN_OK;
  }
  SN_FAIL_IF(env, type->rank == SN_MAX_RANK, SN_ERR_SHAPE, "vmap",
             "output %zu has no room for one more axis", k);
  const sn_type wider = sn_type_stacked(type, size);
  SN_TRY(place_of(r, "output", k, r->out_axes[k], wider.rank, &axis));
  if (*out == SN_NONE) *out = sn_build_broadcast(&tb->b, r->outputs[k]->id, &wider);
  *out = move_axis(&tb->b, *out, 0, axis);
  return tb->b.status;
}

static sn_status build(const request *r, sn_tensor_build *tb, int64_t size, sn_tensor **out) {
  sn_arena *arena = tb->b.arena;
  sn_id *y, *examples, *batches, *made;
  SN_TRY(sn_arena_alloc(arena, r->n_outputs, sizeof *y, (void **)&y));
  SN_TRY(sn_arena_alloc(arena, r->n_outputs, sizeof *made, (void **)&made));
  SN_TRY(sn_arena_alloc(arena, r->n, sizeof *examples, (void **)&examples));
  SN_TRY(sn_arena_alloc(arena, r->n, sizeof *batches, (void **)&batches));
  for (size_t i = 0; i < r->n; i++) SN_TRY(sn_tensor_build_leaf(tb, r->batches[i]));
  for (size_t i = 0; i < r->n; i++) {
    const int rank = r->batches[i]->type.rank, axis = r->in_axes[i];
    examples[i] = r->examples[i]->id;
    batches[i] = move_axis(&tb->b, r->batches[i]->id, axis < 0 ? axis + rank : axis, 0);
  }
  for (size_t k = 0; k < r->n_outputs; k++) y[k] = r->outputs[k]->id;
  SN_TRY(tb->b.status);
  SN_TRY(sn_vmap_nodes(&tb->b, y, r->n_outputs, examples, batches, r->n, size, made));
  for (size_t k = 0; k < r->n_outputs; k++) SN_TRY(place_output(r, tb, k, size, &made[k]));
  return sn_tensor_build_results(tb, made, r->n_outputs, out);
}

static sn_status map_examples(const request *r, sn_tensor **out) {
  sn_context *ctx = r->ctx;
  int64_t size = 0;
  SN_TRY(check(r, &size));
  SN_TRY(sn_scope_reserve(ctx, r->n_outputs));
  sn_arena arena;
  sn_arena_init(&arena, &ctx->env);
  sn_tensor_build tb;
  sn_status status =
      sn_tensor_build_begin(&tb, ctx, &arena, r->examples, r->n, r->outputs, r->n_outputs);
  if (!status) status = build(r, &tb, size, out);
  sn_tensor_build_end(&tb);
  sn_arena_free(&arena);
  for (size_t k = 0; k < r->n_outputs && !status; k++) out[k] = sn_hand_out(out[k]);
  return status;
}

sn_status sn_vmap(sn_context *ctx, sn_tensor *const *outputs, const int *out_axes, size_t n_outputs,
                  sn_tensor *const *examples, sn_tensor *const *batches, const int *in_axes,
                  size_t n, sn_tensor **out) {
  SN_TRY(sn_context_check_tensors(ctx, outputs, n_outputs, "vmap: output"));
  SN_TRY(sn_context_check_tensors(ctx, examples, n, "vmap: example"));
  SN_TRY(sn_context_check_tensors(ctx, batches, n, "vmap: batch"));
  const request r = {ctx, outputs, out_axes, n_outputs, examples, batches, in_axes, n};
  return sn_context_report(ctx, map_examples(&r, out));
}
