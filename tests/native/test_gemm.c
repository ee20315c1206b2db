/* test_gemm.c - matrix products against a plain loop, for every micro-kernel that this machine
 * runs.
 *
 * One large logical matrix per operand is stored in several layouts. Its top left corner of any
 * size is then an operand in any layout, by a choice of strides, and the exact sums of all corners
 * are known beforehand for each k. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel_cases.h"
#include "kernels/gemm.h"
#include "kernels/pack.h"
#include "support.h"

enum { SIZE = 80, LARGE = 600, SCRATCH_GUARD = 64 };

/* ---- operands -------------------------------------------------------------------------------- */

typedef struct layout {
  const char *name;
  int64_t rs, cs; /* of a square matrix of `size`; 0: size itself */
  bool reversed;  /* stored back to front: negative strides */
} layout;

static const layout layouts[] = {
    {"rows", 0, 1, false},    {"columns", 1, 0, false},         {"gaps", 0, 3, false},
    {"reversed", 0, 1, true}, {"reversed columns", 1, 0, true},
};
enum { PLAIN_LAYOUTS = 2, LAYOUTS = sizeof layouts / sizeof layouts[0] };

typedef struct matrix {
  void *block;       /* to free */
  const void *start; /* element (0, 0) */
  ptrdiff_t rs, cs;
} matrix;

static case_random draws = {12345};

/* Of few enough bits that float32 holds it. */
static double random_value(void) { return (double)case_below(&draws, 1 << 24) / (1 << 23) - 1.0; }

static size_t bytes_of(sn_dtype dtype) { return sn_dtype_bytes(dtype); }

static double get(sn_dtype dtype, const void *base, ptrdiff_t index) {
  if (dtype == SN_I32) return ((const int32_t *)base)[index];
  return dtype == SN_F64 ? ((const double *)base)[index] : (double)((const float *)base)[index];
}

static void set(sn_dtype dtype, void *base, ptrdiff_t index, double value) {
  if (dtype == SN_I32)
    ((int32_t *)base)[index] = (int32_t)value;
  else if (dtype == SN_F64)
    ((double *)base)[index] = value;
  else
    ((float *)base)[index] = (float)value;
}

/* values: size x size logical elements, row by row. */
static matrix store_matrix(sn_dtype dtype, const double *values, int64_t size, const layout *how) {
  const int64_t gap = how->cs > 1 ? how->cs : 1;
  matrix x = {.rs = how->rs ? how->rs : size * gap, .cs = how->cs ? how->cs : size};
  const size_t bytes = bytes_of(dtype);
  const int64_t last = (size - 1) * (x.rs + x.cs);
  x.block = calloc((size_t)last + 1, bytes);
  assert_non_null(x.block);
  ptrdiff_t start = 0;
  if (how->reversed) {
    start = last;
    x.rs = -x.rs;
    x.cs = -x.cs;
  }
  x.start = (char *)x.block + start * (ptrdiff_t)bytes;
  for (int64_t i = 0; i < size; i++)
    for (int64_t j = 0; j < size; j++)
      set(dtype, x.block, start + i * x.rs + j * x.cs, values[i * size + j]);
  return x;
}

/* In int32 up to 2^20: sums wrap, and are exact before that. */
static double *random_values(sn_dtype dtype, int64_t size) {
  double *values = malloc((size_t)(size * size) * sizeof *values);
  assert_non_null(values);
  for (int64_t i = 0; i < size * size; i++) {
    const double v = random_value();
    values[i] = dtype == SN_F64 ? v : dtype == SN_I32 ? floor(v * 0x1p20) : (double)(float)v;
  }
  return values;
}

/* ---- the plain loop -------------------------------------------------------------------------- */

/* The documented order of sums without fused multiply-add, hence its exact bits. */
static double ordered_sum(sn_dtype dtype, const double *a, const double *b, int64_t size, int64_t i,
                          int64_t j, int64_t k, int64_t kc) {
  double total64 = 0;
  float total32 = 0;
  for (int64_t p = 0; p < k; p += kc) {
    double sum64 = 0;
    float sum32 = 0;
    for (int64_t q = p; q < k && q < p + kc; q++) {
      const double x = a[i * size + q], y = b[q * size + j];
      sum64 = sum64 + x * y;
      sum32 = sum32 + (float)x * (float)y;
    }
    total64 = p == 0 ? sum64 : total64 + sum64;
    total32 = p == 0 ? sum32 : total32 + sum32;
  }
  if (dtype == SN_I32) return (int32_t)(int64_t)total64;
  return dtype == SN_F64 ? total64 : (double)total32;
}

typedef struct exact {
  long double *sum, *magnitude; /* size x size: of terms, and of their absolute values */
} exact;

static exact exact_sums(const double *a, const double *b, int64_t size, int64_t m, int64_t n,
                        int64_t k) {
  exact e = {.sum = calloc((size_t)(size * size), sizeof(long double)),
             .magnitude = calloc((size_t)(size * size), sizeof(long double))};
  assert_true(e.sum && e.magnitude);
  for (int64_t i = 0; i < m; i++)
    for (int64_t p = 0; p < k; p++)
      for (int64_t j = 0; j < n; j++) {
        const long double term = (long double)a[i * size + p] * b[p * size + j];
        e.sum[i * size + j] += term;
        e.magnitude[i * size + j] += fabsl(term);
      }
  return e;
}

static void exact_free(exact *e) {
  free(e->sum);
  free(e->magnitude);
}

/* ---- running a product ----------------------------------------------------------------------- */

typedef struct product {
  sn_gemm g;
  void *c; /* m x ld */
  ptrdiff_t ld;
} product;

enum { PAD = 3, ROWS_BELOW = 2 }; /* of C's memory, that nobody may touch */
static const double UNTOUCHED = 12345, ABSENT = 0x5a5a5a5a;

static void *lane_scratch(size_t bytes) {
  void *scratch = aligned_alloc(64, bytes + SCRATCH_GUARD);
  assert_non_null(scratch);
  memset(scratch, 0xff, bytes + SCRATCH_GUARD); /* NaN in both dtypes */
  return scratch;
}

static void free_scratch(void *scratch, size_t bytes) {
  for (size_t i = 0; i < SCRATCH_GUARD; i++)
    assert_int_equal(((unsigned char *)scratch)[bytes + i], 0xff);
  free(scratch);
}

static void plan_product(product *x, const sn_gemm_ukr *ukr, int64_t m, int64_t n, int64_t k,
                         const matrix *a, const matrix *b, int64_t sum_limit, bool always_pack,
                         sn_gemm_sharing sharing) {
  *x = (product){.ld = n + PAD,
                 .g = {.dtype = ukr->dtype,
                       .m = m,
                       .n = n,
                       .k = k,
                       .a = {.across = sn_nest_line(m, a->rs), .along = sn_nest_line(k, a->cs)},
                       .b = {.across = sn_nest_line(n, b->cs), .along = sn_nest_line(k, b->rs)},
                       .sum_limit = sum_limit,
                       .always_pack = always_pack,
                       .sharing = sharing}};
  sn_gemm_plan_with(&x->g, ukr);
  const double absent = ukr->dtype == SN_I32 ? ABSENT : (double)NAN;
  x->c = malloc((size_t)((m + ROWS_BELOW) * x->ld) * bytes_of(ukr->dtype));
  assert_non_null(x->c);
  for (int64_t i = 0; i < m + ROWS_BELOW; i++)
    for (int64_t j = 0; j < x->ld; j++)
      set(ukr->dtype, x->c, i * x->ld + j, i < m && j < n ? absent : UNTOUCHED);
}

/* What tiles share, packed last part first. */
static void *packed(const product *x, const matrix *a, const matrix *b) {
  void *shared = lane_scratch(x->g.shared_bytes);
  for (int64_t u = x->g.pack_units - 1; u >= 0; u--)
    sn_gemm_pack(&x->g, a->start, b->start, u, shared);
  return shared;
}

static void run_to(product *x, const matrix *a, const matrix *b) {
  void *scratch = lane_scratch(x->g.scratch_bytes), *shared = packed(x, a, b);
  for (int64_t t = x->g.tasks - 1; t >= 0; t--)
    sn_gemm_tile_to(&x->g, a->start, b->start, x->c, x->ld, t, shared, scratch);
  free_scratch(scratch, x->g.scratch_bytes);
  free_scratch(shared, x->g.shared_bytes);
  for (int64_t i = 0; i < x->g.m + ROWS_BELOW; i++)
    for (int64_t j = i < x->g.m ? x->g.n : 0; j < x->ld; j++)
      assert_true(get(x->g.dtype, x->c, i * x->ld + j) == UNTOUCHED);
}

/* What C holds before it is written. */
static bool is_absent(sn_dtype dtype, double value) {
  return dtype == SN_I32 ? value == ABSENT : isnan(value);
}

/* Stores must cover every element once: C starts as NaN and may not be a number before. */
static void store_once(void *user, void *lane, int64_t row, int64_t col, int64_t rows, int64_t cols,
                       void *tile, ptrdiff_t ld) {
  product *x = user;
  assert_ptr_equal(lane, x);
  assert_true(row >= 0 && col >= 0 && rows > 0 && cols > 0);
  assert_true(row + rows <= x->g.m && col + cols <= x->g.n);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) {
      const ptrdiff_t at = (row + i) * x->ld + col + j;
      assert_true(is_absent(x->g.dtype, get(x->g.dtype, x->c, at)));
      set(x->g.dtype, x->c, at, get(x->g.dtype, tile, i * ld + j));
    }
}

static void run_stored(product *x, const matrix *a, const matrix *b) {
  void *scratch = lane_scratch(x->g.scratch_bytes), *shared = packed(x, a, b);
  for (int64_t t = 0; t < x->g.tasks; t++)
    sn_gemm_tile(&x->g, a->start, b->start, t, shared, scratch, store_once, x, x);
  free_scratch(scratch, x->g.scratch_bytes);
  free_scratch(shared, x->g.shared_bytes);
}

/* As "%s %d x %d". */
#define SHAPE(ukr) sn_isa_name((ukr)->isa), (ukr)->mr, (ukr)->nr

static void check_close(const product *x, const exact *e, int64_t size, const char *what) {
  const sn_gemm *g = &x->g;
  const double unit = g->dtype == SN_F64 ? 0x1p-53 : 0x1p-24;
  const double factor = (8 + log2((double)(g->k ? g->k : 1))) * unit;
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      const double value = get(g->dtype, x->c, i * x->ld + j);
      const long double sum = e->sum[i * size + j], error = fabsl((long double)value - sum);
      const bool close = g->dtype == SN_I32
                             ? value == (int32_t)(int64_t)sum
                             : error <= (long double)factor * e->magnitude[i * size + j];
      if (!close)
        fail_msg("%s %d x %d %s: m %d n %d k %d, C(%d, %d) = %.9g, not %.9Lg", SHAPE(g->ukr), what,
                 (int)g->m, (int)g->n, (int)g->k, (int)i, (int)j, value, e->sum[i * size + j]);
    }
}

static bool runs_here(const sn_gemm_ukr *ukr) { return ukr->isa <= sn_isa_detect(); }
static bool available(const sn_gemm_ukr *ukr) { return runs_here(ukr) && ukr->together == 1; }

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_micro_kernels(void **state) {
  (void)state;
  char why[200];
  for (size_t i = 0; i < sn_gemm_ukr_count; i++)
    if (runs_here(&sn_gemm_ukrs[i]) && !kernel_cases(&sn_gemm_ukrs[i], why, sizeof why))
      fail_msg("%s", why);
}

/* Planted faults of a kernel: a row too many, and a k too short by one. */
static void write_beyond(ptrdiff_t k, const void *a, const void *b, void *c, ptrdiff_t ldc,
                         bool first, int rows) {
  sn_gemm_ukrs[0].run(k, a, b, c, ldc, first, rows + 1);
}

static void stop_short(ptrdiff_t k, const void *a, const void *b, void *c, ptrdiff_t ldc,
                       bool first, int rows) {
  sn_gemm_ukrs[0].run(k > 5 ? k - 1 : k, a, b, c, ldc, first, rows);
}

static void test_faults_are_found(void **state) {
  (void)state;
  char why[200];
  sn_gemm_ukr faulty = sn_gemm_ukrs[0];
  faulty.run = write_beyond;
  assert_false(kernel_cases(&faulty, why, sizeof why));
  faulty.run = stop_short;
  assert_false(kernel_cases(&faulty, why, sizeof why));
  faulty = sn_gemm_ukrs[0];
  faulty.fused = true;
  assert_false(kernel_cases(&faulty, why, sizeof why));
}

/* Every m <= 2 MR + 1 and n <= 2 NR + 1, k around the block of k, both unit strides for A and B. */
static void sweep_kernel(const sn_gemm_ukr *ukr) {
  enum { KC = 12 };
  static const int64_t ks[] = {0, 1, 2, 3, 7, KC - 1, KC, KC + 1, 2 * KC + 5};
  double *va = random_values(ukr->dtype, SIZE), *vb = random_values(ukr->dtype, SIZE);
  matrix a[PLAIN_LAYOUTS], b[PLAIN_LAYOUTS];
  for (int l = 0; l < PLAIN_LAYOUTS; l++) {
    a[l] = store_matrix(ukr->dtype, va, SIZE, &layouts[l]);
    b[l] = store_matrix(ukr->dtype, vb, SIZE, &layouts[l]);
  }
  /* Under sanitizers, where SINTER_TEST_SHORT is set, every fifth width: coprime to every panel. */
  const int64_t step = getenv("SINTER_TEST_SHORT") ? 5 : 1;
  for (size_t t = 0; t < sizeof ks / sizeof ks[0]; t++) {
    exact e = exact_sums(va, vb, SIZE, SIZE, SIZE, ks[t]);
    for (int64_t m = 0; m <= 2 * ukr->mr + 1; m++)
      for (int64_t n = m % step; n <= 2 * ukr->nr + 1; n += step)
        for (int l = 0; l < PLAIN_LAYOUTS * PLAIN_LAYOUTS; l++) {
          product x;
          plan_product(&x, ukr, m, n, ks[t], &a[l / 2], &b[l % 2], KC, true,
                       SN_GEMM_SHARES_NOTHING);
          run_to(&x, &a[l / 2], &b[l % 2]);
          check_close(&x, &e, SIZE, layouts[l / 2].name);
          free(x.c);
        }
    exact_free(&e);
  }
  for (int l = 0; l < PLAIN_LAYOUTS; l++) {
    free(a[l].block);
    free(b[l].block);
  }
  free(va);
  free(vb);
}

static void test_every_edge(void **state) {
  (void)state;
  for (size_t i = 0; i < sn_gemm_ukr_count; i++)
    if (available(&sn_gemm_ukrs[i])) sweep_kernel(&sn_gemm_ukrs[i]);
}

typedef struct shape {
  int64_t m, n, k;
} shape;

static const shape shapes[] = {
    {1, 1, 1},    {1, 1, 600},   {1, 40, 600}, {600, 1, 300}, {1, 600, 259}, {600, 1, 3},
    {600, 3, 64}, {3, 600, 64},  {5, 7, 11},   {16, 16, 8},   {12, 600, 1},  {90, 300, 290},
    {37, 64, 77}, {128, 128, 9}, {600, 10, 0}, {0, 5, 5},     {5, 0, 5},     {600, 5, 257},
};

/* Tall, flat, tiny and large products, all layouts, both ways of storing; without fused rounding
 * also the exact bits, whatever path was taken. */
static void check_shape(const sn_gemm_ukr *ukr, const shape *s, const exact *e, const double *va,
                        const double *vb, const matrix *a, const matrix *b) {
  const int every = case_short() ? 4 : 1; /* others for another sum, all of them over the shapes */
  for (int l = (int)s->k % every; l < LAYOUTS * LAYOUTS; l += every) {
    const matrix *al = &a[l / LAYOUTS], *bl = &b[l % LAYOUTS];
    product x, y;
    plan_product(&x, ukr, s->m, s->n, s->k, al, bl, 0, false, SN_GEMM_SHARES_NOTHING);
    run_to(&x, al, bl);
    for (int sharing = SN_GEMM_SHARES_OPERANDS; sharing <= SN_GEMM_SHARES_B; sharing++) {
      plan_product(&y, ukr, s->m, s->n, s->k, al, bl, 0, false, (sn_gemm_sharing)sharing);
      run_stored(&y, al, bl);
      assert_memory_equal(x.c, y.c, (size_t)(s->m * x.ld) * bytes_of(ukr->dtype));
      free(y.c);
    }
    check_close(&x, e, LARGE, layouts[l / LAYOUTS].name);
    const int64_t step = s->m * s->n > 10000 ? 101 : 1;
    for (int64_t at = 0; !ukr->fused && at < s->m * s->n; at += step) {
      const int64_t i = at / s->n, j = at % s->n;
      const double sum = ordered_sum(ukr->dtype, va, vb, LARGE, i, j, s->k, x.g.sum);
      if (get(ukr->dtype, x.c, i * x.ld + j) != sum)
        fail_msg("%s %d x %d: m %d n %d k %d: C(%d, %d) is not summed in order", SHAPE(ukr),
                 (int)s->m, (int)s->n, (int)s->k, (int)i, (int)j);
    }
    free(x.c);
  }
}

static void test_shapes_and_layouts(void **state) {
  (void)state;
  for (sn_dtype dtype = SN_F32; dtype <= SN_I32; dtype++) {
    double *va = random_values(dtype, LARGE), *vb = random_values(dtype, LARGE);
    matrix a[LAYOUTS], b[LAYOUTS];
    for (int l = 0; l < LAYOUTS; l++) {
      a[l] = store_matrix(dtype, va, LARGE, &layouts[l]);
      b[l] = store_matrix(dtype, vb, LARGE, &layouts[l]);
    }
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
      exact e = exact_sums(va, vb, LARGE, shapes[s].m, shapes[s].n, shapes[s].k);
      for (size_t i = 0; i < sn_gemm_ukr_count; i++)
        if (sn_gemm_ukrs[i].dtype == dtype && available(&sn_gemm_ukrs[i]))
          check_shape(&sn_gemm_ukrs[i], &shapes[s], &e, va, vb, a, b);
      exact_free(&e);
    }
    for (int l = 0; l < LAYOUTS; l++) {
      free(a[l].block);
      free(b[l].block);
    }
    free(va);
    free(vb);
  }
}

/* An element's bits depend neither on its place in a tile nor on the size of C, fused or not. */
static void test_bits_do_not_depend_on_place(void **state) {
  (void)state;
  enum { K = 50, KC = 16 };
  for (size_t u = 0; u < sn_gemm_ukr_count; u++) {
    const sn_gemm_ukr *ukr = &sn_gemm_ukrs[u];
    if (!available(ukr)) continue;
    double *va = random_values(ukr->dtype, SIZE), *vb = random_values(ukr->dtype, SIZE);
    const matrix a = store_matrix(ukr->dtype, va, SIZE, &layouts[0]);
    const matrix b = store_matrix(ukr->dtype, vb, SIZE, &layouts[1]);
    product whole;
    plan_product(&whole, ukr, SIZE, SIZE, K, &a, &b, KC, true, SN_GEMM_SHARES_NOTHING);
    run_to(&whole, &a, &b);
    for (int64_t from = 0; from < 20; from++) {
      const size_t bytes = bytes_of(ukr->dtype);
      matrix sa = a, sb = b;
      sa.start = (const char *)a.start + from * a.rs * (ptrdiff_t)bytes;
      sb.start = (const char *)b.start + 2 * from * b.cs * (ptrdiff_t)bytes;
      product part;
      plan_product(&part, ukr, 17 + from, SIZE - 2 * from, K, &sa, &sb, KC, true,
                   SN_GEMM_SHARES_NOTHING);
      run_to(&part, &sa, &sb);
      for (int64_t i = 0; i < part.g.m; i++)
        for (int64_t j = 0; j < part.g.n; j++)
          assert_true(get(ukr->dtype, part.c, i * part.ld + j) ==
                      get(ukr->dtype, whole.c, (i + from) * whole.ld + j + 2 * from));
      free(part.c);
    }
    free(whole.c);
    free(a.block);
    free(b.block);
    free(va);
    free(vb);
  }
}

/* NaN and infinities go where they belong and nowhere else, on packed and direct paths. */
static void test_special_values(void **state) {
  (void)state;
  static const shape sizes[] = {{40, 50, 20}, {4, 5, 6}, {1, 40, 20}, {40, 1, 20}};
  for (size_t u = 0; u < sn_gemm_ukr_count; u++) {
    const sn_gemm_ukr *ukr = &sn_gemm_ukrs[u];
    if (!available(ukr) || ukr->dtype == SN_I32) continue;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      double *va = random_values(ukr->dtype, SIZE), *vb = random_values(ukr->dtype, SIZE);
      va[0 * SIZE + 3] = (double)NAN;
      va[2 * SIZE + 5] = (double)INFINITY;
      vb[1 * SIZE + 0] = (double)-INFINITY;
      vb[5 * SIZE + 4] = 0; /* infinity * 0 */
      const matrix a = store_matrix(ukr->dtype, va, SIZE, &layouts[0]);
      const matrix b = store_matrix(ukr->dtype, vb, SIZE, &layouts[0]);
      product x;
      plan_product(&x, ukr, sizes[s].m, sizes[s].n, sizes[s].k, &a, &b, 8, false,
                   SN_GEMM_SHARES_NOTHING);
      run_to(&x, &a, &b);
      for (int64_t i = 0; i < x.g.m; i++)
        for (int64_t j = 0; j < x.g.n; j++) {
          const double sum = ordered_sum(SN_F64, va, vb, SIZE, i, j, x.g.k, x.g.sum);
          const double value = get(ukr->dtype, x.c, i * x.ld + j);
          assert_int_equal(isnan(value), isnan(sum));
          assert_int_equal(isinf(value), isinf(sum));
          if (isinf(sum)) assert_true(value == sum);
        }
      free(x.c);
      free(a.block);
      free(b.block);
      free(va);
      free(vb);
    }
  }
}

/* ---- bytes ------------------------------------------------------------------------------------ */

enum { BYTES = 70 };

typedef struct byte_matrix {
  uint8_t elements[BYTES * BYTES];
  bool is_signed;
} byte_matrix;

static int32_t byte_at(const byte_matrix *x, ptrdiff_t at) {
  return x->is_signed ? (int8_t)x->elements[at] : x->elements[at];
}

static sn_gemm_walk walk_of_bytes(const byte_matrix *x, sn_nest across, sn_nest along) {
  const sn_dtype dtype = x->is_signed ? SN_I8 : SN_U8;
  const sn_strips *strips = sn_strips_for(sn_isa_detect(), false);
  return (sn_gemm_walk){.across = across,
                        .along = along,
                        .small = dtype,
                        .widen = sn_strips_cast(strips, dtype, SN_I32)};
}

/* turned: bit 0 of a, bit 1 of b, by columns. */
static void check_bytes(const sn_gemm_ukr *ukr, const shape *s, const byte_matrix *a,
                        const byte_matrix *b, int turned, sn_gemm_sharing sharing) {
  const ptrdiff_t a_row = turned & 1 ? 1 : BYTES, a_col = turned & 1 ? BYTES : 1;
  const ptrdiff_t b_row = turned & 2 ? 1 : BYTES, b_col = turned & 2 ? BYTES : 1;
  const matrix left = {.start = a->elements}, right = {.start = b->elements};
  product x = {.ld = s->n + PAD,
               .g = {.dtype = SN_I32,
                     .m = s->m,
                     .n = s->n,
                     .of_bytes = s->k,
                     .a = walk_of_bytes(a, sn_nest_line(s->m, a_row), sn_nest_line(s->k, a_col)),
                     .b = walk_of_bytes(b, sn_nest_line(s->n, b_col), sn_nest_line(s->k, b_row)),
                     .sum_limit = 8,
                     .sharing = sharing}};
  sn_gemm_plan(&x.g, ukr);
  assert_int_equal(x.g.ukr->together, ukr->together);
  x.c = malloc((size_t)((s->m + ROWS_BELOW) * x.ld) * sizeof(int32_t));
  assert_non_null(x.c);
  for (int64_t i = 0; i < (s->m + ROWS_BELOW) * x.ld; i++) set(SN_I32, x.c, i, UNTOUCHED);
  run_to(&x, &left, &right);
  for (int64_t i = 0; i < s->m; i++)
    for (int64_t j = 0; j < s->n; j++) {
      int32_t sum = 0;
      for (int64_t p = 0; p < s->k; p++)
        sum += byte_at(a, i * a_row + p * a_col) * byte_at(b, p * b_row + j * b_col);
      if (get(SN_I32, x.c, i * x.ld + j) != sum)
        fail_msg("%s %d x %d, %d together, m %d n %d k %d: C(%d, %d) = %.0f, not %d", SHAPE(ukr),
                 ukr->together, (int)s->m, (int)s->n, (int)s->k, (int)i, (int)j,
                 get(SN_I32, x.c, i * x.ld + j), (int)sum);
    }
  free(x.c);
}

/* All bytes, the largest of both signs first, in every layout and of every length modulo what is put together. */
static void test_bytes(void **state) {
  (void)state;
  static const shape sizes[] = {{1, 1, 1},   {1, 40, 33},  {7, 9, 2},    {6, 8, 3}, {33, 3, 5},
                                 {3, 33, 70}, {70, 70, 70}, {32, 64, 68}, {5, 5, 0}, {64, 1, 31}};
  static byte_matrix a, b;
  int tried = 0;
  for (int i = 0; i < BYTES * BYTES; i++) {
    a.elements[i] = i % BYTES < 3 ? 255 : (uint8_t)case_below(&draws, 256);
    b.elements[i] = i / BYTES < 3 ? 128 : (uint8_t)case_below(&draws, 256);
  }
  for (size_t i = 0; i < sn_gemm_ukr_count; i++) {
    const sn_gemm_ukr *ukr = &sn_gemm_ukrs[i];
    for (int signs = 0; signs < 4 && ukr->together > 1 && runs_here(ukr); signs++) {
      if (ukr->together == 4 && signs != 2) continue; /* a uint8, b int8 */
      a.is_signed = signs & 1;
      b.is_signed = signs & 2;
      for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int turned = 0; turned < 4; turned++)
          check_bytes(ukr, &sizes[s], &a, &b, turned,
                      turned % 2 ? SN_GEMM_SHARES_OPERANDS : SN_GEMM_SHARES_NOTHING);
      tried++;
    }
  }
  assert_true(tried >= 5);
}

/* A kernel that takes 255 for -1, and one whose sums of two saturate. */
static void of_signed(ptrdiff_t k, const void *a, const void *b, void *c, ptrdiff_t ldc, bool first,
                      int rows) {
  (void)k, (void)ldc, (void)first, (void)rows;
  for (int j = 0; j < 8; j++)
    ((int32_t *)c)[j] = 4 * (int8_t) * (const uint8_t *)a * *(const int8_t *)b;
}
static void of_saturated(ptrdiff_t k, const void *a, const void *b, void *c, ptrdiff_t ldc,
                         bool first, int rows) {
  (void)k, (void)ldc, (void)first, (void)rows;
  const int two = 2 * *(const uint8_t *)a * *(const int8_t *)b;
  for (int j = 0; j < 8; j++)
    ((int32_t *)c)[j] = 2 * (two > INT16_MAX ? INT16_MAX : two < INT16_MIN ? INT16_MIN : two);
}

static bool always(const void *module) {
  (void)module;
  return true;
}

static void test_exactness_is_found_out(void **state) {
  (void)state;
  sn_gemm_run_time made = {.ready = always};
  assert_false(sn_gemm_sums_twos(NULL));
  assert_false(sn_gemm_sums_twos(&made));
  for (size_t i = 0; i < sn_gemm_ukr_count; i++) {
    if (sn_gemm_ukrs[i].together != 4) continue;
    sn_gemm_ukr ukr = sn_gemm_ukrs[i];
    assert_true(sn_gemm_ukr_is_exact(&ukr));
    made.fours = ukr;
    assert_false(sn_gemm_sums_twos(&made));
    ukr.run = of_signed;
    assert_false(sn_gemm_ukr_is_exact(&ukr));
    made.fours = ukr;
    assert_false(sn_gemm_sums_twos(&made));
    ukr.run = of_saturated;
    assert_false(sn_gemm_ukr_is_exact(&ukr));
    made.fours = ukr;
    assert_true(sn_gemm_sums_twos(&made));
  }
}

/* The registry always answers, and deterministic programs never get a fused kernel. */
static void test_registry(void **state) {
  (void)state;
  for (int isa = SN_ISA_GENERIC; isa <= SN_ISA_NEON; isa++)
    for (int deterministic = 0; deterministic < 2; deterministic++)
      for (sn_dtype dtype = SN_F32; dtype <= SN_I32; dtype++) {
        const sn_gemm_ukr *ukr = sn_gemm_ukr_for(dtype, (sn_isa_id)isa, deterministic != 0);
        assert_non_null(ukr);
        assert_int_equal(ukr->dtype, dtype);
        assert_true((int)ukr->isa <= isa);
        assert_false(deterministic && ukr->fused);
      }
  assert_string_equal(sn_isa_name(SN_ISA_SIMD128), "simd128");
  print_message("kernels up to %s\n", sn_isa_name(sn_isa_detect()));
}

static sn_gemm plain_product(sn_dtype dtype, const shape *s, bool trans_a) {
  return (sn_gemm){.dtype = dtype,
                   .m = s->m,
                   .n = s->n,
                   .k = s->k,
                   .a = {.across = sn_nest_line(s->m, trans_a ? 1 : s->k),
                         .along = sn_nest_line(s->k, trans_a ? s->m : 1)},
                   .b = {.across = sn_nest_line(s->n, 1), .along = sn_nest_line(s->k, s->n)}};
}

/* Tiles come from sizes alone: enough of them for many lanes, none empty, all of C covered. */
static void test_plan(void **state) {
  (void)state;
  static const shape sizes[] = {{512, 512, 512}, {128, 256, 784}, {4096, 10, 512}, {1, 4096, 4096}};
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    sn_gemm g = plain_product(SN_F32, &sizes[s], false);
    sn_gemm_plan(&g, sn_gemm_ukr_for(SN_F32, sn_isa_detect(), false));
    assert_true(g.tasks == g.left.blocks * g.right.blocks);
    assert_true(g.tasks >= 4);
    assert_true(g.left.block * (g.left.blocks - 1) < g.left.width);
    assert_true(g.right.block * (g.right.blocks - 1) < g.right.width);
    assert_true(g.left.block * g.left.blocks >= g.left.width);
    assert_true(g.right.block * g.right.blocks >= g.right.width);
    assert_true(g.kc <= g.k && g.scratch_bytes <= 2 << 20 && !g.pack_units);
    g.sharing = SN_GEMM_SHARES_OPERANDS;
    sn_gemm_plan(&g, sn_gemm_ukr_for(SN_F32, sn_isa_detect(), false));
    const int64_t most = g.k * (g.m + g.n + 2 * SN_PACK_MOST) * 4;
    assert_true((int64_t)g.shared_bytes <= most &&
                (g.pack_units > 0) == (g.tasks > 1 && !g.direct));
  }
}

/* Rows that meet few columns are read where they lie, by a kernel of the same bits; few columns are
 * not padded to twice as many; a large product has the kernel that was asked for. */
static void test_smaller_kernels(void **state) {
  (void)state;
  static const shape rows = {4096, 16, 144}, columns = {20, 16, 4096}, large = {512, 512, 512};
  for (int isa = SN_ISA_GENERIC; isa <= SN_ISA_NEON; isa++)
    for (int deterministic = 0; deterministic < 2; deterministic++)
      for (sn_dtype dtype = SN_F32; dtype <= SN_I32; dtype++) {
        const sn_gemm_ukr *ukr = sn_gemm_ukr_for(dtype, (sn_isa_id)isa, deterministic != 0);
        sn_gemm g = plain_product(dtype, &rows, false);
        sn_gemm_plan(&g, ukr);
        assert_true(g.left.run_bytes > 0 && g.ukr->fused == ukr->fused && g.ukr->isa <= ukr->isa);
        g = plain_product(dtype, &columns, true);
        sn_gemm_plan(&g, ukr);
        assert_true(g.left.run_bytes == 0 && g.ukr->nr <= 16 && g.ukr->fused == ukr->fused);
        g = plain_product(dtype, &large, false);
        sn_gemm_plan(&g, ukr);
        assert_ptr_equal(g.ukr, ukr);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_registry),
      cmocka_unit_test(test_plan),
      cmocka_unit_test(test_smaller_kernels),
      cmocka_unit_test(test_micro_kernels),
      cmocka_unit_test(test_faults_are_found),
      cmocka_unit_test(test_every_edge),
      cmocka_unit_test(test_shapes_and_layouts),
      cmocka_unit_test(test_bits_do_not_depend_on_place),
      cmocka_unit_test(test_special_values),
      cmocka_unit_test(test_bytes),
      cmocka_unit_test(test_exactness_is_found_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
