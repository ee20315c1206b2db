/* single.h - the memory of a pool without threads. */
#ifndef SN_THREADS_SINGLE_H
#define SN_THREADS_SINGLE_H

#include "threads/driver.h"

struct sn_pool {
  bool lost;
  uint32_t completed;               /* last ticket */
  sn_status status[SN_DRIVER_RING]; /* of job t at t % SN_DRIVER_RING */
};

#endif
