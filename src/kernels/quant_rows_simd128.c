#include <wasm_simd128.h>

#include "kernels/vec128.h"

static inline vec_ints pairs(vec_shorts a, vec_shorts b) {
  return (vec_ints)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b);
}

#include "kernels/quant_rows.inc"
