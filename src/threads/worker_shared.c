/* worker_shared.c - where JS workers enter the pool. Each worker instantiates the module on the
 * shared memory, sets its stack and thread-local storage, and calls one of the two loops once:
 *
 *   try { exports.sn_worker_lane(pool, lane); } catch (e) { exports.sn_worker_dead(pool, lane); }
 *
 * The loops return when the pool is destroyed, or at once when the lane is taken or dead. */
#include "threads/start.h"
#include "threads/state.h"

#define EXPORT(name) __attribute__((export_name(#name))) void name

/* Lets who ran a job tell: the driver's worker, from inside sn_worker_driver, or the API thread. */
__attribute__((import_module("host"), import_name("job_done"))) void
sn_js_job_done(uint32_t ticket);

EXPORT(sn_worker_lane)(sn_pool *pool, int lane);
EXPORT(sn_worker_driver)(sn_pool *pool);
EXPORT(sn_worker_dead)(sn_pool *pool, int lane); /* SN_DRIVER_LANE: the driver */

void sn_worker_lane(sn_pool *pool, int lane) { sn_lane_main(pool, lane); }

void sn_worker_driver(sn_pool *pool) { sn_driver_main(pool); }

void sn_worker_dead(sn_pool *pool, int lane) { sn_pool_mark_dead(pool, lane); }

int sn_pool_cores(void) { return 1; }

/* Only JS can start a worker, and only when its event loop gets to it. */
bool sn_thread_start(sn_thread *thread, sn_pool *pool, int lane) {
  (void)thread, (void)pool, (void)lane;
  return false;
}

void sn_thread_join(sn_thread *thread) { (void)thread; }

void sn_thread_job_done(uint32_t ticket) { sn_js_job_done(ticket); }
