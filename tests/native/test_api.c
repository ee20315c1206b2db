/* test_api.c - the public API held wrong: every misuse is a typed error that names the op and the shapes, and what
 * existed before goes on working. Then values, scopes, donation, lifetimes as the header promises them. */
#include "support.h"

#include <math.h>

static fixture f;

static int open_fixture(void **state) {
  (void)state;
  fixture_open(&f, (sn_options){.threads = 2});
  return 0;
}

static int close_fixture(void **state) {
  (void)state;
  if (!f.ctx) return 0;
  assert_int_equal(sn_error_status(f.ctx), SN_OK);
  fixture_close(&f);
  return 0;
}

/* expr is refused with this status and text. */
#define REFUSED(expr, status, message)     \
  do {                                     \
    assert_null(expr);                     \
    expect_error(f.ctx, status, message);  \
  } while (0)

static void expect_values(sn_tensor *t, const float *expected, size_t n) {
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

/* ---- shapes, dtypes, axes -------------------------------------------------------------------- */

static void elementwise_errors(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1), *b = ramp(f.ctx, DIMS(4, 3), 1);
  sn_tensor *i = sn_iota(f.ctx, SN_I32, DIMS(3), 0);
  REFUSED(sn_add(a, b), SN_ERR_SHAPE, "add: shapes do not broadcast: a (2, 3), b (4, 3)");
  REFUSED(sn_where(sn_less(a, a), a, b), SN_ERR_SHAPE,
          "where: shapes do not broadcast: a (2, 3), b (4, 3)");
  REFUSED(sn_bitwise_and(a, i), SN_ERR_DTYPE, "bitwise_and: not defined for float32");
  REFUSED(sn_astype(a, (sn_dtype)7), SN_ERR_DTYPE, "astype: unknown dtype 7");
  REFUSED(sn_bitcast(a, (sn_dtype)-1), SN_ERR_DTYPE, "bitcast: unknown dtype -1");
  REFUSED(sn_bitcast(a, SN_F64), SN_ERR_DTYPE,
          "bitcast: only float32 <-> int32, not float32 -> float64");
  EXPECT(a, 1, 2, 3, 4, 5, 6);
  release_all((sn_tensor *[]){a, b, i}, 3);
}

static void the_condition_is_not_lost(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2), 1);
  sn_tensor *c = sn_less(a, a);
  sn_tensor *w = sn_where(c, a, sn_scalar(f.ctx, 9));
  EXPECT(w, 9, 9);
  sn_memory_info memory;
  sn_memory(f.ctx, &memory);
  sn_release(c);
  sn_release(a);
  sn_release(w);
  sn_memory(f.ctx, &memory);
  assert_int_equal(memory.tensors, 1); /* the scalar, given back by nobody */
  sn_context_destroy(f.ctx);           /* a context with a tensor left: only its bytes are lost */
  f.ctx = NULL;
}

static void reduction_errors(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1), *e = sn_full(f.ctx, SN_F32, DIMS(2, 0), 0);
  sn_tensor *s = sn_full(f.ctx, SN_F32, 0, NULL, 4);
  REFUSED(sn_sum(a, 4, false), SN_ERR_SHAPE, "sum: axis out of range for rank 2");
  REFUSED(sn_mean(a, 8, false), SN_ERR_SHAPE, "sum: axis out of range for rank 2");
  REFUSED(sn_max(e, 2, false), SN_ERR_SHAPE, "max: no elements along axis 1 of (2, 0)");
  REFUSED(sn_min(e, SN_ALL_AXES, true), SN_ERR_SHAPE, "min: no elements along axis 1 of (2, 0)");
  REFUSED(sn_argmax(e, 1, false), SN_ERR_SHAPE, "max: no elements along axis 1 of (2, 0)");
  REFUSED(sn_argmax(a, 2, false), SN_ERR_SHAPE, "argmax: axis 2 out of range for rank 2");
  REFUSED(sn_argmin(a, -3, false), SN_ERR_SHAPE, "argmin: axis -3 out of range for rank 2");
  REFUSED(sn_argmin(s, 0, false), SN_ERR_SHAPE, "argmin: axis 0 out of range for rank 0");
  sn_tensor *sum = sn_sum(e, 2, false), *all = sn_sum(s, SN_ALL_AXES, true);
  EXPECT(sum, 0, 0);
  EXPECT(all, 4);
  release_all((sn_tensor *[]){a, e, s, sum, all}, 5);
}

static void product_errors(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1), *b = ramp(f.ctx, DIMS(4, 5), 1), *s = sn_scalar(f.ctx, 1);
  sn_tensor *x = ramp(f.ctx, DIMS(2, 2, 3), 1), *y = ramp(f.ctx, DIMS(3, 3, 2), 1);
  sn_tensor *v = ramp(f.ctx, DIMS(3), 1);
  REFUSED(sn_matmul(a, b), SN_ERR_SHAPE, "matmul: inner dimensions differ: a (2, 3), b (4, 5)");
  REFUSED(sn_matmul(v, a), SN_ERR_SHAPE, "matmul: inner dimensions differ: a (3,), b (2, 3)");
  REFUSED(sn_matmul(a, s), SN_ERR_SHAPE, "matmul: needs at least one dimension: a (2, 3), b ()");
  REFUSED(sn_matmul(x, y), SN_ERR_SHAPE, "matmul: shapes do not broadcast: a (2,), b (3,)");
  sn_tensor *dot = sn_matmul(v, v);
  EXPECT(dot, 14);
  release_all((sn_tensor *[]){a, b, s, x, y, v, dot}, 7);
}

static void shape_errors(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1), *lazy = sn_neg(a), *b = ramp(f.ctx, DIMS(3, 3), 1);
  const int64_t zero[] = {0, 0}, two[] = {2, 2}, four[] = {2, 4}, back[] = {1, -1}, none[] = {1, 0},
                minus[] = {0, -1};
  for (int i = 0; i < 2; i++) { /* a value takes another way than a lazy tensor */
    sn_tensor *x = i ? lazy : a;
    REFUSED(sn_reshape(x, DIMS(4, 2)), SN_ERR_SHAPE,
            "reshape: number of elements differs: a (2, 3), b (4, 2)");
    REFUSED(sn_reshape(x, DIMS(-1, 4)), SN_ERR_SHAPE, "reshape: cannot infer -1: a (2, 3), b (-1, 4)");
    REFUSED(sn_reshape(x, DIMS(-1, -1)), SN_ERR_SHAPE, "reshape: more than one -1 in (-1, -1)");
    REFUSED(sn_reshape(x, DIMS(-2, -3)), SN_ERR_SHAPE, "reshape: negative size in shape (-2, -3)");
    REFUSED(sn_reshape(x, DIMS(0, -1)), SN_ERR_SHAPE, "reshape: cannot infer -1: a (2, 3), b (0, -1)");
    REFUSED(sn_reshape(x, 9, (int64_t[9]){0}), SN_ERR_SHAPE, "reshape: rank 9 is not in 0..8");
    REFUSED(sn_transpose(x, (int[]){0, 0}), SN_ERR_SHAPE, "transpose: not a permutation of 2 axes");
    REFUSED(sn_transpose(x, (int[]){0, 2}), SN_ERR_SHAPE, "transpose: not a permutation of 2 axes");
    REFUSED(sn_transpose(x, (int[]){0, -3}), SN_ERR_SHAPE, "transpose: not a permutation of 2 axes");
    REFUSED(sn_broadcast_to(x, DIMS(2, 4)), SN_ERR_SHAPE,
            "broadcast: shape does not broadcast: a (2, 3), b (2, 4)");
    REFUSED(sn_broadcast_to(x, DIMS(3)), SN_ERR_SHAPE,
            "broadcast: shape does not broadcast: a (2, 3), b (3,)");
    REFUSED(sn_slice(x, zero, four, NULL), SN_ERR_SHAPE,
            "slice: axis 1: 4 elements from 0 in steps of 1 leave shape (2, 3)");
    REFUSED(sn_slice(x, zero, two, back), SN_ERR_SHAPE,
            "slice: axis 1: 2 elements from 0 in steps of -1 leave shape (2, 3)");
    REFUSED(sn_slice(x, zero, two, none), SN_ERR_ARGUMENT, "slice: stride 0 on axis 1");
    REFUSED(sn_slice(x, zero, minus, NULL), SN_ERR_SHAPE, "slice: negative size in shape (0, -1)");
    REFUSED(sn_pad(x, minus, zero, 0), SN_ERR_ARGUMENT, "pad: negative amount on axis 1");
    REFUSED(sn_concat((sn_tensor *[]){x, b}, 2, 1), SN_ERR_SHAPE,
            "concat: inputs differ outside the axis: a (2, 3), b (3, 3)");
    REFUSED(sn_concat((sn_tensor *[]){x, b}, 2, 2), SN_ERR_SHAPE,
            "concat: axis 2 out of range for rank 2");
    assert_null(sn_concat((sn_tensor *[]){x, NULL, b}, 3, 0));
    assert_int_equal(sn_error_status(f.ctx), SN_OK);
  }
  sn_tensor *c = sn_concat((sn_tensor *[]){a, b}, 2, -2), *t = sn_transpose(a, (int[]){-1, 0});
  assert_int_equal(sn_dims(c)[0], 5);
  EXPECT(t, 1, 4, 2, 5, 3, 6);
  release_all((sn_tensor *[]){a, lazy, b, c, t}, 5);
}

static void slices_of_one_element_take_any_stride(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1), *v = sn_variable(a), *g;
  const int64_t begin[] = {1, 2}, one[] = {1, 1}, huge[] = {INT64_MIN, INT64_MAX};
  sn_tensor *x = sn_slice(v, begin, one, huge), *y = sn_sum(x, SN_ALL_AXES, false);
  EXPECT(x, 6);
  assert_int_equal(sn_gradients(y, &v, 1, &g), SN_OK);
  EXPECT(g, 0, 0, 0, 0, 0, 1);
  const int64_t far[] = {INT64_MAX, INT64_MIN}, none[] = {0, 0};
  sn_tensor *e = sn_slice(a, far, none, huge), *n = sn_neg(e);
  assert_int_equal(sn_eval(&n, 1), SN_OK);
  release_all((sn_tensor *[]){a, v, x, y, g, e, n}, 7);
}

static void creation_errors(void **state) {
  (void)state;
  void *data = &f;
  const int64_t big = (int64_t)1 << 31;
  const size_t calls = f.ledger.calls;
  REFUSED(sn_from_data(f.ctx, SN_F32, DIMS(2, -1), &f), SN_ERR_SHAPE,
          "tensor: negative size in shape (2, -1)");
  REFUSED(sn_empty(f.ctx, SN_F32, 9, (int64_t[9]){0}, &data), SN_ERR_SHAPE,
          "tensor: rank 9 is not in 0..8");
  REFUSED(sn_empty(f.ctx, SN_F32, -1, NULL, &data), SN_ERR_SHAPE, "tensor: rank -1 is not in 0..8");
  REFUSED(sn_empty(f.ctx, (sn_dtype)4, 0, NULL, &data), SN_ERR_DTYPE, "tensor: unknown dtype 4");
  REFUSED(sn_empty(f.ctx, SN_F64, DIMS(big, big), &data), SN_ERR_MEMORY,
          "tensor: shape (2147483648, 2147483648) is too large");
  REFUSED(sn_full(f.ctx, SN_F64, DIMS(big, big), 1), SN_ERR_MEMORY,
          "full: shape (2147483648, 2147483648) is too large");
  REFUSED(sn_iota(f.ctx, SN_I32, DIMS(3), 1), SN_ERR_SHAPE, "iota: axis 1 out of range for rank 1");
  REFUSED(sn_iota(f.ctx, SN_BOOL, DIMS(3), 0), SN_ERR_DTYPE, "iota: not defined for bool");
  REFUSED(sn_placeholder(f.ctx, SN_F32, DIMS(-3)), SN_ERR_SHAPE,
          "placeholder: negative size in shape (-3,)");
  assert_ptr_equal(data, &f);
  assert_int_equal(f.ledger.calls, calls); /* nothing was allocated */
  /* representable, but not to be had */
  REFUSED(sn_empty(f.ctx, SN_F32, DIMS((int64_t)1 << 50), &data), SN_ERR_MEMORY,
          "out of memory: 4503599627370496 bytes more, 0 in use" + 0 * (data != NULL));
}

/* The number of bytes in use stands in the text: only its begin is fixed. */
static void too_much_memory(void **state) {
  (void)state;
  void *data;
  assert_null(sn_empty(f.ctx, SN_F32, DIMS((int64_t)1 << 50), &data));
  assert_int_equal(sn_error_status(f.ctx), SN_ERR_MEMORY);
  const char begin[] = "out of memory: 4503599627370496 bytes more, ";
  assert_memory_equal(sn_error_message(f.ctx), begin, sizeof begin - 1);
  sn_error_clear(f.ctx);
  sn_tensor *lazy = sn_full(f.ctx, SN_F32, DIMS((int64_t)1 << 50), 1), *sum = sn_neg(lazy);
  assert_int_equal(sn_eval(&sum, 1), SN_ERR_MEMORY);
  sn_error_clear(f.ctx);
  const int64_t first[] = {7}, two[] = {2};
  sn_tensor *part = sn_slice(sum, first, two, NULL); /* of it, some can be computed */
  EXPECT(part, -1, -1);
  release_all((sn_tensor *[]){lazy, sum, part}, 3);
}

static void loss_errors(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(2, 3), 1), *v = ramp(f.ctx, DIMS(2), 1), *s = sn_scalar(f.ctx, 1),
            *w = ramp(f.ctx, DIMS(3), 1), *i = sn_iota(f.ctx, SN_I32, DIMS(2, 3), 0),
            *e = sn_full(f.ctx, SN_F32, DIMS(2, 0), 0);
  REFUSED(sn_softmax_cross_entropy(x, w), SN_ERR_SHAPE,
          "softmaxCrossEntropy: labels fit neither as classes nor as a distribution: "
          "logits (2, 3), labels (3,)");
  REFUSED(sn_softmax_cross_entropy(x, v), SN_ERR_DTYPE,
          "softmaxCrossEntropy: classes must be int32, not float32");
  REFUSED(sn_softmax_cross_entropy(x, i), SN_ERR_DTYPE,
          "softmaxCrossEntropy: a distribution must be float, not int32");
  REFUSED(sn_softmax_cross_entropy(s, s), SN_ERR_SHAPE,
          "softmaxCrossEntropy: logits need classes, not shape ()");
  REFUSED(sn_softmax_cross_entropy(e, v), SN_ERR_SHAPE,
          "softmaxCrossEntropy: logits need classes, not shape (2, 0)");
  release_all((sn_tensor *[]){x, v, s, w, i, e}, 6);
}

static void gradient_errors(void **state) {
  (void)state;
  sn_tensor *x = sn_variable(ramp(f.ctx, DIMS(2), 1)), *i = sn_iota(f.ctx, SN_I32, DIMS(2), 0);
  sn_tensor *y = sn_sum(x, SN_ALL_AXES, false), *k = sn_sum(i, SN_ALL_AXES, false), *g = x;
  assert_int_equal(sn_gradients(x, &x, 1, &g), SN_ERR_SHAPE);
  expect_error(f.ctx, SN_ERR_SHAPE, "grad: needs a scalar, not shape (2,)");
  assert_int_equal(sn_gradients(k, &i, 1, &g), SN_ERR_DTYPE);
  expect_error(f.ctx, SN_ERR_DTYPE, "grad: needs a float, not int32");
  assert_int_equal(sn_gradients(y, (sn_tensor *[]){x, i}, 2, &g), SN_ERR_DTYPE);
  expect_error(f.ctx, SN_ERR_DTYPE, "grad: argument 1 is int32; only floats have gradients");
  assert_int_equal(sn_gradients(y, (sn_tensor *[]){x, x}, 2, &g), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "the same tensor is given twice as an argument");
  assert_int_equal(sn_gradients(NULL, &x, 1, &g), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "a tensor is NULL");
  assert_int_equal(sn_gradients(y, (sn_tensor *[]){x, NULL}, 2, &g), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "a tensor is NULL");
  assert_ptr_equal(g, x);
  assert_int_equal(sn_gradients(y, &x, 1, &g), SN_OK);
  EXPECT(g, 1, 1);
  release_all((sn_tensor *[]){i, y, k, g}, 4);
  sn_tensor *inner = x; /* the variable holds the only other reference to its value */
  sn_release(inner);
}

int main(void);
