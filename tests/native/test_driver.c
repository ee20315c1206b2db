/* test_driver.c - the pool's driver: jobs run in order, each once, on whichever thread; also if a
 * thread dies, at each possible point. */
#define _GNU_SOURCE 1

#include "pool_support.h"

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

static uint32_t submit(sn_pool *pool, sn_driver_fn *fn, void *arg) {
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

/* A job that tells which thread runs it; a trap there leaves it as longjmp does. */
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

/* A thread that waits for jobs runs those that the driver has not begun, each once. */
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
  *status = sn_pool_run(pool, fill_frame, &f, 4, 1, sn_pool_max_workers(pool));
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
  sn_pool_mark_dead(j->pool, SN_POOL_DRIVER);
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

/* The driver dies as worker 0 of a run while worker 1 is inside: whoever waits for the job may free
 * what it used, so the wait must outlast worker 1. */
typedef struct orphan {
  sn_pool *pool;
  atomic_bool entered, let_go, left, driver_let_go;
} orphan;

static void orphan_units(void *arg, int64_t begin, int64_t end, int worker) {
  orphan *o = arg;
  (void)begin, (void)end;
  if (worker == 0) {
    await_flag(&o->entered);
    sn_pool_mark_dead(o->pool, SN_POOL_DRIVER);
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

static void test_worker_dies_under_the_driver(void **state) {
  (void)state;
  sn_pool *pool = pool_of(2);
  victim v = {.pool = pool, .worker = 1};
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
  sn_pool_mark_dead(pool, SN_POOL_DRIVER); /* nobody reads the tickets while they are moved */
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
      cmocka_unit_test(test_jobs_in_order_and_ring_full),
      cmocka_unit_test(test_wait_for_one_job),
      cmocka_unit_test(test_waiting_thread_runs_jobs),
      cmocka_unit_test(test_trap_in_a_job_run_by_who_waits),
      cmocka_unit_test(test_driver_and_caller_take_turns),
      cmocka_unit_test(test_destroy_finishes_the_jobs),
      cmocka_unit_test(test_driver_dies),
      cmocka_unit_test(test_driver_dies_inside_a_run),
      cmocka_unit_test(test_worker_dies_under_the_driver),
      cmocka_unit_test(test_tickets_wrap_around),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
