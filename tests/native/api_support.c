#include "api_support.h"

fixture f;

int open_fixture(void **state) {
  (void)state;
  fixture_open(&f, (sn_options){.threads = 1});
  return (int)sn_scope_begin(f.ctx);
}

int close_fixture(void **state) {
  (void)state;
  assert_int_equal(sn_error_status(f.ctx), SN_OK);
  sn_scope_end(f.ctx);
  fixture_close(&f);
  return 0;
}

void expect_values(sn_tensor *t, const float *expected, size_t n) {
  float values[64];
  assert_non_null(t);
  assert_int_equal(sn_size(t), n);
  assert_int_equal(sn_read(t, values, sizeof values), SN_OK);
  for (size_t i = 0; i < n; i++)
    if (values[i] != expected[i])
      fail_msg("element %zu is %g, not %g", i, (double)values[i], (double)expected[i]);
}
