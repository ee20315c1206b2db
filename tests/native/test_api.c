/* test_api.c - misuse of the public API: each case is a typed error that names the op and the shapes,
 * and existing tensors keep working. Then values and scopes, as the header promises them. */
#include "api_support.h"

#include <limits.h>
#include <math.h>

#include "tensor/tensor.h"

/* ---- shapes, dtypes, axes -------------------------------------------------------------------- */

static void elementwise_errors(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1), *b = ramp(f.ctx, DIMS(4, 3), 1);
  sn_tensor *i = sn_iota(f.ctx, SN_I32, DIMS(3), 0);
  REFUSED(sn_add(a, b), SN_ERR_SHAPE, "add: shapes do not broadcast: a (2, 3), b (4, 3)");
  REFUSED(sn_where(sn_less(a, a), a, b), SN_ERR_SHAPE,
          "where: shapes do not broadcast: a (2, 3), b (4, 3)");
  REFUSED(sn_bitwise_and(a, i), SN_ERR_DTYPE, "bitwiseAnd: not defined for float32");
  REFUSED(sn_astype(a, (sn_dtype)8), SN_ERR_DTYPE, "astype: unknown dtype 8");
  REFUSED(sn_bitcast(a, (sn_dtype)-1), SN_ERR_DTYPE, "bitcast: unknown dtype -1");
  REFUSED(sn_bitcast(a, SN_F64), SN_ERR_DTYPE,
          "bitcast: only float32 <-> int32, not float32 -> float64");
  EXPECT(a, 1, 2, 3, 4, 5, 6);
}

static void reduction_errors(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1), *e = sn_full(f.ctx, SN_F32, DIMS(2, 0), 0);
  sn_tensor *s = sn_full(f.ctx, SN_F32, 0, NULL, 4);
  REFUSED(sn_sum(a, 4, false), SN_ERR_SHAPE,
          "sum: axis 2 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_mean(a, 8, false), SN_ERR_SHAPE,
          "mean: axis 3 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_std(a, 8, false, 0), SN_ERR_SHAPE,
          "std: axis 3 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_concat(&a, 1, 2), SN_ERR_SHAPE,
          "concat: axis 2 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_iota(f.ctx, SN_I32, 2, (int64_t[]){2, 3}, 2), SN_ERR_SHAPE,
          "iota: axis 2 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_max(e, 2, false), SN_ERR_SHAPE, "max: no elements along axis 1 of (2, 0)");
  REFUSED(sn_min(e, SN_ALL_AXES, true), SN_ERR_SHAPE, "min: no elements along axis 1 of (2, 0)");
  REFUSED(sn_argmax(e, 1, false), SN_ERR_SHAPE, "argmax: no elements along axis 1 of (2, 0)");
  REFUSED(sn_norm(e, 2, false, INFINITY), SN_ERR_SHAPE, "norm: no elements along axis 1 of (2, 0)");
  REFUSED(sn_clip(a, e, NULL), SN_ERR_SHAPE, "clip: shapes do not broadcast: a (2, 3), b (2, 0)");
  REFUSED(sn_argmax(a, 2, false), SN_ERR_SHAPE,
          "argmax: axis 2 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_argmin(a, -3, false), SN_ERR_SHAPE,
          "argmin: axis -3 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
  REFUSED(sn_argmin(s, 0, false), SN_ERR_SHAPE,
          "argmin: axis 0 is out of range: a () of rank 0, it has no axes");
  sn_tensor *sum = sn_sum(e, 2, false), *all = sn_sum(s, SN_ALL_AXES, true);
  EXPECT(sum, 0, 0);
  EXPECT(all, 4);
}

static void product_errors(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1), *b = ramp(f.ctx, DIMS(4, 5), 1),
            *s = sn_scalar(f.ctx, 1);
  sn_tensor *x = ramp(f.ctx, DIMS(2, 2, 3), 1), *y = ramp(f.ctx, DIMS(3, 3, 2), 1);
  sn_tensor *v = ramp(f.ctx, DIMS(3), 1);
  REFUSED(sn_matmul(a, b), SN_ERR_SHAPE, "matmul: inner dimensions differ: a (2, 3), b (4, 5)");
  REFUSED(sn_matmul(v, a), SN_ERR_SHAPE, "matmul: inner dimensions differ: a (3,), b (2, 3)");
  REFUSED(sn_matmul(a, s), SN_ERR_SHAPE, "matmul: needs at least one dimension: a (2, 3), b ()");
  REFUSED(sn_matmul(x, y), SN_ERR_SHAPE,
          "matmul: batch dimensions do not broadcast: a (2, 2, 3), b (3, 3, 2)");
  sn_tensor *dot = sn_matmul(v, v);
  EXPECT(dot, 14);
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
    REFUSED(sn_reshape(x, DIMS(-1, 4)), SN_ERR_SHAPE,
            "reshape: cannot infer -1: a (2, 3), b (-1, 4)");
    REFUSED(sn_reshape(x, DIMS(-1, -1)), SN_ERR_SHAPE, "reshape: more than one -1 in (-1, -1)");
    REFUSED(sn_reshape(x, DIMS(-2, -3)), SN_ERR_SHAPE, "reshape: negative size in shape (-2, -3)");
    REFUSED(sn_reshape(x, DIMS(0, -1)), SN_ERR_SHAPE,
            "reshape: cannot infer -1: a (2, 3), b (0, -1)");
    REFUSED(sn_reshape(x, 9, (int64_t[9]){0}), SN_ERR_SHAPE, "reshape: rank 9 is not in 0..8");
    REFUSED(sn_transpose(x, (int[]){0, 0}), SN_ERR_SHAPE, "transpose: not a permutation of 2 axes");
    REFUSED(sn_transpose(x, (int[]){0, 2}), SN_ERR_SHAPE, "transpose: not a permutation of 2 axes");
    REFUSED(sn_transpose(x, (int[]){0, -3}), SN_ERR_SHAPE,
            "transpose: not a permutation of 2 axes");
    REFUSED(sn_broadcast_to(x, DIMS(2, 4)), SN_ERR_SHAPE,
            "broadcastTo: shape does not broadcast: a (2, 3), b (2, 4)");
    REFUSED(sn_broadcast_to(x, DIMS(3)), SN_ERR_SHAPE,
            "broadcastTo: shape does not broadcast: a (2, 3), b (3,)");
    REFUSED(sn_slice(x, zero, four, NULL), SN_ERR_SHAPE,
            "slice: axis 1: 4 elements from 0 in steps of 1 leave shape (2, 3)");
    REFUSED(sn_slice(x, zero, two, back), SN_ERR_SHAPE,
            "slice: axis 1: 2 elements from 0 in steps of -1 leave shape (2, 3)");
    REFUSED(sn_slice(x, zero, two, none), SN_ERR_ARGUMENT, "slice: stride 0 on axis 1");
    REFUSED(sn_slice(x, zero, minus, NULL), SN_ERR_SHAPE, "slice: negative size in shape (0, -1)");
    REFUSED(sn_pad(x, minus, zero, SN_PAD_CONSTANT, 0), SN_ERR_ARGUMENT,
            "pad: negative amount on axis 1");
    REFUSED(sn_concat((sn_tensor *[]){x, b}, 2, 1), SN_ERR_SHAPE,
            "concat: inputs differ outside the axis: a (2, 3), b (3, 3)");
    REFUSED(sn_concat((sn_tensor *[]){x, b}, 2, 2), SN_ERR_SHAPE,
            "concat: axis 2 is out of range: a (2, 3) of rank 2, axes are -2 to 1");
    assert_null(sn_concat((sn_tensor *[]){x, NULL, b}, 3, 0));
    assert_int_equal(sn_error_status(f.ctx), SN_OK);
  }
  sn_tensor *c = sn_concat((sn_tensor *[]){a, b}, 2, -2), *t = sn_transpose(a, (int[]){-1, 0});
  assert_int_equal(sn_dims(c)[0], 5);
  EXPECT(t, 1, 4, 2, 5, 3, 6);
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
  REFUSED(sn_empty(f.ctx, (sn_dtype)8, 0, NULL, &data), SN_ERR_DTYPE, "tensor: unknown dtype 8");
  assert_int_equal(sn_dtype_bytes((sn_dtype)INT_MAX), 0);
  REFUSED(sn_empty(f.ctx, SN_F64, DIMS(big, big), &data), SN_ERR_MEMORY,
          "tensor: shape (2147483648, 2147483648) is too large");
  REFUSED(sn_full(f.ctx, SN_F64, DIMS(big, big), 1), SN_ERR_MEMORY,
          "full: shape (2147483648, 2147483648) is too large");
  REFUSED(sn_iota(f.ctx, SN_I32, DIMS(3), 1), SN_ERR_SHAPE,
          "iota: axis 1 is out of range: a (3,) of rank 1, axes are -1 to 0");
  REFUSED(sn_iota(f.ctx, SN_BOOL, DIMS(3), 0), SN_ERR_DTYPE, "iota: not defined for bool");
  REFUSED(sn_placeholder(f.ctx, SN_F32, DIMS(-3)), SN_ERR_SHAPE,
          "placeholder: negative size in shape (-3,)");
  assert_ptr_equal(data, &f);
  assert_int_equal(f.ledger.calls, calls); /* nothing was allocated */
}

/* The number of bytes in use stands in the text: only its begin is fixed. */
static void too_much_memory(void **state) {
  (void)state;
  void *data;
  assert_non_null(ramp(f.ctx, DIMS(100, 50), 1));
  assert_null(sn_empty(f.ctx, SN_F32, DIMS((int64_t)1 << 50), &data));
  assert_int_equal(sn_error_status(f.ctx), SN_ERR_MEMORY);
  const char begin[] = "out of memory: 4503599627370496 bytes more, ";
  assert_memory_equal(sn_error_message(f.ctx), begin, sizeof begin - 1);
  const sn_error *e = sn_error_info(f.ctx);
  assert_memory_equal(e->hint, "in use ", 7);
  assert_non_null(strstr(e->hint, "; most is held by 1 x float32 (100, 50) = 20.0 kB"));
  sn_error_clear(f.ctx);
  sn_tensor *lazy = sn_full(f.ctx, SN_F32, DIMS((int64_t)1 << 50), 1), *sum = sn_neg(lazy);
  assert_int_equal(sn_eval(&sum, 1), SN_ERR_MEMORY);
  sn_error_clear(f.ctx);
  const int64_t first[] = {7}, two[] = {2};
  sn_tensor *part = sn_slice(sum, first, two, NULL); /* of it, some can be computed */
  EXPECT(part, -1, -1);
}

static void loss_errors(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(2, 3), 1), *v = ramp(f.ctx, DIMS(2), 1), *s = sn_scalar(f.ctx, 1),
            *w = ramp(f.ctx, DIMS(3), 1), *i = sn_iota(f.ctx, SN_I32, DIMS(2, 3), 0),
            *e = sn_full(f.ctx, SN_F32, DIMS(2, 0), 0);
  REFUSED(sn_softmax_cross_entropy(x, w, SN_DEFAULT), SN_ERR_SHAPE,
          "softmaxCrossEntropy: labels fit neither as classes nor as a distribution: "
          "logits (2, 3), labels (3,)");
  REFUSED(sn_softmax_cross_entropy(x, v, SN_DEFAULT), SN_ERR_DTYPE,
          "softmaxCrossEntropy: classes must be int32, not float32");
  REFUSED(sn_softmax_cross_entropy(x, i, SN_DEFAULT), SN_ERR_DTYPE,
          "softmaxCrossEntropy: a distribution must be float, not int32");
  REFUSED(sn_softmax_cross_entropy(s, s, SN_DEFAULT), SN_ERR_SHAPE,
          "softmaxCrossEntropy: logits need classes, not shape ()");
  REFUSED(sn_softmax_cross_entropy(e, v, SN_DEFAULT), SN_ERR_SHAPE,
          "softmaxCrossEntropy: logits need classes, not shape (2, 0)");
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
}

static void vjp_errors(void **state) {
  (void)state;
  sn_tensor *x = sn_variable(ramp(f.ctx, DIMS(2), 1)), *i = sn_iota(f.ctx, SN_I32, DIMS(2), 0);
  sn_tensor *y[] = {sn_square(x), sn_sum(x, SN_ALL_AXES, false)}, *g = x;
  sn_tensor *row = ramp(f.ctx, DIMS(1, 2), 1), *two = sn_scalar(f.ctx, 2);
  assert_int_equal(sn_vjp(f.ctx, y, 2, (sn_tensor *[]){row, two}, &x, 1, &g), SN_ERR_SHAPE);
  expect_error(f.ctx, SN_ERR_SHAPE, "vjp: cotangent 0 has shape (1, 2), its output (2,)");
  assert_int_equal(sn_vjp(f.ctx, y, 2, (sn_tensor *[]){i, two}, &x, 1, &g), SN_ERR_DTYPE);
  expect_error(f.ctx, SN_ERR_DTYPE, "vjp: cotangent 0 is int32, its output float32");
  assert_int_equal(sn_vjp(f.ctx, &i, 1, &i, &x, 1, &g), SN_ERR_DTYPE);
  expect_error(f.ctx, SN_ERR_DTYPE, "vjp: output 0 is int32; only floats have gradients");
  assert_int_equal(sn_vjp(f.ctx, y, 1, &x, &i, 1, &g), SN_ERR_DTYPE);
  expect_error(f.ctx, SN_ERR_DTYPE, "vjp: argument 0 is int32; only floats have gradients");
  assert_int_equal(sn_vjp(f.ctx, y, 1, &x, (sn_tensor *[]){x, x}, 2, &g), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "the same tensor is given twice as an argument");
  assert_int_equal(sn_vjp(f.ctx, y, 2, (sn_tensor *[]){x, NULL}, &x, 1, &g), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "a tensor is NULL");
  assert_ptr_equal(g, x);
  assert_int_equal(sn_vjp(f.ctx, y, 2, (sn_tensor *[]){x, two}, &x, 1, &g), SN_OK);
  EXPECT(g, 4, 10); /* 2 x x + 2 */
}

/* ---- contexts, NULL, placeholders ------------------------------------------------------------ */

static void two_contexts_do_not_mix(void **state) {
  (void)state;
  fixture other;
  fixture_open(&other, (sn_options){.threads = 1});
  sn_tensor *a = ramp(f.ctx, DIMS(2), 1), *b = ramp(other.ctx, DIMS(2), 1), *g, *lazy = sn_neg(b);
  sn_tensor *m = ramp(f.ctx, DIMS(2, 2), 1), *p = sn_placeholder(f.ctx, SN_F32, DIMS(2)), *out;
  sn_tensor *q = sn_placeholder(other.ctx, SN_F32, DIMS(2)), *double_p = sn_add(p, p);
  sn_program *program = NULL;
  REFUSED(sn_add(a, b), SN_ERR_ARGUMENT, "add: inputs of two contexts, or on two devices");
  REFUSED(sn_where(sn_less(a, a), a, b), SN_ERR_ARGUMENT,
          "where: inputs of two contexts, or on two devices");
  REFUSED(sn_matmul(m, b), SN_ERR_ARGUMENT, "matmul: inputs of two contexts, or on two devices");
  REFUSED(sn_outer(a, b), SN_ERR_ARGUMENT, "outer: inputs of two contexts, or on two devices");
  REFUSED(sn_concat((sn_tensor *[]){a, b}, 2, 0), SN_ERR_ARGUMENT,
          "concat: inputs of two contexts, or on two devices");
  REFUSED(sn_softmax_cross_entropy(a, b, SN_DEFAULT), SN_ERR_ARGUMENT,
          "softmaxCrossEntropy: inputs of two contexts, or on two devices");
  assert_int_equal(sn_eval((sn_tensor *[]){sn_neg(a), lazy}, 2), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT,
               "eval: tensor 1 is of another context, or on another device");
  sn_tensor *y = sn_sum(a, SN_ALL_AXES, false);
  assert_int_equal(sn_gradients(y, &b, 1, &g), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT,
               "grad: argument 0 is of another context, or on another device");
  assert_int_equal(sn_compile(f.ctx, &q, 1, &q, 1, NULL, &program), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT,
               "compile: input 0 is of another context, or on another device");
  assert_int_equal(sn_compile(f.ctx, &p, 1, &lazy, 1, NULL, &program), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT,
               "compile: output 0 is of another context, or on another device");
  assert_null(program);
  assert_int_equal(sn_compile(f.ctx, &p, 1, &double_p, 1, NULL, &program), SN_OK);
  assert_int_equal(sn_program_run(program, &b, &out), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT,
               "program: argument 0 is of another context, or on another device");
  sn_program_release(program);
  assert_int_equal(sn_error_status(other.ctx), SN_OK);
  release_all((sn_tensor *[]){b, lazy, q}, 3);
  fixture_close(&other);
}

static void null_keeps_the_first_error(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1), *b = ramp(f.ctx, DIMS(4, 5), 1), *g, *out;
  sn_tensor *bad = sn_matmul(a, b); /* the first */
  const int64_t zero[] = {0, 0};
  assert_null(sn_add(bad, b));
  assert_null(sn_add(a, b)); /* a second one, not kept */
  assert_null(sn_relu(bad));
  assert_null(sn_where(bad, a, a));
  assert_null(sn_sum(bad, SN_ALL_AXES, false));
  assert_null(sn_mean(bad, 1, true));
  assert_null(sn_max(bad, 1, true));
  assert_null(sn_argmax(bad, 0, false));
  assert_null(sn_matmul(bad, a));
  assert_null(sn_matmul(a, bad));
  assert_null(sn_reshape(bad, DIMS(6)));
  assert_null(sn_transpose(bad, NULL));
  assert_null(sn_broadcast_to(bad, DIMS(6)));
  assert_null(sn_slice(bad, zero, zero, NULL));
  assert_null(sn_pad(bad, zero, zero, SN_PAD_CONSTANT, 0));
  assert_null(sn_concat((sn_tensor *[]){a, bad}, 2, 0));
  assert_null(sn_astype(bad, SN_F64));
  assert_null(sn_bitcast(bad, SN_I32));
  assert_null(sn_softmax_cross_entropy(bad, a, SN_DEFAULT));
  assert_null(sn_softmax_cross_entropy(a, bad, SN_DEFAULT));
  assert_null(sn_variable(bad));
  assert_null(sn_retain(bad));
  assert_null(sn_keep(bad));
  assert_null(sn_data(bad));
  sn_release(bad);
  assert_int_equal(sn_read(bad, &out, sizeof out), SN_ERR_ARGUMENT);
  assert_int_equal(sn_eval((sn_tensor *[]){a, bad}, 2), SN_ERR_ARGUMENT);
  assert_int_equal(sn_gradients(bad, &a, 1, &g), SN_ERR_SHAPE);
  assert_int_equal(sn_gradients(a, &bad, 1, &g), SN_ERR_SHAPE);
  sn_program *program = NULL;
  assert_int_equal(sn_compile(f.ctx, &bad, 1, &a, 1, NULL, &program), SN_ERR_SHAPE);
  assert_int_equal(sn_compile(f.ctx, NULL, 0, &bad, 1, NULL, &program), SN_ERR_SHAPE);
  expect_error(f.ctx, SN_ERR_SHAPE, "matmul: inner dimensions differ: a (2, 3), b (4, 5)");
  /* NULL from nowhere is an error too, never SN_OK */
  assert_int_equal(sn_compile(f.ctx, &bad, 1, &a, 1, NULL, &program), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "a tensor is NULL");
  assert_null(program);
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(2)), *q = sn_neg(p);
  assert_int_equal(sn_compile(f.ctx, &p, 1, &q, 1, NULL, &program), SN_OK);
  assert_int_equal(sn_program_run(program, &bad, &out), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "a tensor is NULL");
  sn_program_release(program);
  sn_program_release(NULL);
  sn_context_destroy(NULL);
}

static void null_can_be_asked(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2), 1), *out;
  const char *text;
  const void *bytes;
  size_t size;
  uint32_t ticket;
  sn_program *program = (sn_program *)&size; /* a failed compile sets it */
  sn_program_info info;
  assert_int_equal(sn_dtype_bytes(sn_dtype_of(NULL)), 0);
  assert_int_equal(sn_rank(NULL), -1);
  assert_null(sn_dims(NULL));
  assert_int_equal(sn_size(NULL), 0);
  assert_int_equal(sn_size_bytes(NULL), 0);
  assert_int_equal(sn_compile(f.ctx, &a, 1, &a, 1, NULL, &program), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "compile: input 0 is not a placeholder");
  assert_null(program);
  assert_int_equal(sn_program_run(program, &a, &out), SN_ERR_ARGUMENT);
  assert_int_equal(sn_program_run_async(program, &a, &out, &ticket), SN_ERR_ARGUMENT);
  assert_int_equal(sn_program_tuning(program, &text), SN_ERR_ARGUMENT);
  assert_int_equal(sn_program_wat(program, 0, &text), SN_ERR_ARGUMENT);
  assert_int_equal(sn_program_c_source(program, "f", &text), SN_ERR_ARGUMENT);
  assert_int_equal(sn_program_graph(program, &text), SN_ERR_ARGUMENT);
  assert_int_equal(sn_program_save(program, NULL, &bytes, &size), SN_ERR_ARGUMENT);
  assert_int_equal(sn_step_save(program, &(sn_step_parts){0}, NULL, &bytes, &size),
                   SN_ERR_ARGUMENT);
  assert_int_equal(sn_step_init(program, &out), SN_ERR_ARGUMENT);
  sn_program_describe(program, &info);
  assert_int_equal(info.kernels, 0);
  assert_null(sn_program_prelude(program));
  assert_null(sn_program_note(program));
  assert_null(sn_program_text(program, "trace"));
  assert_null(sn_program_inspection(program));
  assert_null(sn_program_captured(program, 0));
  assert_null(sn_step_describe(program));
}

static void the_second_error_has_its_own_status(void **state) {
  (void)state;
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(2));
  float values[2];
  assert_null(sn_reshape(p, DIMS(3)));
  assert_int_equal(sn_read(p, values, sizeof values), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_SHAPE, "reshape: number of elements differs: a (2,), b (3,)");
}

static void placeholders_have_no_value(void **state) {
  (void)state;
  const char *const text = "a tensor of a function being traced has no value yet";
  float values[2];
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(2)), *y = sn_exp(p),
            *a = ramp(f.ctx, DIMS(2), 1);
  assert_int_equal(sn_read(p, values, sizeof values), SN_ERR_ARGUMENT);
  assert_string_equal(sn_error_info(f.ctx)->hint,
                      "return it from the function, and read it outside");
  expect_error(f.ctx, SN_ERR_ARGUMENT, text);
  assert_null(sn_data(y));
  expect_error(f.ctx, SN_ERR_ARGUMENT, text);
  uint32_t ticket;
  sn_tensor *both[] = {sn_neg(a), y};
  assert_int_equal(sn_eval(both, 2), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, text);
  assert_int_equal(sn_eval_async(both, 2, &ticket), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, text);
  EXPECT(both[0], -1, -2);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void reading_too_little(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1);
  float values[6] = {0};
  assert_int_equal(sn_read(a, values, 23), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "read: 24 bytes do not fit into 23");
  assert_true(values[0] == 0);
  assert_int_equal(sn_read(a, values, 24), SN_OK);
  assert_true(values[5] == 6);
}

static void numbers_take_the_dtype_they_meet(void **state) {
  (void)state;
  for (int evaluated = 0; evaluated < 2; evaluated++) { /* looking at a number does not change it */
    sn_tensor *tenth = sn_scalar(f.ctx, 0.1), *two = sn_scalar(f.ctx, 2),
              *half = sn_scalar(f.ctx, 0.5);
    sn_tensor *numbers[] = {tenth, two, half};
    if (evaluated) assert_int_equal(sn_eval(numbers, 3), SN_OK);
    sn_tensor *i = sn_iota(f.ctx, SN_I32, DIMS(3), 0), *d = sn_full(f.ctx, SN_F64, DIMS(1), 1);
    assert_int_equal(sn_dtype_of(sn_mul(i, two)), SN_I32);
    assert_int_equal(sn_dtype_of(sn_mul(i, half)), SN_F32);
    assert_int_equal(sn_dtype_of(sn_mul(sn_less(i, i), two)), SN_I32);
    assert_int_equal(sn_dtype_of(sn_add(two, half)), SN_F32);
    sn_tensor *product = sn_mul(d, tenth);
    assert_int_equal(sn_dtype_of(product), SN_F64);
    assert_true(*(const double *)sn_data(product) == 0.1);
  }
  const double odd[] = {NAN, INFINITY, 1e300, -3e9};
  for (int k = 0; k < 4; k++)
    assert_int_equal(
        sn_dtype_of(sn_add(sn_iota(f.ctx, SN_I32, DIMS(3), 0), sn_scalar(f.ctx, odd[k]))), SN_F32);
}

static void nan_and_infinity_pass_through(void **state) {
  (void)state;
  const float d[] = {NAN, INFINITY, -INFINITY, -0.0f};
  sn_tensor *x = sn_from_data(f.ctx, SN_F32, DIMS(4), d);
  assert_true(isnan(*(const float *)sn_data(sn_sum(x, SN_ALL_AXES, false))));
  assert_true(isnan(*(const float *)sn_data(sn_max(x, SN_ALL_AXES, false))));
  assert_int_equal(*(const int32_t *)sn_data(sn_argmax(x, 0, false)), 0);
  assert_true(signbit(((const float *)sn_data(sn_mul(x, sn_scalar(f.ctx, 1))))[3]));
  assert_int_equal(*(const int32_t *)sn_data(sn_astype(x, SN_I32)), 0);
  const void *bad = sn_data(sn_softmax_cross_entropy(x, sn_scalar(f.ctx, 0), SN_DEFAULT));
  assert_null(bad); /* labels must be int32: typed as any other */
  sn_error_clear(f.ctx);
}

static void tensors_without_elements(void **state) {
  (void)state;
  sn_tensor *e = sn_from_data(f.ctx, SN_F32, DIMS(0, 3), NULL), *w = ramp(f.ctx, DIMS(3, 2), 1);
  sn_tensor *all[] = {sn_exp(e),
                      sn_add(e, e),
                      sn_transpose(e, NULL),
                      sn_reshape(e, DIMS(3, 0)),
                      sn_concat((sn_tensor *[]){e, e}, 2, 0),
                      sn_matmul(e, w),
                      sn_sum(e, 2, true)};
  assert_int_equal(sn_eval(all, 7), SN_OK);
  for (int i = 0; i < 7; i++) assert_non_null(sn_data(all[i]));
  assert_int_equal(sn_read(e, NULL, 0), SN_OK);
  const int64_t before[] = {1, 0}, after[] = {1, 0};
  EXPECT(sn_pad(e, before, after, SN_PAD_CONSTANT, 7), 7, 7, 7, 7, 7, 7);
  EXPECT(sn_sum(e, 1, false), 0, 0, 0);
  EXPECT(sn_matmul(sn_transpose(e, NULL), sn_full(f.ctx, SN_F32, DIMS(0, 2), 1)), 0, 0, 0, 0, 0, 0);
  assert_true(isnan(*(const float *)sn_data(sn_mean(e, SN_ALL_AXES, false))));
}

static void contexts_check_their_options(void **state) {
  (void)state;
  sn_context *ctx = f.ctx;
  assert_int_equal(sn_context_create(&(sn_options){.threads = -1}, &ctx), SN_ERR_ARGUMENT);
  assert_int_equal(sn_context_create(&(sn_options){.memory_limit_bytes = 100}, &ctx),
                   SN_ERR_MEMORY);
  assert_ptr_equal(ctx, f.ctx);
  assert_int_equal(sn_context_create(NULL, &ctx), SN_OK);
  assert_true(sn_threads(ctx) >= 1);
  assert_non_null(sn_isa(ctx));
  sn_context_destroy(ctx);
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static size_t tensors(void) {
  sn_memory_info memory;
  sn_memory(f.ctx, &memory);
  return memory.tensors;
}

static void scopes_release_what_is_not_kept(void **state) {
  (void)state;
  const size_t before = tensors();
  sn_scope_begin(f.ctx);
  sn_tensor *a = ramp(f.ctx, DIMS(2), 1);
  sn_scope_begin(f.ctx);
  sn_tensor *kept = sn_keep(sn_add(a, a));
  for (int i = 0; i < 100; i++) sn_exp(a);
  sn_scope_end(f.ctx);
  EXPECT(kept, 2, 4);
  EXPECT(a, 1, 2);
  sn_scope_end(f.ctx);
  assert_int_equal(tensors(), before + 1);
  sn_release(kept);
  assert_int_equal(tensors(), before);
}

static void scopes_nest_deeply(void **state) {
  (void)state;
  const size_t before = tensors();
  for (int i = 0; i < 100000; i++) {
    assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
    if (i % 10 == 0) sn_scalar(f.ctx, i);
  }
  for (int i = 0; i < 100000; i++) sn_scope_end(f.ctx);
  assert_int_equal(tensors(), before);
}

static void ends_without_begin_do_nothing(void **state) {
  (void)state;
  sn_scope_end(f.ctx);
  sn_scope_end(f.ctx);
  sn_tensor *a = ramp(f.ctx, DIMS(2), 1);
  EXPECT(a, 1, 2);
  sn_release(a);
  sn_scope_begin(f.ctx);
}

/* Lazy tensors have no values, and 100 further kinds must not hide the large ones. */
static void the_largest_kinds_come_first(void **state) {
  (void)state;
  static const float zeros[1000];
  for (int64_t n = 1; n <= 100; n++) sn_from_data(f.ctx, SN_F32, 1, &n, zeros);
  for (int i = 0; i < 3; i++) sn_from_data(f.ctx, SN_F32, 2, (int64_t[]){20, 10}, zeros);
  sn_from_data(f.ctx, SN_F32, 2, (int64_t[]){10, 100}, zeros);
  sn_full(f.ctx, SN_F32, 1, (int64_t[]){100000}, 1);
  sn_tensor_kind kinds[3];
  assert_int_equal(sn_largest_kinds(f.ctx, kinds, 3), 3);
  assert_int_equal(kinds[0].count, 1);
  assert_int_equal(kinds[0].bytes, 4000);
  assert_int_equal(kinds[0].dims[1], 100);
  assert_int_equal(kinds[1].count, 3);
  assert_int_equal(kinds[1].bytes, 2400);
  assert_int_equal(kinds[1].dtype, SN_F32);
  assert_int_equal(kinds[1].rank, 2);
  assert_int_equal(kinds[2].bytes, 400);
  assert_int_equal(sn_largest_kinds(f.ctx, kinds, 1), 1);
  assert_int_equal(kinds[0].bytes, 4000);
}

/* ---- what an error says beside its text
 * ------------------------------------------------------- */

/* Rank and dims of each shape, one after the other. */
#define FIELDS(expr, of_op, of_file, ...) \
  expect_fields((expr), of_op, of_file, (const int64_t[]){__VA_ARGS__, -1})

static void expect_fields(sn_tensor *t, const char *op, const char *file, const int64_t *shapes) {
  assert_null(t);
  const sn_error *e = sn_error_info(f.ctx);
  assert_int_equal(e->status, sn_error_status(f.ctx));
  assert_ptr_equal(e->message, sn_error_message(f.ctx));
  assert_string_equal(e->op, op);
  assert_string_equal(e->file, file);
  assert_true(e->line > 0);
  int n = 0;
  for (; *shapes >= 0; shapes += 1 + *shapes, n++) {
    assert_true(n < e->n_shapes);
    assert_int_equal(e->shapes[n].rank, *shapes);
    for (int i = 0; i < (int)*shapes; i++) assert_int_equal(e->shapes[n].dims[i], shapes[1 + i]);
  }
  assert_int_equal(e->n_shapes, n);
  sn_error_clear(f.ctx);
  assert_int_equal(sn_error_info(f.ctx)->status, SN_OK);
}

static void errors_have_fields(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1), *b = ramp(f.ctx, DIMS(4, 5), 1);
  sn_tensor *s = sn_scalar(f.ctx, 1), *i = sn_iota(f.ctx, SN_I32, DIMS(3), 0);
  sn_tensor *q = ramp(f.ctx, DIMS(2, 4, 8), 1), *mask = ramp(f.ctx, DIMS(7, 1, 1), 1);
  FIELDS(sn_matmul(a, b), "matmul", "matmul.c", 2, 2, 3, 2, 4, 5);
  FIELDS(sn_add(a, b), "add", "shape.c", 2, 2, 3, 2, 4, 5);
  FIELDS(sn_sum(a, 4, false), "sum", "compose.c", 2, 2, 3);
  FIELDS(sn_argmax(s, 0, false), "argmax", "compose.c", 0);
  FIELDS(sn_einsum("ij,jk", (sn_tensor *[]){a, b}, 2), "einsum", "einsum_parse.c", 2, 2, 3, 2, 4,
         5);
  FIELDS(sn_attention(q, q, q, false, NULL, mask, 0), "attention", "attention.c", 3, 2, 4, 8, 3, 2,
         4, 8, 3, 2, 4, 8, 3, 7, 1, 1);
  FIELDS(sn_take(a, a, 0), "take", "indexing.c", -1);
  FIELDS(sn_reshape(a, 2, (int64_t[]){-1, 4}), "reshape", "move.c", 2, 2, 3);
  FIELDS(sn_bitwise_and(a, i), "bitwiseAnd", "infer.c", -1);
  FIELDS(sn_gradients(NULL, &a, 1, &s) ? NULL : a, "", "tensor.c", -1);
}

/* The text is made where nothing can be allocated. */
static void errors_need_no_memory(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1);
  f.ctx->env.heap.fail_countdown = 0;
  f.ctx->env.heap.fail_forever = true;
  sn_tensor *doubled = sn_add(a, a), *product = NULL;
  FIELDS(doubled, "", "alloc.c", -1);
  product = sn_matmul(a, a);
  FIELDS(product, "matmul", "matmul.c", 2, 2, 3, 2, 2, 3);
  f.ctx->env.heap.fail_countdown = -1;
  f.ctx->env.heap.fail_forever = false;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(elementwise_errors),
      TEST(reduction_errors),
      TEST(product_errors),
      TEST(shape_errors),
      TEST(slices_of_one_element_take_any_stride),
      TEST(creation_errors),
      TEST(too_much_memory),
      TEST(the_largest_kinds_come_first),
      TEST(loss_errors),
      TEST(gradient_errors),
      TEST(vjp_errors),
      TEST(two_contexts_do_not_mix),
      TEST(null_keeps_the_first_error),
      TEST(null_can_be_asked),
      TEST(the_second_error_has_its_own_status),
      TEST(placeholders_have_no_value),
      TEST(reading_too_little),
      TEST(numbers_take_the_dtype_they_meet),
      TEST(nan_and_infinity_pass_through),
      TEST(tensors_without_elements),
      TEST(contexts_check_their_options),
      TEST(scopes_release_what_is_not_kept),
      TEST(scopes_nest_deeply),
      TEST(ends_without_begin_do_nothing),
      TEST(errors_have_fields),
      TEST(errors_need_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
