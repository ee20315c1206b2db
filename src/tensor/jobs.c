/* jobs.c - runs of executables, on this thread or the driver's.
 *
 * Only the API thread allocates and frees memory, so it also collects jobs when they are done. Until
 * then a job holds its storages (job_refs) and its program. Jobs run in the order of submission. A run
 * on the API thread first waits for the driver, so that the workspace serves one run at a time.
 *
 *   API thread   new -> submit ------------------------------> collect (free)
 *   driver               \-> run kernels -> completed ticket -/
 *
 * Without threads the API thread may be its own driver, in slices of time (driver.h). */
#include "base/size.h"
#include "tensor/tensor.h"

/* ---- making ---------------------------------------------------------------------------------- */

/* All programs share the workspace. It only grows, and only when no run is under way. It grows before a run, not when a
 * program is compiled: by then the memory that compiling took is free again, and cached storages are freed as well. */
static sn_status ensure_workspace(sn_context *ctx, const sn_executable *exe) {
  const size_t bytes = sn_executable_workspace_bytes(exe, sn_device_workers(&ctx->device));
  if (bytes <= ctx->workspace_bytes) return SN_OK;
  sn_jobs_collect(ctx, true);
  sn_storage_trim(&ctx->storages);
  void *block;
  sn_device *device = &ctx->device;
  SN_TRY(device->backend->allocate(device, bytes, &block));
  device->backend->deallocate(device, ctx->workspace, ctx->workspace_bytes);
  ctx->workspace = block;
  ctx->workspace_bytes = bytes;
  return SN_OK;
}

sn_status sn_job_new(sn_context *ctx, sn_compiled *compiled, sn_job **out) {
  const sn_program_code *program = compiled->exe->program;
  const size_t n_args = program->n_arguments, n_fresh = program->plan.n_fresh;
  const size_t pointers = program->n_buffers + n_args + n_fresh;
  const size_t bytes = sizeof(sn_job) + n_args * sizeof(uint64_t) + pointers * sizeof(void *);
  sn_job *job;
  SN_TRY(ensure_workspace(ctx, compiled->exe));
  SN_TRY(sn_alloc_zeroed(&ctx->env, 1, bytes, (void **)&job));
  uint64_t *versions = (uint64_t *)(job + 1);
  void **at = (void **)(versions + n_args);
  *job = (sn_job){.ctx = ctx, .compiled = compiled, .bytes = bytes};
  job->run = (sn_run){
      .exe = compiled->exe, .buffers = at, .versions = versions, .processes = &ctx->processes};
  job->reads = (sn_storage **)(at + program->n_buffers);
  job->writes = job->reads + n_args;
  compiled->refs++;
  *out = job;
  return SN_OK;
}

static const sn_program_code *program_of(const sn_job *job) { return job->run.exe->program; }

void sn_job_free(sn_job *job) {
  sn_context *ctx = job->ctx;
  for (size_t i = 0; i < program_of(job)->n_arguments; i++)
    if (job->reads[i]) sn_storage_job_end(&ctx->storages, job->reads[i]);
  for (size_t i = 0; i < program_of(job)->plan.n_fresh; i++)
    if (job->writes[i]) sn_storage_job_end(&ctx->storages, job->writes[i]);
  sn_compiled_release(ctx, job->compiled);
  sn_free(&ctx->env, job, job->bytes);
}

static sn_status allocate_fresh(sn_job *job) {
  const sn_program_code *program = program_of(job);
  for (size_t v = 0; v < program->plan.n_values; v++) {
    const sn_place *place = &program->plan.places[v];
    if (place->kind != SN_PLACE_OUTPUT) continue;
    sn_storage *storage;
    SN_TRY(sn_storage_new(&job->ctx->storages, sn_type_bytes(&program->groups.values[v].type),
                          &storage));
    job->run.buffers[sn_fresh_buffer(program, place->index)] = storage->data;
    job->writes[place->index] = storage;
    sn_storage_job_begin(storage);
    storage->refs = 0; /* sn_job_outputs takes the references, one per output */
  }
  return SN_OK;
}

sn_status sn_job_outputs(sn_job *job, sn_storage *const *arguments, sn_storage **out) {
  const sn_program_code *program = program_of(job);
  const sn_plan *plan = &program->plan;
  const sn_groups *groups = &program->groups;
  for (size_t a = 0; a < program->n_arguments; a++) {
    job->reads[a] = arguments[a];
    job->run.versions[a] = arguments[a]->version;
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
  for (size_t i = 0; i < program_of(job)->n_arguments; i++)
    if (job->reads[i]->failed) return true;
  return false;
}

static sn_status lost(sn_context *ctx) {
  return SN_FAIL(&ctx->env, SN_ERR_WORKER, NULL,
                 "a worker thread was lost; what it was to compute has no value");
}

/* If the job failed: marks the storages that it was to write as failed, and keeps the failure for
 * sn_synchronize. A job that read a failed storage fails, too. */
static sn_status settle_job(sn_job *job, sn_status status) {
  if (!status && reads_failed(job)) status = SN_ERR_WORKER;
  if (!status) return SN_OK;
  const sn_plan *plan = &program_of(job)->plan;
  for (size_t i = 0; i < plan->n_fresh; i++) job->writes[i]->failed = true;
  for (size_t v = 0; v < plan->n_values; v++)
    if (plan->places[v].kind == SN_PLACE_DONATED) job->reads[plan->places[v].index]->failed = true;
  if (!job->ctx->lost) job->ctx->lost = status;
  return lost(job->ctx);
}

static void note_time(const sn_job *job, sn_status status) {
  sn_times *times = &job->compiled->times;
  if (job->run.clocked && !status) times->ms[times->n++ % SN_TIMES] = (float)job->run.ms;
}

static sn_status prepare_run(sn_job *job) {
  sn_context *ctx = job->ctx;
  sn_run *run = &job->run;
  if (ctx->profiler.on) SN_TRY(sn_executable_register(run->exe, &ctx->profiler));
  run->buffers[sn_arena_buffer(program_of(job))] = ctx->workspace;
  run->profiler = &ctx->profiler;
  run->poison = ctx->env.poison;
  run->watch = ctx->watch;
  run->debug = ctx->env.debug;
  return SN_OK;
}

sn_status sn_job_run(sn_job *job) {
  sn_context *ctx = job->ctx;
  sn_jobs_collect(ctx, true);
  const sn_backend *backend = ctx->device.backend;
  sn_status status = prepare_run(job);
  if (!status) {
    status = backend->run(&ctx->device, &job->run);
    note_time(job, status);
    if (!(status && backend->runs_whole)) status = settle_job(job, status);
  }
  sn_job_free(job);
  return status;
}

bool sn_jobs_done(const sn_context *ctx, uint32_t ticket) {
  return ctx->device.backend->poll(&ctx->device, ticket, NULL);
}

/* Waits for the first job submitted and collects it. */
static void collect_first(sn_context *ctx) {
  sn_job *job = ctx->jobs;
  sn_status status = SN_OK;
  ctx->device.backend->wait(&ctx->device, job->ticket);
  ctx->device.backend->poll(&ctx->device, job->ticket, &status);
  ctx->jobs = job->next;
  if (!ctx->jobs) ctx->jobs_end = &ctx->jobs;
  ctx->n_jobs--;
  note_time(job, status);
  settle_job(job, status);
  sn_job_free(job);
}

void sn_jobs_collect(sn_context *ctx, bool wait) {
  while (ctx->jobs && (wait || sn_jobs_done(ctx, ctx->jobs->ticket))) collect_first(ctx);
}

void sn_jobs_wait(sn_context *ctx, uint32_t ticket) {
  while (ctx->jobs && (int32_t)(ctx->jobs->ticket - ticket) <= 0) collect_first(ctx);
}

sn_status sn_job_submit(sn_job *job, uint32_t *ticket) {
  sn_context *ctx = job->ctx;
  const sn_backend *backend = ctx->device.backend;
  *ticket = 0;
  if (!backend->queues(&ctx->device)) return sn_job_run(job);
  sn_jobs_collect(ctx, false);
  while (ctx->n_jobs >= SN_MAX_SUBMITTED) collect_first(ctx);
  sn_status status = prepare_run(job);
  if (!status) status = backend->submit(&ctx->device, &job->run, ticket);
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
