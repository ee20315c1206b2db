/* merge.c - fewer and longer dimensions: dims i and i+1 become one when every operand walks them as
 * one, stride[i] = stride[i+1] * dim[i+1]. Most maps end with a single dimension. */
#include "fuse/fuse.h"

/* Applies fn to every operand whose strides cover the range [first, ..) of the nest. */
typedef bool operand_fn(sn_operand *operand, int i, int64_t dim);

static bool each_operand(sn_group *g, bool reduced, operand_fn *fn, int i, int64_t dim) {
  bool all = true;
  for (uint32_t p = 0; p < g->n_phases; p++) {
    sn_phase *phase = &g->phases[p];
    for (uint32_t k = 0; k < phase->body.n_operands; k++)
      all = fn(&phase->body.operands[k], i, dim) && all;
    for (uint32_t k = 0; k < phase->n_stores; k++)
      all = fn(&phase->stores[k].target, i, dim) && all;
  }
  if (reduced) return all;
  for (uint32_t k = 0; k < g->post.n_operands; k++) all = fn(&g->post.operands[k], i, dim) && all;
  for (uint32_t k = 0; g->call && k < g->call->n_operands; k++)
    all = fn(&g->call->operands[k], i, dim) && all;
  for (uint32_t k = 0; k < g->n_stores; k++) all = fn(&g->stores[k].target, i, dim) && all;
  return all;
}

static bool follows(sn_operand *o, int i, int64_t dim) {
  return o->strides[i] == o->strides[i + 1] * dim;
}

static bool drop(sn_operand *o, int i, int64_t dim) {
  (void)dim;
  for (int k = i; k + 1 < SN_MAX_RANK; k++) o->strides[k] = o->strides[k + 1];
  o->strides[SN_MAX_RANK - 1] = 0;
  return true;
}

static void remove_dim(int64_t *dims, int *rank, int i) {
  for (int k = i; k + 1 < *rank; k++) dims[k] = dims[k + 1];
  dims[--*rank] = 0;
}

/* base: place of dims[0] in the strides */
static void merge(sn_group *g, int64_t *dims, int *rank, int base, bool reduced) {
  for (int i = *rank - 1; i >= 0; i--) {
    if (dims[i] == 1) {
      each_operand(g, reduced, drop, base + i, 0);
      remove_dim(dims, rank, i);
    }
  }
  for (int i = *rank - 2; i >= 0; i--) {
    if (!each_operand(g, reduced, follows, base + i, dims[i + 1])) continue;
    dims[i + 1] *= dims[i];
    each_operand(g, reduced, drop, base + i, 0);
    remove_dim(dims, rank, i);
  }
}

void sn_merge_dims(sn_group *g) {
  if (g->before) sn_merge_dims(g->before);
  if (g->kind == SN_GROUP_CONTRACTION || g->chain) return; /* its form is (batch..., m, n) */
  merge(g, g->reduced, &g->reduced_rank, g->space_rank, true);
  merge(g, g->space, &g->space_rank, 0, false);
}
