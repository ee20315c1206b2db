/* Of float32 4 x 8 and 6 x 8. A page downloads this code: so it is one for all of them, and float64
 * goes the general way, which is a small part of its products. */
#define SN_PACK_WIDTHS_f32(WIDTH, WIDTHS) WIDTHS(4, 8)
#define SN_PACK_WIDTHS_f64(WIDTH, WIDTHS)
#include "kernels/pack.inc"
