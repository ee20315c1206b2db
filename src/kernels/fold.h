/* fold.h - the order of a sum, in one place. A reduction of points x0, x1 ... goes through
 *
 *   strip   256 points: lane j of SN_FOLD_BYTES of accumulators starts at the identity and takes
 *           points j, j + 32, j + 64 ... (16 lanes for float64)
 *   block   SN_FOLD_BLOCK points: the lanes of its strips are combined, lane by lane, in a binary
 *           counter; then lane j with lane j + half until one is left: the block's item
 *   whole   the items of the blocks in a binary counter
 *
 * A binary counter combines 2i with 2i + 1, then pairs with pairs ..., and at the end what is left
 * from the shortest to the longest:
 *
 *   s0 s1 s2 s3 s4    (((s0 s1)(s2 s3)) s4)
 *
 * So the order follows from the number of points alone, and the error grows with its logarithm. */
#ifndef SN_KERNELS_FOLD_H
#define SN_KERNELS_FOLD_H

#include "kernels/strip.h"

typedef struct sn_fold_plan {
  sn_fold_fn *fold;
  sn_collapse_fn *collapse;
  sn_strip_fn *combine;
  double identity;
  sn_dtype dtype;
  size_t item_bytes;
} sn_fold_plan;

sn_fold_plan sn_fold_plan_for(const sn_strips *strips, sn_op op, sn_dtype dtype);

/* Level i lies at levels + i * level_bytes and holds `width` items, the combination of 2^i pushed
 * ones, when bit i of count is set. */
typedef struct sn_counter {
  const sn_fold_plan *plan;
  char *levels;
  size_t level_bytes;
  int64_t width;
  uint64_t count;
} sn_counter;

void sn_counter_push(sn_counter *c, const void *items);

/* Everything pushed, combined with the identity (a sum of nothing but -0 is +0), into out. */
void sn_counter_finish(sn_counter *c, void *out);

/* Lanes of the strip under way, then the levels of a block's counter. */
#define SN_FOLD_LEVELS 6 /* 32 strips */
#define SN_FOLD_SCRATCH_BYTES (SN_FOLD_BYTES * (1 + SN_FOLD_LEVELS))

/* One block, strip by strip; every strip but the last has SN_STRIP points. */
typedef struct sn_block_fold {
  sn_counter counter;
  void *lanes;
} sn_block_fold;

void sn_block_begin(sn_block_fold *f, const sn_fold_plan *plan, void *scratch);
void sn_block_strip(sn_block_fold *f, const void *strip, int64_t n);
void sn_block_end(sn_block_fold *f, void *item);

#endif
