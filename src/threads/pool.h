/* pool.h - the pool of threads. A dispatch cuts [0, units) into chunks, and these into a share for
 * each worker. A worker takes the chunks of its share one by one, then those that are left of other
 * shares. So it finds the data of the last dispatch in its own cache, and no worker waits for a slow
 * one. The calling thread is worker 0 and always takes part.
 *
 * One thread at a time uses a pool: the thread of the public API, or the driver (driver.h) while
 * the API thread waits for it or leaves the pool alone. sn_pool_run is not re-entrant. Units must
 * be independent of each other: which worker computes which unit differs from run to run.
 *
 * pool_threads.c: native, and WebAssembly with shared memory. There a Web Worker (in Node a thread
 * of worker_threads) lends its thread to each worker but the caller. pool_single.c: one worker, no
 * atomics. */
#ifndef SN_THREADS_POOL_H
#define SN_THREADS_POOL_H

#include "base/env.h"

#define SN_POOL_MAX_WORKERS 256

/* Stands for the driver where the number of a worker is asked for. */
#define SN_POOL_DRIVER (-1)

typedef struct sn_pool sn_pool;

/* Computes units [begin, end). worker < sn_pool_max_workers differs between calls that run at the
 * same time, e.g. to choose scratch memory; it may be any worker, not only one of the first. */
typedef void sn_pool_fn(void *arg, int64_t begin, int64_t end, int worker);

/* Cores this process may use; 1 in WebAssembly, where only JS knows. */
int sn_pool_cores(void);

/* A pool of 1 <= workers <= SN_POOL_MAX_WORKERS, caller included, in *out. Natively the threads are
 * up on return, or fewer than asked where some could not be started. In WebAssembly JS afterwards
 * starts a Web Worker for each worker and one for the driver (worker_shared.c); a worker without
 * one is left out. */
sn_status sn_pool_create(sn_env *env, int workers, sn_pool **out);

/* Waits for the driver's jobs, ends all threads, frees the pool. NULL is ignored. In WebAssembly no
 * Web Worker may be on its way into the pool, and terminated ones must have been marked dead. */
void sn_pool_destroy(sn_env *env, sn_pool *pool);

int sn_pool_workers(const sn_pool *pool);     /* workers that are up, caller included */
int sn_pool_max_workers(const sn_pool *pool); /* as asked at creation */

/* Runs fn over [0, units) in chunks of grain (>= 1) units on at most `workers` workers. Work of one
 * chunk, or for one worker, stays on the caller and involves no other. Returns when no living worker is
 * inside fn: SN_OK, or SN_ERR_WORKER when a worker died meanwhile or before (see sn_pool_revive);
 * then some units may not have been computed. Never allocates. */
sn_status sn_pool_run(sn_pool *pool, sn_pool_fn *fn, void *arg, int64_t units, int64_t grain,
                      int workers);

/* SN_ERR_WORKER from the death of a worker or of the driver until the pool is revived; otherwise
 * SN_OK. */
sn_status sn_pool_lost(const sn_pool *pool);

/* Says that a worker will never come back from its work. Any thread may call it, also the worker's
 * own, from its handler of traps. worker SN_POOL_DRIVER: the driver; 0: the caller itself left
 * sn_pool_run by a trap. Runs under way stop early and, like waits for the driver, return
 * SN_ERR_WORKER. */
void sn_pool_mark_dead(sn_pool *pool, int worker);

/* Makes a pool usable after a loss, and starts the missing threads. The API thread calls it
 * when it has no run under way. Jobs the driver did not finish count as completed with
 * SN_ERR_WORKER. In WebAssembly new Web Workers may then take the places of the dead; until they
 * do, the pool has fewer workers. */
void sn_pool_revive(sn_pool *pool);

#endif
