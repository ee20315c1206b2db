/* test_arrange.c - functions that exchange, add, flip, repeat and join axes, products composed of
 * them, and functions that create tensors, through the public API: shapes, values, errors and their
 * texts. */
#include "api_support.h"

static void expect_shape(sn_tensor *t, int rank, const int64_t *dims) {
  assert_non_null(t);
  assert_int_equal(sn_rank(t), rank);
  assert_memory_equal(sn_dims(t), dims, (size_t)rank * sizeof *dims);
}

static void axes(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(2, 3), 1), *y = ramp(f.ctx, DIMS(2, 3, 4), 1);
  EXPECT(sn_swapaxes(x, 0, -1), 1, 4, 2, 5, 3, 6);
  expect_shape(sn_swapaxes(y, 0, 2), DIMS(4, 3, 2));
  expect_shape(sn_moveaxis(y, 0, -1), DIMS(3, 4, 2));
  expect_shape(sn_expand_dims(x, 1 | 4), DIMS(1, 2, 1, 3));
  expect_shape(sn_squeeze(sn_expand_dims(x, 1 | 4), SN_ALL_AXES), DIMS(2, 3));
  expect_shape(sn_squeeze(sn_expand_dims(x, 1 | 4), 1), DIMS(2, 1, 3));
  EXPECT(sn_flip(x, 2), 3, 2, 1, 6, 5, 4);
  EXPECT(sn_flip(x, SN_ALL_AXES), 6, 5, 4, 3, 2, 1);
  REFUSED(sn_swapaxes(x, 0, 2), SN_ERR_SHAPE,
          "swapaxes: axis 2 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_moveaxis(x, -3, 0), SN_ERR_SHAPE,
          "moveaxis: axis -3 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_squeeze(x, 1), SN_ERR_SHAPE, "squeeze: axis 0 is not of size 1: a (2, 3)");
  REFUSED(sn_flip(x, 4), SN_ERR_SHAPE,
          "flip: axis 2 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_expand_dims(x, 16), SN_ERR_SHAPE,
          "expandDims: the result has rank 3, at most 8: axes 10");
}

static void joined(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(2), 1), *y = ramp(f.ctx, DIMS(2), 3),
            *z = ramp(f.ctx, DIMS(3), 1);
  EXPECT(sn_stack((sn_tensor *[]){x, y}, 2, 0), 1, 2, 3, 6);
  EXPECT(sn_stack((sn_tensor *[]){x, y}, 2, -1), 1, 3, 2, 6);
  EXPECT(sn_repeat(z, 2, 0), 1, 1, 2, 2, 3, 3);
  EXPECT(sn_repeat(sn_expand_dims(x, 1), 2, SN_FLAT), 1, 1, 2, 2);
  expect_shape(sn_repeat(z, 0, 0), DIMS(0));
  EXPECT(sn_tile(x, (int64_t[]){2, 2}, 2), 1, 2, 1, 2, 1, 2, 1, 2);
  EXPECT(sn_roll(z, &(int64_t){1}, &(int){0}, 1), 3, 1, 2);
  EXPECT(sn_roll(z, &(int64_t){-4}, NULL, 1), 2, 3, 1);
  EXPECT(sn_roll(ramp(f.ctx, DIMS(2, 2), 1), &(int64_t){1}, NULL, 1), 4, 1, 2, 3);
  EXPECT(sn_windows(ramp(f.ctx, DIMS(5), 1), 0, 2, 2, 1), 1, 2, 3, 4);
  EXPECT(sn_windows(ramp(f.ctx, DIMS(5), 1), -1, 2, 1, 3), 1, 4, 2, 5);
  expect_shape(sn_windows(z, 0, 4, 1, 1), DIMS(0, 4));
  REFUSED(sn_windows(z, 0, 0, 1, 1), SN_ERR_ARGUMENT,
          "windows: size 0, step 1, dilation 1: all are at least 1");
  REFUSED(sn_stack((sn_tensor *[]){x, z}, 2, 0), SN_ERR_SHAPE,
          "stack: shapes differ: a (2,), b (3,)");
  REFUSED(sn_stack(&x, 1, 2), SN_ERR_SHAPE,
          "stack: axis 2 is out of range: a (2,) of rank 1, axes are -2 to 1");
  REFUSED(sn_repeat(z, -1, 0), SN_ERR_ARGUMENT,
          "repeat: count is -1, expected a whole number from 0 on");
  REFUSED(sn_tile(z, (int64_t[]){-1}, 1), SN_ERR_ARGUMENT,
          "tile: reps[0] is -1, expected a whole number from 0 on");
  REFUSED(sn_roll(z, &(int64_t){1}, &(int){1}, 1), SN_ERR_SHAPE,
          "roll: axis 1 is out of range: a (3,) of rank 1, axes are -1 to 0");
}

/* Makers of all kinds write their part of a concat themselves: parts of odd sizes, each the same as by itself. */
static void parts_of_all_kinds(void **state) {
  (void)state;
  enum { N = 33, PARTS = 5, MOST = 2 * N * N };
  static float x[N * N], alone[PARTS][MOST];
  for (int i = 0; i < N * N; i++) x[i] = (float)(i * 37 % 101) / 50 - 1;
  sn_tensor *a = sn_from_data(f.ctx, SN_F32, DIMS(N, N), x), *line[PARTS], *joint;
  for (int run = 0; run < 2; run++) {
    sn_tensor *parts[PARTS] = {sn_sum(a, 2, false), sn_tanh(a), sn_softmax(a, -1), sn_matmul(a, a),
                               sn_gelu(sn_matmul(a, sn_transpose(a, NULL)))};
    for (int k = 0; k < PARTS; k++) {
      line[k] = sn_reshape(parts[k], DIMS(sn_size(parts[k])));
      if (!run) assert_int_equal(sn_read(line[k], alone[k], sizeof alone[k]), SN_OK);
    }
  }
  joint = sn_concat(line, PARTS, 0);
  const float *got = sn_data(joint);
  assert_non_null(got);
  for (int k = 0; k < PARTS; got += sn_size(line[k++]))
    assert_memory_equal(got, alone[k], sn_size_bytes(line[k]));
}

static void products(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(2), 1), *y = ramp(f.ctx, DIMS(3, 2, 2), 1);
  EXPECT(sn_tril(ramp(f.ctx, DIMS(2, 3), 1), 0), 1, 0, 0, 4, 5, 0);
  EXPECT(sn_triu(ramp(f.ctx, DIMS(2, 3), 1), 1), 0, 2, 3, 0, 0, 6);
  REFUSED(sn_tril(x, 0), SN_ERR_SHAPE, "tril: needs two axes: a (2,)");
  EXPECT(sn_outer(x, ramp(f.ctx, DIMS(3), 1)), 1, 2, 3, 2, 4, 6);
  EXPECT(sn_dot(x, x), 5);
  EXPECT(sn_dot(x, y), 7, 10, 19, 22, 31, 34);
  expect_shape(sn_dot(ramp(f.ctx, DIMS(4, 2), 1), y), DIMS(4, 3, 2));
  EXPECT(sn_dot(sn_scalar(f.ctx, 2), x), 2, 4);
}

static void numbers(void **state) {
  (void)state;
  EXPECT(sn_arange(f.ctx, SN_F32, 1, 10, 3), 1, 4, 7);
  expect_shape(sn_arange(f.ctx, SN_I32, 3, 0, 1), DIMS(0));
  EXPECT(sn_linspace(f.ctx, SN_F32, 0, 1, 5), 0, 0.25f, 0.5f, 0.75f, 1);
  EXPECT(sn_eye(f.ctx, SN_F32, 2), 1, 0, 0, 1);
  EXPECT(sn_ones(f.ctx, SN_F32, DIMS(2)), 1, 1);
  EXPECT(sn_zeros_like(ramp(f.ctx, DIMS(2), 1)), 0, 0);
  REFUSED(sn_arange(f.ctx, SN_F32, 0, 1, 0), SN_ERR_ARGUMENT,
          "arange: from 0 to 1 in steps of 0 never ends");
  REFUSED(sn_linspace(f.ctx, SN_F32, 0, 1, -1), SN_ERR_SHAPE,
          "linspace: -1 elements, expected 0 to 2147483647");
  REFUSED(sn_eye(f.ctx, SN_F32, -1), SN_ERR_SHAPE, "eye: negative size in shape (-1, -1)");
  REFUSED(sn_ones(f.ctx, SN_F32, 9, (int64_t[9]){0}), SN_ERR_SHAPE, "ones: rank 9 is not in 0..8");
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(axes), TEST(joined), TEST(parts_of_all_kinds), TEST(products),
                                     TEST(numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
