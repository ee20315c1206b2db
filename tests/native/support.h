/* support.h - what the tests of the core share besides the fixture: checks of expected errors, and short
 * ways to write tensors. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include "fixture.h"
#include "random.h"

/* The context's first error is this one; it is cleared. */
static inline void expect_error(sn_context *ctx, sn_status status, const char *message) {
  assert_string_equal(sn_error_message(ctx), message);
  assert_int_equal(sn_error_status(ctx), status);
  sn_error_clear(ctx);
}

#define DIMS(...) \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }

/* float32 elements 1, 2, 3 ... times scale */
static inline sn_tensor *ramp(sn_context *ctx, int rank, const int64_t *dims, float scale) {
  void *data;
  sn_tensor *t = sn_empty(ctx, SN_F32, rank, dims, &data);
  if (!t) return NULL;
  for (int64_t i = 0; i < sn_size(t); i++) ((float *)data)[i] = scale * (float)(i + 1);
  return t;
}

static inline void release_all(sn_tensor **tensors, size_t n) {
  for (size_t i = 0; i < n; i++) sn_release(tensors[i]);
}

/* x = fn(x), giving the old one back */
static inline void step(sn_tensor **x, sn_tensor *next) {
  assert_non_null(next);
  sn_release(*x);
  *x = next;
}

/* A few kernels of all kinds over a square matrix. */
static inline sn_tensor *some_work(sn_context *ctx, sn_tensor *x, int i) {
  sn_tensor *k = sn_scalar(ctx, 0.01 * i), *a = sn_add(x, k), *b = sn_matmul(a, x), *c = sn_tanh(b),
            *s = sn_sum(c, 1, true), *y = sn_sub(c, s);
  release_all((sn_tensor *[]){k, a, b, c, s}, 5);
  return y;
}

#endif
