/* gemm_ref.c - the definition of the micro-kernel (contract in ukr.h). An odd shape on purpose: it
 * shares no divisor with any vector length, so blocking and packing are tried with panels that no
 * SIMD kernel would show them. */
#include "kernels/ukr/ukr.h"

#define DEFINE_REFERENCE(function, real, MR, NR)                                                \
  sn_gemm_ukr_fn function, function##_rows;                                                     \
  void function(ptrdiff_t k, const void *a_panel, const void *b_panel, void *c_block,           \
                ptrdiff_t ldc, bool first) {                                                    \
    const real *a = a_panel, *b = b_panel;                                                      \
    for (int i = 0; i < MR; i++) {                                                              \
      for (int j = 0; j < NR; j++) {                                                            \
        real *c = (real *)c_block + i * ldc + j;                                                \
        real sum = 0;                                                                           \
        for (ptrdiff_t p = 0; p < k; p++) sum = sum + a[p * MR + i] * b[p * NR + j];            \
        *c = first ? sum : *c + sum;                                                            \
      }                                                                                         \
    }                                                                                           \
  }                                                                                             \
  void function##_rows(ptrdiff_t k, const void *runs, const void *b_panel, void *c_block,       \
                       ptrdiff_t ldc, bool first) {                                             \
    (void)k;                                                                                    \
    for (int i = 0; i < MR; i++) {                                                              \
      for (int j = 0; j < NR; j++) {                                                            \
        const real *b = b_panel;                                                                \
        real *c = (real *)c_block + i * ldc + j;                                                \
        real sum = 0;                                                                           \
        for (const ptrdiff_t *run = runs; run[0]; b += *run * NR, run += SN_GEMM_RUN_WORDS(MR)) \
          for (ptrdiff_t p = 0; p < run[0]; p++)                                                \
            sum = sum + ((const real *)run[1 + i])[p] * b[p * NR + j];                          \
        *c = first ? sum : *c + sum;                                                            \
      }                                                                                         \
    }                                                                                           \
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
