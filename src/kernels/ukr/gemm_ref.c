/* gemm_ref.c - the definition of the micro-kernel (contract in ukr.h), in an odd shape on purpose:
 * it shares no divisor with any vector length, so blocking and packing are tried with panels that
 * no SIMD kernel would show them. And in the shapes of kernels made at run time, to stand in for
 * them. */
#include "kernels/ukr/ukr.h"

/* Both forms: a panel is one run of k elements in each row, mr apart. */
#define DEFINE_SUMS(real)                                                                        \
  static void sums_##real(int mr, int nr, bool lists, ptrdiff_t k, const void *a, const real *b, \
                          real *c, ptrdiff_t ldc, bool first, int rows) {                        \
    for (int i = 0; i < rows; i++) {                                                             \
      for (int j = 0; j < nr; j++) {                                                             \
        const ptrdiff_t *run = a;                                                                \
        const real *right = b + j;                                                               \
        real sum = 0;                                                                            \
        for (ptrdiff_t n = lists ? run[0] : k; n; n = lists ? run[0] : 0) {                      \
          const real *left = lists ? (const real *)run[1 + i] : (const real *)a + i;             \
          for (; n; n--, left += lists ? 1 : mr, right += nr) sum = sum + *left * *right;        \
          run += SN_GEMM_RUN_WORDS(mr);                                                          \
        }                                                                                        \
        c[i * ldc + j] = first ? sum : c[i * ldc + j] + sum;                                     \
      }                                                                                          \
    }                                                                                            \
  }

#define DEFINE_FORM(function, lists, real, mr, nr)                                             \
  void function(ptrdiff_t k, const void *a, const void *b, void *c, ptrdiff_t ldc, bool first, \
                int rows) {                                                                    \
    sums_##real(mr, nr, lists, k, a, b, c, ldc, first, rows);                                  \
  }
#define DEFINE_REFERENCE(function, real, mr, nr) \
  DEFINE_FORM(function, false, real, mr, nr)     \
  DEFINE_FORM(function##_rows, true, real, mr, nr)

DEFINE_SUMS(float)
DEFINE_SUMS(double)
DEFINE_SUMS(uint32_t) /* int32: unsigned numbers wrap, and have the same bits */
DEFINE_REFERENCE(sn_gemm_f32_3x5__ref, float, 3, 5)
DEFINE_REFERENCE(sn_gemm_f64_3x5__ref, double, 3, 5)
DEFINE_REFERENCE(sn_gemm_f32_4x8__ref, float, 4, 8)
DEFINE_REFERENCE(sn_gemm_f64_4x4__ref, double, 4, 4)
DEFINE_REFERENCE(sn_gemm_f32_6x8__ref, float, 6, 8)
DEFINE_REFERENCE(sn_gemm_f64_6x4__ref, double, 6, 4)
DEFINE_REFERENCE(sn_gemm_i32_3x5__ref, uint32_t, 3, 5)
DEFINE_REFERENCE(sn_gemm_i32_4x8__ref, uint32_t, 4, 8)
DEFINE_REFERENCE(sn_gemm_i32_6x8__ref, uint32_t, 6, 8)
