/* gemm_avx512.c - micro-kernels for AVX-512: 14 x 2 vectors of sums, 2 of B and 1 of A in 32
 * registers; 8 x 2 for rows that are read where they lie, a register with an address for each.
 * _muladd rounds twice and so has the bits of the portable kernels. */
#include <immintrin.h>

#include "kernels/ukr/ukr.h"

#define UNROLL 4

#define NAME sn_gemm_f32_8x32__avx512
#define REAL float
#define VEC __m512
#define LANES 16
#define MR 8
#define NV 2
#define SPLAT(x) _mm512_set1_ps(x)
#define MADD(x, y, sum) _mm512_fmadd_ps((x), (y), (sum))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f32_8x32_muladd__avx512
#define REAL float
#define VEC __m512
#define LANES 16
#define MR 8
#define NV 2
#define SPLAT(x) _mm512_set1_ps(x)
#define MADD(x, y, sum) _mm512_add_ps((sum), _mm512_mul_ps((x), (y)))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f64_8x16__avx512
#define REAL double
#define VEC __m512d
#define LANES 8
#define MR 8
#define NV 2
#define SPLAT(x) _mm512_set1_pd(x)
#define MADD(x, y, sum) _mm512_fmadd_pd((x), (y), (sum))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f64_8x16_muladd__avx512
#define REAL double
#define VEC __m512d
#define LANES 8
#define MR 8
#define NV 2
#define SPLAT(x) _mm512_set1_pd(x)
#define MADD(x, y, sum) _mm512_add_pd((sum), _mm512_mul_pd((x), (y)))
#include "kernels/ukr/gemm_block.h"

/* int32: unsigned numbers wrap, and have the same bits. */
typedef uint32_t u32x16 __attribute__((vector_size(64), may_alias));

#define NAME sn_gemm_f32_14x32__avx512
#define REAL float
#define VEC __m512
#define LANES 16
#define MR 14
#define NV 2
#define SPLAT(x) _mm512_set1_ps(x)
#define MADD(x, y, sum) _mm512_fmadd_ps((x), (y), (sum))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f32_14x32_muladd__avx512
#define REAL float
#define VEC __m512
#define LANES 16
#define MR 14
#define NV 2
#define SPLAT(x) _mm512_set1_ps(x)
#define MADD(x, y, sum) _mm512_add_ps((sum), _mm512_mul_ps((x), (y)))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f64_14x16__avx512
#define REAL double
#define VEC __m512d
#define LANES 8
#define MR 14
#define NV 2
#define SPLAT(x) _mm512_set1_pd(x)
#define MADD(x, y, sum) _mm512_fmadd_pd((x), (y), (sum))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f64_14x16_muladd__avx512
#define REAL double
#define VEC __m512d
#define LANES 8
#define MR 14
#define NV 2
#define SPLAT(x) _mm512_set1_pd(x)
#define MADD(x, y, sum) _mm512_add_pd((sum), _mm512_mul_pd((x), (y)))
#include "kernels/ukr/gemm_block.h"

/* int32: unsigned numbers wrap, and have the same bits. */
typedef uint32_t u32x16 __attribute__((vector_size(64), may_alias));

#define NAME sn_gemm_i32_14x32__avx512
#define REAL uint32_t
#define VEC u32x16
#define LANES 16
#define MR 14
#define NV 2
#define SPLAT(x) ((u32x16){0} + (x))
#define MADD(x, y, sum) ((sum) + (x) * (y))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_pairs_14x32__avx512
#define REAL uint32_t
#define VEC u32x16
#define LANES 16
#define MR 14
#define NV 2
#define SPLAT(x) ((u32x16){0} + (x))
#define MADD(x, y, sum) ((sum) + (u32x16)_mm512_madd_epi16((__m512i)(x), (__m512i)(y)))
#include "kernels/ukr/gemm_block.h"
