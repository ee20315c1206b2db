/* state.h - the state of a training in several processes. Of most of it each has all; of what is split (parts of
 * sn_step_input) each has its part, and files have it whole: process 0 collects and gives away. */
#ifndef TRAIN_STATE_H
#define TRAIN_STATE_H

#include <sinter.h>

/* Process 0 gives its n_state whole tensors, in new arrays or parts of them to all: *own. whole: of process 0. All take part. */
void state_give(sn_context *ctx, const sn_step_info *info, int rank, sn_tensor *const *whole,
                sn_tensor **own);

/* The whole state in process 0, to be released; NULL in the others. All take part. */
sn_tensor **state_collect(sn_context *ctx, const sn_step_info *info, int rank,
                          sn_tensor *const *own);
void state_release(const sn_step_info *info, sn_tensor **state);

/* Of what all have alike. */
uint32_t state_checksum(const sn_step_info *info, sn_tensor *const *own);

#endif
