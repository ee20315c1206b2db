#include "kernels/schedule.h"

#include <string.h>

#include "fuse/fuse.h"
#include "fuse/group_visit.h"

typedef struct cutter {
  const sn_chain *chain;
  sn_schedule *to;
  sn_arena *arena;
  const size_t *local_at; /* per local value of the chain */
  size_t capacity;
  uint32_t at;           /* number of the next link */
  bool again;            /* members are being cut for the rest, which has the same links again */
  const sn_group *whole; /* the member being cut */
  int64_t n;             /* rows it is cut to */
  int outer;
} cutter;

/* Takes room in the worker's own memory; returns its offset. */
static size_t take_room(sn_schedule *to, int64_t bytes) {
  const size_t at = to->local_bytes;
  to->local_bytes += ((size_t)bytes + 63) & ~(size_t)63;
  return at;
}

/* Adds a link, or finds it again. Its kind and its place in local memory follow from its value. */
static sn_status add_link(cutter *c, sn_link link, uint32_t *number) {
  sn_schedule *to = c->to;
  *number = c->at++;
  if (c->again) return SN_OK;
  if (link.kind == SN_LINK_INDEX) link.at = take_room(to, to->block * (int64_t)link.element);
  for (uint32_t i = 0; link.kind == SN_LINK_VALUE && i < c->chain->n_locals; i++) {
    if (c->chain->locals[i].value != link.value) continue;
    link.kind = SN_LINK_LOCAL;
    link.at = c->local_at[i];
  }
  SN_TRY(
      sn_arena_grow(c->arena, (void **)&to->links, &c->capacity, to->n_links, sizeof *to->links));
  to->links[to->n_links++] = link;
  return SN_OK;
}

static sn_status cut_operand(cutter *c, sn_operand *o) {
  sn_link link = {.value = o->value,
                  .element = sn_dtype_bytes(o->dtype),
                  .row = o->strides[c->outer - 1],
                  .first = o->offset};
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
  sn_nest *batch = &f->nests->of[SN_AXIS_BATCH], *across = &f->nests->of[SN_AXIS_ACROSS];
  const sn_link link = {.value = f->value,
                        .element = sn_dtype_bytes(f->dtype),
                        .batch = *batch,
                        .row = rows ? across->strides[0] : 0};
  *batch = sn_nest_line(1, 0);
  if (rows) *across = sn_nest_line(c->n, across->strides[0]);
  return add_link(c, link, &f->value);
}

static sn_status cut_touched(void *user, const sn_touch *touch) {
  if (touch->role != SN_ROLE_FACTOR) return cut_operand(user, touch->operand);
  return cut_factor(user, touch->operand, touch->operand == touch->group->contraction.factors);
}

/* Copies a member, so that it walks over n rows of one matrix. */
static sn_status cut_member(cutter *c, const sn_group *whole, int64_t n, sn_group *out) {
  c->whole = whole;
  c->n = n;
  SN_TRY(sn_group_copy(c->arena, whole, out));
  SN_TRY(sn_group_visit(out, cut_touched, c));
  out->space_rank -= c->outer - 1;
  memmove(out->space, out->space + c->outer - 1, (size_t)out->space_rank * sizeof *out->space);
  out->space[0] = n;
  sn_merge_dims(out);
  return SN_OK;
}

sn_status sn_schedule_chain(sn_arena *arena, const sn_target *target, const sn_group *group,
                            sn_schedule *out) {
  const sn_chain *chain = group->chain;
  const uint32_t n = chain->n_members;
  size_t *local_at;
  SN_TRY(sn_arena_alloc(arena, chain->n_locals, sizeof *local_at, (void **)&local_at));
  *out = (sn_schedule){.block = sn_chain_block(target, chain)};
  SN_CHECK(arena->env, out->block);
  for (uint32_t i = 0; i < chain->n_locals; i++) {
    const sn_chain_local *local = &chain->locals[i];
    local_at[i] =
        local->slot == i ? take_room(out, local->row_bytes * out->block) : local_at[local->slot];
  }
  cutter c = {
      .chain = chain, .to = out, .arena = arena, .local_at = local_at, .outer = group->space_rank};
  out->rest = chain->rows % out->block;
  SN_TRY(sn_arena_alloc(arena, 2 * n, sizeof *out->members, (void **)&out->members));
  for (uint32_t m = 0; m < n; m++)
    SN_TRY(cut_member(&c, &chain->members[m], out->block, &out->members[m]));
  c.again = true;
  c.at = 0;
  for (uint32_t m = 0; m < n && out->rest; m++)
    SN_TRY(cut_member(&c, &chain->members[m], out->rest, &out->members[n + m]));
  return SN_OK;
}

int64_t sn_schedule_rows_alone(const sn_chain *chain, uint32_t member) {
  const sn_group *whole = &chain->members[member];
  if (whole->kind != SN_GROUP_CONTRACTION) return 0;
  const sn_operand *factors = whole->contraction.factors;
  sn_nest a = factors[0].nests->of[SN_AXIS_BATCH], b = factors[1].nests->of[SN_AXIS_BATCH];
  sn_nest across = factors[0].nests->of[SN_AXIS_ACROSS];
  return chain->rows * sn_nest_join_rows(&a, &b, &across);
}

sn_range sn_schedule_columns(const sn_chain *c, const sn_schedule *schedule, int64_t row) {
  sn_range r = {0, c->columns};
  const int64_t to = (row + schedule->block + SN_COLUMN_UNIT - 1) & -SN_COLUMN_UNIT;
  if (c->side > 0 && to < r.to) r.to = to;
  if (c->side < 0) r.from = row < r.to ? row & -SN_COLUMN_UNIT : r.to;
  return r;
}
