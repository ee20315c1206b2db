/* api.h - what the JS bridge may see of a context beyond the public API. */
#ifndef SN_API_H
#define SN_API_H

#include "sinter.h"
#include "backend/backend.h"

sn_pool *sn_context_pool(const sn_context *ctx);

/* A context on another device than this machine: what its tensors hold lies there. Tensors of one context do not meet those
 * of another; sn_copy_to brings values over. */
sn_status sn_context_create_on(const sn_options *options, const sn_backend *backend, const sn_target *target,
                               sn_context **out);

/* The value of t, evaluated, in memory of its own as a tensor of ctx: its own context, or another one if the host can
 * look at the value. */
sn_tensor *sn_copy_to(sn_context *ctx, sn_tensor *t);

/* Where the value of t lies on its device, evaluated; NULL and the error of its context. */
void *sn_value_handle(sn_tensor *t);

#endif
