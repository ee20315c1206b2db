/* test_control.c - loops and conditions through the public API, against the same computation unrolled. */
#include <math.h>

#include "api_support.h"

static sn_tensor *scalar(float x) { return sn_from_data(f.ctx, SN_F32, 0, NULL, &x); }

static sn_tensor *vector(int64_t n, const float *x) {
  return sn_from_data(f.ctx, SN_F32, 1, &n, x);
}

/* carry' = carry * factor + x, y = carry' - x */
static void scan_of(sn_tensor *factor, sn_tensor *start, sn_tensor *xs, int64_t length,
                    bool reverse, sn_tensor *out[2]) {
  sn_tensor *in[2] = {sn_placeholder(f.ctx, SN_F32, 0, NULL),
                      sn_placeholder(f.ctx, SN_F32, 0, NULL)};
  sn_tensor *next = sn_add(sn_mul(in[0], factor), in[1]);
  sn_tensor *made[2] = {next, sn_sub(next, in[1])};
  const sn_traced body = {in, 2, made, 2};
  sn_tensor *inputs[2] = {start, xs};
  assert_int_equal(sn_scan(f.ctx, &body, 1, inputs, length, reverse, out), SN_OK);
}

static void scan_carries_and_stacks(void **state) {
  (void)state;
  const float x[] = {1, 2, 3, 4};
  sn_tensor *out[2];
  scan_of(scalar(2), scalar(1), vector(4, x), 4, false, out);
  /* 1 -> 3 -> 8 -> 19 -> 42 */
  EXPECT(out[0], 42);
  EXPECT(out[1], 2, 6, 16, 38);
  scan_of(scalar(2), scalar(1), vector(4, x), 4, true, out);
  /* 1 -> 6 -> 15 -> 32 -> 65 */
  EXPECT(out[0], 65);
  EXPECT(out[1], 64, 30, 12, 2);
}

static void scan_of_no_and_one_round(void **state) {
  (void)state;
  const float x[] = {5};
  sn_tensor *out[2];
  scan_of(scalar(2), scalar(1), vector(0, x), 0, false, out);
  EXPECT(out[0], 1);
  assert_int_equal(sn_size(out[1]), 0);
  scan_of(scalar(2), scalar(1), vector(1, x), 1, false, out);
  EXPECT(out[0], 7);
  EXPECT(out[1], 2);
}

/* Carries that change places, and one that stays. */
static void carries_change_places(void **state) {
  (void)state;
  sn_tensor *in[3], *out[3];
  for (int k = 0; k < 3; k++) in[k] = sn_placeholder(f.ctx, SN_F32, 0, NULL);
  sn_tensor *made[3] = {in[1], in[0], in[2]};
  const sn_traced body = {in, 3, made, 3};
  sn_tensor *carries[3] = {scalar(1), scalar(2), scalar(3)};
  assert_int_equal(sn_scan(f.ctx, &body, 3, carries, 5, false, out), SN_OK);
  EXPECT(out[0], 2);
  EXPECT(out[1], 1);
  EXPECT(out[2], 3);
}

static size_t arena_of(sn_tensor *input, sn_tensor *output) {
  sn_program *program;
  sn_program_info info;
  assert_int_equal(sn_compile(f.ctx, &input, 1, &output, 1, NULL, &program), SN_OK);
  sn_program_describe(program, &info);
  sn_program_release(program);
  return info.arena_bytes;
}

/* Two places for its carry if it is not written over itself, its flag and what its body keeps, among what the program
 * keeps: sorted rows are gone by then. */
static void a_loop_works_in_the_arena(void **state) {
  (void)state;
  enum { N = 1024, BYTES = 4 * N };
  sn_tensor *x = sn_placeholder(f.ctx, SN_F32, DIMS(4, N)), *row[3], *out[3];
  for (int k = 0; k < 3; k++) row[k] = sn_placeholder(f.ctx, SN_F32, DIMS(N));
  sn_tensor *next[] = {sn_tanh(sn_cumsum(row[0], 0, false, false)), sn_neg(row[1]),
                       sn_cumsum(row[2], 0, false, false)};
  sn_tensor *start = sn_sum(sn_sort(x, 1, false), 1, false);
  for (int k = 0; k < 3; k++) {
    const sn_traced body = {row + k, 1, next + k, 1};
    assert_int_equal(sn_scan(f.ctx, &body, 1, k ? row : &start, 3, false, out + k), SN_OK);
  }
  assert_int_equal(arena_of(x, out[0]), BYTES + 4 * BYTES); /* at the sum */
  assert_int_equal(arena_of(row[0], out[1]), 64);
  assert_int_equal(arena_of(row[0], out[2]), 2 * BYTES + 64);
  /* it begins in memory of the program, and ends there */
  const sn_traced flip = {row + 1, 1, next + 1, 1};
  sn_tensor *doubled = sn_cumsum(row[0], 0, false, false), *last;
  assert_int_equal(sn_scan(f.ctx, &flip, 1, &doubled, 3, false, &last), SN_OK);
  assert_int_equal(arena_of(row[0], sn_cumsum(last, 0, false, false)), BYTES + 64);
}

/* Of weights that products read transposed, and of a mask over numbers, nothing is made before the loop; what else reads
 * a transpose has it as its own, once. */
static void what_costs_nothing_is_made_in_the_loop(void **state) {
  (void)state;
  enum { N = 64, BYTES = 4 * N * N };
  static float xs[2 * N * N], w[N * N];
  for (int i = 0; i < 2 * N * N; i++) xs[i] = (float)(i % 13 - 6);
  for (int i = 0; i < N * N; i++) w[i] = (float)(i % 7 - 3);
  sn_tensor *in[2] = {sn_placeholder(f.ctx, SN_F32, DIMS(2, N, N)),
                      sn_placeholder(f.ctx, SN_F32, DIMS(N, N))};
  sn_tensor *x = sn_placeholder(f.ctx, SN_F32, DIMS(N, N)), *turned = sn_transpose(in[1], NULL);
  sn_tensor *lower = sn_tril(sn_ones(f.ctx, SN_F32, DIMS(N, N)), 0);
  sn_tensor *made[] = {sn_mul(sn_matmul(x, turned), lower), sn_cumsum(turned, 0, false, false)};
  const sn_traced body = {&x, 1, made, 1}, sums = {&x, 1, made + 1, 1};
  sn_tensor *values[] = {sn_from_data(f.ctx, SN_F32, DIMS(2, N, N), xs),
                         sn_from_data(f.ctx, SN_F32, DIMS(N, N), w)};
  sn_tensor *out, *result;
  sn_program *program;
  sn_program_info info;
  assert_int_equal(sn_scan(f.ctx, &body, 0, in, 2, false, &out), SN_OK);
  assert_int_equal(sn_compile(f.ctx, in, 2, &out, 1, NULL, &program), SN_OK);
  sn_program_describe(program, &info);
  assert_int_equal(info.arena_bytes, 64);
  assert_int_equal(info.kernels, 1);
  assert_int_equal(sn_program_run(program, values, &result), SN_OK);
  const float *y = sn_data(result);
  for (int b = 0; b < 2; b++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        float expected = 0; /* whole numbers: exact in any order */
        for (int k = 0; k <= N - 1 && j <= i; k++)
          expected += xs[(b * N + i) * N + k] * w[j * N + k];
        assert_true(y[(b * N + i) * N + j] == expected);
      }
  sn_program_release(program);
  assert_int_equal(sn_scan(f.ctx, &sums, 0, in, 2, false, &out), SN_OK);
  assert_int_equal(sn_compile(f.ctx, in, 2, &out, 1, NULL, &program), SN_OK);
  sn_program_describe(program, &info);
  assert_true(info.arena_bytes >= BYTES);
  sn_program_release(program);
}

/* Sums over b in place, what is read again beside it, as kernels of their own and fused: against plain loops. The
 * arguments stay as they are, though two carries and a constant begin as one of them. */
static void carries_are_written_over_themselves_where_they_may_be(void **state) {
  (void)state;
  const float from[3] = {1, 2, 3};
  for (int fused = 0; fused < 2; fused++) {
    assert_int_equal(sn_pass_enable(f.ctx, "fuse", fused), SN_OK);
    for (int64_t rounds = 0; rounds < 4; rounds++) {
      float a[3] = {1, 2, 3}, b[3] = {1, 2, 3}, c[3] = {1, 2, 3};
      for (int64_t i = 0; i < rounds; i++) {
        const float old[3] = {a[0], a[1], a[2]};
        for (int k = 0; k < 3; k++) {
          a[k] += b[k];
          b[k] = (k ? b[k - 1] : 0) + old[k]; /* a cumulative sum of the old a */
          c[k] = -c[k] * from[k];
        }
      }
      sn_tensor *in[3], *x = vector(3, from), *out[3], *p = sn_placeholder(f.ctx, SN_F32, DIMS(3));
      for (int k = 0; k < 3; k++) in[k] = sn_placeholder(f.ctx, SN_F32, DIMS(3));
      sn_tensor *made[3] = {sn_add(in[0], in[1]), sn_cumsum(in[0], 0, false, false),
                            sn_mul(sn_neg(in[2]), p)};
      const sn_traced body = {in, 3, made, 3};
      sn_tensor *inputs[3] = {p, p, p}, *results[3];
      assert_int_equal(sn_scan(f.ctx, &body, 3, inputs, rounds, false, out), SN_OK);
      sn_program *program;
      assert_int_equal(sn_compile(f.ctx, &p, 1, out, 3, NULL, &program), SN_OK);
      assert_int_equal(sn_program_run(program, &x, results), SN_OK);
      EXPECT(results[0], a[0], a[1], a[2]);
      EXPECT(results[1], b[0], b[1], b[2]);
      EXPECT(results[2], c[0], c[1], c[2]);
      EXPECT(x, 1, 2, 3);
      sn_program_release(program);
    }
  }
}

/* x = 1; while x < limit: x = 3 x */
static void while_runs_until_its_test_fails(void **state) {
  (void)state;
  for (int limit = 0; limit < 100; limit += 25) {
    sn_tensor *x = sn_placeholder(f.ctx, SN_F32, 0, NULL),
              *z = sn_placeholder(f.ctx, SN_F32, 0, NULL);
    sn_tensor *next = sn_mul(z, scalar(3)), *less = sn_less(x, scalar((float)limit));
    const sn_traced test = {&x, 1, &less, 1}, body = {&z, 1, &next, 1};
    sn_tensor *start = scalar(1), *out;
    float expected = 1;
    while (expected < (float)limit) expected *= 3;
    assert_int_equal(sn_while(f.ctx, &test, &body, &start, &out), SN_OK);
    EXPECT(out, expected);
  }
}

static void cond_runs_one_branch(void **state) {
  (void)state;
  for (int which = 0; which < 2; which++) {
    sn_tensor *x = sn_placeholder(f.ctx, SN_F32, 0, NULL),
              *z = sn_placeholder(f.ctx, SN_F32, 0, NULL);
    sn_tensor *a = sn_sqrt(x), *b = sn_neg(z), *out, *operand = scalar(9);
    const sn_traced on_true = {&x, 1, &a, 1}, on_false = {&z, 1, &b, 1};
    const uint8_t value = (uint8_t)which;
    sn_tensor *condition = sn_from_data(f.ctx, SN_BOOL, 0, NULL, &value);
    assert_int_equal(sn_cond(condition, &on_true, &on_false, &operand, &out), SN_OK);
    EXPECT(out, which ? 3 : -9);
  }
}

/* Nobody is told that a loop is interpreted: its regions are. */
static void a_loop_says_what_it_is(void **state) {
  (void)state;
  sn_tensor *x = sn_placeholder(f.ctx, SN_F32, 0, NULL),
            *c = sn_placeholder(f.ctx, SN_F32, 0, NULL);
  sn_tensor *next = sn_tanh(c), *out;
  const sn_traced body = {&c, 1, &next, 1};
  sn_program *program;
  const char *text;
  assert_int_equal(sn_scan(f.ctx, &body, 1, &x, 3, false, &out), SN_OK);
  assert_int_equal(sn_compile(f.ctx, &x, 1, &out, 1, NULL, &program), SN_OK);
  assert_int_equal(sn_program_wat(program, 0, &text), SN_OK);
  assert_string_equal(text,
                      "/* control flow: its regions are programs, with kernels of their own */\n");
  sn_program_release(program);
}

/* Each row of a matrix summed by a loop in a loop. */
static void loops_in_loops(void **state) {
  (void)state;
  const float x[] = {1, 2, 3, 4, 5, 6};
  sn_tensor *m = sn_from_data(f.ctx, SN_F32, DIMS(2, 3), x);
  const int64_t n = 3;
  sn_tensor *row = sn_placeholder(f.ctx, SN_F32, 1, &n);
  sn_tensor *in[2] = {sn_placeholder(f.ctx, SN_F32, 0, NULL),
                      sn_placeholder(f.ctx, SN_F32, 0, NULL)};
  sn_tensor *sum = sn_add(in[0], in[1]), *total, *out;
  const sn_traced inner = {in, 2, &sum, 1};
  sn_tensor *inputs[2] = {scalar(0), row};
  assert_int_equal(sn_scan(f.ctx, &inner, 1, inputs, 3, false, &total), SN_OK);
  const sn_traced outer = {&row, 1, &total, 1};
  assert_int_equal(sn_scan(f.ctx, &outer, 0, &m, 2, false, &out), SN_OK);
  EXPECT(out, 6, 15);
}

/* Two results that nobody uses, and that the body goes on from: neither is written over the other. */
static void results_that_nobody_uses_are_what_the_body_reads(void **state) {
  (void)state;
  const float x[] = {3, 1, 2};
  const int64_t n = 3;
  sn_tensor *c = sn_placeholder(f.ctx, SN_F32, 1, &n), *start = vector(3, x), *out[3];
  sn_tensor *up = sn_sort(c, 0, false), *down = sn_sort(c, 0, true);
  sn_tensor *made[3] = {sn_sub(up, down), up, down};
  const sn_traced body = {&c, 1, made, 3};
  assert_int_equal(sn_pass_enable(f.ctx, "loops", false), SN_OK);
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, 1, &n), *last;
  sn_program *program;
  assert_int_equal(sn_scan(f.ctx, &body, 1, &p, 2, false, out), SN_OK);
  assert_int_equal(sn_compile(f.ctx, &p, 1, out, 1, NULL, &program), SN_OK);
  assert_int_equal(sn_program_run(program, &start, &last), SN_OK);
  EXPECT(last, -4, 0, 4);
  sn_program_release(program);
}

/* What a loop of numbers made is a value, whatever is made of it. */
static void a_loop_that_has_run_is_a_value(void **state) {
  (void)state;
  const float xs[] = {1, 2};
  const int axis = 0;
  sn_tensor *c = sn_placeholder(f.ctx, SN_F32, 0, NULL), *start = scalar(1), *eight, *out;
  sn_tensor *next = sn_add(c, c), *one = sn_placeholder(f.ctx, SN_F32, 0, NULL);
  const sn_traced body = {&c, 1, &next, 1};
  assert_int_equal(sn_scan(f.ctx, &body, 1, &start, 3, false, &eight), SN_OK);
  EXPECT(eight, 8);
  sn_tensor *x = sn_variable(scalar(3)), *y = sn_mul(sn_square(x), eight), *dx = scalar(1);
  assert_int_equal(sn_jvp(f.ctx, &y, 1, &x, &dx, 1, &out), SN_OK);
  EXPECT(out, 48);
  y = sn_mul(one, eight);
  sn_tensor *batch = vector(2, xs);
  assert_int_equal(sn_vmap(f.ctx, &y, &axis, 1, &one, &batch, &axis, 1, &out), SN_OK);
  EXPECT(out, 8, 16);
}

/* ---- derivatives ----------------------------------------------------------------------------- */

enum { ROUNDS = 4 };

/* carry' = tanh(carry factor) x + factor, y = carry' carry: by a loop, or written out. */
static void round_of(sn_tensor *factor, sn_tensor *carry, sn_tensor *x, sn_tensor *made[2]) {
  made[0] = sn_add(sn_mul(sn_tanh(sn_mul(carry, factor)), x), factor);
  made[1] = sn_mul(made[0], carry);
}

static sn_tensor *loss_by_scan(sn_tensor *factor, sn_tensor *start, sn_tensor *xs) {
  sn_tensor *in[2], *made[2], *out[2], *inputs[2] = {start, xs};
  for (int k = 0; k < 2; k++) in[k] = sn_placeholder(f.ctx, SN_F64, 0, NULL);
  round_of(factor, in[0], in[1], made);
  const sn_traced body = {in, 2, made, 2};
  assert_int_equal(sn_scan(f.ctx, &body, 1, inputs, ROUNDS, false, out), SN_OK);
  return sn_add(out[0], sn_sum(sn_square(out[1]), SN_ALL_AXES, false));
}

static sn_tensor *loss_written_out(sn_tensor *factor, sn_tensor *start, sn_tensor *xs) {
  sn_tensor *carry = start, *sum = NULL, *made[2];
  for (int64_t i = 0; i < ROUNDS; i++) {
    const int64_t one = 1;
    sn_tensor *x = sn_reshape(sn_slice(xs, &i, &one, NULL), 0, NULL);
    round_of(factor, carry, x, made);
    carry = made[0];
    sum = sum ? sn_add(sum, sn_square(made[1])) : sn_square(made[1]);
  }
  return sn_add(carry, sum);
}

typedef sn_tensor *loss_fn(sn_tensor *factor, sn_tensor *start, sn_tensor *xs);

/* The value, the gradient by all three, and the gradient of the sum of that. */
static void derivatives(loss_fn *loss, double out[13]) {
  const double x[ROUNDS] = {0.5, -1, 2, 0.25}, factor = 0.75, start = 0.5;
  const int64_t n = ROUNDS;
  sn_tensor *args[3] = {sn_from_data(f.ctx, SN_F64, 0, NULL, &factor),
                        sn_from_data(f.ctx, SN_F64, 0, NULL, &start),
                        sn_from_data(f.ctx, SN_F64, 1, &n, x)};
  sn_tensor *first[3], *second[3], *results[7];
  for (int k = 0; k < 3; k++) args[k] = sn_variable(args[k]);
  sn_tensor *y = loss(args[0], args[1], args[2]);
  assert_int_equal(sn_gradients(y, args, 3, first), SN_OK);
  sn_tensor *sum = sn_add(sn_add(first[0], first[1]), sn_sum(sn_sin(first[2]), SN_ALL_AXES, false));
  assert_int_equal(sn_gradients(sum, args, 3, second), SN_OK);
  results[0] = y;
  for (int k = 0; k < 3; k++) {
    results[1 + k] = first[k];
    results[4 + k] = second[k];
  }
  assert_int_equal(sn_eval(results, 7), SN_OK);
  for (int k = 0; k < 7; k++) {
    const size_t size = (size_t)sn_size(results[k]);
    assert_int_equal(sn_read(results[k], out, size * sizeof *out), SN_OK);
    out += size;
  }
}

static void gradients_of_a_scan_to_order_two(void **state) {
  (void)state;
  double got[13], expected[13];
  derivatives(loss_by_scan, got);
  derivatives(loss_written_out, expected);
  for (int i = 0; i < 13; i++)
    if (!(fabs(got[i] - expected[i]) <= 1e-12 * (1 + fabs(expected[i]))))
      fail_msg("number %d is %.17g, not %.17g", i, got[i], expected[i]);
}

/* h' = tanh(h w + x u + b) of rows, whose weights' cotangents are summed behind the loop. */
enum { ROWS = 2, WIDTH = 4, STEPS = 3 };

static sn_tensor *cell(sn_tensor *const *p, sn_tensor *h, sn_tensor *x) {
  return sn_tanh(sn_add(sn_add(sn_matmul(h, p[0]), sn_matmul(x, sn_transpose(p[1], NULL))), p[2]));
}

static sn_tensor *recurrent(sn_tensor *const *p, sn_tensor *start, sn_tensor *xs, bool by_scan) {
  sn_tensor *h = start, *sum = NULL;
  if (by_scan) {
    sn_tensor *in[2], *made[2], *out[2], *inputs[2] = {start, xs};
    for (int k = 0; k < 2; k++) in[k] = sn_placeholder(f.ctx, SN_F64, DIMS(ROWS, WIDTH));
    made[0] = made[1] = cell(p, in[0], in[1]);
    const sn_traced body = {in, 2, made, 2};
    assert_int_equal(sn_scan(f.ctx, &body, 1, inputs, STEPS, true, out), SN_OK);
    return sn_sum(sn_square(out[1]), SN_ALL_AXES, false);
  }
  for (int64_t t = STEPS - 1; t >= 0; t--) {
    const int64_t begin[] = {t, 0, 0}, size[] = {1, ROWS, WIDTH};
    h = cell(p, h, sn_reshape(sn_slice(xs, begin, size, NULL), DIMS(ROWS, WIDTH)));
    sn_tensor *square = sn_sum(sn_square(h), SN_ALL_AXES, false);
    sum = sum ? sn_add(sum, square) : square;
  }
  return sum;
}

static sn_tensor *numbers(int rank, const int64_t *dims, double step) {
  void *data;
  sn_tensor *t = sn_empty(f.ctx, SN_F64, rank, dims, &data);
  for (int64_t i = 0; i < sn_size(t); i++) ((double *)data)[i] = (double)(i * 7 % 11) * step - 0.4;
  return t;
}

static void weights_of_a_recurrent_layer_have_their_gradients(void **state) {
  (void)state;
  sn_tensor *p[3] = {sn_variable(numbers(DIMS(WIDTH, WIDTH), 0.07)),
                     sn_variable(numbers(DIMS(WIDTH, WIDTH), 0.05)),
                     sn_variable(numbers(DIMS(WIDTH), 0.03))};
  sn_tensor *start = numbers(DIMS(ROWS, WIDTH), 0.09), *xs = numbers(DIMS(STEPS, ROWS, WIDTH), 0.1);
  sn_tensor *got[3], *expected[3];
  assert_int_equal(sn_gradients(recurrent(p, start, xs, true), p, 3, got), SN_OK);
  assert_int_equal(sn_gradients(recurrent(p, start, xs, false), p, 3, expected), SN_OK);
  for (int k = 0; k < 3; k++) {
    const double *a = sn_data(got[k]), *b = sn_data(expected[k]);
    assert_non_null(a);
    for (int64_t i = 0; i < sn_size(got[k]); i++)
      if (!(fabs(a[i] - b[i]) <= 1e-13 * (1 + fabs(b[i]))))
        fail_msg("weight %d, element %lld: %.17g, not %.17g", k, (long long)i, a[i], b[i]);
  }
}

/* A parameter stored in 16 bits: its cotangents, 1 + 2^-9 each, are added up before they are rounded. */
static void cotangents_are_not_rounded_in_rounds(void **state) {
  (void)state;
  float x[8];
  for (int i = 0; i < 8; i++) x[i] = 1 + 0x1p-9f;
  sn_tensor *w = sn_variable(scalar(1)), *stored = sn_astype(w, SN_BF16), *in[3], *out[2], *dw;
  for (int k = 0; k < 3; k++) in[k] = sn_placeholder(f.ctx, k ? SN_F32 : SN_BF16, 0, NULL);
  sn_tensor *made[2] = {in[0], sn_add(in[1], sn_mul(sn_astype(in[0], SN_F32), in[2]))};
  sn_tensor *inputs[3] = {stored, scalar(0), vector(8, x)};
  const sn_traced body = {in, 3, made, 2};
  assert_int_equal(sn_scan(f.ctx, &body, 2, inputs, 8, false, out), SN_OK);
  assert_int_equal(sn_gradients(out[1], &w, 1, &dw), SN_OK);
  EXPECT(dw, 8 + 0x1p-6f);
}

/* Beside the carry that is read goes one that starts where its derivative is infinite. */
static void what_nobody_reads_has_no_cotangent(void **state) {
  (void)state;
  sn_tensor *x = sn_variable(scalar(0)), *in[2], *out[2], *dx;
  for (int k = 0; k < 2; k++) in[k] = sn_placeholder(f.ctx, SN_F32, 0, NULL);
  sn_tensor *made[2] = {sn_add(in[0], in[0]), sn_mul(in[1], in[0])};
  sn_tensor *inputs[2] = {x, sn_sqrt(x)};
  const sn_traced body = {in, 2, made, 2};
  assert_int_equal(sn_scan(f.ctx, &body, 2, inputs, 3, false, out), SN_OK);
  assert_int_equal(sn_gradients(out[0], &x, 1, &dx), SN_OK);
  EXPECT(dx, 8);
}

static void gradient_of_a_cond_is_its_branch(void **state) {
  (void)state;
  for (int which = 0; which < 2; which++) {
    sn_tensor *x = sn_variable(scalar(4)), *out, *dx;
    sn_tensor *z[2], *y[2];
    for (int k = 0; k < 2; k++) z[k] = sn_placeholder(f.ctx, SN_F32, 0, NULL);
    y[0] = sn_sqrt(z[0]);
    y[1] = sn_log(sn_sub(z[1], sn_scalar(f.ctx, 4))); /* of 0: infinite, and so is its derivative */
    const sn_traced on_true = {&z[0], 1, &y[0], 1}, on_false = {&z[1], 1, &y[1], 1};
    const uint8_t value = (uint8_t)!which;
    sn_tensor *condition = sn_from_data(f.ctx, SN_BOOL, 0, NULL, &value);
    assert_int_equal(sn_cond(condition, &on_true, &on_false, &x, &out), SN_OK);
    assert_int_equal(sn_gradients(out, &x, 1, &dx), SN_OK);
    EXPECT(dx, which ? INFINITY : 0.25f);
  }
}

/* ---- vmap ------------------------------------------------------------------------------------ */

enum { EXAMPLES = 5 };

/* Programs of a number x and a number w that all examples share. */
typedef sn_tensor *example_fn(sn_tensor *x, sn_tensor *w);

/* Three rounds of c' = c w + x, y = c': the first carry is of no example, later ones are. */
static sn_tensor *scanned(sn_tensor *x, sn_tensor *w) {
  sn_tensor *c = sn_placeholder(f.ctx, SN_F32, 0, NULL), *out[2], *start = scalar(1);
  sn_tensor *next = sn_add(sn_mul(c, w), x), *made[2] = {next, next};
  const sn_traced body = {&c, 1, made, 2};
  assert_int_equal(sn_scan(f.ctx, &body, 1, &start, 3, false, out), SN_OK);
  return sn_add(out[0], sn_sum(sn_square(out[1]), SN_ALL_AXES, false));
}

/* x doubled until it is above w: each example in its own number of rounds. */
static sn_tensor *doubled(sn_tensor *x, sn_tensor *w) {
  sn_tensor *c[2], *out;
  for (int k = 0; k < 2; k++) c[k] = sn_placeholder(f.ctx, SN_F32, 0, NULL);
  sn_tensor *more = sn_less(c[0], w), *next = sn_add(c[1], c[1]);
  const sn_traced test = {&c[0], 1, &more, 1}, body = {&c[1], 1, &next, 1};
  assert_int_equal(sn_while(f.ctx, &test, &body, &x, &out), SN_OK);
  return out;
}

/* Rounds by a shared number, a carry that examples have. */
static sn_tensor *counted(sn_tensor *x, sn_tensor *w) {
  sn_tensor *c[4], *out[2], *start[2] = {scalar(0), x};
  for (int k = 0; k < 4; k++) c[k] = sn_placeholder(f.ctx, SN_F32, 0, NULL);
  sn_tensor *more = sn_less(c[0], w);
  sn_tensor *next[2] = {sn_add(c[2], sn_scalar(f.ctx, 1)), sn_mul(c[3], sn_scalar(f.ctx, 1.5))};
  const sn_traced test = {c, 2, &more, 1}, body = {c + 2, 2, next, 2};
  assert_int_equal(sn_while(f.ctx, &test, &body, start, out), SN_OK);
  return sn_add(out[0], out[1]);
}

static sn_tensor *chosen_by(sn_tensor *condition, sn_tensor *x) {
  sn_tensor *c[2], *out;
  for (int k = 0; k < 2; k++) c[k] = sn_placeholder(f.ctx, SN_F32, 0, NULL);
  sn_tensor *a = sn_sqrt(c[0]), *b = sn_mul(c[1], c[1]);
  const sn_traced on_true = {&c[0], 1, &a, 1}, on_false = {&c[1], 1, &b, 1};
  assert_int_equal(sn_cond(condition, &on_true, &on_false, &x, &out), SN_OK);
  return out;
}
static sn_tensor *chosen_by_example(sn_tensor *x, sn_tensor *w) {
  return chosen_by(sn_greater(x, sn_div(w, w)), x);
}
static sn_tensor *chosen_for_all(sn_tensor *x, sn_tensor *w) {
  return chosen_by(sn_greater(w, scalar(0)), x);
}

/* By example, of what is stored in 16 bits. */
static sn_tensor *chosen_as_halves(sn_tensor *x, sn_tensor *w) {
  sn_tensor *c[2], *out, *half = sn_astype(x, SN_F16);
  for (int k = 0; k < 2; k++) c[k] = sn_placeholder(f.ctx, SN_F16, 0, NULL);
  const sn_traced on_true = {&c[0], 1, &c[0], 1};
  sn_tensor *other = sn_astype(sn_neg(c[1]), SN_F16);
  const sn_traced on_false = {&c[1], 1, &other, 1};
  assert_int_equal(sn_cond(sn_less(x, w), &on_true, &on_false, &half, &out), SN_OK);
  return sn_astype(out, SN_F32);
}

static sn_tensor *gradient_of_scanned(sn_tensor *x, sn_tensor *w) {
  sn_tensor *v = sn_variable(x), *dx;
  assert_int_equal(sn_gradients(scanned(v, w), &v, 1, &dx), SN_OK);
  return dx;
}

static void examples_at_once_are_examples_one_by_one(void **state) {
  (void)state;
  static example_fn *const functions[] = {scanned,
                                          doubled,
                                          counted,
                                          chosen_by_example,
                                          chosen_for_all,
                                          chosen_as_halves,
                                          gradient_of_scanned};
  const float x[EXAMPLES] = {0.25f, 1.5f, 3, 0.5f, 9};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    sn_tensor *one = sn_placeholder(f.ctx, SN_F32, 0, NULL), *all = vector(EXAMPLES, x), *out;
    sn_tensor *y = functions[i](one, scalar(4));
    const int axis = 0;
    assert_int_equal(sn_vmap(f.ctx, &y, &axis, 1, &one, &all, &axis, 1, &out), SN_OK);
    float expected[EXAMPLES];
    for (int k = 0; k < EXAMPLES; k++)
      assert_int_equal(sn_read(functions[i](scalar(x[k]), scalar(4)), &expected[k], 4), SN_OK);
    expect_values(out, expected, EXAMPLES);
  }
}

/* log(w x) or x w by the sign of x: no logarithm of what is not above 0 gets into a derivative. */
static sn_tensor *chosen_by_sign(sn_tensor *x, sn_tensor *w) {
  sn_tensor *c[2], *out;
  for (int k = 0; k < 2; k++) c[k] = sn_placeholder(f.ctx, SN_F32, 0, NULL);
  sn_tensor *a = sn_add(sn_log(sn_mul(c[0], w)), sn_sqrt(c[0])), *b = sn_mul(c[1], w);
  const sn_traced on_true = {&c[0], 1, &a, 1}, on_false = {&c[1], 1, &b, 1};
  assert_int_equal(sn_cond(sn_greater(x, sn_scalar(f.ctx, 0)), &on_true, &on_false, &x, &out),
                   SN_OK);
  return out;
}

/* The derivatives of a sum over examples, by them and by what they share: numbers where all are. */
static void the_branch_not_taken_leaves_no_nan(void **state) {
  (void)state;
  static const float xs[3][3] = {{0, 4, -1}, {0, -2, -1}, {1, 4, 16}};
  const int axis = 0;
  for (int i = 0; i < 3; i++) {
    sn_tensor *x[2] = {sn_variable(vector(3, xs[i])), sn_variable(scalar(2))}, *y, *sum, *out[2];
    sn_tensor *one = sn_placeholder(f.ctx, SN_F32, 0, NULL), *made = chosen_by_sign(one, x[1]);
    assert_int_equal(sn_vmap(f.ctx, &made, &axis, 1, &one, x, &axis, 1, &y), SN_OK);
    sum = sn_sum(y, SN_ALL_AXES, false);
    assert_int_equal(sn_gradients(sum, x, 2, out), SN_OK);
    float dx[3], dw = 0;
    for (int k = 0; k < 3; k++) {
      const float at = xs[i][k];
      dx[k] = at > 0 ? 1 / at + 0.5f / sqrtf(at) : 2;
      dw += at > 0 ? 0.5f : at;
    }
    expect_values(out[0], dx, 3);
    EXPECT(out[1], dw);
    sn_tensor *ones = vector(3, (const float[]){1, 1, 1}), *dy;
    assert_int_equal(sn_jvp(f.ctx, &y, 1, x, (sn_tensor *[]){ones, NULL}, 2, &dy), SN_OK);
    expect_values(dy, dx, 3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(scan_carries_and_stacks),
      TEST(scan_of_no_and_one_round),
      TEST(carries_change_places),
      TEST(a_loop_works_in_the_arena),
      TEST(what_costs_nothing_is_made_in_the_loop),
      TEST(carries_are_written_over_themselves_where_they_may_be),
      TEST(while_runs_until_its_test_fails),
      TEST(cond_runs_one_branch),
      TEST(loops_in_loops),
      TEST(a_loop_says_what_it_is),
      TEST(results_that_nobody_uses_are_what_the_body_reads),
      TEST(a_loop_that_has_run_is_a_value),
      TEST(gradients_of_a_scan_to_order_two),
      TEST(weights_of_a_recurrent_layer_have_their_gradients),
      TEST(cotangents_are_not_rounded_in_rounds),
      TEST(what_nobody_reads_has_no_cotangent),
      TEST(gradient_of_a_cond_is_its_branch),
      TEST(examples_at_once_are_examples_one_by_one),
      TEST(the_branch_not_taken_leaves_no_nan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
