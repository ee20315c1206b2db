/* emit_gemm.h - the micro-kernels of WebAssembly: one module per device, made together with the device. The
 * fused ones need relaxed SIMD, which the core's own build may not have; the plain ones are made in the same way.
 *
 *          float32   float64
 *   fused   6 x 8     6 x 4    12 sums, 2 vectors of B, 1 splat of A: 15 of 16 registers
 *   plain   4 x 8     4 x 4    8 sums; a product before it is added takes a register, too
 *
 * int32 has the plain shape of float32, and so have bytes with two terms in an element. Bytes with four terms, which one
 * instruction multiplies and adds, have the fused shape.
 *
 * A kernel computes 2, 4 or all rows of a panel; 2 and 4 take 54% and 71% of the time of 6.
 *
 * Contract: kernels/ukr/ukr.h. */
#ifndef SN_JIT_EMIT_GEMM_H
#define SN_JIT_EMIT_GEMM_H

#include "base/env.h"
#include "kernels/ukr/ukr.h"

/* out->module is NULL if this platform makes no code at run time. */
sn_status sn_jit_gemm_make(sn_env *env, bool fused, sn_gemm_run_time *out);
void sn_jit_gemm_free(sn_gemm_run_time *gemm);

#endif
