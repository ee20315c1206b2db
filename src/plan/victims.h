/* victims.h - values that may leave memory until they are used again, and which of them goes best:
 * the one that is the cheapest to make again for the bytes it frees and the time it frees them for.
 *
 *   score = price / (bytes * groups until its next use)
 *
 * The time left is another one at each group, but among values of the same price per byte the best
 * is always the one that is used last. So they lie in heaps by that, one for each power of two of
 * the price, and a choice compares the heads. Entries are not taken out when they go out of date:
 * whoever looks at a head says whether it still holds, and what it costs by now. */
#ifndef SN_PLAN_VICTIMS_H
#define SN_PLAN_VICTIMS_H

#include "base/alloc.h"

#define SN_VICTIM_CLASSES 64

typedef struct sn_victim {
  uint32_t value, next; /* the group that uses it next */
} sn_victim;

typedef struct sn_victim_heap {
  sn_victim *items; /* the one used last in front */
  size_t n, capacity;
} sn_victim_heap;

typedef struct sn_victims {
  sn_arena *arena;
  sn_victim_heap heaps[SN_VICTIM_CLASSES];
  /* What making the value again costs per byte by now; below 0: the entry holds no longer. */
  double (*price)(void *user, const sn_victim *victim);
  void *user;
} sn_victims;

sn_status sn_victims_add(sn_victims *victims, sn_victim victim, double price);

/* Takes the best one out, before group `now` runs; false: there is none. */
sn_status sn_victims_take(sn_victims *victims, uint32_t now, bool *found, sn_victim *out);

#endif
