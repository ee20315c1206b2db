/* processes.h - loads a step for several processes, which are threads here, each with a context of its own. They meet at each
 * exchange and copy from each other. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include "support.h"

enum { MOST_RANKS = 4 };

/* What one process has exchanged. */
typedef struct exchanged {
  uint64_t started, finished; /* tickets */
  size_t given[3];            /* elements, by sn_exchange_kind */
} exchanged;

typedef struct process {
  int ranks, rank;
  exchanged exchanged;
  sn_context *ctx;
  sn_program *step;
  sn_tensor **inputs; /* of a run: the state as it goes on, rates, then what the test puts there */
  sn_tensor **results;
  void *user; /* of the test, each process its own */
} process;

typedef struct saved_step {
  const void *bytes;
  size_t size;
  bool split_state;
} saved_step;

/* Loads the step in so many processes, and calls body in each: false is a failure. users: one for each, or NULL. */
void in_processes(int ranks, saved_step step, bool (*body)(process *p), void *const *users);

/* One step: the inputs' state becomes what came out; the other results are the test's to look at until the next step. */
bool run_step(process *p);

/* Neighbours, then pairs of them: of 7 ((0 1) (2 3)) ((4 5) 6). */
float sum_in_pairs(const float *x, int n, int step);

#endif
