/* driver_single.c - the driver of a build without threads. submit returns when the job has run, or
 * queues it for turns of the API thread. That thread waits for a job by running it and all before
 * it. */
#include "threads/driver.h"

#include <math.h>

#include "base/host.h"
#include "threads/single.h"

bool sn_driver_available(const sn_pool *pool) { return pool->turns; }

void sn_driver_take_turns(sn_pool *pool) { pool->turns = true; }

static uint32_t pending(const sn_pool *pool) { return pool->submitted - pool->completed; }

/* Runs the oldest job; false: interrupted. */
static bool run_next(sn_pool *pool, double until) {
  sn_driver_slot *job = &pool->ring[(pool->completed + 1) % SN_DRIVER_RING];
  sn_driver_fn *fn = job->fn;
  job->fn = NULL;
  job->status = SN_ERR_INTERNAL;
  if (fn && !fn(job->arg, until, &job->status)) {
    job->fn = fn;
    return false;
  }
  pool->completed++;
  return true;
}

static void run_until_pending(sn_pool *pool, uint32_t most) {
  while (pending(pool) > most) run_next(pool, INFINITY);
}

bool sn_driver_turn(sn_pool *pool, double ms) {
  const double until = sn_host_now_ms() + ms;
  while (pending(pool) && run_next(pool, until) && sn_host_now_ms() < until) {}
  return pending(pool) != 0;
}

sn_status sn_driver_submit(sn_env *env, sn_pool *pool, sn_driver_fn *fn, void *arg,
                           uint32_t *ticket) {
  SN_FAIL_IF(env, sn_pool_lost(pool), SN_ERR_WORKER, NULL, "a thread of the pool was lost");
  run_until_pending(pool, SN_DRIVER_RING - 1);
  *ticket = ++pool->submitted;
  pool->ring[*ticket % SN_DRIVER_RING] = (sn_driver_slot){.fn = fn, .arg = arg};
  if (!pool->turns) run_until_pending(pool, 0);
  return SN_OK;
}

uint32_t sn_driver_completed(const sn_pool *pool) { return pool->completed; }

bool sn_driver_idle(const sn_pool *pool) { return pending(pool) == 0; }

sn_status sn_driver_wait(sn_pool *pool, uint32_t ticket) {
  const uint32_t later = pool->submitted - ticket;
  if ((int32_t)later < 0) return SN_ERR_ARGUMENT;
  run_until_pending(pool, later);
  return SN_OK;
}

sn_status sn_driver_wait_all(sn_pool *pool) {
  run_until_pending(pool, 0);
  return SN_OK;
}

sn_status sn_driver_status(const sn_pool *pool, uint32_t ticket) {
  return pool->ring[ticket % SN_DRIVER_RING].status;
}
