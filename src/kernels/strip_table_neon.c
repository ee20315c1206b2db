#include "kernels/strip.h"

extern const sn_strips sn_strips_neon, sn_strips_fused_neon;

const sn_strips *sn_strips_for(sn_isa_id isa, bool fused) {
  (void)isa;
  return fused ? &sn_strips_fused_neon : &sn_strips_neon;
}
