/* Machines whose vector unit the compiler finds by itself. */
#define SN_SIMD_BYTES 16
#define SN_STRIPS_TABLE sn_strips_portable
#include "kernels/strip_kernels.inc"
