/* pool_threads.c - the protocol between worker 0, which dispatches, and the other workers.
 *
 * Each worker has one word, alone on its cache line. All of a worker's life is in it:
 *
 *   ABSENT --join--> IDLE --call--> CALLED --enter--> INSIDE --leave--> IDLE
 *                    |  ^              |                 |
 *                 doze  +---recall-----+              await
 *                    v                                   v
 *                 ASLEEP --call, wake--> CALLED       WAITED --leave, wake--> IDLE
 *
 *   IDLE, ASLEEP --quit--> QUIT --> ABSENT    all but ABSENT --mark_dead--> DEAD --revive--> ABSENT
 *
 *   the worker itself   join, doze, enter, leave, QUIT -> ABSENT
 *   worker 0            call, recall, await, quit, revive
 *   anyone              mark_dead
 *
 * Invariants
 *   1. A worker reads the dispatch (pool->fn, arg, ...) only while its word is INSIDE or WAITED,
 *      and only the worker itself enters. Worker 0 writes it only when no word is CALLED, INSIDE or
 *      WAITED, that is, after it has settled: it recalls the calls that no worker has followed, and
 *      awaits the workers inside. So a late worker finds IDLE and goes back to rest, and sn_pool_run
 *      never waits for one that is still waking up.
 *   2. call is a release and enter an acquire: a worker inside sees the whole dispatch and how it is
 *      shared out. leave is a release and settle an acquire: worker 0 sees all that was computed. The
 *      counters of chunks themselves order nothing.
 *   3. The worker alone writes ASLEEP, and then sleeps until the word differs; only the call that
 *      replaces ASLEEP has to wake it. WAITED is the same with the roles exchanged.
 *   4. lost is set before a word becomes DEAD: a settle that passes a dead worker is followed by
 *      SN_ERR_WORKER. Only revive leaves DEAD: a thread that was marked dead but lives fails to
 *      leave and ends. */
#include "base/alloc.h"
#include "threads/serial.h"
#include "threads/state.h"

enum worker_word { ABSENT, IDLE, ASLEEP, CALLED, INSIDE, WAITED, QUIT, DEAD };

/* How long a worker spins before it sleeps: longer than a dispatch, than the one-worker kernels
 * between two dispatches, and than what a program does between its calls. A thread that sleeps may
 * wake on the CPU of the thread that wakes it, and both stay there for milliseconds (wait.h). */
enum { SPIN_US = 200 };

/* ---- the workers ----------------------------------------------------------------------------- */

static bool move(sn_word *word, uint32_t from, uint32_t to) {
  return atomic_compare_exchange_strong_explicit(word, &from, to, memory_order_acq_rel,
                                                 memory_order_acquire);
}

/* The first chunk of a share. */
static int64_t share_begin(const sn_pool *pool, int share) {
  const int64_t longer = share < pool->longer_shares ? share : pool->longer_shares;
  return share * pool->share_chunks + longer;
}

/* Takes chunks of a share until it has none left. */
static void take_share(sn_pool *pool, int share, int worker) {
  sn_pool_fn *fn = pool->fn;
  void *arg = pool->arg;
  const int64_t units = pool->units, grain = pool->grain, end = share_begin(pool, share + 1);
  _Atomic int64_t *next = &pool->workers[share].next;
  while (atomic_load_explicit(next, memory_order_relaxed) < end) {
    if (atomic_load_explicit(&pool->lost, memory_order_relaxed)) return;
    const int64_t chunk = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    if (chunk >= end) return;
    const int64_t begin = chunk * grain;
    fn(arg, begin, units - begin > grain ? begin + grain : units, worker);
  }
}

/* Its own share first: what the worker touched in the last dispatch lies in its cache. Then what
 * others have left. */
static void take_chunks(sn_pool *pool, int worker) {
  const int shares = pool->shares;
  for (int i = 0; i < shares; i++) take_share(pool, (worker + i) % shares, worker);
}

static void cut_shares(sn_pool *pool, int64_t chunks, int workers) {
  pool->shares = workers < chunks ? workers : (int)chunks;
  pool->share_chunks = chunks / pool->shares;
  pool->longer_shares = chunks % pool->shares;
  for (int i = 0; i < pool->shares; i++)
    atomic_store_explicit(&pool->workers[i].next, share_begin(pool, i), memory_order_relaxed);
}

static void leave(sn_word *word) {
  if (move(word, INSIDE, IDLE)) return;
  if (move(word, WAITED, IDLE)) sn_wait_wake(word);
}

/* Rests until the word is neither IDLE nor ASLEEP; returns what it is then. */
static uint32_t rest(sn_pool *pool, sn_word *word) {
  for (;;) {
    const uint32_t seen = sn_wait_spin(word, IDLE, SPIN_US);
    if (seen == IDLE)
      move(word, IDLE, ASLEEP);
    else if (seen == ASLEEP)
      sn_wait_sleep_apart(word, ASLEEP, &pool->caller);
    else
      return seen;
  }
}

void sn_worker_main(sn_pool *pool, int worker) {
  sn_word *word = &pool->workers[worker].word;
  /* counted before the word changes: a thread that sees the worker up also sees it counted */
  atomic_fetch_add_explicit(&pool->workers_up, 1, memory_order_relaxed);
  if (!move(word, ABSENT, IDLE)) {
    atomic_fetch_sub_explicit(&pool->workers_up, 1, memory_order_relaxed);
    return;
  }
  sn_wait_wake(word);
  for (uint32_t seen = rest(pool, word); seen != QUIT && seen != DEAD; seen = rest(pool, word)) {
    if (!move(word, CALLED, INSIDE)) continue;
    take_chunks(pool, worker);
    leave(word);
  }
  if (move(word, QUIT, ABSENT)) sn_wait_wake(word);
}

/* ---- worker 0 -------------------------------------------------------------------------------- */

static bool call_worker(sn_pool *pool, sn_word *word) {
  uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);
  while (seen == IDLE || seen == ASLEEP) {
    if (!atomic_compare_exchange_weak_explicit(word, &seen, CALLED, memory_order_release,
                                               memory_order_relaxed))
      continue;
    if (seen == ASLEEP) sn_wait_call(word, &pool->caller);
    return true;
  }
  return false;
}

/* Calls up to `wanted` workers; returns the last one called, 0 if none. */
static int call_workers(sn_pool *pool, int wanted) {
  int last = 0;
  for (int worker = 1; worker < pool->max_workers && wanted > 0; worker++) {
    if (!call_worker(pool, &pool->workers[worker].word)) continue;
    last = worker;
    wanted--;
  }
  return last;
}

static void settle_worker(sn_word *word) {
  for (;;) {
    switch (atomic_load_explicit(word, memory_order_acquire)) {
    case CALLED:
      if (move(word, CALLED, IDLE)) return;
      break;
    case INSIDE:
      if (sn_wait_spin(word, INSIDE, SPIN_US) == INSIDE) move(word, INSIDE, WAITED);
      break;
    case WAITED: sn_wait_sleep(word, WAITED); break;
    default: return;
    }
  }
}

static void settle_workers(sn_pool *pool, int last) {
  for (int worker = 1; worker <= last; worker++) settle_worker(&pool->workers[worker].word);
}

void sn_pool_settle(sn_pool *pool) { settle_workers(pool, pool->max_workers - 1); }

sn_status sn_pool_run(sn_pool *pool, sn_pool_fn *fn, void *arg, int64_t units, int64_t grain,
                      int workers) {
  SN_TRY(sn_pool_lost(pool));
  if (workers <= 1 || units <= grain || pool->max_workers == 1) {
    sn_serial_run(fn, arg, units, grain);
    return SN_OK;
  }
  pool->fn = fn;
  pool->arg = arg;
  pool->units = units;
  pool->grain = grain;
  cut_shares(pool, (units - 1) / grain + 1,
             workers < pool->max_workers ? workers : pool->max_workers);
  const int last = call_workers(pool, pool->shares - 1);
  take_chunks(pool, 0);
  settle_workers(pool, last);
  return sn_pool_lost(pool);
}

/* ---- life and death -------------------------------------------------------------------------- */

static size_t pool_bytes(int workers) {
  return sizeof(sn_pool) + (size_t)workers * sizeof(sn_worker);
}

static void start_missing_workers(sn_pool *pool) {
  for (int worker = 1; worker < pool->max_workers; worker++) {
    sn_worker *w = &pool->workers[worker];
    if (!w->thread.started) sn_thread_start(&w->thread, pool, worker);
  }
  for (int worker = 1; worker < pool->max_workers; worker++) {
    sn_worker *w = &pool->workers[worker];
    while (w->thread.started && atomic_load_explicit(&w->word, memory_order_acquire) == ABSENT)
      sn_wait_change(&w->word, ABSENT);
  }
}

sn_status sn_pool_create(sn_env *env, int workers, sn_pool **out) {
  SN_FAIL_IF(env, workers < 1 || workers > SN_POOL_MAX_WORKERS, SN_ERR_ARGUMENT, "threads",
             "%d, expected 1 to %d", workers, SN_POOL_MAX_WORKERS);
  void *block;
  SN_TRY(sn_alloc_zeroed(env, 1, pool_bytes(workers), &block));
  sn_pool *pool = block;
  pool->max_workers = workers;
  atomic_init(&pool->workers_up, 1);
  start_missing_workers(pool);
  sn_driver_start(pool);
  *out = pool;
  return SN_OK;
}

static void stop_worker(sn_worker *worker) {
  while (move(&worker->word, IDLE, QUIT) || move(&worker->word, ASLEEP, QUIT) ||
         atomic_load_explicit(&worker->word, memory_order_acquire) == QUIT) {
    sn_wait_wake(&worker->word);
    sn_wait_change(&worker->word, QUIT);
  }
  sn_thread_join(&worker->thread);
}

void sn_pool_destroy(sn_env *env, sn_pool *pool) {
  if (!pool) return;
  sn_driver_stop(pool);
  sn_pool_settle(pool);
  for (int worker = 1; worker < pool->max_workers; worker++) stop_worker(&pool->workers[worker]);
  sn_free(env, pool, pool_bytes(pool->max_workers));
}

int sn_pool_workers(const sn_pool *pool) {
  return atomic_load_explicit(&pool->workers_up, memory_order_acquire);
}

int sn_pool_max_workers(const sn_pool *pool) { return pool->max_workers; }

sn_status sn_pool_lost(const sn_pool *pool) {
  return atomic_load_explicit(&pool->lost, memory_order_acquire) ? SN_ERR_WORKER : SN_OK;
}

static void mark_worker_dead(sn_pool *pool, sn_word *word) {
  uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);
  do {
    if (seen == ABSENT || seen == DEAD) return;
    atomic_store_explicit(&pool->lost, true, memory_order_release);
  } while (!atomic_compare_exchange_weak_explicit(word, &seen, DEAD, memory_order_acq_rel,
                                                  memory_order_relaxed));
  atomic_fetch_sub_explicit(&pool->workers_up, 1, memory_order_relaxed);
  sn_wait_wake(word);
}

void sn_pool_mark_dead(sn_pool *pool, int worker) {
  if (worker == SN_POOL_DRIVER)
    sn_driver_mark_dead(pool);
  else if (worker == 0)
    atomic_store_explicit(&pool->lost, true, memory_order_release);
  else if (worker > 0 && worker < pool->max_workers)
    mark_worker_dead(pool, &pool->workers[worker].word);
}

void sn_pool_revive(sn_pool *pool) {
  sn_driver_wait_all(pool);
  sn_pool_settle(pool);
  for (int worker = 1; worker < pool->max_workers; worker++) {
    sn_worker *w = &pool->workers[worker];
    if (atomic_load_explicit(&w->word, memory_order_acquire) != DEAD) continue;
    sn_thread_join(&w->thread);
    move(&w->word, DEAD, ABSENT);
  }
  atomic_store_explicit(&pool->lost, false, memory_order_release);
  start_missing_workers(pool);
  sn_driver_revive(pool);
}
