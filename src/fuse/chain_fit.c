#include "fuse/chain_fit.h"

#include "fuse/group_visit.h"

int64_t sn_chain_outer_points(const sn_chain_fit *f) {
  int64_t n = 1;
  for (int i = 0; i < f->outer; i++) n *= f->dims[i];
  return n;
}

int64_t sn_chain_row_elements(const sn_chain_fit *f, uint32_t value) {
  return sn_type_size(&f->groups->values[value].type) / sn_chain_outer_points(f);
}

/* Whether walking dims by strides from offset on stays in [0, size). */
static bool stays_within(int64_t offset, const int64_t *dims, const int64_t *strides, int rank,
                         int64_t size) {
  int64_t low = offset, high = offset;
  for (int i = 0; i < rank; i++) *(strides[i] < 0 ? &low : &high) += (dims[i] - 1) * strides[i];
  return low >= 0 && high < size;
}

static bool in_step(const sn_chain_fit *f, const sn_touch *touch) {
  const sn_operand *o = touch->operand;
  const int64_t size = sn_chain_row_elements(f, o->value);
  int64_t stride = size;
  for (int i = f->outer - 1; i >= 0; stride *= f->dims[i--])
    if (f->dims[i] > 1 && o->strides[i] != stride) return false;
  return stays_within(o->offset, touch->dims + f->outer, o->strides + f->outer,
                      touch->rank - f->outer, size);
}

/* Whether a block can have this iota: it does not change along the outer dims, or it is int32 and
 * changes along them alone, and can be listed for a block. */
static bool index_fits(const sn_chain_fit *f, const sn_touch *touch) {
  const sn_operand *o = touch->operand;
  bool outer = false, inner = false;
  for (int i = 0; i < f->outer; i++) outer = outer || o->strides[i];
  for (int i = f->outer; i < touch->rank; i++) inner = inner || o->strides[i];
  return !outer || (!inner && o->dtype == SN_I32);
}

/* Whether a member writes the value, or will once a reader has joined and brought the writer with it. */
static bool is_inside(const sn_chain_fit *f, uint32_t value) {
  return f->state[value] == SN_CHAIN_INSIDE || f->state[value] == SN_CHAIN_BESIDE;
}

typedef struct fit {
  const sn_chain_fit *f;
  bool all;
} fit;

static sn_status check_fit(void *user, const sn_touch *touch) {
  fit *t = user;
  const sn_chain_fit *f = t->f;
  const uint32_t v = touch->operand->value;
  if (touch->role == SN_ROLE_FACTOR) return SN_OK; /* factors_fit has checked it */
  if (v == SN_NONE)
    t->all = t->all && index_fits(f, touch);
  else if (sn_touch_writes(touch))
    t->all = t->all && f->n_writes[v] == 1 && in_step(f, touch);
  else if (is_inside(f, v))
    t->all = t->all && in_step(f, touch) && !sn_is_indexed(touch->operand);
  return SN_OK;
}

static bool factor_in_step(const sn_chain_fit *f, const sn_operand *a) {
  const int64_t size = sn_chain_row_elements(f, a->value), rows = f->dims[f->outer - 1];
  const sn_nest *batch = &a->nests->of[SN_AXIS_BATCH], *along = &a->nests->of[SN_AXIS_ALONG];
  const bool even =
      sn_chain_outer_points(f) == rows || (batch->rank == 1 && batch->strides[0] == rows * size);
  return even && a->nests->of[SN_AXIS_ACROSS].strides[0] == size &&
         stays_within(a->offset, along->dims, along->strides, along->rank, size);
}

static bool factors_fit(const sn_chain_fit *f, const sn_group *g) {
  const sn_contraction *c = &g->contraction;
  const int64_t rows = g->space[g->space_rank - 2];
  const sn_operand *a = &c->factors[0], *b = &c->factors[1];
  if (a->nests->bounds.guards || b->nests->bounds.guards) return false;
  if (sn_target_sum_segments(f->groups->target, sn_group_points(g), rows, c->k) > 1) return false;
  if (a->nests->of[SN_AXIS_ACROSS].rank != 1 || is_inside(f, b->value)) return false;
  return !is_inside(f, a->value) || factor_in_step(f, a);
}

/* Whether the group is a reduction that can run in a chain as a row group of one phase. */
static bool reduces_rows(const sn_chain_fit *f, const sn_group *g) {
  return g->kind == SN_GROUP_REDUCE && g->space_rank == f->outer && g->reduced_rank == 1 &&
         sn_group_reduced_points(g) <=
             sn_target_row_points(f->groups->target, sn_chain_outer_points(f));
}

/* ---- in tiles -------------------------------------------------------------------------------- */

static bool has_tiles(const sn_chain_fit *f) { return f->groups->target->limits.tile_rows > 0; }

bool sn_chain_consumes_scores(const sn_chain_fit *f, const sn_group *g) {
  return has_tiles(f) && g->kind == SN_GROUP_CONTRACTION &&
         is_inside(f, g->contraction.factors[0].value);
}

/* Whether the operand is of scores, walked column by column, or of one number per row. */
static bool is_handed_on(const sn_chain_fit *f, const sn_touch *touch) {
  const sn_operand *o = touch->operand;
  const int64_t size = sn_chain_row_elements(f, o->value);
  if (size == f->columns)
    return touch->rank == f->outer + 1 && touch->dims[f->outer] == size &&
           o->strides[f->outer] == 1;
  for (int i = f->outer; i < touch->rank; i++)
    if (o->strides[i]) return false;
  return size == 1 && (!sn_touch_writes(touch) || touch->rank == f->outer);
}

static sn_status check_tiles(void *user, const sn_touch *touch) {
  fit *t = user;
  const sn_chain_fit *f = t->f;
  const uint32_t v = touch->operand->value;
  if (touch->role == SN_ROLE_FACTOR || v == SN_NONE) return SN_OK;
  const bool is_result = sn_touch_writes(touch) && sn_chain_consumes_scores(f, touch->group);
  const bool is_handed = is_inside(f, v) || (sn_touch_writes(touch) && !is_result);
  t->all = t->all && touch->role != SN_ROLE_INDEX && (!is_handed || is_handed_on(f, touch));
  return SN_OK;
}

static bool product_suits_tiles(const sn_chain_fit *f, const sn_group *g) {
  const sn_contraction *c = &g->contraction;
  const sn_nest *along = &c->factors[0].nests->of[SN_AXIS_ALONG];
  const int64_t n = g->space[f->outer];
  if (c->total_dtype != SN_F32 || c->prologue) return false;
  if (!sn_chain_consumes_scores(f, g)) return n == f->columns && c->k <= SN_TILED_TERMS;
  return c->k == f->columns && sn_chain_row_elements(f, c->factors[0].value) == f->columns &&
         c->factors[0].offset == 0 && along->rank == 1 && along->strides[0] == 1 &&
         n <= SN_TILED_COLUMNS && f->results + n <= SN_TILED_RESULTS;
}

static bool adds_floats(const sn_row *row) {
  for (uint32_t p = 0; p < row->n_phases; p++)
    for (uint32_t k = 0; k < row->phases[p].n_reductions; k++)
      if (row->phases[p].reductions[k].dtype != SN_F32) return false;
  return true;
}

static bool fits_tiles(const sn_chain_fit *f, const sn_group *g) {
  fit t = {f, f->columns > 1};
  if (g->kind == SN_GROUP_CONTRACTION && !product_suits_tiles(f, g)) return false;
  if (g->kind == SN_GROUP_MAP && g->space_rank > f->outer &&
      (g->space_rank > f->outer + 1 || g->space[f->outer] != f->columns))
    return false;
  if ((g->kind == SN_GROUP_ROW || g->kind == SN_GROUP_REDUCE) &&
      (g->space_rank != f->outer || g->reduced_rank != 1 || g->reduced[0] != f->columns ||
       !adds_floats(&g->row)))
    return false;
  sn_group_visit(g, check_tiles, &t);
  return t.all;
}

/* ---- all ------------------------------------------------------------------------------------- */

bool sn_chain_fits(const sn_chain_fit *f, const sn_group *g) {
  const bool product = g->kind == SN_GROUP_CONTRACTION;
  if (!product && g->kind != SN_GROUP_MAP && g->kind != SN_GROUP_ROW && !reduces_rows(f, g))
    return false;
  if (product ? g->space_rank != f->outer + 1 : g->space_rank < f->outer) return false;
  for (int i = 0; i < f->outer; i++)
    if (g->space[i] != f->dims[i]) return false;
  if (product && !factors_fit(f, g)) return false;
  fit t = {f, true};
  sn_group_visit(g, check_fit, &t);
  return t.all && (!has_tiles(f) || fits_tiles(f, g));
}
