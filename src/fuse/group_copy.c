/* group_copy.c - a group that can be cut or merged while the one that it was copied from stays. */
#include <string.h>

#include "fuse/fuse.h"

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

sn_status sn_group_copy(sn_arena *arena, const sn_group *group, sn_group *out) {
  *out = *group;
  SN_CHECK(arena->env, group->kind <= SN_GROUP_CONTRACTION && !sn_group_befores(group));
  if (sn_group_phases(out)) SN_TRY(copy_phases(arena, &out->row));
  if (out->kind == SN_GROUP_CONTRACTION) SN_TRY(copy_factors(arena, &out->contraction));
  return copy_operands(arena, &out->post, &out->stores, out->n_stores);
}
