/* quant_f16c.h - widen_f16() of quant_rows.inc by F16C, which machines with AVX2 have. */
#ifndef SN_KERNELS_QUANT_F16C_H
#define SN_KERNELS_QUANT_F16C_H

#include <immintrin.h>

#include "kernels/vec128.h"

#define SN_QUANT_WIDENS_F16
static inline vec_f32 widen_f16(vec_ints bits) {
  return (vec_f32)_mm_cvtph_ps(_mm_packus_epi32((__m128i)bits, (__m128i)bits));
}

#endif
