/* state.h - the memory of a pool with threads, shared by pool_threads.c and driver_threads.c.
 *
 *   line 0     the dispatch     worker 0 writes it before it calls; constant while a worker is inside
 *   line 1     sizes, loss      written when threads come and go
 *   line 2     caller           worker 0 writes it when it wakes a worker
 *   line 3..   driver           words of its producer and words of its own on separate lines, the ring
 *   workers    two lines each   the word of the protocol in pool_threads.c; the next chunk of a share
 *
 * What different threads write at the same time never shares a cache line. */
#ifndef SN_THREADS_STATE_H
#define SN_THREADS_STATE_H

#include "threads/driver.h"
#include "threads/start.h"
#include "threads/wait.h"

#define SN_CACHE_LINE 64

typedef struct sn_worker {
  _Alignas(SN_CACHE_LINE) sn_word word; /* enum worker_word of pool_threads.c */
  sn_thread thread;
  _Alignas(SN_CACHE_LINE) _Atomic int64_t next; /* first chunk of its share that nobody has taken */
} sn_worker;

typedef struct sn_driver_slot {
  sn_driver_fn *fn; /* NULL: the driver ends */
  void *arg;
  sn_status status; /* once completed */
} sn_driver_slot;

/* The ring holds jobs completed + 1 .. submitted; job t lies in slot t % SN_DRIVER_RING. */
typedef struct sn_driver {
  _Alignas(SN_CACHE_LINE) sn_word submitted; /* last ticket given out */
  sn_word calls;                             /* jobs and deaths; the driver sleeps on it */
  uint32_t here;                             /* last ticket that the API thread began */
  _Alignas(SN_CACHE_LINE) sn_word claimed;   /* last ticket that somebody began */
  _Alignas(SN_CACHE_LINE) sn_word completed; /* last ticket completed */
  sn_word progress;                          /* completions and deaths; waiters sleep on it */
  _Alignas(SN_CACHE_LINE) sn_word state;     /* enum driver_state of driver_threads.c */
  sn_thread thread;
  _Alignas(SN_CACHE_LINE) sn_driver_slot ring[SN_DRIVER_RING];
} sn_driver;

struct sn_pool {
  _Alignas(SN_CACHE_LINE) sn_pool_fn *fn;
  void *arg;
  int64_t units;
  int64_t grain;
  int shares;                          /* of consecutive chunks, one for each worker */
  int64_t share_chunks, longer_shares; /* the first longer_shares of them have one chunk more */
  _Alignas(SN_CACHE_LINE) _Atomic bool lost; /* a thread died since the last revival */
  _Atomic int workers_up;                    /* worker 0 included */
  int max_workers;
  _Alignas(SN_CACHE_LINE) sn_word caller; /* see sn_wait_call */
  sn_driver driver;
  sn_worker workers[]; /* max_workers of them; the word of worker 0 is not used */
};

/* The loops of the threads. They return when the pool is destroyed, or the worker marked dead. */
void sn_worker_main(sn_pool *pool, int worker);
void sn_driver_main(sn_pool *pool);

/* Takes back calls that no worker has followed yet, and waits until no living worker is inside fn. */
void sn_pool_settle(sn_pool *pool);

/* The driver's part in the creation, death, revival and destruction of the pool. */
void sn_driver_start(sn_pool *pool);
void sn_driver_mark_dead(sn_pool *pool);
void sn_driver_revive(sn_pool *pool);
void sn_driver_stop(sn_pool *pool);

#endif
