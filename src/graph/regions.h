/* regions.h - control flow and functions: ops that run graphs of their own, the regions of the graph they stand in.
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
 * A rule's derivatives are those of floats alone, in their order and dtypes: cotangents of the results to cotangents of
 * the arguments if it is `reverse`, else tangents of the arguments to tangents of the results. A checkpoint's kept values
 * are what its derivative need not make again. Both ops are gone, their bodies in their place, before any pass
 * of a compilation (passes/inline_functions.c); only sn_readable_graph keeps them.
 *
 * A stack has the slices of `length` rounds along its first axis; a scan in reverse takes and writes the last one
 * first. A carry has one type throughout, and so has a result of both branches. In regions, an input node's number is
 * its place in these lists.
 *
 * A node of control flow has no elements: its type is float32 (0,). For each of its results that somebody uses there is
 * a node `result` that reads it. Regions nest at most SN_MAX_NESTING deep, so walks over them may recurse. */
#ifndef SN_GRAPH_REGIONS_H
#define SN_GRAPH_REGIONS_H

#include "graph/graph.h"

#define SN_MAX_NESTING 16
#define SN_MAX_REGIONS 2 /* of one node */

/* What a node of control flow says, its lists by their lengths. */
typedef struct sn_control {
  sn_op op;
  const sn_graph *regions[SN_MAX_REGIONS]; /* in the order of the attributes */
  uint32_t n_regions;
  size_t n_carries, n_stacks, n_consts; /* of the inputs; of cond all but the bool are consts */
  size_t n_arguments;                   /* of custom: consts that have derivatives */
  size_t n_results;
  size_t n_kept;  /* of the results of a checkpoint: the last ones */
  int64_t length; /* of scan */
  bool reverse;   /* a scan, or the rule of a custom function */
} sn_control;

static inline bool sn_op_is_control(sn_op op) {
  return sn_op_describe(op)->kind == SN_CLASS_CONTROL;
}

/* The first input that regions have as an argument. */
static inline size_t sn_control_first(sn_op op) { return op == SN_OP_cond; }

/* A function in the graph's place: no step of a program. */
static inline bool sn_op_is_function(sn_op op) {
  return op == SN_OP_checkpoint || op == SN_OP_custom;
}

/* The type of all nodes of control flow. */
sn_type sn_control_type(void);

/* regions: those that the attributes name, in their order. */
sn_control sn_control_of(sn_op op, const int64_t *attrs, size_t n_inputs,
                         const sn_graph *const *regions);

/* The same for node id of a graph. */
sn_control sn_graph_control(const sn_graph *graph, sn_id id);

/* The type of result k. */
sn_type sn_control_result(const sn_control *control, size_t k);

/* Whether inputs and regions fit together. */
sn_status sn_control_verify(sn_env *env, const sn_control *control, const sn_type *const *inputs,
                            size_t n_inputs);

/* Marks the nodes of a region that depend on arguments that are marked; floats: by way of floats alone, and not of what a
 * barrier waits for. */
void sn_region_flow(const sn_graph *region, const uint8_t *arguments, bool floats, uint8_t *marks);

/* The number of a region equal to *body: one that is there, or a copy. */
sn_status sn_graph_add_region(sn_graph *graph, const sn_graph *body, int64_t *number);

/* A copy with its regions in arena: to be read, as it cannot find its nodes again. */
sn_status sn_graph_copy(const sn_graph *from, sn_arena *arena, sn_graph *to);

/* Gives the graph copies of another one's regions, under their numbers. */
sn_status sn_graph_keep_regions(sn_graph *graph, const sn_graph *like);

/* Of everything a graph computes, regions included. */
bool sn_graph_equal(const sn_graph *a, const sn_graph *b);
uint32_t sn_graph_hash(const sn_graph *graph);

/* How deep regions nest: 0 for a graph that has none. */
int sn_graph_nesting(const sn_graph *graph);

#endif
