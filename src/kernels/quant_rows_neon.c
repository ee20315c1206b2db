#include <arm_neon.h>

#include "kernels/vec128.h"

static inline vec_ints pairs(vec_shorts a, vec_shorts b) {
  const int32x4_t low = vmull_s16(vget_low_s16((int16x8_t)a), vget_low_s16((int16x8_t)b));
  return (vec_ints)vpaddq_s32(low, vmull_high_s16((int16x8_t)a, (int16x8_t)b));
}

#define SN_QUANT_TABLE sn_quant_neon
#include "kernels/quant_rows.inc"

const sn_quant_kernels *sn_quant_kernels_for(sn_isa_id isa) {
  (void)isa;
  return sn_isa_dots_bytes() ? &sn_quant_dotprod : &sn_quant_neon;
}
