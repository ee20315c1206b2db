/* in_place.h - two values in one piece of memory.
 *
 * A group may write v over `from`, which nobody needs afterwards, where it has read each element of
 * `from` when it writes there: at the same place, in the same phase or an earlier one. */
#ifndef SN_FUSE_IN_PLACE_H
#define SN_FUSE_IN_PLACE_H

#include "fuse/group.h"

/* A place where a group writes: from a phase, or (phase == n_phases) from post. */
typedef struct sn_write {
  const sn_group *group;
  uint32_t phase;
  const sn_operand *target;
} sn_write;

uint32_t sn_count_writes(const sn_group *g);
sn_write sn_write_of(const sn_group *g, uint32_t number);

/* Both of as many bytes; g writes v. */
bool sn_takes_over_in_step(const sn_group *g, uint32_t v, uint32_t from);

#endif
