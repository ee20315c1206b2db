/* gemm_avx2.c - micro-kernels for AVX2 with FMA: 6 x 2 vectors of sums, 2 of B and 1 of A in 16
 * registers. _muladd rounds twice and so has the bits of the portable kernels. */
#include <immintrin.h>

#include "kernels/ukr/ukr.h"

#define UNROLL 4

#define NAME sn_gemm_f32_6x16__avx2
#define REAL float
#define VEC __m256
#define LANES 8
#define MR 6
#define NV 2
#define SPLAT(x) _mm256_set1_ps(x)
#define MADD(x, y, sum) _mm256_fmadd_ps((x), (y), (sum))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f32_6x16_muladd__avx2
#define REAL float
#define VEC __m256
#define LANES 8
#define MR 6
#define NV 2
#define SPLAT(x) _mm256_set1_ps(x)
#define MADD(x, y, sum) _mm256_add_ps((sum), _mm256_mul_ps((x), (y)))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f64_6x8__avx2
#define REAL double
#define VEC __m256d
#define LANES 4
#define MR 6
#define NV 2
#define SPLAT(x) _mm256_set1_pd(x)
#define MADD(x, y, sum) _mm256_fmadd_pd((x), (y), (sum))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f64_6x8_muladd__avx2
#define REAL double
#define VEC __m256d
#define LANES 4
#define MR 6
#define NV 2
#define SPLAT(x) _mm256_set1_pd(x)
#define MADD(x, y, sum) _mm256_add_pd((sum), _mm256_mul_pd((x), (y)))
#include "kernels/ukr/gemm_block.h"

/* int32: unsigned numbers wrap, and have the same bits. */
typedef uint32_t u32x8 __attribute__((vector_size(32), may_alias));

#define NAME sn_gemm_i32_6x16__avx2
#define REAL uint32_t
#define VEC u32x8
#define LANES 8
#define MR 6
#define NV 2
#define SPLAT(x) ((u32x8){0} + (x))
#define MADD(x, y, sum) ((sum) + (x) * (y))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_pairs_6x16__avx2
#define REAL uint32_t
#define VEC u32x8
#define LANES 8
#define MR 6
#define NV 2
#define SPLAT(x) ((u32x8){0} + (x))
#define MADD(x, y, sum) ((sum) + (u32x8)_mm256_madd_epi16((__m256i)(x), (__m256i)(y)))
#include "kernels/ukr/gemm_block.h"
