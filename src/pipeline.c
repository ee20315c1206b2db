/* pipeline.c - the way from a traced graph to something that runs, as a table of contents. The
 * names of the stages are those of dumps, switches and the playground:
 *
 *   trace -> (inline) -> (expand) -> passes of passes.def -> prepare -> groups -> plan -> steps -> kernels
 *
 * With a memory budget, some groups run again. A compile may pause after any stage and go on later on the same thread:
 * what it has so far lies in its own arenas, and nobody else sees it. */
#include "pipeline.h"

#include "base/log.h"
#include "base/size.h"
#include "fuse/fuse.h"
#include "inspect/record.h"
#include "plan/budget.h"
#include "program/rooms.h"

#define MAX_TEXTS (SN_PASS_COUNT + 7)

/* The state of one compile. */
struct sn_compiling {
  sn_program_code *program;
  sn_executable *exe; /* made by the backend in the last stage */
  sn_compile_options options;
  sn_graph graph;    /* the traced graph, then the one that the last pass made */
  int stage;         /* the next stage, see run_stage */
  sn_record *record; /* NULL: nothing is recorded */
  sn_record own_record;
  sn_arena pass_arenas[2]; /* for the passes' graphs, see run_pass */
  int pass_arena;          /* the one with the graph */
  size_t n_carries; /* if the program is a loop's body, else 0 */
};

/* Whether a stage of this debug level is logged or recorded. */
static bool is_watched(const sn_compiling *c, int level) {
  return c->record || c->program->arena.env->debug >= level;
}

static void keep_text(sn_compiling *c, int level, const char *stage, const char *text) {
  if (c->program->arena.env->debug >= level) {
    sn_log_printf("--- %s\n", stage);
    sn_log_write(text);
  }
  c->program->texts[c->program->n_texts++] = (sn_stage_text){stage, text};
}

/* Called after every stage: checks the graph in test builds, and logs and records the IR if asked for. */
static sn_status finish_stage(sn_compiling *c, const char *stage, const sn_graph *graph) {
#ifdef SINTER_TEST
  SN_TRY(sn_graph_verify(graph));
#endif
  SN_LOG(c->program->arena.env, SN_LOG_EVENTS, "%s: %zu nodes\n", stage, graph->n_nodes);
  if (!is_watched(c, SN_LOG_IR)) return SN_OK;
  const char *text;
  SN_TRY(sn_graph_text(graph, &c->program->arena, &text));
  keep_text(c, SN_LOG_IR, stage, text);
  if (c->record) sn_record_graph(c->record, stage, text, graph, NULL);
  return SN_OK;
}

/* Runs a pass over a graph's regions, then over the graph. The regions keep their numbers, unless the pass gives *to
 * regions of its own. */
static sn_status apply(sn_pass_fn *pass, const sn_pass_context *context, const sn_graph *from,
                       sn_graph *to) {
  sn_arena *arena = to->arena;
  sn_graph **regions;
  sn_pass_context inside = *context;
  inside.notes = NULL;
  SN_TRY(sn_arena_alloc(arena, from->n_regions, sizeof *regions, (void **)&regions));
  for (size_t i = 0; i < from->n_regions; i++) {
    SN_TRY(sn_arena_alloc(arena, 1, sizeof *regions[i], (void **)&regions[i]));
    *regions[i] = (sn_graph){.arena = arena};
    SN_TRY(apply(pass, &inside, from->regions[i], regions[i]));
  }
  sn_graph graph = *from;
  graph.regions = regions;
  SN_TRY(pass(context, &graph, to));
  if (to->regions || !from->n_regions) return SN_OK; /* the pass has numbered them */
  to->regions = regions;
  to->n_regions = to->cap_regions = from->n_regions;
  return SN_OK;
}

/* Runs a pass and replaces c->graph by its result. Two arenas take turns, so at most two graphs exist at
 * a time. */
static sn_status run_pass(sn_compiling *c, sn_pass_fn *pass, const char *name) {
  const sn_graph from = c->graph;
  c->pass_arena ^= 1;
  sn_arena_free(&c->pass_arenas[c->pass_arena]);
  c->graph = (sn_graph){.arena = &c->pass_arenas[c->pass_arena]};
  sn_rewrite_notes notes = {.arena = c->graph.arena};
  const sn_pass_context context = {.target = c->options.target,
                                   .share = c->options.pass_on[SN_PASS_cse],
                                   .winograd = c->options.winograd,
                                   .notes = c->record ? &notes : NULL};
  SN_TRY(apply(pass, &context, &from, &c->graph));
  for (size_t i = 0; i < notes.n; i++)
    sn_record_rewrite(c->record, notes.list[i].rule, notes.list[i].from, notes.list[i].to);
  return finish_stage(c, name, &c->graph);
}

static sn_status run_pass_of_table(sn_compiling *c, int number) {
  const sn_pass_info *pass = &sn_pass_table[number];
  if (!c->options.pass_on[number] || c->options.saved) return SN_OK;
  return pass->of_control && !c->graph.n_regions ? finish_stage(c, pass->name, &c->graph)
                                                 : run_pass(c, pass->run, pass->name);
}

static void free_turns(sn_compiling *c) {
  for (int i = 0; i < 2; i++) sn_arena_free(&c->pass_arenas[i]);
}

/* The stages before the passes. */
static sn_status take_traced(sn_compiling *c) {
  sn_arena *arena = &c->program->arena;
  sn_graph *graph = &c->graph;
  SN_TRY(sn_arena_alloc(arena, MAX_TEXTS, sizeof *c->program->texts, (void **)&c->program->texts));
  SN_FAIL_IF(arena->env, c->options.saved && (sn_has_functions(graph) || sn_needs_expanding(graph)),
             SN_ERR_ARGUMENT, NULL, "it has an op that passes take apart");
  if (c->options.saved) return SN_OK;
  SN_TRY(finish_stage(c, "trace", graph));
  if (sn_has_functions(graph)) SN_TRY(run_pass(c, sn_inline_functions, "inline"));
  return sn_needs_expanding(graph) ? run_pass(c, sn_expand, "expand") : SN_OK;
}

static sn_status show_groups(sn_compiling *c) {
  sn_program_code *program = c->program;
  if (!is_watched(c, SN_LOG_GROUPS)) return SN_OK;
  const char *text;
  SN_TRY(sn_groups_text(&program->groups, &program->arena, &text));
  keep_text(c, SN_LOG_GROUPS, "groups", text);
  if (c->record) sn_record_graph(c->record, "groups", text, &program->graph, &program->groups);
  return SN_OK;
}

/* If there is a memory budget, makes some groups run again to keep within it, and makes the steps anew. */
static sn_status keep_within_budget(sn_compiling *c) {
  sn_program_code *program = c->program;
  if (!c->options.memory_budget) return SN_OK;
  program->memory_budget = c->options.memory_budget;
  SN_TRY(sn_keep_within_budget(&program->arena, &program->groups, c->options.donate,
                               program->n_arguments, program->memory_budget,
                               &program->needed_bytes));
  return sn_program_make_steps(program);
}

static sn_status plan_memory(sn_compiling *c) {
  sn_program_code *program = c->program;
  SN_TRY(c->n_carries ? sn_plan_body(&program->arena, &program->groups, program->n_arguments,
                                     c->n_carries, &program->plan)
                      : sn_plan_memory(&program->arena, &program->groups, c->options.donate,
                                       program->n_arguments, &program->plan));
#ifdef SINTER_TEST
  SN_CHECK(program->arena.env, sn_plan_is_sound(&program->groups, &program->plan));
#endif
  if (!is_watched(c, SN_LOG_GROUPS)) return SN_OK;
  const char *text;
  SN_TRY(sn_plan_text(&program->groups, &program->plan, &program->arena, &text));
  keep_text(c, SN_LOG_GROUPS, "plan", text);
  if (c->record) sn_record_kernels(c->record, "plan", text, &program->groups);
  return SN_OK;
}

static const sn_backend *backend_of(const sn_compile_options *options) {
  const sn_backend *backend = options->device->backend;
  return backend == &sn_cpu_backend && options->jit ? &sn_code_backend : backend;
}

/* Logs the code that is emitted for each kernel. */
static sn_status log_code(sn_arena *arena, const sn_executable *exe) {
  for (size_t i = 0; i < exe->program->n_steps; i++) {
    const char *text;
    SN_TRY(exe->backend->listing(arena, exe, i, &text));
    sn_log_printf("--- k%zu %s\n", i, exe->program->groups.groups[i].name);
    sn_log_write(text);
  }
  return SN_OK;
}

static sn_status kernels_text(const sn_executable *exe, sn_arena *arena, const char **out) {
  sn_text t = sn_text_in(arena);
  sn_kernel_view *views;
  SN_TRY(sn_arena_alloc(arena, exe->program->n_steps, sizeof *views, (void **)&views));
  SN_TRY(exe->backend->views(arena, exe, views));
  for (size_t i = 0; i < exe->program->n_steps; i++) sn_text_add(&t, "%s", views[i].text);
  *out = t.data ? t.data : "";
  return t.status;
}

static sn_status make_kernels(sn_compiling *c) {
  sn_program_code *program = c->program;
  const sn_compile_options *options = &c->options;
  SN_TRY(backend_of(options)->compile(options->device, program, &c->exe));
  if (!is_watched(c, SN_LOG_CODE)) return SN_OK;
  const char *text;
  SN_TRY(kernels_text(c->exe, &program->arena, &text));
  keep_text(c, SN_LOG_CODE, "kernels", text);
  if (c->record) sn_record_kernels(c->record, "kernels", text, &program->groups);
  if (program->arena.env->debug < SN_LOG_CODE) return SN_OK;
  return log_code(&program->arena, c->exe);
}

static sn_status compile_regions(sn_compiling *c);

/* Keeps a copy of a graph with shards: processes that are to share it need that, as groups have no shards. */
static sn_status keep_shared(sn_program_code *program, const sn_graph *graph) {
  bool any = false;
  for (sn_id id = 0; id < graph->n_nodes; id++) any = any || graph->nodes[id].op == SN_OP_shard;
  if (!any) return SN_OK;
  SN_TRY(sn_arena_alloc(&program->arena, 1, sizeof *program->shared, (void **)&program->shared));
  return sn_graph_copy(graph, &program->arena, program->shared);
}

/* The stages "prepare" and "groups": cuts a graph, after the passes, into groups. */
static sn_status cut_groups(sn_compiling *c, const sn_graph *graph, bool is_region) {
  sn_program_code *program = c->program;
  const sn_target *target = c->options.target;
  program->n_arguments = graph->n_arguments;
  if (!is_region) SN_TRY(keep_shared(program, graph));
  SN_TRY((is_region ? sn_prepare_region : sn_prepare)(graph, target, &program->arena,
                                                      &program->graph));
  SN_TRY(sn_graph_keep_regions(&program->graph, graph));
  if (!is_region) free_turns(c);
  SN_TRY(finish_stage(c, "prepare", &program->graph));
  const sn_fuse_options how = {.fusion = c->options.fusion, .excess = c->options.excess};
  return sn_fuse_graph(&program->graph, target, how, &program->groups);
}

/* The stages "plan" and "steps": plans the memory of the groups. Compiles the regions before, because the size of their
 * arenas is part of the plan. */
static sn_status plan_steps(sn_compiling *c) {
  sn_program_code *program = c->program;
  SN_TRY(sn_program_make_steps(program));
  SN_TRY(compile_regions(c));
  SN_TRY(sn_program_add_rooms(program));
  SN_TRY(keep_within_budget(c));
  SN_TRY(show_groups(c));
  SN_TRY(plan_memory(c));
  return sn_program_assemble(program);
}

/* Compiles one region to a program. Only the whole program's stages are recorded, not those of regions. */
static sn_status compile_region(const sn_compiling *c, const sn_graph *graph, size_t n_carries,
                                sn_program_code **out) {
  sn_compiling region = *c;
  region.options.donate = NULL;
  region.options.memory_budget = 0;
  region.record = NULL;
  region.n_carries = n_carries;
  SN_TRY(sn_program_code_new(graph->env, &region.program));
  *out = region.program;
  SN_TRY(sn_arena_alloc(&region.program->arena, MAX_TEXTS, sizeof *region.program->texts,
                        (void **)&region.program->texts));
  SN_TRY(cut_groups(&region, graph, true));
  return plan_steps(&region);
}

static sn_status compile_regions(sn_compiling *c) {
  sn_program_code *program = c->program;
  for (size_t i = 0; i < program->n_steps; i++) {
    sn_step *step = &program->steps[i];
    if (step->kind != SN_STEP_CONTROL) continue;
    const sn_control control =
        sn_graph_control(&program->graph, program->groups.groups[step->group].control.node);
    for (uint32_t r = 0; r < control.n_regions; r++)
      SN_TRY(compile_region(c, control.regions[r], r ? 0 : control.n_carries, &step->regions[r]));
  }
  return SN_OK;
}

static sn_status finish_program(sn_compiling *c) {
  const sn_program_code *program = c->program;
  SN_TRY(make_kernels(c));
  SN_LOG(program->arena.env, SN_LOG_EVENTS, "compiled: %zu kernels, arena %zu of %llu bytes\n",
         program->n_steps, program->plan.arena_bytes,
         (unsigned long long)program->plan.naive_bytes);
  return c->record ? sn_record_end(c->record, c->exe) : SN_OK;
}

/* Runs the next of the stages listed at the head of this file. Each pass counts as one stage. */
static sn_status run_stage(sn_compiling *c) {
  const int pass = c->stage++ - 1;
  if (pass < 0) return take_traced(c);
  if (pass < SN_PASS_COUNT) return run_pass_of_table(c, pass);
  if (pass == SN_PASS_COUNT) return cut_groups(c, &c->graph, false);
  if (pass == SN_PASS_COUNT + 1) return plan_steps(c);
  return finish_program(c);
}

sn_status sn_compiling_new(const sn_graph *traced, const sn_compile_options *options,
                           sn_compiling **out) {
  sn_env *env = traced->env;
  sn_compiling *c;
  SN_TRY(sn_alloc_zeroed(env, 1, sizeof *c, (void **)&c));
  const sn_status status = sn_program_code_new(env, &c->program);
  if (status) {
    sn_free(env, c, sizeof *c);
    return status;
  }
  c->graph = *traced;
  c->options = *options;
  if (options->record) c->record = &c->own_record;
  if (c->record) sn_record_begin(c->record, traced->arena);
  for (int i = 0; i < 2; i++) sn_arena_init(&c->pass_arenas[i], env);
  *out = c;
  return SN_OK;
}

void sn_compiling_free(sn_compiling *c) {
  if (!c) return;
  free_turns(c);
  if (c->exe)
    sn_executable_free(c->exe);
  else if (c->program)
    sn_program_code_free(c->program);
  sn_free(c->pass_arenas[0].env, c, sizeof *c);
}

sn_status sn_compiling_continue(sn_compiling *c, sn_executable **out) {
  SN_TRY(run_stage(c));
  if (c->stage <= SN_PASS_COUNT + 3) return SN_OK;
  *out = c->exe; /* it owns the program, and is the caller's now */
  c->exe = NULL;
  c->program = NULL;
  return SN_OK;
}

sn_status sn_compile_graph(const sn_graph *traced, const sn_compile_options *options,
                           sn_executable **out) {
  sn_compiling *c;
  SN_TRY(sn_compiling_new(traced, options, &c));
  *out = NULL;
  sn_status status = SN_OK;
  while (!status && !*out) status = sn_compiling_continue(c, out);
  sn_compiling_free(c);
  return status;
}

sn_status sn_readable_graph(const sn_graph *traced, const sn_compile_options *options,
                            sn_arena *arena, sn_graph *out) {
  const sn_pass_context context = {.target = options->target, .share = true};
  sn_graph from = *traced;
  from.arena = arena;
  *out = from;
  for (int i = 0; i < SN_PASS_COUNT; i++) {
    if (!options->pass_on[i] || !sn_pass_table[i].readable) continue;
    from = *out;
    *out = (sn_graph){.arena = arena};
    SN_TRY(apply(sn_pass_table[i].run, &context, &from, out));
  }
  return SN_OK;
}

void sn_executable_free(sn_executable *exe) {
  if (!exe) return;
  exe->backend->release(exe);
  sn_program_code_free(exe->program);
}

const char *sn_switch_name(int number) {
  if (number == SN_PASS_COUNT) return "fuse";
  if (number == SN_PASS_COUNT + 1) return "jit";
  if (number == SN_PASS_COUNT + 2) return "winograd";
  return number >= 0 && number < SN_PASS_COUNT ? sn_pass_table[number].name : NULL;
}

bool *sn_switch(sn_compile_options *options, int number) {
  if (number == SN_PASS_COUNT) return &options->fusion;
  if (number == SN_PASS_COUNT + 1) return &options->jit;
  return number < SN_PASS_COUNT ? &options->pass_on[number] : &options->winograd;
}
