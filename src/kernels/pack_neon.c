#define SN_PACK_WIDTHS_f32(WIDTH) WIDTH(4) WIDTH(8) WIDTH(12)
#define SN_PACK_WIDTHS_f64(WIDTH) WIDTH(4) WIDTH(6) WIDTH(8)
#include "kernels/pack.inc"
