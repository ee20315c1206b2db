/* gemm_columns.c - what gemm_direct.c cannot do without code that is written out. */
#include "kernels/gemm_columns.h"

#define TYPE f32
#include "kernels/gemm_columns_type.h"
#undef TYPE
#define TYPE f64
#include "kernels/gemm_columns_type.h"
#undef TYPE
