/* touched.h - which values each group of a program reads and writes, how many bytes of the arena they
 * take, and what it costs to make them a second time. */
#ifndef SN_PLAN_TOUCHED_H
#define SN_PLAN_TOUCHED_H

#include "fuse/fuse.h"

/* A list of numbers for each of n things: list[first[i] .. first[i + 1]) for thing i. */
typedef struct sn_lists {
  uint32_t *list;
  size_t *first;
} sn_lists;

typedef struct sn_touched {
  const sn_groups *groups;
  sn_lists of_group;         /* per group: its values, first those that it writes */
  uint32_t *n_writes;        /* per group: how many values it writes */
  sn_lists readers, writers; /* per value: groups in order; writers do not count as readers */
  size_t *bytes;             /* per value: its size in the arena, rounded up; 0 for arguments */
  double *price;             /* per value: cost of running its writers again, in flops */
  uint32_t *until;           /* per value: the last group before which it can be made again, or 0 */
} sn_touched;

/* donate: per argument, whether it may be overwritten after its last use; or NULL. */
sn_status sn_touched_init(sn_touched *touched, sn_arena *arena, const sn_groups *groups,
                          const bool *donate);

static inline size_t sn_list_size(const sn_lists *lists, size_t i) {
  return lists->first[i + 1] - lists->first[i];
}

#endif
