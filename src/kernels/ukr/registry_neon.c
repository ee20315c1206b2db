/* registry_neon.c - the GEMM micro-kernels of AArch64 builds; later rows are preferred. */
#include "kernels/ukr/ukr.h"

#define NEON_ROWS(ROW)                                           \
  ROW(NEON, F32, 1, 4, 12, false, sn_gemm_f32_4x12_muladd__neon) \
  ROW(NEON, F64, 1, 6, 4, false, sn_gemm_f64_6x4_muladd__neon)   \
  ROW(NEON, F32, 1, 8, 12, true, sn_gemm_f32_8x12__neon)         \
  ROW(NEON, F64, 1, 6, 8, true, sn_gemm_f64_6x8__neon)           \
  ROW(NEON, I32, 1, 8, 12, false, sn_gemm_i32_8x12__neon)

#define ROWS(ROW) SN_GEMM_UKR_PORTABLE_ROWS(ROW) NEON_ROWS(ROW)

NEON_ROWS(SN_GEMM_UKR_DECLARE)
SN_GEMM_UKR_TABLE(ROWS)
