/* test_threads.c - the pool: every unit runs once, no hang, no stale argument, and a thread that dies at
 * each possible point. Units write plain memory on purpose, so that the TSan build checks the protocol's
 * memory ordering and not only its counts. */
#define _GNU_SOURCE 1

#include "pool_support.h"
#include "random.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* ---- units ----------------------------------------------------------------------------------- */

static void test_every_unit_once(void **state) {
  (void)state;
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 63, 1000, 4099};
  static const int64_t grains[] = {1, 2, 5, 64, 4098, 100000};
  for (int max = 1; max <= 8; max++) {
    sn_pool *pool = pool_of(max);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
      for (size_t g = 0; g < sizeof grains / sizeof *grains; g++)
        for (int workers = 0; workers <= max + 1; workers++)
          check_units(pool, sizes[s], grains[g], workers);
    destroy(pool);
  }
}

static void test_huge_counts(void **state) {
  (void)state;
  static const int64_t grains[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2, INT64_MAX / 1001,
                                   (int64_t)1 << 62};
  sn_pool *pool = pool_of(4);
  for (size_t g = 0; g < sizeof grains / sizeof *grains; g++)
    for (int workers = 1; workers <= 4; workers++) {
      _Atomic int64_t total = 0;
      assert_int_equal(sn_pool_run(pool, add_lengths, &total, INT64_MAX, grains[g], workers),
                       SN_OK);
      assert_true(atomic_load(&total) == INT64_MAX);
    }
  destroy(pool);
}

/* ---- many dispatches ------------------------------------------------------------------------- */

static void test_tiny_dispatches_back_to_back(void **state) {
  (void)state;
  static const int counts[][2] = {{2, 200000}, {4, 20000}, {8, 5000}};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    sn_pool *pool = pool_of(counts[c][0]);
    for (int i = 0; i < counts[c][1]; i++) dispatch_frame(pool, counts[c][0]);
    destroy(pool);
  }
  assert_int_equal(atomic_load(&stale), 0);
}

/* Gaps about as long as the spin: calls meet workers on their way to sleep. */
static void test_dispatches_with_gaps(void **state) {
  (void)state;
  case_random random = {12345};
  sn_pool *pool = pool_of(3);
  for (int i = 0; i < 5000; i++) {
    pause_us(case_between(&random, 0, 400));
    dispatch_frame(pool, 2 + (int)case_below(&random, 2));
  }
  destroy(pool);
  assert_int_equal(atomic_load(&stale), 0);
}

typedef struct cpus {
  cpu_set_t allowed;
  atomic_int workers, others;
} cpus;

static void compare_cpus(void *arg, int64_t begin, int64_t end, int worker) {
  cpus *c = arg;
  cpu_set_t now;
  (void)begin, (void)end;
  if (sched_getaffinity(0, sizeof now, &now) || !CPU_EQUAL(&now, &c->allowed))
    atomic_fetch_add(&c->others, 1);
  if (worker > 0) atomic_fetch_add(&c->workers, 1);
  pause_us(100);
}

/* A worker may be kept off a CPU while it sleeps, but not while it computes. */
static void test_workers_compute_on_any_cpu(void **state) {
  (void)state;
  cpus c = {.workers = 0};
  assert_int_equal(sched_getaffinity(0, sizeof c.allowed, &c.allowed), 0);
  sn_pool *pool = pool_of(3);
  for (int i = 0; i < 500 && atomic_load(&c.workers) < 50; i++) {
    usleep(2000);
    assert_int_equal(sn_pool_run(pool, compare_cpus, &c, 12, 1, 3), SN_OK);
  }
  destroy(pool);
  assert_true(atomic_load(&c.workers) >= 50);
  assert_int_equal(atomic_load(&c.others), 0);
}

/* Chunks long enough that worker 0 goes to sleep while it awaits the others. */
static void sleep_a_little(void *arg, int64_t begin, int64_t end, int worker) {
  (void)end;
  usleep(worker ? 2000 : 1);
  ((int *)arg)[begin] = 1;
}

static void test_caller_sleeps_while_waiting(void **state) {
  (void)state;
  sn_pool *pool = pool_of(4);
  for (int i = 0; i < 50; i++) {
    int done[8] = {0};
    assert_int_equal(sn_pool_run(pool, sleep_a_little, done, 8, 1, 4), SN_OK);
    for (int u = 0; u < 8; u++) assert_int_equal(done[u], 1);
  }
  destroy(pool);
}

/* Who computed a unit, and as the how manyth. Unit 0 ends after unit 3: only worker 1 gets there. */
typedef struct turns {
  atomic_int next;
  atomic_int turn[4]; /* 0: not yet */
  int worker[4];
} turns;

static void take_turn(void *arg, int64_t begin, int64_t end, int worker) {
  turns *t = arg;
  (void)end;
  t->worker[begin] = worker;
  while (begin == 0 && !atomic_load(&t->turn[3])) sched_yield();
  atomic_store(&t->turn[begin], atomic_fetch_add(&t->next, 1) + 1);
}

static void test_own_share_first(void **state) {
  (void)state;
  sn_pool *pool = pool_of(2);
  for (int i = 0; i < 200; i++) {
    turns t = {.next = 0};
    assert_int_equal(sn_pool_run(pool, take_turn, &t, 4, 1, 2), SN_OK);
    assert_int_equal(t.worker[2], 1);
    assert_int_equal(t.worker[3], 1);
    assert_int_equal(atomic_load(&t.turn[2]), 1); /* unit 1 is of the other's share */
    assert_int_equal(atomic_load(&t.turn[3]), 2);
  }
  destroy(pool);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void test_create_and_destroy(void **state) {
  (void)state;
  sn_pool_destroy(&env, NULL);
  for (int i = 0; i < 50; i++) destroy(pool_of(1 + i % 8));
  sn_pool *asleep = pool_of(8);
  usleep(20000);
  destroy(asleep);
}

static void test_nested_pools(void **state) {
  (void)state;
  sn_pool *outer = pool_of(3);
  sn_pool *inner = pool_of(2);
  dispatch_frame(outer, 3);
  dispatch_frame(inner, 2);
  sn_pool_destroy(&env, outer);
  dispatch_frame(inner, 2);
  destroy(inner);
}

static void test_bad_arguments(void **state) {
  (void)state;
  sn_pool *pool = NULL;
  assert_int_equal(sn_pool_create(&env, 0, &pool), SN_ERR_ARGUMENT);
  assert_int_equal(sn_pool_create(&env, SN_POOL_MAX_WORKERS + 1, &pool), SN_ERR_ARGUMENT);
  env.heap.fail_countdown = 0;
  assert_int_equal(sn_pool_create(&env, 2, &pool), SN_ERR_MEMORY);
  env.heap.fail_countdown = -1;
  assert_null(pool);
  assert_int_equal(env.heap.live_blocks, 0);
  assert_in_range(sn_pool_cores(), 1, SN_POOL_MAX_WORKERS);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

/* Emulators of user programs set their guests no limit of address space. */
static bool maps(size_t bytes) {
  void *block = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) return false;
  munmap(block, bytes);
  return true;
}

/* Leaves room for the stacks of a few threads only. */
static void test_threads_that_cannot_start(void **state) {
  (void)state;
  if (SANITIZED) skip(); /* shadow memory does not fit any limit */
  long pages = 0;
  FILE *statm = fopen("/proc/self/statm", "r");
  if (!statm || fscanf(statm, "%ld", &pages) != 1) skip();
  fclose(statm);
  struct rlimit before, small;
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  small = before;
  small.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)64 << 20);
  assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
  if (maps((size_t)128 << 20)) {
    setrlimit(RLIMIT_AS, &before);
    skip();
  }
  sn_pool *pool = NULL;
  const sn_status status = sn_pool_create(&env, 200, &pool);
  assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
  assert_int_equal(status, SN_OK);
  assert_true(sn_pool_workers(pool) < 200);
  assert_int_equal(sn_pool_max_workers(pool), 200);
  assert_false(sn_driver_available(pool));
  check_units(pool, 4099, 3, 200);
  sn_pool_revive(pool); /* room again: the missing ones come up */
  assert_int_equal(sn_pool_workers(pool), 200);
  assert_true(sn_driver_available(pool));
  check_units(pool, 4099, 3, 200);
  destroy(pool);
}

/* ---- death of a worker ------------------------------------------------------------------------- */

static void test_worker_dies_inside(void **state) {
  (void)state;
  for (int workers = 2; workers <= 4; workers++) {
    sn_pool *pool = pool_of(workers);
    for (int worker = 1; worker < workers; worker++) {
      victim v = {.pool = pool, .worker = worker};
      assert_int_equal(sn_pool_run(pool, die_inside, &v, 1000, 1, workers), SN_ERR_WORKER);
      assert_int_equal(sn_pool_workers(pool), workers - 1);
      check_revival(pool);
    }
    destroy(pool);
  }
}

/* A worker that never comes back, and is found dead by somebody else while worker 0 waits for it. */
static void hang_inside(void *arg, int64_t begin, int64_t end, int worker) {
  victim *v = arg;
  (void)begin, (void)end;
  if (worker == v->worker) {
    atomic_store(&v->entered, true);
    await_flag(&v->let_go);
  } else {
    await_flag(&v->entered);
  }
}

static void *undertaker_main(void *arg) {
  victim *v = arg;
  await_flag(&v->entered);
  usleep(5000);
  sn_pool_mark_dead(v->pool, v->worker);
  return NULL;
}

static void test_hanging_worker_marked_dead(void **state) {
  (void)state;
  sn_pool *pool = pool_of(2);
  for (int i = 0; i < 5; i++) {
    victim v = {.pool = pool, .worker = 1};
    pthread_t undertaker;
    assert_int_equal(pthread_create(&undertaker, NULL, undertaker_main, &v), 0);
    assert_int_equal(sn_pool_run(pool, hang_inside, &v, 2, 1, 2), SN_ERR_WORKER);
    pthread_join(undertaker, NULL);
    atomic_store(&v.let_go, true);
    check_revival(pool);
  }
  destroy(pool);
}

static void test_death_outside_a_run(void **state) {
  (void)state;
  sn_pool *pool = pool_of(3);
  sn_pool_mark_dead(pool, 2);
  sn_pool_mark_dead(pool, 2);
  assert_int_equal(sn_pool_workers(pool), 2);
  check_revival(pool);
  usleep(5000);
  sn_pool_mark_dead(pool, 1); /* asleep */
  check_revival(pool);
  sn_pool_mark_dead(pool, 0); /* the caller came out of fn by a trap */
  check_revival(pool);
  sn_pool_mark_dead(pool, 3); /* no such worker */
  sn_pool_mark_dead(pool, -2);
  assert_int_equal(sn_pool_lost(pool), SN_OK);
  sn_pool_mark_dead(pool, 1);
  destroy(pool); /* without revival */
}

/* Marks workers dead at arbitrary moments of a stream of dispatches. */
static void *reaper_main(void *arg) {
  victim *v = arg;
  for (int i = 0; !atomic_load(&v->let_go); i++) {
    pause_us(20 + i % 7 * 30);
    sn_pool_mark_dead(v->pool, 1 + i % 3);
  }
  return NULL;
}

static void test_deaths_at_any_moment(void **state) {
  (void)state;
  victim v = {.pool = pool_of(4)};
  pthread_t reaper;
  assert_int_equal(pthread_create(&reaper, NULL, reaper_main, &v), 0);
  int lost = 0;
  for (int i = 0; lost < 100; i++) {
    /* Workers marked dead here are alive, so what they write must outlive the dispatch. */
    static _Atomic int64_t total;
    atomic_store(&total, 0);
    if (sn_pool_run(v.pool, add_lengths, &total, 64, 1, 4) == SN_OK) {
      assert_int_equal(atomic_load(&total), 64);
      continue;
    }
    lost++;
    sn_pool_revive(v.pool);
  }
  atomic_store(&v.let_go, true);
  pthread_join(reaper, NULL);
  destroy(v.pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_unit_once),
      cmocka_unit_test(test_huge_counts),
      cmocka_unit_test(test_tiny_dispatches_back_to_back),
      cmocka_unit_test(test_dispatches_with_gaps),
      cmocka_unit_test(test_workers_compute_on_any_cpu),
      cmocka_unit_test(test_caller_sleeps_while_waiting),
      cmocka_unit_test(test_own_share_first),
      cmocka_unit_test(test_create_and_destroy),
      cmocka_unit_test(test_nested_pools),
      cmocka_unit_test(test_bad_arguments),
      cmocka_unit_test(test_threads_that_cannot_start),
      cmocka_unit_test(test_worker_dies_inside),
      cmocka_unit_test(test_hanging_worker_marked_dead),
      cmocka_unit_test(test_death_outside_a_run),
      cmocka_unit_test(test_deaths_at_any_moment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
