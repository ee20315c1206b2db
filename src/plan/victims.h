/* victims.h - values that may leave memory until they are used again, and the choice among them: the
 * value that is cheapest to make again for the bytes it frees and the time it frees them for.
 *
 *   score = price / (bytes * groups until its next use)
 *
 * The last factor changes with each group, but among values of the same price per byte the best is
 * always the one with the latest next use. So there is a heap, ordered by next use, for each power of
 * two of the price per byte, and a choice compares the heads of all heaps. Entries that are out of date
 * stay in: when an entry becomes a head, `price` tells whether it is still valid and what it costs. */
#ifndef SN_PLAN_VICTIMS_H
#define SN_PLAN_VICTIMS_H

#include "base/alloc.h"

#define SN_VICTIM_CLASSES 64

typedef struct sn_victim {
  uint32_t value, next; /* the group that uses it next */
} sn_victim;

typedef struct sn_victim_heap {
  sn_victim *items; /* the one with the latest next use first */
  size_t n, capacity;
} sn_victim_heap;

typedef struct sn_victims {
  sn_arena *arena;
  sn_victim_heap heaps[SN_VICTIM_CLASSES];
  /* The current cost, per byte, of making the value again; negative if the entry is out of date. */
  double (*price)(void *user, const sn_victim *victim);
  void *user;
} sn_victims;

/* price: per byte. */
sn_status sn_victims_add(sn_victims *victims, sn_victim victim, double price);

/* Takes out the best victim before group `now` runs; *found is false if there is none. */
sn_status sn_victims_take(sn_victims *victims, uint32_t now, bool *found, sn_victim *out);

#endif
