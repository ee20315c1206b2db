/* test_control.c - loops and conditions through the public API, against the same written out. */
#include "api_support.h"

static sn_tensor *scalar(float x) {
  return sn_from_data(f.ctx, SN_F32, 0, NULL, &x);
}

static sn_tensor *vector(int64_t n, const float *x) {
  return sn_from_data(f.ctx, SN_F32, 1, &n, x);
}

/* carry' = carry * factor + x, y = carry' - x */
static void scan_of(sn_tensor *factor, sn_tensor *start, sn_tensor *xs, int64_t length,
                    bool reverse, sn_tensor *out[2]) {
  sn_tensor *in[2] = {sn_placeholder(f.ctx, SN_F32, 0, NULL), sn_placeholder(f.ctx, SN_F32, 0, NULL)};
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

/* x = 1; while x < limit: x = 3 x */
static void while_runs_until_its_test_fails(void **state) {
  (void)state;
  for (int limit = 0; limit < 100; limit += 25) {
    sn_tensor *x = sn_placeholder(f.ctx, SN_F32, 0, NULL), *z = sn_placeholder(f.ctx, SN_F32, 0, NULL);
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
    sn_tensor *x = sn_placeholder(f.ctx, SN_F32, 0, NULL), *z = sn_placeholder(f.ctx, SN_F32, 0, NULL);
    sn_tensor *a = sn_sqrt(x), *b = sn_neg(z), *out, *operand = scalar(9);
    const sn_traced on_true = {&x, 1, &a, 1}, on_false = {&z, 1, &b, 1};
    const uint8_t value = (uint8_t)which;
    sn_tensor *condition = sn_from_data(f.ctx, SN_BOOL, 0, NULL, &value);
    assert_int_equal(sn_cond(condition, &on_true, &on_false, &operand, &out), SN_OK);
    EXPECT(out, which ? 3 : -9);
  }
}

/* Each row of a matrix summed by a loop in a loop. */
static void loops_in_loops(void **state) {
  (void)state;
  const float x[] = {1, 2, 3, 4, 5, 6};
  sn_tensor *m = sn_from_data(f.ctx, SN_F32, DIMS(2, 3), x);
  const int64_t n = 3;
  sn_tensor *row = sn_placeholder(f.ctx, SN_F32, 1, &n);
  sn_tensor *in[2] = {sn_placeholder(f.ctx, SN_F32, 0, NULL), sn_placeholder(f.ctx, SN_F32, 0, NULL)};
  sn_tensor *sum = sn_add(in[0], in[1]), *total, *out;
  const sn_traced inner = {in, 2, &sum, 1};
  sn_tensor *inputs[2] = {scalar(0), row};
  assert_int_equal(sn_scan(f.ctx, &inner, 1, inputs, 3, false, &total), SN_OK);
  const sn_traced outer = {&row, 1, &total, 1};
  assert_int_equal(sn_scan(f.ctx, &outer, 0, &m, 2, false, &out), SN_OK);
  EXPECT(out, 6, 15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(scan_carries_and_stacks),  TEST(scan_of_no_and_one_round),
      TEST(carries_change_places),    TEST(while_runs_until_its_test_fails),
      TEST(cond_runs_one_branch),     TEST(loops_in_loops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
