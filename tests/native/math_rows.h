/* math_rows.h - the functions among the rows of ops.def, which have a bound in ULP and are more
 * than one instruction, as C functions: scalar and a vector at a time. */
#ifndef SN_TESTS_MATH_ROWS_H
#define SN_TESTS_MATH_ROWS_H

#include "graph/ops.h"
#include "kernels/simd.h"
#include "math_reference.h"
#include "op_cases.h"
#include "random.h"

/* Vectors of the two types are filled and emptied through memory: lanes of x and y to lanes of
 * out. */
typedef struct math_row {
  sn_op op;
  float (*f32)(float x, float y), (*fused_f32)(float x, float y);
  void (*vf32)(const float *x, const float *y, float *out);
  void (*fused_vf32)(const float *x, const float *y, float *out);
  double (*f64)(double x, double y);
  void (*vf64)(const double *x, const double *y, double *out);
} math_row;

#define SCALAR(id, T, dtype, name, is_fused, expr)  \
  static inline T name##_##dtype##_##id(T a, T b) { \
    const bool fused = is_fused;                    \
    (void)a, (void)b, (void)fused;                  \
    return (expr);                                  \
  }
#define SCALAR_F32(id, expr)                  \
  SCALAR(id, float, f32, scalar, false, expr) \
  SCALAR(id, float, f32, scalar_fused, true, expr)
#define VECTOR(id, T, dtype, name, is_fused, expr)                           \
  static inline void name##_##dtype##_##id(const T *x, const T *y, T *out) { \
    const bool fused = is_fused;                                             \
    const v##dtype a = sn_v##dtype##_load(x), b = sn_v##dtype##_load(y);     \
    (void)a, (void)b, (void)fused;                                           \
    sn_v##dtype##_store(out, (expr));                                        \
  }
#define VECTOR_F32(id, expr)                  \
  VECTOR(id, float, f32, vector, false, expr) \
  VECTOR(id, float, f32, vector_fused, true, expr)

#define SN_WORDS_F32
#include "math/words.h"
#define EW_F(id, n, f, c, lo, hi, u, d, xf, ...) SCALAR_F32(id, xf)
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) SCALAR_F32(id, xf)
#include "graph/ops.def"

#define SN_WORDS_F64
#include "math/words.h"
#define EW_F(id, n, f, c, lo, hi, u, d, xf, ...) SCALAR(id, double, f64, scalar, false, xf)
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) SCALAR(id, double, f64, scalar, false, xf)
#include "graph/ops.def"

#define SN_WORDS_VF32
#include "math/words.h"
#define EW_F(id, n, f, c, lo, hi, u, d, xf, ...) VECTOR_F32(id, xf)
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) VECTOR_F32(id, xf)
#include "graph/ops.def"

#define SN_WORDS_VF64
#include "math/words.h"
#define EW_F(id, n, f, c, lo, hi, u, d, xf, ...) VECTOR(id, double, f64, vector, false, xf)
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) VECTOR(id, double, f64, vector, false, xf)
#include "graph/ops.def"
#include "math/words.h" /* removes them */

static const math_row math_rows[] = {
/* clang-format off */
#define MATH_ROW(id)                                              \
  {SN_OP_##id, scalar_f32_##id, scalar_fused_f32_##id,            \
   vector_f32_##id, vector_fused_f32_##id,                        \
   scalar_f64_##id, vector_f64_##id},
/* clang-format on */
#define EW_F(id, ...) MATH_ROW(id)
#define EW_FI(id, ...) MATH_ROW(id)
#include "graph/ops.def"
};
#define MATH_ROW_COUNT (sizeof math_rows / sizeof *math_rows)

static inline bool math_row_is_function(const math_row *row) {
  return sn_op_bounds_table[row->op].ulp > 0 && case_is_function(row->op);
}

/* ---- arguments ---- */

/* A third each: any bit pattern; |x| up to 30; |x| below 2^30 with all exponents down to 2^-34. */
static inline double sample_f64(uint64_t i) {
  const uint64_t random = random_at(i);
  if (i % 3 == 0) return sn_f64_from_bits(random);
  const double unit = (double)(random >> 11) * 0x1p-53;
  const double sign = random & 1 ? -1 : 1;
  if (i % 3 == 1) return sign * unit * 30;
  return sign * ldexp(1 + unit, (int)(random & 63) - 34);
}

/* The second argument for x: an exponent for which x^y is anywhere in the type's range, or a number
 * within 2^+-30 of x (in float64 as well: that is where angles and remainders are of interest); one
 * time of four any number. */
static inline double second_argument(sn_op op, double x, bool single, uint64_t counter) {
  const uint64_t random = random_at(counter);
  if ((random & 3) == 0)
    return single ? (double)sn_f32_from_bits((uint32_t)(random >> 32))
                  : sn_f64_from_bits(random_at(random));
  const double unit = (double)(random >> 32) * 0x1p-32;
  double y;
  if (op == SN_OP_pow) {
    const double range = single ? 284 : 2110, target = unit * range - range * 0.54;
    y = target / log2(fabs(x));
    if ((random & 3) == 1) y = nearbyint(y);
  } else {
    const int shift = (int)(random >> 8 & 63) - 32;
    y = ldexp(x * (1 + unit), -shift) * ((random & 3) == 1 ? 1 : -1);
  }
  return single ? (double)(float)y : y;
}

#endif
