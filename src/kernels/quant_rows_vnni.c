/* quant_rows_vnni.c - quant_rows.h for AVX-512 with VNNI, whose instruction multiplies bytes without a sign by ones with. */
#include <immintrin.h>

#define SN_QUANT_VECTOR_BYTES 32
#define SN_QUANT_TILE_BYTES 64
#define SN_QUANT_X_ROWS 4
#define SN_QUANT_UNSIGNED
#include "kernels/quant_f16c.h"
#include "kernels/quant_part.h"

typedef uint8_t tile_bytes __attribute__((vector_size(SN_QUANT_TILE_BYTES)));
typedef int32_t tile_ints __attribute__((vector_size(SN_QUANT_TILE_BYTES)));

static inline q_ints fours(bool is_signed, q_ints sums, q_bytes w, q_bytes x) {
  (void)is_signed;
  return (q_ints)_mm256_dpbusd_epi32((__m256i)sums, (__m256i)w, (__m256i)x);
}

static inline tile_ints tile_fours(bool is_signed, tile_ints sums, tile_bytes w, tile_bytes x) {
  (void)is_signed;
  return (tile_ints)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)w, (__m512i)x);
}

#define SN_QUANT_TABLE sn_quant_vnni
#include "kernels/quant_rows.inc"
