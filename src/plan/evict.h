/* evict.h - in which order groups run, some of them again, so that what is in memory at a time stays
 * below a limit where it can.
 *
 * The groups are walked in their order as they would run. Where the limit would be passed, values
 * whose use is still to come leave memory (victims.h), as many as it takes; what a group reads that
 * has left is made again just before, with all that this needs. So a value that is made again may
 * leave again, and chains of them come about by themselves. (The idea is dynamic tensor
 * rematerialization, Kirisame et al. 2021, with next uses known instead of guessed.)
 *
 *   groups   0 1 2 3 4 5 6         a value written by 1 and read by 2 and 6
 *   order    0 1 2 3 4 5 1 6       it has left behind 2, and 6 reads another buffer
 *
 * Invariant: whenever a group runs, all that it reads is there, written by the same groups in the
 * same order from the same values as without a limit. */
#ifndef SN_PLAN_EVICT_H
#define SN_PLAN_EVICT_H

#include "plan/touched.h"

/* A group that runs, and which buffers its values lie in: values[first ..] for those that it touches
 * (sn_touched.of_group). */
typedef struct sn_turn {
  uint32_t group;
  bool again;
  size_t first;
} sn_turn;

typedef struct sn_order {
  sn_turn *turns; /* in order */
  size_t n_turns;
  uint32_t *values;   /* of all turns: buffers */
  uint32_t *value_of; /* per buffer: the value it holds; the first ones hold themselves */
  size_t n_buffers;
} sn_order;

/* *found: false where the groups would run again too often. */
sn_status sn_order_within(sn_arena *arena, const sn_touched *touched, size_t limit, bool *found,
                          sn_order *out);

#endif
