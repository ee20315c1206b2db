/* scalar_posix.c - the rows of ops.def as C: one function per dtype, with a case per op. */
#include "graph/scalar.h"

#include <math.h>

#include "math/scalar_math.h"

#define CASE(id, expr) \
  case SN_OP_##id:     \
    return (double)(expr);

#define SN_WORDS_F32
#include "math/words.h"
static double scalar_f32(sn_op op, float a, float b, bool fused) {
  switch ((int)op) {
#define EW_F(id, n, f, c, lo, hi, u, d, xf, ...) CASE(id, xf)
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) CASE(id, xf)
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb, ...) CASE(id, xf)
#define CMP_F(id, n, f, c, d, xf, ...) CASE(id, xf)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb, ...) CASE(id, xf)
#define REDUCE(id, f, c, d, idf, idi, xf, xi, ...) CASE(id, xf)
#include "graph/ops.def"
  default: return NAN;
  }
}

static double scalar_i32(sn_op op, int32_t sa, int32_t sb) {
  const uint32_t a = (uint32_t)sa, b = (uint32_t)sb;
  const bool fused = false;
#define INT_CASE(id, expr) \
  case SN_OP_##id: return (double)(int32_t)(expr);
  switch ((int)op) {
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) INT_CASE(id, xi)
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb, ...) INT_CASE(id, xi)
#define EW_I(id, n, f, c, d, xi, ...) INT_CASE(id, xi)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb, ...) CASE(id, xi)
#define REDUCE(id, f, c, d, idf, idi, xf, xi, ...) INT_CASE(id, xi)
#define REDUCE_I(id, f, c, d, idi, xi, ...) INT_CASE(id, xi)
#include "graph/ops.def"
  default: return NAN;
  }
}

static double scalar_bool(sn_op op, int a, int b) {
  switch ((int)op) {
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb, ...) CASE(id, xb)
#define EW_B(id, n, f, c, d, xb, ...) CASE(id, xb)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb, ...) CASE(id, xb)
#include "graph/ops.def"
  default: return NAN;
  }
}

#define SN_WORDS_F64
#include "math/words.h"
static double scalar_f64(sn_op op, double a, double b) {
  switch ((int)op) {
#define EW_F(id, n, f, c, lo, hi, u, d, xf, ...) CASE(id, xf)
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) CASE(id, xf)
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb, ...) CASE(id, xf)
#define CMP_F(id, n, f, c, d, xf, ...) CASE(id, xf)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb, ...) CASE(id, xf)
#define REDUCE(id, f, c, d, idf, idi, xf, xi, ...) CASE(id, xf)
#include "graph/ops.def"
  default: return NAN;
  }
}
#include "math/words.h"

double sn_op_scalar(sn_op op, sn_dtype dtype, bool fused, double a, double b) {
  switch (dtype) {
  case SN_F32: return scalar_f32(op, (float)a, (float)b, fused);
  case SN_F64: return scalar_f64(op, a, b);
  case SN_I32: return scalar_i32(op, (int32_t)a, (int32_t)b);
  default: return scalar_bool(op, a != 0, b != 0);
  }
}

/* The rows of dtypes.def make a case for each 16-bit float, and nothing for other kinds. */
#define BITS_FLOAT(id, s)
#define BITS_INT(id, s)
#define BITS_FLAG(id, s)
#define BITS_SMALL(id, s)
#define BITS_HALF(id, s) \
  case SN_##id:          \
    return (uint16_t)sn_f32_narrow_##s(false, value);
#define VALUE_FLOAT(id, s)
#define VALUE_INT(id, s)
#define VALUE_FLAG(id, s)
#define VALUE_SMALL(id, s)
#define VALUE_HALF(id, s) \
  case SN_##id: return sn_f32_widen_##s(false, bits);

uint16_t sn_half_bits(sn_dtype dtype, float value) {
  switch (dtype) {
#define DTYPE(id, name, s, T, kind, ...) BITS_##kind(id, s)
#include "graph/dtypes.def"
  default: return 0;
  }
}

float sn_half_value(sn_dtype dtype, uint16_t bits) {
  switch (dtype) {
#define DTYPE(id, name, s, T, kind, ...) VALUE_##kind(id, s)
#include "graph/dtypes.def"
  default: return 0;
  }
}
