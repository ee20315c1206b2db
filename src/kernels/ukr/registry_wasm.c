/* registry_wasm.c - WebAssembly: with SIMD128 the compiler vectors are the instruction set. 4 x 8
 * without unrolling runs at 94% of multiply and add in V8; larger blocks spill there and lose a
 * quarter. */
#include "kernels/ukr/ukr.h"

SN_GEMM_UKR_TABLE(SN_GEMM_UKR_VEC128_ROWS)
