#define SN_SIMD_BYTES 16
#define SN_STRIPS_TABLE sn_strips_simd128
#define SN_STRIPS_FUSED sn_strips_fused_simd128
#include "kernels/strip.h"
extern sn_strip_fn *const sn_strips_fused_simd128[SN_OP_COUNT];
#include "kernels/strip_kernels.inc"
