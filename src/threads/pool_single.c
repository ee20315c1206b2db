/* pool_single.c - the pool of a build without threads: the caller is its only worker. */
#include "base/alloc.h"
#include "threads/serial.h"
#include "threads/single.h"

int sn_pool_cores(void) { return 1; }

sn_status sn_pool_create(sn_env *env, int workers, sn_pool **out) {
  SN_FAIL_IF(env, workers < 1 || workers > SN_POOL_MAX_WORKERS, SN_ERR_ARGUMENT, "threads",
             "%d, expected 1 to %d", workers, SN_POOL_MAX_WORKERS);
  void *block;
  SN_TRY(sn_alloc_zeroed(env, 1, sizeof(sn_pool), &block));
  *out = block;
  return SN_OK;
}

void sn_pool_destroy(sn_env *env, sn_pool *pool) { sn_free(env, pool, sizeof *pool); }

int sn_pool_workers(const sn_pool *pool) {
  (void)pool;
  return 1;
}

int sn_pool_max_workers(const sn_pool *pool) { return sn_pool_workers(pool); }

sn_status sn_pool_run(sn_pool *pool, sn_pool_fn *fn, void *arg, int64_t units, int64_t grain,
                      int workers) {
  (void)workers;
  SN_TRY(sn_pool_lost(pool));
  sn_serial_run(fn, arg, units, grain);
  return SN_OK;
}

sn_status sn_pool_lost(const sn_pool *pool) { return pool->lost ? SN_ERR_WORKER : SN_OK; }

void sn_pool_mark_dead(sn_pool *pool, int worker) {
  if (worker == 0) pool->lost = true;
}

void sn_pool_revive(sn_pool *pool) { pool->lost = false; }
