/* test_excess.c - excess precision: 16-bit values within a product's epilogue equal those of the program without casts.
 * Values in memory, and all values of a program that does not ask for it or is deterministic, are rounded as the program
 * says. */
#include <math.h>

#include "api_support.h"
#include "base/log.h"
#include "tensor/tensor.h"

enum { ROWS = 24, WIDTH = 36 };

/* Behind each op of a body: a cast to 16 bits and back, or nothing. */
typedef sn_tensor *narrow_fn(sn_tensor *x);
typedef sn_tensor *body_fn(sn_tensor *x, narrow_fn *narrow);

static sn_tensor *as_it_is(sn_tensor *x) { return x; }
static sn_tensor *to_f16(sn_tensor *x) { return sn_astype(sn_astype(x, SN_F16), SN_F32); }
static sn_tensor *to_bf16(sn_tensor *x) { return sn_astype(sn_astype(x, SN_BF16), SN_F32); }

static sn_tensor *product(sn_tensor *x) { return sn_matmul(sn_transpose(x, NULL), x); }

static sn_tensor *epilogue(sn_tensor *x, narrow_fn *narrow) {
  return sn_sqrt(narrow(sn_sub(narrow(product(x)), sn_scalar(f.ctx, 0.37))));
}
/* Read twice. */
static sn_tensor *squared(sn_tensor *x, narrow_fn *narrow) {
  sn_tensor *y = narrow(product(x));
  return sn_div(sn_mul(y, y), sn_add(y, sn_scalar(f.ctx, 0.1)));
}

static sn_tensor *map(sn_tensor *x, narrow_fn *narrow) {
  return sn_add(narrow(sn_mul(narrow(sn_exp(x)), x)), x);
}
static sn_tensor *row(sn_tensor *x, narrow_fn *narrow) {
  sn_tensor *e = narrow(sn_exp(x));
  sn_tensor *away = narrow(sn_sub(e, sn_mean(e, 2, true)));
  return sn_div(away, sn_sum(sn_square(away), 2, true));
}

static sn_tensor *numbers(void) {
  float x[ROWS * WIDTH];
  for (int i = 0; i < ROWS * WIDTH; i++) x[i] = (float)(i * 7919 % 1000) * 1.7e-3f + 0.3f;
  return sn_from_data(f.ctx, SN_F32, DIMS(ROWS, WIDTH), x);
}

static sn_tensor *compiled(body_fn *body, narrow_fn *narrow, bool excess) {
  sn_tensor *in = sn_placeholder(f.ctx, SN_F32, DIMS(ROWS, WIDTH)), *out = body(in, narrow), *y = NULL, *x = numbers();
  const sn_program_options options = {.excess_precision = excess};
  sn_program *p = NULL;
  assert_int_equal(sn_compile_with(f.ctx, &in, 1, &out, 1, &options, &p), SN_OK);
  assert_int_equal(sn_program_run(p, &x, &y), SN_OK);
  sn_program_release(p);
  return y;
}

static bool same(sn_tensor *a, sn_tensor *b) {
  assert_int_equal(sn_size(a), sn_size(b));
  return memcmp(sn_data(a), sn_data(b), (size_t)sn_size(a) * sizeof(float)) == 0;
}

static body_fn *const epilogues[] = {epilogue, squared}, *const others[] = {map, row};
static narrow_fn *const narrows[] = {to_f16, to_bf16};

static void epilogues_do_no_casts(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++) {
      sn_tensor *wide = compiled(epilogues[i], as_it_is, false), *rounded = compiled(epilogues[i], narrows[k], false);
      assert_false(same(wide, rounded));
      assert_true(same(compiled(epilogues[i], narrows[k], true), wide));
    }
}

static void other_kernels_round(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++) {
      sn_tensor *rounded = compiled(others[i], narrows[k], false);
      assert_false(same(compiled(others[i], as_it_is, false), rounded));
      assert_true(same(compiled(others[i], narrows[k], true), rounded));
    }
}

static void deterministic_programs_round_all(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++)
      assert_true(same(compiled(epilogues[i], narrows[k], true), compiled(epilogues[i], narrows[k], false)));
}

/* A value that is a result is rounded, and so is it for who reads it beside. */
static void what_lies_in_memory_is_rounded(void **state) {
  (void)state;
  sn_tensor *in = sn_placeholder(f.ctx, SN_F32, DIMS(ROWS, WIDTH)), *x = numbers(), *y[2];
  sn_tensor *h = sn_astype(sn_mul(product(in), sn_scalar(f.ctx, 2e3)), SN_F16), *again = sn_astype(h, SN_F32);
  sn_tensor *out[] = {h, sn_mul(again, sn_scalar(f.ctx, 0.5))};
  const sn_program_options options = {.excess_precision = true};
  sn_program *p = NULL;
  assert_int_equal(sn_compile_with(f.ctx, &in, 1, out, 2, &options, &p), SN_OK);
  assert_int_equal(sn_program_run(p, &x, y), SN_OK);
  sn_tensor *kept = sn_astype(y[0], SN_F32);
  const float *values = sn_data(kept), *halves = sn_data(y[1]);
  int infinities = 0;
  for (int i = 0; i < WIDTH * WIDTH; i++) {
    assert_true(halves[i] == values[i] * 0.5f);
    infinities += isinf(values[i]) != 0;
  }
  assert_in_range(infinities, 1, WIDTH * WIDTH - 1);
  sn_program_release(p);
}

/* Saved and loaded, it is the program that it was. */
static void saved_programs_keep_it(void **state) {
  (void)state;
  sn_tensor *in = sn_placeholder(f.ctx, SN_F32, DIMS(ROWS, WIDTH)), *out = epilogue(in, to_f16), *y = NULL, *x = numbers();
  const sn_program_options options = {.excess_precision = true};
  sn_program *p = NULL, *loaded = NULL;
  const void *bytes;
  size_t size;
  assert_int_equal(sn_compile_with(f.ctx, &in, 1, &out, 1, &options, &p), SN_OK);
  assert_int_equal(sn_program_save(p, NULL, &bytes, &size), SN_OK);
  assert_int_equal(sn_program_load(f.ctx, bytes, size, &loaded), SN_OK);
  assert_int_equal(sn_program_run(loaded, &x, &y), SN_OK);
  assert_true(same(y, compiled(epilogue, as_it_is, false)));
  sn_program_release(p);
  sn_program_release(loaded);
}

/* The level of debugging is part of what programs are found by, too: at level 2 it once looked like this option. */
static void programs_are_found_by_it(void **state) {
  (void)state;
  sn_tensor *in = sn_placeholder(f.ctx, SN_F32, DIMS(ROWS, WIDTH)), *out = epilogue(in, to_f16);
  const sn_program_options options = {.excess_precision = true};
  sn_program *programs[3];
  assert_int_equal(sn_compile_with(f.ctx, &in, 1, &out, 1, &options, &programs[0]), SN_OK);
  assert_int_equal(sn_compile_with(f.ctx, &in, 1, &out, 1, &options, &programs[1]), SN_OK);
  assert_int_equal(f.ctx->n_cached, 1);
  f.ctx->env.debug = SN_LOG_TIMES;
  assert_int_equal(sn_compile(f.ctx, &in, 1, &out, 1, NULL, &programs[2]), SN_OK);
  f.ctx->env.debug = 0;
  assert_int_equal(f.ctx->n_cached, 2);
  for (int i = 0; i < 3; i++) sn_program_release(programs[i]);
}

static int open_deterministic(void **state) {
  (void)state;
  fixture_open(&f, (sn_options){.threads = 1, .deterministic = true});
  return (int)sn_scope_begin(f.ctx);
}

#define DETERMINISTIC(name) cmocka_unit_test_setup_teardown(name, open_deterministic, close_fixture)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(epilogues_do_no_casts),
      TEST(other_kernels_round),
      DETERMINISTIC(deterministic_programs_round_all),
      TEST(what_lies_in_memory_is_rounded),
      TEST(saved_programs_keep_it),
      TEST(programs_are_found_by_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
