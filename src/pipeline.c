/* pipeline.c - the way from a traced graph to something that runs, as a table of contents. The
 * names of the stages are those of dumps, switches and the playground:
 *
 *   trace -> (expand) -> the passes of passes.def -> prepare -> groups -> plan -> kernels
 */
#include "pipeline.h"

#include "base/log.h"
#include "base/size.h"
#include "fuse/fuse.h"
#include "inspect/record.h"
#include "jit/jit.h"
#include "jit/listing.h"

#define MAX_TEXTS (SN_PASS_COUNT + 6)

/* Everything about the compile under way. */
typedef struct compiling {
  sn_executable *exe;
  const sn_compile_options *options;
  sn_record *record; /* NULL: off */
  sn_arena turns[2]; /* of the passes' graphs, see run_pass */
  int turn;
} compiling;

/* Whether somebody wants to see a stage of this level. */
static bool is_watched(const compiling *c, int level) {
  return c->record || c->exe->arena.env->debug >= level;
}

static void keep_text(compiling *c, int level, const char *stage, const char *text) {
  if (c->exe->arena.env->debug >= level) {
    sn_log_printf("--- %s\n", stage);
    sn_log_write(text);
  }
  c->exe->texts[c->exe->n_texts++] = (sn_stage_text){stage, text};
}

/* After every stage: the grammar is checked, and the IR shown to whoever asked for it. */
static sn_status finish_stage(compiling *c, const char *stage, const sn_graph *graph) {
#ifdef SINTER_TEST
  SN_TRY(sn_graph_verify(graph));
#endif
  sn_log(c->exe->arena.env, SN_LOG_EVENTS, "%s: %zu nodes\n", stage, graph->n_nodes);
  if (!is_watched(c, SN_LOG_IR)) return SN_OK;
  const char *text;
  SN_TRY(sn_graph_text(graph, &c->exe->arena, &text));
  keep_text(c, SN_LOG_IR, stage, text);
  if (c->record) sn_record_graph(c->record, stage, text, graph, NULL);
  return SN_OK;
}

/* Puts a pass's graph in the place of *graph. They lie in two arenas by turns, so that no more than
 * two of them are there at a time. */
static sn_status run_pass(compiling *c, sn_pass_fn *pass, const char *name, sn_graph *graph) {
  const sn_graph from = *graph;
  c->turn ^= 1;
  sn_arena_free(&c->turns[c->turn]);
  *graph = (sn_graph){.arena = &c->turns[c->turn]};
  const sn_pass_context context = {c->options->target, c->options->pass_on[SN_PASS_cse]};
  SN_TRY(pass(&context, &from, graph));
  return finish_stage(c, name, graph);
}

static void free_turns(compiling *c) {
  for (int i = 0; i < 2; i++) sn_arena_free(&c->turns[i]);
}

static sn_status run_passes(compiling *c, const sn_graph *traced, sn_graph *out) {
  *out = *traced;
  SN_TRY(finish_stage(c, "trace", out));
  if (sn_needs_expanding(traced)) SN_TRY(run_pass(c, sn_expand, "expand", out));
  for (int i = 0; i < SN_PASS_COUNT; i++)
    if (c->options->pass_on[i])
      SN_TRY(run_pass(c, sn_pass_table[i].run, sn_pass_table[i].name, out));
  return SN_OK;
}

static sn_status cut_into_groups(compiling *c) {
  sn_executable *exe = c->exe;
  SN_TRY(sn_fuse_graph(&exe->graph, c->options->target, c->options->fusion, &exe->groups));
  if (!is_watched(c, SN_LOG_GROUPS)) return SN_OK;
  const char *text;
  SN_TRY(sn_groups_text(&exe->groups, &exe->arena, &text));
  keep_text(c, SN_LOG_GROUPS, "groups", text);
  if (c->record) sn_record_graph(c->record, "groups", text, &exe->graph, &exe->groups);
  return SN_OK;
}

static sn_status plan_memory(compiling *c) {
  sn_executable *exe = c->exe;
  SN_TRY(
      sn_plan_memory(&exe->arena, &exe->groups, c->options->donate, exe->n_arguments, &exe->plan));
#ifdef SINTER_TEST
  SN_CHECK(exe->arena.env, sn_plan_is_sound(&exe->groups, &exe->plan));
#endif
  if (!is_watched(c, SN_LOG_GROUPS)) return SN_OK;
  const char *text;
  SN_TRY(sn_plan_text(&exe->groups, &exe->plan, &exe->arena, &text));
  keep_text(c, SN_LOG_GROUPS, "plan", text);
  if (c->record) sn_record_kernels(c->record, "plan", text, &exe->groups);
  return SN_OK;
}

static sn_status make_kernels(compiling *c) {
  sn_executable *exe = c->exe;
  const sn_machine *machine = &c->options->machine;
  sn_env *env = exe->arena.env;
  const size_t n = exe->groups.n_groups;
  SN_TRY(sn_arena_alloc(&exe->arena, n, sizeof *exe->kernels, (void **)&exe->kernels));
  SN_TRY(sn_arena_alloc(&exe->arena, n, sizeof *exe->profile_rows, (void **)&exe->profile_rows));
  SN_TRY(
      sn_arena_alloc(&exe->arena, exe->plan.n_values, sizeof *exe->values, (void **)&exe->values));
  size_t shared = 0, worker = 0;
  for (size_t i = 0; i < n; i++) {
    const sn_group *group = &exe->groups.groups[i];
    SN_TRY(sn_kernel_make(&exe->arena, machine, group, &exe->kernels[i]));
    if (exe->kernels[i].shared_bytes > shared) shared = exe->kernels[i].shared_bytes;
    if (exe->kernels[i].worker_bytes > worker) worker = exe->kernels[i].worker_bytes;
    sn_packed *packed = &exe->kernels[i].packed;
    if (packed->wanted) {
      const sn_place *b = &exe->plan.places[group->contraction.factors[1].value];
      packed->wanted = b->kind == SN_PLACE_ARGUMENT;
      packed->argument = b->index;
    }
    exe->flops += group->flops;
    exe->bytes += group->bytes;
  }
  exe->n_kernels = n;
  const bool fused = machine->target->fused;
  if (c->options->jit) SN_TRY(sn_jit_kernels(&exe->arena, fused, exe->kernels, n, &exe->code));
  exe->shared_offset = exe->plan.arena_bytes;
  SN_CHECK(env, sn_size_round_up(shared, 64, &shared) && sn_size_round_up(worker, 64, &worker));
  SN_FAIL_IF(env, sn_size_add_overflows(exe->shared_offset, shared, &exe->workers_offset),
             SN_ERR_MEMORY, "plan: intermediates are too large: %zu bytes and %zu more",
             exe->shared_offset, shared);
  exe->worker_stride = worker;
  if (!is_watched(c, SN_LOG_CODE)) return SN_OK;
  const char *text;
  SN_TRY(sn_kernels_text(exe->kernels, n, &exe->arena, &text));
  keep_text(c, SN_LOG_CODE, "kernels", text);
  if (c->record) sn_record_kernels(c->record, "kernels", text, &exe->groups);
  for (size_t i = 0; i < n && env->debug >= SN_LOG_CODE; i++) {
    SN_TRY(sn_jit_listing(&exe->arena, fused, &exe->kernels[i], &text));
    sn_log_printf("--- k%zu %s\n", i, exe->groups.groups[i].name);
    sn_log_write(text);
  }
  return SN_OK;
}

static sn_status compile_stages(compiling *c, const sn_graph *traced) {
  sn_executable *exe = c->exe;
  sn_graph graph;
  exe->n_arguments = traced->n_arguments;
  SN_TRY(sn_arena_alloc(&exe->arena, MAX_TEXTS, sizeof *exe->texts, (void **)&exe->texts));
  SN_TRY(run_passes(c, traced, &graph));
  SN_TRY(sn_prepare(&graph, c->options->target, &exe->arena, &exe->graph));
  free_turns(c);
  SN_TRY(finish_stage(c, "prepare", &exe->graph));
  SN_TRY(cut_into_groups(c));
  SN_TRY(plan_memory(c));
  SN_TRY(make_kernels(c));
  sn_log(exe->arena.env, SN_LOG_EVENTS, "compiled: %zu kernels, arena %zu of %llu bytes\n",
         exe->n_kernels, exe->plan.arena_bytes, (unsigned long long)exe->plan.naive_bytes);
  return c->record ? sn_record_end(c->record, exe) : SN_OK;
}

sn_status sn_compile_graph(const sn_graph *traced, const sn_compile_options *options,
                           sn_executable **out) {
  sn_env *env = traced->env;
  sn_executable *exe;
  SN_TRY(sn_alloc_zeroed(env, 1, sizeof *exe, (void **)&exe));
  sn_arena_init(&exe->arena, env);
  sn_record record;
  if (options->record) sn_record_begin(&record, traced->arena);
  compiling c = {.exe = exe, .options = options, .record = options->record ? &record : NULL};
  for (int i = 0; i < 2; i++) sn_arena_init(&c.turns[i], env);
  const sn_status status = compile_stages(&c, traced);
  free_turns(&c);
  if (status) {
    sn_executable_free(env, exe);
    return status;
  }
  *out = exe;
  return SN_OK;
}

void sn_executable_free(sn_env *env, sn_executable *exe) {
  if (!exe) return;
  sn_code_release(exe->code);
  sn_executable_forget(exe);
  sn_arena_free(&exe->arena);
  sn_free(env, exe, sizeof *exe);
}

const char *sn_switch_name(int number) {
  if (number == SN_PASS_COUNT) return "fuse";
  if (number == SN_PASS_COUNT + 1) return "jit";
  return number >= 0 && number < SN_PASS_COUNT ? sn_pass_table[number].name : NULL;
}

bool *sn_switch(sn_compile_options *options, int number) {
  if (number == SN_PASS_COUNT) return &options->fusion;
  return number < SN_PASS_COUNT ? &options->pass_on[number] : &options->jit;
}
