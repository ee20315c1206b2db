#include "jit/body.h"

#include "fuse/group_visit.h"

static int64_t dim_of(const sn_group *g, int i) {
  return i < g->space_rank ? g->space[i] : g->reduced[i - g->space_rank];
}

static sn_status count_value(void *user, const sn_touch *touch) {
  size_t *n = user;
  const uint32_t v = touch->operand->value;
  if (v != SN_NONE && v >= *n) *n = (size_t)v + 1;
  return SN_OK;
}

size_t sn_jit_count_values(const sn_group *g) {
  size_t n = 0;
  sn_group_visit(g, count_value, &n);
  return n;
}

static uint32_t total_count(const sn_group *g) {
  return g->kind == SN_GROUP_MAP ? 0 : g->kind == SN_GROUP_CONTRACTION ? 1 : g->row.n_totals;
}

sn_status sn_jit_nest(sn_jit *j, int rank, const int *pick, const int64_t *dims) {
  const sn_group *g = j->kernel->group;
  memcpy(j->pick, pick, (size_t)rank * sizeof *pick);
  SN_TRY(sn_walk_begin(&j->walk, j->arena, j->w, j->lanes, rank, dims, j->bases));
  return sn_arena_alloc(j->arena, total_count(g), sizeof *j->totals, (void **)&j->totals);
}

/* A group has no reduced dims if all had size 1 and were dropped. The one of size 1 that stands in for them uses stride
 * space_rank of operands, which is 0. */
sn_status sn_jit_space_then_reduced(sn_jit *j) {
  const sn_group *g = j->kernel->group;
  const int reduced = g->reduced_rank ? g->reduced_rank : 1;
  int pick[SN_MAX_RANK];
  int64_t dims[SN_MAX_RANK];
  if (g->space_rank + reduced > SN_MAX_RANK) j->unable = true;
  for (int i = 0; i < g->space_rank + reduced && !j->unable; i++) {
    pick[i] = i;
    dims[i] = i < g->space_rank + g->reduced_rank ? dim_of(g, i) : 1;
  }
  return sn_jit_nest(j, j->unable ? 0 : g->space_rank + reduced, pick, dims);
}

void sn_jit_reduced_strides(const sn_jit *j, int64_t *strides) {
  int64_t step = 1;
  for (int i = j->walk.rank - 1; i >= 0; step *= j->walk.dims[i--])
    strides[i] = i < j->kernel->group->space_rank ? 0 : step;
}

typedef struct merging {
  const sn_group *group;
  int i, next;
  int64_t dim;
  bool all;
} merging;

/* Looks at operands of post only: the phases have walks of their own. */
static sn_status check_post(void *user, const sn_touch *touch) {
  merging *m = user;
  const bool post = touch->group == m->group && touch->body == &m->group->post;
  if (post) m->all = m->all && sn_touch_walks_as_one(touch, m->i, m->next, m->dim);
  return SN_OK;
}

static bool all_walk_as_one(const sn_group *g, int i, int next, int64_t dim) {
  merging m = {g, i, next, dim, true};
  sn_group_visit(g, check_post, &m);
  return m.all;
}

int sn_jit_merge_space(const sn_group *g, int *pick, int64_t *dims) {
  int rank = 0, order[SN_MAX_RANK];
  int64_t sizes[SN_MAX_RANK];
  for (int i = g->space_rank - 1; i >= 0; i--) { /* from the innermost outwards */
    if (g->space[i] == 1) continue;
    if (rank && all_walk_as_one(g, i, order[rank - 1], sizes[rank - 1])) {
      sizes[rank - 1] *= g->space[i];
      continue;
    }
    order[rank] = i;
    sizes[rank++] = g->space[i];
  }
  for (int i = 0; i < rank; i++) {
    pick[i] = order[rank - 1 - i];
    dims[i] = sizes[rank - 1 - i];
  }
  return rank;
}

/* Whether all numbers of an iota are int32, as emitted code has them. */
static bool fits(const sn_jit *j, const sn_operand *o) {
  int64_t low = o->offset, high = o->offset;
  for (int i = 0; i < j->kernel->group->space_rank + j->kernel->group->reduced_rank; i++) {
    const int64_t reach = (dim_of(j->kernel->group, i) - 1) * o->strides[i];
    *(reach < 0 ? &low : &high) += reach;
  }
  return low >= INT32_MIN && high <= INT32_MAX;
}

/* Whether the positions of a lookup and the bytes that they add are int32, too. */
static bool suits_lookup(const sn_operand *o) {
  const sn_indexing *at = o->indexing;
  const int64_t stride = at->stride < 0 ? -at->stride : at->stride;
  return at->length <= INT32_MAX && stride <= INT32_MAX / 8 / at->length;
}

uint32_t sn_jit_operand(sn_jit *j, const sn_operand *o) {
  int64_t strides[SN_MAX_RANK];
  for (int i = 0; i < j->walk.rank; i++) strides[i] = o->strides[j->pick[i]];
  for (int i = j->kernel->group->space_rank; j->once_per_run && i < j->walk.rank; i++)
    strides[i] = 0;
  if (o->value == SN_NONE && !fits(j, o)) j->unable = true;
  const sn_walk_base base = {.kind = o->value == SN_NONE ? SN_BASE_NUMBER : SN_BASE_VALUE,
                             .number = o->value};
  const int64_t offset = o->offset + (j->ahead ? j->ahead * strides[0] : 0);
  const uint32_t leaf = sn_walk_leaf(&j->walk, o->dtype, base, offset, strides);
  if (!sn_is_indexed(o)) return leaf;
  const sn_indexing *at = o->indexing;
  if (!suits_lookup(o)) j->unable = true;
  sn_walk_look_up(&j->walk, leaf, sn_jit_operand(j, &at->index), at->stride, at->length);
  return leaf;
}

static sn_vec_value read_insn(sn_jit *j, const sn_body *body, const sn_insn *insn,
                              const uint32_t *kept) {
  const uint32_t number = insn->args[0];
  if (j->read) return j->read(j, body, insn);
  return sn_walk_read(&j->walk, insn->kind == SN_INSN_KEPT
                                    ? kept[number]
                                    : sn_jit_operand(j, &body->operands[number]));
}

/* Whether insn casts a small float back to float32 that was cast from float32: together a rounding. */
static bool casts_back(const sn_body *body, const sn_insn *insn) {
  const sn_insn *from = &body->insns[insn->args[0]];
  return insn->op == SN_OP_astype && insn->dtype == SN_F32 && from->kind == SN_INSN_OP &&
         from->op == SN_OP_astype && sn_dtype_is_small(from->dtype) &&
         sn_dtype_is_float(from->dtype) && from->in_dtype == SN_F32;
}

static sn_vec_value describe_op(sn_jit *j, const sn_body *body, const sn_insn *insn) {
  sn_vec_value args[SN_MAX_ARITY] = {0};
  sn_dtype dtypes[SN_MAX_ARITY] = {0};
  if (casts_back(body, insn)) {
    const sn_insn *from = &body->insns[insn->args[0]];
    const sn_vec a = j->insns[from->args[0]].half[0];
    return (sn_vec_value){{sn_expand_rounded(&j->walk.lanes, from->dtype, a)}};
  }
  for (uint32_t k = 0; k < insn->n_args; k++) {
    args[k] = j->insns[insn->args[k]];
    dtypes[k] = body->insns[insn->args[k]].dtype;
  }
  return sn_expand_op(&j->walk.lanes, insn, args, dtypes);
}

sn_status sn_jit_body(sn_jit *j, const sn_body *body, const uint32_t *kept) {
  SN_TRY(sn_arena_alloc(j->arena, body->n_insns, sizeof *j->insns, (void **)&j->insns));
  for (uint32_t i = 0; i < body->n_insns && !j->unable; i++) {
    const sn_insn *insn = &body->insns[i];
    sn_vec_value *value = &j->insns[i];
    switch (insn->kind) {
    case SN_INSN_LOAD:
    case SN_INSN_KEPT: *value = read_insn(j, body, insn, kept); break;
    case SN_INSN_CONST:
      value->half[0] = sn_expand_const(&j->walk.lanes, insn->dtype, insn->value);
      value->half[1] = value->half[0];
      break;
    case SN_INSN_TOTAL: *value = j->totals[insn->args[0]]; break;
    case SN_INSN_OP:
      if (sn_expand_knows(insn))
        *value = describe_op(j, body, insn);
      else
        j->unable = true;
    }
  }
  SN_TRY(j->walk.status);
  return j->walk.lanes.status;
}

void sn_jit_stores(sn_jit *j, const sn_store *stores, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    sn_walk_write(&j->walk, sn_jit_operand(j, &stores[i].target), &j->insns[stores[i].insn]);
}
