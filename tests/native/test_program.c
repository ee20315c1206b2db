/* test_program.c - right and wrong use of compiled programs: their arguments, donated memory and who may
 * still read it, and what they return. */
#include "api_support.h"
#include "tensor/program.h"

static sn_program *compile_one(sn_tensor *in, sn_tensor *out, bool donate) {
  sn_program *program = NULL;
  assert_int_equal(sn_compile(f.ctx, &in, 1, &out, 1, &donate, &program), SN_OK);
  return program;
}

static void compile_errors(void **state) {
  (void)state;
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(2)),
            *q = sn_placeholder(f.ctx, SN_F32, DIMS(2));
  sn_tensor *a = ramp(f.ctx, DIMS(2), 1), *y = sn_add(p, q);
  sn_program *program = NULL;
  assert_int_equal(sn_compile(f.ctx, &a, 1, &y, 1, NULL, &program), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "compile: input 0 is not a placeholder");
  assert_int_equal(sn_compile(f.ctx, &p, 1, &y, 1, NULL, &program), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "a tensor of a function being traced has no value yet");
  assert_int_equal(sn_compile(f.ctx, (sn_tensor *[]){p, p}, 2, &y, 1, NULL, &program),
                   SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "the same tensor is given twice as an argument");
  assert_null(program);
}

static void program_argument_errors(void **state) {
  (void)state;
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(2, 3));
  sn_program *program = compile_one(p, sn_neg(p), false);
  sn_tensor *wide = ramp(f.ctx, DIMS(3, 2), 1), *flat = ramp(f.ctx, DIMS(6), 1), *out = p;
  sn_tensor *ints = sn_iota(f.ctx, SN_I32, DIMS(2, 3), 0);
  assert_int_equal(sn_program_run(program, &wide, &out), SN_ERR_SHAPE);
  expect_error(f.ctx, SN_ERR_SHAPE, "program: argument 0 has shape (3, 2), compiled for (2, 3)");
  assert_int_equal(sn_program_run(program, &flat, &out), SN_ERR_SHAPE);
  expect_error(f.ctx, SN_ERR_SHAPE, "program: argument 0 has shape (6,), compiled for (2, 3)");
  assert_int_equal(sn_program_run(program, &ints, &out), SN_ERR_DTYPE);
  expect_error(f.ctx, SN_ERR_DTYPE, "program: argument 0 is int32, compiled for float32");
  assert_int_equal(sn_program_run(program, &p, &out), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "a tensor of a function being traced has no value yet");
  assert_ptr_equal(out, p);
  sn_tensor *good = sn_astype(ints, SN_F32);
  assert_int_equal(sn_program_run(program, &good, &out), SN_OK);
  EXPECT(out, -0.0f, 0, 0, -1, -1, -1);
  sn_program_release(program);
}

/* Not in a scope: a second reference to a donated tensor makes it a copy. */
static void donated_tensors_are_used_up(void **state) {
  (void)state;
  sn_scope_end(f.ctx);
  const char *const text = "a tensor that was donated to a program has no value any more";
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(3)),
            *q = sn_placeholder(f.ctx, SN_F32, DIMS(3));
  sn_tensor *y = sn_add(p, q), *in[] = {ramp(f.ctx, DIMS(3), 1), ramp(f.ctx, DIMS(3), 10)};
  sn_program *program;
  const bool donate[] = {true, false};
  assert_int_equal(sn_compile(f.ctx, (sn_tensor *[]){p, q}, 2, &y, 1, donate, &program), SN_OK);
  const void *where = sn_data(in[0]);
  sn_tensor *out = NULL, *again = NULL;
  float values[3];
  assert_int_equal(sn_program_run(program, (sn_tensor *[]){in[1], in[1]}, &out), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "program: donated argument 0 is given twice");
  EXPECT(in[1], 10, 20, 30);
  assert_int_equal(sn_program_run(program, in, &out), SN_OK);
  assert_ptr_equal(sn_data(out), where); /* the donated memory */
  EXPECT(out, 11, 22, 33);
  assert_int_equal(sn_read(in[0], values, sizeof values), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, text);
  assert_int_equal(sn_program_run(program, in, &again), SN_ERR_ARGUMENT); /* donated twice */
  expect_error(f.ctx, SN_ERR_ARGUMENT, text);
  sn_tensor *user = sn_neg(in[0]);
  assert_int_equal(sn_eval(&user, 1), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, text);
  sn_program *captures = NULL;
  assert_int_equal(sn_compile(f.ctx, NULL, 0, &user, 1, NULL, &captures), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, text);
  EXPECT(in[1], 10, 20, 30);
  EXPECT(out, 11, 22, 33);
  release_all((sn_tensor *[]){p, q, y, in[0], in[1], out, user}, 7);
  sn_program_release(program);
  sn_scope_begin(f.ctx);
}

static void others_do_not_see_a_donation(void **state) {
  (void)state;
  sn_scope_end(f.ctx);
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(4)), *y = sn_neg(p), *out;
  sn_program *program = compile_one(p, y, true);
  /* a second handle, a tensor that shares the memory, a lazy user, a captured value */
  sn_tensor *x = ramp(f.ctx, DIMS(4), 1);
  sn_tensor *second = sn_retain(x), *shared = sn_reshape(x, DIMS(2, 2)), *lazy = sn_exp(shared);
  assert_int_equal(sn_program_run(program, &x, &out), SN_OK);
  EXPECT(out, -1, -2, -3, -4);
  EXPECT(second, 1, 2, 3, 4);
  EXPECT(shared, 1, 2, 3, 4);
  sn_release(out);
  sn_release(second);
  assert_int_equal(sn_program_run(program, &x, &out), SN_OK);
  EXPECT(shared, 1, 2, 3, 4);
  assert_true(((const float *)sn_data(lazy))[3] > 54);
  release_all((sn_tensor *[]){x, shared, lazy, out, y}, 5);
  sn_program_release(program);

  sn_tensor *c = ramp(f.ctx, DIMS(4), 1), *s = sn_sum(c, SN_ALL_AXES, false);
  y = sn_mul(p, s);
  program = compile_one(p, y, true);
  for (int i = 0; i < 2; i++) { /* c is the argument and captured too */
    assert_int_equal(sn_program_run(program, &c, &out), SN_OK);
    EXPECT(out, 10, 20, 30, 40);
    sn_release(out);
  }
  release_all((sn_tensor *[]){p, c, s, y}, 4);
  sn_program_release(program);
  sn_scope_begin(f.ctx);
}

/* The sum of x over all of a larger result: x's few bytes must not hold it. */
static void small_donations_hold_no_large_results(void **state) {
  (void)state;
  sn_scope_end(f.ctx);
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(3)), *w = ramp(f.ctx, DIMS(5), 1);
  sn_tensor *s = sn_sum(p, SN_ALL_AXES, false), *y = sn_add(w, s), *out;
  sn_program *program = compile_one(p, y, true);
  sn_tensor *x = ramp(f.ctx, DIMS(3), 1);
  assert_int_equal(sn_program_run(program, &x, &out), SN_OK);
  EXPECT(out, 7, 8, 9, 10, 11);
  release_all((sn_tensor *[]){p, w, s, y, x, out}, 6);
  sn_program_release(program);
  sn_scope_begin(f.ctx);
}

static void results_may_overwrite_the_array_of_inputs(void **state) {
  (void)state;
  sn_scope_end(f.ctx);
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(2)), *y = sn_neg(p),
            *at = ramp(f.ctx, DIMS(2), 1);
  sn_program *program = compile_one(p, y, true);
  sn_tensor *first = at;
  assert_int_equal(sn_program_run(program, &at, &at), SN_OK);
  assert_ptr_not_equal(at, first);
  EXPECT(at, -1, -2);
  release_all((sn_tensor *[]){p, y, at, first}, 4);
  sn_program_release(program);
  sn_scope_begin(f.ctx);
}

static void programs_may_return_anything(void **state) {
  (void)state;
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(2)), *c = ramp(f.ctx, DIMS(3), 1);
  sn_tensor *k = sn_full(f.ctx, SN_F32, DIMS(2), 5), *e = sn_exp(p), *out[6],
            *x = ramp(f.ctx, DIMS(2), 0);
  sn_program *program;
  assert_int_equal(sn_compile(f.ctx, &p, 1, (sn_tensor *[]){p, c, k, e, e, p}, 6, NULL, &program),
                   SN_OK);
  assert_int_equal(sn_program_run(program, &x, out), SN_OK);
  EXPECT(out[0], 0, 0);
  EXPECT(out[1], 1, 2, 3);
  EXPECT(out[2], 5, 5);
  EXPECT(out[3], 1, 1);
  EXPECT(out[4], 1, 1);
  EXPECT(out[5], 0, 0);
  sn_program_release(program);
  assert_int_equal(sn_compile(f.ctx, NULL, 0, NULL, 0, NULL, &program), SN_OK); /* even nothing */
  assert_int_equal(sn_program_run(program, NULL, NULL), SN_OK);
  sn_program_release(program);
}

static void programs_describe_themselves(void **state) {
  (void)state;
  sn_tensor *x = sn_placeholder(f.ctx, SN_F32, DIMS(4, 8)), *w = ramp(f.ctx, DIMS(8, 5), 1);
  sn_tensor *y = sn_relu(sn_matmul(x, w));
  sn_program *program = compile_one(x, y, false);
  sn_program_info info;
  sn_program_describe(program, &info);
  assert_int_equal(info.kernels, 1);
  assert_int_equal(info.arena_bytes, 0);
  assert_true(info.flops == 2 * 4 * 8 * 5 + 4 * 5);
  assert_true(info.bytes == 4 * (4 * 8 + 8 * 5 + 4 * 5));
  assert_null(sn_program_text(program, "trace")); /* recorded only when asked for */
  sn_program_release(program);
}

/* A stage a slice; in between the thread computes other things, and the program may be released after any of them. */
static void compiling_in_slices_can_stop_anywhere(void **state) {
  (void)state;
  sn_tensor *x = sn_placeholder(f.ctx, SN_F32, DIMS(2, 2)), *w = ramp(f.ctx, DIMS(2, 2), 1);
  sn_tensor *y = sn_sub(sn_matmul(x, w), sn_square(w)), *in = w, *out;
  bool done = false;
  for (int most = 0; !done; most++) {
    sn_program *program;
    assert_int_equal(sn_program_begin_compile(f.ctx, &x, 1, &y, 1, NULL, &program), SN_OK);
    for (int i = 0; i < most && !done; i++) {
      const float k = (float)i;
      EXPECT(sn_add(sn_square(w), sn_full(f.ctx, SN_F32, DIMS(2, 2), i)), 1 + k, 4 + k, 9 + k,
             16 + k);
      assert_int_equal(sn_program_continue_compile(program, 0, &done), SN_OK);
      assert_true(!done || i > 5);
    }
    if (done) {
      assert_int_equal(sn_program_run(program, &in, &out), SN_OK);
      EXPECT(out, 6, 6, 6, 6);
    }
    sn_program_release(program);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(compile_errors),
      TEST(program_argument_errors),
      TEST(donated_tensors_are_used_up),
      TEST(others_do_not_see_a_donation),
      TEST(small_donations_hold_no_large_results),
      TEST(results_may_overwrite_the_array_of_inputs),
      TEST(programs_may_return_anything),
      TEST(programs_describe_themselves),
      TEST(compiling_in_slices_can_stop_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
