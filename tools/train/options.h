/* options.h - the arguments of the program. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_ARRAYS = 16 };

typedef struct options {
  const char *step;
  const char *arrays[MOST_ARRAYS]; /* --data ..., --labels, in the order of the batch */
  size_t n_arrays;
  uint64_t batch;   /* 0: as the step has it */
  const char *last; /* the step for the smaller batch that a pass ends with, or NULL */
  bool drop_last;   /* rows that fill no batch are left out of a pass */
  uint64_t steps;
  uint32_t seed;
  const char *checkpoint; /* or NULL */
  uint64_t every;
  bool resume;
  const char *out, *losses; /* or NULL */
  int threads;              /* 0: one per core */
  const char *isa;          /* or NULL: the best */
  bool rounds;              /* gradients between processes, to bfloat16 */
  bool split_state;
} options;

/* Stops the program where they are not right, or ask for help. */
options options_read(int argc, char **argv);

#endif
