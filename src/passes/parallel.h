/* parallel.h - a step as one of several processes runs it.
 *
 * A graph says what one process would do with n blocks of a batch:
 *
 *   x (n, ...) -> shard -> scan over the blocks -> all_reduce -> update
 *                                               -> all_gather
 *
 * Process r of R gets m = n / R of them, blocks r m .. r m + m - 1. Between a shard and what puts the blocks together its
 * values are m long, all else is what it was, the same in every process.
 *
 * A sum over n blocks is a binary tree of neighbours, whose lowest levels are those of one process where m is a power of
 * two: so that is required, and the bits are those of one process. The last round of the scan stands behind it, in the
 * graph itself: exchanges begin as soon as their blocks are there, while it goes on with others. What they bring is read
 * when it has ended.
 *
 * What is not shared, as a loop with a carry, reads all of a shard: it means there what it means in one process.
 *
 * What the update alone reads may be split between the processes: split.h. */
#ifndef SN_PASSES_PARALLEL_H
#define SN_PASSES_PARALLEL_H

#include "graph/graph.h"

/* Who shares a step, and how. Inputs 0 .. n_state - 1 are its state, the last n_state results the next one. */
typedef struct sn_share {
  int64_t ranks, rank;
  bool split_state; /* what only the update reads */
  size_t n_state;
  /* Per value of the state: inputs and results are parts of it (sn_part_type). sn_parallel_form says which. */
  bool *split;
} sn_share;

/* *to in arena, with all that it needs from from's. SN_ERR_UNSUPPORTED for a graph without shards, blocks that cannot be
 * shared by so many, and what is no loop between a shard and the end of its blocks. */
sn_status sn_parallel_form(const sn_graph *from, const sn_share *share, sn_arena *arena,
                           sn_graph *to);

/* The part of one process, of a value of this type. */
sn_type sn_part_type(const sn_type *whole, int64_t ranks);

#endif
