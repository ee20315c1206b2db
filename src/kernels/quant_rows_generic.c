#include "kernels/vec128.h"

static inline vec_ints pairs(vec_shorts a, vec_shorts b) {
  vec_ints out;
  for (int i = 0; i < 4; i++) out[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
  return out;
}

#define SN_QUANT_TABLE sn_quant_generic
#include "kernels/quant_rows.inc"

const sn_quant_kernels *sn_quant_kernels_for(sn_isa_id isa) {
  (void)isa;
  return &sn_quant_generic;
}
