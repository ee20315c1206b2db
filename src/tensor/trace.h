/* trace.h - from lazy tensors to a dense graph. */
#ifndef SN_TENSOR_TRACE_H
#define SN_TENSOR_TRACE_H

#include "tensor/tensor.h"

typedef enum sn_trace_mode {
  SN_TRACE_EVAL,   /* values are arguments; so are numbers, but for a few that are worth folding */
  SN_TRACE_PROGRAM /* numbers are constants; placeholders are the first arguments */
} sn_trace_mode;

typedef struct sn_trace {
  sn_graph graph;
  sn_tensor **arguments; /* per argument of the graph: its tensor (borrowed) */
  size_t n_arguments, cap_arguments;
} sn_trace;

/* Walks from outputs to values and `stops` (tensors that become arguments 0 .. n_stops - 1 whatever
 * they are). A placeholder outside of stops is SN_ERR_ARGUMENT. Memory comes from arena. */
sn_status sn_trace_tensors(sn_context *ctx, sn_arena *arena, sn_trace_mode mode,
                           sn_tensor *const *stops, size_t n_stops, sn_tensor *const *outputs,
                           size_t n_outputs, sn_trace *out);

/* Whether a lazy number is an argument of the program in EVAL mode: a changing learning rate must
 * not compile anew. 0, 1, -1, 2 and 1/2 stay constants, for they simplify. */
bool sn_trace_is_free_number(const sn_tensor *t);

#endif
