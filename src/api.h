/* api.h - functions for the JS bridge beyond the public API. */
#ifndef SN_API_H
#define SN_API_H

#include "sinter.h"
#include "backend/backend.h"

sn_pool *sn_context_pool(const sn_context *ctx);

/* Makes a context on another device than this machine: the values of its tensors lie there. An op takes tensors of one
 * context only; sn_copy_to copies values between contexts. */
sn_status sn_context_create_on(const sn_options *options, const sn_backend *backend, const sn_target *target,
                               sn_context **out);

/* Evaluates t and copies its value to a new tensor of ctx. Between two contexts this works only if the host can read the
 * value of t. NULL on failure, with the error in the context that failed. */
sn_tensor *sn_copy_to(sn_context *ctx, sn_tensor *t);

/* Evaluates t and returns where its value lies on its device. NULL on failure, with the error in its context. */
void *sn_value_handle(sn_tensor *t);

#endif
