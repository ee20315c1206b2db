#include <wasm_simd128.h>

#include "kernels/vec128.h"

static inline vec_ints pairs(vec_shorts a, vec_shorts b) {
  return (vec_ints)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b);
}

#define SN_QUANT_UNPACKED
#define SN_QUANT_TABLE sn_quant_simd128
#include "kernels/quant_rows.inc"

const sn_quant_kernels *sn_quant_kernels_for(sn_isa_id isa) {
  (void)isa;
  return &sn_quant_simd128;
}
