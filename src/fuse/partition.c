/* partition.c - which nodes share a kernel. Linear in nodes and edges.
 *
 * Levels. Every node gets a level: inputs 0; an edge inside one kernel keeps the level, every other
 * edge raises it by at least one. So between two nodes of one level there is no path that leaves
 * their kernel, and any two sets of equal level and shape may be united without ever making a
 * cycle.
 *
 *   matmul(1) -> add(1) -> relu(1)           one set: an anchor and its followers in one space
 *                  \-> transpose -> mul(2)      read through a view: next level
 *
 * Shapes. A reshape moves nothing: members may have the same elements in several shapes, where a
 * nest has all of them (space.h).
 *
 * Rows. A reduction over trailing axes of short length gives its set a row domain: members of the
 * full shape are computed per element, those of the outer shape per row, and a value per row that
 * is broadcast along the row is read without memory. So softmax is one set:
 *
 *   x -> max -> broadcast -> sub -> exp -> sum -> broadcast -> div
 *
 * A node of any other shape is no member, even one with the same elements behind a reshape.
 *
 * Scalars. Values of one element may read each other through any view, and a stack (concat) of
 * them is stored element by element from where they are computed.
 *
 * Elementwise nodes whose users all end in one other reduction are computed in it ("owned"). */
#include <string.h>

#include "fuse/fuse.h"
#include "fuse/set_buffers.h"
#include "fuse/space.h"

#define MAX_STACK 16 /* inputs of a stack of scalars: bounds the compiler's work */

typedef struct set {
  uint32_t parent; /* union-find */
  uint32_t level;
  sn_id anchor;
  sn_id first;                         /* smallest node */
  sn_id row;                           /* SN_NONE, or a reduction whose row domain is the set's */
  uint32_t n_nodes, n_loads, n_totals; /* loads: operands from outside of the set, at most */
  sn_type space;                       /* of all members; unused in a row domain and for scalars */
  bool mixed;                          /* members have several shapes */
  bool stacks;                         /* a member is a stack: it has no row domain */
} set;

typedef struct state {
  const sn_graph *g;
  const sn_target *target;
  sn_arena *arena;
  bool fusion;
  const uint8_t *live;
  const sn_view *views;
  uint32_t *level;
  uint32_t *set_of;
  sn_id *owner;
  set *sets;
  size_t n_sets;
  sn_set_buffers buffers;
  uint8_t *feeds_rows; /* per node: an elementwise node that a reduction over rows is made of */
  uint32_t *reader;    /* per node: the last set that loads it in the node's own index space */
  sn_cut_record *cuts;
  size_t n_cuts, cap_cuts;
} state;

static sn_op_class class_of(const state *s, sn_id id) {
  return sn_op_describe(s->g->nodes[id].op)->kind;
}

static bool has_epilogue(sn_op_class kind) {
  return kind == SN_CLASS_REDUCE || kind == SN_CLASS_RAGGED || kind == SN_CLASS_MATMUL;
}

/* How many inputs are gathers that id looks up. Each costs one more operand, for the indices. */
static uint32_t lookups_of(const state *s, sn_id id) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < s->g->nodes[id].n_inputs; k++)
    n += s->views[s->views[sn_graph_inputs(s->g, id)[k]].base].is_load;
  return n;
}

static bool looks_up(const state *s, sn_id id) { return lookups_of(s, id) > 0; }

static uint32_t operands_of(const state *s, sn_id id) {
  return s->g->nodes[id].n_inputs + lookups_of(s, id);
}

/* At most so many buffers are read for the node's inputs. */
static uint32_t buffers_of(const state *s, sn_id id) {
  sn_id from[SN_SOURCES];
  uint32_t n = 0;
  for (uint32_t k = 0; k < s->g->nodes[id].n_inputs; k++)
    n += sn_set_buffers_sources(&s->buffers, sn_graph_inputs(s->g, id)[k], from);
  return n;
}

/* A node that looks elements up is computed only inside ragged reductions: they take their points one by one. */
static bool may_be_owned(const state *s, sn_id id, sn_id by) {
  return by < (sn_id)s->g->n_nodes && (!looks_up(s, id) || class_of(s, by) == SN_CLASS_RAGGED);
}

/* Finds the elementwise nodes that only one reduction needs. Users come before their inputs. */
static sn_status find_owned(state *s) {
  const sn_graph *g = s->g;
  enum { UNCLAIMED = SN_NONE, SHARED = SN_NONE - 1 };
  sn_id *claim;
  uint32_t *count, *reads; /* per reduction: nodes in it, and at most so many buffers they read */
  SN_TRY(sn_arena_alloc(s->arena, g->n_nodes, sizeof *claim, (void **)&claim));
  SN_TRY(sn_arena_alloc(s->arena, g->n_nodes, sizeof *count, (void **)&count));
  SN_TRY(sn_arena_alloc(s->arena, g->n_nodes, sizeof *reads, (void **)&reads));
  for (size_t i = 0; i < g->n_nodes; i++) {
    claim[i] = (sn_id)UNCLAIMED;
    s->owner[i] = SN_NONE;
  }
  for (size_t i = 0; i < g->n_outputs; i++) claim[g->outputs[i]] = (sn_id)SHARED;
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;) {
    if (!s->live[id]) continue;
    sn_id by = (sn_id)SHARED;
    const bool ragged = class_of(s, id) == SN_CLASS_RAGGED;
    if (s->fusion && (ragged || (class_of(s, id) == SN_CLASS_REDUCE &&
                                 !sn_row_of(s->target, g, id, &(sn_row_domain){0}))))
      by = id;
    reads[id] = 1;
    if (s->fusion && sn_op_is_elementwise(g->nodes[id].op) && may_be_owned(s, id, claim[id]) &&
        claim[id] < (sn_id)SHARED && count[claim[id]] < s->target->limits.nodes &&
        reads[claim[id]] + buffers_of(s, id) <= s->target->limits.buffers) {
      s->owner[id] = by = claim[id];
      count[by]++;
      reads[by] += buffers_of(s, id) - 1;
    }
    const sn_id *x = sn_graph_inputs(g, id);
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) {
      const bool mine = by < (sn_id)SHARED && !(ragged && k); /* ends of bags come from memory */
      const bool free = claim[x[k]] == (sn_id)UNCLAIMED || claim[x[k]] == by;
      claim[x[k]] = mine && free ? by : (sn_id)SHARED;
    }
  }
  return SN_OK;
}

/* Users come before their inputs. */
static sn_status find_feeds_rows(state *s) {
  const sn_graph *g = s->g;
  SN_TRY(sn_arena_alloc(s->arena, g->n_nodes, 1, (void **)&s->feeds_rows));
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;) {
    const bool rows = s->live[id] && sn_row_of(s->target, g, id, &(sn_row_domain){0});
    s->feeds_rows[id] &= sn_op_is_elementwise(g->nodes[id].op);
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++)
      s->feeds_rows[sn_graph_inputs(g, id)[k]] |= rows || s->feeds_rows[id];
  }
  return SN_OK;
}

static uint32_t find(state *s, uint32_t i) {
  while (s->sets[i].parent != i) {
    s->sets[i].parent = s->sets[s->sets[i].parent].parent;
    i = s->sets[i].parent;
  }
  return i;
}

static sn_status new_set(state *s, sn_id id, sn_id anchor, uint32_t level, uint32_t *number) {
  const uint32_t i = *number = (uint32_t)s->n_sets++;
  s->sets[i] = (set){.parent = i,
                     .level = level,
                     .anchor = anchor,
                     .first = id,
                     .row = SN_NONE,
                     .n_nodes = 1,
                     .n_loads = operands_of(s, id),
                     .space = s->g->nodes[id].type};
  const bool joinable = anchor == SN_NONE || has_epilogue(class_of(s, anchor));
  return joinable ? sn_set_buffers_begin(&s->buffers, i, id) : SN_OK;
}

static uint32_t unite(state *s, uint32_t a, uint32_t b) {
  if (a == b) return a;
  if (s->sets[b].first < s->sets[a].first) {
    const uint32_t t = a;
    a = b;
    b = t;
  }
  set *to = &s->sets[a], *from = &s->sets[b];
  from->parent = a;
  if (to->anchor == SN_NONE) to->anchor = from->anchor;
  if (to->row == SN_NONE) to->row = from->row;
  to->n_totals += from->n_totals;
  to->n_nodes += from->n_nodes;
  to->n_loads += from->n_loads;
  to->stacks = to->stacks || from->stacks;
  return a;
}

static sn_status record_cut(state *s, sn_id from, sn_id to, sn_cut why) {
  SN_TRY(sn_arena_grow(s->g->arena, (void **)&s->cuts, &s->cap_cuts, s->n_cuts, sizeof *s->cuts));
  s->cuts[s->n_cuts++] = (sn_cut_record){from, to, why};
  return SN_OK;
}

/* Whether a user may be in the kernel of node p, and read it without memory. */
static bool joinable(const state *s, sn_id p) {
  if (!s->fusion || s->owner[p] != SN_NONE || s->set_of[p] == SN_NONE) return false;
  return sn_op_is_elementwise(s->g->nodes[p].op) || has_epilogue(class_of(s, p));
}

static bool is_row_reduction(const state *s, sn_id id) {
  return s->fusion && s->owner[id] == SN_NONE &&
         sn_row_of(s->target, s->g, id, &(sn_row_domain){0});
}

static bool is_point(const state *s, sn_id id) { return sn_type_size(&s->g->nodes[id].type) == 1; }

/* A concat of values of one element each. */
static bool is_stack(const state *s, sn_id id) {
  const sn_node *node = sn_graph_node(s->g, id);
  if (!s->fusion || node->op != SN_OP_concat || node->n_inputs > MAX_STACK) return false;
  if (node->n_inputs >= s->target->limits.buffers) return false;
  bool points = true;
  for (uint32_t k = 0; k < node->n_inputs; k++)
    points = points && is_point(s, sn_graph_inputs(s->g, id)[k]);
  return points;
}

/* Whether x shows all elements of its base, in row-major order. */
static bool is_reshape(const state *s, sn_id x) {
  const sn_view *view = &s->views[x];
  const sn_type *type = &s->g->nodes[x].type;
  int64_t expected = 1;
  if (view->nests || view->offset || view->frame != SN_NONE) return false;
  for (int i = type->rank - 1; i >= 0; i--) {
    if (type->dims[i] == 1) continue;
    if (view->strides[i] != expected) return false;
    expected *= type->dims[i];
  }
  return expected == sn_type_size(&s->g->nodes[view->base].type);
}

/* Whether x is in the set of a ragged reduction. A node that feeds rows does not join such a set: it is better in the set of
 * the row reductions, each of which would have to read it from memory otherwise. */
static bool is_after_bags(state *s, sn_id x) {
  const sn_id anchor = s->sets[find(s, s->set_of[x])].anchor;
  return anchor != SN_NONE && class_of(s, anchor) == SN_CLASS_RAGGED;
}

/* The node whose value id can read in registers, in one kernel with it, when it reads x: x itself,
 * the node that x reshapes, or the value per row that x repeats. SN_NONE if x must come from memory. */
static sn_id direct_source(state *s, sn_id id, sn_id x) {
  const sn_graph *g = s->g;
  if (is_row_reduction(s, id)) {
    const bool fits = joinable(s, x) && sn_op_is_elementwise(g->nodes[x].op);
    return fits && s->sets[find(s, s->set_of[x])].anchor == SN_NONE ? x : SN_NONE;
  }
  const sn_id base = s->views[x].base;
  if (!joinable(s, base)) return SN_NONE;
  if (s->feeds_rows[id] && is_after_bags(s, base)) return SN_NONE;
  const sn_id row = s->sets[find(s, s->set_of[base])].row;
  if (is_stack(s, id) && row != SN_NONE) return SN_NONE;
  if (x == base) return x;
  if (is_point(s, x) && is_point(s, base)) return row == SN_NONE ? base : SN_NONE;
  if (row == SN_NONE && is_reshape(s, x)) return base;
  sn_row_domain domain;
  if (row == SN_NONE || !sn_row_of(s->target, g, row, &domain)) return SN_NONE;
  return sn_row_shows(&domain, &g->nodes[base].type, &s->views[x], &g->nodes[x].type) ? base
                                                                                      : SN_NONE;
}

/* Whether the row domains of two reductions are the same, or one of them is SN_NONE. */
static bool same_domain(const state *s, sn_id a, sn_id b) {
  sn_row_domain x, y;
  if (a == SN_NONE || b == SN_NONE || a == b) return true;
  return sn_row_of(s->target, s->g, a, &x) && sn_row_of(s->target, s->g, b, &y) &&
         x.outer_rank == y.outer_rank && sn_same_dims(&x.shape, &y.shape);
}

/* The union of some sets and a node, before it is decided to make it. */
typedef struct merger {
  uint32_t joined[MAX_STACK], n_joined;
  bool points; /* everything in it has one element */
  uint32_t nodes, loads, totals;
  sn_id anchor, row;
  sn_type space;
  bool mixed, stacks;
} merger;

/* Refines the space so that it suits set t's members, too; false if it cannot. An anchor's space is never refined. */
static bool share_space(merger *m, const set *t) {
  const bool same = sn_same_dims(&m->space, &t->space);
  if (m->points || same) return true;
  m->mixed = true;
  if (m->anchor != SN_NONE) return sn_space_is_within(&m->space, &t->space);
  if (t->anchor == SN_NONE) return sn_space_refine(&m->space, &t->space);
  const sn_type refined = m->space;
  m->space = t->space;
  return sn_space_is_within(&m->space, &refined);
}

/* Whether the members of both sides fit the row domain. Those of a side that has the domain do; those
 * of the other all have one shape, that side's space. */
static bool share_domain(const state *s, const merger *m, const set *t) {
  sn_row_domain domain;
  if (m->mixed || !sn_row_of(s->target, s->g, m->row != SN_NONE ? m->row : t->row, &domain))
    return false;
  return (m->row != SN_NONE || sn_row_holds(&domain, &m->space)) &&
         (t->row != SN_NONE || sn_row_holds(&domain, &t->space));
}

/* Adds set i to the union; false, and *why, if it does not fit. */
static bool adds_up(const state *s, merger *m, uint32_t i, sn_cut *why) {
  const set *t = &s->sets[i];
  const sn_target_limits *limits = &s->target->limits;
  *why = SN_CUT_TWO_TOTALS;
  if (m->anchor != SN_NONE && t->anchor != SN_NONE) return false;
  if (!same_domain(s, m->row, t->row)) return false;
  const sn_id anchor = m->anchor != SN_NONE ? m->anchor : t->anchor;
  const sn_id row = m->row != SN_NONE ? m->row : t->row;
  if (anchor != SN_NONE && row != SN_NONE) return false;
  m->stacks = m->stacks || t->stacks;
  if (m->stacks && row != SN_NONE) return false;
  *why = SN_CUT_VIEW;
  m->mixed = m->mixed || t->mixed;
  if (!(row == SN_NONE ? share_space(m, t) : share_domain(s, m, t))) return false;
  *why = SN_CUT_LIMIT;
  m->nodes += t->n_nodes;
  m->loads += t->n_loads;
  m->totals += t->n_totals;
  const uint32_t most = m->points ? limits->scalar_nodes : limits->nodes;
  const bool wide = m->loads > limits->operands && !m->points;
  if (m->nodes > most || wide || m->totals > SN_MAX_TOTALS) return false;
  m->anchor = anchor;
  m->row = row;
  return true;
}

static merger merger_of(const state *s, sn_id id) {
  const bool row = is_row_reduction(s, id);
  return (merger){.points = is_point(s, id) || is_stack(s, id),
                  .stacks = is_stack(s, id),
                  .nodes = 1,
                  .loads = operands_of(s, id),
                  .totals = row,
                  .anchor = SN_NONE,
                  .row = row ? id : SN_NONE,
                  .space = s->g->nodes[id].type};
}

static void take_space(set *t, const merger *m) {
  t->space = m->space;
  t->mixed = m->mixed;
}

/* Adds node id to set i; there it loads so many operands. */
static void enter(state *s, uint32_t i, sn_id id, uint32_t loads) {
  set *t = &s->sets[i];
  t->n_nodes++;
  t->n_loads += loads;
  t->stacks = t->stacks || is_stack(s, id);
  if (!is_row_reduction(s, id)) return;
  t->n_totals++;
  if (t->row == SN_NONE) t->row = id;
}

/* Unites id with the sets of its n_peers direct inputs of this level. *out: the set; SN_NONE: none, or they do not fit. */
static sn_status join_inputs(state *s, sn_id id, uint32_t level, uint32_t n_peers, uint32_t *out) {
  const sn_id *x = sn_graph_inputs(s->g, id);
  merger m = merger_of(s, id);
  m.loads -= n_peers;
  *out = SN_NONE;
  for (uint32_t k = 0; k < s->g->nodes[id].n_inputs; k++) {
    const sn_id from = direct_source(s, id, x[k]);
    if (from == SN_NONE || s->level[from] != level) continue;
    const uint32_t i = find(s, s->set_of[from]);
    bool known = false;
    for (uint32_t j = 0; j < m.n_joined; j++) known = known || m.joined[j] == i;
    if (known) continue;
    m.joined[m.n_joined++] = i;
    sn_cut why;
    if (!adds_up(s, &m, i, &why)) return record_cut(s, x[k], id, why);
  }
  if (!m.n_joined) return SN_OK;
  if (!sn_set_buffers_fit(&s->buffers, m.joined, m.n_joined, id))
    return record_cut(s, *x, id, SN_CUT_LIMIT);
  uint32_t root = m.joined[0];
  for (uint32_t j = 1; j < m.n_joined; j++) root = unite(s, root, m.joined[j]);
  SN_TRY(sn_set_buffers_join(&s->buffers, root));
  take_space(&s->sets[root], &m);
  enter(s, root, id, operands_of(s, id) - n_peers);
  *out = root;
  return SN_OK;
}

/* Whether id reads as many elements of x as it has itself. One number that is broadcast saves no pass. */
static bool reads_along(const state *s, sn_id id, sn_id x) {
  const sn_node *base = &s->g->nodes[s->views[x].base];
  return base->op != SN_OP_constant &&
         sn_type_size(&base->type) >= sn_type_size(&s->g->nodes[id].type);
}

/* Lets id join a map of the same shape and level that reads one of its inputs already: one pass over that input. */
static sn_status join_reader(state *s, sn_id id, uint32_t level, uint32_t *out) {
  const sn_id *x = sn_graph_inputs(s->g, id);
  for (uint32_t k = 0; s->fusion && k < s->g->nodes[id].n_inputs; k++) {
    if (s->reader[x[k]] == SN_NONE || !reads_along(s, id, x[k])) continue;
    const uint32_t i = find(s, s->reader[x[k]]);
    merger m = merger_of(s, id);
    if (s->sets[i].level != level || !adds_up(s, &m, i, &(sn_cut){0})) continue;
    if (!sn_set_buffers_fit(&s->buffers, &i, 1, id)) continue;
    SN_TRY(sn_set_buffers_join(&s->buffers, i));
    take_space(&s->sets[i], &m);
    enter(s, i, id, operands_of(s, id));
    *out = i;
    return SN_OK;
  }
  return SN_OK;
}

/* Places elementwise nodes, reductions over short rows and stacks of scalars. */
static sn_status place_in_step(state *s, sn_id id) {
  const sn_id *x = sn_graph_inputs(s->g, id);
  const uint32_t n = s->g->nodes[id].n_inputs;
  uint32_t level = 1, n_peers = 0;
  for (uint32_t k = 0; k < n; k++) {
    const bool direct = direct_source(s, id, x[k]) != SN_NONE;
    const uint32_t least = s->level[x[k]] + (direct ? 0 : 1);
    if (least > level) level = least;
    const sn_op_class kind = class_of(s, x[k]);
    if (kind == SN_CLASS_VIEW && s->level[x[k]] && !direct)
      SN_TRY(record_cut(s, x[k], id, SN_CUT_VIEW));
    const bool made = kind == SN_CLASS_PAD || kind == SN_CLASS_CONCAT || kind == SN_CLASS_RESULT;
    if (made || (sn_op_is_call(s->g->nodes[x[k]].op) && !s->views[x[k]].is_load))
      SN_TRY(record_cut(s, x[k], id, SN_CUT_KIND));
  }
  for (uint32_t k = 0; k < n; k++)
    n_peers += direct_source(s, id, x[k]) != SN_NONE && s->level[x[k]] == level;
  uint32_t i;
  SN_TRY(join_inputs(s, id, level, n_peers, &i));
  if (i == SN_NONE) {
    if (n_peers) level++; /* the peers did not fit: read them from memory */
    SN_TRY(join_reader(s, id, level, &i));
  }
  if (i == SN_NONE) {
    SN_TRY(new_set(s, id, SN_NONE, level, &i));
    s->sets[i].n_nodes = s->sets[i].n_loads = 0;
    enter(s, i, id, operands_of(s, id));
  }
  s->level[id] = level;
  s->set_of[id] = i;
  for (uint32_t k = 0; k < n; k++) s->reader[x[k]] = i;
  return SN_OK;
}

static sn_status place(state *s, sn_id id) {
  const sn_node *node = sn_graph_node(s->g, id);
  const sn_id *x = sn_graph_inputs(s->g, id);
  uint32_t level = 0;
  for (uint32_t k = 0; k < node->n_inputs; k++)
    if (s->level[x[k]] > level) level = s->level[x[k]];
  s->set_of[id] = SN_NONE;
  s->level[id] = level;
  const sn_op_class kind = class_of(s, id);
  if (s->owner[id] != SN_NONE) return sn_set_buffers_own(&s->buffers, id, s->owner[id]);
  if (kind == SN_CLASS_LEAF || kind == SN_CLASS_VIEW) return SN_OK;
  if (s->views[id].frame != SN_NONE || s->views[id].is_load) return SN_OK;
  if (sn_op_is_elementwise(node->op) || is_row_reduction(s, id) || is_stack(s, id))
    return place_in_step(s, id);
  if (kind == SN_CLASS_RESULT) { /* it is in the set of the op that makes it */
    s->set_of[id] = s->set_of[*x];
    s->sets[s->set_of[id]].n_nodes++;
    return SN_OK;
  }
  s->level[id] = level + 1;
  return new_set(s, id, id, level + 1, &s->set_of[id]);
}

/* Sinking. Levels place a node as early as they can, so work on arguments alone would be a kernel of its own long before its
 * result is used. A set that one other set alone reads, element by element, joins that set: it is computed there and needs no
 * memory. Nothing else waits for it, so moving it later makes no cycle. */
static bool reads_in_step(state *s, sn_id id, sn_id x) {
  const bool user = sn_op_is_elementwise(s->g->nodes[id].op) || is_row_reduction(s, id);
  return user && direct_source(s, id, x) == x;
}

static sn_status sink_sets(state *s) {
  enum { NOBODY = SN_NONE, SEVERAL = SN_NONE - 1 };
  const sn_graph *g = s->g;
  uint32_t *user;
  SN_TRY(sn_arena_alloc(s->arena, s->n_sets, sizeof *user, (void **)&user));
  for (uint32_t i = 0; i < s->n_sets; i++) user[i] = (uint32_t)NOBODY;
  for (sn_id id = (sn_id)g->n_nodes;
       id-- > 0;) { /* users have larger ids: seen before what they use */
    if (!s->live[id]) continue;
    const uint32_t mine = s->set_of[id] == SN_NONE ? (uint32_t)SEVERAL : find(s, s->set_of[id]);
    const bool in_step = mine != (uint32_t)SEVERAL;
    const sn_id *x = sn_graph_inputs(g, id);
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) {
      if (s->set_of[x[k]] == SN_NONE) continue;
      const uint32_t theirs = find(s, s->set_of[x[k]]);
      if (theirs == mine) continue;
      const bool known = user[theirs] == (uint32_t)NOBODY || user[theirs] == mine;
      const bool joins = in_step && reads_in_step(s, id, x[k]);
      user[theirs] = joins && known ? mine : (uint32_t)SEVERAL;
    }
  }
  /* later sets first, so that a chain of sets sinks as a whole */
  for (uint32_t i = (uint32_t)s->n_sets; i-- > 0;) {
    if (find(s, i) != i || user[i] >= (uint32_t)SEVERAL) continue;
    const uint32_t to = find(s, user[i]);
    const set *b = &s->sets[to];
    merger m = {.points = is_point(s, b->first),
                .stacks = b->stacks,
                .nodes = b->n_nodes,
                .loads = b->n_loads,
                .totals = b->n_totals,
                .anchor = b->anchor,
                .row = b->row,
                .space = b->space,
                .mixed = b->mixed};
    if (to == i || !adds_up(s, &m, i, &(sn_cut){0})) continue;
    if (!sn_set_buffers_fit(&s->buffers, (uint32_t[]){to, i}, 2, SN_NONE)) continue;
    const uint32_t level = b->level, onward = user[to], root = unite(s, i, to);
    SN_TRY(sn_set_buffers_join(&s->buffers, root));
    s->sets[root].level = level;
    take_space(&s->sets[root], &m);
    user[root] = onward;
  }
  return SN_OK;
}

/* Delaying. A node that makes more than it reads, and reads arguments alone, is better made right before its first
 * reader than at the beginning: its result is in memory for a shorter time, and arguments are there anyway. */
static bool is_delayed(const state *s, const set *b) {
  const sn_node *node = sn_graph_node(s->g, b->first);
  if (b->level != 1 || b->n_nodes != 1) return false;
  size_t read = 0;
  for (uint32_t k = 0; k < node->n_inputs; k++)
    read += sn_type_bytes(&s->g->nodes[sn_graph_inputs(s->g, b->first)[k]].type);
  return sn_type_bytes(&node->type) > read;
}

/* The level at which a node's inputs are read: its set's, or without a set that at which it is read itself. */
static uint32_t reading_level(state *s, sn_id id, const uint32_t *read) {
  const sn_id at = s->owner[id] == SN_NONE ? id : s->owner[id];
  return s->set_of[at] == SN_NONE ? read[id] : s->sets[find(s, s->set_of[at])].level;
}

static sn_status delay_sets(state *s) {
  const sn_graph *g = s->g;
  uint32_t *read; /* per node: the level of its first reader, or SN_NONE */
  SN_TRY(sn_arena_alloc(s->arena, g->n_nodes, sizeof *read, (void **)&read));
  for (size_t i = 0; i < g->n_nodes; i++) read[i] = SN_NONE;
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;) {
    if (!s->live[id]) continue;
    if (s->set_of[id] != SN_NONE && read[id] != SN_NONE) {
      set *own = &s->sets[find(s, s->set_of[id])];
      if (own->first == id && is_delayed(s, own)) own->level = read[id] - 1;
    }
    const uint32_t level = reading_level(s, id, read);
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) {
      const sn_id x = sn_graph_inputs(g, id)[k];
      if (level < read[x]) read[x] = level;
    }
  }
  return SN_OK;
}

/* Numbers the sets by level, then by first node. */
static sn_status number_sets(state *s, sn_partition *out) {
  uint32_t *number, *at, deepest = 0;
  SN_TRY(sn_arena_alloc(s->arena, s->n_sets, sizeof *number, (void **)&number));
  for (uint32_t i = 0; i < s->n_sets; i++)
    if (s->sets[i].level > deepest) deepest = s->sets[i].level;
  SN_TRY(sn_arena_alloc(s->arena, (size_t)deepest + 2, sizeof *at, (void **)&at));
  for (uint32_t i = 0; i < s->n_sets; i++)
    if (find(s, i) == i) at[s->sets[i].level + 1]++;
  for (uint32_t l = 1; l <= deepest + 1; l++) at[l] += at[l - 1];
  out->n_sets = at[deepest + 1];
  SN_TRY(sn_arena_alloc(s->arena, out->n_sets, sizeof *out->anchor, (void **)&out->anchor));
  SN_TRY(sn_arena_alloc(s->arena, out->n_sets, sizeof *out->row, (void **)&out->row));
  for (sn_id id = 0; id < s->g->n_nodes; id++) { /* ascending ids: first nodes come in order */
    if (s->set_of[id] == SN_NONE) continue;
    const uint32_t i = find(s, s->set_of[id]);
    if (s->sets[i].first == id) {
      number[i] = at[s->sets[i].level]++;
      out->row[number[i]] = s->sets[i].row;
      out->anchor[number[i]] = s->sets[i].anchor;
    }
    s->set_of[id] = number[i];
  }
  return SN_OK;
}

static uint32_t root_of(void *user, sn_id id) {
  state *s = user;
  return s->set_of[id] == SN_NONE ? SN_NONE : find(s, s->set_of[id]);
}

sn_status sn_partition_graph(const sn_graph *g, const sn_target *target, const sn_view *views,
                             sn_fuse_options how, sn_arena *scratch, sn_partition *out) {
  state s = {.g = g, .target = target, .arena = scratch, .fusion = how.fusion, .views = views};
  const size_t n = g->n_nodes;
  uint8_t *live;
  SN_TRY(sn_arena_alloc(scratch, n, 1, (void **)&live));
  SN_TRY(sn_arena_alloc(scratch, n, sizeof *s.level, (void **)&s.level));
  SN_TRY(sn_arena_alloc(scratch, n, sizeof *s.set_of, (void **)&s.set_of));
  SN_TRY(sn_arena_alloc(scratch, n, sizeof *s.owner, (void **)&s.owner));
  SN_TRY(sn_arena_alloc(scratch, n, sizeof *s.sets, (void **)&s.sets));
  SN_TRY(sn_arena_alloc(scratch, n, sizeof *s.reader, (void **)&s.reader));
  sn_graph_live(g, live);
  s.live = live;
  for (size_t i = 0; i < n; i++) s.set_of[i] = s.reader[i] = SN_NONE;
  SN_TRY(sn_set_buffers_init(&s.buffers, g, views, live, target->limits.buffers, scratch));
  s.buffers.owner = s.owner;
  s.buffers.root_of = root_of;
  s.buffers.user = &s;
  SN_TRY(find_owned(&s));
  SN_TRY(find_feeds_rows(&s));
  for (sn_id id = 0; id < n; id++)
    if (live[id]) SN_TRY(place(&s, id));
  if (how.fusion) SN_TRY(sink_sets(&s));
  SN_TRY(delay_sets(&s));
  *out = (sn_partition){.target = target, .how = how, .set = s.set_of, .owner = s.owner};
  SN_TRY(number_sets(&s, out));
  out->cuts = s.cuts;
  out->n_cuts = s.n_cuts;
  return SN_OK;
}
