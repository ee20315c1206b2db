/* test_run.c - evaluation as the header promises it: at once or in the background with equal bits,
 * on graphs of any depth, in memory that stays bounded and, during training, constant. */
#define _GNU_SOURCE 1

#include "support.h"

#include <pthread.h>
#include <unistd.h>

#include "tensor/tensor.h"

static int shorter(int n) { return case_short() ? n / 10 : n; }

static sn_memory_info memory_of(const sn_context *ctx) {
  sn_memory_info memory;
  sn_memory(ctx, &memory);
  return memory;
}

/* ---- depth ----------------------------------------------------------------------------------- */

static void a_chain_of_a_million_is_built_and_released(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  const int n = shorter(1000000);
  sn_tensor *c = ramp(f.ctx, DIMS(2), 1), *x = sn_variable(c); /* tracked: nothing is evaluated */
  const size_t blocks = f.ledger.live_blocks;
  for (int i = 0; i < n; i++) step(&x, sn_add(x, c));
  assert_int_equal(memory_of(f.ctx).tensors, n + 2);
  assert_int_equal(memory_of(f.ctx).program_misses, 0);
  sn_release(x);
  assert_int_equal(memory_of(f.ctx).tensors, 1);
  assert_int_equal(f.ledger.live_blocks, blocks - 1);
  sn_release(c);
  fixture_close(&f);
}

static void a_chain_of_a_million_is_let_go(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  const int n = shorter(1000000);
  sn_tensor *c = ramp(f.ctx, DIMS(2), 1), *x = sn_variable(c);
  for (int i = 0; i < n; i++) {
    step(&x, sn_add(x, c));
    if (i % 1000 == 0) assert_int_equal(sn_eval(&x, 1), SN_OK);
  }
  assert_int_equal(memory_of(f.ctx).tensors, n + 2);
  assert_int_equal(sn_eval(&x, 1), SN_OK);
  sn_untrack(x);
  assert_int_equal(memory_of(f.ctx).tensors, 2);
  assert_true(((const float *)sn_data(x))[0] == (float)(n + 1));
  sn_untrack(x);
  sn_untrack(NULL);
  sn_release(x);
  sn_release(c);
  fixture_close(&f);
}

static void a_loop_that_never_reads_stays_bounded(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  sn_tensor *c = ramp(f.ctx, DIMS(16), 1), *x = ramp(f.ctx, DIMS(16), 0);
  const int n = shorter(200000);
  for (int i = 0; i < n; i++) {
    step(&x, sn_add(x, c));
    assert_true(memory_of(f.ctx).tensors < 3000);
  }
  assert_true(((const float *)sn_data(x))[0] == (float)n);
  assert_true(memory_of(f.ctx).program_misses < 10);
  sn_release(x);
  sn_release(c);
  fixture_close(&f);
}

/* Each step brings 1 MB of its own. */
static void a_loop_over_data_that_never_reads_stays_bounded(void **state) {
  (void)state;
  enum { ELEMENTS = 1 << 18 };
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  const int64_t dims[] = {ELEMENTS};
  sn_tensor *x = sn_full(f.ctx, SN_F32, 1, dims, 0);
  const int n = 400;
  for (int i = 0; i < n; i++) {
    sn_tensor *batch = ramp(f.ctx, 1, dims, 1);
    step(&x, sn_add(x, batch));
    sn_release(batch);
    assert_true(memory_of(f.ctx).tensor_bytes < (size_t)200 << 20);
  }
  assert_true(((const float *)sn_data(x))[1] == (float)(2 * n));
  sn_release(x);
  fixture_close(&f);
}

typedef struct small_stack {
  sn_context *ctx;
  int n;
  sn_status status;
  float value, gradient;
} small_stack;

/* Everything a graph goes through: traced, differentiated, compiled, run, released. */
static void *deep_program(void *arg) {
  small_stack *s = arg;
  sn_tensor *p = sn_placeholder(s->ctx, SN_F32, 0, NULL), *v = sn_variable(p), *x = sn_retain(v),
            *g;
  for (int i = 0; i < s->n && x; i++) {
    sn_tensor *next = i % 3 ? sn_add(x, v) : i % 2 ? sn_sin(x) : sn_neg(x);
    sn_release(x);
    x = next;
  }
  s->status = sn_gradients(x, &v, 1, &g);
  if (s->status) return NULL;
  sn_program *program;
  s->status = sn_compile(s->ctx, &p, 1, (sn_tensor *[]){x, g}, 2, NULL, &program);
  sn_tensor *in = sn_full(s->ctx, SN_F32, 0, NULL, 0.001), *out[2];
  if (!s->status) s->status = sn_program_run(program, &in, out);
  if (!s->status) s->status = sn_read(out[0], &s->value, 4);
  if (!s->status) s->status = sn_read(out[1], &s->gradient, 4);
  if (s->status) return NULL;
  sn_program_release(program);
  release_all((sn_tensor *[]){p, v, x, g, in, out[0], out[1]}, 7);
  return NULL;
}

static void a_deep_program_needs_little_stack(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  small_stack s = {.ctx = f.ctx, .n = shorter(100000)};
  pthread_attr_t attr;
  pthread_t thread;
  pthread_attr_init(&attr);
  assert_int_equal(pthread_attr_setstacksize(&attr, 128 << 10), 0);
  assert_int_equal(pthread_create(&thread, &attr, deep_program, &s), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
  assert_string_equal(sn_error_message(f.ctx), "");
  assert_int_equal(s.status, SN_OK);
  fixture_close(&f);
}

/* ---- the cache of programs ------------------------------------------------------------------- */

static void a_changing_number_compiles_once(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  sn_tensor *x = ramp(f.ctx, DIMS(3), 1);
  for (int i = 0; i < 50; i++) {
    sn_tensor *rate = sn_scalar(f.ctx, 0.1 / (i + 1)), *y = sn_mul(x, rate);
    assert_true(((const float *)sn_data(y))[0] == (float)(0.1 / (i + 1)));
    sn_release(rate);
    sn_release(y);
  }
  const sn_memory_info memory = memory_of(f.ctx);
  assert_int_equal(memory.program_misses, 1);
  assert_int_equal(memory.program_hits, 49);
  assert_int_equal(memory.programs, 1);
  sn_release(x);
  fixture_close(&f);
}

static void the_cache_is_bounded(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  for (int round = 0; round < 2; round++) {
    for (int n = 1; n <= 300; n++) {
      sn_tensor *x = ramp(f.ctx, 1, (int64_t[]){n}, 1), *y = sn_neg(x);
      assert_true(((const float *)sn_data(y))[n - 1] == (float)-n);
      sn_release(x);
      sn_release(y);
    }
  }
  assert_int_equal(memory_of(f.ctx).programs, SN_CACHE_ENTRIES);
  fixture_close(&f);
}

/* ---- in the background ----------------------------------------------------------------------- */

static void background_runs_give_the_same_bits(void **state) {
  (void)state;
  enum { N = 200, M = 24 }; /* more than the driver's ring holds */
  fixture f;
  fixture_open(&f, (sn_options){.threads = 2});
  static float expected[N][M * M], values[M * M];
  for (int async = 0; async < 2; async++) {
    sn_tensor *x = ramp(f.ctx, DIMS(M, M), 0.001f), *y[N];
    uint32_t last = 0;
    for (int i = 0; i < N; i++) {
      y[i] = some_work(f.ctx, i % 7 ? y[i - 1] : x, i); /* on what is still being computed */
      if (!async) {
        assert_int_equal(sn_eval(&y[i], 1), SN_OK);
        assert_int_equal(sn_read(y[i], expected[i], sizeof values), SN_OK);
        continue;
      }
      uint32_t ticket = 0;
      assert_false(sn_is_computed(y[i]));
      assert_int_equal(sn_eval_async(&y[i], 1, &ticket), SN_OK);
      assert_true((int32_t)(ticket - last) > 0);
      last = ticket;
      if (i == 20) {
        assert_int_equal(sn_read(y[10], values, sizeof values), SN_OK);
        assert_true(sn_is_computed(y[10]));
      }
    }
    if (async) {
      uint32_t again;
      assert_int_equal(sn_eval_async(&y[N - 1], 1, &again), SN_OK);
      assert_int_equal(again, last); /* nothing new to run */
      assert_int_equal(sn_synchronize(f.ctx), SN_OK);
      assert_true(sn_ticket_done(f.ctx, last));
      assert_true(sn_ticket_done(f.ctx, 0));
      for (int i = 0; i < N; i++) assert_true(sn_is_computed(y[i]));
      assert_int_equal(sn_eval_async(&x, 1, &again), SN_OK);
      assert_int_equal(again, 0);
    }
    for (int i = 0; i < N; i++) {
      assert_int_equal(sn_read(y[i], values, sizeof values), SN_OK);
      assert_memory_equal(values, expected[i], sizeof values);
      sn_release(y[i]);
    }
    sn_release(x);
  }
  fixture_close(&f);
}

static void tensors_may_go_while_their_run_is_under_way(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 2});
  for (int i = 0; i < 100; i++) {
    sn_tensor *x = ramp(f.ctx, DIMS(64, 64), 0.001f), *y = some_work(f.ctx, x, i);
    uint32_t ticket;
    assert_int_equal(sn_eval_async(&y, 1, &ticket), SN_OK);
    sn_release(x);
    if (i % 2) sn_read(y, (float[64 * 64]){0}, 64 * 64 * 4);
    sn_release(y);
    while (i % 10 == 0 && !sn_ticket_done(f.ctx, ticket)) usleep(10);
  }
  sn_context_destroy(f.ctx); /* waits for what is under way */
  assert_int_equal(f.ledger.live_blocks, 0);
}

/* ---- training -------------------------------------------------------------------------------- */

enum { BATCH = 16, INPUTS = 20, CLASSES = 4 };

/* w, m, x, labels -> w - 0.1 m', m' = 0.9 m + dloss/dw, loss */
static sn_program *training_program(sn_context *ctx) {
  sn_program *program = NULL;
  sn_scope_begin(ctx);
  sn_tensor *in[] = {sn_placeholder(ctx, SN_F32, DIMS(INPUTS, CLASSES)),
                     sn_placeholder(ctx, SN_F32, DIMS(INPUTS, CLASSES)),
                     sn_placeholder(ctx, SN_F32, DIMS(BATCH, INPUTS)),
                     sn_placeholder(ctx, SN_I32, DIMS(BATCH))};
  sn_tensor *w = sn_variable(in[0]), *g;
  sn_tensor *loss =
      sn_mean(sn_softmax_cross_entropy(sn_matmul(in[2], w), in[3], SN_DEFAULT), SN_ALL_AXES, false);
  assert_int_equal(sn_gradients(loss, &w, 1, &g), SN_OK);
  sn_tensor *m = sn_add(sn_mul(in[1], sn_scalar(ctx, 0.9)), g);
  sn_tensor *out[] = {sn_sub(in[0], sn_mul(m, sn_scalar(ctx, 0.1))), m, loss};
  const bool donate[] = {true, true, false, false};
  assert_int_equal(sn_compile(ctx, in, 4, out, 3, donate, &program), SN_OK);
  sn_scope_end(ctx);
  return program;
}

static void fill_batch(sn_context *ctx, case_random *random, sn_tensor **x, sn_tensor **labels) {
  void *data, *classes;
  *x = sn_empty(ctx, SN_F32, DIMS(BATCH, INPUTS), &data);
  *labels = sn_empty(ctx, SN_I32, DIMS(BATCH), &classes);
  for (int i = 0; i < BATCH; i++) {
    const int32_t class_ = ((int32_t *)classes)[i] = (int32_t)case_below(random, CLASSES);
    for (int k = 0; k < INPUTS; k++)
      ((float *)data)[i * INPUTS + k] =
          (float)case_below(random, 1000) / 1000 + (k % CLASSES == class_ ? 1 : 0);
  }
}

/* 2,000 steps with the state donated: not a byte more in use after the first ten. */
static float train(int threads, bool async, int steps) {
  fixture f;
  fixture_open(&f, (sn_options){.threads = threads});
  sn_program *program = training_program(f.ctx);
  sn_tensor *s[4] = {ramp(f.ctx, DIMS(INPUTS, CLASSES), 0), ramp(f.ctx, DIMS(INPUTS, CLASSES), 0)};
  case_random random = {1};
  size_t bytes = 0;
  float loss = 0, first = 0;
  for (int i = 0; i < steps; i++) {
    sn_tensor *out[3];
    uint32_t ticket;
    const void *at[] = {sn_data(s[0]), sn_data(s[1])};
    fill_batch(f.ctx, &random, &s[2], &s[3]);
    assert_int_equal(async ? sn_program_run_async(program, s, out, &ticket)
                           : sn_program_run(program, s, out),
                     SN_OK);
    for (int k = 0; k < 2; k++) /* the state stays in the memory it had at first */
      assert_true(sn_data(out[k]) == at[0] || sn_data(out[k]) == at[1]);
    release_all(s, 4);
    s[0] = out[0];
    s[1] = out[1];
    assert_int_equal(sn_read(out[2], &loss, 4), SN_OK);
    sn_release(out[2]);
    if (i == 0) first = loss;
    const size_t now = memory_of(f.ctx).bytes_in_use;
    if (i == 10) bytes = now;
    if (i > 10 && now != bytes) fail_msg("step %d: %zu bytes in use, not %zu", i, now, bytes);
  }
  assert_true(loss < first / 2);
  release_all(s, 2);
  sn_program_release(program);
  fixture_close(&f);
  return loss;
}

static void training_in_constant_memory(void **state) {
  (void)state;
  const int steps = case_short() ? 300 : 2000;
  const float loss = train(1, false, steps);
  assert_true(train(3, false, steps) == loss);
  assert_true(train(2, true, steps) == loss);
}

static void eager_training_in_constant_memory(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  sn_tensor *w = ramp(f.ctx, DIMS(INPUTS, CLASSES), 0);
  case_random random = {1};
  size_t bytes = 0, misses = 0;
  for (int i = 0; i < (case_short() ? 100 : 500); i++) {
    sn_tensor *x, *labels, *g, *v = sn_variable(w);
    fill_batch(f.ctx, &random, &x, &labels);
    sn_tensor *y = sn_matmul(x, v), *rows = sn_softmax_cross_entropy(y, labels, SN_DEFAULT),
              *loss = sn_mean(rows, SN_ALL_AXES, false);
    assert_int_equal(sn_gradients(loss, &v, 1, &g), SN_OK);
    sn_tensor *rate = sn_scalar(f.ctx, 0.3 / (i + 2)), *update = sn_mul(g, rate);
    step(&w, sn_sub(v, update));
    assert_int_equal(sn_eval((sn_tensor *[]){w, loss}, 2), SN_OK);
    release_all((sn_tensor *[]){x, labels, g, v, y, rows, loss, rate, update}, 9);
    sn_untrack(w);
    const sn_memory_info now = memory_of(f.ctx);
    if (i == 10) {
      bytes = now.bytes_in_use;
      misses = now.program_misses;
    }
    if (i > 10) {
      assert_int_equal(now.bytes_in_use, bytes);
      assert_int_equal(now.program_misses, misses);
      assert_int_equal(now.tensors, 1);
    }
  }
  sn_release(w);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_of_a_million_is_built_and_released),
      cmocka_unit_test(a_chain_of_a_million_is_let_go),
      cmocka_unit_test(a_loop_that_never_reads_stays_bounded),
      cmocka_unit_test(a_loop_over_data_that_never_reads_stays_bounded),
      cmocka_unit_test(a_deep_program_needs_little_stack),
      cmocka_unit_test(a_changing_number_compiles_once),
      cmocka_unit_test(the_cache_is_bounded),
      cmocka_unit_test(background_runs_give_the_same_bits),
      cmocka_unit_test(tensors_may_go_while_their_run_is_under_way),
      cmocka_unit_test(training_in_constant_memory),
      cmocka_unit_test(eager_training_in_constant_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
