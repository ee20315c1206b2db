/* verify_groups.c - do the groups write every buffer whole, and read and write nothing outside of
 * one?
 *
 * A node lowered in the wrong shape shows here: its strides leave its buffer, or are 0 where its
 * elements differ, so that they are stored over one another and the rest of the buffer is never
 * written. It costs a few operations per operand, and runs always: an internal error is better than
 * a wrong value. Chains and prologues are made from these groups afterwards. */
#include <string.h>

#include "fuse/lowering.h"

typedef struct verifier {
  const sn_groups *groups;
  int64_t *written; /* per buffer: elements that stores put there */
} verifier;

/* The index space that operands cover: that of the group, then what is inside of it. */
typedef struct extent {
  int rank;
  int64_t dims[SN_MAX_RANK];
} extent;

static extent extent_of(const sn_group *g) {
  extent e = {.rank = g->space_rank};
  memcpy(e.dims, g->space, sizeof e.dims);
  return e;
}

static extent phase_extent(const sn_group *g) {
  extent e = extent_of(g);
  for (int i = 0; i < g->reduced_rank; i++) e.dims[e.rank++] = g->reduced[i];
  return e;
}

static extent line_extent(const sn_group *g, int64_t length) {
  extent e = extent_of(g);
  e.dims[e.rank++] = length;
  return e;
}

static int64_t points_of(const extent *e) {
  int64_t points = 1;
  for (int i = 0; i < e->rank; i++) points *= e->dims[i];
  return points;
}

static sn_status verify_operand(const verifier *v, const sn_operand *operand, const extent *e) {
  if (operand->value == SN_NONE || points_of(e) == 0) return SN_OK; /* no memory; no points */
  SN_CHECK(v->groups->graph->env, operand->value < v->groups->n_values);
  int64_t low = operand->offset, high = operand->offset;
  for (int i = 0; i < e->rank; i++)
    *(operand->strides[i] < 0 ? &low : &high) += (e->dims[i] - 1) * operand->strides[i];
  const int64_t size = sn_type_size(&v->groups->values[operand->value].type);
  SN_CHECK(v->groups->graph->env, low >= 0 && high < size);
  return SN_OK;
}

static sn_status verify_body(const verifier *v, const sn_body *body, const extent *e) {
  for (uint32_t i = 0; i < body->n_operands; i++) SN_TRY(verify_operand(v, &body->operands[i], e));
  return SN_OK;
}

static sn_status verify_stores(const verifier *v, const sn_store *stores, uint32_t n,
                               const extent *e) {
  if (points_of(e) == 0) return SN_OK; /* strides around a dim of 0 are 0 */
  for (uint32_t s = 0; s < n; s++) {
    const sn_operand *target = &stores[s].target;
    SN_TRY(verify_operand(v, target, e));
    for (int i = 0; i < e->rank; i++)
      SN_CHECK(v->groups->graph->env, e->dims[i] <= 1 || target->strides[i] != 0);
    v->written[target->value] += points_of(e);
  }
  return SN_OK;
}

static sn_status verify_call(const verifier *v, const sn_group *g) {
  const sn_call *call = g->call;
  for (uint32_t k = 0; k < call->n_operands; k++) {
    const extent e = line_extent(g, call->lengths[k]);
    SN_TRY(verify_operand(v, &call->operands[k], &e));
  }
  const extent e = line_extent(g, call->length);
  return verify_stores(v, g->stores, g->n_stores, &e);
}

static sn_status verify_group(const verifier *v, const sn_group *g) {
  if (g->call) return verify_call(v, g);
  const extent outer = extent_of(g), inner = phase_extent(g);
  for (uint32_t p = 0; p < g->n_phases; p++) {
    SN_TRY(verify_body(v, &g->phases[p].body, &inner));
    SN_TRY(verify_stores(v, g->phases[p].stores, g->phases[p].n_stores, &inner));
  }
  SN_TRY(verify_body(v, &g->post, &outer));
  return verify_stores(v, g->stores, g->n_stores, &outer);
}

sn_status sn_groups_verify(const sn_groups *groups, sn_arena *arena) {
  verifier v = {.groups = groups};
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof *v.written, (void **)&v.written));
  for (size_t i = 0; i < groups->n_groups; i++) SN_TRY(verify_group(&v, &groups->groups[i]));
  for (size_t i = 0; i < groups->n_values; i++) {
    const sn_value *value = &groups->values[i];
    SN_CHECK(groups->graph->env,
             value->kind == SN_VALUE_ARGUMENT || v.written[i] >= sn_type_size(&value->type));
  }
  return SN_OK;
}
