/* gemm_neon.c - micro-kernels for AArch64, whose multiply-adds take a factor from any lane of a
 * vector. Of 32 registers, fused: 24 for sums, 2 for A and 3 for B (float64: 3 and 4). _muladd
 * rounds twice and so has the bits of the portable kernels; its products take registers, so it has
 * 12 sums. */
#include <arm_neon.h>

#include "kernels/ukr/ukr.h"

/* Loaded one by one, the elements would take a register each, and sums would be spilled. */
#define COLUMN            \
  VEC column[MR / LANES]; \
  for (int v = 0; v < MR / LANES; v++) column[v] = *(const UNALIGNED *)(a + v * LANES);
#define LEFT(i) column[(i) / LANES][(i) % LANES]

#define NAME sn_gemm_f32_8x12__neon
#define REAL float
#define VEC float32x4_t
#define LANES 4
#define MR 8
#define NV 3
#define SPLAT(x) vdupq_n_f32(x)
#define MADD(x, y, sum) vfmaq_f32((sum), (x), (y))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f32_4x12_muladd__neon
#define REAL float
#define VEC float32x4_t
#define LANES 4
#define MR 4
#define NV 3
#define SPLAT(x) vdupq_n_f32(x)
#define MADD(x, y, sum) ((sum) + (x) * (y))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f64_6x8__neon
#define REAL double
#define VEC float64x2_t
#define LANES 2
#define MR 6
#define NV 4
#define SPLAT(x) vdupq_n_f64(x)
#define MADD(x, y, sum) vfmaq_f64((sum), (x), (y))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_f64_6x4_muladd__neon
#define REAL double
#define VEC float64x2_t
#define LANES 2
#define MR 6
#define NV 2
#define SPLAT(x) vdupq_n_f64(x)
#define MADD(x, y, sum) ((sum) + (x) * (y))
#include "kernels/ukr/gemm_block.h"

#define NAME sn_gemm_i32_8x12__neon
#define REAL uint32_t
#define VEC uint32x4_t
#define LANES 4
#define MR 8
#define NV 3
#define SPLAT(x) vdupq_n_u32(x)
#define MADD(x, y, sum) vmlaq_u32((sum), (x), (y))
#include "kernels/ukr/gemm_block.h"
