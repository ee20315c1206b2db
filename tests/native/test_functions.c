/* test_functions.c - public functions that are compositions of several others, through the public
 * API: values worked out by hand, several results, errors and their texts. The tests of JavaScript
 * show that it gets the same from them. */
#include <math.h>
#include <string.h>

#include "api_support.h"

#define NUMBERS(type, dtype, ...)                                                          \
  sn_from_data(f.ctx, dtype, 1, (int64_t[]){sizeof((type[]){__VA_ARGS__}) / sizeof(type)}, \
               (type[]){__VA_ARGS__})
#define FLOATS(...) NUMBERS(float, SN_F32, __VA_ARGS__)
#define INTS(...) NUMBERS(int32_t, SN_I32, __VA_ARGS__)
#define EXPECT_TYPED(t, dtype, ...)                 \
  do {                                              \
    sn_tensor *typed_ = (t);                        \
    assert_non_null(typed_);                        \
    assert_int_equal(sn_dtype_of(typed_), (dtype)); \
    EXPECT(sn_astype(typed_, SN_F32), __VA_ARGS__); \
  } while (0)

static void integers(void **state) {
  (void)state;
  sn_tensor *x = INTS(2, -3, 7), *one = sn_scalar(f.ctx, 1), *two = sn_scalar(f.ctx, 2);
  EXPECT_TYPED(sn_pow(x, two), SN_I32, 4, 9, 49);
  EXPECT_TYPED(sn_pow(x, sn_scalar(f.ctx, 0)), SN_I32, 1, 1, 1);
  EXPECT_TYPED(sn_pow(x, INTS(3, 3, 0)), SN_I32, 8, -27, 1);
  EXPECT_TYPED(sn_pow(INTS(1, -1, 5), sn_scalar(f.ctx, -1)), SN_F32, 1, -1, 0.2f);
  EXPECT_TYPED(sn_pow(INTS(1, -1, 5), INTS(-1, -1, -1)), SN_I32, 1, -1, 0);
  EXPECT_TYPED(sn_pow(two, INTS(3, 10, 31)), SN_I32, 8, 1024, -2147483648.f);
  EXPECT_TYPED(sn_pow(sn_less(x, one), two), SN_I32, 0, 1, 0);
  EXPECT_TYPED(sn_pow(FLOATS(3, -2), two), SN_F32, 9, 4);
  EXPECT_TYPED(sn_floor_divide(x, two), SN_I32, 1, -2, 3);
  EXPECT_TYPED(sn_floor_divide(INTS(INT32_MIN, 5, -7), INTS(-1, 0, -2)), SN_I32, -2147483648.f, 0,
               3);
  EXPECT_TYPED(sn_floor_divide(FLOATS(7, -7, 1), FLOATS(2, 2, INFINITY)), SN_F32, 3, -4, 0);
  REFUSED(sn_floor_divide(x, FLOATS(1, 2)), SN_ERR_SHAPE,
          "floorDivide: shapes do not broadcast: a (3,), b (2,)");
}

static void padding(void **state) {
  (void)state;
  const int64_t one[] = {1}, four[] = {4}, none[] = {0}, minus[] = {-1};
  sn_tensor *x = FLOATS(1, 2, 3);
  EXPECT(sn_pad(x, one, four, SN_PAD_CONSTANT, 9), 9, 1, 2, 3, 9, 9, 9, 9);
  EXPECT(sn_pad(x, one, four, SN_PAD_EDGE, 9), 1, 1, 2, 3, 3, 3, 3, 3);
  EXPECT(sn_pad(x, one, four, SN_PAD_REFLECT, 9), 2, 1, 2, 3, 2, 1, 2, 3);
  EXPECT(sn_pad(x, one, four, SN_PAD_SYMMETRIC, 9), 1, 1, 2, 3, 3, 2, 1, 1);
  EXPECT(sn_pad(FLOATS(5), one, four, SN_PAD_REFLECT, 0), 5, 5, 5, 5, 5, 5);
  sn_tensor *empty = sn_zeros(f.ctx, SN_F32, DIMS(0));
  REFUSED(sn_pad(empty, one, none, SN_PAD_EDGE, 0), SN_ERR_SHAPE,
          "pad: nothing to repeat along axis 0: a (0,)");
  REFUSED(sn_pad(x, none, minus, SN_PAD_EDGE, 0), SN_ERR_ARGUMENT,
          "pad: negative amount on axis 0");
  REFUSED(sn_pad(x, one, one, (sn_pad_mode)4, 0), SN_ERR_ARGUMENT, "pad: no mode 4");
  REFUSED(sn_scatter(x, x, x, 0, (sn_scatter_mode)99), SN_ERR_ARGUMENT, "scatter: no mode 99");
  assert_null(sn_scatter(NULL, x, x, 0, (sn_scatter_mode)99));
}

static void resizing(void **state) {
  (void)state;
  sn_tensor *x = FLOATS(0, 2, 6), *y = sn_reshape(x, 2, (int64_t[]){1, 3});
  EXPECT(sn_resize(x, DIMS(6), SN_RESIZE_NEAREST, false, 0), 0, 0, 2, 2, 6, 6);
  EXPECT(sn_resize(x, DIMS(6), SN_RESIZE_LINEAR, false, 0), 0, 0.5f, 1.5f, 3, 5, 6);
  EXPECT(sn_resize(x, DIMS(5), SN_RESIZE_LINEAR, true, 0), 0, 1, 2, 4, 6);
  EXPECT(sn_resize(x, DIMS(5), SN_RESIZE_CUBIC, true, -0.5), 0, 0.75f, 2, 4.125f, 6);
  EXPECT(sn_resize(y, DIMS(2, 3), SN_RESIZE_LINEAR, false, 0), 0, 2, 6, 0, 2, 6);
  EXPECT_TYPED(sn_resize(INTS(1, 3), DIMS(3), SN_RESIZE_NEAREST, true, 0), SN_I32, 1, 3, 3);
  EXPECT_TYPED(sn_resize(INTS(1, 3), DIMS(3), SN_RESIZE_LINEAR, true, 0), SN_F32, 1, 2, 3);
  REFUSED(sn_resize(x, DIMS(3, 1), SN_RESIZE_LINEAR, false, 0), SN_ERR_SHAPE,
          "resize: cannot become (3, 1): a (3,)");
  REFUSED(sn_resize(x, DIMS(-1), SN_RESIZE_LINEAR, false, 0), SN_ERR_SHAPE,
          "resize: negative size in shape (-1,)");
}

static void several_axes(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(2, 3), 1), *at = sn_reshape(INTS(0, 2, -1, -3), DIMS(2, 2));
  const int axes[] = {0, -1};
  EXPECT(sn_gather_nd(x, at), 3, 4);
  EXPECT(sn_gather_nd(x, sn_reshape(INTS(1, 9), DIMS(2, 1))), 4, 5, 6, 4, 5, 6);
  EXPECT(sn_scatter_nd(x, at, sn_scalar(f.ctx, 9), SN_SCATTER_SET), 1, 2, 9, 9, 5, 6);
  EXPECT(sn_scatter_nd(x, at, FLOATS(1, 2), SN_SCATTER_ADD), 1, 2, 4, 6, 5, 6);
  EXPECT(sn_roll(x, (int64_t[]){1, -1}, axes, 2), 5, 6, 4, 2, 3, 1);
  REFUSED(sn_gather_nd(x, INTS(0, 0, 0)), SN_ERR_SHAPE,
          "gatherNd: indices need (..., axes), at most 2 of them: a (2, 3), indices (3,)");
  REFUSED(sn_gather_nd(x, FLOATS(0, 0)), SN_ERR_DTYPE,
          "gatherNd: indices must be int32, not float32");
  REFUSED(sn_scatter_nd(x, at, FLOATS(1, 2, 3), SN_SCATTER_SET), SN_ERR_SHAPE,
          "scatterNd: updates do not broadcast to what is indexed: a (2,), updates (3,)");
  REFUSED(sn_roll(x, (int64_t[]){1}, (int[]){2}, 1), SN_ERR_SHAPE,
          "roll: axis 2 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
}

static void several_results(void **state) {
  (void)state;
  sn_tensor *x = sn_reshape(FLOATS(1, 7, 3, 9, 2, 9), DIMS(2, 3)), *values, *indices, *parts[3];
  assert_int_equal(sn_topk(x, 2, -1, &values, &indices), SN_OK);
  EXPECT(values, 7, 3, 9, 9);
  EXPECT_TYPED(indices, SN_I32, 1, 2, 0, 2);
  assert_int_equal(sn_topk(x, 4, 1, &values, &indices), SN_ERR_SHAPE);
  assert_null(values);
  expect_error(f.ctx, SN_ERR_SHAPE, "topk: no 4 elements along axis 1: a (2, 3)");
  assert_int_equal(sn_split(x, NULL, 3, 1, parts), SN_OK);
  EXPECT(parts[2], 3, 9);
  assert_int_equal(sn_split(x, (int64_t[]){0, 2, 1}, 3, 1, parts), SN_OK);
  EXPECT(parts[1], 1, 7, 9, 2);
  assert_int_equal(sn_size(parts[0]), 0);
  assert_int_equal(sn_split(x, NULL, 2, 1, parts), SN_ERR_SHAPE);
  expect_error(f.ctx, SN_ERR_SHAPE, "split: axis 1 does not divide into 2 equal parts: a (2, 3)");
  assert_int_equal(sn_split(x, (int64_t[]){1, 1}, 2, 1, parts), SN_ERR_SHAPE);
  expect_error(f.ctx, SN_ERR_SHAPE,
               "split: axis 1 does not divide into 2 parts of the given sizes: a (2, 3)");
}

static void norms(void **state) {
  (void)state;
  sn_tensor *x = sn_reshape(FLOATS(1, 3, 5, 9), DIMS(1, 4)), *w = FLOATS(1, 2, 1, 2);
  sn_tensor *y = sn_reshape(FLOATS(-1, -1, 1, 1), DIMS(2, 2));
  EXPECT(sn_layer_norm(y, SN_ALL_AXES, NULL, NULL, 0), -1, -1, 1, 1);
  EXPECT(sn_layer_norm(y, 1, FLOATS(2, 3), FLOATS(0, 1), 0), -2, -2, 4, 4);
  EXPECT(sn_group_norm(x, 2, -1, NULL, NULL, 0), -1, 1, -1, 1);
  EXPECT(sn_group_norm(x, 2, 1, w, FLOATS(1, 0, 0, 0), 0), 0, 2, -1, 2);
  EXPECT(sn_instance_norm(sn_reshape(x, DIMS(1, 2, 2)), 1, FLOATS(1, 2), NULL, 0), -1, 1, -2, 2);
  REFUSED(sn_group_norm(x, 3, 1, NULL, NULL, 0), SN_ERR_SHAPE,
          "groupNorm: 3 groups do not divide the channels: a (1, 4)");
  REFUSED(sn_group_norm(x, 0, 1, NULL, NULL, 0), SN_ERR_ARGUMENT,
          "groupNorm: groups is 0, expected a whole number from 1 on");
  REFUSED(sn_instance_norm(x, 0, NULL, NULL, 0), SN_ERR_SHAPE,
          "instanceNorm: channels cannot be the first axis, that of the batch: a (1, 4)");
  sn_tensor *loss = sn_softmax_cross_entropy(sn_zeros(f.ctx, SN_F32, DIMS(2, 1)), INTS(0, 7), 7);
  EXPECT(loss, 0, 0);
  REFUSED(sn_softmax_cross_entropy(y, y, 1), SN_ERR_DTYPE,
          "softmaxCrossEntropy: ignoreIndex needs classes as int32, labels are float32");
}

static void positions(void **state) {
  (void)state;
  sn_tensor *q = sn_ones(f.ctx, SN_F32, DIMS(2, 2)), *k = sn_ones(f.ctx, SN_F32, DIMS(4, 2)),
            *v = sn_reshape(FLOATS(2, 4, 6, 8), DIMS(4, 1)), *two = sn_scalar(f.ctx, 2);
  sn_tensor *odd =
      sn_reshape(sn_not_equal(INTS(0, 1, 0, 1), sn_zeros(f.ctx, SN_I32, 0, NULL)), DIMS(1, 4));
  EXPECT(sn_attention(q, k, v, true, NULL, NULL, NAN), 2, 3);
  EXPECT(sn_attention(q, k, v, true, two, NULL, NAN), 4, 5);
  EXPECT(sn_attention(q, k, v, true, two, odd, NAN), 4, 6);
  REFUSED(sn_attention(q, k, v, false, two, NULL, NAN), SN_ERR_ARGUMENT,
          "attention: past counts for causal attention only, and causal is false");

  sn_tensor *x = sn_reshape(FLOATS(1, 2, 3, 4, 1, 2, 3, 4), DIMS(2, 4));
  sn_tensor *zero = sn_zeros(f.ctx, SN_F32, DIMS(2, 2)), *ones = sn_ones_like(zero);
  EXPECT(sn_rope(x, NAN, NULL, zero, ones, false), -3, -4, 1, 2, -3, -4, 1, 2);
  EXPECT(sn_rope(x, NAN, NULL, zero, ones, true), -2, 1, -4, 3, -2, 1, -4, 3);
  EXPECT(sn_slice(sn_rope(x, NAN, NULL, NULL, NULL, false), (int64_t[]){0, 0}, (int64_t[]){1, 4},
                  NULL),
         1, 2, 3, 4);
  EXPECT(
      sn_sub(sn_rope(x, 100, two, NULL, NULL, false), sn_rope(x, 100, INTS(2), NULL, NULL, false)),
      0, 0, 0, 0, 0, 0, 0, 0);
  REFUSED(sn_rope(v, NAN, NULL, NULL, NULL, false), SN_ERR_SHAPE,
          "rope: needs (..., tokens, size) with an even size: a (4, 1)");
  REFUSED(sn_rope(x, NAN, NULL, zero, NULL, false), SN_ERR_ARGUMENT,
          "rope: cos and sin are needed together");
  REFUSED(sn_rope(x, 10, NULL, zero, ones, false), SN_ERR_ARGUMENT,
          "rope: base and offset do not count beside cos and sin");
}

static void quantized(void **state) {
  (void)state;
  sn_tensor *x = FLOATS(127, -2, 0, 0), *values, *scales;
  assert_int_equal(sn_quantize(x, -1, SN_DEFAULT, 8, &values, &scales), SN_OK);
  EXPECT_TYPED(values, SN_I8, 127, -2, 0, 0);
  EXPECT(scales, 1);
  assert_int_equal(sn_quantize(FLOATS(7, -2, 0, 0), 0, 2, 4, &values, &scales), SN_OK);
  EXPECT_TYPED(values, SN_U8, 0xe7, 0);
  EXPECT(scales, 1, 0);
  EXPECT(sn_dequantize(values, scales, 0, 4), 7, -2, 0, 0);
  EXPECT_TYPED(sn_unpack_int4(sn_pack_int4(INTS(-8, 7, 1, -1), 0), -1), SN_I8, -8, 7, 1, -1);
  assert_int_equal(sn_quantize(x, 0, 3, 8, &values, &scales), SN_ERR_SHAPE);
  assert_null(values);
  expect_error(f.ctx, SN_ERR_SHAPE, "quantize: blocks of 3 do not divide axis 0: a (4,)");
  assert_int_equal(sn_quantize(x, 0, 2, 5, &values, &scales), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "quantize: no 5 bits, expected 8 or 4");
  REFUSED(sn_dequantize(x, FLOATS(1, 2, 3), 0, 8), SN_ERR_SHAPE,
          "dequantize: not a scale for each block: values (4,), scales (3,)");
  REFUSED(sn_pack_int4(x, 0), SN_ERR_DTYPE, "packInt4: needs integers, not float32");
  REFUSED(sn_pack_int4(INTS(1), 0), SN_ERR_SHAPE,
          "packInt4: blocks of 2 do not divide axis 0: a (1,)");
  REFUSED(sn_unpack_int4(x, 0), SN_ERR_DTYPE, "unpackInt4: needs uint8, not float32");
}

/* A composition's steps go with it: in an open scope nothing but results is left. */
static void nothing_is_left(void **state) {
  (void)state;
  sn_tensor *x = sn_variable(FLOATS(1, 2, 3)), *y;
  sn_memory_info before, after;
  assert_non_null(sn_resize(x, DIMS(6), SN_RESIZE_CUBIC, false, -0.5)); /* room for notes */
  sn_memory(f.ctx, &before);
  assert_null(sn_pad(x, (int64_t[]){1}, (int64_t[]){INT64_MAX}, SN_PAD_EDGE, 0));
  sn_error_clear(f.ctx);
  assert_int_equal(sn_split(x, NULL, 2, 0, &y), SN_ERR_SHAPE);
  sn_error_clear(f.ctx);
  assert_null(sn_rope(sn_reshape(x, DIMS(3, 1)), NAN, NULL, NULL, NULL, false));
  sn_error_clear(f.ctx);
  sn_memory(f.ctx, &after);
  assert_int_equal(after.tensors, before.tensors + 1); /* the argument of rope */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(integers),     TEST(padding),         TEST(resizing),
      TEST(several_axes), TEST(several_results), TEST(norms),
      TEST(positions),    TEST(quantized),       TEST(nothing_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
