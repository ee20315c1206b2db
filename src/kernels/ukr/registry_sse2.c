/* registry_sse2.c - the GEMM micro-kernels of x86-64 builds; later rows are preferred. */
#include "kernels/ukr/ukr.h"

#define X86_ROWS(ROW)                                                  \
  ROW(AVX2, F32, 1, 6, 16, false, sn_gemm_f32_6x16_muladd__avx2)       \
  ROW(AVX2, F64, 1, 6, 8, false, sn_gemm_f64_6x8_muladd__avx2)         \
  ROW(AVX2, F32, 1, 6, 16, true, sn_gemm_f32_6x16__avx2)               \
  ROW(AVX2, F64, 1, 6, 8, true, sn_gemm_f64_6x8__avx2)                 \
  ROW(AVX2, I32, 1, 6, 16, false, sn_gemm_i32_6x16__avx2)              \
  ROW(AVX2, I32, 2, 6, 16, false, sn_gemm_pairs_6x16__avx2)            \
  ROW(AVX512, F32, 1, 8, 32, false, sn_gemm_f32_8x32_muladd__avx512)   \
  ROW(AVX512, F64, 1, 8, 16, false, sn_gemm_f64_8x16_muladd__avx512)   \
  ROW(AVX512, F32, 1, 8, 32, true, sn_gemm_f32_8x32__avx512)           \
  ROW(AVX512, F64, 1, 8, 16, true, sn_gemm_f64_8x16__avx512)           \
  ROW(AVX512, F32, 1, 14, 32, false, sn_gemm_f32_14x32_muladd__avx512) \
  ROW(AVX512, F64, 1, 14, 16, false, sn_gemm_f64_14x16_muladd__avx512) \
  ROW(AVX512, F32, 1, 14, 32, true, sn_gemm_f32_14x32__avx512)         \
  ROW(AVX512, F64, 1, 14, 16, true, sn_gemm_f64_14x16__avx512)         \
  ROW(AVX512, I32, 1, 14, 32, false, sn_gemm_i32_14x32__avx512)        \
  ROW(AVX512, I32, 2, 14, 32, false, sn_gemm_pairs_14x32__avx512)

#define ROWS(ROW) SN_GEMM_UKR_PORTABLE_ROWS(ROW) X86_ROWS(ROW)

X86_ROWS(SN_GEMM_UKR_DECLARE)
SN_GEMM_UKR_TABLE(ROWS)
