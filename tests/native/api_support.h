/* api_support.h - for tests of the public API: each test runs in a scope of a context of its own, and has
 * to end without an error and without a tensor left. */
#ifndef API_SUPPORT_H
#define API_SUPPORT_H

#include "support.h"

extern fixture f; /* of the test that runs */

int open_fixture(void **state);
int close_fixture(void **state);

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

/* expr is refused with this status and text. */
#define REFUSED(expr, status, message)    \
  do {                                    \
    assert_null(expr);                    \
    expect_error(f.ctx, status, message); \
  } while (0)

/* The float32 elements of t, at most 64. */
void expect_values(sn_tensor *t, const float *expected, size_t n);
#define EXPECT(t, ...) \
  expect_values((t), (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))

#endif
