/* eval.h - evaluates lazy tensors. */
#ifndef SN_TENSOR_EVAL_H
#define SN_TENSOR_EVAL_H

#include "tensor/tensor.h"

/* Makes the tensors VALUEs, by one program for all that are lazy. ticket NULL: runs it now; else queues
 * it for the driver, and *ticket is the run to wait for. */
sn_status sn_eval_tensors(sn_context *ctx, sn_tensor *const *tensors, size_t n, uint32_t *ticket);

/* Evaluates t and waits for its run. Fails if that was lost. */
sn_status sn_tensor_ready(sn_tensor *t);

#endif
