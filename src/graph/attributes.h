/* attributes.h - the attributes of a node, as its op's row lists them (sn_op_info.attrs): how many int64 they take and
 * what each may be. An attribute is one int64, or one per axis.
 *
 *   pad of x, rank 2: PER_AXIS(low), STEP_PER_AXIS(step), VALUE(value)
 *
 *   | low 0 | low 1 | step 0 | step 1 | bits of value |
 *
 * Axes are those of the node's first input; for a leaf, those of its result. */
#ifndef SN_GRAPH_ATTRIBUTES_H
#define SN_GRAPH_ATTRIBUTES_H

#include "graph/shape.h"

/* How many int64 one attribute takes, and all attributes of an op together. rank: of the first input. */
uint32_t sn_attr_length(sn_attr_kind kind, int rank);
uint32_t sn_op_attrs_length(sn_op op, int rank);

/* Fails unless there are as many attributes as the op's row says and each is in the range of its kind. of: the type of
 * the first input, or a leaf's own. Per-axis numbers are left to the shape rules. */
sn_status sn_attrs_check(sn_env *env, sn_op op, const int64_t *attrs, size_t n_attrs,
                         const sn_type *of);

/* Batching: writes to out the attributes with which the op does the same to inputs that have one more axis in front,
 * which it leaves alone. rank: of the first input without that axis. Returns how many attributes these are. */
size_t sn_attrs_behind_axis(sn_op op, const int64_t *attrs, int rank, int64_t *out);

#endif
