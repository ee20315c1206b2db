/* reference.h - the definition of every op: plain scalar loops over row-major buffers. Slow;
 * everything else is compared with it. Constant folding uses it too, so folding cannot change a
 * bit.
 *
 * Elements are handled as doubles where every dtype's values fit (all of them do); arithmetic is
 * done in the dtype itself. Sums and products here are plain loops in row-major order. */
#ifndef SN_GRAPH_REFERENCE_H
#define SN_GRAPH_REFERENCE_H

#include "graph/graph.h"

/* Loads element i of a buffer of dtype, and stores one, which converts as astype from float64 does. */
double sn_ref_load(sn_dtype dtype, const void *buffer, int64_t i);
void sn_ref_store(sn_dtype dtype, void *buffer, int64_t i, double value);

/* The value after it is stored as dtype and loaded again. */
double sn_ref_convert(sn_dtype dtype, double value);

/* Whether the node is a constant or a view of one; then *value is the constant, rounded to its
 * dtype. */
bool sn_graph_uniform(const sn_graph *graph, sn_id id, double *value);

/* An elementwise op (astype included, bitcast not) or one step of a reduction on single values.
 * fused: see math/expand_f32.inc; in_dtype: of the last input; dtype: of the result. */
double sn_ref_scalar(bool fused, sn_op op, sn_dtype in_dtype, const double *in, sn_dtype dtype);

/* The number of the element of a view's input that the view has as its element `flat`. */
int64_t sn_ref_view_source(const sn_graph *graph, sn_id id, int64_t flat);

/* Computes node id from its inputs' buffers into out. fused: which bits its functions have. Leaves
 * need no inputs; for an input node, the caller fills the buffer itself. */
void sn_ref_node(const sn_graph *graph, bool fused, sn_id id, const void *const *in, void *out);

/* reference_axis.c: sn_ref_node for gather, scatter, sort and scan. */
void sn_ref_along_axis(const sn_graph *graph, sn_id id, const void *const *in, void *out);

/* reference_blocks.c: the same for ops of quantised blocks. */
void sn_ref_blocks(const sn_graph *graph, sn_id id, const void *const *in, void *out);

#endif
