/* attributes.h - the attributes of a node by its op's row (sn_op_info.attrs), as data: how many numbers they take and
 * what each may be. An attribute is one int64, or one per axis.
 *
 *   pad of x, rank 2: PER_AXIS(low), STEP_PER_AXIS(step), VALUE(value)
 *
 *   | low 0 | low 1 | step 0 | step 1 | bits of value |
 *
 * Axes are those of the first input; a leaf's, of its result. */
#ifndef SN_GRAPH_ATTRIBUTES_H
#define SN_GRAPH_ATTRIBUTES_H

#include "graph/shape.h"

/* How many int64 an attribute takes, and all of an op. */
uint32_t sn_attr_length(sn_attr_kind kind, int rank);
uint32_t sn_op_attrs_length(sn_op op, int rank);

/* Whether the attributes are as many as the row says and each is what its kind may be. */
sn_status sn_attrs_check(sn_env *env, sn_op op, const int64_t *attrs, size_t n_attrs,
                         const sn_type *of);

/* The attributes with which the op does the same behind one more axis in front of its inputs, which it leaves alone;
 * rank: of the first input without it. Returns how many. */
size_t sn_attrs_behind_axis(sn_op op, const int64_t *attrs, int rank, int64_t *out);

#endif
