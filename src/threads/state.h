/* state.h - the memory of a pool with threads, shared by pool_threads.c and driver_threads.c.
 *
 *   line 0     the dispatch     written by lane 0 before it calls, constant while any is inside
 *   line 1     next chunk       all lanes add to it
 *   line 2     sizes, loss      written when threads come and go
 *   line 3     caller           written by lane 0 when it wakes a lane
 *   line 4..   driver           words of its producer and of itself apart, then the ring
 *   lanes      one line each    the word of the protocol in pool_threads.c
 *
 * What different threads write at the same time never shares a cache line. */
#ifndef SN_THREADS_STATE_H
#define SN_THREADS_STATE_H

#include "threads/driver.h"
#include "threads/start.h"
#include "threads/wait.h"

#define SN_CACHE_LINE 64

typedef struct sn_lane {
  _Alignas(SN_CACHE_LINE) sn_word word; /* enum lane_word of pool_threads.c */
  sn_thread thread;
} sn_lane;

typedef struct sn_job {
  sn_job_fn *fn; /* NULL: the driver ends */
  void *arg;
  sn_status status; /* once completed */
} sn_job;

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
  _Alignas(SN_CACHE_LINE) sn_job ring[SN_DRIVER_RING];
} sn_driver;

struct sn_pool {
  _Alignas(SN_CACHE_LINE) sn_pool_fn *fn;
  void *arg;
  int64_t units;
  int64_t grain;
  uint64_t chunks;
  _Alignas(SN_CACHE_LINE) _Atomic uint64_t next; /* first chunk that nobody has taken */
  _Alignas(SN_CACHE_LINE) _Atomic bool lost;     /* a thread died since the last revival */
  _Atomic int lanes_up;                          /* lane 0 included */
  int max_lanes;
  _Alignas(SN_CACHE_LINE) sn_word caller; /* see sn_wait_call */
  sn_driver driver;
  sn_lane lanes[]; /* max_lanes of them; the word of lane 0 is not used */
};

/* The loops of the threads; they return when the pool is destroyed or their lane is dead. */
void sn_lane_main(sn_pool *pool, int lane);
void sn_driver_main(sn_pool *pool);

/* Takes back calls that no lane has followed yet and waits until no living lane is inside fn. */
void sn_pool_settle(sn_pool *pool);

/* What creation, death, revival and destruction of a pool mean for its driver. */
void sn_driver_start(sn_pool *pool);
void sn_driver_mark_dead(sn_pool *pool);
void sn_driver_revive(sn_pool *pool);
void sn_driver_stop(sn_pool *pool);

#endif
