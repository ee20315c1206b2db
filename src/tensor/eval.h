/* eval.h - asking for values. */
#ifndef SN_TENSOR_EVAL_H
#define SN_TENSOR_EVAL_H

#include "tensor/tensor.h"

/* Makes the tensors VALUEs: one program for all that are lazy. ticket NULL: run now, else by the
 * driver. */
sn_status sn_eval_tensors(sn_context *ctx, sn_tensor *const *tensors, size_t n, uint32_t *ticket);

/* The value is in memory and valid: evaluates, waits for its run, reports a lost one. */
sn_status sn_tensor_ready(sn_tensor *t);

#endif
