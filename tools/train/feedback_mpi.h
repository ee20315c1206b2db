/* feedback_mpi.h - floats that travel as bfloat16, with error feedback: what rounding takes from a number in one step is added
 * to it in the next, so that over the steps nothing is lost. */
#ifndef TRAIN_FEEDBACK_MPI_H
#define TRAIN_FEEDBACK_MPI_H

#include <stddef.h>
#include <stdint.h>

/* What is left, of each place where numbers are rounded in a step. */
typedef struct feedback {
  struct left {
    float *values;
    size_t count;
  } * places;
  size_t n_places;
} feedback;

/* out[i] = x[i] and what was left of it at this place, rounded to the nearest, ties to even. A place that had another
 * count in the step before begins anew; of what is not finite, or is not once it is rounded, nothing is left. */
void feedback_round(feedback *f, size_t place, const float *x, size_t count, uint16_t *out);

void feedback_free(feedback *f);

/* out[i] = x[i] */
void feedback_widen(const uint16_t *x, size_t count, float *out);

#endif
