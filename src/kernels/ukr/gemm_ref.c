/* gemm_ref.c - the definition of the micro-kernel (contract in ukr.h). An odd shape on purpose: it
 * shares no divisor with any vector length, so blocking and packing are tried with panels that no
 * SIMD kernel would show them. */
#include "kernels/ukr/ukr.h"

#define DEFINE_REFERENCE(function, real, MR, NR)                                      \
  void function(ptrdiff_t k, const void *a_panel, const void *b_panel, void *c_block, \
                ptrdiff_t ldc, bool first) {                                          \
    const real *a = a_panel, *b = b_panel;                                            \
    for (int i = 0; i < MR; i++) {                                                    \
      for (int j = 0; j < NR; j++) {                                                  \
        real *c = (real *)c_block + i * ldc + j;                                      \
        real sum = 0;                                                                 \
        for (ptrdiff_t p = 0; p < k; p++) sum = sum + a[p * MR + i] * b[p * NR + j];  \
        *c = first ? sum : *c + sum;                                                  \
      }                                                                               \
    }                                                                                 \
  }

DEFINE_REFERENCE(sn_gemm_f32_3x5__ref, float, 3, 5)
DEFINE_REFERENCE(sn_gemm_f64_3x5__ref, double, 3, 5)

static sn_gemm_ukr_fn gemm_f32_6x8, gemm_f64_6x4;
static DEFINE_REFERENCE(gemm_f32_6x8, float, 6, 8) static DEFINE_REFERENCE(gemm_f64_6x4, double, 6,
                                                                           4)

    const sn_gemm_ukr *sn_gemm_ukr_stand_in(sn_dtype dtype) {
  static const sn_gemm_ukr rows[] = {
      [SN_F32] = {"sn_gemm_f32_6x8__ref", gemm_f32_6x8, SN_ISA_GENERIC, SN_F32, 6, 8, false},
      [SN_F64] = {"sn_gemm_f64_6x4__ref", gemm_f64_6x4, SN_ISA_GENERIC, SN_F64, 6, 4, false}};
  return &rows[dtype];
}
