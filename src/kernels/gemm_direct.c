#include "kernels/gemm_direct.h"

#include "kernels/gemm_columns.h"
#include "kernels/vec128.h"

/* Whether columns that lie along k go through squares in registers. A page downloads this code, and
 * hardly one has small products of float64. */
enum { SQUARES_f32 = 1, SQUARES_f64 = sizeof(void *) > 4 };

#define TYPE f32
#include "kernels/gemm_direct_type.h"
#undef TYPE
#define TYPE f64
#include "kernels/gemm_direct_type.h"
#undef TYPE

void sn_gemm_direct(const sn_gemm *g, const void *left, const void *right, int64_t l, int64_t rows,
                    int64_t r, int64_t cols, void *c, ptrdiff_t ldc, void *sums) {
  if (g->dtype == SN_F64)
    direct_f64(g, left, right, l, rows, r, cols, c, ldc, sums);
  else
    direct_f32(g, left, right, l, rows, r, cols, c, ldc, sums);
}
