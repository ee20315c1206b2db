/* test_threads.c - the pool and its driver: every unit once, no hang, no stale argument, and death
 * of a thread at each point. Units write plain memory on purpose: the TSan build then checks the
 * protocol's ordering, not only its counts. Death is played by a function that marks its own lane
 * dead and returns without having done its work, as a worker whose kernel has trapped. */
#define _GNU_SOURCE 1

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/host.h"
#include "threads/driver.h"
#include "threads/state.h"

/* ---- fixtures ---------------------------------------------------------------------------------
 */

static void *allocate(void *user, size_t bytes, size_t alignment) {
  (void)user;
  return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *user, void *block, size_t bytes) {
  (void)user, (void)bytes;
  free(block);
}

static sn_env env = {.heap = {.allocator = {.allocate = allocate, .release = release},
                              .limit_bytes = SIZE_MAX,
                              .fail_countdown = -1}};

static sn_pool *pool_of(int lanes) {
  sn_pool *pool = NULL;
  assert_int_equal(sn_pool_create(&env, lanes, &pool), SN_OK);
  assert_int_equal(sn_pool_lanes(pool), lanes);
  assert_int_equal(sn_pool_max_lanes(pool), lanes);
  return pool;
}

static void destroy(sn_pool *pool) {
  sn_pool_destroy(&env, pool);
  assert_int_equal(env.heap.live_blocks, 0);
}

static void pause_us(double us) {
  const double end = sn_host_now_ms() + us * 1e-3;
  while (sn_host_now_ms() < end) {}
}

static void await_flag(atomic_bool *flag) {
  while (!atomic_load(flag)) usleep(50);
}

/* Sets a flag from another thread after a while. */
typedef struct timer {
  pthread_t thread;
  atomic_bool *flag;
} timer;

static void *timer_main(void *arg) {
  usleep(5000);
  atomic_store(((timer *)arg)->flag, true);
  return NULL;
}

static void timer_start(timer *t, atomic_bool *flag) {
  t->flag = flag;
  assert_int_equal(pthread_create(&t->thread, NULL, timer_main, t), 0);
}

static void timer_join(timer *t) { pthread_join(t->thread, NULL); }

/* ---- units ------------------------------------------------------------------------------------
 */

typedef struct tally {
  uint8_t *seen; /* per unit */
  int64_t units;
  int max_lanes;
  atomic_int lane_used[SN_POOL_MAX_LANES];
  atomic_int inside;
  atomic_int bad;
} tally;

static void count_units(void *arg, int64_t begin, int64_t end, int lane) {
  tally *t = arg;
  atomic_fetch_add(&t->inside, 1);
  if (begin < 0 || begin >= end || end > t->units || lane < 0 || lane >= t->max_lanes)
    atomic_store(&t->bad, 1);
  else
    for (int64_t u = begin; u < end; u++) t->seen[u]++;
  atomic_store(&t->lane_used[lane], 1);
  atomic_fetch_sub(&t->inside, 1);
}

static void check_units(sn_pool *pool, int64_t units, int64_t grain, int lanes) {
  tally *t = calloc(1, sizeof *t);
  t->seen = calloc((size_t)units + 1, 1);
  t->units = units;
  t->max_lanes = sn_pool_max_lanes(pool);
  assert_int_equal(sn_pool_run(pool, count_units, t, units, grain, lanes), SN_OK);
  assert_int_equal(atomic_load(&t->inside), 0);
  assert_int_equal(atomic_load(&t->bad), 0);
  for (int64_t u = 0; u < units; u++) assert_int_equal(t->seen[u], 1);
  int used = 0;
  for (int lane = 0; lane < t->max_lanes; lane++) used += atomic_load(&t->lane_used[lane]);
  assert_true(used <= (lanes < 1 ? 1 : lanes));
  if (lanes <= 1 || units <= grain) assert_int_equal(used, atomic_load(&t->lane_used[0]));
  free(t->seen);
  free(t);
}

static void test_every_unit_once(void **state) {
  (void)state;
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 63, 1000, 4099};
  static const int64_t grains[] = {1, 2, 5, 64, 4098, 100000};
  for (int max = 1; max <= 8; max++) {
    sn_pool *pool = pool_of(max);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
      for (size_t g = 0; g < sizeof grains / sizeof *grains; g++)
        for (int lanes = 0; lanes <= max + 1; lanes++)
          check_units(pool, sizes[s], grains[g], lanes);
    destroy(pool);
  }
}

static void add_lengths(void *arg, int64_t begin, int64_t end, int lane) {
  (void)lane;
  atomic_fetch_add((_Atomic int64_t *)arg, end - begin);
}

static void test_huge_counts(void **state) {
  (void)state;
  static const int64_t grains[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2, INT64_MAX / 1001,
                                   (int64_t)1 << 62};
  sn_pool *pool = pool_of(4);
  for (size_t g = 0; g < sizeof grains / sizeof *grains; g++)
    for (int lanes = 1; lanes <= 4; lanes++) {
      _Atomic int64_t total = 0;
      assert_int_equal(sn_pool_run(pool, add_lengths, &total, INT64_MAX, grains[g], lanes), SN_OK);
      assert_true(atomic_load(&total) == INT64_MAX);
    }
  destroy(pool);
}

/* ---- many dispatches --------------------------------------------------------------------------
 */

#define ALIVE 0x5eed

/* Lives on the dispatcher's stack for one dispatch only; late lanes would find it poisoned. */
typedef struct frame {
  int magic;
  int64_t out[4];
} frame;

static atomic_int stale;

static void fill_frame(void *arg, int64_t begin, int64_t end, int lane) {
  frame *f = arg;
  (void)lane;
  if (f->magic != ALIVE) atomic_store(&stale, 1);
  for (int64_t u = begin; u < end; u++) f->out[u] += u + 1;
}

static void dispatch_frame(sn_pool *pool, int lanes) {
  frame f = {.magic = ALIVE};
  assert_int_equal(sn_pool_run(pool, fill_frame, &f, 4, 1, lanes), SN_OK);
  if (f.out[0] != 1 || f.out[1] != 2 || f.out[2] != 3 || f.out[3] != 4) fail();
  memset(&f, 0xdd, sizeof f);
}

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

/* Gaps about as long as the spin: calls meet lanes on their way to sleep. */
static void test_dispatches_with_gaps(void **state) {
  (void)state;
  uint32_t seed = 12345;
  sn_pool *pool = pool_of(3);
  for (int i = 0; i < 5000; i++) {
    seed = seed * 1664525u + 1013904223u;
    pause_us((double)(seed >> 16) * (400.0 / 65536));
    dispatch_frame(pool, 2 + (int)(seed >> 31));
  }
  destroy(pool);
  assert_int_equal(atomic_load(&stale), 0);
}

typedef struct cpus {
  cpu_set_t allowed;
  atomic_int lanes, others;
} cpus;

static void compare_cpus(void *arg, int64_t begin, int64_t end, int lane) {
  cpus *c = arg;
  cpu_set_t now;
  (void)begin, (void)end;
  if (sched_getaffinity(0, sizeof now, &now) || !CPU_EQUAL(&now, &c->allowed))
    atomic_fetch_add(&c->others, 1);
  if (lane > 0) atomic_fetch_add(&c->lanes, 1);
  pause_us(100);
}

/* A lane may be kept off a CPU while it sleeps, but not while it computes. */
static void test_lanes_compute_on_any_cpu(void **state) {
  (void)state;
  cpus c = {.lanes = 0};
  assert_int_equal(sched_getaffinity(0, sizeof c.allowed, &c.allowed), 0);
  sn_pool *pool = pool_of(3);
  for (int i = 0; i < 500 && atomic_load(&c.lanes) < 50; i++) {
    usleep(2000);
    assert_int_equal(sn_pool_run(pool, compare_cpus, &c, 12, 1, 3), SN_OK);
  }
  destroy(pool);
  assert_true(atomic_load(&c.lanes) >= 50);
  assert_int_equal(atomic_load(&c.others), 0);
}

/* Chunks long enough that lane 0 goes to sleep while it awaits the others. */
static void sleep_a_little(void *arg, int64_t begin, int64_t end, int lane) {
  (void)end;
  usleep(lane ? 2000 : 1);
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

/* ---- life -------------------------------------------------------------------------------------
 */

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
  assert_int_equal(sn_pool_create(&env, SN_POOL_MAX_LANES + 1, &pool), SN_ERR_ARGUMENT);
  env.heap.fail_countdown = 0;
  assert_int_equal(sn_pool_create(&env, 2, &pool), SN_ERR_MEMORY);
  env.heap.fail_countdown = -1;
  assert_null(pool);
  assert_int_equal(env.heap.live_blocks, 0);
  assert_in_range(sn_pool_cores(), 1, SN_POOL_MAX_LANES);
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
  assert_true(sn_pool_lanes(pool) < 200);
  assert_int_equal(sn_pool_max_lanes(pool), 200);
  assert_false(sn_driver_available(pool));
  check_units(pool, 4099, 3, 200);
  sn_pool_revive(pool); /* room again: the missing ones come up */
  assert_int_equal(sn_pool_lanes(pool), 200);
  assert_true(sn_driver_available(pool));
  check_units(pool, 4099, 3, 200);
  destroy(pool);
}

/* ---- death of a lane --------------------------------------------------------------------------
 */

typedef struct victim {
  sn_pool *pool;
  int lane;
  atomic_bool entered, let_go;
} victim;

/* The victim dies in its first chunk; nobody else finishes before. */
static void die_inside(void *arg, int64_t begin, int64_t end, int lane) {
  victim *v = arg;
  (void)begin, (void)end;
  if (lane == v->lane) {
    sn_pool_mark_dead(v->pool, lane);
    atomic_store(&v->entered, true);
  } else {
    await_flag(&v->entered);
  }
}

static void check_revival(sn_pool *pool) {
  const int lanes = sn_pool_max_lanes(pool);
  assert_int_equal(sn_pool_lost(pool), SN_ERR_WORKER);
  int64_t total = 0;
  assert_int_equal(sn_pool_run(pool, add_lengths, &total, 10, 1, lanes), SN_ERR_WORKER);
  assert_int_equal(total, 0);
  sn_pool_revive(pool);
  assert_int_equal(sn_pool_lost(pool), SN_OK);
  assert_int_equal(sn_pool_lanes(pool), lanes);
  check_units(pool, 4099, 3, lanes);
}

static void test_lane_dies_inside(void **state) {
  (void)state;
  for (int lanes = 2; lanes <= 4; lanes++) {
    sn_pool *pool = pool_of(lanes);
    for (int lane = 1; lane < lanes; lane++) {
      victim v = {.pool = pool, .lane = lane};
      assert_int_equal(sn_pool_run(pool, die_inside, &v, 1000, 1, lanes), SN_ERR_WORKER);
      assert_int_equal(sn_pool_lanes(pool), lanes - 1);
      check_revival(pool);
    }
    destroy(pool);
  }
}

/* A worker that never comes back, and is found dead by somebody else while lane 0 waits for it. */
static void hang_inside(void *arg, int64_t begin, int64_t end, int lane) {
  victim *v = arg;
  (void)begin, (void)end;
  if (lane == v->lane) {
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
  sn_pool_mark_dead(v->pool, v->lane);
  return NULL;
}

static void test_hanging_lane_marked_dead(void **state) {
  (void)state;
  sn_pool *pool = pool_of(2);
  for (int i = 0; i < 5; i++) {
    victim v = {.pool = pool, .lane = 1};
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
  assert_int_equal(sn_pool_lanes(pool), 2);
  check_revival(pool);
  usleep(5000);
  sn_pool_mark_dead(pool, 1); /* asleep */
  check_revival(pool);
  sn_pool_mark_dead(pool, 0); /* the caller came out of fn by a trap */
  check_revival(pool);
  sn_pool_mark_dead(pool, 3); /* no such lane */
  sn_pool_mark_dead(pool, -2);
  assert_int_equal(sn_pool_lost(pool), SN_OK);
  sn_pool_mark_dead(pool, 1);
  destroy(pool); /* without revival */
}

/* Marks lanes dead at arbitrary moments of a stream of dispatches. */
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
    /* Lanes marked dead here are alive, so what they write must outlive the dispatch. */
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

/* ---- the driver -------------------------------------------------------------------------------
 */

typedef struct job {
  int id;
  sn_status status;
  atomic_bool *gate; /* waited for first */
  sn_pool *pool;
} job;

static int order[SN_DRIVER_RING * 4]; /* written by the driver, read when it is idle */
static int order_count;

static bool note_order(void *arg, double until, sn_status *status) {
  const job *j = arg;
  (void)until;
  if (j->gate) await_flag(j->gate);
  order[order_count++] = j->id;
  *status = j->status;
  return true;
}

static uint32_t submit(sn_pool *pool, sn_job_fn *fn, void *arg) {
  uint32_t ticket = 0;
  assert_int_equal(sn_driver_submit(&env, pool, fn, arg, &ticket), SN_OK);
  return ticket;
}

/* The API thread runs what it waits for unless the driver has begun. */
static void await_driver(sn_pool *pool, uint32_t ticket) {
  while (atomic_load(&pool->driver.claimed) != ticket) usleep(50);
}

/* More jobs than the ring holds behind one that waits: the producer has to wait as well. */
static void test_jobs_in_order_and_ring_full(void **state) {
  (void)state;
  enum { COUNT = SN_DRIVER_RING * 3 };
  sn_pool *pool = pool_of(2);
  assert_true(sn_driver_available(pool));
  assert_int_equal(sn_driver_completed(pool), 0);
  atomic_bool gate = false;
  timer t;
  job jobs[COUNT];
  order_count = 0;
  for (int i = 0; i < COUNT; i++) {
    jobs[i] = (job){.id = i, .gate = &gate, .status = i % 3 ? SN_OK : SN_ERR_SHAPE};
    if (i == SN_DRIVER_RING) {
      assert_int_equal(sn_driver_completed(pool), 0);
      assert_false(sn_driver_idle(pool));
      timer_start(&t, &gate);
    }
    assert_int_equal(submit(pool, note_order, &jobs[i]), i + 1);
  }
  assert_int_equal(sn_driver_wait_all(pool), SN_OK);
  timer_join(&t);
  assert_true(sn_driver_idle(pool));
  assert_int_equal(sn_driver_completed(pool), COUNT);
  assert_int_equal(order_count, COUNT);
  for (int i = 0; i < COUNT; i++) assert_int_equal(order[i], i);
  for (uint32_t ticket = COUNT - SN_DRIVER_RING + 1; ticket <= COUNT; ticket++)
    assert_int_equal(sn_driver_status(pool, ticket), jobs[ticket - 1].status);
  assert_int_equal(sn_driver_wait(pool, 1), SN_OK);
  assert_int_equal(sn_driver_wait(pool, COUNT), SN_OK);
  assert_int_equal(sn_driver_wait(pool, COUNT + 1), SN_ERR_ARGUMENT);
  destroy(pool);
}

static void test_wait_for_one_job(void **state) {
  (void)state;
  sn_pool *pool = pool_of(1);
  order_count = 0;
  for (int i = 0; i < SN_DRIVER_RING; i++) {
    atomic_bool gate = false;
    job first = {.id = 1}, second = {.id = 2, .gate = &gate, .status = SN_ERR_DTYPE};
    const uint32_t one = submit(pool, note_order, &first);
    const uint32_t two = submit(pool, note_order, &second);
    assert_int_equal(sn_driver_wait(pool, one), SN_OK);
    assert_int_equal(sn_driver_completed(pool), one);
    atomic_store(&gate, true);
    assert_int_equal(sn_driver_wait(pool, two), SN_OK);
    assert_int_equal(sn_driver_status(pool, one), SN_OK);
    assert_int_equal(sn_driver_status(pool, two), SN_ERR_DTYPE);
  }
  destroy(pool);
}

/* Who runs a job; a trap there leaves it as longjmp does. */
typedef struct errand {
  pthread_t api;
  jmp_buf trap;
  bool traps;
  atomic_int here, there;
} errand;

static bool run_errand(void *arg, double until, sn_status *status) {
  errand *e = arg;
  (void)until;
  *status = SN_OK;
  const bool here = pthread_equal(pthread_self(), e->api);
  atomic_fetch_add(here ? &e->here : &e->there, 1);
  if (here && e->traps) longjmp(e->trap, 1);
  return true;
}

/* Jobs that the driver has not begun are run by who waits for them, each once. */
static void test_waiting_thread_runs_jobs(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  sn_pool *pool = pool_of(2);
  errand e = {.api = pthread_self()};
  for (int i = 0; i < COUNT; i++) {
    const uint32_t ticket = submit(pool, run_errand, &e);
    if (i % 8 == 0) usleep(30);
    if (i % 5) assert_int_equal(sn_driver_wait(pool, ticket), SN_OK);
  }
  assert_int_equal(sn_driver_wait_all(pool), SN_OK);
  assert_int_equal(atomic_load(&e.here) + atomic_load(&e.there), COUNT);
  assert_int_equal(sn_driver_completed(pool), COUNT);
  destroy(pool);
}

static void test_trap_in_a_job_run_by_who_waits(void **state) {
  (void)state;
  sn_pool *pool = pool_of(2);
  errand e = {.api = pthread_self(), .traps = true};
  volatile uint32_t ticket = 0;
  if (!setjmp(e.trap))
    for (;;) {
      ticket = submit(pool, run_errand, &e);
      sn_driver_wait(pool, ticket);
      usleep(100); /* the driver falls asleep */
    }
  assert_false(sn_driver_idle(pool));
  assert_int_equal(sn_driver_wait(pool, ticket), SN_OK);
  assert_int_equal(sn_driver_status(pool, ticket), SN_ERR_INTERNAL);
  e.traps = false;
  const uint32_t next = submit(pool, run_errand, &e);
  assert_int_equal(sn_driver_wait(pool, next), SN_OK);
  assert_int_equal(sn_driver_status(pool, next), SN_OK);
  destroy(pool);
}

static bool dispatch_from_driver(void *arg, double until, sn_status *status) {
  sn_pool *pool = arg;
  (void)until;
  frame f = {.magic = ALIVE};
  *status = sn_pool_run(pool, fill_frame, &f, 4, 1, sn_pool_max_lanes(pool));
  if (!*status && f.out[3] != 4) *status = SN_ERR_INTERNAL;
  return true;
}

static void test_driver_and_caller_take_turns(void **state) {
  (void)state;
  sn_pool *pool = pool_of(3);
  for (int i = 0; i < 2000; i++) {
    const uint32_t ticket = submit(pool, dispatch_from_driver, pool);
    if (i % 4 == 3) {
      assert_int_equal(sn_driver_wait_all(pool), SN_OK);
      assert_int_equal(sn_driver_status(pool, ticket), SN_OK);
      dispatch_frame(pool, 3);
    }
  }
  destroy(pool);
}

static void test_destroy_finishes_the_jobs(void **state) {
  (void)state;
  sn_pool *pool = pool_of(2);
  job jobs[10];
  order_count = 0;
  for (int i = 0; i < 10; i++) {
    jobs[i] = (job){.id = i};
    submit(pool, note_order, &jobs[i]);
  }
  destroy(pool);
  assert_int_equal(order_count, 10);
}

static void check_driver_works(sn_pool *pool) {
  job j = {.id = 7, .status = SN_ERR_UNSUPPORTED};
  order_count = 0;
  const uint32_t ticket = submit(pool, note_order, &j);
  assert_int_equal(sn_driver_wait(pool, ticket), SN_OK);
  assert_int_equal(sn_driver_status(pool, ticket), SN_ERR_UNSUPPORTED);
  assert_int_equal(order_count, 1);
}

static bool die_in_job(void *arg, double until, sn_status *status) {
  const job *j = arg;
  (void)until;
  await_flag(j->gate);
  sn_pool_mark_dead(j->pool, SN_DRIVER_LANE);
  *status = SN_OK;
  return true;
}

static void test_driver_dies(void **state) {
  (void)state;
  sn_pool *pool = pool_of(2);
  for (int i = 0; i < 5; i++) {
    atomic_bool gate = false;
    job dying = {.pool = pool, .gate = &gate}, after = {.id = 9};
    const uint32_t ticket = submit(pool, die_in_job, &dying);
    await_driver(pool, ticket);
    for (int k = 1; k < SN_DRIVER_RING; k++) submit(pool, note_order, &after);
    order_count = 0;
    timer t;
    timer_start(&t, &gate);
    uint32_t refused; /* waits for room in the ring when the driver dies */
    assert_int_equal(sn_driver_submit(&env, pool, note_order, &after, &refused), SN_ERR_WORKER);
    timer_join(&t);
    assert_int_equal(sn_driver_wait(pool, ticket), SN_ERR_WORKER);
    assert_int_equal(sn_driver_wait_all(pool), SN_ERR_WORKER);
    assert_int_equal(sn_driver_wait(pool, ticket - 1), SN_OK);
    assert_false(sn_driver_available(pool));
    check_revival(pool);
    assert_true(sn_driver_idle(pool));
    assert_int_equal(order_count, 0);
    assert_int_equal(sn_driver_status(pool, ticket), SN_ERR_WORKER);
    assert_int_equal(sn_driver_status(pool, ticket + SN_DRIVER_RING - 1), SN_ERR_WORKER);
    check_driver_works(pool);
  }
  destroy(pool);
}

/* The driver dies as lane 0 of a run while lane 1 is inside: whoever waits for the job may free
 * what it used, so the wait must outlast lane 1. */
typedef struct orphan {
  sn_pool *pool;
  atomic_bool entered, let_go, left, driver_let_go;
} orphan;

static void orphan_units(void *arg, int64_t begin, int64_t end, int lane) {
  orphan *o = arg;
  (void)begin, (void)end;
  if (lane == 0) {
    await_flag(&o->entered);
    sn_pool_mark_dead(o->pool, SN_DRIVER_LANE);
    await_flag(&o->driver_let_go);
  } else {
    atomic_store(&o->entered, true);
    await_flag(&o->let_go);
    atomic_store(&o->left, true);
  }
}

static bool orphan_job(void *arg, double until, sn_status *status) {
  orphan *o = arg;
  (void)until;
  *status = sn_pool_run(o->pool, orphan_units, o, 2, 1, 2);
  return true;
}

static void test_driver_dies_inside_a_run(void **state) {
  (void)state;
  sn_pool *pool = pool_of(2);
  orphan o = {.pool = pool};
  const uint32_t ticket = submit(pool, orphan_job, &o);
  await_flag(&o.entered);
  timer t;
  timer_start(&t, &o.let_go);
  assert_int_equal(sn_driver_wait(pool, ticket), SN_ERR_WORKER);
  assert_true(atomic_load(&o.left));
  timer_join(&t);
  atomic_store(&o.driver_let_go, true);
  check_revival(pool);
  check_driver_works(pool);
  destroy(pool);
}

static bool dispatch_to_victim(void *arg, double until, sn_status *status) {
  victim *v = arg;
  (void)until;
  *status = sn_pool_run(v->pool, die_inside, v, 100, 1, 2);
  return true;
}

static void test_lane_dies_under_the_driver(void **state) {
  (void)state;
  sn_pool *pool = pool_of(2);
  victim v = {.pool = pool, .lane = 1};
  const uint32_t ticket = submit(pool, dispatch_to_victim, &v);
  await_driver(pool, ticket);
  assert_int_equal(sn_driver_wait(pool, ticket), SN_OK);
  assert_int_equal(sn_driver_status(pool, ticket), SN_ERR_WORKER);
  uint32_t refused;
  assert_int_equal(sn_driver_submit(&env, pool, dispatch_to_victim, &v, &refused), SN_ERR_WORKER);
  assert_true(sn_driver_available(pool));
  check_revival(pool);
  check_driver_works(pool);
  destroy(pool);
}

static void test_tickets_wrap_around(void **state) {
  (void)state;
  sn_pool *pool = pool_of(1);
  sn_pool_mark_dead(pool, SN_DRIVER_LANE); /* nobody reads the tickets while they are moved */
  atomic_store(&pool->driver.completed, UINT32_MAX - 100);
  atomic_store(&pool->driver.submitted, UINT32_MAX - 100);
  sn_pool_revive(pool);
  job j = {.id = 3};
  order_count = 0;
  for (uint32_t i = 1; i <= 200; i++) {
    const uint32_t ticket = submit(pool, note_order, &j);
    assert_true(ticket == UINT32_MAX - 100 + i);
    if (i % 30 == 0) assert_int_equal(sn_driver_wait(pool, ticket), SN_OK);
  }
  assert_int_equal(sn_driver_wait_all(pool), SN_OK);
  assert_int_equal(sn_driver_completed(pool), 99);
  assert_int_equal(order_count, 200);
  destroy(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_unit_once),
      cmocka_unit_test(test_huge_counts),
      cmocka_unit_test(test_tiny_dispatches_back_to_back),
      cmocka_unit_test(test_dispatches_with_gaps),
      cmocka_unit_test(test_lanes_compute_on_any_cpu),
      cmocka_unit_test(test_caller_sleeps_while_waiting),
      cmocka_unit_test(test_create_and_destroy),
      cmocka_unit_test(test_nested_pools),
      cmocka_unit_test(test_bad_arguments),
      cmocka_unit_test(test_threads_that_cannot_start),
      cmocka_unit_test(test_lane_dies_inside),
      cmocka_unit_test(test_hanging_lane_marked_dead),
      cmocka_unit_test(test_death_outside_a_run),
      cmocka_unit_test(test_deaths_at_any_moment),
      cmocka_unit_test(test_jobs_in_order_and_ring_full),
      cmocka_unit_test(test_wait_for_one_job),
      cmocka_unit_test(test_waiting_thread_runs_jobs),
      cmocka_unit_test(test_trap_in_a_job_run_by_who_waits),
      cmocka_unit_test(test_driver_and_caller_take_turns),
      cmocka_unit_test(test_destroy_finishes_the_jobs),
      cmocka_unit_test(test_driver_dies),
      cmocka_unit_test(test_driver_dies_inside_a_run),
      cmocka_unit_test(test_lane_dies_under_the_driver),
      cmocka_unit_test(test_tickets_wrap_around),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
