#include "kernels/strip.h"

extern const sn_strips sn_strips_simd128, sn_strips_simd128_fused;

const sn_strips *sn_strips_for(sn_isa_id isa, bool fused) {
  (void)isa;
  return fused ? &sn_strips_simd128_fused : &sn_strips_simd128;
}
