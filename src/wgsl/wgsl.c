#include "wgsl/wgsl.h"

static bool is_empty(const sn_group *g) {
  if (g->kind == SN_GROUP_CALL) return sn_group_points(g) * g->call.length == 0;
  return sn_group_points(g) == 0;
}

sn_status sn_wgsl_group(sn_arena *arena, const sn_program_code *program, const sn_group *group,
                        sn_dispatch *out) {
  sn_env *env = arena->env;
  sn_shader *s;
  *out = (sn_dispatch){0};
  if (is_empty(group)) return SN_OK;
  SN_FAIL_IF(env, sn_group_points(group) > INT32_MAX, SN_ERR_UNSUPPORTED, NULL,
             "%s: the device counts up to 2^31 points", group->name);
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *s, (void **)&s));
  SN_TRY(sn_shader_begin(arena, program, group, s));
  switch (group->kind) {
  case SN_GROUP_MAP: SN_TRY(sn_shader_map(s)); break;
  case SN_GROUP_REDUCE:
  case SN_GROUP_ROW: SN_TRY(sn_shader_row(s)); break;
  case SN_GROUP_CONTRACTION: SN_TRY(sn_shader_product(s)); break;
  case SN_GROUP_CALL: SN_TRY(sn_shader_call(s)); break;
  default:
    return SN_FAIL(env, SN_ERR_UNSUPPORTED, NULL,
                   "control flow does not run on the device" SN_HINT
                   "leave device out, and the program runs on the CPU");
  }
  SN_TRY(sn_shader_end(s, &out->text));
  out->bindings = s->bindings;
  out->n_bindings = s->n_bindings;
  out->constants = s->spoken.constants;
  out->n_constants = (uint32_t)s->spoken.n_constants;
  memcpy(out->groups, s->groups, sizeof out->groups);
  return SN_OK;
}

sn_status sn_wgsl_program(const sn_program_code *program, sn_arena *arena, sn_take_dispatch *take,
                          void *user) {
  for (size_t i = 0; i < program->n_steps; i++) {
    sn_dispatch dispatch;
    SN_TRY(
        sn_wgsl_group(arena, program, &program->groups.groups[program->steps[i].group], &dispatch));
    if (dispatch.text) SN_TRY(take(user, &dispatch));
  }
  return SN_OK;
}

sn_target sn_wgsl_target(uint32_t buffers, uint32_t shared_bytes) {
  return (sn_target){
      .name = "webgpu",
      .limits = {.dtypes = ~(1u << SN_F64),
                 .nodes = 96,
                 .scalar_nodes = 256,
                 .operands = 48,
                 .buffers = buffers,
                 .local_bytes = shared_bytes / 2, /* beside what trees and tiles take */
                 .store_bytes = 1,
                 .alignment = 256},
      .costs = {.tiny_product = 0,
                .row_points = 4096,
                .copies = 4,
                .pad_run = 1,
                .pad_row = 1,
                .gathered_row = 1,
                .lookup_row = 1,
                .prologue_points = 0,
                .added_terms = 8,
                .scalar_elements = 1,
                .again_flops = 8,
                .kept_flops = 16,
                .load_flops = 8,
                .byte_flops = 16,
                .argument_flops = 4096,
                .kernel_flops = 1e5,
                .remade_bytes = SIZE_MAX,
                .remade_terms = 0,
                .chain_bytes = SIZE_MAX,
                .chain_points = INT64_MAX,
                .block_bytes = 256 * 1024,
                .block_rows = 48,
                .least_rows = 16,
                .row_unit = 8,
                .tasks = 1,
                .least_tasks = 1,
                .segment_terms = INT64_MAX,
                .segment_results = 0,
                .most_segments = 1},
      .fused = true};
}
