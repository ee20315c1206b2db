/* vocabulary.h - the words of ops.def that are made from the simpler ones of words.h, so that
 * scalar and SIMD kernels agree by construction. Macros only: they take the meaning of the instance
 * in force where a row is expanded.
 *
 * X_MAX / X_MIN keep NaN from either side and take -0 as less than +0, as IEEE 754-2019 maximum and
 * wasm's f32x4.max do: so they commute, and a reduction has one result in whatever order it runs.
 *
 * X_NEAREST works because adding 2^23 (2^52) leaves no fraction bits: the sum is rounded to nearest
 * even. */
#ifndef SN_GRAPH_VOCABULARY_H
#define SN_GRAPH_VOCABULARY_H

#define X_NE(a, b) X_MNOT(X_EQ(a, b))
#define X_MAX(a, b)                                        \
  X_SEL(X_EQ(a, b), X_FLOAT(X_IAND(X_BITS(a), X_BITS(b))), \
        X_SEL(X_MOR(X_LT(b, a), X_NE(a, a)), a, b))
#define X_MIN(a, b)                                       \
  X_SEL(X_EQ(a, b), X_FLOAT(X_IOR(X_BITS(a), X_BITS(b))), \
        X_SEL(X_MOR(X_LT(a, b), X_NE(a, a)), a, b))
#define X_SIGN(a) X_SEL(X_LT(X_C(0), a), X_C(1), X_SEL(X_LT(a, X_C(0)), X_C(-1), a))
#define X_COPYSIGN(magnitude, sign) \
  X_FLOAT(X_IOR(X_BITS(magnitude), X_IAND(X_BITS(sign), X_IC(X_SIGN_BIT))))
#define X_NEAREST(a) X_SUB(X_ADD(X_ABS(a), X_C(X_INTEGRAL)), X_C(X_INTEGRAL))
#define X_ROUND(a) X_SEL(X_LT(X_ABS(a), X_C(X_INTEGRAL)), X_COPYSIGN(X_NEAREST(a), a), a)
#define X_FLOOR(a) X_SEL(X_LT(a, X_ROUND(a)), X_SUB(X_ROUND(a), X_C(1)), X_ROUND(a))
#define X_TRUNC(a) X_SEL(X_LT(a, X_C(0)), X_NEG(X_FLOOR(X_NEG(a))), X_FLOOR(a))
#define X_IMAX(a, b) X_ISEL(X_ILT(b, a), a, b)
#define X_IMIN(a, b) X_ISEL(X_ILT(a, b), a, b)

#endif
