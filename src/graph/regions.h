/* regions.h - control flow and functions: ops that run other graphs, which are regions of the graph that has the op.
 *
 *   op           inputs                     regions                        results
 *   scan         carries, stacks, consts    body (carries, slices, consts) carries, stacks
 *                                             -> (carries, slices)
 *   while_loop   carries, consts            body (carries, consts)         carries
 *                                             -> (carries)
 *                                           test (carries, consts) -> (bool)
 *   cond         a bool, operands           on_true, on_false (operands)   what a branch returns
 *                                             -> (results)
 *   checkpoint   operands                   body (operands)                results, kept values
 *                                             -> (results, kept values)
 *   custom       arguments, consts          body (arguments, consts)       results
 *                                             -> (results)
 *                                           rule (arguments, derivatives, consts)
 *                                             -> (derivatives)
 *
 * A rule has derivatives of floats only, in their order and dtypes: it takes cotangents of the results and returns those
 * of the arguments if it is `reverse`, else it takes tangents of the arguments and returns those of the results. The
 * derivative of a checkpoint reads its kept values and computes all others again. The bodies of checkpoint and custom
 * replace them before any pass of a compilation runs (passes/inline_functions.c); only sn_readable_graph keeps these ops.
 *
 * A stack has `length` slices along its first axis, one per round; a scan in reverse reads and writes the last slice
 * first. A carry has the same type in all rounds, and a result the same type in both branches. The number of a region's
 * input node is its index in the lists above.
 *
 * A node of control flow has no elements: its type is float32 (0,). Each of its results that somebody uses has a
 * `result` node, which reads it. Regions nest at most SN_MAX_NESTING deep, so walks over them may recurse. */
#ifndef SN_GRAPH_REGIONS_H
#define SN_GRAPH_REGIONS_H

#include "graph/graph.h"

#define SN_MAX_NESTING 16
#define SN_MAX_REGIONS 2 /* of one node */

/* A node of control flow in decoded form: its regions and the lengths of its lists. */
typedef struct sn_control {
  sn_op op;
  const sn_graph *regions[SN_MAX_REGIONS]; /* in the order of the attributes */
  uint32_t n_regions;
  size_t n_carries, n_stacks, n_consts; /* of the inputs; a cond's operands count as consts */
  size_t n_arguments; /* of custom: how many consts, the first, have derivatives */
  size_t n_results;
  size_t n_kept;  /* of checkpoint: how many of the results are kept values, the last ones */
  int64_t length; /* of scan: rounds */
  bool reverse;   /* of scan: the last slice first; of custom: the rule is reverse mode */
} sn_control;

static inline bool sn_op_is_control(sn_op op) {
  return sn_op_describe(op)->kind == SN_CLASS_CONTROL;
}

/* Index of the first input that is passed to the regions: a cond's bool is not. */
static inline size_t sn_control_first(sn_op op) { return op == SN_OP_cond; }

/* Whether the op is a function, which is inlined before the passes and never a step of a program. */
static inline bool sn_op_is_function(sn_op op) {
  return op == SN_OP_checkpoint || op == SN_OP_custom;
}

/* The type of all nodes of control flow. */
sn_type sn_control_type(void);

/* Decodes a node. regions: the regions that its attributes refer to, in their order. */
sn_control sn_control_of(sn_op op, const int64_t *attrs, size_t n_inputs,
                         const sn_graph *const *regions);

/* Decodes node id of a graph. */
sn_control sn_graph_control(const sn_graph *graph, sn_id id);

/* The type of result k. */
sn_type sn_control_result(const sn_control *control, size_t k);

/* Fails unless the types of inputs, region arguments and results fit together. */
sn_status sn_control_verify(sn_env *env, const sn_control *control, const sn_type *const *inputs,
                            size_t n_inputs);

/* Sets marks: the nodes of a region that depend on marked arguments. floats: only dependence through floats counts, and
 * not a barrier's on the input it waits for. */
void sn_region_flow(const sn_graph *region, const uint8_t *arguments, bool floats, uint8_t *marks);

/* Sets *number to that of a region equal to *body; adds a copy of *body if the graph has none. */
sn_status sn_graph_add_region(sn_graph *graph, const sn_graph *body, int64_t *number);

/* Copies a graph with its regions into arena. The copy is read-only: it has no hash table to add nodes with. */
sn_status sn_graph_copy(const sn_graph *from, sn_arena *arena, sn_graph *to);

/* Gives the graph copies of all regions of `like`, under the same numbers. */
sn_status sn_graph_keep_regions(sn_graph *graph, const sn_graph *like);

/* Equality and hash of all that two graphs compute, regions included; origins do not count. */
bool sn_graph_equal(const sn_graph *a, const sn_graph *b);
uint32_t sn_graph_hash(const sn_graph *graph);

/* How deep regions nest: 0 for a graph that has none. */
int sn_graph_nesting(const sn_graph *graph);

#endif
