/* gemm_vec128.c - micro-kernels on the compiler's own 16-byte vectors: SSE2, NEON, plain C where
 * there is none. 4 x 2 vectors of sums leave room for B, A and a product in 16 registers. */
#include "kernels/ukr/ukr.h"

typedef float f32x4 __attribute__((vector_size(16), may_alias));
/* int32: unsigned numbers wrap, and have the same bits. */
typedef uint32_t u32x4 __attribute__((vector_size(16), may_alias));
typedef double f64x2 __attribute__((vector_size(16), may_alias));

#define NAME sn_gemm_f32_4x8__vec128
#define REAL float
#define VEC f32x4
#define LANES 4
#define MR 4
#define NV 2
#define SPLAT(x) ((f32x4){(x), (x), (x), (x)})
#define MADD(x, y, sum) ((sum) + (x) * (y))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f64_4x4__vec128
#define REAL double
#define VEC f64x2
#define LANES 2
#define MR 4
#define NV 2
#define SPLAT(x) ((f64x2){(x), (x)})
#define MADD(x, y, sum) ((sum) + (x) * (y))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_i32_4x8__vec128
#define REAL uint32_t
#define VEC u32x4
#define LANES 4
#define MR 4
#define NV 2
#define SPLAT(x) ((u32x4){(x), (x), (x), (x)})
#define MADD(x, y, sum) ((sum) + (x) * (y))
#include "kernels/ukr/gemm_block.h"
