/* trace_region.h - from what a function made of placeholders to a region. */
#ifndef SN_TENSOR_TRACE_REGION_H
#define SN_TENSOR_TRACE_REGION_H

#include "tensor/region.h"
#include "tensor/tensor.h"

/* Tensors from outside that regions read: their last arguments. */
typedef struct sn_captures {
  sn_tensor **tensors; /* borrowed */
  size_t n, capacity;
} sn_captures;

/* What `outputs` are made of, from placeholders `inputs` on, as a graph in arena: input i is argument i. What depends on
 * none of them is captured: it is computed outside, once, and becomes an argument behind those that captures has
 * already; a number, or what is spread from something, is made anew inside, and with has_own all that was made later than
 * the placeholders. Arguments of *out that are not captured yet
 * when the last of several regions has been traced are to be counted then. */
sn_status sn_trace_region(sn_context *ctx, sn_arena *arena, const sn_traced *traced, bool has_own,
                          sn_captures *captures, sn_graph *out);

#endif
