/* chain.h - groups that follow each other through a block of rows, so that what they hand on never
 * lies in memory as a whole. Attention is one:
 *
 *   for each matrix of the batch, for each block of its rows (parallel)
 *     S = q k^T scale, mask        contraction     S and P: a block of rows of the worker's own
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
 * The backend chooses how many rows go together; a chain is made where a good number exists. A device whose tasks hold no
 * whole rows of scores has them in tiles of columns (chain_fit.h, wgsl/chain_passes.h). */
#ifndef SN_FUSE_CHAIN_H
#define SN_FUSE_CHAIN_H

#include "fuse/fuse.h"

#define SN_CHAIN_MEMBERS 8

/* What one member hands on to others, and nobody outside reads. */
typedef struct sn_chain_local {
  uint32_t value;
  uint32_t slot;     /* the first of the list that has this memory: they have it in turn */
  int64_t row_bytes; /* of it that a row takes */
} sn_chain_local;

typedef struct sn_chain {
  sn_group *whole; /* the members as they would run one by one; their dims are not merged */
  uint32_t n_members;
  sn_chain_local *locals;
  uint32_t n_locals;
  int64_t batch, rows;
  int64_t columns; /* of scores: what the first product makes of a row, or 0 */
  int side;        /* which count: column <= row (1), row <= column (-1), all (0) */
} sn_chain;

/* Rows that go through a chain together; 0: the target's memory does not hold any. */
int64_t sn_chain_block(const sn_target *target, const sn_chain *chain);

/* Finds chains where they keep large intermediates out of memory, and puts each in the place of its
 * last member. Dims must not be merged yet. */
sn_status sn_chain_groups(sn_groups *groups, sn_arena *arena, sn_arena *scratch);

/* prologue.c: makes maps a part of products' kernels. n_reads, n_writes: operands and targets per
 * value. joins: per group, the product's that it is a part of now, or SN_NONE. */
sn_status sn_join_prologues(sn_groups *groups, sn_arena *arena, const uint32_t *n_reads,
                            const uint32_t *n_writes, sn_value_set *set, uint32_t *joins);

/* What a node may be known to be where a mask hides it: at all points above the diagonal of its
 * last two axes, column > row, or at all below. A set of facts, one bit each. */
typedef enum sn_hidden {
  SN_ZERO_ABOVE = 1, /* or false */
  SN_ZERO_BELOW = 2,
  SN_NEVER_ABOVE = 4, /* -infinity */
  SN_NEVER_BELOW = 8
} sn_hidden;

/* causal.c: the facts of each node, and which groups cannot do without it; the columns of a
 * chain that count, and which members that limits; how many they are, of all. is_local: per value,
 * whether members hand it on among themselves. */
void sn_chain_hide(sn_groups *groups, uint8_t *hidden);
void sn_chain_limit(sn_chain *chain, int outer, const uint8_t *hidden, const sn_value *values,
                    const bool *is_local);
double sn_chain_share(const sn_chain *chain);

#endif
