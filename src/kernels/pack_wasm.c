/* Of float32 4 x 8 and, made at run time, 6 x 8. A page downloads this code: float64 goes the
 * general way, which is a small part of its products. */
#define SN_PACK_WIDTHS_f32(WIDTH) WIDTH(4) WIDTH(6) WIDTH(8)
#define SN_PACK_WIDTHS_f64(WIDTH)
#include "kernels/pack.inc"
