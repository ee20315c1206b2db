#include "planted.h"

#include <string.h>

typedef struct planting {
  const sn_executable *exe;
  planted_fault fault;
  size_t skip;
} planting;

/* A group's space, then what is reduced. */
typedef struct extent {
  int rank;
  int64_t dims[SN_MAX_RANK];
} extent;

static extent extent_of(const sn_group *g, bool phase) {
  extent e = {.rank = g->space_rank};
  memcpy(e.dims, g->space, sizeof e.dims);
  for (int i = 0; phase && i < g->reduced_rank; i++) e.dims[e.rank++] = g->reduced[i];
  return e;
}

static bool stays_inside(const planting *p, const sn_operand *at, const int64_t *strides,
                         const extent *e) {
  int64_t low = at->offset, high = at->offset;
  for (int i = 0; i < e->rank; i++)
    *(strides[i] < 0 ? &low : &high) += (e->dims[i] - 1) * strides[i];
  return low >= 0 && high < sn_type_size(&p->exe->program->groups.values[at->value].type);
}

/* The operand stands still along its innermost dimension. */
static bool still(sn_operand *at, const extent *e) {
  for (int i = e->rank - 1; i >= 0; i--) {
    if (e->dims[i] < 2 || !at->strides[i]) continue;
    at->strides[i] = 0;
    return true;
  }
  return false;
}

static bool foreign(const planting *p, sn_body *body, sn_operand *at, const extent *e) {
  for (uint32_t k = 0; k < body->n_operands; k++) {
    const int64_t *strides = body->operands[k].strides;
    bool other = false;
    for (int i = 0; i < e->rank; i++)
      other = other || (e->dims[i] > 1 && strides[i] != at->strides[i]);
    if (!other || !stays_inside(p, at, strides, e)) continue;
    memcpy(at->strides, strides, sizeof at->strides);
    return true;
  }
  return false;
}

static bool plant_in_body(planting *p, sn_body *body, const extent *e) {
  for (uint32_t k = 0; k < body->n_operands; k++) {
    sn_operand *at = &body->operands[k], before = *at;
    if (at->value == SN_NONE) continue;
    if (!(p->fault == PLANTED_STILL ? still(at, e) : foreign(p, body, at, e))) continue;
    if (!p->skip--) return true;
    *at = before;
  }
  return false;
}

static bool plant_in_stores(planting *p, uint32_t *n_stores) {
  if (!*n_stores || p->skip--) return false;
  --*n_stores;
  return true;
}

static bool plant_in_group(planting *p, sn_group *g) {
  if (g->kind == SN_GROUP_CHAIN || g->kind == SN_GROUP_CALL || g->kind == SN_GROUP_CONTRACTION ||
      !sn_group_points(g) || !sn_group_reduced_points(g))
    return false;
  const extent inside = extent_of(g, true), outside = extent_of(g, false);
  if (p->fault == PLANTED_UNSTORED) {
    for (uint32_t i = 0; i < sn_group_phases(g); i++)
      if (plant_in_stores(p, &g->row.phases[i].n_stores)) return true;
    return plant_in_stores(p, &g->n_stores);
  }
  for (uint32_t i = 0; i < sn_group_phases(g); i++)
    if (plant_in_body(p, &g->row.phases[i].body, &inside)) return true;
  return plant_in_body(p, &g->post, &outside);
}

/* The workspace grows to what the changed kernel needs. */
static bool make_again(sn_executable *exe, const sn_machine *machine, size_t i) {
  sn_kernel *kernel = &exe->kernels[i];
  if (sn_kernel_make(&exe->program->arena, machine, &exe->program->groups.groups[i], kernel)) return false;
  const size_t shared = (kernel->shared_bytes + 63) & ~(size_t)63;
  const size_t bytes = (kernel->worker_bytes + 63) & ~(size_t)63;
  if (exe->workers_offset < exe->shared_offset + shared)
    exe->workers_offset = exe->shared_offset + shared;
  if (exe->worker_stride < bytes) exe->worker_stride = bytes;
  return true;
}

bool planted_in(sn_executable *exe, const sn_machine *machine, planted_fault fault, size_t skip) {
  planting p = {exe, fault, skip};
  for (size_t i = 0; i < exe->n_kernels; i++)
    if (plant_in_group(&p, &exe->program->groups.groups[i])) return make_again(exe, machine, i);
  return false;
}
