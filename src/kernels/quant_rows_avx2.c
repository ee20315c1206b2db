#include <immintrin.h>

#define SN_QUANT_VECTOR_BYTES 32
#define SN_QUANT_TILE_BYTES 32
#define SN_QUANT_X_ROWS 2
#include "kernels/quant_f16c.h"
#include "kernels/quant_part.h"

typedef q_bytes tile_bytes;
typedef q_ints tile_ints;

/* Products of two neighbours are added in 16 bits first, which hold them: numbers without a sign have at most 6 bits, and else
 * the sign goes over to x. */
static inline q_ints fours(bool is_signed, q_ints sums, q_bytes w, q_bytes x) {
  const __m256i size = is_signed ? _mm256_abs_epi8((__m256i)w) : (__m256i)w;
  const __m256i other = is_signed ? _mm256_sign_epi8((__m256i)x, (__m256i)w) : (__m256i)x;
  const __m256i pairs = _mm256_maddubs_epi16(size, other);
  return sums + (q_ints)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
#define tile_fours fours

#define SN_QUANT_TABLE sn_quant_avx2
#include "kernels/quant_rows.inc"
