#define SN_PACK_WIDTHS_f32(WIDTH, WIDTHS) WIDTH(4) WIDTH(8)
#define SN_PACK_WIDTHS_f64 SN_PACK_WIDTHS_f32
#include "kernels/pack.inc"
