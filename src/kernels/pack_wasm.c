/* 4 x 8, 4 x 4 and, made at run time, 6 x 8, 6 x 4 */
#define SN_PACK_WIDTHS_f32(WIDTH) WIDTH(4) WIDTH(6) WIDTH(8)
#define SN_PACK_WIDTHS_f64(WIDTH) WIDTH(4) WIDTH(6)
#include "kernels/pack.inc"
