/* api.h - what the JS bridge may see of a context beyond the public API. */
#ifndef SN_API_H
#define SN_API_H

#include "sinter.h"
#include "threads/pool.h"

sn_pool *sn_context_pool(const sn_context *ctx);

#endif
