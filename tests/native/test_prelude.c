/* test_prelude.c - the part of a program that depends on captured tensors alone runs once: how many
 * kernels a call has, the bits of the results, and who owns their memory. */
#include "api_support.h"

#include <math.h>

#include "tensor/tensor.h"

enum { N = 72 };

/* Values that no sum of products of them is exact for. */
static sn_tensor *square(int seed) {
  float values[N * N];
  for (int i = 0; i < N * N; i++)
    values[i] = (float)((i * 7919 + seed * 104729) % 1009) / 631 - 0.8f;
  return sn_from_data(f.ctx, SN_F32, DIMS(N, N), values);
}

/* tanh(x (v w)) / (1 + e^w): a folded weight and a table. */
static sn_tensor *formula(sn_tensor *x, sn_tensor *v, sn_tensor *w) {
  sn_tensor *table = sn_add(sn_exp(w), sn_scalar(f.ctx, 1));
  return sn_div(sn_tanh(sn_matmul(x, sn_matmul(v, w))), table);
}

static sn_program *compile_all(sn_tensor *const *in, size_t n, sn_tensor *out) {
  sn_program *program = NULL;
  assert_int_equal(sn_compile(f.ctx, in, n, &out, 1, NULL, &program), SN_OK);
  return program;
}

static size_t kernels_of(const sn_program *program) {
  sn_program_info info;
  sn_program_describe(program, &info);
  return info.kernels;
}

static void run_and_expect(sn_program *program, sn_tensor *const *in, const float *want) {
  sn_tensor *out;
  float got[N * N];
  assert_int_equal(sn_program_run(program, in, &out), SN_OK);
  assert_int_equal(sn_read(out, got, sizeof got), SN_OK);
  assert_memory_equal(got, want, sizeof got);
}

/* All of the formula's tensors as arguments: nothing is captured. */
static void expected(sn_tensor *const *values, float *want) {
  sn_tensor *in[3], *out;
  for (int i = 0; i < 3; i++) in[i] = sn_placeholder(f.ctx, SN_F32, DIMS(N, N));
  sn_program *program = compile_all(in, 3, formula(in[0], in[1], in[2]));
  assert_null(sn_program_prelude(program));
  assert_int_equal(sn_program_run(program, values, &out), SN_OK);
  assert_int_equal(sn_read(out, want, N * N * sizeof *want), SN_OK);
  sn_program_release(program);
}

static void captured_parts_run_once(void **state) {
  (void)state;
  sn_tensor *values[] = {square(1), square(2), square(3)},
            *p = sn_placeholder(f.ctx, SN_F32, DIMS(N, N));
  float want[N * N];
  expected(values, want);
  sn_program *program = compile_all(&p, 1, formula(p, values[1], values[2]));
  sn_program *prelude = sn_program_prelude(program);
  assert_non_null(prelude);
  assert_int_equal(kernels_of(prelude), 2); /* v w, 1 + e^w */
  assert_int_equal(kernels_of(program), 1);
  assert_int_equal(sn_profile_start(f.ctx, 0), SN_OK);
  for (int i = 0; i < 3; i++) run_and_expect(program, values, want);
  const sn_kernel_profile *kernels;
  size_t runs = 0;
  const size_t n = sn_profile_kernels(f.ctx, &kernels);
  for (size_t i = 0; i < n; i++) runs += (size_t)kernels[i].calls;
  sn_profile_stop(f.ctx);
  assert_int_equal(runs, 2 + 3);
  sn_program_release(program);
}

static size_t live_bytes(void) { return f.ctx->storages.live_bytes; }

static void results_are_the_programs_own(void **state) {
  (void)state;
  sn_scope_end(f.ctx);
  sn_scope_begin(f.ctx);
  sn_tensor *values[] = {square(1), square(2), square(3)};
  float want[N * N];
  expected(values, want);
  for (int i = 0; i < 3; i++) sn_retain(values[i]);
  sn_scope_end(f.ctx);
  const size_t before = live_bytes();

  sn_scope_begin(f.ctx);
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(N, N));
  sn_program *program = compile_all(&p, 1, formula(p, values[1], values[2]));
  run_and_expect(program, values, want);
  sn_scope_end(f.ctx);
  assert_int_equal(live_bytes(), before + 2 * N * N * sizeof(float));

  /* another program is to take the captured tensor's memory, and gets a copy */
  sn_scope_begin(f.ctx);
  sn_tensor *q = sn_placeholder(f.ctx, SN_F32, DIMS(N, N)), *negative = sn_neg(q), *out;
  sn_program *taker = NULL;
  assert_int_equal(sn_compile(f.ctx, &q, 1, &negative, 1, (const bool[]){true}, &taker), SN_OK);
  sn_scope_end(f.ctx);
  assert_int_equal(sn_program_run(taker, &values[2], &out), SN_OK);
  sn_release(out);
  sn_program_release(taker);
  sn_release(values[1]);
  sn_release(values[2]);
  sn_scope_begin(f.ctx);
  run_and_expect(program, values, want);
  sn_scope_end(f.ctx);
  sn_scope_begin(f.ctx);

  /* a worker that is lost while the prelude runs takes its results with it: they are made again */
  int lost = 0;
  for (sn_tensor *t = f.ctx->newest; t && lost < 2; t = t->older)
    if (t->storage && t->refs == 1) lost++, t->storage->failed = true;
  run_and_expect(program, values, want);
  sn_scope_end(f.ctx);
  sn_program_release(program);
  sn_release(values[0]);
  sn_scope_begin(f.ctx);
}

/* Neither what is cheap and larger than what it is made of, nor little work, nor views and constants;
 * but a table of an index that is costly, and a cast to fewer bytes. */
static void only_what_is_worth_it(void **state) {
  (void)state;
  sn_context *ctx = f.ctx;
  sn_tensor *p = sn_placeholder(ctx, SN_F32, DIMS(N, N)), *w = square(1),
            *few = ramp(ctx, DIMS(N), 1);
  sn_tensor *i = sn_iota(ctx, SN_F32, DIMS(N, N), 0), *j = sn_iota(ctx, SN_F32, DIMS(N, N), 1);
  const struct {
    sn_tensor *part;
    bool once;
  } cases[] = {
      {sn_where(sn_greater_equal(i, j), sn_scalar(ctx, 0), sn_scalar(ctx, -1)), false},
      {sn_add(few, sn_reshape(few, DIMS(N, 1))), false},
      {sn_exp(few), false},
      {sn_transpose(w, NULL), false},
      {sn_exp(sn_full(ctx, SN_F32, DIMS(N, N), 2)), false},
      {sn_variable(w), false},
      {sn_sin(sn_mul(i, sn_exp(j))), true},
      {sn_mul(w, sn_scalar(ctx, 3)), true},
      {sn_cumsum(w, 0, false, false), true},
      {sn_sum(w, 1, true), true},
      {sn_matmul(w, w), true},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    sn_program *program = compile_all(&p, 1, sn_mul(p, cases[k].part));
    if ((sn_program_prelude(program) != NULL) != cases[k].once) fail_msg("case %zu", k);
    if (cases[k].once) assert_int_equal(kernels_of(program), 1);
    sn_program_release(program);
  }
}

/* A result of the prelude may be one of the program, and what is captured alone too. */
static void results_of_the_prelude_are_handed_out(void **state) {
  (void)state;
  sn_tensor *w = square(1), *p = sn_placeholder(f.ctx, SN_F32, DIMS(N, N)),
            *product = sn_matmul(w, w);
  sn_tensor *outputs[] = {product, sn_add(p, product), product}, *got[3], *x = square(4);
  sn_program *program = NULL;
  float want[N * N], values[N * N];
  assert_int_equal(sn_compile(f.ctx, &p, 1, outputs, 3, NULL, &program), SN_OK);
  assert_int_equal(sn_read(product, want, sizeof want), SN_OK);
  for (int run = 0; run < 2; run++) {
    assert_int_equal(sn_program_run(program, &x, got), SN_OK);
    for (int i = 0; i < 3; i += 2) {
      assert_int_equal(sn_read(got[i], values, sizeof values), SN_OK);
      assert_memory_equal(values, want, sizeof want);
    }
  }
  sn_program_release(program);
}

/* C source has no prelude: its parameters are what the function is made of. */
static void c_source_is_of_the_whole(void **state) {
  (void)state;
  sn_tensor *values[] = {square(1), square(2), square(3)},
            *p = sn_placeholder(f.ctx, SN_F32, DIMS(N, N));
  sn_program *program = compile_all(&p, 1, formula(p, values[1], values[2]));
  const char *source = NULL;
  assert_int_equal(sn_program_c_source(program, "f", &source), SN_OK);
  assert_non_null(strstr(source, "a2"));
  assert_null(strstr(source, "a3"));
  assert_non_null(strstr(source, "expf"));
  sn_program_release(program);
}

/* Where a program captures so much work that one more argument takes longer, it is its own. */
static void the_target_says_what_an_argument_is_worth(void **state) {
  (void)state;
  sn_target slow = *f.ctx->options.target;
  slow.costs.argument_flops = INFINITY;
  f.ctx->options.target = &slow;
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(N, N));
  sn_program *program = compile_all(&p, 1, formula(p, square(2), square(3)));
  assert_null(sn_program_prelude(program));
  sn_program_release(program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(captured_parts_run_once),  TEST(results_are_the_programs_own),
      TEST(only_what_is_worth_it),    TEST(results_of_the_prelude_are_handed_out),
      TEST(c_source_is_of_the_whole), TEST(the_target_says_what_an_argument_is_worth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
