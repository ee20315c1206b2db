/* test_factors.c - products whose factors are stored in small dtypes: the dtype in which they are read, and that products of
 * bytes have the sums of int32. */
#include "api_support.h"
#include "graph_support.h"

/* As whole numbers if the product is one of those and both are; as float32 but one of them is. */
static void factors_of_bytes_are_read_as_such(void **state) {
  (void)state;
  static const struct {
    sn_dtype a, b, total, read_a, read_b;
  } cases[] = {{SN_U8, SN_I8, SN_I32, SN_U8, SN_I8},    {SN_I8, SN_U8, SN_I32, SN_I8, SN_U8},
               {SN_U8, SN_I32, SN_I32, SN_I32, SN_I32}, {SN_U8, SN_I8, SN_F32, SN_F32, SN_I8},
               {SN_U8, SN_F16, SN_F32, SN_U8, SN_F16},  {SN_F16, SN_U8, SN_I32, SN_I32, SN_I32}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    lab l;
    lab_open(&l, true);
    sn_type a = F32(3, 4), b = F32(5, 4);
    a.dtype = cases[i].a;
    b.dtype = cases[i].b;
    const sn_id x = sn_build_cast(&l.b, SN_OP_astype, input(&l, a), cases[i].total);
    const sn_id y = sn_build_cast(&l.b, SN_OP_astype, input(&l, b), cases[i].total);
    OUTPUTS(&l, sn_build_matmul(&l.b, x, sn_build_swap_last(&l.b, y)));
    const sn_groups groups = cut_graph(&l, true);
    const sn_contraction *c = &groups.groups[groups.n_groups - 1].contraction;
    assert_int_equal(groups.groups[groups.n_groups - 1].kind, SN_GROUP_CONTRACTION);
    assert_int_equal(c->total_dtype, cases[i].total);
    assert_int_equal(c->factors[0].dtype, cases[i].read_a);
    assert_int_equal(c->factors[1].dtype, cases[i].read_b);
    lab_close(&l);
  }
}

/* ---- values ----------------------------------------------------------------------------------- */

enum { BATCH = 2, MOST = 24 * 70 };

static int32_t byte_at(sn_dtype dtype, uint8_t byte) {
  return dtype == SN_I8 ? (int8_t)byte : byte;
}

/* relu(a b - 1000), a (2, m, k) or its transpose, b (k, n) for both. */
static void check(sn_dtype of_a, sn_dtype of_b, int64_t m, int64_t k, int64_t n, bool turned) {
  static uint8_t a[BATCH * MOST], b[BATCH * MOST];
  static int32_t values[BATCH * MOST];
  for (int64_t i = 0; i < BATCH * MOST; i++) {
    a[i] = i % 5 ? (uint8_t)(i * 37) : 255;
    b[i] = i % 7 ? (uint8_t)(i * 101) : 128;
  }
  const int swapped[] = {0, 2, 1};
  sn_tensor *x = sn_from_data(f.ctx, of_a, DIMS(BATCH, turned ? k : m, turned ? m : k), a);
  sn_tensor *y = sn_from_data(f.ctx, of_b, DIMS(k, n), b);
  sn_tensor *left = sn_astype(turned ? sn_transpose(x, swapped) : x, SN_I32);
  sn_tensor *sum = sn_matmul(left, sn_astype(y, SN_I32));
  sn_tensor *out = sn_relu(sn_sub(sum, sn_scalar(f.ctx, 1000)));
  if (sn_read(out, values, (size_t)(BATCH * m * n) * sizeof *values))
    fail_msg("%s", sn_error_message(f.ctx));
  for (int64_t i = 0; i < BATCH * m * n; i++) {
    const int64_t batch = i / n / m, row = i / n % m, column = i % n;
    int32_t wanted = -1000;
    for (int64_t p = 0; p < k; p++)
      wanted += byte_at(of_a, a[batch * m * k + (turned ? p * m + row : row * k + p)]) *
                byte_at(of_b, b[p * n + column]);
    assert_int_equal(values[i], wanted > 0 ? wanted : 0);
  }
}

static void bytes_have_the_sums_of_int32(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{1, 1, 1},    {1, 70, 24}, {24, 70, 1}, {5, 3, 7},
                                     {24, 69, 24}, {6, 68, 8},  {3, 0, 4},   {0, 4, 3}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int which = 0; which < 8; which++)
      check(which & 1 ? SN_I8 : SN_U8, which & 2 ? SN_I8 : SN_U8, sizes[i][0], sizes[i][1],
            sizes[i][2], which & 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(factors_of_bytes_are_read_as_such),
      TEST(bytes_have_the_sums_of_int32),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
