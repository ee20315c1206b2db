#define SN_SIMD_BYTES 32
#define SN_FUSED true
#define SN_STRIPS_TABLE sn_strips_fused_avx2
#include "kernels/strip_kernels.inc"
