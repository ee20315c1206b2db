#include <wasm_simd128.h>

#include "kernels/vec128.h"

static inline vec_shorts low_bytes(vec_bytes v) {
  return (vec_shorts)wasm_u16x8_extend_low_u8x16((v128_t)v);
}
static inline vec_shorts high_bytes(vec_bytes v) {
  return (vec_shorts)wasm_u16x8_extend_high_u8x16((v128_t)v);
}
static inline vec_ints pairs(vec_shorts a, vec_shorts b) {
  return (vec_ints)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b);
}

#include "kernels/quant_rows.inc"
