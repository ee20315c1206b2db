/* test_collectives.c - ops between processes: in one process against plain loops; and a step that is loaded for several
 * processes (here threads that exchange by copying) against the same step in one process. */
#include <math.h>

#include "api_support.h"
#include "processes.h"

/* ---- in one process -------------------------------------------------------------------------- */

static void sums_are_added_in_pairs(void **state) {
  (void)state;
  enum { MOST = 13, INNER = 5 };
  float x[MOST * INNER];
  for (int i = 0; i < MOST * INNER; i++) x[i] = sinf((float)i) * powf(10, (float)(i % 7));
  for (int n = 1; n <= MOST; n++) {
    sn_tensor *t = sn_from_data(f.ctx, SN_F32, DIMS(n, INNER), x);
    const float *sums = sn_data(sn_all_reduce(t, 0));
    for (int k = 0; k < INNER; k++) {
      const float expected = sum_in_pairs(x + k, n, INNER);
      assert_memory_equal(&sums[k], &expected, sizeof expected);
    }
    t = sn_from_data(f.ctx, SN_F32, DIMS(INNER, n), x);
    sums = sn_data(sn_all_reduce(t, -1));
    for (int k = 0; k < INNER; k++) {
      const float expected = sum_in_pairs(x + k * n, n, 1);
      assert_memory_equal(&sums[k], &expected, sizeof expected);
    }
  }
  const int8_t small[] = {100, 100, -3};
  sn_tensor *sum = sn_all_reduce(sn_from_data(f.ctx, SN_I8, DIMS(3), small), 0);
  assert_int_equal(sn_dtype_of(sum), SN_I32);
  assert_int_equal(*(const int32_t *)sn_data(sum), 197);
  EXPECT(sn_all_reduce(sn_zeros(f.ctx, SN_F32, DIMS(0, 2)), 0), 0, 0);
}

static void one_process_has_all(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(2, 2), 1);
  EXPECT(sn_shard(x, 0), 1, 2, 3, 4);
  EXPECT(sn_all_gather(sn_shard(x, 1), 1), 1, 2, 3, 4);
  REFUSED(sn_all_reduce(x, 2), SN_ERR_SHAPE,
          "allReduce: axis 2 is out of range: a (2, 2) of rank 2, axes are -2 to 1");
}

/* y = sum over blocks of (shard x)^2, and x gathered once more: dy/dx = 2 x + 1. */
static void derivatives_are_those_of_one_process(void **state) {
  (void)state;
  sn_tensor *x = sn_placeholder(f.ctx, SN_F32, DIMS(3, 2)), *slope;
  sn_tensor *part = sn_shard(x, 0), *sums = sn_all_reduce(sn_square(part), 0);
  sn_tensor *y =
      sn_add(sn_sum(sums, SN_ALL_AXES, false), sn_sum(sn_all_gather(part, 0), SN_ALL_AXES, false));
  assert_int_equal(sn_gradients(y, &x, 1, &slope), SN_OK);
  sn_program *program;
  assert_int_equal(sn_compile(f.ctx, &x, 1, &slope, 1, NULL, &program), SN_OK);
  sn_tensor *value = ramp(f.ctx, DIMS(3, 2), 1), *out;
  assert_int_equal(sn_program_run(program, &value, &out), SN_OK);
  EXPECT(out, 3, 5, 7, 9, 11, 13);
  sn_program_release(program);
}

/* ---- in several ------------------------------------------------------------------------------ */

enum { ROWS = 16, IN = 6, OUT = 3, INPUTS = 4, RESULTS = 3, TIMES = 3 };

/* What a process has made. */
typedef struct trained {
  float state[IN * OUT], losses[TIMES]; /* after each step */
  exchanged exchanged;
} trained;

/* w - rate * mean over blocks of the gradient of |x w|^2 / 2, so many blocks; and the blocks' losses. */
static sn_program *compile_step(int64_t blocks) {
  const int64_t rows = ROWS / blocks;
  sn_scope_begin(f.ctx);
  sn_tensor *in[INPUTS - 1] = {sn_placeholder(f.ctx, SN_F32, DIMS(IN, OUT)),
                               sn_placeholder(f.ctx, SN_F32, 0, NULL),
                               sn_placeholder(f.ctx, SN_F32, DIMS(ROWS, IN))};
  sn_tensor *parts[2] = {sn_shard(sn_reshape(in[2], DIMS(blocks, rows, IN)), 0),
                         sn_shard(sn_iota(f.ctx, SN_F32, DIMS(blocks), 0), 0)};
  sn_tensor *of[2] = {sn_placeholder(f.ctx, SN_F32, DIMS(rows, IN)),
                      sn_placeholder(f.ctx, SN_F32, 0, NULL)};
  sn_tensor *y = sn_matmul(of[0], in[0]);
  sn_tensor *loss = sn_add(sn_sum(sn_square(y), SN_ALL_AXES, false), of[1]);
  sn_tensor *made[2] = {sn_matmul(sn_transpose(of[0], NULL), y), loss}, *each[2];
  const sn_traced body = {of, 2, made, 2};
  assert_int_equal(sn_scan(f.ctx, &body, 0, parts, blocks, false, each), SN_OK);
  sn_tensor *slope = sn_mul(sn_all_reduce(each[0], 0), in[1]), *losses = sn_all_gather(each[1], 0);
  sn_tensor *out[RESULTS] = {losses, sn_sum(losses, SN_ALL_AXES, false), sn_sub(in[0], slope)};
  sn_program *p = NULL;
  if (sn_compile(f.ctx, in, INPUTS - 1, out, RESULTS, NULL, &p))
    fail_msg("%s", sn_error_message(f.ctx));
  sn_scope_end(f.ctx);
  return p;
}

static uint8_t *save_step(int64_t blocks, size_t *size) {
  sn_program *p = compile_step(blocks);
  static const char *const paths[] = {"params", "lr", "batch.0"};
  sn_scope_begin(f.ctx);
  sn_tensor *values[] = {ramp(f.ctx, DIMS(IN, OUT), 0.37f), sn_full(f.ctx, SN_F32, 0, NULL, 1e-3)};
  const sn_step_parts parts = {
      .n_state = 1, .n_rates = 1, .values = values, .paths = paths, .precision = SN_F32};
  const void *bytes = NULL;
  if (sn_step_save(p, &parts, NULL, &bytes, size)) fail_msg("%s", sn_error_message(f.ctx));
  uint8_t *copy = malloc(*size);
  memcpy(copy, bytes, *size);
  sn_scope_end(f.ctx);
  sn_program_release(p);
  return copy;
}

/* Some steps on the same rows. */
static bool train(process *p) {
  trained *made = p->user;
  float rows[ROWS * IN];
  for (int i = 0; i < ROWS * IN; i++) rows[i] = sinf((float)i);
  p->inputs[2] = sn_from_data(p->ctx, SN_F32, DIMS(ROWS, IN), rows);
  for (int i = 0; i < TIMES; i++) {
    if (!run_step(p)) return false;
    made->losses[i] = *(const float *)sn_data(p->results[1]);
    sn_release(p->results[0]);
    sn_release(p->results[1]);
  }
  memcpy(made->state, sn_data(p->inputs[0]), sizeof made->state);
  made->exchanged = p->exchanged;
  return true;
}

static void train_together(trained *made, int ranks, const void *bytes, size_t size) {
  void *users[MOST_RANKS];
  for (int r = 0; r < ranks; r++) users[r] = &made[r];
  in_processes(ranks, (saved_step){bytes, size, false}, train, users);
}

static void several_processes_reach_the_bits_of_one(void **state) {
  (void)state;
  for (int64_t blocks = 4; blocks <= 16; blocks *= 2) {
    size_t size;
    uint8_t *bytes = save_step(blocks, &size);
    trained alone[MOST_RANKS], together[MOST_RANKS];
    train_together(alone, 1, bytes, size);
    assert_true(alone[0].losses[TIMES - 1] < alone[0].losses[0]);
    assert_int_equal(alone[0].exchanged.started, 0);
    for (int ranks = 2; ranks <= MOST_RANKS; ranks *= 2) {
      train_together(together, ranks, bytes, size);
      for (int r = 0; r < ranks; r++) {
        assert_int_equal(together[r].exchanged.started, 2 * TIMES); /* gradient and losses */
        assert_int_equal(together[r].exchanged.finished, together[r].exchanged.started);
        assert_memory_equal(together[r].state, alone[0].state, sizeof alone->state);
        assert_memory_equal(together[r].losses, alone[0].losses, sizeof alone->losses);
      }
    }
    free(bytes);
  }
}

static sn_status never(void *user, const sn_exchange *x, uint64_t *ticket) {
  (void)user;
  (void)x;
  (void)ticket;
  return SN_ERR_WORKER;
}
static sn_status never_over(void *user, uint64_t ticket) { return never(user, NULL, &ticket); }

static sn_context *open_as(int rank, int ranks) {
  const sn_processes processes = {
      .ranks = ranks, .rank = rank, .start = never, .finish = never_over};
  const sn_options options = {.threads = 1, .deterministic = true, .processes = &processes};
  sn_context *ctx = NULL;
  return sn_context_create(&options, &ctx) ? NULL : ctx;
}

static void refuse_load(int ranks, const void *bytes, size_t size, const char *message) {
  sn_context *ctx = open_as(0, ranks);
  sn_program *p;
  assert_int_equal(sn_step_load(ctx, bytes, size, &p), SN_ERR_ARGUMENT);
  expect_error(ctx, SN_ERR_ARGUMENT, message);
  sn_context_destroy(ctx);
}

static void what_cannot_be_shared_is_refused(void **state) {
  (void)state;
  size_t size;
  uint8_t *bytes = save_step(4, &size);
  refuse_load(3, bytes, size,
              "load: 4 blocks cannot be shared by 3 processes, with 1, 2, 4, 8, ... blocks each");
  refuse_load(8, bytes, size,
              "load: 4 blocks cannot be shared by 8 processes, with 1, 2, 4, 8, ... blocks each");
  free(bytes);
  assert_null(open_as(2, 2));
  assert_null(open_as(-1, 2));
}

/* What an exchange says ends the run, and the next one begins anew. */
static void a_failed_exchange_is_the_status_of_the_run(void **state) {
  (void)state;
  size_t size;
  uint8_t *bytes = save_step(4, &size);
  sn_context *ctx = open_as(1, 2);
  sn_program *p;
  sn_tensor *in[INPUTS - 1], *out[RESULTS];
  assert_int_equal(sn_step_load(ctx, bytes, size, &p), SN_OK);
  assert_int_equal(sn_step_init(p, in), SN_OK);
  in[2] = sn_zeros(ctx, SN_F32, DIMS(ROWS, IN));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(sn_program_run(p, in, out), SN_ERR_WORKER);
    sn_error_clear(ctx);
  }
  for (int i = 0; i < INPUTS - 1; i++) sn_release(in[i]);
  sn_program_release(p);
  sn_context_destroy(ctx);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(sums_are_added_in_pairs),
      TEST(one_process_has_all),
      TEST(derivatives_are_those_of_one_process),
      TEST(several_processes_reach_the_bits_of_one),
      TEST(what_cannot_be_shared_is_refused),
      TEST(a_failed_exchange_is_the_status_of_the_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
