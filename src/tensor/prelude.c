/* prelude.c - decides where to cut. A result of the prelude stays in memory, so it has to be worth that:
 * either it costs more to compute than to load, or it is no larger than what it is made of. A value for
 * which neither holds (a mask of two indices, a repeated row) stays in the remainder, and its inputs are
 * considered instead.
 *
 *   forward    fixed, varied, work, room    of each node, from those of its inputs
 *   backward   cut                          from the fixed nodes that a node which is not fixed reads */
#include "tensor/prelude.h"

#include "build/rewrite.h"
#include "graph/regions.h"

/* Cost per element of a sort, scan or softmax, whose rows in ops.def have none. */
#define FLOPS_ALONG_AN_AXIS 8
/* A guess: the number of rounds is not known. */
#define ROUNDS_OF_A_WHILE 100
/* A larger value is kept only if it is no larger than what it is made of: bounds the memory. */
#define MOST_BYTES ((size_t)64 << 20)

typedef struct facts {
  bool fixed;  /* depends on no input */
  bool varied; /* depends on an iota or a captured tensor: else all elements may be one constant */
  bool wanted; /* read in the remainder, or an output */
  bool cut;    /* its value is a result of the prelude */
  bool needed; /* the outputs of the graph that is made now depend on it */
  int64_t at;  /* number of the result, of a cut node */
  double work; /* flops of the node and its inputs; shared inputs are counted once per path */
  size_t room; /* bytes of the largest value among what it is made of that is in memory anyway */
} facts;

typedef struct cutting {
  const sn_target_costs *costs;
  const sn_graph *graph;
  size_t n_inputs;
  facts *of;      /* per node */
  size_t n;       /* number of cut nodes */
  bool remainder; /* the graph that is made now is the remainder, not the prelude */
} cutting;

/* Whether the node costs nothing, or is a cast of a small dtype, which is better done where the value is read. */
static bool is_free(const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  const sn_op_class kind = sn_op_describe(node->op)->kind;
  if (kind == SN_CLASS_LEAF || kind == SN_CLASS_VIEW || kind == SN_CLASS_MARKER ||
      kind == SN_CLASS_CONTROL) /* it has no value itself; its results may be cut */
    return true;
  return node->op == SN_OP_astype &&
         sn_dtype_is_small(g->nodes[*sn_graph_inputs(g, id)].type.dtype);
}

/* The approximate flops of the node itself. */
static double work_of(const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  const sn_op_info *op = sn_op_describe(node->op);
  const double size = (double)sn_type_size(&node->type), cost = op->cost ? op->cost : 1;
  const sn_id *x = sn_graph_inputs(g, id);
  const sn_type *last = node->n_inputs ? &g->nodes[x[node->n_inputs - 1]].type : NULL;
  switch (op->kind) {
  case SN_CLASS_MATMUL: return 2 * size * (double)last->dims[last->rank - 2];
  case SN_CLASS_BLOCKS:
    return node->n_inputs > 1 ? 2 * size * (double)g->nodes[x[0]].type.dims[node->type.rank - 1]
                              : size;
  case SN_CLASS_CONV:
    return 2 * size * (double)sn_type_size(last) / (double)node->type.dims[node->type.rank - 1];
  case SN_CLASS_REDUCE: return cost * (double)sn_type_size(last);
  case SN_CLASS_SOFTMAX:
  case SN_CLASS_SORT:
  case SN_CLASS_SCAN: return FLOPS_ALONG_AN_AXIS * size;
  default: return cost * size;
  }
}

/* The approximate flops of control flow: one per element of each node of its first region, in each round. */
static double work_of_control(const sn_graph *g, sn_id id) {
  const sn_control control = sn_graph_control(g, id);
  const double rounds = control.op == SN_OP_scan ? (double)control.length : ROUNDS_OF_A_WHILE;
  double work = 0;
  for (sn_id at = 0; at < control.regions[0]->n_nodes; at++)
    work += (double)sn_type_size(&control.regions[0]->nodes[at].type);
  return rounds * work;
}

static bool is_costly(const cutting *c, const facts *f, const sn_type *type) {
  return f->work >= c->costs->load_flops * (double)sn_type_size(type) &&
         sn_type_bytes(type) <= MOST_BYTES;
}

static facts facts_of(const cutting *c, sn_id id) {
  const sn_graph *g = c->graph;
  const sn_node *node = sn_graph_node(g, id);
  facts f = {.fixed = true, .varied = node->op == SN_OP_iota};
  if (node->op == SN_OP_input) {
    f.fixed = f.varied = *sn_graph_attrs(g, id) >= (int64_t)c->n_inputs;
    f.room = sn_type_bytes(&node->type);
    return f;
  }
  for (uint32_t k = 0; k < node->n_inputs; k++) {
    const facts *x = &c->of[sn_graph_inputs(g, id)[k]];
    f.fixed = f.fixed && x->fixed;
    f.varied = f.varied || x->varied;
    f.work += x->work;
    f.room = x->room > f.room ? x->room : f.room;
  }
  if (sn_op_is_control(node->op)) f.work += work_of_control(g, id);
  if (is_free(g, id)) return f;
  f.work += work_of(g, id);
  if (is_costly(c, &f, &node->type) && sn_type_bytes(&node->type) > f.room)
    f.room = sn_type_bytes(&node->type);
  return f;
}

static void decide(cutting *c, sn_id id) {
  const sn_node *node = sn_graph_node(c->graph, id);
  facts *f = &c->of[id];
  if (f->fixed && !f->wanted) return;
  f->cut = f->fixed && f->varied && !is_free(c->graph, id) &&
           (f->work >= c->costs->argument_flops || sn_op_is_call(node->op)) &&
           sn_type_bytes(&node->type) <= f->room;
  if (f->cut) c->n++;
  for (uint32_t k = 0; k < node->n_inputs && !f->cut; k++)
    c->of[sn_graph_inputs(c->graph, id)[k]].wanted = true;
}

/* ---- the two graphs -------------------------------------------------------------------------- */

/* An sn_rewrite_fn, which makes the arguments of either graph. */
static sn_id place(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  (void)inputs;
  const cutting *c = r->user;
  const sn_node *node = sn_graph_node(r->from, id);
  int64_t number;
  if (c->remainder && c->of[id].cut)
    number = (int64_t)r->from->n_arguments + c->of[id].at;
  else if (!c->remainder && node->op == SN_OP_input)
    number = *sn_graph_attrs(r->from, id) - (int64_t)c->n_inputs;
  else
    return SN_NONE;
  return sn_build_op(&r->to, SN_OP_input, NULL, 0, &number, 1, &node->type);
}

static sn_status make(cutting *c, const sn_graph *from, sn_arena *arena, bool remainder,
                      sn_graph *to) {
  uint8_t *keep;
  c->remainder = remainder;
  SN_TRY(sn_arena_alloc(arena, from->n_nodes, 1, (void **)&keep));
  for (size_t id = 0; id < from->n_nodes; id++) c->of[id].needed = false;
  for (size_t i = 0; i < from->n_outputs; i++) c->of[from->outputs[i]].needed = true;
  for (sn_id id = (sn_id)from->n_nodes; id-- > 0;) {
    const facts *f = &c->of[id];
    keep[id] = f->needed;
    if (!f->needed || (remainder && f->cut)) continue;
    for (uint32_t k = 0; k < from->nodes[id].n_inputs; k++)
      c->of[sn_graph_inputs(from, id)[k]].needed = true;
  }
  SN_TRY(sn_rewrite_graph(from, to, arena, from->share, keep, place, c));
  to->n_arguments = remainder ? from->n_arguments + c->n : from->n_arguments - c->n_inputs;
  return sn_graph_keep_regions(to, from);
}

sn_status sn_prelude_cut(const sn_target *target, const sn_graph *traced, size_t n_inputs,
                         sn_arena *arena, sn_prelude *out) {
  cutting c = {.costs = &target->costs, .graph = traced, .n_inputs = n_inputs};
  *out = (sn_prelude){0};
  SN_TRY(sn_arena_alloc(arena, traced->n_nodes, sizeof *c.of, (void **)&c.of));
  for (sn_id id = 0; id < traced->n_nodes; id++) c.of[id] = facts_of(&c, id);
  for (size_t i = 0; i < traced->n_outputs; i++) c.of[traced->outputs[i]].wanted = true;
  for (sn_id id = (sn_id)traced->n_nodes; id-- > 0;) decide(&c, id);
  if (!c.n) return SN_OK;

  sn_graph results = *traced;
  SN_TRY(sn_arena_alloc(arena, c.n, sizeof *results.outputs, (void **)&results.outputs));
  results.n_outputs = 0;
  for (sn_id id = 0; id < traced->n_nodes; id++) {
    if (!c.of[id].cut) continue;
    c.of[id].at = (int64_t)results.n_outputs;
    results.outputs[results.n_outputs++] = id;
  }
  out->n = c.n;
  SN_TRY(make(&c, &results, arena, false, &out->prelude));
  return make(&c, traced, arena, true, &out->remainder);
}
