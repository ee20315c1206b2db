/* losses.h - the loss of each step, as a CSV: step,loss. When a training goes on from a checkpoint, rows of later steps go:
 * no step has two. */
#ifndef TRAIN_LOSSES_H
#define TRAIN_LOSSES_H

#include <stdint.h>
#include <stdio.h>

typedef struct losses {
  FILE *file; /* NULL: nobody wants them */
  const char *path;
} losses;

/* path: NULL, or a file that keeps its rows of steps up to the given one. */
losses losses_open(const char *path, uint64_t steps);

void losses_add(losses *l, uint64_t step, double loss);

/* Waits until all is on the disk. */
void losses_sync(losses *l);

#endif
