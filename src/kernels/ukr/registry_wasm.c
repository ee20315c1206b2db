/* registry_wasm.c - WebAssembly: its micro-kernels are made at run time (jit/emit_gemm.c); these stand
 * in where they cannot be. */
#include "kernels/ukr/ukr.h"

SN_GEMM_UKR_TABLE(SN_GEMM_UKR_STAND_IN_ROWS)
