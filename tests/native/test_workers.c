/* test_workers.c - the same bits on any number of threads and, without FMA, on any instruction set;
 * profiles that add up; and a context that is usable again after a thread has been lost. */
#define _GNU_SOURCE 1

#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "api.h"
#include "tensor/tensor.h"

/* ---- the same bits --------------------------------------------------------------------------- */

enum { ROWS = 90, COLUMNS = 400, BITS = COLUMNS * COLUMNS + 2 * COLUMNS + 3 };

static void large_results(sn_context *ctx, float *out) {
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  void *data;
  sn_tensor *x = sn_empty(ctx, SN_F32, DIMS(ROWS, COLUMNS), &data);
  case_random random = {3};
  for (int i = 0; i < ROWS * COLUMNS; i++)
    ((float *)data)[i] = (float)(case_below(&random, 2001) - 1000) / 700;
  sn_tensor *e = sn_sigmoid(sn_erf(sn_mul(x, sn_sin(x)))), *p = sn_matmul(sn_transpose(x, NULL), e);
  sn_tensor *all[] = {p,
                      sn_sum(e, 1, false),
                      sn_mean(p, 2, false),
                      sn_sum(p, SN_ALL_AXES, false),
                      sn_max(e, SN_ALL_AXES, false),
                      sn_mean(sn_square(x), SN_ALL_AXES, false)};
  assert_int_equal(sn_eval(all, 6), SN_OK);
  for (int i = 0; i < 6; i++) {
    assert_int_equal(sn_read(all[i], out, sn_size_bytes(all[i])), SN_OK);
    out += sn_size(all[i]);
  }
  sn_scope_end(ctx);
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
  (void)state;
  float *expected = malloc(BITS * sizeof(float)), *values = malloc(BITS * sizeof(float));
  for (int deterministic = 0; deterministic < 2; deterministic++) {
    for (int threads = 1; threads <= 4; threads++) {
      fixture f;
      fixture_open(&f, (sn_options){.threads = threads, .deterministic = deterministic});
      for (int again = 0; again < (threads == 1 ? 1 : 3); again++) {
        large_results(f.ctx, values);
        if (threads == 1) memcpy(expected, values, BITS * sizeof(float));
        assert_memory_equal(values, expected, BITS * sizeof(float));
      }
      fixture_close(&f);
    }
  }
  free(expected);
  free(values);
}

/* Without FMA every instruction set this machine has gives the same bits. */
static void deterministic_means_any_instruction_set(void **state) {
  (void)state;
  float *expected = malloc(BITS * sizeof(float)), *values = malloc(BITS * sizeof(float));
  for (sn_isa_id isa = 0; isa <= sn_isa_detect(); isa++) {
    fixture f;
    fixture_open(&f, (sn_options){.threads = 2, .deterministic = true});
    f.ctx->device.machine.isa = isa;
    large_results(f.ctx, isa ? values : expected);
    if (isa && memcmp(values, expected, BITS * sizeof(float)) != 0)
      fail_msg("%s differs from %s", sn_isa_name(isa), sn_isa_name(0));
    fixture_close(&f);
  }
  free(expected);
  free(values);
}

/* ---- profiles -------------------------------------------------------------------------------- */

static void expect_spans_in_order(const sn_span *spans, size_t n, size_t n_kernels, double from,
                                  double to) {
  double end[16], busy[16] = {0};
  for (int worker = 0; worker < 16; worker++) end[worker] = from;
  for (size_t i = 0; i < n; i++) {
    const sn_span *s = &spans[i];
    if (s->kernel == SN_SPAN_RUN || s->kernel == SN_SPAN_COMPILE) {
      assert_true(s->begin_ms >= from && s->end_ms >= s->begin_ms && s->end_ms <= to);
      continue;
    }
    assert_true(s->worker < 16 && s->kernel < n_kernels);
    assert_true(s->begin_ms >= end[s->worker]); /* of one worker: one after the other */
    assert_true(s->end_ms >= s->begin_ms && s->end_ms <= to);
    end[s->worker] = s->end_ms;
    busy[s->worker] += s->end_ms - s->begin_ms;
  }
  for (int worker = 0; worker < 16; worker++) assert_true(busy[worker] <= to - from);
}

static void profiles_add_up(void **state) {
  (void)state;
  enum { CALLS = 5, N = 400 };
  fixture f;
  fixture_open(&f, (sn_options){.threads = 3});
  sn_tensor *x = ramp(f.ctx, DIMS(N, N), 1e-6f);
  const sn_kernel_profile *kernels;
  const sn_span *spans;
  size_t lost;
  const double from = sn_profile_now();
  assert_int_equal(sn_profile_start(f.ctx, 10000), SN_OK);
  for (int i = 0; i < CALLS; i++) {
    sn_tensor *y = some_work(f.ctx, x, i);
    uint32_t ticket;
    if (i % 2) assert_int_equal(sn_eval_async(&y, 1, &ticket), SN_OK);
    assert_non_null(sn_data(y));
    sn_release(y);
  }
  sn_profile_stop(f.ctx);
  const double to = sn_profile_now();
  const size_t n = sn_profile_kernels(f.ctx, &kernels),
               n_spans = sn_profile_spans(f.ctx, &spans, &lost);
  double ms = 0;
  bool product = false;
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(kernels[i].calls % CALLS, 0);
    assert_true(kernels[i].ms > 0 && kernels[i].threads >= 1 && kernels[i].threads <= 3);
    ms += kernels[i].ms;
    if (strcmp(kernels[i].kind, "contraction") != 0) continue;
    product = true;
    assert_true(kernels[i].flops >= 2.0 * N * N * N * CALLS);
    assert_memory_equal(kernels[i].name, "matmul", 6);
  }
  assert_true(product && ms <= to - from);
  assert_int_equal(lost, 0);
  assert_true(n_spans >= n * CALLS);
  expect_spans_in_order(spans, n_spans, n, from, to);
  /* not recorded while off; a new start forgets */
  sn_tensor *y = some_work(f.ctx, x, 1);
  assert_non_null(sn_data(y));
  assert_int_equal(sn_profile_kernels(f.ctx, &kernels), n);
  assert_int_equal(sn_profile_start(f.ctx, 2), SN_OK);
  assert_int_equal(sn_profile_kernels(f.ctx, &kernels), 0);
  step(&y, some_work(f.ctx, x, 2));
  assert_non_null(sn_data(y));
  step(&y, some_work(f.ctx, x, 3));
  assert_non_null(sn_data(y));
  sn_profile_stop(f.ctx);
  sn_profile_stop(f.ctx);
  size_t of_kernels = 0;
  for (size_t i = sn_profile_spans(f.ctx, &spans, &lost); i-- > 0;)
    of_kernels += spans[i].kernel < SN_SPAN_COMPILE;
  assert_true(of_kernels <= 3);
  assert_true(lost > 0); /* counted, not kept */
  sn_release(x);
  sn_release(y);
  fixture_close(&f);
}

static void stages_can_be_shown(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  fflush(stderr);
  const int saved = dup(2), null = open("/dev/null", O_WRONLY);
  dup2(null, 2);
  sn_set_debug(f.ctx, 99); /* as far as the scale goes */
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(4)), *y = sn_neg(p);
  sn_program *program;
  const sn_status status = sn_compile(f.ctx, &p, 1, &y, 1, NULL, &program);
  dup2(saved, 2);
  close(saved);
  close(null);
  assert_int_equal(status, SN_OK);
  const char *const stages[] = {"trace", "fold", "simplify", "cse", "dce", "prepare"};
  for (int i = 0; i < 6; i++)
    assert_string_equal(sn_program_text(program, stages[i]), "%0 = input float32(4,) {0}\n"
                                                             "%1 = neg float32(4,) %0\n"
                                                             "return %1\n");
  assert_non_null(strstr(sn_program_text(program, "groups"), "k0 map neg space(4)"));
  assert_non_null(strstr(sn_program_text(program, "plan"), "arena 0 bytes"));
  assert_null(sn_program_text(program, "vectorise"));
  sn_set_debug(f.ctx, -3);
  sn_program_release(program);
  sn_release(p);
  sn_release(y);
  fixture_close(&f);
}

/* ---- lost threads ---------------------------------------------------------------------------- */

/* Takes the pool down again and again while others use it, as a trap of the caller's worker
 * would. */
typedef struct saboteur {
  pthread_t thread;
  sn_pool *pool;
  atomic_bool stop;
} saboteur;

static void *sabotage(void *arg) {
  saboteur *s = arg;
  while (!atomic_load(&s->stop)) {
    sn_pool_mark_dead(s->pool, 0);
    usleep(300);
  }
  return NULL;
}

static sn_tensor *many_kernels(sn_context *ctx) {
  sn_tensor *x = ramp(ctx, DIMS(40, 40), 1e-5f);
  for (int i = 0; i < 40 && x; i++) step(&x, some_work(ctx, x, i));
  return x;
}

static void a_lost_worker_is_an_error_once(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 3});
  sn_tensor *good = many_kernels(f.ctx), *y = many_kernels(f.ctx), *fixed = many_kernels(f.ctx);
  static float expected[1600], values[1600];
  assert_int_equal(sn_read(good, expected, sizeof expected), SN_OK);
  saboteur s = {.pool = sn_context_pool(f.ctx)};
  atomic_init(&s.stop, false);
  assert_int_equal(pthread_create(&s.thread, NULL, sabotage, &s), 0);
  sn_status status = SN_OK;
  for (int i = 0; i < 10000 && !status; i++) {
    step(&y, many_kernels(f.ctx));
    status = sn_eval(&y, 1);
  }
  atomic_store(&s.stop, true);
  pthread_join(s.thread, NULL);
  assert_int_equal(status, SN_ERR_WORKER);
  expect_error(f.ctx, SN_ERR_WORKER,
               "a worker thread was lost; what it was to compute has no value");
  assert_int_equal(sn_read(y, values, sizeof values), SN_OK); /* still lazy: computed now */
  assert_memory_equal(values, expected, sizeof values);
  assert_int_equal(sn_read(fixed, values, sizeof values), SN_OK);
  assert_memory_equal(values, expected, sizeof values);
  sn_synchronize(f.ctx);
  sn_error_clear(f.ctx);
  release_all((sn_tensor *[]){good, y, fixed}, 3);
  fixture_close(&f);
}

static void a_thread_lost_between_runs_is_replaced(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 3});
  for (int worker = -1; worker < 3; worker++) {
    sn_pool_mark_dead(sn_context_pool(f.ctx), worker);
    sn_tensor *y = many_kernels(f.ctx);
    uint32_t ticket;
    assert_int_equal(worker % 2 ? sn_eval(&y, 1) : sn_eval_async(&y, 1, &ticket), SN_OK);
    assert_non_null(sn_data(y));
    assert_int_equal(sn_threads(f.ctx), 3);
    sn_release(y);
  }
  assert_int_equal(sn_synchronize(f.ctx), SN_OK);
  fixture_close(&f);
}

static void runs_under_way_fail_with_their_driver(void **state) {
  (void)state;
  for (int worker = -1; worker < 1; worker++) {
    fixture f;
    fixture_open(&f, (sn_options){.threads = 2});
    enum { N = 40 };
    sn_tensor *y[N];
    uint32_t ticket;
    y[0] = many_kernels(f.ctx);
    for (int i = 0; i < N; i++) { /* each on the result of the last */
      if (i) y[i] = some_work(f.ctx, y[i - 1], i);
      assert_int_equal(sn_eval_async(&y[i], 1, &ticket), SN_OK);
    }
    sn_pool_mark_dead(sn_context_pool(f.ctx), worker);
    const sn_status status = sn_synchronize(f.ctx);
    if (status) { /* unless all were done before */
      assert_int_equal(status, SN_ERR_WORKER);
      expect_error(f.ctx, SN_ERR_WORKER, "a worker thread was lost");
      assert_null(sn_data(y[N - 1]));
      expect_error(f.ctx, SN_ERR_WORKER,
                   "a worker thread was lost; what it was to compute has no value");
      sn_tensor *z = sn_neg(y[N - 1]); /* nor has what depends on it */
      assert_null(sn_data(z));
      assert_int_equal(sn_error_status(f.ctx), SN_ERR_WORKER);
      sn_error_clear(f.ctx);
      sn_release(z);
    }
    assert_true(sn_ticket_done(f.ctx, ticket));
    sn_synchronize(f.ctx);
    sn_error_clear(f.ctx);
    sn_tensor *x = many_kernels(f.ctx);
    assert_int_equal(sn_eval_async(&x, 1, &ticket), SN_OK);
    assert_int_equal(sn_synchronize(f.ctx), SN_OK);
    assert_non_null(sn_data(x));
    sn_release(x);
    release_all(y, N);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
      cmocka_unit_test(deterministic_means_any_instruction_set),
      cmocka_unit_test(profiles_add_up),
      cmocka_unit_test(stages_can_be_shown),
      cmocka_unit_test(a_lost_worker_is_an_error_once),
      cmocka_unit_test(a_thread_lost_between_runs_is_replaced),
      cmocka_unit_test(runs_under_way_fail_with_their_driver),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
