/* gemm_ref.c - the definition of the micro-kernel (contract in ukr.h), in an odd shape on purpose:
 * it shares no divisor with any vector length, so blocking and packing are tried with panels that
 * no SIMD kernel would show them. And in the shapes of kernels made at run time, to stand in for
 * them.
 */
#include "kernels/ukr/ukr.h"

enum { MOST_ROWS = 6 };

/* Elements of a row are `step` apart in a run. */
#define DEFINE_SUMS(real)                                                                       \
  static void sums_##real(const ptrdiff_t *runs, int mr, int nr, ptrdiff_t step, const real *b, \
                          real *c, ptrdiff_t ldc, bool first, int rows) {                       \
    for (int i = 0; i < rows; i++) {                                                            \
      for (int j = 0; j < nr; j++) {                                                            \
        const real *right = b + j;                                                              \
        real sum = 0;                                                                           \
        for (const ptrdiff_t *run = runs; run[0]; run += SN_GEMM_RUN_WORDS(mr))                 \
          for (ptrdiff_t p = 0; p < run[0]; p++, right += nr)                                   \
            sum = sum + ((const real *)run[1 + i])[p * step] * *right;                          \
        c[i * ldc + j] = first ? sum : c[i * ldc + j] + sum;                                    \
      }                                                                                         \
    }                                                                                           \
  }                                                                                             \
  static void panel_##real(ptrdiff_t k, int mr, int nr, const real *a, const real *b, real *c,  \
                           ptrdiff_t ldc, bool first, int rows) {                               \
    ptrdiff_t run[SN_GEMM_RUN_WORDS(MOST_ROWS) + 1] = {k};                                      \
    for (int i = 0; i < mr; i++) run[1 + i] = (ptrdiff_t)(a + i);                               \
    run[SN_GEMM_RUN_WORDS(mr)] = 0;                                                             \
    sums_##real(run, mr, nr, mr, b, c, ldc, first, rows);                                       \
  }

#define DEFINE_REFERENCE(function, real, mr, nr)                                               \
  void function(ptrdiff_t k, const void *a, const void *b, void *c, ptrdiff_t ldc, bool first, \
                int rows) {                                                                    \
    panel_##real(k, mr, nr, a, b, c, ldc, first, rows);                                        \
  }                                                                                            \
  void function##_rows(ptrdiff_t k, const void *runs, const void *b, void *c, ptrdiff_t ldc,   \
                       bool first, int rows) {                                                 \
    (void)k;                                                                                   \
    sums_##real(runs, mr, nr, 1, b, c, ldc, first, rows);                                      \
  }

DEFINE_SUMS(float)
DEFINE_SUMS(double)
DEFINE_REFERENCE(sn_gemm_f32_3x5__ref, float, 3, 5)
DEFINE_REFERENCE(sn_gemm_f64_3x5__ref, double, 3, 5)
DEFINE_REFERENCE(sn_gemm_f32_4x8__ref, float, 4, 8)
DEFINE_REFERENCE(sn_gemm_f64_4x4__ref, double, 4, 4)
DEFINE_REFERENCE(sn_gemm_f32_6x8__ref, float, 6, 8)
DEFINE_REFERENCE(sn_gemm_f64_6x4__ref, double, 6, 4)
