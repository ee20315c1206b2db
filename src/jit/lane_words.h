/* lane_words.h - what instructions on lanes compute, in the words of math/words.h, for floats and integers of one width. a, b
 * are the first two operands as floats, i, j the same as bits; `bits` is how far a shift goes. The includer passes macros
 * ONE, TWO and SHIFT, which say what becomes of an instruction with one operand, with two, and of a shift. */
#ifndef SN_JIT_LANE_WORDS_H
#define SN_JIT_LANE_WORDS_H

#define SN_LANE_WORDS(ONE, TWO, SHIFT, floats, ints) \
  TWO(floats##_add, X_ADD(a, b))                     \
  TWO(floats##_sub, X_SUB(a, b))                     \
  TWO(floats##_mul, X_MUL(a, b))                     \
  TWO(floats##_div, X_DIV(a, b))                     \
  ONE(floats##_neg, X_NEG(a))                        \
  ONE(floats##_abs, X_ABS(a))                        \
  ONE(floats##_sqrt, X_SQRT(a))                      \
  ONE(floats##_nearest, X_ROUND(a))                  \
  ONE(floats##_floor, X_FLOOR(a))                    \
  ONE(floats##_ceil, X_NEG(X_FLOOR(X_NEG(a))))       \
  ONE(floats##_trunc, X_TRUNC(a))                    \
  TWO(floats##_pmin, X_PMIN(a, b))                   \
  TWO(floats##_pmax, X_PMAX(a, b))                   \
  TWO(floats##_lt, X_LT(a, b))                       \
  TWO(floats##_le, X_LE(a, b))                       \
  TWO(floats##_eq, X_EQ(a, b))                       \
  TWO(floats##_ne, X_NE(a, b))                       \
  TWO(ints##_add, X_IADD(i, j))                      \
  TWO(ints##_sub, X_ISUB(i, j))                      \
  TWO(ints##_eq, X_IEQ(i, j))                        \
  TWO(ints##_ne, X_MNOT(X_IEQ(i, j)))                \
  TWO(ints##_lt_s, X_ILT(i, j))                      \
  TWO(ints##_ge_s, X_MNOT(X_ILT(i, j)))              \
  SHIFT(ints##_shl, X_ISHL(i, bits))                 \
  SHIFT(ints##_shr_u, X_ISHR(i, bits))

#endif
