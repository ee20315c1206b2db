/* prelude.h - what of a traced function depends on captured tensors alone, cut out of it.
 *
 *   inputs   captured                 captured          inputs   captured   results
 *       \     /   |                      |                  \     /           |
 *        \   /  matmul       ->       matmul      and        \   /            |
 *         add   exp                    exp                    add             |
 *           \   /                       |                       \            /
 *            mul                     results                         mul
 *
 * The prelude runs at the first call, and the rest at every one. Captured tensors keep their values
 * as long as the program holds them: a run that is to take a held tensor's memory copies it first
 * (own_donated in program.c). */
#ifndef SN_TENSOR_PRELUDE_H
#define SN_TENSOR_PRELUDE_H

#include "graph/graph.h"
#include "target/target.h"

typedef struct sn_prelude {
  size_t n;           /* results; 0: nothing is worth it, and there are no graphs */
  sn_graph prelude;   /* its arguments are the captured tensors, its outputs the results */
  sn_graph remainder; /* the arguments of the traced graph, then the results */
} sn_prelude;

/* Arguments from number n_inputs on are captured. */
sn_status sn_prelude_cut(const sn_target *target, const sn_graph *traced, size_t n_inputs,
                         sn_arena *arena, sn_prelude *out);

/* gather_sums.c: scatters by fixed indices as sums of rows that are gathered, in *out. */
sn_status sn_gather_sums(const sn_target *target, const sn_graph *traced, size_t n_inputs,
                         sn_arena *arena, sn_graph *out);

#endif
