#include <arm_neon.h>

#include "kernels/quant_side.h"

static inline rows_ints pairs(rows_shorts a, rows_shorts b) {
  const int32x4_t low = vmull_s16(vget_low_s16((int16x8_t)a), vget_low_s16((int16x8_t)b));
  return (rows_ints)vpaddq_s32(low, vmull_high_s16((int16x8_t)a, (int16x8_t)b));
}

#define SN_QUANT_TABLE sn_quant_neon
#include "kernels/quant_rows.inc"

const sn_quant_kernels *sn_quant_kernels_for(sn_isa_id isa) {
  (void)isa;
  return &sn_quant_neon;
}
