/* trace.h - copies a part of the lazy graph into a dense graph. */
#ifndef SN_TENSOR_TRACE_H
#define SN_TENSOR_TRACE_H

#include "tensor/tensor.h"

typedef enum sn_trace_mode {
  SN_TRACE_EVAL,   /* values are arguments, and so are numbers, except a few that are worth folding */
  SN_TRACE_PROGRAM /* values are arguments, and numbers are constants */
} sn_trace_mode;

typedef struct sn_trace {
  sn_graph graph;
  sn_tensor **arguments; /* the tensor of each argument of the graph (borrowed) */
  size_t n_arguments, cap_arguments;
} sn_trace;

/* Traces from the outputs back to values and to `stops`, tensors that become arguments 0 .. n_stops - 1
 * whatever they are. Fails with SN_ERR_ARGUMENT at a placeholder that is not in stops. Memory comes from
 * arena. */
sn_status sn_trace_tensors(sn_context *ctx, sn_arena *arena, sn_trace_mode mode,
                           sn_tensor *const *stops, size_t n_stops, sn_tensor *const *outputs,
                           size_t n_outputs, sn_trace *out);

/* Whether a lazy number becomes an argument in EVAL mode, so that a changing learning rate does not
 * compile a new program. 0, 1, -1, 2 and 1/2 stay constants, since ops with them simplify. */
bool sn_trace_is_free_number(const sn_tensor *t);

#endif
