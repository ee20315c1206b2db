/* touched.h - of groups in order: which buffers each of them reads and writes, what these take of
 * the arena, and what it costs to make them a second time. */
#ifndef SN_PLAN_TOUCHED_H
#define SN_PLAN_TOUCHED_H

#include "fuse/fuse.h"

/* For each of n things its numbers: list[first[i] .. first[i + 1]). */
typedef struct sn_lists {
  uint32_t *list;
  size_t *first;
} sn_lists;

typedef struct sn_touched {
  const sn_groups *groups;
  sn_lists of_group;         /* values, first those that it writes */
  uint32_t *n_writes;        /* per group */
  sn_lists readers, writers; /* of a value: groups in order; a writer is no reader */
  size_t *bytes;             /* per value: what it takes in an arena; of arguments 0 */
  double *price;             /* per value: of its writers, in flops */
  uint32_t
      *until; /* per value: it can be made again before groups up to this one; 0: before none */
} sn_touched;

/* donate: per argument, whether it may be overwritten once it was read for the last time, or
 * NULL. */
sn_status sn_touched_init(sn_touched *touched, sn_arena *arena, const sn_groups *groups,
                          const bool *donate);

static inline size_t sn_list_size(const sn_lists *lists, size_t i) {
  return lists->first[i + 1] - lists->first[i];
}

#endif
