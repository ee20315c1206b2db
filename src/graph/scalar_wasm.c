/* scalar_wasm.c - arrays of one element. */
#include "graph/rows.h"
#include "graph/scalar.h"

typedef union word {
  float f32;
  double f64;
  int32_t i32; /* a bool is a mask */
} word;

static word to_word(sn_dtype dtype, double x) {
  switch (dtype) {
  case SN_F32: return (word){.f32 = (float)x};
  case SN_F64: return (word){.f64 = x};
  case SN_I32: return (word){.i32 = (int32_t)x};
  default: return (word){.i32 = -(x != 0)};
  }
}

double sn_op_scalar(sn_op op, sn_dtype dtype, bool fused, double a, double b) {
  const word x = to_word(dtype, a), y = to_word(dtype, b);
  word out;
  sn_rows_apply(op, dtype, fused, &out, &x, &y, 1);
  if (dtype == SN_BOOL || sn_op_describe(op)->kind == SN_CLASS_COMPARE) return -out.i32;
  return dtype == SN_F32 ? (double)out.f32 : dtype == SN_F64 ? out.f64 : out.i32;
}

uint16_t sn_half_bits(sn_dtype dtype, float value) {
  uint32_t bits;
  sn_rows_apply(SN_OP_astype, dtype, false, &bits, &value, &value, 1);
  return (uint16_t)bits;
}

float sn_half_value(sn_dtype dtype, uint16_t bits) {
  const uint32_t wide = bits;
  float value;
  (dtype == SN_F16 ? sn_rows_widen_f16 : sn_rows_widen_bf16)(&value, &wide, NULL, NULL, 1);
  return value;
}
