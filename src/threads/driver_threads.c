/* driver_threads.c - the driver: a ring of jobs. One thread, the API thread (the producer), puts them
 * in. The driver runs them, or the API thread itself when it waits and the driver has not begun yet.
 * So a call that needs a job at once does not wait until a sleeping driver is awake, nor, on a page,
 * spin beside it.
 *
 *   ring:   ... completed | completed+1 ... submitted | free ...
 *                           ^ claimed, or nobody's yet  ^ the producer fills this one
 *
 * Invariants
 *   1. Only the producer writes submitted (release: the slot before it). Job completed + 1 belongs to
 *      the thread that moves claimed from completed to it. Only that thread writes its status, and
 *      then completed (release: also of all that the job computed). Other slots between completed
 *      and submitted belong to nobody, all the rest to the producer.
 *   2. While no driver is up (ABSENT) the ring is empty and the producer writes completed too,
 *      before submitted: a driver that comes up meanwhile never sees work where there is none.
 *   3. progress counts whatever may end a wait for the driver, calls whatever may end a wait of the
 *      driver. A waiter reads the count before it tests what it waits for and sleeps only while the
 *      count is unchanged, so neither a job, a completion nor a death is missed.
 *   4. A driver marked dead completes nothing more; sn_driver_revive completes its jobs. */
#include "threads/driver.h"

#include <math.h>

#include "threads/state.h"

enum driver_state { ABSENT, UP, DEAD };

static uint32_t acquire(const sn_word *word) {
  return atomic_load_explicit(word, memory_order_acquire);
}

static bool move_state(sn_driver *driver, uint32_t from, uint32_t to) {
  return atomic_compare_exchange_strong_explicit(&driver->state, &from, to, memory_order_acq_rel,
                                                 memory_order_acquire);
}

static sn_driver_slot *slot(sn_driver *driver, uint32_t ticket) {
  return &driver->ring[ticket % SN_DRIVER_RING];
}

/* Jobs in the ring; 0 also where invariant 2 lets completed run ahead for a moment. */
static uint32_t pending(const sn_driver *driver) {
  const int32_t jobs = (int32_t)(acquire(&driver->submitted) - acquire(&driver->completed));
  return jobs > 0 ? (uint32_t)jobs : 0;
}

static void count(sn_word *events) {
  atomic_fetch_add_explicit(events, 1, memory_order_acq_rel);
  sn_wait_wake(events);
}

static void announce(sn_driver *driver) { count(&driver->progress); }

static void call(sn_driver *driver) { count(&driver->calls); }

/* Claims the oldest job for the caller; false if it lies behind `last`, or is claimed already. */
static bool claim(sn_driver *driver, uint32_t last, uint32_t *ticket) {
  uint32_t completed = acquire(&driver->completed);
  *ticket = completed + 1;
  return (int32_t)(last - completed) > 0 &&
         atomic_compare_exchange_strong_explicit(&driver->claimed, &completed, *ticket,
                                                 memory_order_acq_rel, memory_order_relaxed);
}

static void complete(sn_driver *driver, uint32_t ticket, sn_status status) {
  slot(driver, ticket)->status = status;
  atomic_store_explicit(&driver->completed, ticket, memory_order_release);
  announce(driver);
  sn_thread_job_done(ticket);
}

/* ---- the driver's thread --------------------------------------------------------------------- */

/* Runs a job that was claimed; false when the driver has to end. */
static bool run_claimed(sn_driver *driver, uint32_t ticket) {
  const sn_driver_slot *job = slot(driver, ticket);
  if (!job->fn) return false;
  sn_status status;
  job->fn(job->arg, INFINITY, &status);
  if (acquire(&driver->state) == DEAD) return false;
  complete(driver, ticket, status);
  return true;
}

void sn_driver_main(sn_pool *pool) {
  sn_driver *driver = &pool->driver;
  if (!move_state(driver, ABSENT, UP)) return;
  sn_wait_wake(&driver->state);
  for (bool going = true; going;) {
    const uint32_t seen = acquire(&driver->calls);
    if (acquire(&driver->state) != UP) break;
    uint32_t ticket;
    if (claim(driver, acquire(&driver->submitted), &ticket))
      going = run_claimed(driver, ticket);
    else
      sn_wait_change(&driver->calls, seen);
  }
  if (move_state(driver, UP, ABSENT)) sn_wait_wake(&driver->state);
}

/* ---- the API thread -------------------------------------------------------------------------- */

bool sn_driver_available(const sn_pool *pool) { return acquire(&pool->driver.state) == UP; }

void sn_driver_take_turns(sn_pool *pool) { (void)pool; }

bool sn_driver_turn(sn_pool *pool, double ms) {
  (void)ms;
  return !sn_driver_idle(pool);
}

uint32_t sn_driver_completed(const sn_pool *pool) { return acquire(&pool->driver.completed); }

bool sn_driver_idle(const sn_pool *pool) { return pending(&pool->driver) == 0; }

sn_status sn_driver_status(const sn_pool *pool, uint32_t ticket) {
  return pool->driver.ring[ticket % SN_DRIVER_RING].status;
}

/* Runs the oldest job on this thread; false if the driver is in it, or if it lies behind `last`: the driver may have completed
 * all jobs up to that one meanwhile, and later ones, which nobody waits for, are left to it. */
static bool run_oldest(sn_driver *driver, uint32_t last) {
  uint32_t ticket;
  if (!claim(driver, last, &ticket)) return false;
  const sn_driver_slot *job = slot(driver, ticket);
  sn_status status;
  driver->here = ticket;
  job->fn(job->arg, INFINITY, &status);
  complete(driver, ticket, status);
  call(driver);
  return true;
}

/* Fails a job that this thread began and did not come back from, because it trapped. */
static void fail_trapped(sn_pool *pool) {
  sn_driver *driver = &pool->driver;
  const uint32_t ticket = acquire(&driver->completed) + 1;
  if (driver->here != ticket || !pending(driver)) return;
  sn_pool_settle(pool);
  complete(driver, ticket, SN_ERR_INTERNAL);
}

/* Waits until at most `most` jobs are pending. */
static sn_status wait_pending(sn_pool *pool, uint32_t most) {
  sn_driver *driver = &pool->driver;
  fail_trapped(pool);
  const uint32_t last = acquire(&driver->submitted) - most;
  for (;;) {
    const uint32_t seen = acquire(&driver->progress);
    if (pending(driver) <= most) return SN_OK;
    if (acquire(&driver->state) == DEAD) {
      sn_pool_settle(pool);
      return SN_ERR_WORKER;
    }
    if (!run_oldest(driver, last)) sn_wait_change(&driver->progress, seen);
  }
}

sn_status sn_driver_wait(sn_pool *pool, uint32_t ticket) {
  const uint32_t later = acquire(&pool->driver.submitted) - ticket;
  return (int32_t)later < 0 ? SN_ERR_ARGUMENT : wait_pending(pool, later);
}

sn_status sn_driver_wait_all(sn_pool *pool) { return wait_pending(pool, 0); }

static void push(sn_driver *driver, sn_driver_fn *fn, void *arg) {
  const uint32_t ticket = acquire(&driver->submitted) + 1;
  *slot(driver, ticket) = (sn_driver_slot){.fn = fn, .arg = arg};
  atomic_store_explicit(&driver->submitted, ticket, memory_order_release);
  call(driver);
}

static void run_here(sn_driver *driver, sn_driver_fn *fn, void *arg) {
  const uint32_t ticket = acquire(&driver->submitted) + 1;
  sn_driver_slot *job = slot(driver, ticket);
  *job = (sn_driver_slot){.fn = fn, .arg = arg};
  fn(arg, INFINITY, &job->status);
  atomic_store_explicit(&driver->claimed, ticket, memory_order_relaxed);
  atomic_store_explicit(&driver->completed, ticket, memory_order_release);
  atomic_store_explicit(&driver->submitted, ticket, memory_order_release);
}

sn_status sn_driver_submit(sn_env *env, sn_pool *pool, sn_driver_fn *fn, void *arg,
                           uint32_t *ticket) {
  sn_driver *driver = &pool->driver;
  SN_FAIL_IF(env, wait_pending(pool, SN_DRIVER_RING - 1) || sn_pool_lost(pool), SN_ERR_WORKER, NULL,
             "a thread of the pool was lost");
  if (sn_driver_available(pool))
    push(driver, fn, arg);
  else
    run_here(driver, fn, arg);
  *ticket = acquire(&driver->submitted);
  return SN_OK;
}

/* ---- life and death -------------------------------------------------------------------------- */

void sn_driver_start(sn_pool *pool) {
  sn_driver *driver = &pool->driver;
  if (driver->thread.started || !sn_thread_start(&driver->thread, pool, SN_POOL_DRIVER)) return;
  while (acquire(&driver->state) == ABSENT) sn_wait_change(&driver->state, ABSENT);
}

void sn_driver_mark_dead(sn_pool *pool) {
  sn_driver *driver = &pool->driver;
  if (acquire(&driver->state) != UP) return;
  atomic_store_explicit(&pool->lost, true, memory_order_release);
  if (!move_state(driver, UP, DEAD)) return;
  announce(driver);
  /* if its thread is alive after all, it ends when it next looks at the state */
  call(driver);
}

void sn_driver_revive(sn_pool *pool) {
  sn_driver *driver = &pool->driver;
  if (acquire(&driver->state) == DEAD) {
    sn_thread_join(&driver->thread);
    const uint32_t last = acquire(&driver->submitted);
    for (uint32_t n = pending(driver); n > 0; n--)
      slot(driver, last - n + 1)->status = SN_ERR_WORKER;
    atomic_store_explicit(&driver->claimed, last, memory_order_relaxed);
    atomic_store_explicit(&driver->completed, last, memory_order_release);
    announce(driver);
    move_state(driver, DEAD, ABSENT);
  }
  sn_driver_start(pool);
}

void sn_driver_stop(sn_pool *pool) {
  sn_driver *driver = &pool->driver;
  wait_pending(pool, 0);
  if (sn_driver_available(pool)) push(driver, NULL, NULL);
  while (acquire(&driver->state) == UP) sn_wait_change(&driver->state, UP);
  sn_thread_join(&driver->thread);
}
