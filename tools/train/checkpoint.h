/* checkpoint.h - a training as a file: its state, and its place in the data. The file is one of sn.io.saveState, in the
 * form of FitCheckpoint: a page goes on from it.
 *
 * There are two of them, written in turns, each in one piece (file_replace): whenever the program or the machine ends, one
 * is whole. Reading trusts nothing: all but the numbers of the header is what this program would have written itself. */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include <sinter.h>

#include "files.h"

/* How far a training has come, as FitPlace. */
typedef struct place {
  uint64_t pass, index; /* batches of the pass that were taken */
  uint64_t steps;
  double loss_sum; /* of the steps of this pass */
} place;

typedef struct checkpoints {
  const char *folder;
  const char *run; /* what may not differ between a training and its going on: files, batch, seed */
  const sn_step_info *info;
  uint64_t generation; /* of the newest one */
  int slot;            /* which of the two that is */
} checkpoints;

/* The folder, made if it is not there, for this process alone. */
checkpoints checkpoints_open(const char *folder, const char *run, const sn_step_info *info);

/* Reads the newest whole one: the values of state, in the order of info, are new tensors then. False: there is none. */
bool checkpoints_read(checkpoints *c, sn_context *ctx, sn_tensor **state, place *at);

/* Whether there are any, whole or not. */
bool checkpoints_exist(const checkpoints *c);

void checkpoints_write(checkpoints *c, sn_tensor *const *state, const place *at);

#endif
