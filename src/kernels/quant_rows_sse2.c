#include <emmintrin.h>

#include "kernels/vec128.h"

static inline vec_shorts low_bytes(vec_bytes v) {
  return (vec_shorts)_mm_unpacklo_epi8((__m128i)v, _mm_setzero_si128());
}
static inline vec_shorts high_bytes(vec_bytes v) {
  return (vec_shorts)_mm_unpackhi_epi8((__m128i)v, _mm_setzero_si128());
}
static inline vec_ints pairs(vec_shorts a, vec_shorts b) {
  return (vec_ints)_mm_madd_epi16((__m128i)a, (__m128i)b);
}

#include "kernels/quant_rows.inc"
