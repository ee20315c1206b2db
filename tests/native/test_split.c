/* test_split.c - a state that is split between several processes: it has the bits of one process; which values are split, and
 * what is sent between processes. */
#include <math.h>

#include "api_support.h"
#include "processes.h"

enum { BLOCKS = 4, ROWS = 16, IN = 6, OUT = 6, HIDDEN = 5, TIMES = 3, MOST_STATE = 8, MOST = 160 };

/* ---- steps ----------------------------------------------------------------------------------- */

/* What a step is made of: placeholders, and results. */
typedef struct making {
  sn_tensor *state[MOST_STATE], *next[MOST_STATE], *rate, *batch, *loss;
  size_t n_state;
} making;

static sn_tensor *block_of(sn_tensor *x, int64_t inner, int64_t outer) {
  return sn_shard(sn_reshape(x, DIMS(BLOCKS, inner, outer)), 0);
}

/* State k and, behind it, its momentum: m' = 0.9 m + g, x' = x - rate m'. */
static void update(making *s, size_t k, sn_tensor *g) {
  sn_tensor *slow = sn_mul(s->state[k + 1], sn_full(f.ctx, SN_F32, 0, NULL, 0.9));
  s->next[k + 1] = sn_add(slow, g);
  s->next[k] = sn_sub(s->state[k], sn_mul(s->rate, s->next[k + 1]));
}

static void value_and_momentum(making *s, int rank, const int64_t *dims) {
  for (int i = 0; i < 2; i++) s->state[s->n_state++] = sn_placeholder(f.ctx, SN_F32, rank, dims);
}

/* Of data: w (IN, OUT) and b (OUT) in all processes, the rows in blocks. clips: the gradient of w is scaled by its norm. */
static void make_of_data(making *s, bool clips) {
  value_and_momentum(s, DIMS(IN, OUT));
  value_and_momentum(s, DIMS(OUT));
  sn_tensor *x = sn_placeholder(f.ctx, SN_F32, DIMS(ROWS / BLOCKS, IN)), *each[3];
  sn_tensor *y = sn_add(sn_matmul(x, s->state[0]), s->state[2]);
  sn_tensor *made[3] = {sn_matmul(sn_transpose(x, NULL), y), sn_sum(y, 1, false),
                        sn_sum(sn_square(y), SN_ALL_AXES, false)};
  sn_tensor *rows = block_of(s->batch, ROWS / BLOCKS, IN);
  const sn_traced body = {&x, 1, made, 3};
  assert_int_equal(sn_scan(f.ctx, &body, 0, &rows, BLOCKS, false, each), SN_OK);
  sn_tensor *g = sn_all_reduce(each[0], 0);
  sn_tensor *one = sn_full(f.ctx, SN_F32, 0, NULL, 1);
  if (clips) g = sn_div(g, sn_add(one, sn_sqrt(sn_sum(sn_square(g), SN_ALL_AXES, false))));
  update(s, 0, g);
  update(s, 2, sn_all_reduce(each[1], 0));
  s->loss = sn_sum(sn_all_gather(each[2], 0), SN_ALL_AXES, false);
}

static void make_of_rows(making *s) { make_of_data(s, false); }
static void make_clipped(making *s) { make_of_data(s, true); }

/* Of products: the sum of x w[i] v[i], and b for all. decays: the squares of w count, too. */
static void make_of_modules(making *s, bool decays) {
  value_and_momentum(s, DIMS(BLOCKS, IN, HIDDEN));
  value_and_momentum(s, DIMS(BLOCKS, HIDDEN, OUT));
  value_and_momentum(s, DIMS(OUT));
  sn_tensor *of[3] = {sn_placeholder(f.ctx, SN_F32, DIMS(ROWS, IN)),
                      sn_placeholder(f.ctx, SN_F32, DIMS(IN, HIDDEN)),
                      sn_placeholder(f.ctx, SN_F32, DIMS(HIDDEN, OUT))};
  sn_tensor *made = sn_matmul(sn_matmul(of[0], of[1]), of[2]), *each, *slopes[3];
  sn_tensor *all = sn_broadcast_to(s->batch, DIMS(BLOCKS, ROWS, IN));
  sn_tensor *parts[3] = {sn_shard(all, 0), sn_shard(s->state[0], 0), sn_shard(s->state[2], 0)};
  const sn_traced body = {of, 3, &made, 1};
  assert_int_equal(sn_scan(f.ctx, &body, 0, parts, BLOCKS, false, &each), SN_OK);
  sn_tensor *y = sn_add(sn_all_reduce(each, 0), s->state[4]);
  s->loss = sn_sum(sn_square(y), SN_ALL_AXES, false);
  if (decays) s->loss = sn_add(s->loss, sn_sum(sn_square(s->state[0]), SN_ALL_AXES, false));
  sn_tensor *values[] = {s->state[0], s->state[2], s->state[4]};
  assert_int_equal(sn_gradients(s->loss, values, 3, slopes), SN_OK);
  for (size_t k = 0; k < 3; k++) update(s, 2 * k, slopes[k]);
}

static void make_of_products(making *s) { make_of_modules(s, false); }
static void make_decaying(making *s) { make_of_modules(s, true); }

static uint8_t *save_made(const making *s, size_t *size) {
  static const char *const paths[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  sn_tensor *in[MOST_STATE + 2], *out[MOST_STATE + 1] = {s->loss}, *values[MOST_STATE + 1];
  for (size_t k = 0; k < s->n_state; k++) {
    in[k] = s->state[k];
    out[k + 1] = s->next[k];
    values[k] = ramp(f.ctx, sn_rank(in[k]), sn_dims(in[k]), k % 2 ? 0 : 0.01f);
  }
  in[s->n_state] = s->rate;
  in[s->n_state + 1] = s->batch;
  values[s->n_state] = sn_full(f.ctx, SN_F32, 0, NULL, 1e-3);
  sn_program *p = NULL;
  if (sn_compile(f.ctx, in, s->n_state + 2, out, s->n_state + 1, NULL, &p))
    fail_msg("%s", sn_error_message(f.ctx));
  const sn_step_parts parts = {
      .n_state = s->n_state, .n_rates = 1, .values = values, .paths = paths, .precision = SN_F32};
  const void *bytes = NULL;
  if (sn_step_save(p, &parts, NULL, &bytes, size)) fail_msg("%s", sn_error_message(f.ctx));
  uint8_t *copy = malloc(*size);
  memcpy(copy, bytes, *size);
  sn_program_release(p);
  return copy;
}

static uint8_t *save_step(void (*make)(making *s), size_t *size) {
  making s = {0};
  sn_scope_begin(f.ctx);
  s.rate = sn_placeholder(f.ctx, SN_F32, 0, NULL);
  s.batch = sn_placeholder(f.ctx, SN_F32, DIMS(ROWS, IN));
  make(&s);
  uint8_t *bytes = save_made(&s, size);
  sn_scope_end(f.ctx);
  return bytes;
}

/* ---- in processes ---------------------------------------------------------------------------- */

typedef struct trained {
  float losses[TIMES], state[MOST_STATE][MOST]; /* what this process has of each */
  size_t counts[MOST_STATE], n_state;
  int parts[MOST_STATE];
  exchanged exchanged;
} trained;

static bool train(process *p) {
  trained *made = p->user;
  const sn_step_info *info = sn_step_describe(p->step);
  float rows[ROWS * IN];
  for (int i = 0; i < ROWS * IN; i++) rows[i] = sinf((float)i);
  p->inputs[info->n_state + 1] = sn_from_data(p->ctx, SN_F32, DIMS(ROWS, IN), rows);
  for (int i = 0; i < TIMES; i++) {
    if (!run_step(p)) return false;
    made->losses[i] = *(const float *)sn_data(p->results[0]);
    sn_release(p->results[0]);
  }
  made->n_state = info->n_state;
  for (size_t k = 0; k < info->n_state; k++) {
    made->parts[k] = info->inputs[k].parts;
    made->counts[k] = (size_t)sn_size(p->inputs[k]);
    memcpy(made->state[k], sn_data(p->inputs[k]), made->counts[k] * sizeof(float));
  }
  made->exchanged = p->exchanged;
  return true;
}

/* What the processes have together is what one has alone. */
static void expect_whole(const trained *together, int ranks, const trained *alone) {
  for (size_t k = 0; k < alone->n_state; k++)
    for (int r = 0; r < ranks; r++) {
      const trained *own = &together[r];
      const bool split = own->parts[k] > 1;
      assert_int_equal(own->parts[k], split ? ranks : 1);
      assert_int_equal(own->counts[k], split ? alone->counts[k] / (size_t)ranks : alone->counts[k]);
      const float *expected = alone->state[k] + (split ? (size_t)r * own->counts[k] : 0);
      assert_memory_equal(own->state[k], expected, own->counts[k] * sizeof(float));
    }
}

typedef struct expected {
  bool split_state;
  int ranks;
  const char *split; /* 's' for each value of the state that is split, else '-' */
  size_t given[3];   /* elements of a step: summed, summed and split, gathered */
} expected;

static void train_as(const void *bytes, size_t size, const trained *alone, const expected *e) {
  trained together[MOST_RANKS];
  void *users[MOST_RANKS];
  for (int r = 0; r < MOST_RANKS; r++) users[r] = &together[r];
  in_processes(e->ranks, (saved_step){bytes, size, e->split_state}, train, users);
  expect_whole(together, e->ranks, alone);
  for (int r = 0; r < e->ranks; r++) {
    assert_memory_equal(together[r].losses, alone->losses, sizeof alone->losses);
    for (size_t k = 0; k < alone->n_state; k++)
      assert_int_equal(together[r].parts[k] > 1, e->split[k] == 's');
    for (size_t kind = 0; kind < 3; kind++)
      assert_int_equal(together[r].exchanged.given[kind], TIMES * e->given[kind]);
    assert_int_equal(together[r].exchanged.finished, together[r].exchanged.started);
  }
}

static void check(void (*make)(making *s), const expected *cases, size_t n) {
  size_t size;
  uint8_t *bytes = save_step(make, &size);
  trained alone;
  in_processes(1, (saved_step){bytes, size, true}, train, (void *[]){&alone});
  assert_true(alone.losses[TIMES - 1] < alone.losses[0]);
  assert_int_equal(alone.exchanged.started, 0);
  for (size_t i = 0; i < n; i++) train_as(bytes, size, &alone, &cases[i]);
  free(bytes);
}
#define CHECK(make, ...)                       \
  check(make, (const expected[]){__VA_ARGS__}, \
        sizeof((const expected[]){__VA_ARGS__}) / sizeof(expected))

enum { W = IN * OUT, PRODUCT = ROWS * OUT };

/* w, its momentum, b, its momentum. The blocks need w and b; b's six numbers do not divide by four. What is updated in
 * parts is gathered; a loss of each block is, always. */
static void momentum_is_split_on_request(void **state) {
  (void)state;
  CHECK(make_of_rows, {false, 2, "----", {W + OUT, 0, BLOCKS / 2}},
        {false, 4, "----", {W + OUT, 0, BLOCKS / 4}},
        {true, 2, "-s-s", {0, W + OUT, (BLOCKS + W + OUT) / 2}},
        {true, 4, "-s--", {OUT, W, (BLOCKS + W) / 4}});
}

/* The norm reads all of the sum: each cuts its part out of that. */
static void what_is_read_whole_is_summed_for_all(void **state) {
  (void)state;
  CHECK(make_clipped, {true, 2, "-s-s", {W, OUT, (BLOCKS + W + OUT) / 2}},
        {true, 4, "-s--", {W + OUT, 0, (BLOCKS + W) / 4}});
}

/* Parameters of blocks, and their momentum, are at home where the blocks are: they never travel. */
static void parameters_of_blocks_are_split(void **state) {
  (void)state;
  CHECK(make_of_products, {false, 2, "ssss--", {PRODUCT, 0, 0}},
        {false, 4, "ssss--", {PRODUCT, 0, 0}}, {true, 2, "ssss-s", {PRODUCT, 0, OUT / 2}},
        {true, 4, "ssss--", {PRODUCT, 0, 0}});
}

/* What reads w whole has it gathered behind each update; its momentum stays in parts. */
static void parameters_that_are_read_whole_are_gathered(void **state) {
  (void)state;
  enum { ALL_W = BLOCKS * IN * HIDDEN };
  CHECK(make_decaying, {false, 2, "-sss--", {PRODUCT, 0, ALL_W / 2}},
        {false, 4, "-sss--", {PRODUCT, 0, ALL_W / 4}});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(momentum_is_split_on_request),
      TEST(what_is_read_whole_is_summed_for_all),
      TEST(parameters_of_blocks_are_split),
      TEST(parameters_that_are_read_whole_are_gathered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
