/* test_compose.c - functions composed of products, through the public API, against plain loops:
 * attention with every kind of mask, epilogues over products of many tiles, and divisions by a standard
 * deviation. Numbers are below 1 in magnitude and sums have k terms, so errors are below
 * (8 + log2 k) 2^-24 k. */
#include <math.h>

#include "api_support.h"

static float *noise(case_random *seed, int rank, const int64_t *dims, sn_tensor **out) {
  void *data;
  *out = sn_empty(f.ctx, SN_F32, rank, dims, &data);
  assert_non_null(*out);
  float *values = data;
  for (int64_t i = 0; i < sn_size(*out); i++) values[i] = (float)case_below(seed, 64) / 32 - 1;
  return values;
}

static void expect_near(const char *what, const float *got, const double *expected, int64_t n,
                        double bound) {
  assert_non_null(got);
  for (int64_t i = 0; i < n; i++)
    if (!(fabs((double)got[i] - expected[i]) <= bound))
      fail_msg("%s: element %lld is %.9g, not %.9g", what, (long long)i, (double)got[i],
               expected[i]);
}

/* ---- attention ------------------------------------------------------------------------------- */

enum { HEADS = 4, SHARED = 2, TOKENS = 70, SOURCES = 75, SIZE = 5 };

typedef struct inputs {
  sn_tensor *q, *k, *v, *mask;
  const float *q_data, *k_data, *v_data, *mask_data;
} inputs;

/* Row i of head h: weights of all sources, then their mean of v. */
static void plain_row(const inputs *in, int h, int i, bool masked, bool causal, double scale,
                      double *out) {
  double e[SOURCES], total = 0, largest = -INFINITY;
  const int shared = h / (HEADS / SHARED);
  for (int j = 0; j < SOURCES; j++) {
    e[j] = 0;
    for (int d = 0; d < SIZE; d++)
      e[j] += (double)in->q_data[(h * TOKENS + i) * SIZE + d] *
              (double)in->k_data[(shared * SOURCES + j) * SIZE + d];
    e[j] *= scale;
    if (masked) e[j] += (double)in->mask_data[i * SOURCES + j];
    if (causal && j > i) e[j] = -INFINITY;
    largest = fmax(largest, e[j]);
  }
  for (int j = 0; j < SOURCES; j++) total += e[j] = exp(e[j] - largest);
  for (int d = 0; d < SIZE; d++) {
    out[d] = 0;
    for (int j = 0; j < SOURCES; j++)
      out[d] += e[j] / total * (double)in->v_data[(shared * SOURCES + j) * SIZE + d];
  }
}

static void attention_is_plain_loops(void **state) {
  (void)state;
  case_random seed = {11};
  inputs in;
  in.q_data = noise(&seed, DIMS(1, HEADS, TOKENS, SIZE), &in.q);
  in.k_data = noise(&seed, DIMS(1, SHARED, SOURCES, SIZE), &in.k);
  in.v_data = noise(&seed, DIMS(1, SHARED, SOURCES, SIZE), &in.v);
  in.mask_data = noise(&seed, DIMS(TOKENS, SOURCES), &in.mask);
  for (int kind = 0; kind < 8; kind++) {
    const bool masked = kind & 1, causal = kind & 2;
    const double scale = kind & 4 ? 0.25 : 1 / sqrt((double)SIZE);
    static double want[HEADS * TOKENS * SIZE];
    for (int row = 0; row < HEADS * TOKENS; row++)
      plain_row(&in, row / TOKENS, row % TOKENS, masked, causal, scale, want + row * SIZE);
    sn_tensor *y = sn_attention(in.q, in.k, in.v, causal, NULL, masked ? in.mask : NULL,
                                kind & 4 ? scale : (double)NAN);
    /* scores below SIZE are off by (8 + log2 SIZE) u SIZE each, which counts twice in the
     * weights */
    const double bound = (2 * (8 + log2(SIZE)) * SIZE + 8 + log2(SOURCES)) * 0x1p-24;
    expect_near("attention", sn_data(y), want, HEADS * TOKENS * SIZE, bound);
  }
}

/* ---- epilogues ------------------------------------------------------------------------------- */

/* relu(a b + bias); a bias added twice would show. */
static void epilogues_run_once_on_every_tile(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{1, 1, 1},       {13, 33, 4},   {300, 210, 90},
                                     {210, 300, 290}, {1, 900, 700}, {900, 1, 700}};
  case_random seed = {5};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
    assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
    sn_tensor *a, *b, *bias;
    const float *av = noise(&seed, DIMS(m, k), &a), *bv = noise(&seed, DIMS(k, n), &b),
                *cv = noise(&seed, DIMS(n), &bias);
    double *want = calloc((size_t)(m * n), sizeof *want);
    assert_non_null(want);
    for (int64_t i = 0; i < m; i++)
      for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < n; j++)
          want[i * n + j] += (double)av[i * k + p] * (double)bv[p * n + j];
    for (int64_t i = 0; i < m * n; i++) want[i] = fmax(want[i] + (double)cv[i % n], 0);
    sn_tensor *y = sn_relu(sn_add(sn_matmul(a, b), bias));
    const double bound = (8 + log2((double)k)) * 0x1p-24 * (double)(k + 1);
    expect_near("relu(a b + bias)", sn_data(y), want, m * n, bound);
    free(want);
    sn_scope_end(f.ctx);
  }
}

/* ---- normalization --------------------------------------------------------------------------- */

enum { OUTER = 6, MIDDLE = 5, INNER = 7, ALL = OUTER * MIDDLE * INNER, MOST_GROUPS = 30 };
typedef enum { BATCH, BATCH_OF_STATISTICS, LAYER, RMS, NORMS } norm;

/* Over the elements of a group: 0 as the mean, and the mean square, for RMS. */
static void plain_moments(const float *x, const int *group, norm kind, double *mean,
                          double *variance) {
  double n[MOST_GROUPS] = {0}, sum[MOST_GROUPS] = {0}, squares[MOST_GROUPS] = {0};
  for (int i = 0; i < ALL; i++) {
    n[group[i]]++;
    sum[group[i]] += (double)x[i];
    squares[group[i]] += (double)x[i] * (double)x[i];
  }
  for (int g = 0; g < MOST_GROUPS && n[g] > 0; g++) {
    mean[g] = kind == RMS ? 0 : sum[g] / n[g];
    variance[g] = squares[g] / n[g] - mean[g] * mean[g];
  }
}

static void compare_norm(norm kind, int axis, double eps) {
  static const char *const names[] = {"batchNorm", "batchNorm of statistics", "layerNorm",
                                      "rmsNorm"};
  case_random seed = {17};
  const int64_t n = axis == 1 ? MIDDLE : INNER;
  sn_tensor *x, *weight, *bias, *y, *given_mean, *given_variance;
  const float *xv = noise(&seed, DIMS(OUTER, MIDDLE, INNER), &x),
              *wv = noise(&seed, DIMS(n), &weight), *bv = noise(&seed, DIMS(n), &bias),
              *mv = noise(&seed, DIMS(n), &given_mean);
  float *vv = noise(&seed, DIMS(n), &given_variance);
  for (int c = 0; c < n; c++) vv[c] = fabsf(vv[c]);

  int channel[ALL], group[ALL];
  for (int i = 0; i < ALL; i++) {
    channel[i] = axis == 1 ? i / INNER % MIDDLE : i % INNER;
    group[i] = kind == LAYER || kind == RMS ? i / INNER : channel[i];
  }
  double mean[MOST_GROUPS], variance[MOST_GROUPS], want[ALL];
  plain_moments(xv, group, kind, mean, variance);
  for (int c = 0; kind == BATCH_OF_STATISTICS && c < n; c++) {
    mean[c] = (double)mv[c];
    variance[c] = (double)vv[c];
  }
  for (int i = 0; i < ALL; i++)
    want[i] =
        ((double)xv[i] - mean[group[i]]) / sqrt(variance[group[i]] + eps) * (double)wv[channel[i]] +
        (kind == RMS ? 0 : (double)bv[channel[i]]);

  if (kind == LAYER)
    y = sn_layer_norm(x, 1u << (sn_rank(x) - 1), weight, bias, eps);
  else if (kind == RMS)
    y = sn_rms_norm(x, weight, eps);
  else
    y = kind == BATCH ? sn_batch_norm(x, axis, NULL, NULL, weight, bias, eps)
                      : sn_batch_norm(x, axis, given_mean, given_variance, weight, bias, eps);
  /* a value is at most 2 / sqrt(eps) + 1, and behind two means */
  const double bound = 2 * (8 + log2(ALL)) * 0x1p-24 * (2 / sqrt(eps) + 1);
  expect_near(names[kind], sn_data(y), want, ALL, bound);
}

/* With an eps as large as the variance, which would show if it was lost. */
static void norms_are_plain_loops(void **state) {
  (void)state;
  for (norm kind = BATCH; kind < NORMS; kind++)
    for (int axis = kind < LAYER ? 1 : 2; axis <= 2; axis++) compare_norm(kind, axis, 0.25);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Sizes whose product overflows are refused before anything of theirs is asked for. */
static void sizes_that_overflow_take_no_memory(void **state) {
  (void)state;
  const int64_t far = (int64_t)1 << 31;
  sn_tensor *one = sn_full(f.ctx, SN_F32, 0, NULL, 1);
  sn_tensor *column = sn_broadcast_to(one, DIMS(far, 1)), *row = sn_broadcast_to(one, DIMS(1, far)),
            *long_q = sn_broadcast_to(one, DIMS(1, far, 1)),
            *image = sn_broadcast_to(one, DIMS(far, 1 << 16, 1 << 12, 1));
  sn_tensor *batch = sn_broadcast_to(one, DIMS(far, 2, 1)),
            *other = sn_broadcast_to(one, DIMS(far, 1, 1, 2));
  assert_int_equal(sn_error_status(f.ctx), SN_OK);
  f.ledger.largest = 0;
  assert_null(sn_attention(long_q, long_q, long_q, true, NULL, NULL, NAN)); /* room for notes */
  sn_error_clear(f.ctx);
  const size_t before = f.ledger.live_bytes;
  const int64_t window[] = {1 << 12, 1 << 12}, step[] = {1, 1};
  const sn_window_options same = {.strides = step, .padding = SN_PADDING_SAME};
  /* What a call had made before it found out goes at its end. */
#define TOO_LARGE(expr)                                            \
  do {                                                             \
    assert_null(expr);                                             \
    assert_int_equal(sn_error_status(f.ctx), SN_ERR_MEMORY);       \
    assert_non_null(strstr(sn_error_message(f.ctx), "too large")); \
    sn_error_clear(f.ctx);                                         \
    assert_int_equal(f.ledger.live_bytes, before);                 \
  } while (0)
  TOO_LARGE(sn_matmul(column, row));
  TOO_LARGE(sn_matmul(batch, other));
  TOO_LARGE(sn_attention(long_q, long_q, long_q, true, NULL, NULL, NAN));
  TOO_LARGE(sn_max_pool(image, window, 2, &same));
  TOO_LARGE(sn_avg_pool(image, window, 2, &same));
  TOO_LARGE(sn_einsum("ax,xb->ab", (sn_tensor *[]){column, row}, 2));
  assert_true(f.ledger.largest < 1 << 16);
}

/* ---- precision ------------------------------------------------------------------------------- */

static void expect_same(sn_tensor *x, sn_tensor *y) {
  assert_non_null(x);
  assert_non_null(y);
  assert_int_equal(sn_dtype_of(x), sn_dtype_of(y));
  assert_memory_equal(sn_data(x), sn_data(y), (size_t)sn_size(x) * sn_dtype_bytes(sn_dtype_of(x)));
}

/* A product within a precision is that of rounded operands, rounded. */
static void products_are_rounded_within_a_precision(void **state) {
  (void)state;
  static const sn_dtype small[] = {SN_F16, SN_BF16};
  case_random seed = {7};
  sn_tensor *a, *b, *image, *filter;
  noise(&seed, DIMS(9, 33), &a);
  noise(&seed, DIMS(33, 7), &b);
  noise(&seed, DIMS(1, 6, 6, 3), &image);
  noise(&seed, DIMS(3, 3, 3, 5), &filter);
  a = sn_exp(a);
  image = sn_exp(image);
  for (int i = 0; i < 2; i++) {
#define ROUNDED(x) sn_astype(sn_astype((x), small[i]), SN_F32)
    sn_tensor *product = sn_astype(sn_matmul(ROUNDED(a), ROUNDED(b)), small[i]);
    sn_tensor *conv = sn_astype(sn_conv(ROUNDED(image), ROUNDED(filter), 2, NULL), small[i]);
    sn_tensor *sum = sn_sum(sn_astype(product, SN_F32), SN_ALL_AXES, false);
    assert_int_equal(sn_set_precision(f.ctx, small[i]), SN_F32);
    sn_tensor *rounded = sn_matmul(a, b);
    expect_same(rounded, product);
    expect_same(sn_conv(image, filter, 2, NULL), conv);
    expect_same(sn_sum(rounded, SN_ALL_AXES, false), sum);
    assert_int_equal(sn_set_precision(f.ctx, SN_I8), SN_I8);
    assert_int_equal(sn_dtype_of(sn_matmul(a, b)), small[i]);
    assert_int_equal(sn_set_precision(f.ctx, SN_F32), small[i]);
    assert_int_equal(sn_dtype_of(sn_matmul(a, b)), SN_F32);
#undef ROUNDED
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(attention_is_plain_loops),
      TEST(epilogues_run_once_on_every_tile),
      TEST(norms_are_plain_loops),
      TEST(sizes_that_overflow_take_no_memory),
      TEST(products_are_rounded_within_a_precision),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
