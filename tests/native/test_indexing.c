/* test_indexing.c - take, scatter, sort and cumulative sums through the public API: shapes, values,
 * errors and their texts; and that indexing needs no copies. test_axis.c compares the kernels with the
 * reference. */
#include "api_support.h"

#include <limits.h>
#include <math.h>

static sn_tensor *ints(int rank, const int64_t *dims, const int32_t *data) {
  return sn_from_data(f.ctx, SN_I32, rank, dims, data);
}
#define INTS(...) \
  ints(1, (int64_t[]){sizeof((int32_t[]){__VA_ARGS__}) / 4}, (int32_t[]){__VA_ARGS__})

static sn_tensor *floats(int64_t n, const float *data) {
  return sn_from_data(f.ctx, SN_F32, 1, &n, data);
}
#define FLOATS(...) floats(sizeof((float[]){__VA_ARGS__}) / 4, (float[]){__VA_ARGS__})

static void expect_ints(sn_tensor *t, const int32_t *expected, size_t n) {
  assert_non_null(t);
  assert_int_equal(sn_dtype_of(t), SN_I32);
  assert_int_equal(sn_size(t), n);
  assert_memory_equal(sn_data(t), expected, n * sizeof *expected);
}
#define EXPECT_INTS(t, ...) \
  expect_ints((t), (int32_t[]){__VA_ARGS__}, sizeof((int32_t[]){__VA_ARGS__}) / 4)

static void expect_shape(sn_tensor *t, int rank, const int64_t *dims) {
  assert_non_null(t);
  assert_int_equal(sn_rank(t), rank);
  assert_memory_equal(sn_dims(t), dims, (size_t)rank * sizeof *dims);
}

static void taking(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(2, 3), 1);
  EXPECT(sn_take(x, INTS(1, -2, 7, -9), 0), 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3);
  EXPECT(sn_take(x, INTS(2, 0), -1), 3, 1, 6, 4);
  EXPECT(sn_take(x, ints(0, NULL, (int32_t[]){-1}), 1), 3, 6);
  sn_tensor *many = sn_take(x, ints(DIMS(2, 1), (int32_t[]){0, 1}), 1);
  expect_shape(many, DIMS(2, 2, 1));
  expect_shape(sn_take(x, ints(DIMS(0, 4), (int32_t[]){0}), 0), DIMS(0, 4, 3));
  EXPECT(sn_take_along_axis(x, ints(DIMS(2, 2), (int32_t[]){2, 0, 1, -1}), 1), 3, 1, 5, 6);
  EXPECT(sn_one_hot(INTS(1, 5, -1), 3, SN_F32), 0, 1, 0, 0, 0, 0, 0, 0, 0);
}

static void updating(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(2, 3), 1), *one = sn_scalar(f.ctx, 1);
  EXPECT(sn_scatter_add(x, INTS(0, 0, -1), one, 1), 3, 2, 4, 6, 5, 7);
  EXPECT(sn_scatter(x, INTS(1), FLOATS(7, 8, 9), 0, SN_SCATTER_SET), 1, 2, 3, 7, 8, 9);
  EXPECT(sn_scatter(x, INTS(1, 1), ramp(f.ctx, DIMS(2, 1), 10), 0, SN_SCATTER_SET), 1, 2, 3, 20, 20,
         20);
  EXPECT(sn_scatter(x, INTS(0, 0, -1), sn_scalar(f.ctx, 3), 1, SN_SCATTER_MUL), 9, 2, 9, 36, 5, 18);
  EXPECT(sn_scatter(x, INTS(1, 1), FLOATS(7, 0, 5), 0, SN_SCATTER_MAX), 1, 2, 3, 7, 5, 6);
  EXPECT(sn_scatter(x, INTS(1, 1), FLOATS(7, 0, 5), 0, SN_SCATTER_MIN), 1, 2, 3, 4, 0, 5);
  EXPECT(x, 1, 2, 3, 4, 5, 6);
  EXPECT_INTS(sn_scatter(INTS(1, 2, 8), INTS(0, 2, 0), INTS(4, 3, 2), 0, SN_SCATTER_OR), 7, 2, 11);
  EXPECT_INTS(sn_scatter_add(INTS(1, 2), INTS(5), one, 0), 1, 3);
}

static void ordering(void **state) {
  (void)state;
  sn_tensor *x = FLOATS(2, NAN, -0.0f, 3, 0, -INFINITY);
  EXPECT_INTS(sn_argsort(x, 0, false), 5, 2, 4, 0, 3, 1);
  EXPECT_INTS(sn_argsort(x, 0, true), 3, 0, 2, 4, 5, 1);
  sn_tensor *y = sn_sort(x, -1, true);
  const float *sorted = sn_data(y);
  assert_true(sorted && sorted[0] == 3 && signbit(sorted[2]) && isnan(sorted[5]));
  EXPECT(sn_sort(ramp(f.ctx, DIMS(2, 2), -1), 0, false), -3, -4, -1, -2);
}

static void running(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(2, 3), 1);
  EXPECT(sn_cumsum(x, 1, false, false), 1, 3, 6, 4, 9, 15);
  EXPECT(sn_cumsum(x, 1, true, true), 5, 3, 0, 11, 6, 0);
  EXPECT(sn_cumsum(x, 0, false, false), 1, 2, 3, 5, 7, 9);
  EXPECT(sn_cumprod(x, 0, false, true), 1, 1, 1, 1, 2, 3);
  EXPECT(sn_prod(x, 2, false), 6, 120);
  EXPECT(sn_prod(sn_full(f.ctx, SN_F32, DIMS(2, 0), 3), 2, true), 1, 1);
  EXPECT_INTS(sn_cumsum(sn_astype(FLOATS(1, 0, 1), SN_BOOL), 0, false, false), 1, 1, 2);
  /* carried as float64: 2^24 + 1 + 1 is not lost on the way */
  EXPECT(sn_cumsum(FLOATS(16777216, 1, 1), 0, false, false), 16777216, 16777216, 16777218);
}

static void statistics(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(2, 3), 1), *none = sn_full(f.ctx, SN_F32, DIMS(0), 1);
  EXPECT(sn_var(x, 2, false, 1), 1, 1);
  EXPECT(sn_std(x, 1, true, 0), 1.5, 1.5, 1.5);
  EXPECT(sn_norm(FLOATS(3, -4), SN_ALL_AXES, false, 2), 5);
  EXPECT(sn_norm(FLOATS(3, -4), SN_ALL_AXES, false, 1), 7);
  EXPECT(sn_norm(FLOATS(3, 0), SN_ALL_AXES, false, 0), 1);
  EXPECT(sn_norm(FLOATS(3, -4), SN_ALL_AXES, false, INFINITY), 4);
  EXPECT(sn_astype(sn_any(x, 1, false), SN_F32), 1, 1, 1);
  EXPECT(sn_astype(sn_any(none, 1, false), SN_F32), 0);
  EXPECT(sn_astype(sn_all(none, 1, true), SN_F32), 1);
  EXPECT(sn_astype(sn_all(FLOATS(1, 0, NAN), 1, false), SN_F32), 0);
  sn_tensor *large = FLOATS(1e4f, -1e4f, 1e4f);
  EXPECT(sn_softmax(large, 0), 0.5, 0, 0.5);
  EXPECT(sn_logsumexp(FLOATS(-INFINITY, -INFINITY), 1, false), -INFINITY);
  EXPECT(sn_logsumexp(FLOATS(1, INFINITY), 1, false), INFINITY);
  EXPECT(sn_logsumexp(none, 1, true), -INFINITY);
  EXPECT(sn_logsumexp(sn_full(f.ctx, SN_F32, DIMS(2, 0), 1), 2, false), -INFINITY, -INFINITY);
  const int64_t sizes[][2] = {{0, 3}, {3, 0}, {0, 0}};
  for (int k = 0; k < 3; k++)
    for (int axis = 0; axis < 2; axis++) {
      sn_tensor *nothing = sn_full(f.ctx, SN_F32, 2, sizes[k], 1);
      sn_tensor *y[] = {sn_softmax(nothing, axis), sn_log_softmax(nothing, axis)};
      assert_int_equal(sn_eval(y, 2), SN_OK);
      assert_memory_equal(sn_dims(y[0]), sizes[k], sizeof sizes[k]);
    }
}

/* Large values with a small spread: the mean is taken out before anything is squared. */
static void norms_are_stable(void **state) {
  (void)state;
  sn_tensor *x = FLOATS(10001, 10002, 10003, 10004, -10001, -10002, -10003, -10004);
  sn_tensor *y = sn_layer_norm(sn_reshape(x, DIMS(2, 4)), 1u << 1, NULL, NULL, 0);
  const float *got = sn_data(y);
  const double unit = sqrt(1.25);
  assert_non_null(got);
  for (int i = 0; i < 8; i++) {
    const double want = (i % 4 - 1.5) / unit * (i < 4 ? 1 : -1);
    if (fabs(got[i] - want) > 1e-6) fail_msg("element %d is %g, not %g", i, (double)got[i], want);
  }
  sn_tensor *z = sn_rms_norm(FLOATS(3e4f, -3e4f), NULL, 0);
  EXPECT(z, 1, -1);
}

static void refusals(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(2, 3), 1), *i = INTS(0, 1), *u = ramp(f.ctx, DIMS(4), 1);
  sn_tensor *none = sn_full(f.ctx, SN_F32, DIMS(0, 3), 1);
  sn_tensor *deep = sn_reshape(x, DIMS(1, 1, 1, 1, 1, 1, 2, 3));
  REFUSED(sn_take(x, u, 0), SN_ERR_DTYPE, "take: indices must be int32, not float32");
  REFUSED(sn_take(x, i, 2), SN_ERR_SHAPE,
          "take: axis 2 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_take(none, i, 0), SN_ERR_SHAPE,
          "take: no elements along axis 0: a (0, 3), indices (2,)");
  REFUSED(
      sn_take(deep, sn_reshape(i, DIMS(1, 2)), 0), SN_ERR_SHAPE,
      "take: the result has more than 8 dimensions: a (1, 1, 1, 1, 1, 1, 2, 3), indices (1, 2)");
  REFUSED(sn_take_along_axis(x, i, 0), SN_ERR_SHAPE,
          "takeAlongAxis: indices do not broadcast outside of axis 0: a (2, 3), indices (2,)");
  REFUSED(sn_scatter_add(x, i, u, 1), SN_ERR_SHAPE,
          "scatterAdd: updates do not broadcast to what is indexed: a (2, 2), updates (4,)");
  REFUSED(sn_scatter_add(i, i, u, 0), SN_ERR_DTYPE,
          "scatterAdd: updates of float32 do not fit into int32");
  REFUSED(sn_scatter_add(sn_less(x, x), i, sn_less(x, x), 0), SN_ERR_DTYPE,
          "scatterAdd: not defined for bool");
  REFUSED(sn_one_hot(u, 3, SN_F32), SN_ERR_DTYPE, "oneHot: indices must be int32, not float32");
  REFUSED(sn_one_hot(i, 3, (sn_dtype)-1), SN_ERR_DTYPE, "oneHot: unknown dtype -1");
  REFUSED(sn_one_hot(i, -3, SN_F32), SN_ERR_SHAPE, "oneHot: negative size in shape (2, -3)");
  REFUSED(sn_sort(x, 5, false), SN_ERR_SHAPE,
          "sort: axis 5 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_cumsum(x, -3, false, false), SN_ERR_SHAPE,
          "cumsum: axis -3 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_softmax(x, 2), SN_ERR_SHAPE,
          "softmax: axis 2 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_layer_norm(x, 1u << (sn_rank(x) - 1), NULL, u, 0), SN_ERR_SHAPE,
          "layerNorm: bias is not (3,): a (2, 3), bias (4,)");
  REFUSED(sn_rms_norm(sn_scalar(f.ctx, 1), NULL, 0), SN_ERR_SHAPE,
          "rmsNorm: needs at least one axis: a ()");
  assert_null(sn_take(NULL, i, 0));
  assert_null(sn_scatter(x, NULL, u, 0, SN_SCATTER_SET));
  assert_null(sn_scatter(NULL, i, u, 0, (sn_scatter_mode)INT_MAX));
  assert_int_equal(sn_error_status(f.ctx), SN_OK);
}

static size_t kernels_of(sn_tensor *x, sn_tensor *y) {
  sn_program *program;
  sn_program_info info;
  assert_int_equal(sn_compile(f.ctx, &x, 1, &y, 1, NULL, &program), SN_OK);
  sn_program_describe(program, &info);
  sn_program_release(program);
  return info.kernels;
}

/* Indices that many elements share, and the zeros a derivative begins with, take no memory. */
static void indexing_needs_no_copies(void **state) {
  (void)state;
  sn_tensor *x = sn_placeholder(f.ctx, SN_F32, DIMS(50, 8)), *v = sn_variable(x), *slope;
  sn_tensor *rows = sn_take(v, INTS(3, 4, 4), 0),
            *turned = sn_take(sn_transpose(v, NULL), INTS(1), 1);
  assert_int_equal(kernels_of(x, rows), 1);
  assert_int_equal(kernels_of(x, turned), 1);
  assert_int_equal(sn_gradients(sn_sum(rows, SN_ALL_AXES, false), &v, 1, &slope), SN_OK);
  assert_int_equal(kernels_of(x, slope), 3); /* a zero, a one, the scatter */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(taking),     TEST(updating),         TEST(ordering), TEST(running),
      TEST(statistics), TEST(norms_are_stable), TEST(refusals), TEST(indexing_needs_no_copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
