/* batches.h - the batches that sn.data.fromArrays(arrays).shuffle(random.key(seed)).batch(n, { dropLast }) gives, from pass
 * to pass. The order of a pass follows from the seed and the pass's number alone. */
#ifndef TRAIN_BATCHES_H
#define TRAIN_BATCHES_H

#include "checkpoint.h"
#include "npy.h"
#include "options.h"
#include "steps.h"

typedef struct batches {
  const npy_array *arrays;
  size_t n_arrays;
  uint64_t rows, size; /* of the arrays, of a batch */
  uint64_t over;       /* rows behind the whole batches of a pass */
  bool has_last;       /* they are a batch, the last one */
  uint64_t per_pass;   /* batches */
  uint32_t seed;
  int64_t *order; /* of the rows of a pass */
  uint64_t pass;  /* of the order; UINT64_MAX: of none yet */
} batches;

/* Arrays that fit the batches of the steps; stops the program where they do not. */
batches batches_of(const npy_array *arrays, const options *o, const steps *s);

/* The batch at a place as new tensors in out, and the place behind it. True: it is a smaller one, the last of its pass. */
bool batches_next(batches *b, sn_context *ctx, place *at, sn_tensor **out);

#endif
