/* training_step.c - training steps as saved programs: sn_step_save, sn_step_load. sn_step_info is what a
 * trainer has to know of a step. It is in an arena of its own, with the values of the first state. These
 * never change: sn_step_init returns copies. */
#include "program/saved.h"
#include "tensor/eval.h"
#include "tensor/program.h"
#include "tensor/sharding.h"

typedef struct sn_program_step {
  sn_arena arena;
  sn_step_info info;
  sn_tensor **values; /* the first state, then the rates; an element is NULL until it is loaded */
} sn_program_step;

/* ---- saving ---------------------------------------------------------------------------------- */

static sn_status check_parts(sn_program *p, const sn_step_parts *parts, size_t n) {
  sn_env *env = &p->ctx->env;
  SN_FAIL_IF(env, n > p->n_inputs || p->n_outputs <= parts->n_state, SN_ERR_ARGUMENT, "step",
             "a state of %zu tensors and %zu rates, in a program of %zu inputs and %zu results",
             parts->n_state, parts->n_rates, p->n_inputs, p->n_outputs);
  for (size_t i = 0; i < n; i++)
    SN_FAIL_IF(env, !sn_type_equal(&parts->values[i]->type, &p->types[i]), SN_ERR_ARGUMENT, "step",
               "value %zu is of another kind than the program's input", i);
  return SN_OK;
}

/* Finds the elements of the values in memory, and the paths of the inputs. */
static sn_status find_values(sn_program *p, const sn_step_parts *parts, size_t n, sn_arena *arena,
                             sn_saved_step *out) {
  SN_TRY(sn_context_check_tensors(p->ctx, parts->values, n, "step: value"));
  SN_TRY(check_parts(p, parts, n));
  SN_TRY(sn_eval_tensors(p->ctx, parts->values, n, NULL));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *out->values, (void **)&out->values));
  SN_TRY(sn_arena_alloc(arena, p->n_inputs, sizeof *out->paths, (void **)&out->paths));
  for (size_t i = 0; i < n; i++) {
    SN_TRY(sn_tensor_ready(parts->values[i]));
    out->values[i] = sn_storage_map(&p->ctx->storages, parts->values[i]->storage);
  }
  for (size_t i = 0; i < p->n_inputs; i++) out->paths[i] = parts->paths[i];
  return SN_OK;
}

sn_status sn_step_save(sn_program *p, const sn_step_parts *parts, const char *note,
                       const void **bytes, size_t *size) {
  if (!p) return SN_ERR_ARGUMENT;
  sn_context *ctx = p->ctx;
  sn_arena arena;
  sn_arena_init(&arena, &ctx->env);
  sn_saved_step step = {.deterministic = ctx->target.deterministic,
                        .precision = parts->precision,
                        .n_state = parts->n_state,
                        .n_rates = parts->n_rates};
  sn_status status = find_values(p, parts, parts->n_state + parts->n_rates, &arena, &step);
  if (!status) status = sn_program_write(p, note, &step, bytes, size);
  sn_arena_free(&arena);
  return sn_context_report(ctx, status);
}

/* ---- loading --------------------------------------------------------------------------------- */

static sn_status describe(sn_program *p, const sn_saved *saved, sn_program_step *step) {
  const sn_saved_step *from = &saved->step;
  sn_step_input *inputs;
  SN_TRY(sn_arena_alloc(&step->arena, p->n_inputs, sizeof *inputs, (void **)&inputs));
  for (size_t i = 0; i < p->n_inputs; i++) {
    const sn_type *type = &saved->types[i];
    const int parts = sn_own_part(p->ctx, saved, i).parts;
    inputs[i] = (sn_step_input){.dtype = type->dtype, .rank = type->rank, .parts = parts};
    memcpy(inputs[i].dims, type->dims, sizeof inputs[i].dims);
    SN_TRY(sn_arena_text(&step->arena, from->paths[i] ? from->paths[i] : "", &inputs[i].path));
  }
  step->info = (sn_step_info){.n_state = from->n_state,
                              .n_rates = from->n_rates,
                              .n_batch = p->n_inputs - from->n_state - from->n_rates,
                              .n_others = p->n_outputs - from->n_state - 1,
                              .inputs = inputs,
                              .precision = from->precision,
                              .deterministic = from->deterministic};
  return SN_OK;
}

sn_status sn_step_adopt(sn_program *p, const sn_saved *saved) {
  const size_t n = saved->step.n_state + saved->step.n_rates;
  SN_TRY(sn_alloc_zeroed(&p->ctx->env, 1, sizeof *p->step, (void **)&p->step));
  sn_arena_init(&p->step->arena, &p->ctx->env);
  SN_TRY(describe(p, saved, p->step));
  SN_TRY(sn_arena_alloc(&p->step->arena, n, sizeof *p->step->values, (void **)&p->step->values));
  for (size_t i = 0; i < n; i++) {
    const sn_own own = sn_own_part(p->ctx, saved, i);
    const char *elements = saved->step.values[i];
    SN_TRY(sn_load_value(p->ctx, &own.type, elements + own.offset, &p->step->values[i]));
  }
  return SN_OK;
}

void sn_step_forget(sn_program *p) {
  sn_program_step *step = p->step;
  if (!step) return;
  for (size_t i = 0; step->values && i < step->info.n_state + step->info.n_rates; i++)
    sn_release(step->values[i]);
  sn_arena_free(&step->arena);
  sn_free(&p->ctx->env, step, sizeof *step);
}

sn_status sn_step_load(sn_context *ctx, const void *bytes, size_t size, sn_program **out) {
  return sn_program_read(ctx, bytes, size, true, out);
}

const sn_step_info *sn_step_describe(const sn_program *p) {
  return p && p->step ? &p->step->info : NULL;
}

const void *sn_step_value(const sn_program *p, size_t i) {
  return sn_storage_map(&p->ctx->storages, p->step->values[i]->storage);
}

static sn_status copy_values(sn_program *p, size_t n, sn_tensor **out) {
  SN_FAIL_IF(&p->ctx->env, !p->step, SN_ERR_ARGUMENT, "step", "this program is no training step");
  SN_TRY(sn_scope_reserve(p->ctx, n));
  for (size_t i = 0; i < n; i++) {
    const sn_tensor *from = p->step->values[i];
    SN_TRY(sn_load_value(p->ctx, &from->type, sn_step_value(p, i), &out[i]));
  }
  return SN_OK;
}

sn_status sn_step_init(sn_program *p, sn_tensor **out) {
  if (!p) return SN_ERR_ARGUMENT;
  const size_t n = p->step ? p->step->info.n_state + p->step->info.n_rates : 0;
  memset(out, 0, n * sizeof *out);
  const sn_status status = copy_values(p, n, out);
  for (size_t i = 0; i < n; i++) {
    if (status) sn_release(out[i]);
    out[i] = status ? NULL : sn_hand_out(out[i]);
  }
  return sn_context_report(p->ctx, status);
}
