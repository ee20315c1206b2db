/* gemm_ref.c - the definition of the micro-kernel (contract in ukr.h). An odd shape on purpose: it
 * shares no divisor with any vector length, so blocking and packing are tried with panels that no
 * SIMD kernel would show them. */
#include "kernels/ukr/ukr.h"

#define DEFINE_REFERENCE(function, real, MR, NR)                                      \
  sn_gemm_ukr_fn function;                                                            \
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
DEFINE_REFERENCE(sn_gemm_f32_6x8__ref, float, 6, 8)
DEFINE_REFERENCE(sn_gemm_f64_6x4__ref, double, 6, 4)

const sn_gemm_ukr *sn_gemm_ukr_stand_in(sn_dtype dtype) {
  static const sn_gemm_ukr rows[] = {[SN_F32] = {"sn_gemm_f32_6x8__ref", sn_gemm_f32_6x8__ref,
                                                 SN_ISA_GENERIC, SN_F32, 6, 8, false},
                                     [SN_F64] = {"sn_gemm_f64_6x4__ref", sn_gemm_f64_6x4__ref,
                                                 SN_ISA_GENERIC, SN_F64, 6, 4, false}};
  return &rows[dtype];
}
