#include <emmintrin.h>

#include "kernels/vec128.h"

static inline vec_ints pairs(vec_shorts a, vec_shorts b) {
  return (vec_ints)_mm_madd_epi16((__m128i)a, (__m128i)b);
}

#define SN_QUANT_TABLE sn_quant_sse2
#include "kernels/quant_rows.inc"

const sn_quant_kernels *sn_quant_kernels_for(sn_isa_id isa) {
  if (isa == SN_ISA_AVX512 && sn_isa_dots_bytes()) return &sn_quant_vnni;
  return isa == SN_ISA_AVX512 || isa == SN_ISA_AVX2 ? &sn_quant_avx2 : &sn_quant_sse2;
}
