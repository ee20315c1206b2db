/* program.c - functions compiled once and called often: sn_compile, sn_program_run. */
#include <math.h>
#include <string.h>

#include "csource/csource.h"
#include "inspect/graph_json.h"
#include "inspect/watched.h"
#include "tensor/eval.h"
#include "tensor/prelude.h"
#include "tensor/program.h"
#include "tensor/trace.h"
#include "tensor/tune.h"
#include "tensor/tuned.h"

/* ---- compiling ------------------------------------------------------------------------------- */

void sn_program_release(sn_program *p) {
  if (!p) return;
  sn_env *env = &p->ctx->env;
  for (size_t i = 0; i < p->n_captured; i++) sn_release(p->captured[i]);
  if (p->compiled && p->compiled->exe && !p->ctx->jobs) sn_executable_forget(p->compiled->exe);
  sn_tuner_free(p->tuner);
  sn_compiled_release(p->ctx, p->compiled);
  sn_compiled_release(p->ctx, p->untuned);
  sn_program_release(p->prelude); /* it has no prelude itself, so this recursion ends */
  sn_arena_free(&p->listing);
  sn_arena_free(&p->tracing);
  sn_arena_free(&p->cutting);
  sn_free(env, p->captured, p->n_captured * sizeof(sn_tensor *));
  sn_free(env, p->types, p->n_inputs * sizeof *p->types);
  sn_free(env, p->donate, p->n_inputs * sizeof *p->donate);
  sn_free(env, p->note, p->note_bytes);
  sn_step_forget(p);
  sn_free(env, p, sizeof *p);
}

sn_status sn_program_new(sn_context *ctx, size_t n_inputs, size_t n_outputs, sn_program **out) {
  sn_env *env = &ctx->env;
  sn_program *p;
  SN_TRY(sn_alloc_zeroed(env, 1, sizeof *p, (void **)&p));
  *p = (sn_program){.ctx = ctx, .n_inputs = n_inputs, .n_outputs = n_outputs};
  sn_arena_init(&p->listing, env);
  sn_arena_init(&p->tracing, env);
  sn_arena_init(&p->cutting, env);
  sn_status status = sn_alloc_zeroed(env, n_inputs, sizeof *p->types, (void **)&p->types);
  if (!status) status = sn_alloc_zeroed(env, n_inputs, sizeof *p->donate, (void **)&p->donate);
  if (!status)
    *out = p;
  else
    sn_program_release(p);
  return status;
}

static sn_status capture(sn_program *p, sn_tensor *const *tensors, size_t n, size_t n_results) {
  SN_TRY(sn_alloc_zeroed(&p->ctx->env, n + n_results, sizeof *p->captured, (void **)&p->captured));
  p->n_captured = n + n_results;
  for (size_t i = 0; i < n; i++) p->captured[i] = sn_retain(tensors[i]);
  return SN_OK;
}

static sn_status compile_prelude(sn_program *p, const sn_trace *trace, const sn_prelude *cut) {
  sn_compile_options options = p->options;
  SN_TRY(sn_program_new(p->ctx, 0, cut->n, &p->prelude));
  SN_TRY(capture(p->prelude, trace->arguments + p->n_inputs, trace->n_arguments - p->n_inputs, 0));
  options.donate = NULL;
  return sn_compile_cached(p->ctx, &cut->prelude, &options, &p->prelude->compiled);
}

/* If a tuning for this program is known, compiles it with that instead. */
static sn_status use_tuned(sn_program *p, const sn_graph *graph) {
  const sn_kept_tuning *kept = sn_tuned_find(p->ctx, p->compiled);
  sn_compile_options options = p->options;
  sn_compiled *form;
  if (!kept) return SN_OK;
  p->tunes = false;
  options.tuning = kept->tuning;
  SN_TRY(sn_compile_begin(p->ctx, graph, &options, &form));
  p->untuned = p->compiled;
  p->compiled = form;
  return SN_OK;
}

/* The known tuning cannot be compiled, e.g. within the memory budget: forgets it, and goes on without. */
static void forget_tuned(sn_program *p) {
  sn_tuned_drop(p->ctx, p->compiled);
  sn_compiled_release(p->ctx, p->compiled);
  p->compiled = p->untuned;
  p->untuned = NULL;
  p->tunes = !p->options.record;
}

/* After compiling. */
static sn_status begin_tuning(sn_program *p) {
  sn_compiled_release(p->ctx, p->untuned);
  p->untuned = NULL;
  return p->tunes && !p->tuner ? sn_tuner_new(p->ctx, p->compiled, &p->options, &p->tuner) : SN_OK;
}

static sn_status compile_in(sn_program *p, sn_tensor *const *inputs, sn_tensor *const *outputs,
                            const sn_program_options *wanted) {
  const bool *donate = wanted->donate;
  sn_arena *arena = &p->tracing;
  sn_env *env = &p->ctx->env;
  for (size_t i = 0; i < p->n_inputs; i++) {
    SN_FAIL_IF(env, inputs[i]->state != SN_TENSOR_PLACEHOLDER, SN_ERR_ARGUMENT, "compile",
               "input %zu is not a placeholder", i);
    p->types[i] = inputs[i]->type;
    p->donate[i] = donate && donate[i];
  }
  sn_trace trace;
  SN_TRY(sn_trace_tensors(p->ctx, arena, SN_TRACE_PROGRAM, inputs, p->n_inputs, outputs,
                          p->n_outputs, &trace));
  p->whole = trace.graph;
  const sn_target *target = p->ctx->options.target;
  sn_graph graph = trace.graph;
  sn_prelude cut = {0};
  if (p->n_inputs) {
    SN_TRY(sn_gather_sums(target, &trace.graph, p->n_inputs, &p->cutting, &graph));
    SN_TRY(sn_prelude_cut(target, &graph, p->n_inputs, &p->cutting, &cut));
  }
  SN_TRY(capture(p, trace.arguments + p->n_inputs, trace.n_arguments - p->n_inputs, cut.n));
  bool *all = NULL;
  if (donate) {
    SN_TRY(sn_arena_alloc(arena, trace.n_arguments + cut.n, sizeof *all, (void **)&all));
    memcpy(all, p->donate, p->n_inputs * sizeof *all);
  }
  sn_compile_options options = p->ctx->options;
  _Static_assert(SN_SWITCH_COUNT <= 32, "one bit each");
  for (int i = 0; i < SN_SWITCH_COUNT; i++)
    if ((wanted->passes_off | wanted->passes_on) >> i & 1)
      *sn_switch(&options, i) = wanted->passes_on >> i & 1;
  options.record = wanted->record;
  options.memory_budget = wanted->memory_budget;
  options.excess = wanted->excess_precision;
  options.donate = all;
  p->options = options;
  p->asks_tuning = wanted->tune;
  p->tunes = wanted->tune && !wanted->record;
  if (cut.n) SN_TRY(compile_prelude(p, &trace, &cut));
  const sn_graph *compiled = cut.n ? &cut.remainder : &graph;
  SN_TRY(sn_compile_begin(p->ctx, compiled, &options, &p->compiled));
  return wanted->tune ? use_tuned(p, compiled) : SN_OK;
}

sn_status sn_program_begin_compile(sn_context *ctx, sn_tensor *const *inputs, size_t n_inputs,
                                   sn_tensor *const *outputs, size_t n_outputs,
                                   const sn_program_options *options, sn_program **out) {
  const sn_program_options none = {0};
  SN_TRY(sn_context_check_tensors(ctx, inputs, n_inputs, "compile: input"));
  SN_TRY(sn_context_check_tensors(ctx, outputs, n_outputs, "compile: output"));
  sn_program *p = NULL;
  SN_TRY(sn_context_report(ctx, sn_program_new(ctx, n_inputs, n_outputs, &p)));
  const sn_status status = compile_in(p, inputs, outputs, options ? options : &none);
  if (status) {
    sn_program_release(p);
    return sn_context_report(ctx, status);
  }
  *out = p;
  return SN_OK;
}

sn_status sn_program_continue_compile(sn_program *p, double until, bool *done) {
  sn_status status = sn_compile_continue(p->ctx, p->compiled, until);
  if (status && p->untuned) {
    forget_tuned(p);
    status = sn_compile_continue(p->ctx, p->compiled, until);
  }
  *done = !status && p->compiled->exe;
  if (*done) status = begin_tuning(p);
  if (*done) sn_arena_free(&p->cutting);
  if (*done && !p->prelude && !p->options.record) {
    sn_arena_free(&p->tracing);
    p->whole = (sn_graph){0};
  }
  return sn_context_report(p->ctx, status);
}

sn_status sn_compile_with(sn_context *ctx, sn_tensor *const *inputs, size_t n_inputs,
                          sn_tensor *const *outputs, size_t n_outputs,
                          const sn_program_options *options, sn_program **out) {
  sn_program *p = NULL; /* always set unless an error is returned, which not every compiler sees */
  bool done;
  *out = NULL;
  SN_TRY(sn_program_begin_compile(ctx, inputs, n_inputs, outputs, n_outputs, options, &p));
  const sn_status status = sn_program_continue_compile(p, INFINITY, &done);
  if (status)
    sn_program_release(p);
  else
    *out = p;
  return status;
}

sn_status sn_compile(sn_context *ctx, sn_tensor *const *inputs, size_t n_inputs,
                     sn_tensor *const *outputs, size_t n_outputs, const bool *donate,
                     sn_program **out) {
  const sn_program_options options = {.donate = donate};
  return sn_compile_with(ctx, inputs, n_inputs, outputs, n_outputs, &options, out);
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct call { /* what is collected for one run of a program */
  sn_storage **arguments, **results;
  sn_tensor **outputs;
  sn_storage **copies; /* per input a copy to donate if others still hold the value, else NULL */
} call;

static sn_status check_inputs(sn_program *p, sn_tensor *const *inputs) {
  sn_env *env = &p->ctx->env;
  const sn_step_info *step = sn_step_describe(p);
  for (size_t i = 0; i < p->n_inputs; i++) {
    const sn_type *is = &inputs[i]->type, *want = &p->types[i];
    const char *space = step ? ", " : "", *path = step ? step->inputs[i].path : "";
    SN_FAIL_IF(env, !sn_same_dims(is, want), SN_ERR_SHAPE, "program",
               "argument %zu%s%s has shape %*p, compiled for %*p", i, space, path, is->rank,
               is->dims, want->rank, want->dims);
    SN_FAIL_IF(env, is->dtype != want->dtype, SN_ERR_DTYPE, "program",
               "argument %zu%s%s is %s, compiled for %s", i, space, path, sn_dtype_name(is->dtype),
               sn_dtype_name(want->dtype));
    for (size_t j = 0; p->donate[i] && j < p->n_inputs; j++)
      SN_FAIL_IF(env, j != i && inputs[j] == inputs[i], SN_ERR_ARGUMENT, "program",
                 "donated argument %zu is given twice", i);
  }
  return SN_OK;
}

/* If others hold a donated value, too - another tensor, or a lazy expression that still has to read it -
 * a copy is donated instead: they must not see the value change. */
static sn_status own_donated(sn_program *p, size_t i, const sn_tensor *input, call *c) {
  sn_storage *storage = c->arguments[i];
  if (!p->donate[i] || (storage->refs == 1 && input->refs == 1)) return SN_OK;
  sn_jobs_collect(p->ctx, true);
  SN_TRY(sn_storage_new(&p->ctx->storages, storage->bytes, &c->copies[i]));
  p->ctx->device.backend->copy(&p->ctx->device, c->copies[i]->data, storage->data, storage->bytes);
  c->arguments[i] = c->copies[i];
  return SN_OK;
}

static sn_status prepare_call(sn_program *p, sn_tensor *const *inputs, sn_job *job, call *c) {
  const sn_groups *groups = &job->compiled->exe->program->groups;
  for (size_t i = 0; i < p->n_inputs + p->n_captured; i++) {
    const sn_tensor *t = i < p->n_inputs ? inputs[i] : p->captured[i - p->n_inputs];
    c->arguments[i] = t->storage;
    if (i < p->n_inputs) SN_TRY(own_donated(p, i, t, c));
    job->run.buffers[i] = c->arguments[i]->data;
  }
  SN_TRY(sn_job_outputs(job, c->arguments, c->results));
  for (size_t i = 0; i < p->n_outputs; i++) {
    const sn_type *type = &groups->values[groups->outputs[i]].type;
    SN_TRY(sn_tensor_from_storage(p->ctx, type, c->results[i], &c->outputs[i]));
    c->results[i] = NULL; /* its reference is the tensor's now */
  }
  return SN_OK;
}

static void abandon_call(sn_program *p, call *c) {
  for (size_t i = 0; i < p->n_outputs; i++) {
    sn_storage_release(&p->ctx->storages, c->results[i]);
    sn_release(c->outputs[i]);
  }
}

static void use_up(sn_program *p, sn_tensor *const *inputs) {
  for (size_t i = 0; i < p->n_inputs; i++) {
    if (!p->donate[i] || inputs[i]->refs > 1) continue;
    sn_storage_release(&p->ctx->storages, inputs[i]->storage);
    inputs[i]->storage = NULL;
    inputs[i]->state = SN_TENSOR_USED_UP;
  }
}

static sn_status run_in(sn_program *p, sn_arena *arena, sn_tensor *const *inputs,
                        sn_tensor **outputs, uint32_t *ticket);

/* Runs the prelude at the first call, and again if a worker was lost during it. */
static sn_status run_prelude(sn_program *p, sn_arena *arena, uint32_t *ticket) {
  if (!p->prelude) return SN_OK;
  const size_t n = p->prelude->n_outputs;
  sn_tensor **results = p->captured + p->n_captured - n, **made;
  bool there = true;
  for (size_t i = 0; i < n; i++) there = there && results[i] && !results[i]->storage->failed;
  if (there) return SN_OK;
  SN_TRY(sn_arena_alloc(arena, n, sizeof *made, (void **)&made));
  SN_TRY(run_in(p->prelude, arena, NULL, made, ticket));
  for (size_t i = 0; i < n; i++) {
    sn_release(results[i]);
    results[i] = sn_keep(made[i]);
  }
  return SN_OK;
}

sn_status sn_program_capture_all(sn_program *p, sn_arena *arena) {
  SN_TRY(run_prelude(p, arena, NULL));
  SN_TRY(sn_eval_tensors(p->ctx, p->captured, p->n_captured, NULL));
  for (size_t i = 0; i < p->n_captured; i++) SN_TRY(sn_tensor_ready(p->captured[i]));
  return SN_OK;
}

/* The compiled form that the next call runs. */
static sn_compiled *form_of(const sn_program *p) {
  return p->tuner && !p->tuned ? sn_tuner_pick(p->tuner) : p->compiled;
}

/* After a call: goes on with tuning. */
static void tune(sn_program *p) {
  if (!p->tuner || p->tuned || !sn_tuner_advance(p->tuner)) return;
  sn_compiled_release(p->ctx, p->compiled);
  p->compiled = sn_tuner_end(p->tuner);
  p->tuned = true;
}

static sn_status run_in(sn_program *p, sn_arena *arena, sn_tensor *const *inputs,
                        sn_tensor **outputs, uint32_t *ticket) {
  sn_context *ctx = p->ctx;
  const size_t n_args = p->n_inputs + p->n_captured;
  call c;
  SN_TRY(check_inputs(p, inputs));
  SN_TRY(run_prelude(p, arena, ticket));
  SN_TRY(sn_scope_reserve(ctx, p->n_outputs));
  SN_TRY(sn_eval_tensors(ctx, inputs, p->n_inputs, ticket));
  SN_TRY(sn_eval_tensors(ctx, p->captured, p->n_captured, ticket));
  SN_TRY(sn_arena_alloc(arena, n_args, sizeof *c.arguments, (void **)&c.arguments));
  SN_TRY(sn_arena_alloc(arena, p->n_inputs, sizeof *c.copies, (void **)&c.copies));
  SN_TRY(sn_arena_alloc(arena, p->n_outputs, sizeof *c.results, (void **)&c.results));
  SN_TRY(sn_arena_alloc(arena, p->n_outputs, sizeof *c.outputs, (void **)&c.outputs));
  sn_job *job;
  SN_TRY(sn_job_new(ctx, form_of(p), &job));
  job->run.clocked = p->tuner && !p->tuned;
  sn_status status = prepare_call(p, inputs, job, &c);
  for (size_t i = 0; i < p->n_inputs; i++)
    if (c.copies[i]) sn_storage_release(&ctx->storages, c.copies[i]); /* the job holds it */
  uint32_t number = 0;
  if (!status && !ctx->jobs) sn_executable_keep(job->run.exe, job->run.versions);
  if (status)
    sn_job_free(job);
  else
    status = ticket ? sn_job_submit(job, &number) : sn_job_run(job);
  if (status) {
    abandon_call(p, &c);
    return status;
  }
  use_up(p, inputs); /* before outputs are written: they may go into the caller's array of inputs */
  for (size_t i = 0; i < p->n_outputs; i++) {
    c.outputs[i]->ticket = number;
    outputs[i] = sn_hand_out(c.outputs[i]);
  }
  if (ticket && number) *ticket = number;
  tune(p);
  return SN_OK;
}

static sn_status run(sn_program *p, sn_tensor *const *inputs, sn_tensor **outputs,
                     uint32_t *ticket) {
  if (!p) return SN_ERR_ARGUMENT;
  SN_TRY(sn_context_check_tensors(p->ctx, inputs, p->n_inputs, "program: argument"));
  sn_arena arena;
  sn_arena_init(&arena, &p->ctx->env);
  const sn_status status = run_in(p, &arena, inputs, outputs, ticket);
  sn_arena_free(&arena);
  return sn_context_report(p->ctx, status);
}

sn_status sn_program_run(sn_program *p, sn_tensor *const *inputs, sn_tensor **outputs) {
  return run(p, inputs, outputs, NULL);
}

sn_status sn_program_watch(sn_program *p, sn_tensor *const *inputs, sn_tensor **outputs,
                           const char **out) {
  sn_watch watch = {0};
  *out = NULL;
  p->ctx->watch = &watch;
  const sn_status status = run(p, inputs, outputs, NULL);
  p->ctx->watch = NULL;
  if (status || !watch.found) return status;
  sn_text text = sn_text_in(sn_program_listing(p));
  sn_watched_json(&text, &watch);
  *out = text.data;
  return sn_context_report(p->ctx, text.status);
}

sn_status sn_program_run_async(sn_program *p, sn_tensor *const *inputs, sn_tensor **outputs,
                               uint32_t *ticket) {
  return run(p, inputs, outputs, ticket);
}

void sn_program_describe(const sn_program *p, sn_program_info *out) {
  *out = (sn_program_info){0};
  if (!p) return;
  const sn_program_code *program = p->compiled->exe->program;
  *out = (sn_program_info){.nodes = program->graph.n_nodes,
                           .kernels = program->n_steps,
                           .arena_bytes = program->plan.arena_bytes,
                           .naive_bytes = program->plan.naive_bytes,
                           .flops = program->flops,
                           .bytes = program->bytes,
                           .inputs = p->n_inputs,
                           .outputs = p->n_outputs};
}

const char *sn_program_text(const sn_program *p, const char *stage) {
  if (!p) return NULL;
  const sn_program_code *program = p->compiled->exe->program;
  for (size_t i = 0; i < program->n_texts; i++)
    if (!strcmp(program->texts[i].stage, stage)) return program->texts[i].text;
  return NULL;
}

const char *sn_program_inspection(const sn_program *p) {
  return p ? p->compiled->exe->program->inspection : NULL;
}

sn_status sn_program_tuning(sn_program *p, const char **out) {
  *out = NULL;
  if (!p) return SN_ERR_ARGUMENT;
  const sn_kept_tuning *kept = p->asks_tuning ? sn_tuned_find(p->ctx, p->compiled) : NULL;
  if (!p->tuner && !kept) return SN_OK;
  sn_text text = sn_text_in(sn_program_listing(p));
  if (p->tuner)
    sn_tuner_json(p->tuner, &text);
  else
    sn_tuning_report_json(&kept->report, &kept->tuning, true, &text);
  *out = text.data;
  return sn_context_report(p->ctx, text.status);
}

sn_arena *sn_program_listing(sn_program *p) {
  sn_arena_free(&p->listing);
  sn_arena_init(&p->listing, &p->ctx->env);
  return &p->listing;
}

sn_status sn_program_wat(sn_program *p, size_t kernel, const char **out) {
  if (!p) return SN_ERR_ARGUMENT;
  sn_context *ctx = p->ctx;
  const sn_executable *exe = p->compiled->exe;
  if (kernel >= exe->program->n_steps)
    return sn_context_report(ctx, SN_FAIL(&ctx->env, SN_ERR_ARGUMENT, "wat",
                                          "there is no kernel %zu of %zu", kernel,
                                          exe->program->n_steps));
  return sn_context_report(ctx, exe->backend->listing(sn_program_listing(p), exe, kernel, out));
}

static sn_status write_c(sn_program *p, const sn_executable *exe, const char *name,
                         const char **out) {
  return sn_c_source(exe->program, p->n_inputs, name, sn_program_listing(p), out);
}

/* C source has no prelude that runs beforehand, so the whole graph is compiled for it. */
static sn_status write_whole(sn_program *p, const char *name, const char **out) {
  sn_compile_options options = p->options;
  sn_executable *exe;
  options.record = options.jit = false;
  options.memory_budget = 0; /* C has a buffer for each value */
  SN_TRY(sn_compile_graph(&p->whole, &options, &exe));
  const sn_status status = write_c(p, exe, name, out);
  sn_executable_free(exe);
  return status;
}

sn_status sn_program_c_source(sn_program *p, const char *name, const char **out) {
  if (!p) return SN_ERR_ARGUMENT;
  return sn_context_report(p->ctx, p->prelude ? write_whole(p, name, out)
                                              : write_c(p, p->compiled->exe, name, out));
}

static sn_status write_graph(sn_program *p, const char **out) {
  sn_arena *arena = sn_program_listing(p);
  sn_graph graph;
  SN_FAIL_IF(&p->ctx->env, !p->options.record, SN_ERR_ARGUMENT, NULL,
             "the program was not compiled with record");
  SN_TRY(sn_readable_graph(&p->whole, &p->options, arena, &graph));
  return sn_graph_json(&graph, arena, out);
}

sn_status sn_program_graph(sn_program *p, const char **out) {
  if (!p) return SN_ERR_ARGUMENT;
  return sn_context_report(p->ctx, write_graph(p, out));
}

sn_tensor *sn_program_captured(const sn_program *p, size_t number) {
  if (!p) return NULL;
  const size_t made =
      p->prelude ? p->prelude->n_outputs : 0; /* the prelude's results, which are last */
  return number < p->n_captured - made ? p->captured[number] : NULL;
}

sn_program *sn_program_prelude(const sn_program *p) { return p ? p->prelude : NULL; }
