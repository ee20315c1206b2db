#include "kernels/strip.h"

extern const sn_strips sn_strips_sse2, sn_strips_avx2, sn_strips_avx512;

const sn_strips *sn_strips_for(sn_isa_id isa) {
  if (isa == SN_ISA_AVX512) return &sn_strips_avx512;
  return isa == SN_ISA_AVX2 ? &sn_strips_avx2 : &sn_strips_sse2;
}
