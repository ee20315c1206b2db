/* gemm_ref.c - reference micro-kernels, which define the contract of ukr.h. One shape is odd on
 * purpose: it shares no divisor with any vector length, so blocking and packing are tested with panels
 * that no SIMD kernel has. The other shapes are those of kernels made at run time, which these replace
 * where they cannot be made. */
#include "kernels/ukr/ukr.h"

/* Both forms: a panel is one run of k elements in each row, mr apart. All shapes share one function, as code of its own for
 * each would be much to download for kernels that only stand in. */
#define DEFINE_SUMS(name, real, PRODUCT)                                                          \
  static __attribute__((noinline)) void sums_##name(int mr, int nr, bool lists, ptrdiff_t k,      \
                                                    const void *a, const real *b, real *c,        \
                                                    ptrdiff_t ldc, bool first, int rows) {        \
    for (int i = 0; i < rows; i++) {                                                              \
      for (int j = 0; j < nr; j++) {                                                              \
        const ptrdiff_t *run = a;                                                                 \
        const real *right = b + j;                                                                \
        real sum = 0;                                                                             \
        for (ptrdiff_t n = lists ? run[0] : k; n; n = lists ? run[0] : 0) {                       \
          const real *left = lists ? (const real *)run[1 + i] : (const real *)a + i;              \
          for (; n; n--, left += lists ? 1 : mr, right += nr) sum = sum + PRODUCT(*left, *right); \
          run += SN_GEMM_RUN_WORDS(mr);                                                           \
        }                                                                                         \
        c[i * ldc + j] = first ? sum : c[i * ldc + j] + sum;                                      \
      }                                                                                           \
    }                                                                                             \
  }

#define DEFINE_FORM(function, lists, name, mr, nr)                                             \
  void function(ptrdiff_t k, const void *a, const void *b, void *c, ptrdiff_t ldc, bool first, \
                int rows) {                                                                    \
    sums_##name(mr, nr, lists, k, a, b, c, ldc, first, rows);                                  \
  }
#define DEFINE_REFERENCE(function, name, mr, nr) \
  DEFINE_FORM(function, false, name, mr, nr)     \
  DEFINE_FORM(function##_rows, true, name, mr, nr)

#define TIMES(x, y) ((x) * (y))

static uint32_t product_of_pairs(uint32_t x, uint32_t y) {
  uint32_t sum = 0;
  for (int at = 0; at < 32; at += 16) sum += (uint32_t)((int16_t)(x >> at) * (int16_t)(y >> at));
  return sum;
}
static uint32_t product_of_fours(uint32_t x, uint32_t y) {
  uint32_t sum = 0;
  for (int at = 0; at < 32; at += 8) sum += (uint32_t)((uint8_t)(x >> at) * (int8_t)(y >> at));
  return sum;
}

DEFINE_SUMS(float, float, TIMES)
DEFINE_SUMS(double, double, TIMES)
DEFINE_SUMS(uint32_t, uint32_t, TIMES) /* int32: unsigned numbers wrap, and have the same bits */
DEFINE_SUMS(pairs, uint32_t, product_of_pairs)
DEFINE_SUMS(fours, uint32_t, product_of_fours)
DEFINE_REFERENCE(sn_gemm_f32_3x5__ref, float, 3, 5)
DEFINE_REFERENCE(sn_gemm_f64_3x5__ref, double, 3, 5)
DEFINE_REFERENCE(sn_gemm_f32_4x8__ref, float, 4, 8)
DEFINE_REFERENCE(sn_gemm_f64_4x4__ref, double, 4, 4)
DEFINE_REFERENCE(sn_gemm_f32_6x8__ref, float, 6, 8)
DEFINE_REFERENCE(sn_gemm_f64_6x4__ref, double, 6, 4)
DEFINE_REFERENCE(sn_gemm_i32_3x5__ref, uint32_t, 3, 5)
DEFINE_REFERENCE(sn_gemm_i32_4x8__ref, uint32_t, 4, 8)
DEFINE_REFERENCE(sn_gemm_pairs_4x8__ref, pairs, 4, 8)
DEFINE_REFERENCE(sn_gemm_fours_6x8__ref, fours, 6, 8)
