/* fold.h - the order of a sum, in one place, for the strip VM and for emitted code (C source sums in
 * float64 instead). If the reduced points x0, x1 ... of an output are adjacent, they go through
 *
 *   strip   lane j of `lanes` accumulators starts at the identity and takes points j, j + lanes,
 *           j + 2 lanes ...
 *   block   the lanes of its strips are combined, lane by lane, in a binary counter; then lane j
 *           with lane j + half until one is left: the block's item
 *   whole   the items of the blocks in a binary counter
 *
 * If neighbouring outputs are adjacent (columns), each output combines
 *
 *   chunk   its points one after the other
 *   whole   its chunks in a binary counter
 *
 * A binary counter combines items 2i and 2i + 1, then pairs with pairs ..., and at the end the groups
 * that are left, from the shortest to the longest:
 *
 *   s0 s1 s2 s3 s4    (((s0 s1)(s2 s3)) s4)
 *
 * So the order follows from the number of points alone, and the error grows with its logarithm. If
 * several units work on one output, each reduces a share. A share has a power of two of items, so
 * shares that are reduced apart and combined in the same way give the same tree:
 *
 *   items  s0 s1 s2 s3 | s4 s5 s6 s7 | s8         share of 4
 *             ((s0 s1)(s2 s3)) ((s4 s5)(s6 s7)) s8 */
#ifndef SN_KERNELS_FOLD_H
#define SN_KERNELS_FOLD_H

#include "kernels/strip.h"

/* The sizes that make up the order, in points except for the lanes. */
typedef struct sn_fold_order {
  int32_t lanes, strip, block, share; /* if points are adjacent */
  int32_t chunk, column_share;        /* for columns */
} sn_fold_order;

#define SN_FOLD_BLOCK 8192

static inline sn_fold_order sn_fold_order_of(sn_dtype dtype) {
  return (sn_fold_order){.lanes = SN_FOLD_BYTES / (int32_t)sn_strip_bytes(dtype),
                         .strip = SN_STRIP,
                         .block = SN_FOLD_BLOCK,
                         .share = 2 * SN_FOLD_BLOCK,
                         .chunk = 16,
                         .column_share = 16 * 16};
}

typedef struct sn_fold_plan {
  sn_fold_order order;
  sn_fold_fn *fold;
  sn_collapse_fn *collapse;
  sn_strip_fn *combine;
  double identity;
  sn_dtype dtype;
  size_t item_bytes;
} sn_fold_plan;

sn_fold_plan sn_fold_plan_for(const sn_strips *strips, sn_op op, sn_dtype dtype);

/* A binary counter. If bit i of count is set, level i, at levels + i * level_bytes, holds `width`
 * items, each the combination of 2^i pushed ones. */
typedef struct sn_counter {
  const sn_fold_plan *plan;
  char *levels;
  size_t level_bytes;
  int64_t width;
  uint64_t count;
} sn_counter;

void sn_counter_push(sn_counter *c, const void *items);

/* Combines everything pushed, and the identity (so a sum of only -0 is +0), into out. */
void sn_counter_finish(sn_counter *c, void *out);

/* Scratch of a block: the lanes of the strip under way, then the levels of the block's counter. */
#define SN_FOLD_LEVELS 6 /* 32 strips */
#define SN_FOLD_SCRATCH_BYTES (SN_FOLD_BYTES * (1 + SN_FOLD_LEVELS))

/* A block that is folded strip by strip; every strip but the last is whole. */
typedef struct sn_block_fold {
  sn_counter counter;
  void *lanes;
} sn_block_fold;

void sn_block_begin(sn_block_fold *f, const sn_fold_plan *plan, void *scratch);
void sn_block_strip(sn_block_fold *f, const void *strip, int64_t n);
void sn_block_end(sn_block_fold *f, void *item);

#endif
