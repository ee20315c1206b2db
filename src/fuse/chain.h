/* chain.h - groups that follow each other through a block of rows, so that what they hand on never
 * lies in memory as a whole. Attention is one:
 *
 *   for each matrix of the batch, for each block of its rows (parallel)
 *     S = q k^T scale, mask        contraction     S and P: a block of rows of the lane's own
 *     P = softmax S                row
 *     O = P v                      contraction
 *
 * Its gradient is two, with scores made again (passes/rematerialize.c): S, dP = dO v^T, dS = P (dP
 * - sum P dP), dq = dS k by rows of q; P^T, dv = P^T dO, dS^T, dk = dS^T q by rows of k.
 *
 * All members have the same outer dims (batch..., rows) and read what an earlier one wrote at the
 * same outer index only. A member's sums run over its inner dims, so it has the same bits as when
 * it runs alone.
 *
 * A sum down the rows (a bias's gradient) does not join, as it runs over an outer dim: it reads the
 * result again. All that biases cost, forward and backward, is at most 1.5% of an MLP's training
 * step and 4% of a small CNN's, where the sums follow maps: a kernel of both was slower, 0.8-1.2 ms
 * against 0.64, with its columns of 16 and 32.
 *
 * For a block the members are groups of their own, over (rows of the block, inner dims); their
 * operands' values are links, one for each operand, bound anew for each block. */
#ifndef SN_FUSE_CHAIN_H
#define SN_FUSE_CHAIN_H

#include "fuse/fuse.h"

#define SN_CHAIN_MEMBERS 8

typedef enum sn_link_kind {
  SN_LINK_VALUE, /* rows of a buffer of the program */
  SN_LINK_LOCAL, /* of the lane's own memory */
  SN_LINK_INDEX  /* numbers counted along the rows, as int32, in the lane's own memory */
} sn_link_kind;

typedef struct sn_link {
  sn_link_kind kind;
  uint32_t value;
  size_t element; /* bytes */
  sn_nest batch;  /* where a matrix of the batch begins, in elements; of an index: its number */
  int64_t row;    /* from a row to the next */
  int64_t first;  /* index: the number at the very beginning */
  size_t at;      /* local, index: place in the lane's own memory */
} sn_link;

typedef struct sn_chain {
  sn_group *whole; /* the members as they would run one by one */
  uint32_t n_members;
  sn_group *blocks; /* the members for `block` rows, then, if there is a rest, for that */
  sn_link *links;
  uint32_t n_links;
  int64_t batch, rows;
  int64_t block, rest; /* rows of a block, and of the last one if it has fewer, or 0 */
  size_t local_bytes;
  int64_t columns; /* of scores: what the first product makes of a row, or 0 */
  int side;        /* which count: column <= row (1), row <= column (-1), all (0) */
} sn_chain;

#define SN_LIMIT_UNIT 32 /* columns */

typedef struct sn_range {
  int64_t from, to;
} sn_range;

/* The columns that count for the block of rows from `row` on, with some more so that vectors and
 * panels are whole. What lies beyond is neither computed nor read: where a mask hides a NaN or an
 * infinity there, it cannot be seen through 0 * NaN. */
sn_range sn_chain_columns(const sn_chain *c, int64_t row);

static inline int64_t sn_chain_blocks(const sn_chain *c) {
  return (c->rows + c->block - 1) / c->block;
}

/* Finds chains where they keep large intermediates out of memory, and puts each in the place of its
 * last member. Dims must not be merged yet. */
sn_status sn_chain_groups(sn_groups *groups, sn_arena *arena, sn_arena *scratch);

/* prologue.c: makes maps a part of products' kernels. n_reads, n_writes: operands and targets per
 * value. joins: per group, the product's that it is a part of now, or SN_NONE. */
sn_status sn_join_prologues(sn_groups *groups, sn_arena *arena, const uint32_t *n_reads,
                            const uint32_t *n_writes, sn_value_set *set, uint32_t *joins);

#define SN_NOT_LOCAL SIZE_MAX

/* chain_block.c: links and blocks of a chain whose other parts are set. local_at: per value, where
 * in the lane's own memory it is handed on, or SN_NOT_LOCAL. */
sn_status sn_chain_cut(sn_chain *chain, int outer, sn_arena *arena, const sn_value *values,
                       const size_t *local_at);

/* What a node may be known to be where a mask hides it: at all points above the diagonal of its
 * last two axes, column > row, or at all below. A set of facts, one bit each. */
typedef enum sn_hidden {
  SN_ZERO_ABOVE = 1, /* or false */
  SN_ZERO_BELOW = 2,
  SN_NEVER_ABOVE = 4, /* -infinity */
  SN_NEVER_BELOW = 8
} sn_hidden;

/* causal.c: the facts of each node, and which groups cannot do without it; the columns of a
 * chain that count, and which members that limits. */
void sn_chain_hide(sn_groups *groups, uint8_t *hidden);
void sn_chain_limit(sn_chain *chain, int outer, const uint8_t *hidden, const sn_value *values,
                    const size_t *local_at);

#endif
