/* test_custom.c - checkpoints and functions with custom derivatives, through the public C API. */
#include "api_support.h"

static sn_tensor *scalar(float x) { return sn_from_data(f.ctx, SN_F32, 0, NULL, &x); }
static sn_tensor *argument(void) { return sn_placeholder(f.ctx, SN_F32, 0, NULL); }

/* x sin(x c), c captured; sin(x c) is named 3. */
static sn_tensor *checkpointed(sn_tensor *x, sn_tensor *c, const sn_save_policy *keep) {
  sn_tensor *in = argument(), *y = sn_mul(in, sn_named(sn_sin(sn_mul(in, c)), 3)), *out;
  const sn_traced body = {&in, 1, &y, 1};
  assert_int_equal(sn_checkpoint(f.ctx, &body, &x, keep, &out), SN_OK);
  return out;
}

static float read(sn_tensor *t) {
  float x;
  assert_int_equal(sn_read(t, &x, sizeof x), SN_OK);
  return x;
}

static void a_checkpoint_is_its_function(void **state) {
  (void)state;
  static const int32_t names[] = {3};
  const sn_save_policy keep[] = {{.products = true}, {.names = names, .n_names = 1}};
  const sn_save_policy *const policies[] = {NULL, &keep[0], &keep[1]};
  for (int i = 0; i < 3; i++) {
    sn_tensor *x = sn_variable(scalar(2)), *c = sn_variable(scalar(0.5f)), *wrt[] = {x, c}, *d[2];
    sn_tensor *plain = sn_mul(x, sn_sin(sn_mul(x, c))), *expected[2];
    sn_tensor *y = checkpointed(x, c, policies[i]);
    assert_int_equal(sn_gradients(y, wrt, 2, d), SN_OK);
    assert_int_equal(sn_gradients(plain, wrt, 2, expected), SN_OK);
    EXPECT(y, read(plain));
    for (int k = 0; k < 2; k++) EXPECT(d[k], read(expected[k]));
  }
}

/* x w, whose derivative is said to be 7 by x and 5 by w. */
static sn_tensor *custom(sn_tensor *x, sn_tensor *w, bool reverse) {
  sn_tensor *in[2] = {argument(), argument()}, *y = sn_mul(in[0], in[1]), *args[2] = {x, w}, *out;
  sn_tensor *given[4] = {argument(), argument(), argument(), argument()}, *made[2];
  const sn_traced body = {in, 2, &y, 1};
  const sn_traced rule = {given, reverse ? 3 : 4, made, reverse ? 2 : 1};
  sn_tensor *seven = sn_mul(given[2], scalar(7));
  made[0] = reverse ? seven : sn_add(seven, sn_mul(given[3], scalar(5)));
  made[1] = reverse ? sn_mul(given[2], scalar(5)) : NULL;
  assert_int_equal(sn_custom(f.ctx, &body, &rule, reverse, args, &out), SN_OK);
  return out;
}

static void a_rule_counts_in_both_directions(void **state) {
  (void)state;
  for (int reverse = 0; reverse < 2; reverse++) {
    sn_tensor *x = sn_variable(scalar(2)), *w = sn_variable(scalar(3)), *wrt[] = {x, w}, *d[2];
    sn_tensor *y = custom(x, w, reverse), *tangents[] = {scalar(1), scalar(10)}, *dy;
    EXPECT(y, 6);
    assert_int_equal(sn_gradients(y, wrt, 2, d), SN_OK);
    EXPECT(d[0], 7);
    EXPECT(d[1], 5);
    assert_int_equal(sn_jvp(f.ctx, &y, 1, wrt, tangents, 2, &dy), SN_OK);
    EXPECT(dy, 57);
  }
}

static void a_rule_for_all_examples(void **state) {
  (void)state;
  const float x[] = {1, 2, 3};
  const int axis = 0;
  for (int reverse = 0; reverse < 2; reverse++) {
    sn_tensor *one = argument(), *w = sn_variable(scalar(2)),
              *all = sn_from_data(f.ctx, SN_F32, DIMS(3), x);
    sn_tensor *y = custom(one, w, reverse), *out, *d;
    assert_int_equal(sn_vmap(f.ctx, &y, &axis, 1, &one, &all, &axis, 1, &out), SN_OK);
    EXPECT(out, 2, 4, 6);
    sn_tensor *total = sn_sum(out, SN_ALL_AXES, false);
    assert_int_equal(sn_gradients(total, &w, 1, &d), SN_OK);
    EXPECT(d, 15);
  }
}

static void rules_that_do_not_fit(void **state) {
  (void)state;
  sn_tensor *in = argument(), *y = sn_neg(in), *x = scalar(1), *out;
  sn_tensor *given[2] = {argument(), sn_placeholder(f.ctx, SN_F32, DIMS(2))},
            *made = sn_neg(given[0]);
  const sn_traced body = {&in, 1, &y, 1}, few = {given, 1, &made, 1}, wide = {given, 2, &made, 1};
  assert_int_equal(sn_custom(f.ctx, &body, &few, true, &x, &out), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT,
               "customVjp: there are 0 of the derivatives that the rule takes, expected 1");
  assert_int_equal(sn_custom(f.ctx, &body, &wide, false, &x, &out), SN_ERR_SHAPE);
  expect_error(
      f.ctx, SN_ERR_SHAPE,
      "customJvp: the derivatives that the rule takes 0 is float32 (2,), what it is of float32 ()");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_checkpoint_is_its_function),
      TEST(a_rule_counts_in_both_directions),
      TEST(a_rule_for_all_examples),
      TEST(rules_that_do_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
