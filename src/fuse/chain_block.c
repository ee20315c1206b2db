/* chain_block.c - the members of a chain for a block of rows: outer dims but the rows are gone,
 * every operand has a link. */
#include <string.h>

#include "fuse/chain.h"
#include "fuse/fuse.h"
#include "fuse/group_visit.h"

typedef struct cutter {
  sn_chain *chain;
  sn_arena *arena;
  const sn_value *values;
  const size_t *local_at;
  size_t capacity;
  uint32_t at; /* the next link; the blocks of a rest meet the same ones again */
  bool again;
  const sn_group *whole; /* the member being cut */
  int64_t n;             /* rows it is cut to */
  int outer;
} cutter;

/* The link's number; its kind and place follow from the value. */
static sn_status add_link(cutter *c, sn_link link, uint32_t *number) {
  sn_chain *chain = c->chain;
  *number = c->at++;
  if (c->again) return SN_OK;
  if (link.kind == SN_LINK_INDEX) {
    link.element = sizeof(int32_t);
    link.at = chain->local_bytes;
    chain->local_bytes += ((size_t)chain->block * sizeof(int32_t) + 63) & ~(size_t)63;
  } else {
    link.element = sn_dtype_bytes(c->values[link.value].type.dtype);
    link.at = c->local_at[link.value];
    if (link.at != SN_NOT_LOCAL) link.kind = SN_LINK_LOCAL;
  }
  SN_TRY(sn_arena_grow(c->arena, (void **)&chain->links, &c->capacity, chain->n_links,
                       sizeof *chain->links));
  chain->links[chain->n_links++] = link;
  return SN_OK;
}

static sn_status cut_operand(cutter *c, sn_operand *o) {
  sn_link link = {.value = o->value, .row = o->strides[c->outer - 1], .first = o->offset};
  bool still = o->strides[c->outer - 1] == 0;
  for (int i = 0; i < c->outer - 1; i++) {
    still = still && o->strides[i] == 0;
    sn_nest_add(&link.batch, c->whole->space[i], o->strides[i]);
  }
  if (!link.batch.rank) link.batch = sn_nest_line(1, 0);
  memmove(o->strides, o->strides + c->outer - 1,
          (SN_MAX_RANK - (size_t)c->outer + 1) * sizeof *o->strides);
  memset(o->strides + SN_MAX_RANK - c->outer + 1, 0, ((size_t)c->outer - 1) * sizeof *o->strides);
  if (o->value == SN_NONE) {
    if (still) return SN_OK;
    link.kind = SN_LINK_INDEX;
    o->offset = 0;
    o->strides[0] = 1;
  }
  return add_link(c, link, &o->value);
}

static sn_status cut_factor(cutter *c, sn_operand *f, bool rows) {
  sn_nest *batch = &f->nests[SN_AXIS_BATCH], *across = &f->nests[SN_AXIS_ACROSS];
  const sn_link link = {.value = f->value, .batch = *batch, .row = rows ? across->strides[0] : 0};
  *batch = sn_nest_line(1, 0);
  if (rows) *across = sn_nest_line(c->n, across->strides[0]);
  return add_link(c, link, &f->value);
}

static sn_status cut_touched(void *user, const sn_touch *touch) {
  if (touch->role != SN_ROLE_FACTOR) return cut_operand(user, touch->operand);
  return cut_factor(user, touch->operand, touch->operand == touch->group->contraction.factors);
}

static sn_status copy(sn_arena *arena, void *list, uint32_t n, size_t size) {
  void **at = list, *to;
  SN_TRY(sn_arena_alloc(arena, n, size, &to));
  if (n) memcpy(to, *at, n * size);
  *at = to;
  return SN_OK;
}

static sn_status copy_operands(sn_arena *arena, sn_body *body, sn_store **stores, uint32_t n) {
  SN_TRY(copy(arena, &body->operands, body->n_operands, sizeof *body->operands));
  return copy(arena, stores, n, sizeof **stores);
}

/* Rows of the product when it runs alone. */
static int64_t rows_alone(const sn_chain *chain, const sn_contraction *whole) {
  sn_nest a = whole->factors[0].nests[SN_AXIS_BATCH], b = whole->factors[1].nests[SN_AXIS_BATCH];
  sn_nest across = whole->factors[0].nests[SN_AXIS_ACROSS];
  return chain->rows * sn_nest_join_rows(&a, &b, &across);
}

/* What cutting changes becomes the group's own. */
static sn_status copy_factors(sn_arena *arena, sn_contraction *c) {
  SN_TRY(copy(arena, &c->factors, 2, sizeof *c->factors));
  for (int i = 0; i < 2; i++)
    SN_TRY(copy(arena, &c->factors[i].nests, SN_PRODUCT_AXES, sizeof *c->factors[i].nests));
  return SN_OK;
}

static sn_status copy_phases(sn_arena *arena, sn_row *row) {
  SN_TRY(copy(arena, &row->phases, row->n_phases, sizeof *row->phases));
  for (uint32_t p = 0; p < row->n_phases; p++) {
    sn_phase *phase = &row->phases[p];
    SN_TRY(copy_operands(arena, &phase->body, &phase->stores, phase->n_stores));
  }
  return SN_OK;
}

/* A copy of the member that walks over n rows. */
static sn_status cut_member(cutter *c, const sn_group *whole, int64_t n, sn_group *out) {
  c->whole = whole;
  c->n = n;
  *out = *whole;
  if (out->kind == SN_GROUP_ROW) SN_TRY(copy_phases(c->arena, &out->row));
  if (out->kind == SN_GROUP_CONTRACTION) {
    SN_TRY(copy_factors(c->arena, &out->contraction));
    out->contraction.whole_m = rows_alone(c->chain, &whole->contraction);
  }
  SN_TRY(copy_operands(c->arena, &out->post, &out->stores, out->n_stores));
  SN_TRY(sn_group_visit(out, cut_touched, c));
  out->space_rank -= c->outer - 1;
  memmove(out->space, out->space + c->outer - 1, (size_t)out->space_rank * sizeof *out->space);
  out->space[0] = n;
  sn_merge_dims(out);
  return SN_OK;
}

sn_status sn_chain_cut(sn_chain *chain, int outer, sn_arena *arena, const sn_value *values,
                       const size_t *local_at) {
  const uint32_t n = chain->n_members;
  cutter c = {
      .chain = chain, .arena = arena, .values = values, .local_at = local_at, .outer = outer};
  chain->rest = chain->rows % chain->block;
  SN_TRY(sn_arena_alloc(arena, 2 * n, sizeof *chain->blocks, (void **)&chain->blocks));
  for (uint32_t m = 0; m < n; m++)
    SN_TRY(cut_member(&c, &chain->whole[m], chain->block, &chain->blocks[m]));
  c.again = true;
  c.at = 0;
  for (uint32_t m = 0; m < n && chain->rest; m++)
    SN_TRY(cut_member(&c, &chain->whole[m], chain->rest, &chain->blocks[n + m]));
  return SN_OK;
}
