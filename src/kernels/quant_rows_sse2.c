#include <emmintrin.h>

#include "kernels/vec128.h"

static inline vec_ints pairs(vec_shorts a, vec_shorts b) {
  return (vec_ints)_mm_madd_epi16((__m128i)a, (__m128i)b);
}

#include "kernels/quant_rows.inc"
