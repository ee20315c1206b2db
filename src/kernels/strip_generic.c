/* For machines without a file of their own: the compiler maps the vectors to what there is. */
#define SN_SIMD_BYTES 16
#define SN_STRIPS_TABLE sn_strips_portable
#include "kernels/strip_kernels.inc"
