/* quant_halves.h - halves() of quant_rows.inc by F16C, which machines with AVX2 have. */
#ifndef SN_KERNELS_QUANT_HALVES_H
#define SN_KERNELS_QUANT_HALVES_H

#include <immintrin.h>

#include "kernels/vec128.h"

#define SN_QUANT_HALVES
static inline vec_f32 halves(vec_ints bits) {
  return (vec_f32)_mm_cvtph_ps(_mm_packus_epi32((__m128i)bits, (__m128i)bits));
}

#endif
