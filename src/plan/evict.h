/* evict.h - finds an order in which groups run, some of them again, that keeps the bytes in use at any
 * time below a limit, if possible.
 *
 * The groups are simulated in their order. When a group would exceed the limit, values that are used
 * only later leave memory (victims.h), as many as it takes. A value that has left is made again just
 * before a group that reads it, with everything that this needs. A value that was made again may leave
 * again, so whole chains of groups may run again. (The idea is dynamic tensor rematerialization,
 * Kirisame et al. 2021, but next uses are known, not guessed.)
 *
 *   groups   0 1 2 3 4 5 6         a value written by 1 and read by 2 and 6
 *   order    0 1 2 3 4 5 1 6       it leaves after 2, and 6 reads another buffer
 *
 * Invariant: whenever a group runs, all that it reads is in memory, written by the same groups in the
 * same order from the same values as without a limit. */
#ifndef SN_PLAN_EVICT_H
#define SN_PLAN_EVICT_H

#include "plan/touched.h"

/* One run of a group. sn_order.values[first ..] are the buffers of the values that it touches, in the order
 * of sn_touched.of_group. */
typedef struct sn_turn {
  uint32_t group;
  bool is_repeat; /* the group has run before */
  size_t first;
} sn_turn;

typedef struct sn_order {
  sn_turn *turns; /* in order */
  size_t n_turns;
  uint32_t *values; /* the buffers of all turns */
  /* Per buffer: the value it holds. The first buffers are the values themselves, with their numbers. */
  uint32_t *value_of;
  size_t n_buffers;
} sn_order;

/* Finds an order for a limit in bytes. *found is false if groups would have to run again too often. The order
 * may exceed the limit if it cannot be kept. */
sn_status sn_order_within_limit(sn_arena *arena, const sn_touched *touched, size_t limit,
                                bool *found, sn_order *out);

#endif
