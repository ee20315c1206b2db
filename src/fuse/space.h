/* space.h - the index space of a kernel whose members have the same elements in several shapes. A
 * reshape moves nothing, so the reader of one can run in the loop nest of the node that is reshaped,
 * if the nest's dims are cut wherever either of the shapes cuts them:
 *
 *   pooled windows (64, 14, 2, 14, 2, 16)     seen as (64, 28, 28, 16)     and as (50176, 16)
 *   all in the nest 64, 14, 2, 14, 2, 16 */
#ifndef SN_FUSE_SPACE_H
#define SN_FUSE_SPACE_H

#include "graph/graph.h"

/* Splits the dims of *space so that they also end where those of `type` end. Returns false and changes
 * nothing if dims of the two do not divide each other, or if the result has more than SN_MAX_RANK. */
bool sn_space_refine(sn_type *space, const sn_type *type);

/* The strides of an operand of type `type` as strides over the space. False if a dim of the space
 * is not within one of the type's. */
bool sn_space_strides(const sn_type *space, const sn_type *type, const int64_t *strides,
                      int64_t out[SN_MAX_RANK]);

/* Whether sn_space_strides succeeds for operands of this type, whatever their strides. */
static inline bool sn_space_is_within(const sn_type *space, const sn_type *type) {
  const int64_t any[SN_MAX_RANK] = {0};
  return sn_space_strides(space, type, any, (int64_t[SN_MAX_RANK]){0});
}

#endif
