/* split.h - which values of a step several processes have in parts, each its own.
 *
 *   p, m, v     state
 *   g           all_reduce, or all_gather: what blocks that the processes share have made
 *
 *   all in all processes               in parts
 *   g = all_reduce(...)                g' = the own part of the sum
 *   m = b m + (1 - b) g                m' = b m' + (1 - b) g'
 *   p = p - r m                        p = all_gather(part of p - r m')
 *
 * A part is that of a value's elements in a row: from rank * n / ranks on, as (n / ranks). Elementwise ops keep it, as do
 * reshapes. Of the state those values are split that nothing else reads: not p, which the blocks need. What is read whole
 * nevertheless is gathered where it was made.
 *
 * A parameter of blocks is read by a shard, which wants the own ones alone, and its gradient is gathered of those that
 * each process has: in parts neither of them travels. */
#ifndef SN_PASSES_SPLIT_H
#define SN_PASSES_SPLIT_H

#include "passes/parallel.h"

typedef struct sn_state_split {
  uint8_t *blocks; /* per node: a value of blocks, between a shard and what puts them together */
  uint8_t *own;    /* per node: made in parts */
  uint8_t *whole;  /* per node: somebody reads all of it */
} sn_state_split;

sn_status sn_state_split_find(const sn_graph *g, const sn_share *share, sn_arena *arena,
                              sn_state_split *out);

#endif
