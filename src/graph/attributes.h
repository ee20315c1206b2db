/* attributes.h - the attributes of a node by its op's row (sn_op_info.attrs), as data: how many numbers they take and
 * what each may be. An attribute is one int64, or one per axis.
 *
 *   pad of x, rank 2: PER_AXIS(low), PER_AXIS(step), VALUE(value)
 *
 *   | low 0 | low 1 | step 0 | step 1 | bits of value |
 *
 * Axes are those of the first input; a leaf's, of its result. */
#ifndef SN_GRAPH_ATTRIBUTES_H
#define SN_GRAPH_ATTRIBUTES_H

#include "graph/shape.h"

typedef enum sn_attr_kind {
  SN_ATTR_END,         /* behind the last one */
  SN_ATTR_AXIS,        /* 0 .. rank - 1 */
  SN_ATTR_AXES,        /* a bit for each axis */
  SN_ATTR_PERMUTATION, /* one per axis: the input's axis that comes to this place */
  SN_ATTR_PER_AXIS,    /* a number per axis; its range is the shape rule's */
  SN_ATTR_PER_SPATIAL, /* the same per axis but the first and the last */
  SN_ATTR_COUNT,       /* at least 1 */
  SN_ATTR_FLAG,        /* 0 or 1 */
  SN_ATTR_VALUE,       /* the bits of a double */
  SN_ATTR_ARGUMENT     /* the number of a program's argument */
} sn_attr_kind;

typedef struct sn_attr {
  const char *name;
  sn_attr_kind kind;
} sn_attr;

/* How many int64 an attribute takes, and all of an op. */
uint32_t sn_attr_length(sn_attr_kind kind, int rank);
uint32_t sn_op_attrs_length(sn_op op, int rank);

/* Whether the attributes are as many as the row says and each is what its kind may be. */
sn_status sn_attrs_check(sn_env *env, sn_op op, const int64_t *attrs, size_t n_attrs,
                         const sn_type *of);

#endif
