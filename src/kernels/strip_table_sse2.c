#include "kernels/strip.h"

extern const sn_strips sn_strips_sse2, sn_strips_avx2, sn_strips_avx512;
extern const sn_strips sn_strips_fused_avx2, sn_strips_fused_avx512;

const sn_strips *sn_strips_for(sn_isa_id isa, bool fused) {
  if (isa == SN_ISA_AVX512) return fused ? &sn_strips_fused_avx512 : &sn_strips_avx512;
  if (isa == SN_ISA_AVX2) return fused ? &sn_strips_fused_avx2 : &sn_strips_avx2;
  return &sn_strips_sse2;
}
