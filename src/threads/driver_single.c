/* driver_single.c - the driver of a build without threads: submit returns when the job has run. */
#include "threads/driver.h"

#include "threads/single.h"

bool sn_driver_available(const sn_pool *pool) {
  (void)pool;
  return false;
}

sn_status sn_driver_submit(sn_env *env, sn_pool *pool, sn_job_fn *fn, void *arg, uint32_t *ticket) {
  SN_FAIL_IF(env, sn_pool_lost(pool), SN_ERR_WORKER, "a thread of the pool was lost");
  const sn_status status = fn(arg);
  *ticket = ++pool->completed;
  pool->status[*ticket % SN_DRIVER_RING] = status;
  return SN_OK;
}

uint32_t sn_driver_completed(const sn_pool *pool) { return pool->completed; }

bool sn_driver_idle(const sn_pool *pool) {
  (void)pool;
  return true;
}

sn_status sn_driver_wait(sn_pool *pool, uint32_t ticket) {
  return (int32_t)(pool->completed - ticket) < 0 ? SN_ERR_ARGUMENT : SN_OK;
}

sn_status sn_driver_wait_all(sn_pool *pool) {
  (void)pool;
  return SN_OK;
}

sn_status sn_driver_status(const sn_pool *pool, uint32_t ticket) {
  return pool->status[ticket % SN_DRIVER_RING];
}
