/* scalar_simd128.c - ops on single values in WebAssembly, as strips of one element: so a page does not
 * download the functions a second time. Natively: graph/scalar_posix.c. */
#include "graph/scalar.h"

#include "kernels/strip.h"

typedef union element {
  float f32;
  double f64;
  int32_t i32; /* a bool is a mask */
} element;

static element element_of(sn_dtype dtype, double x) {
  switch (dtype) {
  case SN_F32: return (element){.f32 = (float)x};
  case SN_F64: return (element){.f64 = x};
  case SN_I32: return (element){.i32 = (int32_t)x};
  default: return (element){.i32 = -(x != 0)};
  }
}

double sn_op_scalar(sn_op op, sn_dtype dtype, bool fused, double a, double b) {
  const sn_strips *strips = sn_strips_for(SN_ISA_SIMD128, false);
  const sn_op_info *info = sn_op_describe(op);
  const element x = element_of(dtype, a), y = element_of(dtype, b);
  element out = {.f64 = 0};
  sn_strip_fn *run =
      info->kind == SN_CLASS_REDUCE ? strips->combine[op][dtype] : strips->op[op][dtype];
  run(&out, &x, &y, &x, 1, fused);
  if (dtype == SN_BOOL || info->kind == SN_CLASS_COMPARE) return -out.i32;
  return dtype == SN_F32 ? (double)out.f32 : dtype == SN_F64 ? out.f64 : out.i32;
}

uint16_t sn_half_bits(sn_dtype dtype, float value) {
  uint32_t bits;
  sn_strips_for(SN_ISA_SIMD128, false)->narrow[dtype - SN_F16](&bits, &value, &value, &value, 1, false);
  return (uint16_t)bits;
}

float sn_half_value(sn_dtype dtype, uint16_t bits) {
  const uint32_t wide = bits;
  float value;
  sn_strips_for(SN_ISA_SIMD128, false)->widen[dtype - SN_F16](&value, &wide, &wide, &wide, 1, false);
  return value;
}
