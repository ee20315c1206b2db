/* trace_region.h - makes a region from what a function made of placeholders. */
#ifndef SN_TENSOR_TRACE_REGION_H
#define SN_TENSOR_TRACE_REGION_H

#include "tensor/region.h"
#include "tensor/tensor.h"

/* Tensors from outside that regions read. They become the last arguments of all regions. */
typedef struct sn_captures {
  sn_tensor **tensors; /* borrowed */
  size_t n, capacity;
} sn_captures;

/* *out is a graph in arena of how the traced outputs depend on the placeholders traced->inputs; input i is argument i. A
 * tensor that depends on none of them is captured: it is computed once, outside, and becomes an argument behind those that
 * `captures` has already. But numbers and broadcasts are made anew inside, and with has_own so is all that was made later
 * than the placeholders. The caller sets out->n_arguments when the last of several regions has been traced, since only then
 * all captures are known. */
sn_status sn_trace_region(sn_context *ctx, sn_arena *arena, const sn_traced *traced, bool has_own,
                          sn_captures *captures, sn_graph *out);

#endif
