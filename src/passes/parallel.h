/* parallel.h - rewrites the graph of a training step into the one that each of several processes runs.
 *
 * The graph says what one process would do with the n blocks of a batch:
 *
 *   x (n, ...) -> shard -> scan over the blocks -> all_reduce -> update
 *                                               -> all_gather
 *
 * Process r of R gets m = n / R of them, blocks r m .. r m + m - 1. Between a shard and the all_reduce or all_gather
 * that ends its blocks, values have m blocks. Everything else stays as it is, the same in every process.
 *
 * A sum over n blocks is a binary tree of neighbours, whose lowest levels lie within one process if m is a power of two.
 * So m has to be a power of two, and then the bits are those of one process. The last round of the scan is unrolled
 * behind the loop: an exchange begins as soon as its blocks are there, while the rest of that round goes on. What it
 * brings is read only when the round has ended.
 *
 * A node that is not shared, such as a loop with a carry, reads all blocks of a shard, as it would in one process.
 *
 * State that only the update reads may be split between the processes: split.h. */
#ifndef SN_PASSES_PARALLEL_H
#define SN_PASSES_PARALLEL_H

#include "graph/graph.h"

/* How a step is shared. Its inputs 0 .. n_state - 1 are the state, its last n_state results the next state. */
typedef struct sn_share {
  int64_t ranks, rank; /* number of processes, and which of them this is */
  bool split_state;    /* split the state that only the update reads */
  size_t n_state;
  /* Per value of the state: its input and result are this process's part (sn_part_type). sn_parallel_form sets it. */
  bool *split;
} sn_share;

/* Makes *to in arena, with copies of the regions; temporary memory is from->arena's. SN_ERR_UNSUPPORTED if the graph has
 * no shared loop, its blocks cannot be divided among so many processes, or something other than a loop without a carry
 * or an elementwise op lies between a shard and the end of its blocks. */
sn_status sn_parallel_form(const sn_graph *from, const sn_share *share, sn_arena *arena,
                           sn_graph *to);

/* The type of one process's part of a value: 1 / ranks of its elements, as a vector. */
sn_type sn_part_type(const sn_type *whole, int64_t ranks);

#endif
