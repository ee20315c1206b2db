#include <immintrin.h>

#define SN_QUANT_VECTOR_BYTES 32
#include "kernels/quant_side.h"

static inline rows_ints pairs(rows_shorts a, rows_shorts b) {
  return (rows_ints)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}

#define SN_QUANT_HALVES
static inline vec_f32 halves(vec_ints bits) {
  return (vec_f32)_mm_cvtph_ps(_mm_packus_epi32((__m128i)bits, (__m128i)bits));
}

#define SN_QUANT_TABLE sn_quant_avx2
#include "kernels/quant_rows.inc"
