#include "tensor/eval.h"

#include "graph/reference.h"
#include "tensor/trace.h"

/* *out is a storage with the one element of a number that is an argument. */
static sn_status number_storage(sn_context *ctx, const sn_tensor *t, sn_storage **out) {
  double number = 0; /* room for one of any dtype */
  SN_TRY(sn_storage_new(&ctx->storages, sizeof number, out));
  sn_ref_store(t->type.dtype, &number, 0, sn_attr_double(t->attrs[0]));
  ctx->device.backend->upload(&ctx->device, (*out)->data, &number, sizeof number);
  return SN_OK;
}

/* Fills in the job's arguments. Storages of numbers are made here, and only the job keeps them. */
static sn_status bind_arguments(sn_context *ctx, const sn_trace *trace, sn_job *job,
                                sn_storage **storages) {
  for (size_t a = 0; a < trace->n_arguments; a++) {
    const sn_tensor *t = trace->arguments[a];
    storages[a] = t->storage;
    if (t->state != SN_TENSOR_VALUE) SN_TRY(number_storage(ctx, t, &storages[a]));
    job->run.buffers[a] = storages[a]->data;
  }
  return SN_OK;
}

static void release_numbers(sn_context *ctx, const sn_trace *trace, sn_storage *const *storages) {
  for (size_t a = 0; a < trace->n_arguments; a++)
    if (storages[a] && trace->arguments[a]->state != SN_TENSOR_VALUE)
      sn_storage_release(&ctx->storages, storages[a]);
}

static void release_outputs(sn_context *ctx, sn_storage *const *outputs, size_t n) {
  for (size_t i = 0; i < n; i++) sn_storage_release(&ctx->storages, outputs[i]);
}

static sn_status run_trace(sn_context *ctx, sn_arena *arena, const sn_trace *trace,
                           sn_compiled *compiled, sn_tensor *const *outputs, uint32_t *ticket) {
  sn_storage **arguments, **results;
  const size_t n = trace->graph.n_outputs;
  SN_TRY(sn_arena_alloc(arena, trace->n_arguments, sizeof *arguments, (void **)&arguments));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *results, (void **)&results));
  sn_job *job;
  SN_TRY(sn_job_new(ctx, compiled, &job));
  sn_status status = bind_arguments(ctx, trace, job, arguments);
  if (!status) status = sn_job_outputs(job, arguments, results);
  release_numbers(ctx, trace, arguments);
  if (status) {
    release_outputs(ctx, results, n);
    sn_job_free(job);
    return status;
  }
  uint32_t number = 0;
  status = ticket ? sn_job_submit(job, &number) : sn_job_run(job);
  if (status) {
    release_outputs(ctx, results, n);
    return status;
  }
  for (size_t i = 0; i < n; i++) sn_tensor_settle(outputs[i], results[i], number);
  if (ticket && number) *ticket = number;
  return SN_OK;
}

/* *out are the lazy ones among the tensors, each once. */
static sn_status select_lazy(sn_context *ctx, sn_arena *arena, sn_tensor *const *tensors, size_t n,
                             sn_tensor ***out, size_t *n_out) {
  SN_TRY(sn_arena_alloc(arena, n, sizeof **out, (void **)out));
  *n_out = 0;
  ctx->mark++;
  for (size_t i = 0; i < n; i++) {
    sn_tensor *t = tensors[i];
    if (t->state == SN_TENSOR_VALUE || t->mark == ctx->mark) continue;
    SN_FAIL_IF(&ctx->env, t->traced || t->state == SN_TENSOR_PLACEHOLDER, SN_ERR_ARGUMENT, NULL,
               "a tensor of a function being traced has no value yet" SN_HINT
               "return it from the function, and read it outside");
    SN_FAIL_IF(&ctx->env, t->state == SN_TENSOR_USED_UP, SN_ERR_ARGUMENT, NULL,
               "a tensor that was donated to a program has no value any more");
    t->mark = ctx->mark;
    (*out)[(*n_out)++] = t;
  }
  return SN_OK;
}

static sn_status eval_in(sn_context *ctx, sn_arena *arena, sn_tensor *const *tensors, size_t n,
                         uint32_t *ticket) {
  sn_tensor **lazy;
  size_t n_lazy;
  SN_TRY(select_lazy(ctx, arena, tensors, n, &lazy, &n_lazy));
  if (!n_lazy) return SN_OK;
  sn_trace trace;
  SN_TRY(sn_trace_tensors(ctx, arena, SN_TRACE_EVAL, NULL, 0, lazy, n_lazy, &trace));
  sn_compiled *compiled;
  SN_TRY(sn_compile_cached(ctx, &trace.graph, &ctx->options, &compiled));
  const sn_status status = run_trace(ctx, arena, &trace, compiled, lazy, ticket);
  sn_compiled_release(ctx, compiled);
  return status;
}

sn_status sn_eval_tensors(sn_context *ctx, sn_tensor *const *tensors, size_t n, uint32_t *ticket) {
  sn_arena arena;
  sn_arena_init(&arena, &ctx->env);
  if (ticket) { /* also waits for values that runs under way will write */
    *ticket = 0;
    for (size_t i = 0; i < n; i++)
      if ((int32_t)(tensors[i]->ticket - *ticket) > 0) *ticket = tensors[i]->ticket;
  }
  const sn_status status = eval_in(ctx, &arena, tensors, n, ticket);
  ctx->settled_bytes = ctx->storages.live_bytes;
  sn_arena_free(&arena);
  return status;
}

sn_status sn_tensor_ready(sn_tensor *t) {
  sn_context *ctx = t->ctx;
  if (t->state != SN_TENSOR_VALUE) SN_TRY(sn_eval_tensors(ctx, &t, 1, NULL));
  if (t->ticket) sn_jobs_wait(ctx, t->ticket);
  t->ticket = 0;
  SN_FAIL_IF(&ctx->env, t->storage->failed, SN_ERR_WORKER, NULL,
             "a worker thread was lost; what it was to compute has no value");
  return SN_OK;
}
