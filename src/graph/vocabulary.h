/* vocabulary.h - the words of ops.def that are made from the simpler ones of words.h, so that
 * scalar and SIMD kernels agree by construction. Macros only: they take the meaning of the instance
 * in force where a row is expanded.
 *
 * X_MAX / X_MIN keep NaN from either side and take -0 as less than +0, as IEEE 754-2019 maximum and
 * wasm's f32x4.max do: so they commute, and a reduction has one result in whatever order it runs.
 *
 * Rounding to integers is one instruction nearly everywhere: functions of scalar_math.h and
 * simd.h. */
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
#define X_ROUND(a) X_FN(round)(a)
#define X_FLOOR(a) X_FN(floor)(a)
#define X_TRUNC(a) X_FN(trunc)(a)
#define X_IMAX(a, b) X_ISEL(X_ILT(b, a), a, b)
#define X_IMIN(a, b) X_ISEL(X_ILT(a, b), a, b)

#endif
