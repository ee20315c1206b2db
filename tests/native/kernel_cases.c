#include "kernel_cases.h"

#include <math.h>
#include <stdio.h>

enum { MOST_MR = 16, MOST_NR = 32, MOST_K = 13, MARGIN = 4 };
enum { LD = MOST_NR + 2 * MARGIN, FIRST_RUN = 3 };

static const double UNTOUCHED = 12345;

/* Elements of any dtype; NaN, or ABSENT, wherever a kernel has nothing to look for. */
static const int32_t ABSENT = 0x5a5a5a5a;
typedef union elements {
  int32_t i32[LD * (MOST_MR + 2 * MARGIN)];
  float f32[LD * (MOST_MR + 2 * MARGIN)];
  double f64[LD * (MOST_MR + 2 * MARGIN)];
} elements;

typedef struct operands {
  const sn_gemm_ukr *ukr;
  int rows, k;
  bool lists, first;
  _Alignas(64) elements b;
  elements a, c;
  ptrdiff_t runs[2 * SN_GEMM_RUN_WORDS(MOST_MR) + 1];
} operands;

static double get(sn_dtype dtype, const elements *x, int at) {
  if (dtype == SN_I32) return x->i32[at];
  return dtype == SN_F64 ? x->f64[at] : (double)x->f32[at];
}

static void set(sn_dtype dtype, elements *x, int at, double value) {
  if (dtype == SN_I32)
    x->i32[at] = isnan(value) ? ABSENT : (int32_t)value;
  else if (dtype == SN_F64)
    x->f64[at] = value;
  else
    x->f32[at] = (float)value;
}

static void *address(sn_dtype dtype, elements *x, int at) {
  return dtype == SN_F64 ? (void *)&x->f64[at] : (void *)&x->f32[at];
}

static void fill(sn_dtype dtype, elements *x, double value) {
  for (int i = 0; i < (int)(sizeof x->f64 / sizeof x->f64[0]); i++) set(dtype, x, i, value);
}

/* Full mantissas, so that no sum is exact; of int32 all 32 bits, so that sums wrap. */
static double scaled(const operands *o, double x) {
  return o->ukr->dtype == SN_I32 ? floor(x * 0x1p31) : x;
}
static double element_of_a(const operands *o, int i, int p) {
  return scaled(o, 1.0 / (3 + i + 17 * p) - 0.1 * (p % 3));
}
static double element_of_b(const operands *o, int p, int j) {
  return scaled(o, 1.0 / (7 + j + 5 * p) - 0.07 * (j % 4));
}
static double element_of_c(const operands *o, int i, int j) {
  return scaled(o, 1.0 / (11 + 3 * i + j));
}

static int place_of_a(const operands *o, int i, int p) {
  return MARGIN + (o->lists ? i * MOST_K + p : p * o->ukr->mr + i);
}

static int place_of_c(int i, int j) { return (MARGIN + i) * LD + MARGIN + j; }

/* Rows that are none repeat the first one's address. */
static void list_runs(operands *o) {
  ptrdiff_t *word = o->runs;
  for (int p = 0, n; p < o->k; p += n) {
    n = p == 0 && o->k > FIRST_RUN ? FIRST_RUN : o->k - p;
    *word++ = n;
    for (int i = 0; i < o->ukr->mr; i++)
      *word++ = (ptrdiff_t)address(o->ukr->dtype, &o->a, place_of_a(o, i < o->rows ? i : 0, p));
  }
  *word = 0;
}

static void make(operands *o) {
  const sn_dtype dtype = o->ukr->dtype;
  fill(dtype, &o->a, (double)NAN);
  fill(dtype, &o->b, (double)NAN);
  fill(dtype, &o->c, UNTOUCHED);
  for (int p = 0; p < o->k; p++) {
    for (int i = 0; i < o->rows; i++) set(dtype, &o->a, place_of_a(o, i, p), element_of_a(o, i, p));
    for (int j = 0; j < o->ukr->nr; j++)
      set(dtype, &o->b, p * o->ukr->nr + j, element_of_b(o, p, j));
  }
  for (int i = 0; i < o->rows; i++)
    for (int j = 0; j < o->ukr->nr; j++)
      set(dtype, &o->c, place_of_c(i, j), o->first ? (double)NAN : element_of_c(o, i, j));
  list_runs(o);
}

static double expected32(const operands *o, int i, int j) {
  float sum = 0;
  for (int p = 0; p < o->k; p++) {
    const float x = (float)element_of_a(o, i, p), y = (float)element_of_b(o, p, j);
    sum = o->ukr->fused ? fmaf(x, y, sum) : sum + x * y;
  }
  return (double)(o->first ? sum : (float)element_of_c(o, i, j) + sum);
}

static double expected64(const operands *o, int i, int j) {
  double sum = 0;
  for (int p = 0; p < o->k; p++) {
    const double x = element_of_a(o, i, p), y = element_of_b(o, p, j);
    sum = o->ukr->fused ? fma(x, y, sum) : sum + x * y;
  }
  return o->first ? sum : element_of_c(o, i, j) + sum;
}

/* Of the terms that are in an element each. */
static uint32_t product_of(int together, uint32_t x, uint32_t y) {
  uint32_t sum = 0;
  for (int at = 0; at < 32 && together == 2; at += 16)
    sum += (uint32_t)((int16_t)(x >> at) * (int16_t)(y >> at));
  for (int at = 0; at < 32 && together == 4; at += 8)
    sum += (uint32_t)((uint8_t)(x >> at) * (int8_t)(y >> at));
  return together == 1 ? x * y : sum;
}

static double expected_int(const operands *o, int i, int j) {
  uint32_t sum = 0;
  for (int p = 0; p < o->k; p++)
    sum += product_of(o->ukr->together, (uint32_t)(int32_t)element_of_a(o, i, p),
                      (uint32_t)(int32_t)element_of_b(o, p, j));
  return (int32_t)(o->first ? sum : (uint32_t)(int32_t)element_of_c(o, i, j) + sum);
}

static double expected(const operands *o, int i, int j) {
  if (o->ukr->dtype == SN_I32) return expected_int(o, i, j);
  return o->ukr->dtype == SN_F64 ? expected64(o, i, j) : expected32(o, i, j);
}

static bool try_case(operands *o, char *why, size_t size) {
  const sn_gemm_ukr *ukr = o->ukr;
  make(o);
  (o->lists ? ukr->run_rows
            : ukr->run)(o->k, o->lists ? (void *)o->runs : address(ukr->dtype, &o->a, MARGIN),
                        &o->b, address(ukr->dtype, &o->c, place_of_c(0, 0)), LD, o->first, o->rows);
  for (int i = -MARGIN; i < MOST_MR + MARGIN; i++)
    for (int j = -MARGIN; j < MOST_NR + MARGIN; j++) {
      const bool inside = i >= 0 && i < o->rows && j >= 0 && j < ukr->nr;
      const double value = get(ukr->dtype, &o->c, place_of_c(i, j));
      const double wanted = inside ? expected(o, i, j) : UNTOUCHED;
      if (value == wanted) continue;
      snprintf(why, size, "%s %d x %d%s%s%s, rows %d, k %d: C(%d, %d) = %.17g, not %.17g",
               sn_isa_name(ukr->isa), ukr->mr, ukr->nr, ukr->fused ? " fused" : "",
               o->lists ? " lists" : "", o->first ? " first" : "", o->rows, o->k, i, j, value,
               wanted);
      return false;
    }
  return true;
}

bool kernel_cases(const sn_gemm_ukr *ukr, char *why, size_t size) {
  static const int ks[] = {0, 1, 2, 3, 4, 5, 7, 8, MOST_K};
  static operands o;
  o.ukr = ukr;
  for (int form = 0; form < 4; form++)
    for (o.rows = 1; o.rows <= ukr->mr; o.rows++)
      for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
        o.lists = form % 2 && ukr->together == 1;
        o.first = form / 2;
        o.k = ks[i];
        if (!try_case(&o, why, size)) return false;
      }
  return true;
}
