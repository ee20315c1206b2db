/* gemm_ref.c - the definition of the micro-kernel (contract in ukr.h). An odd shape on purpose: it
 * shares no divisor with any vector length, so blocking and packing are tried with panels that no
 * SIMD kernel would show them. */
#include "kernels/ukr/ukr.h"

enum { MR = 3, NR = 5 };

#define DEFINE_REFERENCE(function, real)                                                           \
  void function(int64_t k, const void *a_panel, const void *b_panel, void *c_block, ptrdiff_t ldc, \
                bool first) {                                                                      \
    const real *a = a_panel, *b = b_panel;                                                         \
    for (int i = 0; i < MR; i++) {                                                                 \
      for (int j = 0; j < NR; j++) {                                                               \
        real *c = (real *)c_block + i * ldc + j;                                                   \
        real sum = 0;                                                                              \
        for (int64_t p = 0; p < k; p++) sum = sum + a[p * MR + i] * b[p * NR + j];                 \
        *c = first ? sum : *c + sum;                                                               \
      }                                                                                            \
    }                                                                                              \
  }

DEFINE_REFERENCE(sn_gemm_f32_3x5__ref, float)
DEFINE_REFERENCE(sn_gemm_f64_3x5__ref, double)
