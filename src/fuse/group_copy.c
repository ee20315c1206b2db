/* group_copy.c - copies a group, so that the copy can be cut, merged or given other buffers while the
 * original stays as it is. */
#include <string.h>

#include "fuse/chain.h"

static sn_status copy(sn_arena *arena, void *list, uint32_t n, size_t size) {
  void **at = list, *to;
  SN_TRY(sn_arena_alloc(arena, n, size, &to));
  if (n) memcpy(to, *at, n * size);
  *at = to;
  return SN_OK;
}

static sn_status copy_operands(sn_arena *arena, sn_body *body, sn_store **stores, uint32_t n) {
  SN_TRY(copy(arena, &body->operands, body->n_operands, sizeof *body->operands));
  for (uint32_t i = 0; i < body->n_operands; i++) {
    sn_operand *o = &body->operands[i];
    if (sn_is_indexed(o)) SN_TRY(copy(arena, &o->indexing, 1, sizeof *o->indexing));
  }
  return copy(arena, stores, n, sizeof **stores);
}

static sn_status copy_factors(sn_arena *arena, sn_contraction *c) {
  SN_TRY(copy(arena, &c->factors, 2, sizeof *c->factors));
  for (int i = 0; i < 2; i++)
    SN_TRY(copy(arena, &c->factors[i].nests, 1, sizeof *c->factors[i].nests));
  return SN_OK;
}

static sn_status copy_phases(sn_arena *arena, sn_row *row) {
  if (row->ends) SN_TRY(copy(arena, &row->ends, 1, sizeof *row->ends));
  SN_TRY(copy(arena, &row->phases, row->n_phases, sizeof *row->phases));
  for (uint32_t p = 0; p < row->n_phases; p++) {
    sn_phase *phase = &row->phases[p];
    SN_TRY(copy_operands(arena, &phase->body, &phase->stores, phase->n_stores));
  }
  return SN_OK;
}

static sn_status copy_groups(sn_arena *arena, sn_group **list, uint32_t n) {
  const sn_group *from = *list;
  SN_TRY(copy(arena, list, n, sizeof *from));
  for (uint32_t i = 0; i < n; i++) SN_TRY(sn_group_copy(arena, &from[i], *list + i));
  return SN_OK;
}

static sn_status copy_contraction(sn_arena *arena, sn_contraction *c) {
  SN_TRY(copy_factors(arena, c));
  return c->prologue ? copy_groups(arena, &c->prologue, 1) : SN_OK;
}

static sn_status copy_chain(sn_arena *arena, sn_chain **chain) {
  SN_TRY(copy(arena, chain, 1, sizeof **chain));
  return copy_groups(arena, &(*chain)->members, (*chain)->n_members);
}

static sn_status copy_control(sn_arena *arena, sn_control_flow *flow) {
  if (flow->room) SN_TRY(copy(arena, &flow->room, 1, sizeof *flow->room));
  return copy(arena, &flow->operands, flow->n_operands, sizeof *flow->operands);
}

sn_status sn_group_copy(sn_arena *arena, const sn_group *group, sn_group *out) {
  *out = *group;
  switch (out->kind) {
  case SN_GROUP_MAP: break;
  case SN_GROUP_REDUCE:
  case SN_GROUP_ROW: SN_TRY(copy_phases(arena, &out->row)); break;
  case SN_GROUP_CONTRACTION: SN_TRY(copy_contraction(arena, &out->contraction)); break;
  case SN_GROUP_CALL:
    SN_TRY(copy(arena, &out->call.operands, out->call.n_operands, sizeof *out->call.operands));
    break;
  case SN_GROUP_CHAIN: SN_TRY(copy_chain(arena, &out->chain)); break;
  case SN_GROUP_CONTROL: SN_TRY(copy_control(arena, &out->control)); break;
  case SN_GROUP_KIND_COUNT: break;
  }
  return copy_operands(arena, &out->post, &out->stores, out->n_stores);
}
