/* pool_threads.c - the protocol between lane 0, which dispatches, and the other lanes.
 *
 * Each lane has one word, alone on its cache line. All of a lane's life is in it:
 *
 *   ABSENT --join--> IDLE --call--> CALLED --enter--> INSIDE --leave--> IDLE
 *                    |  ^              |                 |
 *                 doze  +---recall-----+              await
 *                    v                                   v
 *                 ASLEEP --call, wake--> CALLED       WAITED --leave, wake--> IDLE
 *
 *   IDLE, ASLEEP --quit--> QUIT --> ABSENT    all but ABSENT --mark_dead--> DEAD --revive--> ABSENT
 *
 *   the lane itself    join, doze, enter, leave, QUIT -> ABSENT
 *   lane 0             call, recall, await, quit, revive
 *   anyone             mark_dead
 *
 * Invariants
 *   1. A lane reads the dispatch (pool->fn, arg, ...) only while its word is INSIDE or WAITED, and
 *      only itself enters. Lane 0 writes it only when no word is CALLED, INSIDE or WAITED: settling
 *      has recalled the calls nobody followed and awaited those inside. So a late lane finds IDLE
 *      and goes back to rest, and sn_pool_run never waits for one that is still waking up.
 *   2. call is a release and enter an acquire: who is inside sees the whole dispatch, and next = 0.
 *      leave is a release and settle an acquire: lane 0 sees all that was computed. The counter of
 *      chunks itself orders nothing.
 *   3. ASLEEP is written by the lane alone, which then sleeps until the word differs; only the call
 *      that replaces ASLEEP has to wake. WAITED is the same with the roles exchanged.
 *   4. lost is set before a word becomes DEAD: a settle that passes a dead lane is followed by
 *      SN_ERR_WORKER. DEAD is left by revive only: a thread that was marked dead but lives fails to
 *      leave and ends.
 */
#include "base/alloc.h"
#include "threads/serial.h"
#include "threads/state.h"

enum lane_word { ABSENT, IDLE, ASLEEP, CALLED, INSIDE, WAITED, QUIT, DEAD };

/* Longer than a dispatch, the kernels between that run on one lane, and what a program does between
 * its calls: who sleeps may wake on the CPU of the one that wakes it, and both stay there for
 * milliseconds (wait.h). */
enum { SPIN_US = 200 };

/* ---- the lanes ------------------------------------------------------------------------------- */

static bool move(sn_word *word, uint32_t from, uint32_t to) {
  return atomic_compare_exchange_strong_explicit(word, &from, to, memory_order_acq_rel,
                                                 memory_order_acquire);
}

static void take_chunks(sn_pool *pool, int lane) {
  sn_pool_fn *fn = pool->fn;
  void *arg = pool->arg;
  const int64_t units = pool->units, grain = pool->grain;
  const uint64_t chunks = pool->chunks;
  while (!atomic_load_explicit(&pool->lost, memory_order_relaxed)) {
    const uint64_t chunk = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
    if (chunk >= chunks) return;
    const int64_t begin = (int64_t)chunk * grain;
    fn(arg, begin, units - begin > grain ? begin + grain : units, lane);
  }
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

void sn_lane_main(sn_pool *pool, int lane) {
  sn_word *word = &pool->lanes[lane].word;
  /* Before the word: whoever sees the lane up also sees it counted. */
  atomic_fetch_add_explicit(&pool->lanes_up, 1, memory_order_relaxed);
  if (!move(word, ABSENT, IDLE)) {
    atomic_fetch_sub_explicit(&pool->lanes_up, 1, memory_order_relaxed);
    return;
  }
  sn_wait_wake(word);
  for (uint32_t seen = rest(pool, word); seen != QUIT && seen != DEAD; seen = rest(pool, word)) {
    if (!move(word, CALLED, INSIDE)) continue;
    take_chunks(pool, lane);
    leave(word);
  }
  if (move(word, QUIT, ABSENT)) sn_wait_wake(word);
}

/* ---- lane 0 ---------------------------------------------------------------------------------- */

static bool call_lane(sn_pool *pool, sn_word *word) {
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

/* Calls up to `wanted` lanes; returns the last one called, 0 if none. */
static int call_lanes(sn_pool *pool, int wanted) {
  int last = 0;
  for (int lane = 1; lane < pool->max_lanes && wanted > 0; lane++) {
    if (!call_lane(pool, &pool->lanes[lane].word)) continue;
    last = lane;
    wanted--;
  }
  return last;
}

static void settle_lane(sn_word *word) {
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

static void settle_lanes(sn_pool *pool, int last) {
  for (int lane = 1; lane <= last; lane++) settle_lane(&pool->lanes[lane].word);
}

void sn_pool_settle(sn_pool *pool) { settle_lanes(pool, pool->max_lanes - 1); }

sn_status sn_pool_run(sn_pool *pool, sn_pool_fn *fn, void *arg, int64_t units, int64_t grain,
                      int lanes) {
  SN_TRY(sn_pool_lost(pool));
  if (lanes <= 1 || units <= grain || pool->max_lanes == 1) {
    sn_serial_run(fn, arg, units, grain);
    return SN_OK;
  }
  const uint64_t chunks = (uint64_t)((units - 1) / grain) + 1;
  pool->fn = fn;
  pool->arg = arg;
  pool->units = units;
  pool->grain = grain;
  pool->chunks = chunks;
  atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
  const int last = call_lanes(pool, (uint64_t)lanes < chunks ? lanes - 1 : (int)chunks - 1);
  take_chunks(pool, 0);
  settle_lanes(pool, last);
  return sn_pool_lost(pool);
}

/* ---- life and death -------------------------------------------------------------------------- */

static size_t pool_bytes(int lanes) { return sizeof(sn_pool) + (size_t)lanes * sizeof(sn_lane); }

static void start_missing_lanes(sn_pool *pool) {
  for (int lane = 1; lane < pool->max_lanes; lane++) {
    sn_lane *l = &pool->lanes[lane];
    if (!l->thread.started) sn_thread_start(&l->thread, pool, lane);
  }
  for (int lane = 1; lane < pool->max_lanes; lane++) {
    sn_lane *l = &pool->lanes[lane];
    while (l->thread.started && atomic_load_explicit(&l->word, memory_order_acquire) == ABSENT)
      sn_wait_change(&l->word, ABSENT);
  }
}

sn_status sn_pool_create(sn_env *env, int lanes, sn_pool **out) {
  SN_FAIL_IF(env, lanes < 1 || lanes > SN_POOL_MAX_LANES, SN_ERR_ARGUMENT,
             "threads: %d, expected 1 to %d", lanes, SN_POOL_MAX_LANES);
  void *block;
  SN_TRY(sn_alloc_zeroed(env, 1, pool_bytes(lanes), &block));
  sn_pool *pool = block;
  pool->max_lanes = lanes;
  atomic_init(&pool->lanes_up, 1);
  start_missing_lanes(pool);
  sn_driver_start(pool);
  *out = pool;
  return SN_OK;
}

static void stop_lane(sn_lane *lane) {
  while (move(&lane->word, IDLE, QUIT) || move(&lane->word, ASLEEP, QUIT) ||
         atomic_load_explicit(&lane->word, memory_order_acquire) == QUIT) {
    sn_wait_wake(&lane->word);
    sn_wait_change(&lane->word, QUIT);
  }
  sn_thread_join(&lane->thread);
}

void sn_pool_destroy(sn_env *env, sn_pool *pool) {
  if (!pool) return;
  sn_driver_stop(pool);
  sn_pool_settle(pool);
  for (int lane = 1; lane < pool->max_lanes; lane++) stop_lane(&pool->lanes[lane]);
  sn_free(env, pool, pool_bytes(pool->max_lanes));
}

int sn_pool_lanes(const sn_pool *pool) {
  return atomic_load_explicit(&pool->lanes_up, memory_order_acquire);
}

int sn_pool_max_lanes(const sn_pool *pool) { return pool->max_lanes; }

sn_status sn_pool_lost(const sn_pool *pool) {
  return atomic_load_explicit(&pool->lost, memory_order_acquire) ? SN_ERR_WORKER : SN_OK;
}

static void mark_lane_dead(sn_pool *pool, sn_word *word) {
  uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);
  do {
    if (seen == ABSENT || seen == DEAD) return;
    atomic_store_explicit(&pool->lost, true, memory_order_release);
  } while (!atomic_compare_exchange_weak_explicit(word, &seen, DEAD, memory_order_acq_rel,
                                                  memory_order_relaxed));
  atomic_fetch_sub_explicit(&pool->lanes_up, 1, memory_order_relaxed);
  sn_wait_wake(word);
}

void sn_pool_mark_dead(sn_pool *pool, int lane) {
  if (lane == SN_DRIVER_LANE)
    sn_driver_mark_dead(pool);
  else if (lane == 0)
    atomic_store_explicit(&pool->lost, true, memory_order_release);
  else if (lane > 0 && lane < pool->max_lanes)
    mark_lane_dead(pool, &pool->lanes[lane].word);
}

void sn_pool_revive(sn_pool *pool) {
  sn_driver_wait_all(pool);
  sn_pool_settle(pool);
  for (int lane = 1; lane < pool->max_lanes; lane++) {
    sn_lane *l = &pool->lanes[lane];
    if (atomic_load_explicit(&l->word, memory_order_acquire) != DEAD) continue;
    sn_thread_join(&l->thread);
    move(&l->word, DEAD, ABSENT);
  }
  atomic_store_explicit(&pool->lost, false, memory_order_release);
  start_missing_lanes(pool);
  sn_driver_revive(pool);
}
