/* chain.h - groups that follow each other through a block of rows, so that the values they hand on
 * never lie in memory as a whole. Attention is one chain:
 *
 *   for each matrix of the batch, for each block of its rows (parallel)
 *     S = q k^T scale, mask        contraction     of S and P, each worker has one block of rows
 *     P = softmax S                row
 *     O = P v                      contraction
 *
 * Its gradient is two chains, with scores made again (passes/rematerialize.c). By rows of q: S, dP =
 * dO v^T, dS = P (dP - sum P dP), dq = dS k; by rows of k: P^T, dv = P^T dO, dS^T, dk = dS^T q.
 *
 * Invariant: all members have the same outer dims (batch..., rows), and read what an earlier member
 * wrote only at the same outer index. A member's sums run over its inner dims, so it has the same
 * bits as when it runs alone.
 *
 * A sum down the rows (a bias's gradient) cannot join, as it runs over an outer dim: it reads the
 * result again. All that biases cost, forward and backward, is at most 1.5% of an MLP's training
 * step and 4% of a small CNN's, where the sums follow maps. One kernel for map and sum was slower
 * there, 0.8-1.2 ms against 0.64, as rows have only 16 or 32 columns.
 *
 * The backend chooses how many rows go together; a chain is made where a good number exists. On a device whose tasks
 * cannot hold whole rows of scores, a chain goes through tiles of columns (chain_fit.h, wgsl/chain_passes.h). */
#ifndef SN_FUSE_CHAIN_H
#define SN_FUSE_CHAIN_H

#include "fuse/fuse.h"

#define SN_CHAIN_MEMBERS 8

/* A value that one member hands on to others, and that nobody outside reads. */
typedef struct sn_chain_local {
  uint32_t value;
  uint32_t slot; /* number of the first local in the list with the same memory: they take turns */
  int64_t row_bytes; /* of one row */
} sn_chain_local;

typedef struct sn_chain {
  sn_group *members; /* as they would run one by one; their dims are not merged */
  uint32_t n_members;
  sn_chain_local *locals;
  uint32_t n_locals;
  int64_t batch, rows;
  int64_t columns; /* of scores, the result of the first product; 0: there is no product */
  int side;        /* which columns count: column <= row (1), row <= column (-1), all (0) */
} sn_chain;

/* How many rows go through a chain together; 0 if the target's local memory cannot hold one. */
int64_t sn_chain_block(const sn_target *target, const sn_chain *chain);

/* Finds chains where they keep large intermediates out of memory, and puts each in the place of its
 * members. Joins prologues. Dims must not be merged yet. */
sn_status sn_chain_groups(sn_groups *groups, sn_arena *arena, sn_arena *scratch);

/* prologue.c: moves maps into the groups of the products that read them. n_reads, n_writes: per value,
 * how many operands read and write it. joins[i]: the group that group i is a part of now, or SN_NONE. */
sn_status sn_join_prologues(sn_groups *groups, sn_arena *arena, const uint32_t *n_reads,
                            const uint32_t *n_writes, sn_value_set *set, uint32_t *joins);

/* Facts about the elements of a node that a mask hides: all above the diagonal of its last two axes
 * (column > row), or all below it. A set, one bit each. */
typedef enum sn_mask_facts {
  SN_ZERO_ABOVE = 1, /* or false */
  SN_ZERO_BELOW = 2,
  SN_NEVER_ABOVE = 4, /* -infinity */
  SN_NEVER_BELOW = 8
} sn_mask_facts;

/* causal.c. sn_chain_find_masks finds the facts of each node, and sets needs_masked of groups. sn_chain_limit
 * sets a chain's columns and side, and `limited` of its members; is_local: per value, whether members
 * hand it on among themselves. sn_chain_unmasked_share: the share of all columns of scores that count. */
void sn_chain_find_masks(sn_groups *groups, uint8_t *mask_facts);
void sn_chain_limit(sn_chain *chain, int outer, const uint8_t *mask_facts, const sn_value *values,
                    const bool *is_local);
double sn_chain_unmasked_share(const sn_chain *chain);

#endif
