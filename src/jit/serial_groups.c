/* serial_groups.c - tiny groups unrolled: bodies once for each point, sums in the order of kernels/fold.h. Loops, strides
 * and temporaries in memory are all gone afterwards. */
#include "jit/serial_elements.h"

static int64_t place_of(const sn_serial *s, const sn_operand *o) {
  int64_t place = o->offset;
  for (int i = 0; i < SN_MAX_RANK; i++) place += s->at[i] * o->strides[i];
  return place;
}

/* Sets s->at[first ..) to the indices of point `flat` of dims, and what follows to 0. */
static void go_to(sn_serial *s, int first, int rank, const int64_t *dims, int64_t flat) {
  for (int i = first + rank; i < SN_MAX_RANK; i++) s->at[i] = 0;
  for (int i = rank - 1; i >= 0; flat /= dims[i--]) s->at[first + i] = flat % dims[i];
}

sn_vec_value sn_serial_read(sn_jit *j, const sn_body *body, const sn_insn *insn) {
  sn_serial *s = (sn_serial *)j;
  const uint32_t number = insn->args[0];
  const sn_group *g = j->kernel->group;
  if (insn->kind == SN_INSN_KEPT) {
    int64_t flat = 0;
    for (int i = 0; i < g->reduced_rank; i++)
      flat = flat * g->reduced[i] + s->at[g->space_rank + i];
    return s->kept[number * s->row_points + flat];
  }
  const sn_operand *o = &body->operands[number];
  const int64_t place = place_of(s, o);
  if (sn_is_indexed(o)) j->unable = true;
  if (j->unable) return (sn_vec_value){{0, 0}};
  if (o->value != SN_NONE) return sn_serial_element(s, s->homes[o->value], place);
  const sn_vec x = sn_expand_const(&j->walk.lanes, o->dtype, (double)place);
  return (sn_vec_value){{x, x}};
}

static void store(sn_serial *s, const sn_store *stores, uint32_t n) {
  for (uint32_t i = 0; i < n && !s->j.unable; i++)
    sn_serial_set(s, s->homes[stores[i].target.value], place_of(s, &stores[i].target),
                  s->j.insns[stores[i].insn]);
}

static sn_status describe_post(sn_serial *s, const sn_group *g, int64_t point) {
  go_to(s, 0, g->space_rank, g->space, point);
  SN_TRY(sn_jit_body(&s->j, &g->post, NULL));
  store(s, g->stores, g->n_stores);
  return s->j.walk.status;
}

static sn_status describe_map(sn_serial *s, const sn_group *g) {
  for (int64_t p = 0; p < sn_group_points(g) && !s->j.unable; p++) SN_TRY(describe_post(s, g, p));
  return SN_OK;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static sn_vec_value combine(sn_serial *s, sn_op op, sn_dtype dtype, sn_vec_value a,
                            sn_vec_value b) {
  sn_vec_value out = {{0, 0}};
  for (int h = 0; h < sn_vec_halves(dtype); h++)
    out.half[h] = sn_expand_combine(&s->j.walk.lanes, op, dtype, a.half[h], b.half[h]);
  return out;
}

/* Folds a strip of n terms into x[0] as fold.h says: into lanes, then lane j with j + half. Lanes without a point would
 * hold the identity and are skipped. */
static void fold_strip(sn_serial *s, const sn_reduction *r, sn_vec_value *x, int64_t n) {
  int64_t lanes = sn_fold_order_of(r->dtype).lanes;
  for (int64_t i = lanes; i < n; i++)
    x[i % lanes] = combine(s, r->op, r->dtype, x[i % lanes], x[i]);
  if (n > lanes) n = lanes;
  while (lanes /= 2) {
    for (int64_t i = 0; i < lanes && i + lanes < n; i++)
      x[i] = combine(s, r->op, r->dtype, x[i], x[i + lanes]);
    if (n > lanes) n = lanes;
  }
}

/* Combines n items in a binary counter, into x[0]. Level i is in use if bit i of the count is set. */
static void count_items(sn_serial *s, const sn_reduction *r, sn_vec_value *x, int64_t n) {
  sn_vec_value levels[64];
  for (int64_t count = 0; count < n; count++) {
    sn_vec_value item = x[count];
    int level = 0;
    for (; count >> level & 1; level++) item = combine(s, r->op, r->dtype, levels[level], item);
    levels[level] = item;
  }
  bool any = false;
  for (int level = 0; n >> level; level++) {
    if (!(n >> level & 1)) continue;
    x[0] = any ? combine(s, r->op, r->dtype, levels[level], x[0]) : levels[level];
    any = true;
  }
}

/* The sum of n terms: each chunk (columns) or strip becomes one item, the items are counted, and the identity is added. */
static sn_vec_value sum_of(sn_serial *s, const sn_reduction *r, bool columns, sn_vec_value *x,
                           int64_t n) {
  const sn_fold_order order = sn_fold_order_of(r->dtype);
  const int64_t piece = columns ? order.chunk : order.strip;
  const sn_vec lone =
      sn_expand_const(&s->j.walk.lanes, r->dtype, sn_reduce_identity(r->op, r->dtype));
  const sn_vec_value identity = {{lone, lone}};
  int64_t items = 0;
  for (int64_t i = 0; i < n; i += piece, items++) {
    const int64_t terms = n - i < piece ? n - i : piece;
    for (int64_t t = 1; columns && t < terms; t++)
      x[i] = combine(s, r->op, r->dtype, x[i], x[i + t]);
    if (!columns) fold_strip(s, r, x + i, terms);
    x[items] = x[i];
  }
  if (!columns && items > 1)
    s->j.unable = true; /* strips of a block are combined lane by lane, not as items */
  count_items(s, r, x, items);
  if (!n) return identity;
  return sn_op_describe(r->op)->picks ? x[0] : combine(s, r->op, r->dtype, x[0], identity);
}

/* Describes a phase at a point of the space and sets its totals. */
static sn_status describe_phase(sn_serial *s, const sn_group *g, const sn_phase *phase,
                                bool columns, int64_t point, sn_vec_value *terms) {
  const int64_t n = sn_group_reduced_points(g);
  go_to(s, 0, g->space_rank, g->space, point);
  for (int64_t i = 0; i < n && !s->j.unable; i++) {
    go_to(s, g->space_rank, g->reduced_rank, g->reduced, i);
    SN_TRY(sn_jit_body(&s->j, &phase->body, NULL));
    store(s, phase->stores, phase->n_stores);
    for (uint32_t k = 0; k < phase->n_keeps; k++)
      s->kept[phase->keeps[k].slot * n + i] = s->j.insns[phase->keeps[k].insn];
    for (uint32_t k = 0; k < phase->n_reductions; k++)
      terms[k * n + i] = s->j.insns[phase->reductions[k].insn];
  }
  for (uint32_t k = 0; k < phase->n_reductions && !s->j.unable; k++)
    s->j.totals[phase->first_total + k] =
        sum_of(s, &phase->reductions[k], columns, terms + k * n, n);
  return s->j.walk.status;
}

static sn_status describe_rows(sn_serial *s, const sn_group *g, const sn_kernel *kernel) {
  const size_t n = (size_t)sn_group_reduced_points(g), totals = g->row.n_totals;
  const bool columns = g->kind == SN_GROUP_REDUCE && kernel->reduce.mode == SN_REDUCE_COLUMNS;
  sn_arena *arena = s->j.arena;
  sn_vec_value *terms;
  s->row_points = (int64_t)n;
  SN_TRY(sn_arena_alloc(arena, totals * n, sizeof *terms, (void **)&terms));
  SN_TRY(sn_arena_alloc(arena, totals, sizeof *s->j.totals, (void **)&s->j.totals));
  SN_TRY(sn_arena_alloc(arena, g->row.n_kept * n, sizeof *s->kept, (void **)&s->kept));
  for (int64_t p = 0; p < sn_group_points(g) && !s->j.unable; p++) {
    for (uint32_t i = 0; i < g->row.n_phases; i++)
      SN_TRY(describe_phase(s, g, &g->row.phases[i], columns, p, terms));
    SN_TRY(describe_post(s, g, p));
  }
  return SN_OK;
}

/* ---- products and copies --------------------------------------------------------------------- */

static sn_vec_value factor_at(sn_serial *s, const sn_operand *f, int64_t batch, int64_t across,
                              int64_t along) {
  const sn_nest *nests = f->nests->of;
  const int64_t place = f->offset + sn_nest_seek(&nests[SN_AXIS_BATCH], batch).offset +
                        sn_nest_seek(&nests[SN_AXIS_ACROSS], across).offset +
                        sn_nest_seek(&nests[SN_AXIS_ALONG], along).offset;
  return sn_serial_element(s, s->homes[f->value], place);
}

static sn_status describe_product(sn_serial *s, const sn_group *g) {
  const sn_contraction *c = &g->contraction;
  const int64_t m = g->space[g->space_rank - 2], n = g->space[g->space_rank - 1];
  const sn_vec zero = sn_expand_const(&s->j.walk.lanes, c->total_dtype, 0);
  if (c->prologue) SN_TRY(describe_map(s, c->prologue));
  SN_TRY(sn_arena_alloc(s->j.arena, 1, sizeof *s->j.totals, (void **)&s->j.totals));
  for (int64_t p = 0; p < sn_group_points(g) && !s->j.unable; p++) {
    sn_vec_value sum = {{zero, zero}};
    for (int64_t k = 0; k < c->k; k++)
      sum = combine(s, SN_OP_add, c->total_dtype, sum,
                    combine(s, SN_OP_mul, c->total_dtype,
                            factor_at(s, &c->factors[0], p / n / m, p / n % m, k),
                            factor_at(s, &c->factors[1], p / n / m, p % n, k)));
    s->j.totals[0] = sum;
    SN_TRY(describe_post(s, g, p));
  }
  return SN_OK;
}

static sn_status describe_concat(sn_serial *s, const sn_group *g) {
  const sn_call *call = &g->call;
  const sn_operand *target = &g->stores[0].target;
  for (int64_t p = 0; p < sn_group_points(g); p++) {
    go_to(s, 0, g->space_rank, g->space, p);
    for (uint32_t k = 0; k < call->n_operands && !s->j.unable; k++)
      for (int64_t i = 0; i < call->lengths[k]; i++) {
        s->at[g->space_rank] = i;
        const sn_vec_value x = sn_serial_element(s, s->homes[call->operands[k].value],
                                                 place_of(s, &call->operands[k]));
        s->at[g->space_rank] = call->starts[k] + i;
        sn_serial_set(s, s->homes[target->value], place_of(s, target), x);
      }
  }
  return s->j.walk.status;
}

sn_status sn_serial_group(sn_serial *s, const sn_group *g, const sn_kernel *kernel) {
  sn_kernel bare = {.group = g}; /* bodies use only the group of a kernel */
  s->j.kernel = &bare;
  switch (g->kind) {
  case SN_GROUP_MAP: return describe_map(s, g);
  case SN_GROUP_REDUCE:
  case SN_GROUP_ROW: return describe_rows(s, g, kernel);
  case SN_GROUP_CONTRACTION: return describe_product(s, g);
  default: return describe_concat(s, g);
  }
}
