/* split.h - which values of a shared step (parallel.h) are split: each process has only its own part of them.
 *
 *   p, m, v     state
 *   g           all_reduce or all_gather: the result of the blocks that the processes share
 *
 *   whole in every process             in parts
 *   g = all_reduce(...)                g' = the own part of the sum
 *   m = b m + (1 - b) g                m' = b m' + (1 - b) g'
 *   p = p - r m                        p = all_gather(part of p - r m')
 *
 * Of a value with n elements in row-major order, a process's part is a vector of n / ranks elements from rank * n / ranks
 * on. Elementwise ops and reshapes keep parts. A value of the state is split if only the update reads it: not p, which
 * the blocks need. A value that is computed in parts but also read whole is gathered right after it is made.
 *
 * A parameter that belongs to blocks is read through a shard, which takes the own blocks only, and its gradient is an
 * all_gather of the own blocks. So if both are in parts, neither is sent. */
#ifndef SN_PASSES_SPLIT_H
#define SN_PASSES_SPLIT_H

#include "passes/parallel.h"

typedef struct sn_state_split {
  uint8_t *blocks; /* per node: it has blocks, between a shard and the exchange that ends them */
  uint8_t *own;    /* per node: each process makes its own part */
  uint8_t *whole;  /* per node: somebody reads the whole value */
} sn_state_split;

sn_status sn_state_split_find(const sn_graph *g, const sn_share *share, sn_arena *arena,
                              sn_state_split *out);

#endif
