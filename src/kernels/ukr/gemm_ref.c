/* gemm_ref.c - the definition of the micro-kernel (contract in ukr.h). An odd shape on purpose: it
 * shares no divisor with any vector length, so blocking and packing are tried with panels that no
 * SIMD kernel would show them. */
#include "kernels/ukr/ukr.h"

/* Both forms: elements of a row are `step` apart in a run. */
#define DEFINE_REFERENCE(function, real, MR, NR)                                                 \
  sn_gemm_ukr_fn function, function##_rows;                                                      \
  static void function##_sums(const ptrdiff_t *runs, ptrdiff_t step, const real *b, real *c,     \
                              ptrdiff_t ldc, bool first) {                                       \
    for (int i = 0; i < MR; i++) {                                                               \
      for (int j = 0; j < NR; j++) {                                                             \
        const real *right = b + j;                                                               \
        real sum = 0;                                                                            \
        for (const ptrdiff_t *run = runs; run[0]; run += SN_GEMM_RUN_WORDS(MR))                  \
          for (ptrdiff_t p = 0; p < run[0]; p++, right += NR)                                    \
            sum = sum + ((const real *)run[1 + i])[p * step] * *right;                           \
        c[i * ldc + j] = first ? sum : c[i * ldc + j] + sum;                                     \
      }                                                                                          \
    }                                                                                            \
  }                                                                                              \
  void function(ptrdiff_t k, const void *a, const void *b, void *c, ptrdiff_t ldc, bool first) { \
    ptrdiff_t run[SN_GEMM_RUN_WORDS(MR) + 1] = {k};                                              \
    for (int i = 0; i < MR; i++) run[1 + i] = (ptrdiff_t)((const real *)a + i);                  \
    function##_sums(run, MR, b, c, ldc, first);                                                  \
  }                                                                                              \
  void function##_rows(ptrdiff_t k, const void *runs, const void *b, void *c, ptrdiff_t ldc,     \
                       bool first) {                                                             \
    (void)k;                                                                                     \
    function##_sums(runs, 1, b, c, ldc, first);                                                  \
  }

DEFINE_REFERENCE(sn_gemm_f32_3x5__ref, float, 3, 5)
DEFINE_REFERENCE(sn_gemm_f64_3x5__ref, double, 3, 5)
DEFINE_REFERENCE(sn_gemm_f32_6x8__ref, float, 6, 8)
DEFINE_REFERENCE(sn_gemm_f64_6x4__ref, double, 6, 4)

const sn_gemm_ukr *sn_gemm_ukr_stand_in(sn_dtype dtype) {
#define STAND_IN(dtype, mr, nr, function) \
  [dtype] = { #function, function, function##_rows, SN_ISA_GENERIC, dtype, mr, nr, false }
  static const sn_gemm_ukr rows[] = {STAND_IN(SN_F32, 6, 8, sn_gemm_f32_6x8__ref),
                                     STAND_IN(SN_F64, 6, 4, sn_gemm_f64_6x4__ref)};
  return &rows[dtype];
}
