/* api.c - the public functions that are not ops: contexts, values in and out, evaluation,
 * profiles. */
#include "api.h"

#include <string.h>

#include "base/host.h"
#include "base/log.h"
#include "tensor/compose.h"
#include "tensor/eval.h"
#include "tensor/tuned.h"

/* ---- context --------------------------------------------------------------------------------- */

static void *default_allocate(void *user, size_t bytes, size_t alignment) {
  (void)user;
  (void)alignment;
  return sn_host_allocate(bytes);
}

static void default_release(void *user, void *block, size_t bytes) {
  (void)user;
  sn_host_release(block, bytes);
}

/* sn_heap.reclaim, called when memory is short: frees cached storages first, as these are cheaper to make again, then
 * cached programs. */
static bool reclaim(void *user) {
  sn_context *ctx = user;
  return sn_storage_trim(&ctx->storages) || sn_cache_trim(ctx);
}

/* Whether contexts on the library's own allocator keep freed small blocks (base/kept_blocks.h). Test builds do not, so
 * that sanitizers detect each use after free. */
#ifdef SINTER_TEST
enum { KEEPS_BLOCKS = false };
#else
enum { KEEPS_BLOCKS = true };
#endif

/* Sets the fields that contexts on all devices have in common. */
static void begin(sn_context *ctx, const sn_options *options) {
  for (int i = 0; i < SN_PASS_COUNT; i++) ctx->options.pass_on[i] = sn_pass_table[i].on;
  ctx->options.fusion = true;
  ctx->options.jit = !(options && options->no_jit);
  ctx->options.target = &ctx->target;
  ctx->options.device = &ctx->device;
  if (options && options->processes) ctx->processes = *options->processes;
  ctx->jobs_end = &ctx->jobs;
  ctx->storages.device = &ctx->device;
  ctx->env.heap.reclaim = reclaim;
  ctx->env.heap.reclaim_user = ctx;
}

static sn_status open_machine(sn_context *ctx, const sn_options *options) {
  ctx->target = sn_cpu_target;
  ctx->target.deterministic = options && options->deterministic;
  return sn_device_open(&ctx->device, &ctx->env, &ctx->target, options ? options->threads : 0,
                        options ? options->isa : NULL, options && options->relaxed_simd);
}

static sn_status new_context(const sn_options *options, sn_context **out) {
  const sn_allocator allocator = options && options->allocator
                                     ? *options->allocator
                                     : (sn_allocator){NULL, default_allocate, default_release};
  const sn_processes *processes = options ? options->processes : NULL;
  if (options && options->threads < 0) return SN_ERR_ARGUMENT;
  if (processes && (processes->rank < 0 || processes->rank >= processes->ranks ||
                    !processes->start || !processes->finish))
    return SN_ERR_ARGUMENT;
  sn_env env = {.heap = {.allocator = allocator, .limit_bytes = SIZE_MAX, .fail_countdown = -1},
                .debug = sn_log_level_from_environment(),
                .poison = sn_log_poison_from_environment()};
  env.heap.kept.on = KEEPS_BLOCKS && !(options && options->allocator);
  if (options && options->memory_limit_bytes) env.heap.limit_bytes = options->memory_limit_bytes;
  sn_context *ctx;
  SN_TRY(sn_alloc_zeroed(&env, 1, sizeof *ctx, (void **)&ctx));
  ctx->env = env;
  begin(ctx, options);
  *out = ctx;
  return SN_OK;
}

sn_status sn_context_create(const sn_options *options, sn_context **out) {
  sn_context *ctx;
  SN_TRY(new_context(options, &ctx));
  const sn_status status = open_machine(ctx, options);
  if (status) {
    sn_context_destroy(ctx);
    return status;
  }
  *out = ctx;
  return SN_OK;
}

sn_status sn_context_create_on(const sn_options *options, const sn_backend *backend,
                               const sn_target *target, sn_context **out) {
  SN_TRY(new_context(options, out));
  (*out)->target = *target;
  (*out)->device =
      (sn_device){.backend = backend, .env = &(*out)->env, .machine = {.target = &(*out)->target}};
  return SN_OK;
}

void sn_context_destroy(sn_context *ctx) {
  if (!ctx) return;
  sn_env *env = &ctx->env;
  if (ctx->device.pool) sn_jobs_collect(ctx, true);
  sn_cache_clear(ctx);
  sn_tuned_free(ctx);
  sn_storage_trim(&ctx->storages);
  sn_profiler_free(&ctx->profiler);
  sn_free(env, ctx->scope, ctx->cap_scope * sizeof(sn_tensor *));
  ctx->device.backend->deallocate(&ctx->device, ctx->workspace, ctx->workspace_bytes);
  sn_device_close(&ctx->device);
  sn_env last = *env; /* frees the context's own block, which contains *env */
  sn_free(&last, ctx, sizeof *ctx);
  sn_heap_end(&last.heap);
}

sn_pool *sn_context_pool(const sn_context *ctx) { return ctx->device.pool; }

sn_status sn_error_status(const sn_context *ctx) { return ctx->first_error.status; }

const char *sn_error_message(const sn_context *ctx) { return ctx->first_error.message; }

const sn_error *sn_error_info(const sn_context *ctx) { return &ctx->first_error; }

void sn_error_clear(sn_context *ctx) { ctx->first_error = (sn_error){0}; }

void sn_memory(const sn_context *ctx, sn_memory_info *out) {
  const size_t cached = ctx->storages.cached_bytes;
  *out = (sn_memory_info){.bytes_in_use = ctx->env.heap.live_bytes - cached,
                          .bytes_peak = ctx->env.heap.peak_bytes,
                          .tensor_bytes = ctx->storages.live_bytes,
                          .tensors = ctx->n_tensors,
                          .programs = ctx->n_cached,
                          .program_hits = ctx->hits,
                          .program_misses = ctx->misses,
                          .program_evictions = ctx->evictions};
}

int sn_threads(const sn_context *ctx) {
  return ctx->device.pool ? sn_pool_workers(ctx->device.pool) : 0;
}

void sn_code_wait(const sn_context *ctx) {
  if (sn_code_backend.wait_code) sn_code_backend.wait_code(&ctx->device);
}

const char *sn_code_state(const sn_context *ctx) {
  return sn_code_backend.code_state ? sn_code_backend.code_state(&ctx->device) : "";
}

const char *sn_isa(const sn_context *ctx) { return sn_isa_name(ctx->device.machine.isa); }

void sn_set_debug(sn_context *ctx, int level) {
  ctx->env.debug = level < 0 ? 0 : level > SN_LOG_REWRITES ? SN_LOG_REWRITES : level;
}

sn_dtype sn_set_precision(sn_context *ctx, sn_dtype precision) {
  const bool known = precision == SN_F32 || precision == SN_F16 || precision == SN_BF16;
  const sn_dtype before = ctx->precision;
  if (known) ctx->precision = precision;
  return known ? before : precision;
}

void sn_set_poison(sn_context *ctx, bool on) { ctx->env.poison = on; }

int sn_pass_count(void) { return SN_SWITCH_COUNT; }

const char *sn_pass_name(int index) { return sn_switch_name(index); }

sn_status sn_pass_enable(sn_context *ctx, const char *name, bool on) {
  for (int i = 0; i < SN_SWITCH_COUNT; i++) {
    if (strcmp(sn_switch_name(i), name) != 0) continue;
    *sn_switch(&ctx->options, i) = on;
    return SN_OK;
  }
  return sn_context_report(ctx,
                           SN_FAIL(&ctx->env, SN_ERR_ARGUMENT, NULL, "no pass is called %s", name));
}

/* ---- values in ------------------------------------------------------------------------------- */

static sn_tensor *fail(sn_context *ctx, sn_status status) {
  sn_context_report(ctx, status);
  return NULL;
}

static sn_status make_type(sn_context *ctx, const char *what, sn_dtype dtype, int rank,
                           const int64_t *dims, sn_type *out) {
  SN_TRY(sn_type_of(ctx, what, dtype, rank, dims, out));
  return sn_type_check(&ctx->env, out, what);
}

static sn_status new_value(sn_context *ctx, const sn_type *type, sn_tensor **out) {
  sn_storage *storage;
  SN_TRY(sn_storage_new(&ctx->storages, sn_type_bytes(type), &storage));
  const sn_status status = sn_tensor_from_storage(ctx, type, storage, out);
  if (status) sn_storage_release(&ctx->storages, storage);
  return status;
}

sn_tensor *sn_empty(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims, void **data) {
  sn_type type;
  sn_tensor *t = NULL;
  sn_jobs_collect(ctx, false);
  sn_status status = make_type(ctx, "tensor", dtype, rank, dims, &type);
  if (!status) status = new_value(ctx, &type, &t);
  if (status) return fail(ctx, status);
  *data = sn_storage_map(&ctx->storages, t->storage);
  return sn_hand_out(t);
}

sn_tensor *sn_from_data(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims,
                        const void *data) {
  void *to;
  sn_tensor *t = sn_empty(ctx, dtype, rank, dims, &to);
  if (t) ctx->device.backend->upload(&ctx->device, t->storage->data, data, sn_size_bytes(t));
  return t;
}

sn_tensor *sn_placeholder(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims) {
  sn_type type;
  sn_status status = make_type(ctx, "placeholder", dtype, rank, dims, &type);
  sn_tensor *t = NULL;
  if (!status) status = sn_tensor_new(ctx, SN_OP_input, NULL, 0, NULL, 0, &type, &t);
  if (status) return fail(ctx, status);
  t->state = SN_TENSOR_PLACEHOLDER;
  t->traced = true;
  return sn_hand_out(t);
}

/* ---- asking ---------------------------------------------------------------------------------- */

sn_dtype sn_dtype_of(const sn_tensor *t) { return t ? t->type.dtype : (sn_dtype)-1; }
int sn_rank(const sn_tensor *t) { return t ? t->type.rank : -1; }
const int64_t *sn_dims(const sn_tensor *t) { return t ? t->type.dims : NULL; }
int64_t sn_size(const sn_tensor *t) { return t ? sn_type_size(&t->type) : 0; }
size_t sn_size_bytes(const sn_tensor *t) { return t ? sn_type_bytes(&t->type) : 0; }

/* ---- values out ------------------------------------------------------------------------------ */

static sn_status eval(sn_tensor *const *tensors, size_t count, uint32_t *ticket) {
  for (size_t i = 0; i < count; i++)
    if (!tensors[i]) return SN_ERR_ARGUMENT;
  if (!count) return SN_OK;
  sn_context *ctx = tensors[0]->ctx;
  SN_TRY(sn_context_check_tensors(ctx, tensors, count, "eval: tensor"));
  sn_status status = sn_eval_tensors(ctx, tensors, count, ticket);
  for (size_t i = 0; i < count && !status && !ticket; i++) status = sn_tensor_ready(tensors[i]);
  return sn_context_report(ctx, status);
}

sn_status sn_eval(sn_tensor *const *tensors, size_t count) { return eval(tensors, count, NULL); }

sn_status sn_eval_async(sn_tensor *const *tensors, size_t count, uint32_t *ticket) {
  *ticket = 0;
  return eval(tensors, count, ticket);
}

/* Evaluates t. Fails if the host cannot read its value. */
static sn_status open_value(sn_tensor *t, const char *op) {
  SN_TRY(sn_tensor_ready(t));
  SN_FAIL_IF(&t->ctx->env, !sn_storage_map(&t->ctx->storages, t->storage), SN_ERR_ARGUMENT, op,
             "the value lies on another device" SN_HINT
             "await data(), or bring it here first: await x.to('cpu')");
  return SN_OK;
}

const void *sn_data(sn_tensor *t) {
  if (!t || sn_context_report(t->ctx, open_value(t, "data"))) return NULL;
  return sn_storage_map(&t->ctx->storages, t->storage);
}

void *sn_value_handle(sn_tensor *t) {
  if (!t || sn_context_report(t->ctx, sn_tensor_ready(t))) return NULL;
  return t->storage->data;
}

static sn_tensor *copy_within(sn_tensor *t) {
  sn_context *ctx = t->ctx;
  sn_tensor *copy;
  sn_status status = sn_tensor_ready(t);
  if (!status) status = new_value(ctx, &t->type, &copy);
  if (status) return fail(ctx, status);
  ctx->device.backend->copy(&ctx->device, copy->storage->data, t->storage->data, sn_size_bytes(t));
  return sn_hand_out(copy);
}

sn_tensor *sn_copy_to(sn_context *ctx, sn_tensor *t) {
  if (ctx == t->ctx) return copy_within(t);
  const void *data = sn_data(t);
  return data ? sn_from_data(ctx, sn_dtype_of(t), sn_rank(t), sn_dims(t), data) : NULL;
}

bool sn_is_computed(const sn_tensor *t) {
  if (!t || t->state != SN_TENSOR_VALUE) return false;
  return sn_ticket_done(t->ctx, t->ticket) && !t->storage->failed;
}

sn_status sn_read(sn_tensor *t, void *out, size_t bytes) {
  if (!t) return SN_ERR_ARGUMENT;
  sn_env *env = &t->ctx->env;
  if (bytes < sn_size_bytes(t))
    return sn_context_report(t->ctx,
                             SN_FAIL(env, SN_ERR_ARGUMENT, "read", "%zu bytes do not fit into %zu",
                                     sn_size_bytes(t), bytes));
  SN_TRY(sn_context_report(t->ctx, open_value(t, "read")));
  sn_device *device = &t->ctx->device;
  device->backend->download(device, out, t->storage->data, sn_size_bytes(t));
  return SN_OK;
}

bool sn_ticket_done(sn_context *ctx, uint32_t ticket) {
  sn_jobs_collect(ctx, false);
  return ticket == 0 || sn_jobs_done(ctx, ticket);
}

sn_status sn_synchronize(sn_context *ctx) {
  sn_jobs_collect(ctx, true);
  const sn_status status = ctx->lost;
  ctx->lost = SN_OK;
  if (!status) return SN_OK;
  return sn_context_report(ctx, SN_FAIL(&ctx->env, status, NULL, "a worker thread was lost"));
}

/* ---- profile --------------------------------------------------------------------------------- */

sn_status sn_profile_start(sn_context *ctx, size_t max_spans) {
  sn_jobs_collect(ctx, true);
  return sn_context_report(ctx, sn_profiler_start(&ctx->profiler, &ctx->env,
                                                  sn_device_workers(&ctx->device), max_spans));
}

void sn_profile_stop(sn_context *ctx) {
  sn_jobs_collect(ctx, true);
  sn_profiler_stop(&ctx->profiler);
}

size_t sn_profile_kernels(const sn_context *ctx, const sn_kernel_profile **out) {
  *out = ctx->profiler.kernels;
  return ctx->profiler.n_kernels;
}

size_t sn_profile_spans(const sn_context *ctx, const sn_span **out, size_t *lost) {
  *out = ctx->profiler.merged;
  *lost = ctx->profiler.lost;
  return ctx->profiler.n_merged;
}

double sn_profile_now(void) { return sn_host_now_ms(); }
