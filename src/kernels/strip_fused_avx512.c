#define SN_SIMD_BYTES 64
#define SN_FUSED true
#define SN_STRIPS_TABLE sn_strips_fused_avx512
#include "kernels/strip_kernels.inc"
