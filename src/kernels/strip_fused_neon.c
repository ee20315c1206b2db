#define SN_SIMD_BYTES 16
#define SN_FUSED true
#define SN_STRIPS_TABLE sn_strips_fused_neon
#include "kernels/strip_kernels.inc"
