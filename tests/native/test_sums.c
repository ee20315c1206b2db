/* test_sums.c - compiled reductions, matrix products and compositions of them, against exact sums.
 *
 * The order of a sum is the kernel's own, so a float sum of K terms must satisfy
 *   |got - exact| <= (8 + log2 K) u sum |term|,    u = 2^-24 or 2^-53,
 * which a sum in plain order would violate for large K. (Products add a few hundred terms in order: for
 * these the bound holds if terms are drawn independently; operands that repeat are integers.)
 * Everything else - max, min, integers, fused maps of the operands - has the bits of the reference. */
#include "case_support.h"
#include "twin.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/reference.h"

static sn_context *shared; /* of two lanes, for what is large */

static int setup(void **state) {
  shared = case_context(2, sn_isa_detect());
  return open_cases(state);
}

static int teardown(void **state) {
  case_context_end(shared);
  return close_cases(state);
}

static void swap_contexts(void) {
  sn_context *other = ctx;
  ctx = shared;
  shared = other;
}

/* ---- exact sums ------------------------------------------------------------------------------ */

typedef struct exact_sum {
  long double sum, magnitude; /* magnitude: of the finite terms */
  int64_t terms;
} exact_sum;

static void add_term(exact_sum *s, long double term) {
  s->sum += term;
  s->terms++;
  if (isfinite(term)) s->magnitude += fabsl(term);
}

static bool is_close(sn_dtype dtype, double got, const exact_sum *s) {
  if (s->magnitude > (dtype == SN_F32 ? FLT_MAX : DBL_MAX))
    return true; /* may overflow in between */
  if (isnan(s->sum) || isnan(got)) return isnan(s->sum) && isnan(got);
  if (isinf(s->sum)) return (long double)got == s->sum;
  const double unit = dtype == SN_F32 ? 0x1p-24 : 0x1p-53;
  const double log_terms = s->terms > 1 ? log2((double)s->terms) : 0;
  return fabsl((long double)got - s->sum) <= (long double)((8 + log_terms) * unit) * s->magnitude;
}

static bool all_close(sn_dtype dtype, const void *got, const exact_sum *sums, int64_t n,
                      char text[TWIN_TEXT]) {
  for (int64_t i = 0; i < n; i++) {
    const double value = sn_ref_load(dtype, got, i);
    if (is_close(dtype, value, &sums[i])) continue;
    snprintf(text, TWIN_TEXT, "element %lld: %a, exact %La over %lld terms of size %Lg",
             (long long)i, value, sums[i].sum, (long long)sums[i].terms, sums[i].magnitude);
    return false;
  }
  return true;
}

static exact_sum *sums_over(const sn_type *type, const void *data, uint32_t axes,
                            const sn_type *result) {
  exact_sum *sums = calloc((size_t)sn_type_size(result) + 1, sizeof *sums);
  for (int64_t i = 0; i < sn_type_size(type); i++) {
    int64_t rest = i, to = 0, stride = 1;
    for (int d = type->rank - 1; d >= 0; d--) {
      const int64_t at = rest % type->dims[d];
      rest /= type->dims[d];
      if (axes >> d & 1) continue;
      to += at * stride;
      stride *= type->dims[d];
    }
    add_term(&sums[to], (long double)sn_ref_load(type->dtype, data, i));
  }
  return sums;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Powers of two, whose products are exact in whatever order, now and then negative, 0 or NaN. */
static void products_of_floats(void **state) {
  (void)state;
  for (size_t i = 0; i < case_shape_count; i++)
    for (int dtype = SN_F32; dtype <= SN_F64; dtype++)
      for (uint32_t axes = 1; axes < 1u << case_shapes[i].rank && axes < 8; axes++) {
        sn_type type = case_shapes[i];
        type.dtype = (sn_dtype)dtype;
        const int64_t n = sn_type_size(&type);
        void *data = malloc(sn_type_bytes(&type) + 1);
        for (int64_t k = 0; k < n; k++) {
          const double power = case_one_in(&rng, 2) ? 2 : 0.5;
          const double rare = case_one_in(&rng, 900) ? NAN : case_one_in(&rng, 90) ? 0 : power;
          sn_ref_store(type.dtype, data, k, case_one_in(&rng, 2) ? rare : -rare);
        }
        twins w;
        char text[TWIN_TEXT];
        twins_begin(&w, ctx, axes & 1);
        twins_output(&w, twin_reduce(&w, SN_OP_prod, twin_input(&w, &type, data), axes));
        if (!twins_agree(&w, text)) fail_msg("shape %zu, axes %x: %s", i, axes, text);
        twins_end(&w);
        free(data);
      }
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bool is_empty_along(const sn_type *type, uint32_t axes) {
  for (int d = 0; d < type->rank; d++)
    if ((axes >> d & 1) && type->dims[d] == 0) return true;
  return false;
}

static void sum_case(const sn_type *type, uint32_t axes, twin_view view, case_values values) {
  twins w;
  twins_begin(&w, ctx, axes & 1);
  const twin x = twin_viewed_input(&w, &rng, view, SN_OP_sum, 0, values, type);
  twins_output(&w, twin_reduce(&w, SN_OP_sum, x, axes));
  const sn_type *result = twin_type(&w, w.outputs[0]);
  exact_sum *sums = sums_over(type, twin_value(&w, x), axes, result);
  char text[TWIN_TEXT], shape[SN_SHAPE_TEXT];
  if (!twins_run(&w, text) ||
      !all_close(type->dtype, sn_data(w.results[0]), sums, sn_type_size(result), text))
    fail_msg("sum of %s%s over axes %x, view %d: %s", sn_dtype_name(type->dtype),
             sn_shape_text(type, shape), axes, view, text);
  free(sums);
  twins_end(&w);
}

/* Reductions to one of the elements, and all of integers: the same bits in whatever order. */
static void ordered_case(sn_op op, const sn_type *type, uint32_t axes, twin_view view) {
  twins w;
  twins_begin(&w, ctx, axes & 1);
  const twin x = twin_viewed_input(&w, &rng, view, op, 0, CASE_MIXED, type);
  twins_output(&w, twin_reduce(&w, op, x, axes));
  char text[TWIN_TEXT], shape[SN_SHAPE_TEXT];
  if (!twins_agree(&w, text))
    fail_msg("%s of %s%s over axes %x, view %d: %s", sn_op_describe(op)->name,
             sn_dtype_name(type->dtype), sn_shape_text(type, shape), axes, view, text);
  twins_end(&w);
}

static void reduce_cases(const sn_type *dims, uint32_t axes, twin_view view) {
  for (int dtype = SN_F32; dtype <= SN_I32; dtype++) {
    sn_type type = *dims;
    type.dtype = (sn_dtype)dtype;
    if (dtype != SN_I32) sum_case(&type, axes, view, view == TWIN_CHAIN ? CASE_MIXED : CASE_DOMAIN);
    for (sn_op op = 0; op < SN_OP_COUNT; op++) {
      const sn_op_info *row = sn_op_describe(op);
      if (row->kind != SN_CLASS_REDUCE || (row->picks && is_empty_along(&type, axes))) continue;
      if (row->picks || dtype == SN_I32) ordered_case(op, &type, axes, view);
    }
  }
}

static void reductions(void **state) {
  (void)state;
  for (size_t i = 0; i < case_shape_count; i++) {
    const int rank = case_shapes[i].rank;
    for (int view = 0; view < TWIN_VIEWS; view++)
      for (uint32_t axes = 1; axes < 1u << rank; axes++)
        if (case_one_in(&rng, (rank < 4 ? 1 : 1 << (rank - 2)) * (case_short() ? 3 : 1)))
          reduce_cases(&case_shapes[i], axes, (twin_view)view);
  }
}

/* Long ones are cut into blocks; along the contiguous axis and across it. */
static void long_reductions(void **state) {
  (void)state;
  const int64_t k = case_short() ? 17000 : 40000;
  const sn_type dims[] = {{.rank = 1, .dims = {k + 7}},          {.rank = 2, .dims = {3, k}},
                          {.rank = 2, .dims = {k, 3}},           {.rank = 2, .dims = {k / 4, 11}},
                          {.rank = 3, .dims = {5, k / 40, 41}},  {.rank = 2, .dims = {65, 600}},
                          {.rank = 3, .dims = {2, 16, k / 100}}, {.rank = 2, .dims = {400, 300}}};
  swap_contexts();
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
    for (uint32_t axes = 1; axes < 1u << dims[i].rank; axes++) {
      if (!case_short() || axes % 2) reduce_cases(&dims[i], axes, TWIN_PLAIN);
      if (!case_short() || axes == 2) reduce_cases(&dims[i], axes, TWIN_TRANSPOSED);
    }
  swap_contexts();
}

/* A map before and after the reduction joins its kernel and keeps its bits: sum(x y) z + sum(x y),
 * max(x y) - z. */
static void fused_reductions(void **state) {
  (void)state;
  for (size_t i = 0; i < case_shape_count; i++)
    for (uint32_t axes = 1; axes < 1u << case_shapes[i].rank && axes < 8; axes++)
      for (int fuse = 0; fuse < 2; fuse++) {
        sn_type type = case_shapes[i];
        if (is_empty_along(&type, axes)) continue;
        type.dtype = SN_F64;
        twins w;
        twins_begin(&w, ctx, i % 2);
        case_passes_off(ctx, fuse ? 0 : 1u << (sn_pass_count() - 1));
        const twin x = twin_viewed_input(&w, &rng, (twin_view)case_below(&rng, TWIN_VIEWS),
                                         SN_OP_mul, 0, CASE_DOMAIN, &type);
        const twin y = twin_viewed_input(&w, &rng, TWIN_PLAIN, SN_OP_mul, 1, CASE_DOMAIN, &type);
        const twin product = twin_apply(&w, SN_OP_mul, (twin[]){x, y}, 2);
        /* whole numbers: their sums are exact, so the maps after them have one right result */
        const twin whole = twin_apply(&w, SN_OP_round, &product, 1);
        const twin sum = twin_reduce(&w, SN_OP_sum, whole, axes);
        const twin max = twin_reduce(&w, SN_OP_max, product, axes);
        const twin ratio = twin_apply(&w, SN_OP_tanh, &sum, 1);
        twins_output(&w, twin_apply(&w, SN_OP_mul, (twin[]){ratio, max}, 2));
        twins_output(&w, sum);
        twins_output(&w, twin_apply(&w, SN_OP_sub, (twin[]){max, sum}, 2));
        char text[TWIN_TEXT];
        if (!twins_agree(&w, text)) fail_msg("fusion %d: %s", fuse, text);
        twins_end(&w);
      }
  case_passes_off(ctx, 0);
}

/* ---- matrix products ------------------------------------------------------------------------- */

static exact_sum *products_of(const sn_type *a, const void *pa, const sn_type *b, const void *pb,
                              int64_t batches) {
  const int r = a->rank;
  const int64_t m = a->dims[r - 2], k = a->dims[r - 1], n = b->dims[r - 1];
  exact_sum *sums = calloc((size_t)(batches * m * n) + 1, sizeof *sums);
  for (int64_t i = 0; i < batches * m * n; i++)
    for (int64_t p = 0; p < k; p++)
      add_term(&sums[i],
               (long double)sn_ref_load(a->dtype, pa, i / n * k + p) *
                   (long double)sn_ref_load(b->dtype, pb, (i / n / m * k + p) * n + i % n));
  return sums;
}

static void matmul_case(sn_dtype dtype, const sn_type *batch, int64_t m, int64_t k, int64_t n,
                        twin_view view_a, twin_view view_b, bool compiled) {
  sn_type a = *batch, b = *batch;
  a.dtype = b.dtype = dtype;
  a.rank = b.rank = batch->rank + 2;
  a.dims[a.rank - 2] = m;
  a.dims[a.rank - 1] = b.dims[b.rank - 2] = k;
  b.dims[b.rank - 1] = n;
  const bool repeats = view_a == TWIN_REPEATED || view_b == TWIN_REPEATED || view_a == TWIN_LOWER ||
                       view_b == TWIN_LOWER;
  const case_values values = repeats ? CASE_WHOLE : CASE_DOMAIN;
  twins w;
  twins_begin(&w, ctx, compiled);
  const twin x = twin_viewed_input(&w, &rng, view_a, SN_OP_matmul, 0, values, &a);
  const twin y = twin_viewed_input(&w, &rng, view_b, SN_OP_matmul, 1, values, &b);
  twins_output(&w, twin_matmul(&w, x, y));
  exact_sum *sums = products_of(&a, twin_value(&w, x), &b, twin_value(&w, y), sn_type_size(batch));
  char text[TWIN_TEXT], ta[SN_SHAPE_TEXT], tb[SN_SHAPE_TEXT];
  if (!twins_run(&w, text) ||
      !all_close(dtype, sn_data(w.results[0]), sums, sn_type_size(batch) * m * n, text))
    fail_msg("matmul %s%s x %s, views %d %d: %s", sn_dtype_name(dtype), sn_shape_text(&a, ta),
             sn_shape_text(&b, tb), view_a, view_b, text);
  free(sums);
  twins_end(&w);
}

static void products(void **state) {
  (void)state;
  static const int64_t sizes[] = {0, 1, 2, 7, 17, 33, 64};
  enum { SIZES = sizeof sizes / sizeof sizes[0] };
  const sn_type none = {.rank = 0};
  for (int i = 0; i < SIZES * SIZES * SIZES; i++)
    for (int dtype = SN_F32; dtype <= SN_F64; dtype++)
      matmul_case((sn_dtype)dtype, &none, sizes[i % SIZES], sizes[i / SIZES % SIZES],
                  sizes[i / SIZES / SIZES], (twin_view)case_below(&rng, TWIN_VIEWS),
                  (twin_view)case_below(&rng, TWIN_VIEWS), i % 2);
}

static void products_of_views(void **state) {
  (void)state;
  const sn_type batches[] = {{.rank = 0},
                             {.rank = 1, .dims = {3}},
                             {.rank = 2, .dims = {2, 3}},
                             {.rank = 1, .dims = {0}},
                             {.rank = 6, .dims = {1, 2, 1, 2, 1, 2}}};
  for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
    for (int a = 0; a < TWIN_VIEWS; a++)
      for (int b = 0; b < TWIN_VIEWS; b++)
        matmul_case(a % 2 ? SN_F32 : SN_F64, &batches[i], 9, 18, 13, (twin_view)a, (twin_view)b,
                    b % 2);
}

static void large_products(void **state) {
  (void)state;
  const sn_type none = {.rank = 0};
  const int64_t k = case_short() ? 300 : 1000;
  swap_contexts();
  matmul_case(SN_F32, &none, 70, k, 130, TWIN_PLAIN, TWIN_PLAIN, true);
  matmul_case(SN_F32, &none, 130, k, 70, TWIN_TRANSPOSED, TWIN_TRANSPOSED, true);
  matmul_case(SN_F64, &none, 70, k, 70, TWIN_FLIPPED, TWIN_STEPPED, true);
  matmul_case(SN_F32, &none, 1, 3 * k, 257, TWIN_PLAIN, TWIN_TRANSPOSED, true);
  matmul_case(SN_F32, &none, 257, 3 * k, 1, TWIN_PLAIN, TWIN_PLAIN, true);
  matmul_case(SN_F32, &none, 30, 12 * k, 41, TWIN_TRANSPOSED, TWIN_PLAIN, true); /* in segments */
  matmul_case(SN_F64, &none, 90, 12 * k, 9, TWIN_PLAIN, TWIN_STEPPED, true);
  swap_contexts();
}

/* relu(a b + bias) z, of whole numbers: exact sums, so the fused epilogue has one right result. */
static void fused_products(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{5, 7, 9},   {33, 64, 70}, {1, 50, 300},
                                     {300, 3, 1}, {17, 0, 4},   {128, 30, 64}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int mode = 0; mode < 8; mode++) {
      const sn_dtype dtype = mode & 1 ? SN_F32 : SN_F64;
      const int64_t m = sizes[i][0], k = sizes[i][1], n = sizes[i][2];
      const sn_type a = {dtype, 3, {2, m, k}}, b = {dtype, 3, {1, k, n}}, c = {dtype, 1, {n}};
      twins w;
      twins_begin(&w, ctx, mode & 2);
      case_passes_off(ctx, mode & 4 ? 1u << (sn_pass_count() - 1) : 0);
      const twin x = twin_viewed_input(&w, &rng, TWIN_TRANSPOSED, SN_OP_neg, 0, CASE_WHOLE, &a);
      const twin y = twin_viewed_input(&w, &rng, TWIN_PLAIN, SN_OP_neg, 0, CASE_WHOLE, &b);
      const twin bias = twin_viewed_input(&w, &rng, TWIN_PLAIN, SN_OP_neg, 0, CASE_DOMAIN, &c);
      const twin sum = twin_apply(&w, SN_OP_add, (twin[]){twin_matmul(&w, x, y), bias}, 2);
      const twin up = twin_apply(&w, SN_OP_relu, &sum, 1);
      twins_output(&w, twin_apply(&w, SN_OP_mul, (twin[]){up, bias}, 2));
      twins_output(&w, up);
      twins_output(&w, twin_apply(&w, SN_OP_greater, (twin[]){up, sum}, 2));
      char text[TWIN_TEXT];
      if (!twins_agree(&w, text)) fail_msg("mode %d: %s", mode, text);
      twins_end(&w);
    }
  case_passes_off(ctx, 0);
}

/* Rank-1 operands are a row and a column; leading dimensions of either side broadcast. */
static void product_shapes(void **state) {
  (void)state;
  static const struct {
    sn_type a, b, y;
  } table[] = {
      {{SN_F64, 1, {4}}, {SN_F64, 1, {4}}, {SN_F64, 0, {0}}},
      {{SN_F64, 2, {3, 4}}, {SN_F64, 1, {4}}, {SN_F64, 1, {3}}},
      {{SN_F64, 1, {4}}, {SN_F64, 2, {4, 5}}, {SN_F64, 1, {5}}},
      {{SN_F64, 1, {4}}, {SN_F64, 3, {2, 4, 5}}, {SN_F64, 2, {2, 5}}},
      {{SN_F64, 3, {2, 3, 4}}, {SN_F64, 1, {4}}, {SN_F64, 2, {2, 3}}},
      {{SN_F64, 3, {2, 3, 4}}, {SN_F64, 2, {4, 5}}, {SN_F64, 3, {2, 3, 5}}},
      {{SN_F64, 2, {3, 4}}, {SN_F64, 3, {2, 4, 5}}, {SN_F64, 3, {2, 3, 5}}},
      {{SN_F64, 4, {2, 1, 3, 4}}, {SN_F64, 3, {6, 4, 5}}, {SN_F64, 4, {2, 6, 3, 5}}},
      {{SN_F64, 3, {0, 3, 4}}, {SN_F64, 2, {4, 5}}, {SN_F64, 3, {0, 3, 5}}},
  };
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const sn_type *a = &table[i].a, *b = &table[i].b, *y = &table[i].y;
    sn_tensor *ones = sn_full(ctx, SN_F64, a->rank, a->dims, 1);
    sn_tensor *along = sn_iota(ctx, SN_F64, b->rank, b->dims, b->rank == 1 ? 0 : b->rank - 2);
    sn_tensor *got = sn_matmul(ones, along);
    assert_non_null(got);
    assert_int_equal(sn_rank(got), y->rank);
    assert_memory_equal(sn_dims(got), y->dims, (size_t)y->rank * sizeof *y->dims);
    const double *data = sn_data(got);
    assert_non_null(data);
    for (int64_t k = 0; k < sn_size(got); k++) assert_true(data[k] == 0 + 1 + 2 + 3);
  }
  sn_scope_end(ctx);
}

/* ---- compositions ---------------------------------------------------------------------------- */

/* The first largest; the first NaN before all. */
static int32_t first_extremum(const double *row, int64_t n, double sign) {
  int64_t best = 0;
  for (int64_t i = 0; i < n; i++) {
    if (isnan(row[best])) break;
    if (isnan(row[i]) || sign * row[i] > sign * row[best]) best = i;
  }
  return (int32_t)best;
}

static void argmax_and_mean(void **state) {
  (void)state;
  static const int64_t sizes[] = {1, 2, 7, 16, 130, 257, 1000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    enum { ROWS = 5 };
    const int64_t n = sizes[i], dims[2] = {ROWS, n};
    double *data = malloc((size_t)(ROWS * n) * sizeof *data);
    for (int64_t k = 0; k < ROWS * n; k++) data[k] = (double)case_below(&rng, 50) - 25;
    data[n - 1] = NAN; /* of row 0 */
    data[n / 2] = NAN;
    if (n > 1) data[n] = data[2 * n - 1] = INFINITY; /* a tie in row 1 */
    assert_int_equal(sn_scope_begin(ctx), SN_OK);
    sn_tensor *x = sn_from_data(ctx, SN_F64, 2, dims, data);
    const int32_t *most = sn_data(sn_argmax(x, 1, false)), *least = sn_data(sn_argmin(x, -1, true));
    const double *mean = sn_data(sn_mean(x, 2, false));
    assert_true(most && least && mean);
    for (int64_t row = 0; row < ROWS; row++) {
      assert_int_equal(most[row], first_extremum(data + row * n, n, 1));
      assert_int_equal(least[row], first_extremum(data + row * n, n, -1));
      double sum = 0;
      for (int64_t k = 0; k < n; k++) sum += data[row * n + k];
      assert_true(isnan(sum) ? isnan(mean[row]) : mean[row] == sum / (double)n);
    }
    sn_scope_end(ctx);
    free(data);
  }
}

/* Stable for logits far from 0; classes as numbers and as a distribution; a class out of range
 * picks nothing. */
static void cross_entropy(void **state) {
  (void)state;
  enum { ROWS = 6, CLASSES = 10 };
  double logits[ROWS][CLASSES], picked[ROWS][CLASSES] = {{0}};
  int32_t labels[ROWS];
  for (int i = 0; i < ROWS; i++) {
    labels[i] = (int32_t)case_below(&rng, CLASSES);
    picked[i][labels[i]] = 1;
    for (int c = 0; c < CLASSES; c++)
      logits[i][c] = case_between(&rng, -5, 5) + (i == 1 ? 1e4 : i == 2 ? -1e4 : 0);
  }
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  sn_tensor *x = sn_from_data(ctx, SN_F64, 2, (int64_t[]){ROWS, CLASSES}, logits);
  sn_tensor *numbers = sn_from_data(ctx, SN_I32, 1, (int64_t[]){ROWS}, labels);
  sn_tensor *distribution = sn_from_data(ctx, SN_F64, 2, (int64_t[]){ROWS, CLASSES}, picked);
  const double *a = sn_data(sn_softmax_cross_entropy(x, numbers, SN_DEFAULT));
  const double *b = sn_data(sn_softmax_cross_entropy(x, distribution, SN_DEFAULT));
  assert_true(a && b);
  for (int i = 0; i < ROWS; i++) {
    long double top = -INFINITY, sum = 0;
    for (int c = 0; c < CLASSES; c++) top = fmaxl(top, logits[i][c]);
    for (int c = 0; c < CLASSES; c++) sum += expl(logits[i][c] - top);
    const double exact = (double)(top + logl(sum) - logits[i][labels[i]]);
    assert_true(fabs(a[i] - exact) <= 1e-12 * (1 + fabs(exact)));
    assert_true(fabs(b[i] - exact) <= 1e-12 * (1 + fabs(exact)));
  }
  sn_scope_end(ctx);
}

/* ---- the tests themselves -------------------------------------------------------------------- */

static void planted_errors_are_caught(void **state) {
  (void)state;
  exact_sum s = {0};
  for (int i = 0; i < 1000; i++) add_term(&s, i % 2 ? 1.5L : 1);
  const double sum = (double)s.sum;
  assert_true(is_close(SN_F32, sum, &s));
  assert_true(is_close(SN_F32, sum * (1 + 0x1p-23), &s));
  assert_false(is_close(SN_F32, sum + 1, &s)); /* one term twice */
  assert_false(is_close(SN_F32, sum * (1 + 32 * 0x1p-24), &s));
  assert_false(is_close(SN_F64, sum * (1 + 0x1p-40), &s));
  assert_false(is_close(SN_F32, NAN, &s));
  assert_false(is_close(SN_F32, INFINITY, &s));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planted_errors_are_caught),
      cmocka_unit_test(reductions),
      cmocka_unit_test(products_of_floats),
      cmocka_unit_test(long_reductions),
      cmocka_unit_test(fused_reductions),
      cmocka_unit_test(products),
      cmocka_unit_test(products_of_views),
      cmocka_unit_test(large_products),
      cmocka_unit_test(fused_products),
      cmocka_unit_test(product_shapes),
      cmocka_unit_test(argmax_and_mean),
      cmocka_unit_test(cross_entropy),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
