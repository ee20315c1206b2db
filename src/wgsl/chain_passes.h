/* chain_passes.h - a chain's passes over tiles of its columns. A workgroup has a block of rows and none of its scores but those
 * of a tile: what a total of rows is needed for waits for the next pass, which makes the scores again.
 *
 *   softmax, then a product     pass 0   all, in a stream (below)
 *   the same, with p kept       pass 0   q k^T, max and sum          pass 1   q k^T, p, p v
 *   its gradient by q           pass 0   p, dp, sum of p dp          pass 1   p, dp, ds, ds k
 *   its gradients by k and v    pass 0   all
 *
 * Invariant: in pass n what is wanted needs totals of passes before it alone. */
#ifndef SN_WGSL_CHAIN_PASSES_H
#define SN_WGSL_CHAIN_PASSES_H

#include "fuse/chain.h"

typedef struct sn_phase_pass {
  int points; /* the pass in which its points can be known */
  int totals; /* the pass that makes its totals; they are known from the next one on */
  /* Its one total is the sum of e^(x - max x), and the phase before makes the max: both in one pass, the sum of what is known
   * of the max so far, made less where that grows. */
  bool follows_max;
  bool wanted; /* its points, in the pass under way */
} sn_phase_pass;

typedef struct sn_member_pass {
  bool uses_up; /* a product of scores (fuse/chain_fit.h) */
  bool per_row; /* a map over rows alone */
  int pass;     /* in which its post can be known: of a product or a map all of its points */
  sn_phase_pass *phases; /* rows */
  /* Rows: a softmax that nothing but products of scores reads is handed to them before its totals are known, as e^(x - max so
   * far): their results are made less where the max grows, and divided by the sum at the end. The value; SN_NONE: none. */
  uint32_t streams;
  uint32_t stream_max; /* the phase that makes its max; the next one makes its sum */
  bool wanted;         /* in the pass under way */
} sn_member_pass;

typedef struct sn_chain_passes {
  const sn_chain *chain;
  int outer, n;
  sn_member_pass *members;
  /* per value */
  bool *is_inside; /* members may read it, which one of them makes */
  bool *is_local;  /* and nobody else does */
  bool *is_scores; /* of those inside: it has an element for each column, else one a row */
  int *known;      /* from which pass on */
} sn_chain_passes;

/* The member that streams a value; SN_NONE: none does. */
uint32_t sn_chain_streamer(const sn_chain_passes *passes, uint32_t value);

sn_status sn_chain_passes_of(sn_arena *arena, const sn_groups *groups, const sn_group *chain,
                             sn_chain_passes *out);

/* Sets what is wanted in a pass. */
sn_status sn_chain_passes_want(sn_arena *arena, const sn_groups *groups, sn_chain_passes *passes,
                               int pass);

#endif
