/* test_budget.c - programs whose arena stays within a budget: recomputed values have the same bits, a
 * program that fits is not changed, and the error for one that cannot fit says how small it got. Random
 * programs within budgets are in test_fuzz_graph. */
#include <stdio.h>

#include "api_support.h"
#include "graph_support.h"

#include "plan/budget.h"
#include "program/steps.h"

enum { LAYERS = 12, ROWS = 16, WIDTH = 32, MOST = 4 * LAYERS + 2 };

/* A function, and arguments for it. */
typedef struct subject {
  sn_tensor *in[MOST], *out[MOST], *data[MOST];
  size_t n_inputs, n_outputs;
} subject;

static sn_tensor *argument(subject *s, int rank, const int64_t *dims) {
  static float numbers[ROWS * WIDTH * WIDTH];
  const size_t i = s->n_inputs++;
  int64_t n = 1;
  for (int k = 0; k < rank; k++) n *= dims[k];
  for (int64_t k = 0; k < n; k++)
    numbers[k] = (float)(((uint64_t)k * 7919 + i * 104729) % 1000) * 5e-4f - 0.25f;
  s->data[i] = sn_from_data(f.ctx, SN_F32, rank, dims, numbers);
  return s->in[i] = sn_placeholder(f.ctx, SN_F32, rank, dims);
}

/* The loss and its derivatives, or what the arguments behind the first are after a step down. */
static void differentiate(subject *s, sn_tensor *loss, bool steps) {
  sn_tensor *slopes[MOST];
  assert_int_equal(sn_gradients(loss, s->in + 1, s->n_inputs - 1, slopes), SN_OK);
  s->out[0] = loss;
  for (size_t i = 1; i < s->n_inputs; i++) {
    sn_tensor *step = sn_mul(slopes[i - 1], sn_scalar(f.ctx, 0.1));
    s->out[i] = steps ? sn_sub(s->in[i], step) : slopes[i - 1];
  }
  s->n_outputs = s->n_inputs;
}

/* x + W2 relu(W1 x + b1) + b2, LAYERS times. */
static subject residual_layers(bool steps) {
  subject s = {0};
  sn_tensor *x = argument(&s, DIMS(ROWS, WIDTH));
  for (int l = 0; l < LAYERS; l++) {
    sn_tensor *w1 = argument(&s, DIMS(WIDTH, WIDTH)), *b1 = argument(&s, DIMS(WIDTH));
    sn_tensor *w2 = argument(&s, DIMS(WIDTH, WIDTH)), *b2 = argument(&s, DIMS(WIDTH));
    sn_tensor *h = sn_relu(sn_add(sn_matmul(x, w1), b1));
    x = sn_add(x, sn_add(sn_matmul(h, w2), b2));
  }
  differentiate(&s, sn_mean(sn_square(x), SN_ALL_AXES, false), steps);
  return s;
}

/* tanh(x W), LAYERS times: a value can be made from the one before alone. */
static subject plain_layers(void) {
  subject s = {0};
  sn_tensor *x = argument(&s, DIMS(ROWS, WIDTH));
  for (int l = 0; l < LAYERS; l++) x = sn_tanh(sn_matmul(x, argument(&s, DIMS(WIDTH, WIDTH))));
  differentiate(&s, sn_mean(x, SN_ALL_AXES, false), false);
  return s;
}

/* The same with a loop in the middle, whose results cannot be made again. */
static subject layers_around_a_loop(void) {
  subject s = {0};
  sn_tensor *carry = sn_placeholder(f.ctx, SN_F32, DIMS(WIDTH)), *last[2];
  sn_tensor *row = sn_placeholder(f.ctx, SN_F32, DIMS(WIDTH));
  sn_tensor *next = sn_tanh(sn_add(carry, row));
  const sn_traced body = {(sn_tensor *[]){carry, row}, 2, (sn_tensor *[]){next, next}, 2};
  sn_tensor *x = argument(&s, DIMS(ROWS, WIDTH));
  for (int l = 0; l < LAYERS; l++) {
    x = sn_tanh(sn_matmul(x, argument(&s, DIMS(WIDTH, WIDTH))));
    if (l != LAYERS / 2) continue;
    sn_tensor *from[] = {sn_zeros(f.ctx, SN_F32, DIMS(WIDTH)), x};
    assert_int_equal(sn_scan(f.ctx, &body, 1, from, ROWS, false, last), SN_OK);
    x = last[1];
  }
  differentiate(&s, sn_mean(x, SN_ALL_AXES, false), false);
  return s;
}

static sn_program *compile_within(const subject *s, size_t budget, const bool *donate) {
  sn_program *p = NULL;
  const sn_program_options options = {.donate = donate, .record = true, .memory_budget = budget};
  sn_compile_with(f.ctx, s->in, s->n_inputs, s->out, s->n_outputs, &options, &p);
  return p;
}

static sn_program_info info_of(const sn_program *p) {
  sn_program_info info;
  sn_program_describe(p, &info);
  return info;
}

static void expect_equal_bits(const subject *s, sn_program *a, sn_program *b) {
  sn_tensor *of_a[MOST], *of_b[MOST];
  assert_int_equal(sn_program_run(a, s->data, of_a), SN_OK);
  assert_int_equal(sn_program_run(b, s->data, of_b), SN_OK);
  for (size_t i = 0; i < s->n_outputs; i++)
    assert_memory_equal(sn_data(of_a[i]), sn_data(of_b[i]), (size_t)sn_size(of_a[i]) * 4);
}

/* Within so many percent of the arena; work: of what it takes else, at most. */
static void expect_within(const subject *s, size_t percent, double work) {
  sn_program *plain = compile_within(s, 0, NULL);
  const sn_program_info all = info_of(plain);
  const size_t budget = all.arena_bytes * percent / 100;
  sn_program *p = compile_within(s, budget, NULL);
  if (!p) fail_msg("%zu %%: %s", percent, sn_error_message(f.ctx));
  const sn_program_info info = info_of(p);
  assert_true(info.arena_bytes <= budget);
  assert_true(info.kernels > all.kernels);
  if (info.flops > work * all.flops) fail_msg("%zu %%: %f", percent, info.flops / all.flops);
  expect_equal_bits(s, plain, p);
  sn_program_release(p);
  sn_program_release(plain);
}

static void equal_bits_in_less_memory(void **state) {
  (void)state;
  const subject residual = residual_layers(false), plain = plain_layers();
  expect_within(&residual, 75, 1.15);
  expect_within(&residual, 50, 1.25);
  expect_within(&residual, 30, 1.5);
  expect_within(&plain, 75, 1.2);
  expect_within(&plain, 50, 1.5);
}

static void loops_are_not_run_again(void **state) {
  (void)state;
  const subject s = layers_around_a_loop();
  expect_within(&s, 75, 1.3);
  expect_within(&s, 60, 1.5);
}

static void a_program_that_fits_is_not_changed(void **state) {
  (void)state;
  const subject s = residual_layers(false);
  sn_program *plain = compile_within(&s, 0, NULL);
  const sn_program_info all = info_of(plain);
  const size_t budgets[] = {all.arena_bytes, all.arena_bytes + 1, SIZE_MAX};
  for (size_t i = 0; i < 3; i++) {
    sn_program *p = compile_within(&s, budgets[i], NULL);
    const sn_program_info info = info_of(p);
    assert_memory_equal(&info, &all, sizeof info);
    assert_non_null(strstr(sn_program_inspection(p), "\"kernelsAgain\":0,"));
    assert_string_equal(sn_program_text(p, "plan"), sn_program_text(plain, "plan"));
    sn_program_release(p);
  }
  assert_non_null(strstr(sn_program_inspection(plain), "\"budget\":null"));
  sn_program_release(plain);
}

static void what_cannot_fit_says_how_far_it_got(void **state) {
  (void)state;
  const subject s = residual_layers(false);
  sn_program *plain = compile_within(&s, 0, NULL);
  const size_t all = info_of(plain).arena_bytes;
  for (size_t budget = 1; budget < 4096; budget *= 8) {
    size_t told[3];
    assert_null(compile_within(&s, budget, NULL));
    assert_int_equal(sn_error_status(f.ctx), SN_ERR_ARGUMENT);
    assert_string_equal(sn_error_info(f.ctx)->op, "compile");
    assert_int_equal(sscanf(sn_error_message(f.ctx),
                            "compile: a memory budget of %zu bytes cannot be met: the arena came "
                            "down from %zu bytes to %zu",
                            &told[0], &told[1], &told[2]),
                     3);
    assert_int_equal(told[0], budget);
    assert_int_equal(told[1], all);
    assert_true(told[2] > budget && told[2] <= all);
    sn_error_clear(f.ctx);
  }
  sn_program_release(plain);
}

/* Weights are read again after others were written over. */
static void steps_write_over_their_arguments(void **state) {
  (void)state;
  const subject s = residual_layers(true);
  bool donate[MOST] = {false};
  for (size_t i = 1; i < s.n_inputs; i++) donate[i] = true;
  sn_program *plain = compile_within(&s, 0, NULL), *in_place = compile_within(&s, 0, donate);
  sn_program *p = compile_within(&s, info_of(in_place).arena_bytes / 2, donate);
  assert_non_null(p);
  assert_true(strstr(sn_program_text(p, "plan"), "donated argument") != NULL);
  sn_tensor *a[MOST], *b[MOST];
  for (size_t i = 0; i < s.n_inputs; i++) a[i] = b[i] = s.data[i];
  for (int step = 0; step < 3; step++) {
    sn_tensor *of_a[MOST], *of_b[MOST];
    a[0] = b[0] = s.data[0];
    assert_int_equal(sn_program_run(plain, a, of_a), SN_OK);
    assert_int_equal(sn_program_run(p, b, of_b), SN_OK);
    for (size_t i = 0; i < s.n_outputs; i++) {
      a[i] = of_a[i];
      b[i] = of_b[i];
      assert_memory_equal(sn_data(a[i]), sn_data(b[i]), (size_t)sn_size(a[i]) * 4);
    }
  }
  sn_program_release(p);
  sn_program_release(in_place);
  sn_program_release(plain);
}

static void a_saved_program_keeps_its_budget(void **state) {
  (void)state;
  const subject s = residual_layers(false);
  sn_program *plain = compile_within(&s, 0, NULL), *loaded;
  sn_program *p = compile_within(&s, info_of(plain).arena_bytes / 2, NULL);
  const void *bytes;
  size_t size;
  assert_int_equal(sn_program_save(p, NULL, &bytes, &size), SN_OK);
  assert_int_equal(sn_program_load(f.ctx, bytes, size, &loaded), SN_OK);
  const sn_program_info was = info_of(p), is = info_of(loaded);
  assert_int_equal(is.arena_bytes, was.arena_bytes);
  assert_int_equal(is.kernels, was.kernels);
  expect_equal_bits(&s, plain, loaded);
  sn_program_release(loaded);
  sn_program_release(p);
  sn_program_release(plain);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Layers of products, each of whose results is read once more at the end, last first. */
static void write_layers(lab *l, void *made) {
  enum { N = 20 };
  const sn_id w = input(l, F32(16, 16));
  sn_id x[N + 1], sum = x[0] = input(l, F32(16, 16));
  for (int i = 0; i < N; i++)
    x[i + 1] = sn_build_unary(&l->b, SN_OP_exp, sn_build_matmul(&l->b, x[i], w));
  for (int i = N; i > 0; i--)
    sum = sn_build_matmul(&l->b, sn_build_binary(&l->b, SN_OP_add, sum, x[i]), w);
  OUTPUTS(l, sum);
  *(sn_groups *)made = cut_graph(l, true);
}

static void repeated_groups_are_verified_and_planned(void **state) {
  (void)state;
  for (size_t percent = 80; percent >= 30; percent -= 25) {
    lab l;
    sn_groups groups;
    sn_plan plan;
    size_t needed;
    lab_open(&l, true);
    write_layers(&l, &groups);
    const size_t n = groups.n_groups;
    assert_int_equal(sn_plan_memory(&l.arena, &groups, NULL, 2, &plan), SN_OK);
    const size_t budget = plan.arena_bytes * percent / 100;
    assert_int_equal(sn_keep_within_budget(&l.arena, &groups, NULL, 2, budget, &needed), SN_OK);
    assert_int_equal(needed, plan.arena_bytes);
    assert_int_equal(sn_plan_memory(&l.arena, &groups, NULL, 2, &plan), SN_OK);
    assert_true(plan.arena_bytes <= budget && sn_plan_is_sound(&groups, &plan));
    size_t again = 0;
    for (size_t i = 0; i < groups.n_groups; i++) {
      if (groups.repeats[i] == SN_NONE) continue;
      assert_true(groups.repeats[i] < i && groups.repeats[groups.repeats[i]] == SN_NONE);
      again++;
    }
    assert_true(again > 0 && again == groups.n_groups - n);
    lab_close(&l);
  }
}

static void set_value(sn_group *g, uint32_t from, uint32_t to) {
  for (uint32_t i = 0; i < g->post.n_operands; i++)
    if (g->post.operands[i].value == from) g->post.operands[i].value = to;
  for (int k = 0; k < 2 && g->kind == SN_GROUP_CONTRACTION; k++)
    if (g->contraction.factors[k].value == from) g->contraction.factors[k].value = to;
}

/* A reader of what is not there yet. */
static void a_reader_too_early_is_found(void **state) {
  (void)state;
  lab l;
  sn_groups groups;
  size_t needed;
  lab_open(&l, true);
  write_layers(&l, &groups);
  const uint32_t n_values = (uint32_t)groups.n_values;
  assert_int_equal(sn_keep_within_budget(&l.arena, &groups, NULL, 2, 16 * 1024, &needed), SN_OK);
  assert_true(groups.n_values > n_values);
  assert_int_equal(sn_groups_verify(&groups, &l.arena), SN_OK);
  for (size_t i = 0; i < groups.n_groups; i++) {
    const uint32_t to = n_values + 1; /* made for a use of its own */
    if (groups.values[to].node != groups.values[groups.groups[i].stores[0].target.value].node)
      continue;
    set_value(&groups.groups[i + 1], groups.groups[i].stores[0].target.value, to);
    break;
  }
  assert_int_equal(sn_groups_verify(&groups, &l.arena), SN_ERR_INTERNAL);
  lab_close(&l);
}

static sn_status keep_within(lab *l, void *made) {
  size_t needed;
  return sn_keep_within_budget(&l->arena, made, NULL, 2, 12 * 1024, &needed);
}

static void failures_give_back_what_they_took(void **state) {
  (void)state;
  sn_groups groups;
  fail_each_allocation(write_layers, keep_within, &groups);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(equal_bits_in_less_memory),
      TEST(loops_are_not_run_again),
      TEST(a_program_that_fits_is_not_changed),
      TEST(what_cannot_fit_says_how_far_it_got),
      TEST(steps_write_over_their_arguments),
      TEST(a_saved_program_keeps_its_budget),
      cmocka_unit_test(repeated_groups_are_verified_and_planned),
      cmocka_unit_test(a_reader_too_early_is_found),
      cmocka_unit_test(failures_give_back_what_they_took),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
