/* lower_row.c - a set with a row domain -> phases.
 *
 *   member        per element: its phase      per row: available from phase
 *   x             0
 *   m = max x                                 1   (a reduction over phase p: from p + 1)
 *   e = exp(x-m)  1
 *   s = sum e                                 2
 *   y = e / s     2
 *
 * Each phase computes what its reductions and stores need. A value that an earlier phase computed is
 * made again where that is about as cheap as reading it, and kept in the row's scratch otherwise.
 * Values per row are computed in the bodies that read them: backends do so once per row. */
#include <string.h>

#include "fuse/lowering.h"

typedef struct row_member {
  sn_id id;
  bool element;   /* computed per element, not per row */
  uint32_t phase; /* of an element: that computes it; of a value per row: first that can read it */
  uint32_t total; /* number of a reduction's total, or SN_NONE */
  uint32_t slot;  /* in which it is kept, or SN_NONE */
  uint32_t cost;  /* flops and loads to make it again */
  bool needed;    /* by the body being built */
} row_member;

typedef struct row_set {
  sn_lowering *l;
  sn_group *group;
  sn_row_domain domain;
  row_member *members;
  uint32_t n;
  int64_t kept_bytes;
} row_set;

static const sn_node *node_of(const row_set *r, const row_member *m) {
  return &r->l->g->nodes[m->id];
}

/* The member that x is, or shows a view of; NULL: x comes from memory. */
static row_member *member_of(const row_set *r, sn_id x) {
  const sn_id id = r->l->views[x].base;
  uint32_t low = 0, high = r->n;
  while (low < high) {
    const uint32_t mid = (low + high) / 2;
    if (r->members[mid].id < id)
      low = mid + 1;
    else
      high = mid;
  }
  return low < r->n && r->members[low].id == id ? &r->members[low] : NULL;
}

/* ---- which phase ----------------------------------------------------------------------------- */

/* Flops per element. A cast to or from a float of 16 bits costs the operations on its bit fields. */
static uint32_t cost_of(const row_set *r, sn_id id) {
  enum { FIELDS = 8 };
  const sn_graph *g = r->l->g;
  const sn_dtype to = g->nodes[id].type.dtype;
  if (g->nodes[id].op != SN_OP_astype) return sn_op_describe(g->nodes[id].op)->cost;
  const sn_dtype from = g->nodes[*sn_graph_inputs(g, id)].type.dtype;
  const bool half =
      sn_dtype_table[from].kind == SN_KIND_HALF || sn_dtype_table[to].kind == SN_KIND_HALF;
  return half ? FIELDS : 0;
}

static sn_status classify(row_set *r, row_member *m) {
  const sn_node *node = node_of(r, m);
  const sn_op_info *op = sn_op_describe(node->op);
  const sn_id *x = sn_graph_inputs(r->l->g, m->id);
  SN_CHECK(r->l->g->env, sn_row_holds(&r->domain, &node->type));
  m->element = sn_row_is_element(&r->domain, &node->type);
  m->total = m->slot = SN_NONE;
  m->cost = cost_of(r, m->id);
  for (uint32_t k = 0; k < node->n_inputs; k++) {
    const row_member *in = member_of(r, x[k]);
    m->cost += in && in->element ? in->cost : 1;
    if (in && in->phase > m->phase) m->phase = in->phase;
  }
  if (op->kind == SN_CLASS_REDUCE) m->phase++;
  return SN_OK;
}

/* Numbers the totals phase by phase. */
static sn_status number_totals(row_set *r) {
  sn_group *g = r->group;
  sn_arena *arena = r->l->arena;
  SN_TRY(sn_arena_alloc(arena, g->row.n_phases, sizeof *g->row.phases, (void **)&g->row.phases));
  for (uint32_t p = 0; p < g->row.n_phases; p++) {
    sn_phase *phase = &g->row.phases[p];
    phase->first_total = g->row.n_totals;
    for (uint32_t i = 0; i < r->n; i++) {
      row_member *m = &r->members[i];
      if (sn_op_describe(node_of(r, m)->op)->kind != SN_CLASS_REDUCE || m->phase != p + 1) continue;
      m->total = g->row.n_totals++;
      phase->n_reductions++;
    }
    SN_TRY(sn_arena_alloc(arena, phase->n_reductions, sizeof *phase->reductions,
                          (void **)&phase->reductions));
  }
  return SN_OK;
}

static bool is_stored(const row_set *r, const row_member *m) {
  return r->l->value_of[m->id] != SN_NONE;
}

static sn_status find_phases(row_set *r, size_t set) {
  size_t n;
  const sn_id *nodes = sn_lower_members(r->l, set, &n);
  SN_TRY(sn_arena_alloc(r->l->scratch, n, sizeof *r->members, (void **)&r->members));
  for (size_t i = 0; i < n; i++) {
    row_member *m = &r->members[i];
    m->id = nodes[i];
    r->n = (uint32_t)i; /* member_of looks at these: inputs have smaller ids */
    SN_TRY(classify(r, m));
    const uint32_t ends = m->element ? m->phase + 1 : m->phase;
    const bool target =
        m->element ? is_stored(r, m) : sn_op_describe(node_of(r, m)->op)->kind == SN_CLASS_REDUCE;
    if (target && ends > r->group->row.n_phases) r->group->row.n_phases = ends;
  }
  r->n = (uint32_t)n;
  return number_totals(r);
}

/* ---- what a body needs ----------------------------------------------------------------------- */

static bool from_earlier(const row_member *m, uint32_t phase) {
  return m->element && m->phase < phase && m->slot != SN_NONE;
}

/* Takes local memory for one more kept value of a row; false if there is none left: m is made again. */
static bool has_room(row_set *r, const row_member *m) {
  const int64_t row = sn_group_reduced_points(r->group);
  const int64_t bytes = r->kept_bytes + row * (int64_t)sn_dtype_bytes(node_of(r, m)->type.dtype);
  if (bytes > r->l->p->target->limits.local_bytes) return false;
  r->kept_bytes = bytes;
  return true;
}

/* Marks what the marked members need, down to totals and kept values; decides what earlier phases keep. */
static void mark_needed(row_set *r, uint32_t phase) {
  const uint32_t most = r->l->p->target->costs.kept_flops;
  for (uint32_t i = r->n; i-- > 0;) {
    row_member *m = &r->members[i];
    if (!m->needed || m->total != SN_NONE) continue;
    if (m->element && m->phase < phase && m->cost > most && m->slot == SN_NONE &&
        r->group->row.n_kept < SN_MAX_KEPT && has_room(r, m))
      m->slot = r->group->row.n_kept++;
    if (from_earlier(m, phase)) continue;
    const sn_id *x = sn_graph_inputs(r->l->g, m->id);
    for (uint32_t k = 0; k < node_of(r, m)->n_inputs; k++) {
      row_member *in = member_of(r, x[k]);
      if (in) in->needed = true;
    }
  }
}

/* Marks what phase p has to make for its stores, slots and reductions. Later phases have been built
 * before, so it is known what they read from slots. */
static void mark_phase(row_set *r, uint32_t p) {
  const sn_phase *phase = &r->group->row.phases[p];
  for (uint32_t i = 0; i < r->n; i++) {
    row_member *m = &r->members[i];
    m->needed = m->element && m->phase == p && (is_stored(r, m) || m->slot != SN_NONE);
  }
  for (uint32_t i = 0; i < r->n; i++) {
    const row_member *m = &r->members[i];
    if (m->total == SN_NONE || m->total < phase->first_total ||
        m->total >= phase->first_total + phase->n_reductions)
      continue;
    row_member *in = member_of(r, *sn_graph_inputs(r->l->g, m->id));
    if (in) in->needed = true;
  }
  mark_needed(r, p);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Sets how the nest runs over a node: all dims for elements, the outer dims for values per row. */
static void point_at(const row_set *r, sn_body_builder *b, const sn_type *type) {
  for (int i = 0; i < SN_MAX_RANK; i++) b->perm[i] = SN_MAX_RANK;
  if (!sn_row_is_element(&r->domain, type)) {
    sn_row_map(&r->domain, type, b->perm);
    return;
  }
  for (int i = 0; i < type->rank; i++) b->perm[i] = i;
}

static sn_status add_member(row_set *r, sn_body_builder *b, const row_member *m, uint32_t phase) {
  const sn_node *node = node_of(r, m);
  sn_insn leaf = {.dtype = node->type.dtype, .n_args = 1};
  if (m->total != SN_NONE) {
    leaf.kind = SN_INSN_TOTAL;
    leaf.args[0] = m->total;
    return sn_lower_insn(b, m->id, &leaf);
  }
  if (from_earlier(m, phase)) {
    leaf.kind = SN_INSN_KEPT;
    leaf.args[0] = m->slot;
    return sn_lower_insn(b, m->id, &leaf);
  }
  point_at(r, b, &node->type);
  return sn_lower_compute(b, m->id);
}

static sn_status add_store(row_set *r, sn_body_builder *b, const row_member *m, sn_store *store) {
  const sn_type *type = &node_of(r, m)->type;
  sn_operand *target = &store->target;
  int64_t strides[SN_MAX_RANK];
  *store = (sn_store){.insn = r->l->insn_of[m->id]};
  *target = (sn_operand){.value = r->l->value_of[m->id], .dtype = type->dtype};
  sn_row_major(type, strides);
  point_at(r, b, type);
  for (int i = 0; i < b->rank; i++)
    target->strides[i] = b->perm[i] == SN_MAX_RANK ? 0 : strides[b->perm[i]];
  return SN_OK;
}

static sn_status end_phase(row_set *r, sn_body_builder *b, uint32_t p) {
  sn_phase *phase = &r->group->row.phases[p];
  sn_arena *arena = r->l->arena;
  SN_TRY(sn_arena_alloc(arena, r->n, sizeof *phase->keeps, (void **)&phase->keeps));
  SN_TRY(sn_arena_alloc(arena, r->n, sizeof *phase->stores, (void **)&phase->stores));
  for (uint32_t i = 0; i < r->n; i++) {
    const row_member *m = &r->members[i];
    if (m->total != SN_NONE && m->phase == p + 1) {
      const sn_id x = *sn_graph_inputs(r->l->g, m->id);
      point_at(r, b, &r->domain.shape);
      if (r->l->insn_of[x] == SN_NONE) SN_TRY(sn_lower_source(b, x));
      phase->reductions[m->total - phase->first_total] =
          (sn_reduction){node_of(r, m)->op, node_of(r, m)->type.dtype, r->l->insn_of[x]};
    }
    if (!m->element || m->phase != p) continue;
    if (m->slot != SN_NONE)
      phase->keeps[phase->n_keeps++] = (sn_kept){r->l->insn_of[m->id], m->slot};
    if (is_stored(r, m)) SN_TRY(add_store(r, b, m, &phase->stores[phase->n_stores++]));
  }
  return SN_OK;
}

static sn_status build_phase(row_set *r, uint32_t p) {
  sn_body_builder b = {.l = r->l, .rank = r->domain.shape.rank};
  mark_phase(r, p);
  for (uint32_t i = 0; i < r->n; i++)
    if (r->members[i].needed) SN_TRY(add_member(r, &b, &r->members[i], p));
  SN_TRY(end_phase(r, &b, p));
  return sn_lower_end_body(&b, &r->group->row.phases[p].body);
}

static sn_status build_post(row_set *r) {
  sn_group *g = r->group;
  sn_body_builder b = {.l = r->l, .rank = g->space_rank};
  SN_TRY(sn_arena_alloc(r->l->arena, r->n, sizeof *g->stores, (void **)&g->stores));
  for (uint32_t i = 0; i < r->n; i++)
    r->members[i].needed = !r->members[i].element && is_stored(r, &r->members[i]);
  mark_needed(r, 0);
  for (uint32_t i = 0; i < r->n; i++)
    if (r->members[i].needed) SN_TRY(add_member(r, &b, &r->members[i], 0));
  for (uint32_t i = 0; i < r->n; i++) {
    const row_member *m = &r->members[i];
    if (!m->element && is_stored(r, m)) SN_TRY(add_store(r, &b, m, &g->stores[g->n_stores++]));
  }
  return sn_lower_end_body(&b, &g->post);
}

static void describe_nest(row_set *r) {
  sn_group *g = r->group;
  const sn_type *shape = &r->domain.shape;
  g->space_rank = r->domain.outer_rank;
  g->reduced_rank = shape->rank - g->space_rank;
  memcpy(g->space, shape->dims, (size_t)g->space_rank * sizeof *g->space);
  memcpy(g->reduced, shape->dims + g->space_rank, (size_t)g->reduced_rank * sizeof *g->reduced);
}

static sn_status list_kept(row_set *r) {
  sn_group *g = r->group;
  SN_TRY(sn_arena_alloc(r->l->arena, g->row.n_kept, sizeof *g->row.kept, (void **)&g->row.kept));
  for (uint32_t i = 0; i < r->n; i++)
    if (r->members[i].slot != SN_NONE)
      g->row.kept[r->members[i].slot] = node_of(r, &r->members[i])->type.dtype;
  return SN_OK;
}

sn_status sn_lower_row(sn_lowering *l, size_t set, sn_group *group) {
  row_set r = {.l = l, .group = group};
  SN_CHECK(l->g->env, sn_row_of(l->p->target, l->g, l->p->row[set], &r.domain));
  describe_nest(&r);
  SN_TRY(find_phases(&r, set));
  for (uint32_t p = group->row.n_phases; p-- > 0;) SN_TRY(build_phase(&r, p));
  SN_TRY(build_post(&r));
  SN_TRY(list_kept(&r));
  const sn_phase *first = group->row.phases;
  const bool plain = group->row.n_phases == 1 && group->row.n_totals == 1 && first->n_stores == 0;
  group->kind = plain ? SN_GROUP_REDUCE : SN_GROUP_ROW;
  return SN_OK;
}
