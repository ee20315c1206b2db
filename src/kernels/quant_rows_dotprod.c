/* quant_rows_dotprod.c - quant_rows.h for AArch64 with dotprod, whose instruction multiplies bytes with a sign. */
#include <arm_neon.h>

#define SN_QUANT_VECTOR_BYTES 16
#define SN_QUANT_TILE_BYTES 16
#define SN_QUANT_X_ROWS 4
#include "kernels/quant_part.h"

typedef q_bytes tile_bytes;
typedef q_ints tile_ints;

static inline q_ints fours(bool is_signed, q_ints sums, q_bytes w, q_bytes x) {
  (void)is_signed;
  return (q_ints)vdotq_s32((int32x4_t)sums, (int8x16_t)w, (int8x16_t)x);
}
#define tile_fours fours

#define SN_QUANT_TABLE sn_quant_dotprod
#include "kernels/quant_rows.inc"
