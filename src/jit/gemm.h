/* gemm.h - the micro-kernels of WebAssembly: one module per context, made when the context is. Fused
 * multiply-add is relaxed SIMD there, which the core's own build may not know; and an engine's own
 * kernels need no room in the package.
 *
 *   float32: 6 x 8, float64: 6 x 4      12 sums, 2 vectors of B, 1 splat of A: 15 of 16 registers
 *
 * Of 1, 2 ... 6 rows 2, 4 or 6 are computed.
 *
 * Contract: kernels/ukr/ukr.h. */
#ifndef SN_JIT_GEMM_H
#define SN_JIT_GEMM_H

#include "jit/modules.h"
#include "kernels/ukr/ukr.h"

typedef struct sn_jit_gemm {
  sn_gemm_run_time kernels;
  sn_code_module *module;
} sn_jit_gemm;

/* module NULL where there is no run-time code: kernels are then not to be used. */
sn_status sn_jit_gemm_make(sn_env *env, bool fused, sn_jit_gemm *out);
void sn_jit_gemm_free(sn_jit_gemm *gemm);

#endif
