/* registry_generic.c - machines without kernels of their own: compiler vectors only. */
#include "kernels/ukr/ukr.h"

SN_GEMM_UKR_TABLE(SN_GEMM_UKR_PORTABLE_ROWS)
