/* jobs.c - runs of executables, on this thread or the driver's.
 *
 * A job is collected on the API thread, where alone memory is allocated and freed: while it is
 * under way it holds its storages (job_refs) and its program. Jobs run in the order of submission;
 * a run on this thread first waits for the driver, so that a workspace serves one run at a time.
 *
 *   API thread   new -> submit ------------------------------> collect (free)
 *   driver               \-> run kernels -> completed ticket -/
 *
 * Without threads the API thread may be its own driver, in turns (driver.h). */
#include <math.h>

#include "base/size.h"
#include "tensor/tensor.h"

/* ---- making ---------------------------------------------------------------------------------- */

sn_status sn_job_new(sn_context *ctx, sn_compiled *compiled, sn_job **out) {
  const size_t n_args = compiled->exe->n_arguments, n_fresh = compiled->exe->plan.n_fresh;
  const size_t pointers = 2 * n_args + 2 * n_fresh;
  const size_t bytes = sizeof(sn_job) + n_args * sizeof(uint64_t) + pointers * sizeof(void *);
  sn_job *job;
  SN_TRY(sn_alloc_zeroed(&ctx->env, 1, bytes, (void **)&job));
  uint64_t *versions = (uint64_t *)(job + 1);
  void **at = (void **)(versions + n_args);
  *job = (sn_job){.ctx = ctx, .exe = compiled->exe, .compiled = compiled, .bytes = bytes};
  job->versions = versions;
  job->arguments = at;
  job->fresh = at + n_args;
  job->reads = (sn_storage **)(at + n_args + n_fresh);
  job->writes = (sn_storage **)(at + 2 * n_args + n_fresh);
  compiled->refs++;
  *out = job;
  return SN_OK;
}

void sn_job_free(sn_job *job) {
  sn_context *ctx = job->ctx;
  for (size_t i = 0; i < job->exe->n_arguments; i++)
    if (job->reads[i]) sn_storage_job_end(&ctx->storages, job->reads[i]);
  for (size_t i = 0; i < job->exe->plan.n_fresh; i++)
    if (job->writes[i]) sn_storage_job_end(&ctx->storages, job->writes[i]);
  sn_compiled_release(ctx, job->compiled);
  sn_free(&ctx->env, job, job->bytes);
}

static sn_status allocate_fresh(sn_job *job) {
  const sn_plan *plan = &job->exe->plan;
  for (size_t v = 0; v < plan->n_values; v++) {
    const sn_place *place = &plan->places[v];
    if (place->kind != SN_PLACE_OUTPUT) continue;
    sn_storage *storage;
    SN_TRY(sn_storage_new(&job->ctx->storages, sn_type_bytes(&job->exe->groups.values[v].type),
                          &storage));
    job->fresh[place->index] = storage->data;
    job->writes[place->index] = storage;
    sn_storage_job_begin(storage);
    storage->refs = 0; /* the outputs below take the references */
  }
  return SN_OK;
}

sn_status sn_job_outputs(sn_job *job, sn_storage *const *arguments, sn_storage **out) {
  const sn_plan *plan = &job->exe->plan;
  const sn_groups *groups = &job->exe->groups;
  for (size_t a = 0; a < job->exe->n_arguments; a++) {
    job->reads[a] = arguments[a];
    job->versions[a] = arguments[a]->version;
    sn_storage_job_begin(arguments[a]);
  }
  SN_TRY(allocate_fresh(job));
  for (size_t i = 0; i < groups->n_outputs; i++) {
    const sn_place *place = &plan->places[groups->outputs[i]];
    out[i] = place->kind == SN_PLACE_OUTPUT ? job->writes[place->index] : arguments[place->index];
    if (place->kind == SN_PLACE_DONATED) out[i]->version = ++job->ctx->storages.versions;
    sn_storage_retain(out[i]);
  }
  return SN_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static bool reads_failed(const sn_job *job) {
  for (size_t i = 0; i < job->exe->n_arguments; i++)
    if (job->reads[i]->failed) return true;
  return false;
}

/* sn_job_fn of the driver. */
static bool execute(void *arg, double until, sn_status *status) {
  sn_job *job = arg;
  sn_context *ctx = job->ctx;
  *status = SN_ERR_WORKER;
  if (reads_failed(job)) return true;
  const sn_run_args args = {.arguments = job->arguments,
                            .versions = job->versions,
                            .fresh = job->fresh,
                            .workspace = ctx->workspace,
                            .pool = ctx->pool,
                            .profiler = &ctx->profiler,
                            .poison = ctx->env.poison,
                            .debug = ctx->env.debug};
  return sn_executable_step(job->exe, &args, until, &job->place, status);
}

static sn_status lost(sn_context *ctx) {
  return sn_fail(&ctx->env, SN_ERR_WORKER,
                 "a worker thread was lost; what it was to compute has no value");
}

/* Marks what a failed job was to write, and keeps the failure for sn_synchronize. */
static sn_status settle_job(sn_job *job, sn_status status) {
  if (!status) return SN_OK;
  const sn_plan *plan = &job->exe->plan;
  for (size_t i = 0; i < plan->n_fresh; i++) job->writes[i]->failed = true;
  for (size_t v = 0; v < plan->n_values; v++)
    if (plan->places[v].kind == SN_PLACE_DONATED) job->reads[plan->places[v].index]->failed = true;
  if (!job->ctx->lost) job->ctx->lost = status;
  return lost(job->ctx);
}

static sn_status prepare_run(sn_job *job) {
  sn_context *ctx = job->ctx;
  if (sn_pool_lost(ctx->pool)) {
    sn_jobs_collect(ctx, true);
    sn_pool_revive(ctx->pool);
  }
  if (ctx->profiler.on) SN_TRY(sn_executable_register(job->exe, &ctx->profiler));
  return SN_OK;
}

sn_status sn_job_run(sn_job *job) {
  sn_context *ctx = job->ctx;
  sn_jobs_collect(ctx, true);
  sn_status status = prepare_run(job);
  if (!status) {
    execute(job, INFINITY, &status);
    status = settle_job(job, status);
  }
  sn_job_free(job);
  return status;
}

static bool completed(const sn_context *ctx, uint32_t ticket) {
  return (int32_t)(sn_driver_completed(ctx->pool) - ticket) >= 0;
}

static void collect_first(sn_context *ctx) {
  sn_job *job = ctx->jobs;
  const sn_status status = sn_driver_status(ctx->pool, job->ticket);
  ctx->jobs = job->next;
  if (!ctx->jobs) ctx->jobs_end = &ctx->jobs;
  ctx->n_jobs--;
  settle_job(job, status);
  sn_job_free(job);
}

static void await_first(sn_context *ctx) {
  if (completed(ctx, ctx->jobs->ticket)) return;
  if (sn_driver_wait(ctx->pool, ctx->jobs->ticket))
    sn_pool_revive(ctx->pool); /* completes it, failed */
}

void sn_jobs_collect(sn_context *ctx, bool wait) {
  while (ctx->jobs && (wait || completed(ctx, ctx->jobs->ticket))) {
    await_first(ctx);
    collect_first(ctx);
  }
}

void sn_jobs_wait(sn_context *ctx, uint32_t ticket) {
  while (ctx->jobs && (int32_t)(ctx->jobs->ticket - ticket) <= 0) {
    await_first(ctx);
    collect_first(ctx);
  }
}

sn_status sn_job_submit(sn_job *job, uint32_t *ticket) {
  sn_context *ctx = job->ctx;
  *ticket = 0;
  if (!sn_driver_available(ctx->pool)) return sn_job_run(job);
  sn_jobs_collect(ctx, false);
  while (ctx->n_jobs >= SN_DRIVER_RING) { /* the driver keeps the status of no more */
    await_first(ctx);
    collect_first(ctx);
  }
  sn_status status = prepare_run(job);
  if (!status) status = sn_driver_submit(&ctx->env, ctx->pool, execute, job, ticket);
  if (status) {
    sn_job_free(job);
    return status;
  }
  job->ticket = *ticket;
  job->next = NULL;
  *ctx->jobs_end = job;
  ctx->jobs_end = &job->next;
  ctx->n_jobs++;
  return SN_OK;
}
