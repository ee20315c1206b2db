/* pipeline.c - the way from a traced graph to something that runs, as a table of contents. The
 * names of the stages are those of dumps, switches and the playground:
 *
 *   trace -> fold -> simplify -> cse -> dce -> prepare -> groups -> plan -> kernels
 */
#include "pipeline.h"

#include "base/log.h"
#include "base/size.h"
#include "fuse/fuse.h"

#define MAX_TEXTS (SN_PASS_COUNT + 5)

static sn_status keep_text(sn_executable *exe, const char *stage, const char *text) {
  sn_log_printf("--- %s\n", stage);
  sn_log_write(text);
  exe->texts[exe->n_texts++] = (sn_stage_text){stage, text};
  return SN_OK;
}

/* After every stage: the grammar is checked, and the IR shown to whoever asked for it. */
static sn_status finish_stage(sn_executable *exe, const char *stage, const sn_graph *graph) {
  sn_env *env = exe->arena.env;
#ifdef SINTER_TEST
  SN_TRY(sn_graph_verify(graph));
#endif
  sn_log(env, SN_LOG_EVENTS, "%s: %zu nodes\n", stage, graph->n_nodes);
  if (env->debug < SN_LOG_IR) return SN_OK;
  const char *text;
  SN_TRY(sn_graph_text(graph, &exe->arena, &text));
  return keep_text(exe, stage, text);
}

static sn_status run_passes(sn_executable *exe, const sn_graph *traced,
                            const sn_compile_options *options, sn_graph *out) {
  const bool share = options->pass_on[SN_PASS_cse];
  *out = *traced;
  SN_TRY(finish_stage(exe, "trace", out));
  for (int i = 0; i < SN_PASS_COUNT; i++) {
    if (!options->pass_on[i]) continue;
    const sn_graph from = *out;
    SN_TRY(sn_pass_table[i].run(&from, out, share));
    SN_TRY(finish_stage(exe, sn_pass_table[i].name, out));
  }
  return SN_OK;
}

static sn_status cut_into_groups(sn_executable *exe, bool fusion) {
  SN_TRY(sn_fuse_graph(&exe->graph, fusion, &exe->groups));
  if (exe->arena.env->debug < SN_LOG_GROUPS) return SN_OK;
  const char *text;
  SN_TRY(sn_groups_text(&exe->groups, &exe->arena, &text));
  return keep_text(exe, "groups", text);
}

static sn_status plan_memory(sn_executable *exe, const bool *donate) {
  SN_TRY(sn_plan_memory(&exe->arena, &exe->groups, donate, exe->n_arguments, &exe->plan));
#ifdef SINTER_TEST
  SN_CHECK(exe->arena.env, sn_plan_is_sound(&exe->groups, &exe->plan));
#endif
  if (exe->arena.env->debug < SN_LOG_GROUPS) return SN_OK;
  const char *text;
  SN_TRY(sn_plan_text(&exe->groups, &exe->plan, &exe->arena, &text));
  return keep_text(exe, "plan", text);
}

static sn_status make_kernels(sn_executable *exe, const sn_machine *machine) {
  sn_env *env = exe->arena.env;
  const size_t n = exe->groups.n_groups;
  SN_TRY(sn_arena_alloc(&exe->arena, n, sizeof *exe->kernels, (void **)&exe->kernels));
  SN_TRY(sn_arena_alloc(&exe->arena, n, sizeof *exe->profile_rows, (void **)&exe->profile_rows));
  SN_TRY(
      sn_arena_alloc(&exe->arena, exe->plan.n_values, sizeof *exe->values, (void **)&exe->values));
  size_t shared = 0, lane = 0;
  for (size_t i = 0; i < n; i++) {
    const sn_group *group = &exe->groups.groups[i];
    SN_TRY(sn_kernel_make(&exe->arena, machine, group, &exe->kernels[i]));
    if (exe->kernels[i].shared_bytes > shared) shared = exe->kernels[i].shared_bytes;
    if (exe->kernels[i].lane_bytes > lane) lane = exe->kernels[i].lane_bytes;
    exe->flops += group->flops;
    exe->bytes += group->bytes;
  }
  exe->n_kernels = n;
  exe->shared_offset = exe->plan.arena_bytes;
  SN_CHECK(env, sn_size_round_up(shared, 64, &shared) && sn_size_round_up(lane, 64, &lane));
  SN_FAIL_IF(env, sn_size_add_overflows(exe->shared_offset, shared, &exe->lanes_offset),
             SN_ERR_MEMORY, "plan: intermediates are too large");
  exe->lane_stride = lane;
  if (env->debug < SN_LOG_CODE) return SN_OK;
  const char *text;
  SN_TRY(sn_kernels_text(exe->kernels, n, &exe->arena, &text));
  return keep_text(exe, "kernels", text);
}

static sn_status compile_stages(const sn_graph *traced, const sn_compile_options *options,
                                sn_executable *exe) {
  sn_graph graph;
  exe->n_arguments = traced->n_arguments;
  SN_TRY(sn_arena_alloc(&exe->arena, MAX_TEXTS, sizeof *exe->texts, (void **)&exe->texts));
  SN_TRY(run_passes(exe, traced, options, &graph));
  SN_TRY(sn_prepare(&graph, &exe->arena, &exe->graph));
  SN_TRY(finish_stage(exe, "prepare", &exe->graph));
  SN_TRY(cut_into_groups(exe, options->fusion));
  SN_TRY(plan_memory(exe, options->donate));
  SN_TRY(make_kernels(exe, &options->machine));
  sn_log(exe->arena.env, SN_LOG_EVENTS, "compiled: %zu kernels, arena %zu of %zu bytes\n",
         exe->n_kernels, exe->plan.arena_bytes, exe->plan.naive_bytes);
  return SN_OK;
}

sn_status sn_compile_graph(const sn_graph *traced, const sn_compile_options *options,
                           sn_executable **out) {
  sn_env *env = traced->env;
  sn_executable *exe;
  SN_TRY(sn_alloc_zeroed(env, 1, sizeof *exe, (void **)&exe));
  sn_arena_init(&exe->arena, env);
  const sn_status status = compile_stages(traced, options, exe);
  if (status) {
    sn_executable_free(env, exe);
    return status;
  }
  *out = exe;
  return SN_OK;
}

void sn_executable_free(sn_env *env, sn_executable *exe) {
  if (!exe) return;
  sn_arena_free(&exe->arena);
  sn_free(env, exe, sizeof *exe);
}
