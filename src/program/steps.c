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

sn_status sn_program_assemble(sn_program_code *p) {
  p->n_buffers = p->n_arguments + p->plan.n_fresh + 1;
  p->n_steps = p->groups.n_groups;
  SN_TRY(sn_arena_alloc(&p->arena, p->n_steps, sizeof *p->steps, (void **)&p->steps));
  SN_TRY(sn_arena_alloc(&p->arena, p->plan.n_values, sizeof *p->handles, (void **)&p->handles));
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const sn_group *group = &p->groups.groups[i];
    const bool is_call = group->kind == SN_GROUP_CALL;
    p->steps[i] = (sn_step){.kind = is_call ? SN_STEP_CALL : SN_STEP_KERNEL, .group = i};
    p->flops += group->flops;
    p->bytes += group->bytes;
  }
  for (size_t v = 0; v < p->plan.n_values; v++) p->handles[v] = handle_of(p, &p->plan.places[v]);
  return SN_OK;
}
