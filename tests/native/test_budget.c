/* test_budget.c - programs whose arena keeps within a budget: values made again have the bits that
 * they had, a program that fits is not changed, and what cannot fit says how far it got. */
#include <stdio.h>

#include "api_support.h"

#include "program/steps.h"
#include "tensor/tensor.h"

enum { LAYERS = 12, ROWS = 16, WIDTH = 32, N_INPUTS = 1 + 4 * LAYERS, N_OUTPUTS = N_INPUTS };

/* A program, and the arguments of its runs. */
typedef struct subject {
  sn_tensor *in[N_INPUTS], *out[N_OUTPUTS], *data[N_INPUTS];
  size_t n_inputs, n_outputs;
} subject;

static sn_tensor *argument(subject *s, int rank, const int64_t *dims) {
  static float numbers[1 << 16];
  const size_t i = s->n_inputs++;
  int64_t n = 1;
  for (int k = 0; k < rank; k++) n *= dims[k];
  for (int64_t k = 0; k < n; k++)
    numbers[k] = (float)(((uint64_t)k * 7919 + i * 104729) % 1000) * 5e-4f - 0.25f;
  s->data[i] = sn_from_data(f.ctx, SN_F32, rank, dims, numbers);
  return s->in[i] = sn_placeholder(f.ctx, SN_F32, rank, dims);
}

/* x + W2 relu(W1 x + b1) + b2, LAYERS times: the loss and its derivatives, or a step of descent. */
static subject residual_layers(bool steps) {
  subject s = {0};
  sn_tensor *slopes[N_INPUTS];
  sn_tensor *x = argument(&s, DIMS(ROWS, WIDTH));
  for (int l = 0; l < LAYERS; l++) {
    sn_tensor *w1 = argument(&s, DIMS(WIDTH, WIDTH)), *b1 = argument(&s, DIMS(WIDTH));
    sn_tensor *w2 = argument(&s, DIMS(WIDTH, WIDTH)), *b2 = argument(&s, DIMS(WIDTH));
    sn_tensor *h = sn_relu(sn_add(sn_matmul(x, w1), b1));
    x = sn_add(x, sn_add(sn_matmul(h, w2), b2));
  }
  sn_tensor *loss = sn_mean(sn_square(x), SN_ALL_AXES, false);
  assert_int_equal(sn_gradients(loss, s.in + 1, s.n_inputs - 1, slopes), SN_OK);
  s.out[0] = loss;
  for (size_t i = 1; i < s.n_inputs; i++)
    s.out[i] = steps ? sn_sub(s.in[i], sn_mul(slopes[i - 1], sn_scalar(f.ctx, 0.1))) : slopes[i - 1];
  s.n_outputs = s.n_inputs;
  return s;
}

static sn_program *compile_within(const subject *s, size_t budget, const bool *donate) {
  sn_program *p = NULL;
  const sn_program_options options = {.donate = donate, .memory_budget = budget};
  sn_compile_with(f.ctx, s->in, s->n_inputs, s->out, s->n_outputs, &options, &p);
  return p;
}

static sn_program_info info_of(const sn_program *p) {
  sn_program_info info;
  sn_program_describe(p, &info);
  return info;
}

static void expect_equal_bits(const subject *s, sn_program *a, sn_program *b) {
  sn_tensor *of_a[N_OUTPUTS], *of_b[N_OUTPUTS];
  assert_int_equal(sn_program_run(a, s->data, of_a), SN_OK);
  assert_int_equal(sn_program_run(b, s->data, of_b), SN_OK);
  for (size_t i = 0; i < s->n_outputs; i++)
    assert_memory_equal(sn_data(of_a[i]), sn_data(of_b[i]), (size_t)sn_size(of_a[i]) * 4);
}

static void half_the_arena_and_equal_bits(void **state) {
  (void)state;
  const subject s = residual_layers(false);
  sn_program *plain = compile_within(&s, 0, NULL);
  const sn_program_info all = info_of(plain);
  for (int percent = 90; percent >= 15; percent -= 15) {
    const size_t budget = all.arena_bytes * (size_t)percent / 100;
    sn_program *p = compile_within(&s, budget, NULL);
    if (!p) {
      print_message("%d%%: %s\n", percent, sn_error_message(f.ctx));
      sn_error_clear(f.ctx);
      continue;
    }
    const sn_program_info info = info_of(p);
    print_message("%d%%: arena %zu of %zu, kernels %zu of %zu, work %.3f\n", percent,
                  info.arena_bytes, all.arena_bytes, info.kernels, all.kernels,
                  info.flops / all.flops);
    assert_true(info.arena_bytes <= budget);
    expect_equal_bits(&s, plain, p);
    sn_program_release(p);
  }
  sn_program_release(plain);
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(half_the_arena_and_equal_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
