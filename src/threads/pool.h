/* pool.h - the one pool of threads. A dispatch cuts [0, units) into chunks that the lanes take one
 * by one from a counter; the calling thread is lane 0 and always takes part.
 *
 * One thread at a time uses a pool: the thread of the public API, or the driver (driver.h) while
 * the former waits for it or leaves the pool alone. sn_pool_run is not re-entrant. Units must be
 * independent of each other: which lane computes which unit differs from run to run.
 *
 * pool_threads.c: native and WebAssembly with shared memory. pool_single.c: one lane, no
 * atomics. */
#ifndef SN_THREADS_POOL_H
#define SN_THREADS_POOL_H

#include "base/env.h"

#define SN_POOL_MAX_LANES 256

/* The driver, where a lane is named to sn_pool_mark_dead. */
#define SN_DRIVER_LANE (-1)

typedef struct sn_pool sn_pool;

/* Computes units [begin, end). lane < sn_pool_max_lanes tells apart what runs at the same time,
 * e.g. for scratch memory; it may be any lane, not only the first ones. */
typedef void sn_pool_fn(void *arg, int64_t begin, int64_t end, int lane);

/* Cores this process may use; 1 in WebAssembly, where only JS knows. */
int sn_pool_cores(void);

/* A pool of 1 <= lanes <= SN_POOL_MAX_LANES, caller included, in *out. Natively the threads are up
 * on return, fewer than asked if some could not be started. In WebAssembly JS starts a worker per
 * lane and one for the driver afterwards (worker_shared.c); lanes without a worker are left out. */
sn_status sn_pool_create(sn_env *env, int lanes, sn_pool **out);

/* Waits for the driver's jobs, ends all threads, frees the pool. NULL is ignored. In WebAssembly no
 * worker may be on its way to a lane, and terminated ones must have been marked dead. */
void sn_pool_destroy(sn_env *env, sn_pool *pool);

int sn_pool_lanes(const sn_pool *pool);     /* lanes that are up, caller included */
int sn_pool_max_lanes(const sn_pool *pool); /* as asked at creation */

/* fn over [0, units) in chunks of grain (>= 1) units on at most `lanes` lanes. Work of one chunk,
 * or lanes <= 1, stays on the caller and touches nobody. Returns when no living lane is inside fn:
 * SN_OK, or SN_ERR_WORKER when a lane died meanwhile or before (see sn_pool_revive); then some
 * units may not have been computed. Never allocates. */
sn_status sn_pool_run(sn_pool *pool, sn_pool_fn *fn, void *arg, int64_t units, int64_t grain,
                      int lanes);

/* SN_ERR_WORKER from the death of a lane or of the driver until the pool is revived, else SN_OK. */
sn_status sn_pool_lost(const sn_pool *pool);

/* Says that a lane will never come back from where it is: called on any thread, by the worker's own
 * handler of a trap. SN_DRIVER_LANE: the driver. 0: the caller itself left sn_pool_run by a trap.
 * Runs under way stop early and, like waits for the driver, return SN_ERR_WORKER. */
void sn_pool_mark_dead(sn_pool *pool, int lane);

/* Makes a pool usable after a loss, and starts what threads are missing. The API thread calls it
 * when it has no run under way. Jobs the driver did not finish count as completed with
 * SN_ERR_WORKER. In WebAssembly new workers may then take the dead lanes; until they do, the lanes
 * are fewer. */
void sn_pool_revive(sn_pool *pool);

#endif
