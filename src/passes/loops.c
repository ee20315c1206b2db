/* loops.c - makes loops (scans) compute only what is needed, and compute it once. Loops are
 *
 *   merged    scans over the same inputs with the same carries become one: the forward loop, and the copies of it that
 *             derivatives made to get more of its values
 *   pruned    results that nobody uses go, and so do carries and inputs that no result needs
 *   constant  a carry that every round returns unchanged becomes a constant of the loop, and a result that stacks the
 *             slices of an input stack becomes that stack
 *   hoisted   a loop-invariant value, made of constants alone, is computed before the loop
 *   sunk      a loop constant that would take memory, but costs nothing to compute where it is read, moves into the loop
 *
 * A scan is compared only with those in its hash bucket. Work is linear in nodes, except that find_needed may walk a body
 * once per carry. */
#include <string.h>

#include "build/inline.h"
#include "build/rewrite.h"
#include "passes/passes.h"

/* A scan and the scans that are merged into it. */
typedef struct merge_set {
  sn_id first;      /* the scan with the smallest id */
  sn_graph body;    /* the first scan's body, with the results of all */
  uint8_t *used;    /* per result of body: somebody reads it */
  uint8_t *needed;  /* per argument of body: a used result depends on it */
  uint32_t *number; /* per result of body: its number in the new loop */
  sn_id node;       /* the merged scan in the new graph; SN_NONE until it is made */
  uint32_t next;    /* the next set of the bucket, + 1 */
} merge_set;

typedef struct state {
  const sn_graph *from;
  uint8_t *live;
  merge_set *sets;
  size_t n_sets, cap_sets;
  uint32_t *set_of;    /* per node: index of its set + 1, or 0 */
  uint32_t **result;   /* per scan in a set: its results' numbers in the set's body */
  uint32_t *buckets;   /* by the hash of a scan's inputs: the first set, + 1 */
  size_t n_buckets;    /* a power of two */
} state;

/* ---- merging --------------------------------------------------------------------------------- */

static bool same_inputs(const sn_graph *g, sn_id a, sn_id b) {
  const sn_node *x = sn_graph_node(g, a), *y = sn_graph_node(g, b);
  return x->n_inputs == y->n_inputs &&
         sn_same_bytes(sn_graph_inputs(g, a), sn_graph_inputs(g, b), x->n_inputs * sizeof(sn_id)) &&
         sn_same_bytes(sn_graph_attrs(g, a) + 1, sn_graph_attrs(g, b) + 1,
                       (x->n_attrs - 1) * sizeof(int64_t));
}

/* Whether the bodies have the same nodes and return the same carries; their other results may differ. */
static bool same_rounds(const sn_graph *a, const sn_graph *b, size_t n_carries) {
  sn_graph x = *a, y = *b;
  x.n_outputs = y.n_outputs = n_carries;
  return sn_graph_equal(&x, &y);
}

/* Finds or adds the result of the set's body that stacks its node `output`. Sets *number to its number. */
static sn_status add_result(const state *s, merge_set *set, size_t n_carries, sn_id output,
                            uint32_t *number) {
  sn_graph *body = &set->body;
  sn_id *outputs;
  for (uint32_t k = (uint32_t)n_carries; k < body->n_outputs; k++)
    if (body->outputs[k] == output) {
      *number = k;
      return SN_OK;
    }
  SN_TRY(sn_arena_alloc(s->from->arena, body->n_outputs + 1, sizeof *outputs, (void **)&outputs));
  memcpy(outputs, body->outputs, body->n_outputs * sizeof *outputs);
  outputs[body->n_outputs] = output;
  *number = (uint32_t)body->n_outputs++;
  body->outputs = outputs;
  return SN_OK;
}

static uint32_t bucket_of(const state *s, sn_id id) {
  const sn_node *node = sn_graph_node(s->from, id);
  uint32_t hash = node->n_inputs * 0x9e3779b1u;
  for (uint32_t k = 0; k < node->n_inputs; k++)
    hash = (hash ^ sn_graph_inputs(s->from, id)[k]) * 0x9e3779b1u;
  return hash & (uint32_t)(s->n_buckets - 1);
}

/* Adds scan id to set `number`. */
static sn_status join(state *s, sn_id id, uint32_t number) {
  merge_set *set = &s->sets[number];
  const sn_control c = sn_graph_control(s->from, id);
  SN_TRY(sn_arena_alloc(s->from->arena, c.n_results, sizeof **s->result, (void **)&s->result[id]));
  for (size_t k = 0; k < c.n_results; k++)
    if (k < c.n_carries)
      s->result[id][k] = (uint32_t)k;
    else
      SN_TRY(add_result(s, set, c.n_carries, c.regions[0]->outputs[k], &s->result[id][k]));
  s->set_of[id] = number + 1;
  return SN_OK;
}

/* Adds scan id to the set that it fits, or to a new one. */
static sn_status place(state *s, sn_id id) {
  const sn_control c = sn_graph_control(s->from, id);
  uint32_t *bucket = &s->buckets[bucket_of(s, id)];
  for (uint32_t at = *bucket; at; at = s->sets[at - 1].next) {
    const merge_set *set = &s->sets[at - 1];
    if (same_inputs(s->from, set->first, id) && same_rounds(&set->body, c.regions[0], c.n_carries))
      return join(s, id, at - 1);
  }
  SN_TRY(
      sn_arena_grow(s->from->arena, (void **)&s->sets, &s->cap_sets, s->n_sets, sizeof *s->sets));
  const uint32_t number = (uint32_t)s->n_sets++;
  merge_set *set = &s->sets[number];
  *set = (merge_set){.first = id, .body = *c.regions[0], .node = SN_NONE, .next = *bucket};
  set->body.n_outputs = c.n_carries;
  *bucket = number + 1;
  return join(s, id, number);
}

/* ---- what is needed -------------------------------------------------------------------------- */

/* Marks all nodes that marked nodes depend on. */
static void mark_inputs(const sn_graph *g, uint8_t *marks) {
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;)
    for (uint32_t k = 0; marks[id] && k < g->nodes[id].n_inputs; k++)
      marks[sn_graph_inputs(g, id)[k]] = 1;
}

/* Sets set->needed from set->used. A carry that a used result needs in a later round becomes used itself, so this repeats
 * until nothing changes. */
static sn_status find_needed(const state *s, merge_set *set) {
  const sn_graph *body = &set->body;
  const sn_control c = sn_graph_control(s->from, set->first);
  uint8_t *marks;
  SN_TRY(sn_arena_alloc(s->from->arena, body->n_arguments, 1, (void **)&set->needed));
  SN_TRY(sn_arena_alloc(s->from->arena, body->n_nodes, 1, (void **)&marks));
  for (bool found = true; found;) {
    found = false;
    memset(marks, 0, body->n_nodes);
    for (size_t k = 0; k < body->n_outputs; k++)
      if (set->used[k]) marks[body->outputs[k]] = 1;
    mark_inputs(body, marks);
    for (sn_id id = 0; id < body->n_nodes; id++)
      if (marks[id] && body->nodes[id].op == SN_OP_input)
        set->needed[sn_graph_attrs(body, id)[0]] = 1;
    for (size_t k = 0; k < c.n_carries; k++) {
      set->needed[k] = set->needed[k] || set->used[k];
      if (!set->needed[k] || set->used[k]) continue;
      set->used[k] = 1;
      found = true;
    }
  }
  return SN_OK;
}

/* Marks what node id needs as live. A merged scan needs what its set's used results need. The walk is backward and
 * `first` has the set's smallest id, so by then all readers of the set's results have been met. */
static sn_status mark_read(state *s, sn_id id) {
  const sn_graph *g = s->from;
  const sn_id *inputs = sn_graph_inputs(g, id);
  const uint32_t number = s->set_of[id];
  merge_set *set = number ? &s->sets[number - 1] : NULL;
  if (set && set->first != id) {
    s->live[set->first] = 1;
    return SN_OK;
  }
  if (set) SN_TRY(find_needed(s, set));
  for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++)
    if (!set || set->needed[k]) s->live[inputs[k]] = 1;
  if (g->nodes[id].op == SN_OP_result && s->set_of[*inputs])
    s->sets[s->set_of[*inputs] - 1].used[s->result[*inputs][*sn_graph_attrs(g, id)]] = 1;
  return SN_OK;
}

static sn_status find_used(state *s) {
  const sn_graph *g = s->from;
  for (size_t i = 0; i < s->n_sets; i++)
    SN_TRY(sn_arena_alloc(g->arena, s->sets[i].body.n_outputs, 1, (void **)&s->sets[i].used));
  memset(s->live, 0, g->n_nodes);
  for (size_t k = 0; k < g->n_outputs; k++) s->live[g->outputs[k]] = 1;
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;)
    if (s->live[id]) SN_TRY(mark_read(s, id));
  return SN_OK;
}

/* ---- making a loop anew ---------------------------------------------------------------------- */

/* What an argument of the old body is in the new loop; ROLE_NONE: it goes. */
typedef enum role { ROLE_NONE, ROLE_CARRY, ROLE_STACK, ROLE_CONST } role;

typedef struct remake {
  sn_rewrite *r;
  merge_set *set;
  sn_control c;
  const sn_id *x;   /* the loop's inputs in the new graph */
  uint8_t *role;    /* per argument of the old body: ROLE_* */
  uint8_t *varies;  /* per node of the old body: it may differ from round to round */
  uint8_t *live;    /* per node: the new loop needs it */
  uint8_t *read_as; /* per node: READ_* bits of its readers */
  sn_id *outside;   /* per node that does not vary: its value's node before the loop, or SN_NONE */
  sn_id *map;       /* per node: its node in the new body */
  sn_graph body;    /* the new body */
  sn_id *inputs;    /* of the new loop: one per argument of the new body */
  size_t n_inputs;
  int64_t n_of[4]; /* number of arguments per role */
} remake;

static void find_roles(remake *m) {
  const sn_graph *body = &m->set->body;
  for (size_t k = 0; k < body->n_arguments; k++)
    m->role[k] = !m->set->needed[k]                   ? ROLE_NONE
                 : k < m->c.n_carries                 ? ROLE_CARRY
                 : k < m->c.n_carries + m->c.n_stacks ? ROLE_STACK
                                                      : ROLE_CONST;
  for (sn_id id = 0; id < body->n_nodes; id++) {
    if (body->nodes[id].op != SN_OP_input) continue;
    const size_t k = (size_t)sn_graph_attrs(body, id)[0];
    if (m->role[k] == ROLE_CARRY && body->outputs[k] == id) m->role[k] = ROLE_CONST;
  }
  for (sn_id id = 0; id < body->n_nodes; id++) {
    const sn_node *node = sn_graph_node(body, id);
    if (node->op == SN_OP_input) m->varies[id] = m->role[sn_graph_attrs(body, id)[0]] != ROLE_CONST;
    const size_t n = sn_op_reads(node->op, node->n_inputs);
    for (size_t k = 0; k < n; k++)
      m->varies[id] = m->varies[id] || m->varies[sn_graph_inputs(body, id)[k]];
  }
}

/* A barrier on a loop constant is dropped: the constant is there before the loop begins. */
static bool is_needless_barrier(const remake *m, sn_id id) {
  return m->set->body.nodes[id].op == SN_OP_barrier && !m->varies[id];
}

/* If result k is an argument unchanged (a carry that returns itself, or the slices of an input stack), the number of
 * that argument; else SN_NONE. */
static uint32_t forwarded_argument(const merge_set *set, const sn_control *c, size_t k) {
  const sn_graph *body = &set->body;
  const sn_id id = body->outputs[k];
  if (body->nodes[id].op != SN_OP_input) return SN_NONE;
  const size_t from = (size_t)sn_graph_attrs(body, id)[0];
  const bool stack = from >= c->n_carries && from < c->n_carries + c->n_stacks;
  return (k < c->n_carries ? from == k : stack) ? (uint32_t)from : SN_NONE;
}

/* Whether the new loop has result k of the old one. */
static bool is_result(const remake *m, size_t k) {
  return m->set->used[k] && forwarded_argument(m->set, &m->c, k) == SN_NONE;
}

/* Whether node id is a loop constant whose computation costs something. Views and leaves are free, so they stay. */
static bool is_hoisted(const remake *m, sn_id id) {
  const sn_op_class kind = sn_op_describe(m->set->body.nodes[id].op)->kind;
  return !m->varies[id] && kind != SN_CLASS_LEAF && kind != SN_CLASS_VIEW &&
         kind != SN_CLASS_CONTROL;
}

/* Marks the nodes that the new loop needs, and of hoisted values only the values themselves. */
static void mark_body(const remake *m) {
  const sn_graph *body = &m->set->body;
  for (size_t k = 0; k < body->n_outputs; k++)
    if (is_result(m, k)) m->live[body->outputs[k]] = 1;
  for (sn_id id = (sn_id)body->n_nodes; id-- > 0;) {
    if (!m->live[id] || is_hoisted(m, id)) continue;
    const uint32_t n = is_needless_barrier(m, id) ? 1 : body->nodes[id].n_inputs;
    for (uint32_t k = 0; k < n; k++) m->live[sn_graph_inputs(body, id)[k]] = 1;
  }
}

static sn_status copy_node(remake *m, sn_id id, sn_graph *to, const sn_id *map, sn_id *out) {
  const sn_graph *body = &m->set->body;
  if (!is_needless_barrier(m, id)) return sn_graph_take_node(to, body, id, map, out);
  *out = map[*sn_graph_inputs(body, id)];
  return SN_OK;
}

/* Fills m->outside: a constant argument maps to the input that gives it, and a hoisted value, with all that it is made
 * of, is copied to before the loop. */
static sn_status hoist(remake *m) {
  const sn_graph *body = &m->set->body;
  uint8_t *wanted;
  SN_TRY(sn_arena_alloc(body->arena, body->n_nodes, 1, (void **)&wanted));
  for (sn_id id = 0; id < body->n_nodes; id++) {
    m->outside[id] = SN_NONE;
    wanted[id] = m->live[id] && is_hoisted(m, id);
  }
  for (sn_id id = (sn_id)body->n_nodes; id-- > 0;) {
    const uint32_t n = is_needless_barrier(m, id) ? 1 : body->nodes[id].n_inputs;
    for (uint32_t k = 0; k < n && wanted[id]; k++) wanted[sn_graph_inputs(body, id)[k]] = 1;
  }
  for (sn_id id = 0; id < body->n_nodes; id++) {
    if (body->nodes[id].op == SN_OP_input && !m->varies[id])
      m->outside[id] = m->x[sn_graph_attrs(body, id)[0]];
    else if (wanted[id])
      SN_TRY(copy_node(m, id, m->r->to.graph, m->outside, &m->outside[id]));
  }
  return SN_OK;
}

/* Adds an argument to the new body; node `given` of the new graph is the loop's input for it. */
static sn_status add_input(remake *m, role kind, const sn_type *type, sn_id given, sn_id *out) {
  const int64_t number = (int64_t)m->n_inputs;
  m->inputs[m->n_inputs++] = given;
  m->n_of[kind]++;
  return sn_graph_append(&m->body, SN_OP_input, NULL, 0, &number, 1, type, out);
}

static sn_status add_argument(remake *m, sn_id id, role kind, sn_id given) {
  return add_input(m, kind, &m->set->body.nodes[id].type, given, &m->map[id]);
}

/* ---- sinking --------------------------------------------------------------------------------- */

/* Kinds of readers of a node, directly or through views. */
enum { READ_BY_MAPS = 1, READ_BY_PRODUCTS = 2, READ_BY_OTHERS = 4 };

/* A product with at least so many rows and columns packs its operands whatever their layout. */
#define MANY 64
/* Greatest depth of an expression that is sunk. */
#define MOST_SUNK 6

static uint8_t reader(const sn_graph *body, sn_id id) {
  const sn_node *node = sn_graph_node(body, id);
  const int rank = node->type.rank;
  if (sn_op_is_elementwise(node->op)) return READ_BY_MAPS;
  if (sn_op_describe(node->op)->kind != SN_CLASS_MATMUL) return READ_BY_OTHERS;
  const bool packs = node->type.dims[rank - 2] >= MANY && node->type.dims[rank - 1] >= MANY;
  return packs ? READ_BY_PRODUCTS : READ_BY_OTHERS;
}

static void find_readers(const remake *m) {
  const sn_graph *body = &m->set->body;
  for (size_t k = 0; k < body->n_outputs; k++) m->read_as[body->outputs[k]] = READ_BY_OTHERS;
  for (sn_id id = (sn_id)body->n_nodes; id-- > 0;) {
    const sn_op_class kind = sn_op_describe(body->nodes[id].op)->kind;
    if (!m->live[id] || is_hoisted(m, id)) continue;
    const bool passes_on = kind == SN_CLASS_VIEW || kind == SN_CLASS_MARKER;
    for (uint32_t k = 0; k < body->nodes[id].n_inputs; k++)
      m->read_as[sn_graph_inputs(body, id)[k]] |= passes_on ? m->read_as[id] : reader(body, id);
  }
}

/* Whether the value is made of constants and iotas by views and cheap elementwise ops, such as a mask or zeros, so that
 * no memory need be read for it. */
static bool reads_no_memory(const sn_graph *g, sn_id id, int most) {
  const sn_op_info *op = sn_op_describe(g->nodes[id].op);
  if (op->kind == SN_CLASS_LEAF) return g->nodes[id].op != SN_OP_input;
  if (op->kind != SN_CLASS_VIEW && !(sn_op_is_elementwise(g->nodes[id].op) && op->cost <= 1))
    return false;
  for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++)
    if (!most || !reads_no_memory(g, sn_graph_inputs(g, id)[k], most - 1)) return false;
  return true;
}

/* How many levels of the expression behind the loop constant `id` are computed in the loop: 0 for none. A transpose is
 * sunk for products that pack, because packing transposes for free. */
static int levels_to_sink(const remake *m, sn_id id) {
  const sn_graph *g = m->r->to.graph;
  const sn_id given = m->outside[id];
  if (m->read_as[id] == READ_BY_MAPS && reads_no_memory(g, given, MOST_SUNK)) return MOST_SUNK + 1;
  return m->read_as[id] == READ_BY_PRODUCTS && g->nodes[given].op == SN_OP_transpose;
}

/* Copies the topmost `most` levels of the expression `given` into the new body; what they read becomes constants. */
static sn_status sink(remake *m, sn_id given, int most, sn_id *out) {
  const sn_graph *g = m->r->to.graph;
  const sn_node *node = sn_graph_node(g, given);
  sn_id inputs[SN_MAX_ARITY];
  if (!most) return add_input(m, ROLE_CONST, &node->type, given, out);
  for (uint32_t k = 0; k < node->n_inputs; k++)
    SN_TRY(sink(m, sn_graph_inputs(g, given)[k], most - 1, &inputs[k]));
  m->body.origin = node->origin;
  return sn_graph_append(&m->body, node->op, inputs, node->n_inputs, sn_graph_attrs(g, given),
                         node->n_attrs, &node->type, out);
}

/* ---- the new body ---------------------------------------------------------------------------- */

/* Every carry that stays gets an argument, even one that the body does not read. */
static sn_status add_carries(remake *m) {
  const sn_graph *body = &m->set->body;
  sn_id *reads; /* per argument: its node */
  SN_TRY(sn_arena_alloc(body->arena, body->n_arguments, sizeof *reads, (void **)&reads));
  for (size_t k = 0; k < body->n_arguments; k++) reads[k] = SN_NONE;
  for (sn_id id = 0; id < body->n_nodes; id++)
    if (body->nodes[id].op == SN_OP_input) reads[sn_graph_attrs(body, id)[0]] = id;
  for (size_t k = 0; k < m->c.n_carries; k++) {
    if (m->role[k] != ROLE_CARRY) continue;
    if (reads[k] != SN_NONE) {
      SN_TRY(add_argument(m, reads[k], ROLE_CARRY, m->x[k]));
      continue;
    }
    m->inputs[m->n_inputs++] = m->x[k];
    m->n_of[ROLE_CARRY]++;
  }
  return SN_OK;
}

static sn_status make_body(remake *m) {
  const sn_graph *body = &m->set->body;
  SN_TRY(add_carries(m));
  for (sn_id id = 0; id < body->n_nodes; id++) {
    const bool input = body->nodes[id].op == SN_OP_input;
    const int64_t k = input ? sn_graph_attrs(body, id)[0] : 0;
    if (m->live[id] && input && m->role[k] == ROLE_STACK)
      SN_TRY(add_argument(m, id, ROLE_STACK, m->x[k]));
  }
  for (sn_id id = 0; id < body->n_nodes; id++) {
    const bool input = body->nodes[id].op == SN_OP_input;
    if (m->live[id] && (input ? !m->varies[id] : is_hoisted(m, id)))
      SN_TRY(sink(m, m->outside[id], levels_to_sink(m, id), &m->map[id]));
    else if (m->live[id] && !input)
      SN_TRY(copy_node(m, id, &m->body, m->map, &m->map[id]));
  }
  sn_graph *to = &m->body;
  SN_TRY(sn_arena_alloc(to->arena, body->n_outputs, sizeof *to->outputs, (void **)&to->outputs));
  for (size_t k = 0; k < body->n_outputs; k++) {
    m->set->number[k] = (uint32_t)to->n_outputs;
    if (is_result(m, k)) to->outputs[to->n_outputs++] = m->map[body->outputs[k]];
  }
  to->n_arguments = m->n_inputs;
  return SN_OK;
}

static sn_status remake_loop(sn_rewrite *r, merge_set *set, const sn_id *x) {
  const state *s = r->user;
  sn_arena *arena = s->from->arena;
  const size_t n = set->body.n_nodes;
  remake m = {.r = r, .set = set, .c = sn_graph_control(s->from, set->first), .x = x};
  SN_TRY(sn_arena_alloc(arena, set->body.n_arguments, 1, (void **)&m.role));
  SN_TRY(sn_arena_alloc(arena, n, 1, (void **)&m.varies));
  SN_TRY(sn_arena_alloc(arena, n, 1, (void **)&m.live));
  SN_TRY(sn_arena_alloc(arena, n, 1, (void **)&m.read_as));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *m.outside, (void **)&m.outside));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *m.map, (void **)&m.map));
  SN_TRY(sn_arena_alloc(arena, set->body.n_arguments + n, sizeof *m.inputs, (void **)&m.inputs));
  SN_TRY(sn_arena_alloc(arena, set->body.n_outputs, sizeof *set->number, (void **)&set->number));
  sn_graph_init(&m.body, arena, true);
  find_roles(&m);
  mark_body(&m);
  find_readers(&m);
  SN_TRY(hoist(&m));
  SN_TRY(make_body(&m));
  int64_t attrs[] = {0, m.n_of[ROLE_CARRY], m.n_of[ROLE_STACK], m.c.length, m.c.reverse};
  SN_TRY(sn_graph_add_region(r->to.graph, &m.body, &attrs[0]));
  const sn_type type = sn_control_type();
  r->to.graph->origin = r->to.origin;
  return sn_graph_append(r->to.graph, SN_OP_scan, m.inputs, m.n_inputs, attrs, 5, &type,
                         &set->node);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static sn_id rewrite_scan(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const state *s = r->user;
  merge_set *set = &s->sets[s->set_of[id] - 1];
  if (set->node == SN_NONE) r->to.status = remake_loop(r, set, inputs);
  return set->node;
}

/* A result that is an argument unchanged becomes the loop's input for it: a carry's initial value, or the whole stack. */
static sn_id rewrite_result(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const state *s = r->user;
  const sn_id from = *sn_graph_inputs(s->from, id);
  if (!s->set_of[from]) return SN_NONE;
  const merge_set *set = &s->sets[s->set_of[from] - 1];
  const uint32_t k = s->result[from][*sn_graph_attrs(s->from, id)];
  const sn_control control = sn_graph_control(s->from, set->first);
  const uint32_t argument = forwarded_argument(set, &control, k);
  if (argument != SN_NONE) return r->map[sn_graph_inputs(s->from, set->first)[argument]];
  const int64_t number = set->number[k];
  return sn_build_op(&r->to, SN_OP_result, inputs, 1, &number, 1, &s->from->nodes[id].type);
}

static sn_id rewrite_node(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const state *s = r->user;
  const sn_op op = r->from->nodes[id].op;
  if (s->set_of[id]) return rewrite_scan(r, id, inputs);
  if (sn_op_is_control(op)) return sn_rewrite_control(r, id, inputs);
  return op == SN_OP_result ? rewrite_result(r, id, inputs) : SN_NONE;
}

static sn_status find_merge_sets(state *s) {
  const sn_graph *g = s->from;
  size_t n = 0;
  for (sn_id id = 0; id < g->n_nodes; id++) n += g->nodes[id].op == SN_OP_scan;
  for (s->n_buckets = 1; s->n_buckets < n; s->n_buckets *= 2) {}
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, 1, (void **)&s->live));
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, sizeof *s->set_of, (void **)&s->set_of));
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, sizeof *s->result, (void **)&s->result));
  SN_TRY(sn_arena_alloc(g->arena, s->n_buckets, sizeof *s->buckets, (void **)&s->buckets));
  sn_graph_live(g, s->live);
  for (sn_id id = 0; id < g->n_nodes; id++)
    if (s->live[id] && g->nodes[id].op == SN_OP_scan) SN_TRY(place(s, id));
  return find_used(s);
}

sn_status sn_pass_loops(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  state s = {.from = from};
  SN_TRY(find_merge_sets(&s));
  return sn_rewrite_graph(from, to, to->arena, context->share, s.live, rewrite_node, &s);
}

sn_status sn_pass_prune(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  return sn_pass_loops(context, from, to);
}
