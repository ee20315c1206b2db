/* prelude.h - cuts out of a traced function what depends on captured tensors alone.
 *
 *   inputs   captured                 captured          inputs   captured   results
 *       \     /   |                      |                  \     /           |
 *        \   /  matmul       ->       matmul      and        \   /            |
 *         add   exp                    exp                    add             |
 *           \   /                       |                       \            /
 *            mul                     results                         mul
 *
 * The prelude runs at the first call, the remainder at every call. Captured tensors keep their values
 * as long as the program holds them: a run to which such a tensor's memory is donated copies it first
 * (own_donated in program.c). */
#ifndef SN_TENSOR_PRELUDE_H
#define SN_TENSOR_PRELUDE_H

#include "graph/graph.h"
#include "target/target.h"

typedef struct sn_prelude {
  size_t n;           /* number of results; 0: nothing is worth cutting, and there are no graphs */
  sn_graph prelude;   /* its arguments are the captured tensors, its outputs the results */
  sn_graph remainder; /* its arguments are those of the traced graph, then the results */
} sn_prelude;

/* Arguments from number n_inputs on are captured. */
sn_status sn_prelude_cut(const sn_target *target, const sn_graph *traced, size_t n_inputs,
                         sn_arena *arena, sn_prelude *out);

/* gather_sums.c: *out is the graph with scatters by fixed indices replaced by sums of gathered rows. */
sn_status sn_gather_sums(const sn_target *target, const sn_graph *traced, size_t n_inputs,
                         sn_arena *arena, sn_graph *out);

#endif
