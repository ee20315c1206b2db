#include <emmintrin.h>

#include "kernels/quant_side.h"

static inline rows_ints pairs(rows_shorts a, rows_shorts b) {
  return (rows_ints)_mm_madd_epi16((__m128i)a, (__m128i)b);
}

#define SN_QUANT_TABLE sn_quant_sse2
#include "kernels/quant_rows.inc"

const sn_quant_kernels *sn_quant_kernels_for(sn_isa_id isa) {
  return isa == SN_ISA_SSE2 ? &sn_quant_sse2 : &sn_quant_avx2;
}
