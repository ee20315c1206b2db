#include "kernels/strip.h"

#include <math.h>

#include "graph/convert.h"

void sn_strip_fill(sn_dtype dtype, void *strip, double value, int64_t n) {
  switch (dtype) {
  case SN_F32:
    for (int64_t i = 0; i < n; i++) ((float *)strip)[i] = (float)value;
    break;
  case SN_F64:
    for (int64_t i = 0; i < n; i++) ((double *)strip)[i] = value;
    break;
  case SN_I32:
    for (int64_t i = 0; i < n; i++) ((int32_t *)strip)[i] = sn_i32_from_f64(value);
    break;
  default:
    for (int64_t i = 0; i < n; i++) ((int32_t *)strip)[i] = -(int32_t)(value != 0);
    break;
  }
}

void sn_strip_splat(sn_dtype dtype, void *strip, int64_t n) {
  if (dtype == SN_F64)
    for (int64_t i = 1; i < n; i++) ((double *)strip)[i] = *(const double *)strip;
  else
    for (int64_t i = 1; i < n; i++) ((int32_t *)strip)[i] = *(const int32_t *)strip;
}
