/* pool_support.h - what tests of the pool and of its driver share: pools, units that count, a
 * victim. A function simulates death by marking its own worker dead and returning without having done
 * its work, like a worker whose kernel has trapped. */
#ifndef SN_TESTS_POOL_SUPPORT_H
#define SN_TESTS_POOL_SUPPORT_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/host.h"
#include "ledger.h"
#include "threads/driver.h"
#include "threads/state.h"

static ledger memory = {.countdown = -1};
static sn_env env = {.heap = {.allocator = {&memory, ledger_allocate, ledger_release},
                              .limit_bytes = SIZE_MAX,
                              .fail_countdown = -1}};

static inline sn_pool *pool_of(int workers) {
  sn_pool *pool = NULL;
  assert_int_equal(sn_pool_create(&env, workers, &pool), SN_OK);
  assert_int_equal(sn_pool_workers(pool), workers);
  assert_int_equal(sn_pool_max_workers(pool), workers);
  return pool;
}

static inline void destroy(sn_pool *pool) {
  sn_pool_destroy(&env, pool);
  assert_int_equal(env.heap.live_blocks, 0);
}

static inline void pause_us(double us) {
  const double end = sn_host_now_ms() + us * 1e-3;
  while (sn_host_now_ms() < end) {}
}

static inline void await_flag(atomic_bool *flag) {
  while (!atomic_load(flag)) usleep(50);
}

/* Sets a flag from another thread after a while. */
typedef struct timer {
  pthread_t thread;
  atomic_bool *flag;
} timer;

static inline void *timer_main(void *arg) {
  usleep(5000);
  atomic_store(((timer *)arg)->flag, true);
  return NULL;
}

static inline void timer_start(timer *t, atomic_bool *flag) {
  t->flag = flag;
  assert_int_equal(pthread_create(&t->thread, NULL, timer_main, t), 0);
}

static inline void timer_join(timer *t) { pthread_join(t->thread, NULL); }

typedef struct tally {
  uint8_t *seen; /* per unit */
  int64_t units;
  int max_workers;
  atomic_int worker_used[SN_POOL_MAX_WORKERS];
  atomic_int inside;
  atomic_int bad;
} tally;

static inline void count_units(void *arg, int64_t begin, int64_t end, int worker) {
  tally *t = arg;
  atomic_fetch_add(&t->inside, 1);
  if (begin < 0 || begin >= end || end > t->units || worker < 0 || worker >= t->max_workers)
    atomic_store(&t->bad, 1);
  else
    for (int64_t u = begin; u < end; u++) t->seen[u]++;
  atomic_store(&t->worker_used[worker], 1);
  atomic_fetch_sub(&t->inside, 1);
}

static inline void check_units(sn_pool *pool, int64_t units, int64_t grain, int workers) {
  tally *t = calloc(1, sizeof *t);
  t->seen = calloc((size_t)units + 1, 1);
  t->units = units;
  t->max_workers = sn_pool_max_workers(pool);
  assert_int_equal(sn_pool_run(pool, count_units, t, units, grain, workers), SN_OK);
  assert_int_equal(atomic_load(&t->inside), 0);
  assert_int_equal(atomic_load(&t->bad), 0);
  for (int64_t u = 0; u < units; u++) assert_int_equal(t->seen[u], 1);
  int used = 0;
  for (int worker = 0; worker < t->max_workers; worker++)
    used += atomic_load(&t->worker_used[worker]);
  assert_true(used <= (workers < 1 ? 1 : workers));
  if (workers <= 1 || units <= grain) assert_int_equal(used, atomic_load(&t->worker_used[0]));
  free(t->seen);
  free(t);
}

static inline void add_lengths(void *arg, int64_t begin, int64_t end, int worker) {
  (void)worker;
  atomic_fetch_add((_Atomic int64_t *)arg, end - begin);
}

#define ALIVE 0x5eed

/* Lives on the dispatcher's stack for one dispatch only; late workers would find it poisoned. */
typedef struct frame {
  int magic;
  int64_t out[4];
} frame;

static atomic_int stale;

static inline void fill_frame(void *arg, int64_t begin, int64_t end, int worker) {
  frame *f = arg;
  (void)worker;
  if (f->magic != ALIVE) atomic_store(&stale, 1);
  for (int64_t u = begin; u < end; u++) f->out[u] += u + 1;
}

static inline void dispatch_frame(sn_pool *pool, int workers) {
  frame f = {.magic = ALIVE};
  assert_int_equal(sn_pool_run(pool, fill_frame, &f, 4, 1, workers), SN_OK);
  if (f.out[0] != 1 || f.out[1] != 2 || f.out[2] != 3 || f.out[3] != 4) fail();
  memset(&f, 0xdd, sizeof f);
}

typedef struct victim {
  sn_pool *pool;
  int worker;
  atomic_bool entered, let_go;
} victim;

/* The victim dies in its first chunk; nobody else finishes before. */
static inline void die_inside(void *arg, int64_t begin, int64_t end, int worker) {
  victim *v = arg;
  (void)begin, (void)end;
  if (worker == v->worker) {
    sn_pool_mark_dead(v->pool, worker);
    atomic_store(&v->entered, true);
  } else {
    await_flag(&v->entered);
  }
}

static inline void check_revival(sn_pool *pool) {
  const int workers = sn_pool_max_workers(pool);
  assert_int_equal(sn_pool_lost(pool), SN_ERR_WORKER);
  int64_t total = 0;
  assert_int_equal(sn_pool_run(pool, add_lengths, &total, 10, 1, workers), SN_ERR_WORKER);
  assert_int_equal(total, 0);
  sn_pool_revive(pool);
  assert_int_equal(sn_pool_lost(pool), SN_OK);
  assert_int_equal(sn_pool_workers(pool), workers);
  check_units(pool, 4099, 3, workers);
}

#endif
