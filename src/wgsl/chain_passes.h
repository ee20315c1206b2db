/* chain_passes.h - the passes of a chain over tiles of its columns. A workgroup has a block of rows and, at any time, their
 * scores in one tile only. What needs a row's total has to wait for the next pass, which computes the scores again.
 *
 *   softmax, then a product     pass 0   all, in a stream (below)
 *   the same, with p kept       pass 0   q k^T, max and sum          pass 1   q k^T, p, p v
 *   its gradient by q           pass 0   p, dp, sum of p dp          pass 1   p, dp, ds, ds k
 *   its gradients by k and v    pass 0   all
 *
 * Invariant: what is computed in a pass needs only totals of passes before it. */
#ifndef SN_WGSL_CHAIN_PASSES_H
#define SN_WGSL_CHAIN_PASSES_H

#include "fuse/chain.h"

typedef struct sn_phase_pass {
  int points; /* the first pass in which its points can be computed */
  int totals; /* the pass that makes its totals, which later passes can read */
  /* Its one total is the sum of e^(x - max x), and the phase before it makes the max. Both are made in one pass: the sum uses
   * the max so far, and is scaled down when that grows. */
  bool follows_max;
  bool wanted; /* its points are needed in the pass under way */
} sn_phase_pass;

typedef struct sn_member_pass {
  bool consumes_scores; /* a product with scores as its left factor (fuse/chain_fit.h) */
  bool per_row; /* a map over rows, with one point per row */
  int pass;     /* the first pass in which its post can be computed: for a product or a map all of its points */
  sn_phase_pass *phases; /* of a row group */
  /* Of a row group: the value that it streams, or SN_NONE. A softmax that only products of scores read is handed to them before
   * its totals are known, as e^(x - max so far). Their results are scaled down when the max grows, and divided by the sum at
   * the end. */
  uint32_t streams;
  uint32_t stream_max; /* the phase that makes its max; the next phase makes its sum */
  bool wanted;         /* it is needed in the pass under way */
} sn_member_pass;

typedef struct sn_chain_passes {
  const sn_chain *chain;
  int outer, n;
  sn_member_pass *members;
  /* per value */
  bool *is_inside; /* a member makes it, for other members to read */
  bool *is_local;  /* nothing outside of the chain reads it */
  bool *is_scores; /* if inside: it has an element per row and column, else one per row */
  int *known;      /* if inside: the first pass in which it can be read */
} sn_chain_passes;

/* The member that streams a value, or SN_NONE. */
uint32_t sn_chain_streamer(const sn_chain_passes *passes, uint32_t value);

sn_status sn_chain_passes_of(sn_arena *arena, const sn_groups *groups, const sn_group *chain,
                             sn_chain_passes *out);

/* Sets `wanted` of members and phases for a pass. */
sn_status sn_chain_passes_want(sn_arena *arena, const sn_groups *groups, sn_chain_passes *passes,
                               int pass);

#endif
