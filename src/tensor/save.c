/* save.c - saves programs as bytes and loads them: sn_program_save, sn_program_load. */
#include "program/saved.h"
#include "tensor/eval.h"
#include "tensor/program.h"
#include "tensor/sharding.h"

/* ---- saving ---------------------------------------------------------------------------------- */

static sn_status collect(const sn_program *p, const char *note, sn_arena *arena, sn_saved *out) {
  const sn_program_code *code = p->compiled->exe->program;
  *out = (sn_saved){.fusion = code->groups.made.fusion,
                    .excess = code->groups.made.excess,
                    .jit = p->compiled->exe->backend == &sn_code_backend,
                    .memory_budget = code->memory_budget,
                    .note = note,
                    .graph = code->shared ? *code->shared : code->graph,
                    .n_inputs = p->n_inputs,
                    .n_captured = p->n_captured,
                    .donate = p->donate};
  const size_t n = p->n_inputs + p->n_captured;
  SN_TRY(sn_arena_alloc(arena, n, sizeof *out->types, (void **)&out->types));
  SN_TRY(sn_arena_alloc(arena, p->n_captured, sizeof *out->values, (void **)&out->values));
  for (size_t i = 0; i < p->n_inputs; i++) out->types[i] = p->types[i];
  for (size_t i = 0; i < p->n_captured; i++) {
    out->types[p->n_inputs + i] = p->captured[i]->type;
    out->values[i] = sn_storage_map(&p->ctx->storages, p->captured[i]->storage);
  }
  return SN_OK;
}

sn_status sn_program_write(sn_program *p, const char *note, const sn_saved_step *step,
                           const void **bytes, size_t *size) {
  if (!p) return SN_ERR_ARGUMENT;
  sn_arena *arena = sn_program_listing(p);
  sn_saved saved;
  sn_env *env = &p->ctx->env;
  sn_status status = sn_program_capture_all(p, arena);
  if (!status && p->compiled->exe->backend != &sn_cpu_backend &&
      p->compiled->exe->backend != &sn_code_backend)
    status = SN_FAIL(env, SN_ERR_UNSUPPORTED, "save",
                     "a program for %s" SN_HINT "compile it for the CPU and save that",
                     p->ctx->target.name);
  if (!status) status = collect(p, note, arena, &saved);
  if (!status && step) {
    saved.is_step = true;
    saved.step = *step;
  }
  if (!status) status = sn_saved_write(&saved, arena, bytes, size);
  return sn_context_report(p->ctx, status);
}

sn_status sn_program_save(sn_program *p, const char *note, const void **bytes, size_t *size) {
  return sn_program_write(p, note, NULL, bytes, size);
}

const char *sn_program_note(const sn_program *p) { return p ? p->note : NULL; }

/* ---- loading --------------------------------------------------------------------------------- */

sn_status sn_load_value(sn_context *ctx, const sn_type *type, const void *elements,
                        sn_tensor **out) {
  const size_t bytes = sn_type_bytes(type);
  sn_storage *storage;
  SN_TRY(sn_storage_new(&ctx->storages, bytes, &storage));
  const sn_status status = sn_tensor_from_storage(ctx, type, storage, out);
  if (status) sn_storage_release(&ctx->storages, storage);
  SN_TRY(status);
  ctx->device.backend->upload(&ctx->device, storage->data, elements, bytes);
  return SN_OK;
}

static sn_status load_captured(sn_program *p, const sn_saved *saved) {
  const size_t n = saved->n_captured;
  SN_TRY(sn_alloc_zeroed(&p->ctx->env, n, sizeof *p->captured, (void **)&p->captured));
  p->n_captured = n;
  for (size_t i = 0; i < n; i++)
    SN_TRY(
        sn_load_value(p->ctx, &saved->types[p->n_inputs + i], saved->values[i], &p->captured[i]));
  return SN_OK;
}

static sn_status load_note(sn_program *p, const char *note) {
  if (!note) return SN_OK;
  const size_t bytes = strlen(note) + 1;
  SN_TRY(sn_alloc(&p->ctx->env, bytes, (void **)&p->note));
  p->note_bytes = bytes;
  memcpy(p->note, note, bytes);
  return SN_OK;
}

static sn_status compile_saved(sn_program *p, sn_arena *arena, const sn_saved *saved) {
  const size_t n = saved->n_inputs + saved->n_captured;
  bool *donate;
  SN_TRY(sn_arena_alloc(arena, n, sizeof *donate, (void **)&donate));
  bool any = false;
  for (size_t i = 0; i < p->n_inputs; i++) {
    p->types[i] = sn_own_part(p->ctx, saved, i).type;
    p->donate[i] = donate[i] = saved->donate[i];
    any = any || donate[i];
  }
  sn_compile_options options = p->ctx->options;
  options.saved = true;
  options.fusion = saved->fusion;
  options.excess = saved->excess;
  options.jit = options.jit && saved->jit;
  options.memory_budget = saved->memory_budget;
  options.donate = any ? donate : NULL;
  return sn_compile_cached(p->ctx, &saved->graph, &options, &p->compiled);
}

static sn_status load_in(sn_context *ctx, sn_arena *arena, const void *bytes, size_t size,
                         bool is_step, sn_program **out) {
  sn_saved saved;
  sn_program *p;
  SN_TRY(sn_saved_read(bytes, size, arena, &saved));
  SN_FAIL_IF(&ctx->env, is_step && !saved.is_step, SN_ERR_ARGUMENT, NULL,
             "this saved program is no training step");
  if (is_step) SN_TRY(sn_shard_step(ctx, arena, &saved));
  SN_TRY(sn_program_new(ctx, saved.n_inputs, saved.graph.n_outputs, &p));
  sn_status status = load_captured(p, &saved);
  if (!status) status = load_note(p, saved.note);
  if (!status && saved.is_step) status = sn_step_adopt(p, &saved);
  if (!status) status = compile_saved(p, arena, &saved);
  if (status)
    sn_program_release(p);
  else
    *out = p;
  return status;
}

/* Any error of the compiler for a graph that was read is reported as an error of the bytes. */
static sn_status bytes_error(sn_env *env, sn_status status) {
  if (status == SN_OK || status == SN_ERR_MEMORY || status == SN_ERR_WORKER) return status;
  const sn_error why = env->error;
  return SN_FAIL(env, SN_ERR_ARGUMENT, "load", "%s%s%s", why.message, *why.hint ? SN_HINT : "",
                 why.hint);
}

sn_status sn_program_read(sn_context *ctx, const void *bytes, size_t size, bool is_step,
                          sn_program **out) {
  sn_arena arena;
  sn_arena_init(&arena, &ctx->env);
  const sn_status status = bytes_error(&ctx->env, load_in(ctx, &arena, bytes, size, is_step, out));
  sn_arena_free(&arena);
  return sn_context_report(ctx, status);
}

sn_status sn_program_load(sn_context *ctx, const void *bytes, size_t size, sn_program **out) {
  return sn_program_read(ctx, bytes, size, false, out);
}
