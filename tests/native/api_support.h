/* api_support.h - a fixture for tests of the public API: each test runs in a scope of a context of
 * its own, and ends with no error and no tensor left. */
#ifndef API_SUPPORT_H
#define API_SUPPORT_H

#include "support.h"

static fixture f;

/* Every test runs in a scope of a context of its own. */
static int open_fixture(void **state) {
  (void)state;
  fixture_open(&f, (sn_options){.threads = 1});
  return (int)sn_scope_begin(f.ctx);
}

static int close_fixture(void **state) {
  (void)state;
  assert_int_equal(sn_error_status(f.ctx), SN_OK);
  sn_scope_end(f.ctx);
  fixture_close(&f);
  return 0;
}

/* expr is refused with this status and text. */
#define REFUSED(expr, status, message)    \
  do {                                    \
    assert_null(expr);                    \
    expect_error(f.ctx, status, message); \
  } while (0)

static inline void expect_values(sn_tensor *t, const float *expected, size_t n) {
  float values[64];
  assert_non_null(t);
  assert_int_equal(sn_size(t), n);
  assert_int_equal(sn_read(t, values, sizeof values), SN_OK);
  for (size_t i = 0; i < n; i++)
    if (values[i] != expected[i])
      fail_msg("element %zu is %g, not %g", i, (double)values[i], (double)expected[i]);
}
#define EXPECT(t, ...) \
  expect_values((t), (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

#endif
