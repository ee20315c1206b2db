/* single.h - the memory of a pool without threads. */
#ifndef SN_THREADS_SINGLE_H
#define SN_THREADS_SINGLE_H

#include "threads/driver.h"

typedef struct sn_driver_slot {
  sn_driver_fn *fn; /* NULL while it runs: a job that traps does not come back, and has failed */
  void *arg;
  sn_status status; /* once completed */
} sn_driver_slot;

/* Jobs completed + 1 .. submitted are queued; job t lies in slot t % SN_DRIVER_RING. */
struct sn_pool {
  bool lost;
  bool turns; /* jobs are queued for turns of the API thread */
  uint32_t submitted, completed;
  sn_driver_slot ring[SN_DRIVER_RING];
};

#endif
