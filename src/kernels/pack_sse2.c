#define SN_PACK_WIDTHS(WIDTH) WIDTH(4) WIDTH(6) WIDTH(8) WIDTH(14) WIDTH(16) WIDTH(32)
#include "kernels/pack.inc"
