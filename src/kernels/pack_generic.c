#define SN_PACK_WIDTHS(WIDTH) WIDTH(4) WIDTH(8)
#include "kernels/pack.inc"
