/* test_packed.c - weights that stay packed from call to call. That they do is shown by spoiling the
 * packed form and finding the fault in the next result. Other contents must never be mistaken for
 * them.
 *
 * Results are compared, bit for bit, with those of a context that has never met the weights. */
#include <string.h>

#include "support.h"
#include "tensor/tensor.h"

enum { M = 24, K = 200, N = 40, SIZE = M * N };

typedef struct reader { /* y = x W */
  sn_program *program;
  const sn_kernel *kernel; /* the cache's newest program's only one */
} reader;

static reader compile_reader(sn_context *ctx) {
  sn_tensor *in[] = {sn_placeholder(ctx, SN_F32, DIMS(M, K)),
                     sn_placeholder(ctx, SN_F32, DIMS(K, N))};
  sn_tensor *out = sn_matmul(in[0], in[1]);
  reader r = {0};
  assert_int_equal(sn_compile(ctx, in, 2, &out, 1, NULL, &r.program), SN_OK);
  const sn_executable *exe = ctx->cache[ctx->n_cached - 1]->exe;
  assert_int_equal(exe->n_kernels, 1);
  r.kernel = exe->kernels;
  release_all((sn_tensor *[]){in[0], in[1], out}, 3);
  return r;
}

static sn_gemm_side *weights_of(const reader *r) {
  return sn_gemm_side_b((sn_gemm *)(uintptr_t)&r->kernel->product->gemm);
}

static sn_tensor *input(sn_context *ctx) { return ramp(ctx, DIMS(M, K), 0.01f); }
static sn_tensor *weights(sn_context *ctx, int i) {
  return ramp(ctx, DIMS(K, N), 0.003f * (float)(i + 1));
}

/* Per number of weights, of a fresh context each. */
static void expected_of(int i, float *values) {
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  sn_tensor *x = input(f.ctx), *w = weights(f.ctx, i), *y = sn_matmul(x, w);
  assert_int_equal(sn_read(y, values, SIZE * sizeof *values), SN_OK);
  release_all((sn_tensor *[]){x, w, y}, 3);
  fixture_close(&f);
}

static void expect_product(sn_tensor *y, int i) {
  static float values[SIZE], expected[SIZE];
  expected_of(i, expected);
  assert_int_equal(sn_read(y, values, sizeof values), SN_OK);
  assert_memory_equal(values, expected, sizeof values);
}

static sn_tensor *call(const reader *r, sn_tensor *x, sn_tensor *w) {
  sn_tensor *y = NULL;
  assert_int_equal(sn_program_run(r->program, (sn_tensor *[]){x, w}, &y), SN_OK);
  return y;
}

static void call_and_expect(const reader *r, sn_tensor *x, sn_tensor *w, int i) {
  sn_tensor *y = call(r, x, w);
  expect_product(y, i);
  sn_release(y);
}

/* Until w stays packed. */
static void settle(const reader *r, sn_tensor *x, sn_tensor *w, int i) {
  for (int n = 0; n < 3; n++) call_and_expect(r, x, w, i);
  assert_non_null(weights_of(r)->kept);
}

static size_t bytes_in_use(sn_context *ctx) {
  sn_memory_info memory;
  sn_memory(ctx, &memory);
  return memory.bytes_in_use;
}

static void what_does_not_change_is_packed_once(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 2});
  const reader r = compile_reader(f.ctx);
  sn_tensor *x = input(f.ctx), *w = weights(f.ctx, 0);
  call_and_expect(&r, x, w, 0);
  assert_null(weights_of(&r)->kept);
  const size_t before = bytes_in_use(f.ctx);
  call_and_expect(&r, x, w, 0);
  sn_gemm_side *side = weights_of(&r);
  assert_non_null(side->kept);
  assert_true(bytes_in_use(f.ctx) == before + side->bytes);
  memset(side->kept, 0, side->bytes);
  sn_tensor *y = call(&r, x, w);
  float values[SIZE];
  assert_int_equal(sn_read(y, values, sizeof values), SN_OK);
  for (int i = 0; i < SIZE; i++) assert_true(values[i] == 0); /* it was read, and not made anew */
  sn_program_release(r.program);
  assert_true(bytes_in_use(f.ctx) < before + side->bytes);
  assert_null(side->kept);
  release_all((sn_tensor *[]){x, w, y}, 3);
  fixture_close(&f);
}

static void other_weights_are_packed_anew(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 2});
  const reader r = compile_reader(f.ctx);
  sn_tensor *x = input(f.ctx), *w[] = {weights(f.ctx, 0), weights(f.ctx, 1)};
  for (int n = 0; n < 4; n++) call_and_expect(&r, x, w[n & 1], n & 1);
  assert_null(weights_of(&r)->kept); /* never the same twice */
  settle(&r, x, w[0], 0);
  for (int n = 0; n < 9; n++) call_and_expect(&r, x, w[n % 3 == 0], n % 3 == 0);
  for (int n = 2; n < 12; n++) { /* in the memory of those before */
    const void *where = sn_data(w[1]);
    sn_release(w[1]);
    w[1] = weights(f.ctx, n);
    assert_ptr_equal(sn_data(w[1]), where);
    for (int again = 0; again <= n % 4; again++) call_and_expect(&r, x, w[1], n);
  }
  sn_program_release(r.program);
  release_all((sn_tensor *[]){x, w[0], w[1]}, 3);
  fixture_close(&f);
}

static sn_program *compile_step(sn_context *ctx) { /* W = 2 W, in place */
  sn_tensor *in = sn_placeholder(ctx, SN_F32, DIMS(K, N)), *out = sn_add(in, in);
  sn_program *p = NULL;
  assert_int_equal(sn_compile(ctx, &in, 1, &out, 1, (const bool[]){true}, &p), SN_OK);
  release_all((sn_tensor *[]){in, out}, 2);
  return p;
}

/* weights(1) and weights(3) are weights(0) doubled once and twice, exactly. */
static void weights_that_a_run_writes_are_packed_anew(void **state) {
  (void)state;
  static const int doubled[] = {0, 1, 3};
  for (int async = 0; async < 2; async++) {
    fixture f;
    fixture_open(&f, (sn_options){.threads = 2});
    const reader r = compile_reader(f.ctx);
    sn_program *step = compile_step(f.ctx);
    sn_tensor *x = input(f.ctx), *w = weights(f.ctx, 0), *y[3];
    settle(&r, x, w, 0);
    for (int n = 0; n < 3; n++) {
      uint32_t ticket;
      sn_tensor *in[] = {x, w}, *next = NULL;
      const void *where = async ? NULL : sn_data(w);
      if (async) /* nothing is waited for: w is donated while it is still to be read */
        assert_int_equal(sn_program_run_async(r.program, in, &y[n], &ticket), SN_OK);
      else
        y[n] = call(&r, x, w);
      if (async)
        assert_int_equal(sn_program_run_async(step, &w, &next, &ticket), SN_OK);
      else
        assert_int_equal(sn_program_run(step, &w, &next), SN_OK);
      if (!async) assert_ptr_equal(sn_data(next), where);
      sn_release(w);
      w = next;
    }
    for (int n = 0; n < 3; n++) expect_product(y[n], doubled[n]);
    assert_int_equal(sn_synchronize(f.ctx), SN_OK);
    sn_program_release(r.program);
    sn_program_release(step);
    release_all((sn_tensor *[]){x, w, y[0], y[1], y[2]}, 5);
    fixture_close(&f);
  }
}

static void calls_of_all_kinds_in_turn(void **state) {
  (void)state;
  enum { CALLS = 60 };
  fixture f;
  fixture_open(&f, (sn_options){.threads = 2});
  const reader one = compile_reader(f.ctx), two = compile_reader(f.ctx); /* of one compiled graph */
  sn_tensor *x = input(f.ctx), *w[] = {weights(f.ctx, 0), weights(f.ctx, 1)}, *y[CALLS];
  for (int n = 0; n < CALLS; n++) {
    const reader *r = n % 5 < 3 ? &one : &two;
    uint32_t ticket;
    sn_tensor *in[] = {x, w[n / 10 % 2]};
    if (n % 3)
      assert_int_equal(sn_program_run_async(r->program, in, &y[n], &ticket), SN_OK);
    else
      y[n] = call(r, in[0], in[1]);
    if (n % 7 == 0) expect_product(y[n], n / 10 % 2);
    if (n % 11 == 0) { /* the same as an eager call, which keeps nothing, but meets what is kept */
      sn_tensor *eager = sn_matmul(in[0], in[1]);
      expect_product(eager, n / 10 % 2);
      sn_release(eager);
    }
  }
  for (int n = 0; n < CALLS; n++) expect_product(y[n], n / 10 % 2);
  sn_program_release(one.program);
  for (int n = 0; n < 3; n++) call_and_expect(&two, x, w[0], 0);
  sn_program_release(two.program);
  release_all(y, CALLS);
  release_all((sn_tensor *[]){x, w[0], w[1]}, 3);
  fixture_close(&f);
}

/* A constant of the function is an argument of its program. */
static void captured_weights_stay_packed(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  sn_tensor *w = weights(f.ctx, 2), *in = sn_placeholder(f.ctx, SN_F32, DIMS(M, K));
  sn_tensor *out = sn_matmul(in, w), *x = input(f.ctx), *y;
  sn_program *p = NULL;
  assert_int_equal(sn_compile(f.ctx, &in, 1, &out, 1, NULL, &p), SN_OK);
  for (int n = 0; n < 3; n++) {
    assert_int_equal(sn_program_run(p, &x, &y), SN_OK);
    expect_product(y, 2);
    sn_release(y);
  }
  const reader r = {p, f.ctx->cache[f.ctx->n_cached - 1]->exe->kernels};
  assert_non_null(weights_of(&r)->kept);
  sn_program_release(p);
  release_all((sn_tensor *[]){w, in, out, x}, 4);
  fixture_close(&f);
}

/* Memory for others comes first. */
static void what_is_kept_gives_way(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1, .memory_limit_bytes = (size_t)1 << 20});
  const reader r = compile_reader(f.ctx);
  sn_tensor *x = input(f.ctx), *w = weights(f.ctx, 0), *large = NULL;
  settle(&r, x, w, 0);
  const size_t left = ((size_t)1 << 20) - bytes_in_use(f.ctx), kept = weights_of(&r)->bytes;
  void *data;
  large = sn_empty(f.ctx, SN_F32, DIMS((int64_t)(left + kept / 4) / 4), &data);
  assert_non_null(large);
  assert_null(weights_of(&r)->kept);
  for (int n = 0; n < 3; n++) call_and_expect(&r, x, w, 0);
  assert_null(weights_of(&r)->kept);
  sn_program_release(r.program);
  release_all((sn_tensor *[]){x, w, large}, 3);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_does_not_change_is_packed_once),
      cmocka_unit_test(other_weights_are_packed_anew),
      cmocka_unit_test(weights_that_a_run_writes_are_packed_anew),
      cmocka_unit_test(calls_of_all_kinds_in_turn),
      cmocka_unit_test(captured_weights_stay_packed),
      cmocka_unit_test(what_is_kept_gives_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
