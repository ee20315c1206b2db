/* gemm_direct.h - products without packing, for one row times a matrix and for tiny sizes.
 *
 * C (rows ldc elements apart) = left's rows l .. l + rows times right's columns r .. r + cols, over
 * k in the order of sums of gemm.h. sums: cols elements of scratch, used when k > sum. C's contents
 * before do not matter. */
#ifndef SN_KERNELS_GEMM_DIRECT_H
#define SN_KERNELS_GEMM_DIRECT_H

#include "kernels/gemm_plan.h"

void sn_gemm_direct(const sn_gemm *g, const void *left, const void *right, int64_t l, int64_t rows,
                    int64_t r, int64_t cols, void *c, ptrdiff_t ldc, void *sums);

#endif
