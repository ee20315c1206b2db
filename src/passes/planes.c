/* planes.c - an array of small structs that a loop carries becomes a struct of arrays: it is split into planes, one carry
 * per field. A round then reads and writes whole vectors, and no round needs a concat.
 *
 *   s (n, 5)                                s0 s1 ... (n, 1)
 *   x, y = s[:, 0:1], s[:, 1:2] ...         x, y = s0, s1 ...
 *   s' = s + h concat(f(x, y), g(x) ...)    s0' = s0 + h f(x, y), s1' = s1 + h g(x) ...
 *
 * Outside of the loop, the carry's initial value is sliced and its final value is a concat. If a derivative stacks a
 * carry, it stacks each plane. 100 rounds over (4096, 5) take 0.15 ms instead of 1.8 with one thread of AVX-512, their
 * derivative 0.3 instead of 4.8; even with a single round none was slower.
 *
 *   set    nodes of a loop that are cut at the same places or not at all: elementwise ops with their inputs, concats and
 *          pads, whose seams are the cuts, and a carry's argument and result. A set stays whole if a slice reads across a
 *          cut, or if an op reads it that is neither elementwise nor a slice. Sets are found by union-find
 *   parts  the planes of a node of a cut set: computed as such, or slices of the whole node, which layout simplifies
 *
 * Only where elements lie changes, so the bits are the same. Each node and each use is looked at a few times: linear. */
#include <string.h>

#include "build/rewrite.h"
#include "passes/rewrite_rules.h"

/* Fewest elements of a carry that is split. Smaller carries stay in registers whatever their layout. */
#define LEAST_ELEMENTS 64
/* Most parts of a carry. */
#define MOST_PARTS 16
/* Greatest size of the axis that is cut: its cuts are the bits of a word. */
#define MOST_PLACES 64

/* Flags of a set. */
enum {
  WHOLE = 1,   /* it must not be cut */
  CARRIED = 2, /* it has a carry */
  STACKED = 4  /* it has an input stack that another loop makes in parts */
};

typedef struct set { /* a node of the union-find forest; only the root's other fields count */
  uint32_t parent;   /* index of the parent; a root's own */
  int axis;          /* the axis that is cut */
  uint32_t work;     /* number of elementwise ops */
  uint64_t cuts;     /* bit i: a part begins at index i > 0 along the axis */
  uint32_t is;       /* WHOLE, CARRIED, STACKED */
} set;

typedef struct loop {
  sn_control c;
  const sn_id *x;  /* its inputs in the old graph */
  set *sets;       /* one per node of the body, then of the test, then per argument */
  uint32_t slots;  /* index in `sets` of the first argument */
  bool *whole;     /* per result: a stack that somebody reads across its cuts */
  uint32_t *first; /* per result: the number of its first part in the new loop */
} loop;

typedef struct state {
  const sn_pass_context *context;
  const sn_graph *from;
  uint8_t *live;
  loop **loops; /* per node: NULL if it is no loop */
} state;

/* ---- sets ------------------------------------------------------------------------------------ */

static set *root(set *sets, uint32_t at) {
  while (sets[at].parent != at) at = sets[at].parent = sets[sets[at].parent].parent;
  return &sets[at];
}

static void keep_whole_if(set *s, bool condition) {
  if (condition) s->is |= WHOLE;
}

/* Adds cuts along an axis. A set that is cut along two axes stays whole. */
static void cut(set *s, int axis, uint64_t cuts) {
  if (!cuts) return;
  keep_whole_if(s, s->cuts && s->axis != axis);
  s->axis = axis;
  s->cuts |= cuts;
}

/* Unites the sets of a and b. */
static void unite(set *sets, uint32_t a, uint32_t b) {
  set *to = root(sets, a), *from = root(sets, b);
  if (to == from) return;
  from->parent = to->parent;
  to->is |= from->is;
  to->work += from->work;
  cut(to, from->axis, from->cuts);
}

static void cut_at(set *s, const sn_type *type, int axis, int64_t at) {
  if (at <= 0 || at >= type->dims[axis]) return;
  const bool fits = type->dims[axis] <= MOST_PLACES;
  keep_whole_if(s, !fits);
  if (fits) cut(s, axis, (uint64_t)1 << at);
}

/* Cuts the set of node id, a concat or pad, where its inputs meet or the padding begins and ends. */
static void cut_where_parts_meet(set *s, const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  const sn_id *x = sn_graph_inputs(g, id);
  const int64_t *attrs = sn_graph_attrs(g, id);
  int64_t at = 0;
  for (uint32_t k = 0; node->op == SN_OP_concat && k < node->n_inputs; k++)
    cut_at(s, &node->type, (int)*attrs, at += g->nodes[x[k]].type.dims[*attrs]);
  for (int i = 0; node->op == SN_OP_pad && i < node->type.rank; i++) {
    const int64_t n = g->nodes[*x].type.dims[i];
    cut_at(s, &node->type, i, attrs[i]);
    cut_at(s, &node->type, i, attrs[i] + (n - 1) * attrs[node->type.rank + i] + 1);
  }
}

static bool is_member(sn_op op) {
  return op == SN_OP_input || op == SN_OP_concat || op == SN_OP_pad || sn_op_is_elementwise(op);
}

/* Index in l->sets of the first node of a region: 0 is the body, 1 the test. */
static uint32_t base_of(const loop *l, uint32_t region) {
  return region ? (uint32_t)l->c.regions[0]->n_nodes : 0;
}

static void find_sets_of(loop *l, uint32_t region) {
  const sn_graph *g = l->c.regions[region];
  const uint32_t base = base_of(l, region);
  set *sets = l->sets;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = sn_graph_node(g, id);
    const bool elementwise = sn_op_is_elementwise(node->op);
    sets[base + id] = (set){.parent = base + id, .work = elementwise};
    for (uint32_t k = 0; k < node->n_inputs; k++) {
      const sn_id x = sn_graph_inputs(g, id)[k];
      const sn_op op = g->nodes[x].op;
      if (!elementwise) /* slices are checked later, when all cuts are known */
        keep_whole_if(root(sets, base + x), node->op != SN_OP_slice);
      else if (is_member(op))
        unite(sets, base + id, base + x);
      else /* an input that is no view would have to be sliced; slices of a view are free */
        keep_whole_if(root(sets, base + id), sn_op_describe(op)->kind > SN_CLASS_VIEW);
    }
    if (node->op == SN_OP_input)
      unite(sets, base + id, l->slots + (uint32_t)*sn_graph_attrs(g, id));
    else
      cut_where_parts_meet(&sets[base + id], g, id);
  }
}

/* Whether a slice takes elements of one part of the set only. axis: the slice's axis that the set cuts. */
static bool is_inside(const sn_graph *g, sn_id slice, const set *s, int axis) {
  const sn_type *type = &g->nodes[slice].type;
  const int64_t *attrs = sn_graph_attrs(g, slice);
  if (!s->cuts || !sn_type_size(type)) return true;
  const int64_t first = attrs[axis];
  const int64_t last = first + (type->dims[axis] - 1) * attrs[type->rank + axis];
  /* masks of the bits up to first and up to last: their xor has the cuts between the two */
  return !((((2ull << first) - 1) ^ ((2ull << last) - 1)) & s->cuts);
}

static void keep_whole_if_sliced_across(loop *l, uint32_t region) {
  const sn_graph *g = l->c.regions[region];
  for (sn_id id = 0; id < g->n_nodes; id++) {
    if (g->nodes[id].op != SN_OP_slice) continue;
    set *s = root(l->sets, base_of(l, region) + *sn_graph_inputs(g, id));
    keep_whole_if(s, !is_inside(g, id, s, s->axis));
  }
}

static uint32_t count(uint64_t bits) {
  uint32_t n = 0;
  for (; bits; bits &= bits - 1) n++;
  return n;
}

/* The set that contains element `at` of l->sets if that set is cut; else NULL. */
static const set *cut_set(const loop *l, uint32_t at) {
  const set *s = root(l->sets, at);
  return s->cuts && (s->is & (CARRIED | STACKED)) && !(s->is & WHOLE) ? s : NULL;
}

/* The set of result k if the loop returns that result in parts; else NULL. */
static const set *cut_result(const loop *l, size_t k) {
  const bool whole = k >= l->c.n_carries && l->whole[k];
  return whole ? NULL : cut_set(l, l->c.regions[0]->outputs[k]);
}

/* If node id is a result that its loop returns in parts, the set of that result; else NULL. */
static const set *cut_from(const state *s, sn_id id) {
  if (s->from->nodes[id].op != SN_OP_result) return NULL;
  const loop *l = s->loops[*sn_graph_inputs(s->from, id)];
  return l ? cut_result(l, (size_t)*sn_graph_attrs(s->from, id)) : NULL;
}

static bool is_stack(const loop *l, size_t k) {
  return k >= l->c.n_carries && k < l->c.n_carries + l->c.n_stacks;
}

/* The set of argument k if the new loop takes it in parts; else NULL. A stack is taken in parts only if another loop
 * makes it in parts; else the rounds slice it. */
static const set *cut_argument(const state *s, const loop *l, size_t k) {
  if (is_stack(l, k) && !cut_from(s, l->x[k])) return NULL;
  return cut_set(l, l->slots + (uint32_t)k);
}

/* Makes the record of loop id, with the sets of its arguments. */
static sn_status begin(const state *s, sn_id id, loop **out) {
  const sn_graph *g = s->from;
  const size_t n = g->nodes[id].n_inputs;
  loop *l;
  SN_TRY(sn_arena_alloc(g->arena, 1, sizeof *l, (void **)&l));
  *l = (loop){.c = sn_graph_control(g, id), .x = sn_graph_inputs(g, id)};
  for (uint32_t r = 0; r < l->c.n_regions; r++) l->slots += (uint32_t)l->c.regions[r]->n_nodes;
  SN_TRY(sn_arena_alloc(g->arena, l->slots + n, sizeof *l->sets, (void **)&l->sets));
  SN_TRY(sn_arena_alloc(g->arena, l->c.n_results, sizeof *l->whole, (void **)&l->whole));
  SN_TRY(sn_arena_alloc(g->arena, l->c.n_results, sizeof *l->first, (void **)&l->first));
  for (uint32_t k = 0; k < n; k++) {
    const bool carry = k < l->c.n_carries;
    const set *from = is_stack(l, k) ? cut_from(s, l->x[k]) : NULL;
    set *slot = &l->sets[l->slots + k];
    if (from) *slot = (set){.axis = from->axis, .cuts = from->cuts, .is = STACKED};
    slot->parent = l->slots + k;
    if (carry) slot->is = CARRIED;
    keep_whole_if(slot, carry && sn_type_size(&g->nodes[l->x[k]].type) < LEAST_ELEMENTS);
  }
  *out = l;
  return SN_OK;
}

/* Unites each carry's argument with its result in the body. A stacked result whose set has no carry stays whole: it
 * would be cut only to be put together again for the stack. */
static void unite_results(loop *l) {
  const sn_graph *body = l->c.regions[0];
  for (uint32_t k = 0; k < l->c.n_carries; k++) {
    keep_whole_if(root(l->sets, l->slots + k), !is_member(body->nodes[body->outputs[k]].op));
    unite(l->sets, body->outputs[k], l->slots + k);
  }
  for (size_t k = l->c.n_carries; k < l->c.n_results; k++) {
    set *s = root(l->sets, body->outputs[k]);
    keep_whole_if(s, !(s->is & CARRIED));
  }
}

/* A round reads and writes each part. If the ops on all parts are many more than fit into one kernel, the values that the
 * kernels exchange cost as much as is saved, and compile time grows. */
static bool is_too_much(const set *s, const sn_target_limits *limits) {
  const uint32_t parts = 1 + count(s->cuts);
  return parts > MOST_PARTS || parts > limits->buffers / 2 || s->work * parts > 2 * limits->nodes;
}

static void find_sets(const state *s, loop *l) {
  for (uint32_t r = 0; r < l->c.n_regions; r++) find_sets_of(l, r);
  unite_results(l);
  for (uint32_t r = 0; r < l->c.n_regions; r++) keep_whole_if_sliced_across(l, r);
  for (uint32_t k = 0; k < l->c.n_carries + l->c.n_stacks; k++) {
    set *slot = root(l->sets, l->slots + k);
    keep_whole_if(slot, is_too_much(slot, &s->context->target->limits));
  }
}

/* If input k of node id is a stack that can be made in parts, marks it to be made whole unless the node reads parts. */
static void keep_whole_if_read_across(const state *s, sn_id id, uint32_t k) {
  const sn_graph *g = s->from;
  const sn_id x = sn_graph_inputs(g, id)[k];
  const set *made = cut_from(s, x);
  const loop *reader = s->loops[id];
  if (!made) return;
  loop *maker = s->loops[*sn_graph_inputs(g, x)];
  const bool by_parts =
      reader ? is_stack(reader, k) && cut_argument(s, reader, k)
             : g->nodes[id].op == SN_OP_slice && is_inside(g, id, made, made->axis + 1);
  maker->whole[*sn_graph_attrs(g, x)] |= !by_parts;
}

/* Finds the sets of all loops in order, so a loop's input stacks are known to come in parts or not. Then finds which
 * stacks are read across their cuts. */
static sn_status find_loops(state *s) {
  const sn_graph *g = s->from;
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, 1, (void **)&s->live));
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, sizeof *s->loops, (void **)&s->loops));
  sn_graph_live(g, s->live);
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_op op = g->nodes[id].op;
    s->loops[id] = NULL;
    if (!s->live[id] || (op != SN_OP_scan && op != SN_OP_while_loop)) continue;
    SN_TRY(begin(s, id, &s->loops[id]));
    find_sets(s, s->loops[id]);
  }
  for (size_t k = 0; k < g->n_outputs; k++) {
    const sn_id x = g->outputs[k];
    if (cut_from(s, x)) s->loops[*sn_graph_inputs(g, x)]->whole[*sn_graph_attrs(g, x)] = true;
  }
  for (sn_id id = 0; id < g->n_nodes; id++)
    for (uint32_t k = 0; s->live[id] && k < g->nodes[id].n_inputs; k++)
      keep_whole_if_read_across(s, id, k);
  return SN_OK;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Makes the parts of a value of type `whole` and returns how many: slices of x, or arguments, or results of loop x, with
 * consecutive numbers from `number` on. */
static size_t make_parts(sn_build *b, sn_op op, sn_id x, int64_t number, const sn_type *whole,
                         const set *s, int axis, sn_id *parts) {
  sn_type type = *whole;
  size_t n = 0;
  for (int64_t at = 0, end = 0; end < whole->dims[axis]; at = end, number++) {
    do end++;
    while (end < whole->dims[axis] && !(s->cuts >> end & 1));
    type.dims[axis] = end - at;
    parts[n++] = op == SN_OP_slice ? sn_build_part(b, op, x, axis, at, 1, &type)
                                   : sn_build_op(b, op, &x, op == SN_OP_result, &number, 1, &type);
  }
  return n;
}

static sn_id put_together(sn_build *b, const sn_id *parts, size_t n, int axis) {
  return sn_build_op(b, SN_OP_concat, parts, n, (int64_t[]){axis}, 1, NULL);
}

/* ---- a loop anew ----------------------------------------------------------------------------- */

typedef struct remake {
  const state *s;
  const loop *l;
  uint32_t region;      /* which of the loop's regions: 0 the body, 1 the test */
  const int64_t *first; /* per argument: the number of its first part */
  sn_id **parts;        /* per node of the region: its parts in the new region, or NULL */
} remake;

static void keep_parts(const remake *m, sn_build *b, sn_id id, const sn_id *parts, size_t n) {
  if (!b->status) b->status = sn_arena_alloc(b->arena, n, sizeof *parts, (void **)&m->parts[id]);
  if (!b->status) memcpy(m->parts[id], parts, n * sizeof *parts);
}

/* The parts of node id of the old region: those computed as such, or else slices of `whole`, its node in the new one. */
static const sn_id *parts_of(const remake *m, sn_build *b, sn_id id, sn_id whole, const set *s) {
  sn_id parts[MOST_PLACES];
  if (!m->parts[id] && !b->status) {
    const sn_type type = *sn_build_type(b, whole);
    keep_parts(m, b, id, parts, make_parts(b, SN_OP_slice, whole, 0, &type, s, s->axis, parts));
  }
  return m->parts[id];
}

static size_t cut_elementwise(sn_rewrite *r, sn_id id, const sn_id *inputs, const set *s,
                              sn_id *parts) {
  const sn_node *node = sn_graph_node(r->from, id);
  const sn_id *x[SN_MAX_ARITY];
  const size_t n = 1 + count(s->cuts);
  for (uint32_t k = 0; k < node->n_inputs; k++)
    x[k] = parts_of(r->user, &r->to, sn_graph_inputs(r->from, id)[k], inputs[k], s);
  for (size_t i = 0; i < n && !r->to.status; i++) {
    sn_id in[SN_MAX_ARITY];
    sn_type type = *sn_build_type(&r->to, x[0][i]);
    type.dtype = node->type.dtype;
    for (uint32_t k = 0; k < node->n_inputs; k++) in[k] = x[k][i];
    parts[i] = sn_build_op(&r->to, node->op, in, node->n_inputs, sn_graph_attrs(r->from, id),
                           node->n_attrs, &type);
  }
  return n;
}

static sn_id rewrite_inside(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const remake *m = r->user;
  const sn_node *node = sn_graph_node(r->from, id);
  const set *s = NULL;
  sn_id parts[MOST_PLACES];
  size_t n;
  if (node->op == SN_OP_input) {
    const size_t k = (size_t)*sn_graph_attrs(r->from, id);
    s = cut_argument(m->s, m->l, k);
    if (!s) return sn_build_op(&r->to, node->op, NULL, 0, &m->first[k], 1, &node->type);
    n = make_parts(&r->to, node->op, SN_NONE, m->first[k], &node->type, s, s->axis, parts);
  } else {
    if (sn_op_is_elementwise(node->op)) s = cut_set(m->l, base_of(m->l, m->region) + id);
    if (!s) return SN_NONE;
    n = cut_elementwise(r, id, inputs, s, parts);
  }
  keep_parts(m, &r->to, id, parts, n);
  return put_together(&r->to, parts, n, s->axis);
}

/* Replaces each output of the new body that is cut by its parts, and sets l->first. */
static sn_status cut_outputs(const remake *m, sn_graph *to) {
  const sn_graph *from = m->l->c.regions[0];
  const sn_id *old = to->outputs;
  sn_build b = sn_build_in(to);
  size_t n = 0;
  SN_TRY(
      sn_arena_alloc(to->arena, from->n_outputs * MOST_PLACES, sizeof *old, (void **)&to->outputs));
  for (size_t k = 0; k < from->n_outputs && !b.status; k++) {
    const set *s = cut_result(m->l, k);
    const sn_id *parts = s ? parts_of(m, &b, from->outputs[k], old[k], s) : &old[k];
    m->l->first[k] = (uint32_t)n;
    for (size_t i = 0; i < (s ? 1 + count(s->cuts) : 1) && !b.status; i++)
      to->outputs[n++] = parts[i];
  }
  to->n_outputs = n;
  return b.status;
}

static sn_status remake_region(remake *m, size_t n_arguments, sn_graph *outside, int64_t *number) {
  const sn_graph *from = m->l->c.regions[m->region];
  sn_graph to;
  SN_TRY(sn_arena_alloc(from->arena, from->n_nodes, sizeof *m->parts, (void **)&m->parts));
  SN_TRY(sn_rewrite_graph(from, &to, from->arena, m->s->context->share, NULL, rewrite_inside, m));
  SN_TRY(sn_graph_keep_regions(&to, from));
  if (!m->region) SN_TRY(cut_outputs(m, &to));
  to.n_arguments = n_arguments;
  return sn_graph_add_region(outside, &to, number);
}

static sn_status remake_loop(sn_rewrite *r, sn_id id, const sn_id *x, sn_id *out) {
  const state *s = r->user;
  const loop *l = s->loops[id];
  const sn_node *node = sn_graph_node(r->from, id);
  const size_t n = node->n_inputs;
  int64_t attrs[SN_MAX_ATTRS], *first;
  size_t made = 0;
  sn_id *inputs;
  SN_TRY(sn_arena_alloc(r->from->arena, n + 1, sizeof *first, (void **)&first));
  SN_TRY(sn_arena_alloc(r->from->arena, n * MOST_PLACES, sizeof *inputs, (void **)&inputs));
  for (size_t k = 0; k < n; k++) {
    const set *cut = cut_argument(s, l, k);
    first[k] = (int64_t)made;
    if (cut)
      made += make_parts(&r->to, SN_OP_slice, x[k], 0, &r->from->nodes[l->x[k]].type, cut,
                         cut->axis + is_stack(l, k), inputs + made);
    else
      inputs[made++] = x[k];
  }
  first[n] = (int64_t)made;
  memcpy(attrs, sn_graph_attrs(r->from, id), node->n_attrs * sizeof *attrs);
  for (uint32_t k = 0; k < l->c.n_regions; k++) {
    remake m = {.s = s, .l = l, .region = k, .first = first};
    SN_TRY(remake_region(&m, made, r->to.graph, &attrs[k]));
  }
  const int64_t carries = attrs[l->c.n_regions] = first[l->c.n_carries];
  if (node->op == SN_OP_scan) attrs[2] = first[l->c.n_carries + l->c.n_stacks] - carries;
  *out = sn_build_op(&r->to, node->op, inputs, made, attrs, node->n_attrs, &node->type);
  return r->to.status;
}

/* Replaces a loop by one that carries an array of structs as an array per field. */
static sn_id planes_of_structs(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const state *s = r->user;
  sn_id made = SN_NONE;
  r->to.status = remake_loop(r, id, inputs, &made);
  if (!r->to.status && r->to.graph->nodes[made].n_inputs > r->from->nodes[id].n_inputs)
    r->to.status = sn_note_rewrite(s->context, "planes_of_structs", id, made);
  return made;
}

static sn_id rewrite_result(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const state *st = r->user;
  const loop *l = st->loops[*sn_graph_inputs(r->from, id)];
  const sn_type *type = &r->from->nodes[id].type;
  const size_t k = (size_t)*sn_graph_attrs(r->from, id);
  sn_id parts[MOST_PLACES];
  if (!l) return SN_NONE;
  const set *s = cut_result(l, k);
  if (!s) return sn_build_result(&r->to, *inputs, l->first[k], type);
  const int axis = s->axis + (k >= l->c.n_carries);
  const size_t n = make_parts(&r->to, SN_OP_result, *inputs, l->first[k], type, s, axis, parts);
  return put_together(&r->to, parts, n, axis);
}

static sn_id rewrite_node(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const state *s = r->user;
  const sn_op op = r->from->nodes[id].op;
  if (op == SN_OP_result) return rewrite_result(r, id, inputs);
  if (s->loops[id]) return planes_of_structs(r, id, inputs);
  return sn_op_is_control(op) ? sn_rewrite_control(r, id, inputs) : SN_NONE;
}

sn_status sn_pass_planes(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  state s = {.context = context, .from = from};
  SN_TRY(find_loops(&s));
  return sn_rewrite_graph(from, to, to->arena, context->share, s.live, rewrite_node, &s);
}
