/* worker_shared.c - where Web Workers enter the pool. Each one instantiates the module on the
 * shared memory, sets its stack and thread-local storage, and calls one of the two loops once:
 *
 *   try { exports.sn_worker_enter(pool, worker); }
 *   catch (e) { exports.sn_worker_dead(pool, worker); }
 *
 * The loops return when the pool is destroyed, or at once when another thread already is that
 * worker, or it has been marked dead. */
#include "threads/start.h"
#include "threads/state.h"

#define EXPORT(name) __attribute__((export_name(#name))) void name

/* Called by the thread that ran a job: the driver's, from inside sn_worker_driver, or the API's. */
__attribute__((import_module("host"), import_name("job_done"))) void
sn_js_job_done(uint32_t ticket);

EXPORT(sn_worker_enter)(sn_pool *pool, int worker);
EXPORT(sn_worker_driver)(sn_pool *pool);
EXPORT(sn_worker_dead)(sn_pool *pool, int worker); /* SN_POOL_DRIVER: the driver */

void sn_worker_enter(sn_pool *pool, int worker) { sn_worker_main(pool, worker); }

void sn_worker_driver(sn_pool *pool) { sn_driver_main(pool); }

void sn_worker_dead(sn_pool *pool, int worker) { sn_pool_mark_dead(pool, worker); }

int sn_pool_cores(void) { return 1; }

/* Only JS can start a Web Worker, and only when its event loop gets to it. */
bool sn_thread_start(sn_thread *thread, sn_pool *pool, int worker) {
  (void)thread, (void)pool, (void)worker;
  return false;
}

void sn_thread_join(sn_thread *thread) { (void)thread; }

void sn_thread_job_done(uint32_t ticket) { sn_js_job_done(ticket); }
