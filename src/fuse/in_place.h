/* in_place.h - two values in one piece of memory.
 *
 * A group may write v over `from`, which nobody needs afterwards, if it has read each element of
 * `from` before it writes there: at the same place, in the same phase or an earlier one. A scatter
 * leaves the elements that it does not update where they are. */
#ifndef SN_FUSE_IN_PLACE_H
#define SN_FUSE_IN_PLACE_H

#include "fuse/group.h"

/* Whether the group may do so. v and `from` must have the same number of bytes. */
bool sn_takes_over_in_step(const sn_group *g, uint32_t v, uint32_t from);

#endif
