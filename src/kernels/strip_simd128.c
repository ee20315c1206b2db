#define SN_SIMD_BYTES 16
#define SN_STRIPS_COMPUTED true
#define SN_STRIPS_TABLE sn_strips_simd128
#include "kernels/strip_kernels.inc"
