/* graph.h - the IR: a dense, append-only, hash-consed list of nodes.
 *
 *   nodes   0      1      2        3 ...
 *           input  const  matmul   add
 *
 * A node's inputs always have smaller ids, so the order of the array is a topological order and
 * every pass is a loop.
 *
 * A node is (op, type, inputs, attributes). Adding a node that exists already returns the old id,
 * unless sharing is off; the inputs of a commutative op are sorted before that. Nodes never change
 * and are never removed: a pass builds a new graph (see build/rewrite.h). All memory is the arena's.
 *
 * A graph has regions, the bodies and branches of its control flow. They are graphs with arguments
 * and outputs of their own, and attributes refer to them by number (regions.h). */
#ifndef SN_GRAPH_GRAPH_H
#define SN_GRAPH_GRAPH_H

#include "graph/id_table.h"
#include "graph/shape.h"

typedef uint32_t sn_id;
#define SN_NONE UINT32_MAX

/* Where a value comes from. Equal nodes may differ in it: adding a node that exists already keeps the old origin. */
typedef struct sn_origin {
  /* number (sn_context.call) of the public call that made it or whose derivative it is; 0: not recorded */
  uint32_t call;
  bool derivative; /* the value is a derivative of what that call made */
  bool recomputed; /* a derivative computes again what the function has computed before */
} sn_origin;

typedef struct sn_node {
  sn_op op;
  uint32_t n_inputs, n_attrs;
  uint32_t first_input; /* into graph->edges */
  uint32_t first_attr;  /* into graph->attrs */
  uint32_t hash;
  sn_origin origin;
  sn_type type;
} sn_node;

typedef struct sn_graph {
  sn_arena *arena;
  sn_env *env;
  bool share;       /* hash-consing on */
  sn_origin origin; /* of the nodes that are added from now on */

  sn_node *nodes;
  size_t n_nodes, cap_nodes;
  sn_id *edges;
  size_t n_edges, cap_edges;
  int64_t *attrs;
  size_t n_attrs, cap_attrs;

  sn_id_table table; /* all nodes by hash; of equal ones, only the first */

  struct sn_graph **regions; /* in the same arena */
  size_t n_regions, cap_regions;

  sn_id *outputs; /* what the program returns */
  size_t n_outputs;
  /* Input nodes have numbers 0 .. n_arguments - 1; an argument that is not used may have no node. */
  size_t n_arguments;
} sn_graph;

void sn_graph_init(sn_graph *graph, sn_arena *arena, bool share);

/* Room for as many nodes as another graph has. */
sn_status sn_graph_reserve(sn_graph *graph, const sn_graph *like);

/* Adds a node, or finds an equal one. *type is the proposed type of an op whose type does not follow from its inputs
 * (see sn_infer); for other ops it may be NULL. */
sn_status sn_graph_add(sn_graph *graph, sn_op op, const sn_id *inputs, size_t n_inputs,
                       const int64_t *attrs, size_t n_attrs, const sn_type *type, sn_id *out);

/* The same for a node whose type is known and checked already, from its tensor or from a node of another graph. */
sn_status sn_graph_append(sn_graph *graph, sn_op op, const sn_id *inputs, size_t n_inputs,
                          const int64_t *attrs, size_t n_attrs, const sn_type *type, sn_id *out);

/* sn_infer with inputs that are nodes. */
sn_status sn_graph_infer(const sn_graph *graph, sn_op op, const sn_id *inputs, size_t n_inputs,
                         const int64_t *attrs, size_t n_attrs, sn_type *type);

/* How many of its n_inputs first inputs the op reads the values of: all but a barrier's second, which it only waits for. */
static inline size_t sn_op_reads(sn_op op, size_t n_inputs) {
  return op == SN_OP_barrier ? 1 : n_inputs;
}

static inline const sn_node *sn_graph_node(const sn_graph *graph, sn_id id) {
  return &graph->nodes[id];
}
static inline const sn_id *sn_graph_inputs(const sn_graph *graph, sn_id id) {
  return graph->edges + graph->nodes[id].first_input;
}
static inline const int64_t *sn_graph_attrs(const sn_graph *graph, sn_id id) {
  return graph->attrs + graph->nodes[id].first_attr;
}

/* The hash of all that makes two nodes equal: op, type, inputs and attributes. */
uint32_t sn_node_hash(sn_op op, const sn_type *type, const sn_id *inputs, size_t n_inputs,
                      const int64_t *attrs, size_t n_attrs);

/* Marks (1) the nodes that the outputs need; marks has n_nodes entries. */
void sn_graph_live(const sn_graph *graph, uint8_t *marks);

/* verify_graph.c: every node obeys the grammar of sn_infer, inputs precede users, outputs exist. */
sn_status sn_graph_verify(const sn_graph *graph);

/* print_graph.c: adds a node's attributes to text as a list of numbers. */
struct sn_text;
void sn_graph_print_attrs(struct sn_text *text, const sn_graph *graph, sn_id id);

/* print_graph.c: the graph as stable text, one node a line, "%3 = add float32(2, 3) %1 %2", and its regions after it; and
 * as Graphviz, with a box for each region. reasons: a label per edge, or NULL. Text is allocated in arena. */
sn_status sn_graph_text(const sn_graph *graph, sn_arena *arena, const char **out);
sn_status sn_graph_dot(const sn_graph *graph, const char *const *reasons, sn_arena *arena,
                       const char **out);

#endif
