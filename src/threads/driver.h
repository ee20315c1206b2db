/* driver.h - an extra thread that runs jobs in the order of their submission while the API thread
 * goes on. While it runs one, it is worker 0 of the pool.
 *
 * Tickets count up from 1 and wrap around; job t is completed when (int32_t)(completed - t) >= 0.
 * Only the API thread submits, waits and asks. Before it uses the pool itself it waits for the
 * driver. While it waits it runs the oldest job itself unless the driver has begun it.
 *
 * driver_threads.c: native and WebAssembly with shared memory. driver_single.c: jobs run at once, or
 * in turns with the API thread's event loop, if it has one. */
#ifndef SN_THREADS_DRIVER_H
#define SN_THREADS_DRIVER_H

#include "threads/pool.h"

#define SN_DRIVER_RING 64

/* A job: runs until the clock of sn_host_now_ms shows `until`, then returns false and goes on in
 * the next call. Returns true when it is done; *status is then its result. */
typedef bool sn_driver_fn(void *arg, double until, sn_status *status);

/* Whether submitted jobs are queued, for a driver that is up or for turns. Otherwise they run at once
 * on the thread that submits them. */
bool sn_driver_available(const sn_pool *pool);

/* Without threads: from now on jobs are queued. The API thread runs them in turns, and when it
 * waits for them. With threads nothing changes. */
void sn_driver_take_turns(sn_pool *pool);

/* Runs queued jobs for about ms milliseconds; returns whether some are left. */
bool sn_driver_turn(sn_pool *pool, double ms);

/* Queues fn(arg); *ticket is its number. Waits while SN_DRIVER_RING jobs are queued. SN_ERR_WORKER,
 * and nothing queued, when a thread of the pool is lost. */
sn_status sn_driver_submit(sn_env *env, sn_pool *pool, sn_driver_fn *fn, void *arg,
                           uint32_t *ticket);

uint32_t sn_driver_completed(const sn_pool *pool); /* the last completed ticket; 0 at first */
bool sn_driver_idle(const sn_pool *pool);          /* whether every job is completed */

/* Waits for job `ticket`, or for all. SN_OK when completed, whatever the job returned;
 * SN_ERR_WORKER when the driver died first, and no worker is inside its job any more;
 * SN_ERR_ARGUMENT if there is no such job. */
sn_status sn_driver_wait(sn_pool *pool, uint32_t ticket);
sn_status sn_driver_wait_all(sn_pool *pool);

/* What completed job `ticket` returned. Kept while fewer than SN_DRIVER_RING jobs came after it. */
sn_status sn_driver_status(const sn_pool *pool, uint32_t ticket);

#endif
