/* merge.c - fewer and longer dimensions: dims i and i+1 become one when every operand walks them as
 * one, stride[i] = stride[i+1] * dim[i+1]. Most maps end with a single dimension. Operands of phases
 * cover the space and the reduced dims; all others cover the space alone. */
#include "fuse/fuse.h"
#include "fuse/group_visit.h"

typedef struct merging {
  int i;       /* the dim that is merged into the next one, or dropped */
  int64_t dim; /* size of the next one */
  bool all;    /* operands walk both as one */
} merging;

static sn_status check_follows(void *user, const sn_touch *touch) {
  merging *m = user;
  if (m->i < touch->rank) m->all = m->all && sn_touch_walks_as_one(touch, m->i, m->i + 1, m->dim);
  return SN_OK;
}

static sn_status drop_dim(void *user, const sn_touch *touch) {
  const merging *m = user;
  int64_t *strides = touch->operand->strides;
  if (m->i >= touch->rank) return SN_OK;
  for (int k = m->i; k + 1 < SN_MAX_RANK; k++) strides[k] = strides[k + 1];
  strides[SN_MAX_RANK - 1] = 0;
  return SN_OK;
}

/* base: the place of dims[0] in the strides. */
static void remove_dim(const sn_group *g, int64_t *dims, int *rank, int base, int i) {
  sn_group_visit(g, drop_dim, &(merging){.i = base + i});
  for (int k = i; k + 1 < *rank; k++) dims[k] = dims[k + 1];
  dims[--*rank] = 0;
}

/* The first `stay` dims stay as they are. */
static void merge(const sn_group *g, int64_t *dims, int *rank, int base, int stay) {
  for (int i = *rank - 1; i >= stay; i--)
    if (dims[i] == 1) remove_dim(g, dims, rank, base, i);
  for (int i = *rank - 2; i >= stay; i--) {
    merging m = {base + i, dims[i + 1], true};
    sn_group_visit(g, check_follows, &m);
    if (!m.all) continue;
    dims[i + 1] *= dims[i];
    remove_dim(g, dims, rank, base, i);
  }
}

void sn_merge_dims(sn_group *g) {
  if (sn_group_prologue(g)) sn_merge_dims(sn_group_prologue(g));
  if (g->kind == SN_GROUP_CONTRACTION || g->kind == SN_GROUP_CHAIN) return; /* (batch..., m, n) */
  if (g->kind == SN_GROUP_CONTROL) return;
  const bool ragged = sn_group_phases(g) && g->row.ends;
  merge(g, g->reduced, &g->reduced_rank, g->space_rank, ragged);
  merge(g, g->space, &g->space_rank, 0, ragged);
}
