#define SN_PACK_WIDTHS_f32(WIDTH, WIDTHS) WIDTH(4) WIDTH(8)
#define SN_PACK_WIDTHS_f64 SN_PACK_WIDTHS_f32
#define SN_PACK_HALF(s) pack_bits
#include "kernels/pack.inc"

/* Strip kernels make the values. */
const bool sn_pack_widens = false;
