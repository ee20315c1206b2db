#include "program/steps.h"

static sn_handle handle_of(const sn_program_code *program, const sn_place *place) {
  sn_handle handle = {.buffer = SN_NONE, .bytes = place->bytes};
  switch (place->kind) {
  case SN_PLACE_NONE: break;
  case SN_PLACE_ARGUMENT:
  case SN_PLACE_DONATED: handle.buffer = place->index; break;
  case SN_PLACE_OUTPUT: handle.buffer = (uint32_t)sn_fresh_buffer(program, place->index); break;
  case SN_PLACE_ARENA:
    handle.buffer = (uint32_t)sn_arena_buffer(program);
    handle.offset = place->offset;
    break;
  }
  return handle;
}

static sn_step_kind kind_of(const sn_group *group) {
  switch (group->kind) {
  case SN_GROUP_CALL:
    return sn_op_describe(group->call.op)->kind == SN_CLASS_COLLECTIVE ? SN_STEP_COLLECTIVE
                                                                       : SN_STEP_CALL;
  case SN_GROUP_CONTROL: return SN_STEP_CONTROL;
  default: return SN_STEP_KERNEL;
  }
}

/* Moves the regions' programs to the new steps. Control flow is never repeated, so its steps are in the same order. */
static void take_regions(const sn_program_code *p, sn_step *steps) {
  size_t i = 0;
  for (size_t k = 0; k < p->n_steps; k++) {
    if (p->steps[k].kind != SN_STEP_CONTROL) continue;
    while (steps[i].kind != SN_STEP_CONTROL) i++;
    memcpy(steps[i++].regions, p->steps[k].regions, sizeof steps->regions);
  }
}

sn_status sn_program_make_steps(sn_program_code *p) {
  sn_step *steps;
  SN_TRY(sn_arena_alloc(&p->arena, p->groups.n_groups, sizeof *steps, (void **)&steps));
  for (uint32_t i = 0; i < p->groups.n_groups; i++)
    steps[i] = (sn_step){.kind = kind_of(&p->groups.groups[i]), .group = i};
  take_regions(p, steps);
  p->steps = steps;
  p->n_steps = p->groups.n_groups;
  return SN_OK;
}

/* Adds the work of a step's regions to its group: of a scan in all rounds, of a while_loop in one round. */
static void count_regions(const sn_program_code *p, const sn_step *step) {
  sn_group *group = &p->groups.groups[step->group];
  const sn_control control = sn_graph_control(&p->graph, group->control.node);
  const double rounds = control.op == SN_OP_scan ? (double)control.length : 1;
  group->bytes = 0;
  for (uint32_t r = 0; r < control.n_regions; r++) {
    group->flops += rounds * step->regions[r]->flops;
    group->bytes += rounds * step->regions[r]->bytes;
  }
}

sn_status sn_program_assemble(sn_program_code *p) {
  p->n_buffers = p->n_arguments + p->plan.n_fresh + 1;
  SN_TRY(sn_arena_alloc(&p->arena, p->plan.n_values, sizeof *p->handles, (void **)&p->handles));
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const sn_group *group = &p->groups.groups[i];
    if (p->steps[i].kind == SN_STEP_CONTROL) count_regions(p, &p->steps[i]);
    p->flops += group->flops;
    p->bytes += group->bytes;
  }
  for (size_t v = 0; v < p->plan.n_values; v++) p->handles[v] = handle_of(p, &p->plan.places[v]);
  return SN_OK;
}

sn_status sn_program_code_new(sn_env *env, sn_program_code **out) {
  SN_TRY(sn_alloc_zeroed(env, 1, sizeof **out, (void **)out));
  sn_arena_init(&(*out)->arena, env);
  return SN_OK;
}

void sn_program_code_free(sn_program_code *p) {
  if (!p) return;
  sn_env *env = p->arena.env;
  for (size_t i = 0; i < p->n_steps; i++)
    for (int r = 0; r < SN_MAX_REGIONS; r++) sn_program_code_free(p->steps[i].regions[r]);
  sn_arena_free(&p->arena);
  sn_free(env, p, sizeof *p);
}
