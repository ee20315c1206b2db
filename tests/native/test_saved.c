/* test_saved.c - programs saved as bytes: a loaded program gives equal bits, here and in another process;
 * loading damaged bytes is an error.
 *
 *   SINTER_TEST_DAMAGES=1000000 test_saved     as many damaged programs
 *   test_saved FILE                            the other process: prints the results' bits
 *   test_saved save FILE                       saves the sample, and prints them */
#include <stdio.h>

#include "program/saved.h"
#include "support.h"
#include "tensor/program.h"

static fixture f;

enum { N = 24, OUTPUTS = 6, SMALL = 6, STEP_INPUTS = 4 };

/* Rows of h one after the other: the larger of carry / 2 and the row, by a loop that chooses in it. out: the last carry,
 * then all. */
static void loop_over_rows(sn_context *ctx, sn_tensor *h, sn_tensor *out[2]) {
  sn_tensor *in[2], *row[2], *carry, *stacked;
  for (int k = 0; k < 2; k++) {
    in[k] = sn_placeholder(ctx, SN_F32, DIMS(N));
    row[k] = sn_placeholder(ctx, SN_F32, DIMS(N));
  }
  sn_tensor *half = sn_mul(in[0], sn_scalar(ctx, 0.5)), *operands[1] = {in[1]};
  sn_tensor *same = sn_neg(row[0]), *other = sn_mul(row[1], half);
  const sn_traced on_true = {&row[0], 1, &same, 1}, on_false = {&row[1], 1, &other, 1};
  sn_tensor *positive = sn_greater(sn_sum(in[1], SN_ALL_AXES, false), sn_scalar(ctx, 0));
  assert_int_equal(sn_cond(positive, &on_true, &on_false, operands, &stacked), SN_OK);
  carry = sn_maximum(half, in[1]);
  sn_tensor *made[2] = {carry, stacked};
  sn_tensor *inputs[2] = {sn_zeros(ctx, SN_F32, DIMS(N)), h};
  const sn_traced body = {in, 2, made, 2};
  assert_int_equal(sn_scan(ctx, &body, 1, inputs, N, true, out), SN_OK);
}

/* A program of every kind of kernel: product, rows, reductions, a call, views, integers, loops; some
 * tensors are captured. */
static sn_program *compile_sample(sn_context *ctx, const bool *donate) {
  float numbers[N * N];
  int32_t picks[N];
  for (int i = 0; i < N * N; i++) numbers[i] = (float)(i % 17) * 0.21f - 1.3f;
  for (int i = 0; i < N; i++) picks[i] = (7 * i) % N;
  sn_scope_begin(ctx);
  sn_tensor *in[] = {sn_placeholder(ctx, SN_F32, DIMS(N, N)), sn_placeholder(ctx, SN_F32, DIMS(N))};
  sn_tensor *w = sn_from_data(ctx, SN_F32, DIMS(N, N), numbers);
  sn_tensor *at = sn_from_data(ctx, SN_I32, DIMS(N), picks);
  sn_tensor *square = sn_matmul(w, w); /* runs once: a prelude */
  sn_tensor *h = sn_tanh(sn_add(sn_matmul(in[0], square), in[1]));
  sn_tensor *out[OUTPUTS] = {
      sn_softmax(h, 1), sn_cumsum(sn_take(h, at, 0), 1, false, false),
      sn_argmax(sn_transpose(h, NULL), 0, false),
      sn_sum(sn_square(sn_sub(in[0], sn_scalar(ctx, 0.5))), SN_ALL_AXES, false)};
  loop_over_rows(ctx, h, out + 4);
  sn_program *p = NULL;
  assert_int_equal(sn_compile(ctx, in, 2, out, OUTPUTS, donate, &p), SN_OK);
  assert_non_null(sn_program_prelude(p));
  sn_scope_end(ctx);
  return p;
}

/* A hash of all results of a run on fixed numbers. */
static uint64_t bits_of_run(sn_context *ctx, sn_program *p) {
  float x[N * N];
  for (int i = 0; i < N * N; i++) x[i] = (float)(i % 23) * 0.17f - 1.9f;
  sn_tensor *in[] = {sn_from_data(ctx, SN_F32, DIMS(N, N), x),
                     sn_from_data(ctx, SN_F32, DIMS(N), x)};
  sn_tensor *out[OUTPUTS];
  assert_int_equal(sn_program_run(p, in, out), SN_OK);
  uint64_t hash = 0xcbf29ce484222325u;
  for (int i = 0; i < OUTPUTS; i++) {
    const uint8_t *bytes = sn_data(out[i]);
    assert_non_null(bytes);
    for (size_t k = 0; k < sn_size_bytes(out[i]); k++) hash = (hash ^ bytes[k]) * 0x100000001b3u;
    sn_release(out[i]);
  }
  for (int i = 0; i < 2; i++) sn_release(in[i]);
  return hash;
}

static uint8_t *save_copy(sn_program *p, const char *note, size_t *size) {
  const void *bytes;
  assert_int_equal(sn_program_save(p, note, &bytes, size), SN_OK);
  uint8_t *copy = malloc(*size);
  memcpy(copy, bytes, *size);
  return copy;
}

static sn_program *load(sn_context *ctx, const void *bytes, size_t size) {
  sn_program *p = NULL;
  if (sn_program_load(ctx, bytes, size, &p)) fail_msg("%s", sn_error_message(ctx));
  return p;
}

/* A step of w and a count by one rate: another result, the loss w . x, and the state behind it. */
static sn_program *compile_step(sn_context *ctx) {
  sn_scope_begin(ctx);
  sn_tensor *in[STEP_INPUTS] = {
      sn_placeholder(ctx, SN_F32, DIMS(4)), sn_placeholder(ctx, SN_I32, 0, NULL),
      sn_placeholder(ctx, SN_F32, 0, NULL), sn_placeholder(ctx, SN_F32, DIMS(4))};
  sn_tensor *loss = sn_sum(sn_mul(in[0], in[3]), SN_ALL_AXES, false), *slope;
  assert_int_equal(sn_gradients(loss, in, 1, &slope), SN_OK);
  sn_tensor *out[4] = {sn_exp(in[3]), loss, sn_sub(in[0], sn_mul(slope, in[2])),
                       sn_add(in[1], sn_scalar(ctx, 1))};
  sn_program *p = NULL;
  assert_int_equal(sn_compile(ctx, in, STEP_INPUTS, out, 4, (bool[]){true, true, false, false}, &p),
                   SN_OK);
  sn_scope_end(ctx);
  return p;
}

static const char *const step_paths[STEP_INPUTS] = {"params.w", "optimizer.count", "lr", "batch.0"};

static uint8_t *save_step(sn_program *p, size_t *size) {
  const float w[] = {1, 2, 3, 4};
  sn_scope_begin(f.ctx);
  sn_tensor *values[] = {sn_from_data(f.ctx, SN_F32, DIMS(4), w),
                         sn_full(f.ctx, SN_I32, 0, NULL, 5), sn_full(f.ctx, SN_F32, 0, NULL, 0.5)};
  const sn_step_parts parts = {
      .n_state = 2, .n_rates = 1, .values = values, .paths = step_paths, .precision = SN_F32};
  const void *bytes = NULL;
  if (sn_step_save(p, &parts, "a note", &bytes, size)) fail_msg("%s", sn_error_message(f.ctx));
  uint8_t *copy = malloc(*size);
  memcpy(copy, bytes, *size);
  sn_scope_end(f.ctx);
  return copy;
}

/* ---- equal bits ------------------------------------------------------------------------------ */

static void a_saved_program_is_the_same(void **state) {
  (void)state;
  sn_program *p = compile_sample(f.ctx, NULL);
  size_t size, again;
  uint8_t *bytes = save_copy(p, "of the user", &size);
  sn_program *q = load(f.ctx, bytes, size);
  assert_string_equal(sn_program_note(q), "of the user");
  assert_null(sn_program_note(p));
  assert_true(bits_of_run(f.ctx, p) == bits_of_run(f.ctx, q));
  sn_program_info a, b;
  sn_program_describe(p, &a);
  sn_program_describe(q, &b);
  assert_memory_equal(&a, &b, sizeof a);
  uint8_t *copy = save_copy(q, "of the user", &again); /* what was loaded can be saved */
  assert_int_equal(again, size);
  assert_memory_equal(copy, bytes, size);
  free(copy);
  free(bytes);
  sn_program_release(p);
  sn_program_release(q);
}

/* Other contexts, of one thread and without code made at run time, have the same bits. */
static void donated_arguments_and_other_contexts(void **state) {
  (void)state;
  sn_program *p = compile_sample(f.ctx, (bool[]){true, false});
  size_t size;
  uint8_t *bytes = save_copy(p, NULL, &size);
  fixture g;
  fixture_open(&g, (sn_options){.threads = 1, .deterministic = true, .no_jit = true});
  sn_program *q = load(g.ctx, bytes, size);
  assert_null(sn_program_note(q));
  assert_true(q->donate[0] && !q->donate[1]);
  assert_true(bits_of_run(f.ctx, p) == bits_of_run(g.ctx, q));
  sn_program_release(q);
  fixture_close(&g);
  free(bytes);
  sn_program_release(p);
}

static const char *self;

static void another_process_has_the_same_bits(void **state) {
  (void)state;
  char path[] = "/tmp/sinter-saved-XXXXXX", command[512], answer[64] = "", expected[64];
  sn_program *p = compile_sample(f.ctx, NULL);
  size_t size;
  uint8_t *bytes = save_copy(p, NULL, &size);
  const int file = mkstemp(path);
  FILE *out = fdopen(file, "wb");
  assert_int_equal(fwrite(bytes, 1, size, out), size);
  fclose(out);
  snprintf(command, sizeof command, "%s %s", self, path);
  FILE *other = popen(command, "r");
  assert_non_null(other);
  assert_non_null(fgets(answer, sizeof answer, other));
  assert_int_equal(pclose(other), 0);
  snprintf(expected, sizeof expected, "%016llx\n", (unsigned long long)bits_of_run(f.ctx, p));
  assert_string_equal(answer, expected);
  remove(path);
  free(bytes);
  sn_program_release(p);
}

static int run_file(const char *path) {
  uint8_t *bytes = malloc(1 << 20);
  FILE *in = fopen(path, "rb");
  if (!in) return 1;
  const size_t size = fread(bytes, 1, 1 << 20, in);
  fclose(in);
  fixture_open(&f, (sn_options){.deterministic = true});
  sn_program *p = load(f.ctx, bytes, size);
  free(bytes);
  printf("%016llx\n", (unsigned long long)bits_of_run(f.ctx, p));
  sn_program_release(p);
  fixture_close(&f);
  return 0;
}

/* ---- training steps -------------------------------------------------------------------------- */

static void check_step(const sn_step_info *info) {
  assert_non_null(info);
  assert_int_equal(info->n_state, 2);
  assert_int_equal(info->n_rates, 1);
  assert_int_equal(info->n_batch, 1);
  assert_int_equal(info->n_others, 1);
  assert_int_equal(info->precision, SN_F32);
  assert_true(info->deterministic);
  for (int i = 0; i < STEP_INPUTS; i++) assert_string_equal(info->inputs[i].path, step_paths[i]);
  assert_int_equal(info->inputs[3].rank, 1);
  assert_int_equal(info->inputs[3].dims[0], 4);
  assert_int_equal(info->inputs[1].dtype, SN_I32);
}

static void a_saved_step_trains_from_its_state(void **state) {
  (void)state;
  sn_program *p = compile_step(f.ctx), *q = NULL;
  size_t size;
  uint8_t *bytes = save_step(p, &size);
  assert_null(sn_step_describe(p));
  if (sn_step_load(f.ctx, bytes, size, &q)) fail_msg("%s", sn_error_message(f.ctx));
  check_step(sn_step_describe(q));
  assert_string_equal(sn_program_note(q), "a note");
  const float x[] = {1, -1, 2, 0};
  for (int times = 0; times < 2; times++) { /* what it hands out is not its own */
    sn_tensor *in[STEP_INPUTS], *out[4];
    assert_int_equal(sn_step_init(q, in), SN_OK);
    in[3] = sn_from_data(f.ctx, SN_F32, DIMS(4), x);
    assert_int_equal(sn_program_run(q, in, out), SN_OK);
    assert_true(*(const float *)sn_data(out[1]) == 5);
    assert_memory_equal(sn_data(out[2]), ((float[]){0.5f, 2.5f, 2, 4}), 16);
    assert_int_equal(*(const int32_t *)sn_data(out[3]), 6);
    for (int i = 0; i < STEP_INPUTS; i++) sn_release(in[i]);
    for (int i = 0; i < 4; i++) sn_release(out[i]);
  }
  sn_program_release(q);
  q = load(f.ctx, bytes, size); /* a step is a program */
  check_step(sn_step_describe(q));
  sn_program_release(q);
  sn_program_release(p);
  free(bytes);
}

static void what_is_no_step_is_refused(void **state) {
  (void)state;
  sn_program *p = compile_step(f.ctx), *q = NULL;
  size_t size;
  uint8_t *bytes = save_copy(p, NULL, &size);
  assert_int_equal(sn_step_load(f.ctx, bytes, size, &q), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "load: this saved program is no training step");
  sn_tensor *out[3];
  assert_int_equal(sn_step_init(p, out), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "step: this program is no training step");
  sn_tensor *values[4] = {sn_full(f.ctx, SN_F32, DIMS(4), 0), sn_full(f.ctx, SN_F32, 0, NULL, 0)};
  sn_step_parts parts = {.n_state = 2, .values = values, .paths = step_paths};
  const void *again;
  assert_int_equal(sn_step_save(p, &parts, NULL, &again, &size), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "step: value 1 is of another kind than the program's input");
  parts.n_state = 4;
  for (int i = 2; i < 4; i++) values[i] = values[0];
  assert_int_equal(sn_step_save(p, &parts, NULL, &again, &size), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT,
               "step: a state of 4 tensors and 0 rates, in a program of 4 inputs and 4 results");
  parts.n_state = 1; /* its third result would be the loss */
  assert_int_equal(sn_step_save(p, &parts, NULL, &again, &size), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "step: the loss of a step is no number");
  for (int i = 0; i < 2; i++) sn_release(values[i]);
  sn_program_release(p);
  free(bytes);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void refuse(const void *bytes, size_t size, const char *message) {
  sn_program *p = NULL;
  assert_int_equal(sn_program_load(f.ctx, bytes, size, &p), SN_ERR_ARGUMENT);
  assert_null(p);
  expect_error(f.ctx, SN_ERR_ARGUMENT, message);
}

static void other_bytes_are_refused(void **state) {
  (void)state;
  sn_program *p = compile_sample(f.ctx, NULL);
  char message[80];
  size_t size;
  uint8_t *bytes = save_copy(p, NULL, &size);
  sn_program_release(p);
  refuse(NULL, 0, "load: these bytes are not a saved program");
  refuse("GIF89a", 6, "load: these bytes are not a saved program");
  snprintf(message, sizeof message, "load: damaged: %zu bytes are there of %zu", size - 53,
           size - 52);
  refuse(bytes, size - 1, message);
  bytes[size / 2] ^= 1;
  refuse(bytes, size, "load: damaged: the checksum does not fit");
  bytes[size / 2] ^= 1;
  bytes[12] = '9';
  refuse(bytes, size, "load: saved by version 9.1.0 of Sinter, format 6; this is 0.1.0, format 6");
  free(bytes);
}

/* Runs what a damaged program has become, on zeros, if that is little work. */
static bool run_changed(sn_program *p) {
  sn_context *ctx = f.ctx;
  const sn_graph *g = &p->compiled->exe->program->graph;
  for (sn_id id = 0; id < g->n_nodes; id++)
    if (sn_type_size(&g->nodes[id].type) > 1 << 16) return false;
  sn_tensor **in = calloc(p->n_inputs + 1, sizeof *in);
  sn_tensor **out = calloc(p->n_outputs + 1, sizeof *out);
  bool have = true;
  for (size_t i = 0; i < p->n_inputs; i++) {
    const sn_type *type = &p->types[i];
    have = have && sn_type_size(type) <= 1 << 16 &&
           (in[i] = sn_full(ctx, type->dtype, type->rank, type->dims, 0));
  }
  have = have && !sn_program_run(p, in, out);
  for (size_t i = 0; have && i < p->n_outputs; i++) {
    sn_data(out[i]);
    sn_release(out[i]);
  }
  for (size_t i = 0; i < p->n_inputs; i++) sn_release(in[i]);
  free(in);
  free(out);
  sn_error_clear(ctx);
  return have;
}

/* Numbers at their edges, bits, neighbours' bytes: a few at a time. */
static void damage(uint8_t *bytes, size_t size, case_random *r) {
  static const uint8_t edges[] = {0, 1, 2, 7, 8, 9, 0x7f, 0x80, 0xff};
  const int64_t n = (int64_t)size;
  for (int64_t times = case_below(r, 3); times >= 0; times--) {
    uint8_t *at = &bytes[case_below(r, n)];
    switch (case_below(r, 4)) {
    case 0: *at ^= (uint8_t)(1u << case_below(r, 8)); break;
    case 1: *at = edges[case_below(r, sizeof edges)]; break;
    case 2: *at = bytes[case_below(r, n)]; break;
    default: *at = (uint8_t)(*at + case_below(r, 5) - 2);
    }
  }
}

/* A small program, so that most damage hits the graph. */
static sn_program *compile_small(sn_context *ctx, uint32_t which) {
  sn_scope_begin(ctx);
  sn_tensor *in[] = {sn_placeholder(ctx, SN_F32, DIMS(4, 6)), sn_placeholder(ctx, SN_I32, DIMS(4))};
  sn_tensor *x = in[0], *y = sn_sum(sn_exp(x), 1u << 1, true);
  sn_tensor *part = sn_slice(x, (int64_t[]){0, 1}, (int64_t[]){4, 3}, NULL);
  switch (which) {
  case 0: x = sn_matmul(sn_transpose(x, NULL), sn_mul(x, y)); break;
  case 1: x = sn_take(sn_div(x, y), in[1], 0); break;
  case 2:
    x = sn_sort(sn_pad(x, (int64_t[]){1, 0}, (int64_t[]){0, 2}, SN_PAD_CONSTANT, 0.5), 1, true);
    break;
  case 3: x = sn_concat((sn_tensor *[]){x, sn_reshape(part, 2, (int64_t[]){2, 6})}, 2, 0); break;
  case 4: x = sn_where(sn_greater(x, y), sn_cumsum(x, 1, true, false), sn_exp(x)); break;
  default: x = sn_scatter_add(x, in[1], sn_tanh(x), 0);
  }
  sn_tensor *out[] = {x, sn_slice(y, (int64_t[]){1, 0}, (int64_t[]){2, 1}, NULL)};
  sn_program *p = NULL;
  if (sn_compile(ctx, in, 2, out, 2, NULL, &p)) fail_msg("%u: %s", which, sn_error_message(ctx));
  sn_scope_end(ctx);
  return p;
}

static void damage_is_an_error_or_another_program(void **state) {
  (void)state;
  const char *wanted = getenv("SINTER_TEST_DAMAGES");
  const uint64_t count = wanted ? strtoull(wanted, NULL, 0) : 1000;
  uint64_t refused = 0, loaded = 0, ran = 0;
  for (uint32_t which = 0; which <= SMALL; which++) { /* the last one: a training step */
    sn_program *p = which < SMALL ? compile_small(f.ctx, which) : compile_step(f.ctx);
    size_t size;
    uint8_t *bytes = which < SMALL ? save_copy(p, NULL, &size) : save_step(p, &size);
    uint8_t *changed = malloc(size);
    sn_program_release(p);
    for (uint64_t i = which; i < count; i += SMALL + 1) {
      case_random r = {1000 + i};
      memcpy(changed, bytes, size);
      const size_t left = case_one_in(&r, 16) ? (size_t)case_below(&r, (int64_t)size) : size;
      damage(changed, size, &r);
      if (!case_one_in(&r, 8)) sn_saved_write_head(changed, left);
      sn_program *q = NULL;
      const sn_status status = sn_program_load(f.ctx, changed, left, &q);
      if (status && status != SN_ERR_ARGUMENT && status != SN_ERR_MEMORY)
        fail_msg("damage %llu: status %d, %s", (unsigned long long)i, (int)status,
                 sn_error_message(f.ctx));
      sn_error_clear(f.ctx);
      refused += status != SN_OK;
      loaded += !status;
      if (!status) ran += run_changed(q);
      sn_program_release(q);
    }
    free(changed);
    free(bytes);
  }
  print_message("%llu refused, %llu loaded, %llu of them ran\n", (unsigned long long)refused,
                (unsigned long long)loaded, (unsigned long long)ran);
  assert_true(refused > 0 && loaded > 0 && ran > 0);
}

/* Every allocation on the way fails once. */
static void fail_every_allocation(uint8_t *bytes, size_t size) {
  sn_program *q = NULL;
  for (int64_t at = 0; !q; at++) {
    const void *again;
    f.ledger.countdown = at;
    if (sn_program_load(f.ctx, bytes, size, &q)) continue;
    f.ledger.countdown = 0;
    f.ledger.forever = true;
    assert_int_equal(sn_program_save(q, NULL, &again, &size), SN_ERR_MEMORY);
  }
  f.ledger.countdown = -1;
  f.ledger.forever = false;
  sn_error_clear(f.ctx);
  sn_program_release(q);
}

static void memory_that_runs_out_leaks_nothing(void **state) {
  (void)state;
  size_t size;
  sn_program *p = compile_sample(f.ctx, NULL);
  uint8_t *bytes = save_copy(p, "note", &size);
  sn_program_release(p);
  fail_every_allocation(bytes, size);
  free(bytes);
  p = compile_step(f.ctx);
  bytes = save_step(p, &size);
  sn_program_release(p);
  fail_every_allocation(bytes, size);
  free(bytes);
}

static void a_first_state_without_memory_is_none(void **state) {
  (void)state;
  sn_program *p = compile_step(f.ctx), *q = NULL;
  size_t size;
  uint8_t *bytes = save_step(p, &size);
  sn_program_release(p);
  assert_int_equal(sn_step_load(f.ctx, bytes, size, &q), SN_OK);
  sn_tensor *out[3] = {NULL};
  sn_status status = SN_ERR_MEMORY;
  for (int64_t at = 0; status; at++) {
    f.ledger.countdown = at;
    status = sn_step_init(q, out);
    if (status) assert_true(!out[0] && !out[1] && !out[2]);
  }
  f.ledger.countdown = -1;
  sn_error_clear(f.ctx);
  for (int i = 0; i < 3; i++) sn_release(out[i]);
  sn_program_release(q);
  free(bytes);
}

static int setup(void **state) {
  (void)state;
  fixture_open(&f,
               (sn_options){.threads = 2, .deterministic = true, .memory_limit_bytes = 64 << 20});
  return 0;
}

static int teardown(void **state) {
  (void)state;
  fixture_close(&f);
  return 0;
}

static int save_file(const char *path) {
  fixture_open(&f, (sn_options){.deterministic = true});
  sn_program *p = compile_sample(f.ctx, NULL);
  size_t size;
  uint8_t *bytes = save_copy(p, NULL, &size);
  FILE *out = fopen(path, "wb");
  if (!out || fwrite(bytes, 1, size, out) != size || fclose(out)) return 1;
  free(bytes);
  printf("%016llx\n", (unsigned long long)bits_of_run(f.ctx, p));
  sn_program_release(p);
  fixture_close(&f);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 3) return save_file(argv[2]);
  if (argc == 2) return run_file(argv[1]);
  self = argv[0];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_saved_program_is_the_same, setup, teardown),
      cmocka_unit_test_setup_teardown(donated_arguments_and_other_contexts, setup, teardown),
      cmocka_unit_test_setup_teardown(another_process_has_the_same_bits, setup, teardown),
      cmocka_unit_test_setup_teardown(a_saved_step_trains_from_its_state, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_no_step_is_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(a_first_state_without_memory_is_none, setup, teardown),
      cmocka_unit_test_setup_teardown(other_bytes_are_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(damage_is_an_error_or_another_program, setup, teardown),
      cmocka_unit_test_setup_teardown(memory_that_runs_out_leaks_nothing, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
