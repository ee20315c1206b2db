/* start_posix.c - the pool's threads as pthreads. */
#define _GNU_SOURCE 1

#include "threads/start.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "threads/state.h"

int sn_pool_cores(void) {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus)) return 1;
  const int count = CPU_COUNT(&cpus);
  return count < SN_POOL_MAX_WORKERS ? count : SN_POOL_MAX_WORKERS;
}

static void *enter(void *arg) {
  const sn_thread *thread = arg;
  if (thread->worker == SN_POOL_DRIVER)
    sn_driver_main(thread->pool);
  else
    sn_worker_main(thread->pool, thread->worker);
  return NULL;
}

bool sn_thread_start(sn_thread *thread, sn_pool *pool, int worker) {
  thread->pool = pool;
  thread->worker = worker;
  /* The program's signal handlers run on the program's threads: ours inherit a full mask. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t handle;
  thread->started = pthread_create(&handle, NULL, enter, thread) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (thread->started) thread->handle = (uintptr_t)handle;
  return thread->started;
}

void sn_thread_join(sn_thread *thread) {
  if (!thread->started) return;
  pthread_join((pthread_t)thread->handle, NULL);
  thread->started = false;
}

void sn_thread_job_done(uint32_t ticket) { (void)ticket; }
