#include "program/rooms.h"

#include "base/size.h"

static sn_status take(const sn_program_code *p, sn_room *room, size_t bytes, size_t *offset) {
  *offset = room->bytes;
  SN_FAIL_IF(p->arena.env,
             !sn_size_round_up(bytes, p->groups.target->limits.alignment, &bytes) ||
                 sn_size_add_overflows(room->bytes, bytes, &room->bytes),
             SN_ERR_MEMORY, "plan", "carries and intermediates of a loop are too large");
  return SN_OK;
}

/* Takes places for the results of a round that have none outside of the room. */
static sn_status take_results(sn_room *room, const sn_control *c, const sn_program_code *body,
                              const bool *is_used) {
  const sn_graph *graph = c->regions[0];
  for (size_t k = 0; k < c->n_results; k++) {
    const size_t bytes = sn_type_bytes(&graph->nodes[graph->outputs[k]].type);
    const bool carry = k < c->n_carries, in_place = carry && sn_carry_is_in_place(body, k);
    size_t unused;
    if ((in_place || !carry) && is_used[k]) continue;
    SN_TRY(take(body, room, bytes, carry ? &room->carries[k] : &room->spares[k]));
    if (carry && !in_place) SN_TRY(take(body, room, bytes, &unused));
  }
  return SN_OK;
}

sn_status sn_room_of(sn_arena *arena, const sn_program_code *program, const sn_step *step,
                     sn_room *room) {
  const sn_group *group = &program->groups.groups[step->group];
  const sn_control c = sn_graph_control(&program->graph, group->control.node);
  size_t most = 0;
  bool *is_used;
  *room = (sn_room){0};
  SN_TRY(sn_arena_alloc(arena, c.n_carries, sizeof *room->carries, (void **)&room->carries));
  SN_TRY(sn_arena_alloc(arena, c.n_results, sizeof *room->spares, (void **)&room->spares));
  SN_TRY(sn_arena_alloc(arena, c.n_results, sizeof *is_used, (void **)&is_used));
  for (uint32_t i = 0; i < group->n_stores; i++) is_used[group->control.results[i]] = true;
  SN_TRY(take_results(room, &c, step->regions[0], is_used));
  SN_TRY(take(program, room, 1, &room->test));
  for (uint32_t r = 0; r < c.n_regions; r++)
    if (step->regions[r]->plan.arena_bytes > most) most = step->regions[r]->plan.arena_bytes;
  return take(program, room, most, &room->arena);
}

static sn_status find_in_place(sn_program_code *p, const sn_step *step, sn_control_flow *flow) {
  const sn_control c = sn_graph_control(&p->graph, flow->node);
  SN_TRY(sn_arena_alloc(&p->arena, flow->n_operands, sizeof *flow->in_place,
                        (void **)&flow->in_place));
  for (size_t k = 0; k < c.n_carries; k++)
    flow->in_place[k] = sn_carry_is_in_place(step->regions[0], k);
  return SN_OK;
}

static sn_status add_room(sn_program_code *p, const sn_step *step) {
  sn_control_flow *flow = &p->groups.groups[step->group].control;
  sn_value *value = &p->groups.values[p->groups.n_values];
  sn_room room;
  SN_TRY(sn_room_of(&p->arena, p, step, &room));
  SN_TRY(find_in_place(p, step, flow));
  SN_TRY(sn_arena_alloc(&p->arena, 1, sizeof *flow->room, (void **)&flow->room));
  *flow->room =
      (sn_operand){.value = (uint32_t)p->groups.n_values++, .dtype = SN_U8, .strides = {1}};
  *value = (sn_value){.kind = SN_VALUE_TEMP,
                      .node = flow->node,
                      .type = {.dtype = SN_U8, .rank = 1, .dims = {(int64_t)room.bytes}}};
  return SN_OK;
}

sn_status sn_program_add_rooms(sn_program_code *p) {
  const size_t n = p->groups.n_values;
  size_t n_rooms = 0;
  sn_value *values;
  for (size_t i = 0; i < p->n_steps; i++) n_rooms += p->steps[i].kind == SN_STEP_CONTROL;
  if (!n_rooms) return SN_OK;
  SN_TRY(sn_arena_alloc(&p->arena, n + n_rooms, sizeof *values, (void **)&values));
  memcpy(values, p->groups.values, n * sizeof *values);
  p->groups.values = values;
  for (size_t i = 0; i < p->n_steps; i++)
    if (p->steps[i].kind == SN_STEP_CONTROL) SN_TRY(add_room(p, &p->steps[i]));
  return SN_OK;
}
