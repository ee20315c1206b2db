/* batches.h - the batches that sn.data.fromArrays(arrays).shuffle(random.key(seed)).batch(n, { dropLast: true }) gives, from
 * pass to pass. The order of a pass follows from the seed and the pass's number alone. */
#ifndef TRAIN_BATCHES_H
#define TRAIN_BATCHES_H

#include "checkpoint.h"
#include "npy.h"

typedef struct batches {
  const npy_array *arrays;
  size_t n_arrays;
  uint64_t rows, size; /* of the arrays, of a batch */
  uint64_t per_pass;
  uint32_t seed;
  int64_t *order; /* of the rows of a pass */
  uint64_t pass;  /* of the order; UINT64_MAX: of none yet */
} batches;

/* Arrays that fit the batch of a step; stops the program where they do not. */
batches batches_of(const npy_array *arrays, size_t n_arrays, const sn_step_info *info,
                   uint32_t seed);

/* The batch at a place as new tensors in out, and the place behind it. */
void batches_next(batches *b, sn_context *ctx, place *at, sn_tensor **out);

#endif
