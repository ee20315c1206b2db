/* emit_gemm.h - the micro-kernels of WebAssembly: one module per device, made when that is. The
 * fused ones need relaxed SIMD, which the core's own build may not know; the others are made alike.
 *
 *          float32   float64
 *   fused   6 x 8     6 x 4    12 sums, 2 vectors of B, 1 splat of A: 15 of 16 registers
 *   plain   4 x 8     4 x 4    8 sums; a product takes one, too
 *
 * int32 has the plain shape of float32, bytes with two terms in an element too; those with four, which one instruction
 * multiplies and adds, the fused one.
 *
 * Of a panel's rows 2, 4 or all are computed: in 54%, 71% of the time that 6 take.
 *
 * Contract: kernels/ukr/ukr.h. */
#ifndef SN_JIT_EMIT_GEMM_H
#define SN_JIT_EMIT_GEMM_H

#include "base/env.h"
#include "kernels/ukr/ukr.h"

/* out->module is NULL where there is no run-time code. */
sn_status sn_jit_gemm_make(sn_env *env, bool fused, sn_gemm_run_time *out);
void sn_jit_gemm_free(sn_gemm_run_time *gemm);

#endif
