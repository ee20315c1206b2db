/* gemm_columns.h - two vectors of columns of a product: out[j] += x y_j, k products one after the
 * other, where x has stride xs and column j of y is contiguous along k from y + j * ws on. */
#ifndef SN_KERNELS_GEMM_COLUMNS_H
#define SN_KERNELS_GEMM_COLUMNS_H

#include <stddef.h>

#include "kernels/vec128.h"

enum { SN_GEMM_COLUMN_VECTORS = 2 };

void sn_gemm_add_columns_f32(float *restrict out, const float *x, ptrdiff_t xs, const float *y,
                             ptrdiff_t ws, ptrdiff_t k);
void sn_gemm_add_columns_f64(double *restrict out, const double *x, ptrdiff_t xs, const double *y,
                             ptrdiff_t ws, ptrdiff_t k);

#endif
