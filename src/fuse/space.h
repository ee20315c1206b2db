/* space.h - the index space of a kernel whose members have the same elements in several shapes. A
 * reshape moves nothing, so what reads one can run in the loop nest of what made it, if the nest's
 * dims are cut where either of the shapes cuts them:
 *
 *   pooled windows (64, 14, 2, 14, 2, 16)     seen as (64, 28, 28, 16)     and as (50176, 16)
 *   all in the nest 64, 14, 2, 14, 2, 16 */
#ifndef SN_FUSE_SPACE_H
#define SN_FUSE_SPACE_H

#include "graph/graph.h"

/* Cuts the dims of *space where those of `type` end, too. False, and no change, if a dim of one
 * does not divide into those of the other, or if there are more than SN_MAX_RANK. */
bool sn_space_refine(sn_type *space, const sn_type *type);

/* The strides of an operand of type `type` as strides over the space. False if a dim of the space
 * is not within one of the type's. */
bool sn_space_strides(const sn_type *space, const sn_type *type, const int64_t *strides,
                      int64_t out[SN_MAX_RANK]);

/* Whether that is so for every operand of the type. */
static inline bool sn_space_is_within(const sn_type *space, const sn_type *type) {
  const int64_t any[SN_MAX_RANK] = {0};
  return sn_space_strides(space, type, any, (int64_t[SN_MAX_RANK]){0});
}

#endif
