/* gemm_columns.c - the part of gemm_direct.c that needs unrolled code. */
#include "kernels/gemm_columns.h"

#define TYPE f32
#include "kernels/gemm_columns_type.h"
#undef TYPE
#define TYPE f64
#include "kernels/gemm_columns_type.h"
#undef TYPE
