/* start.h - starts and ends the pool's threads.
 * start_posix.c: pthreads. worker_shared.c: JS starts Web Workers, which enter by themselves. */
#ifndef SN_THREADS_START_H
#define SN_THREADS_START_H

#include "threads/pool.h"

typedef struct sn_thread {
  sn_pool *pool;
  int worker;       /* its number, or SN_POOL_DRIVER */
  bool started;     /* and not yet joined */
  uintptr_t handle; /* the operating system's */
} sn_thread;

/* Starts a thread that runs the loop of a worker; false if it cannot. thread must stay in place. */
bool sn_thread_start(sn_thread *thread, sn_pool *pool, int worker);

/* Waits for a started thread to end; others are ignored. */
void sn_thread_join(sn_thread *thread);

/* Tells the host, on the thread that ran it, that job `ticket` is completed. */
void sn_thread_job_done(uint32_t ticket);

#endif
