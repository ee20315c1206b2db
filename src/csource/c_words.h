/* c_words.h - the X_ vocabulary of ops.def as readable C, for printing rows as text. No include guard.
 * X_FN(name) is the function of C's library, or the helper (spell.c), for float64.
 *
 * An expression is made a string after all words have been expanded. What is left is what the reader
 * of the C source sees: a, b and c for the inputs, `INFINITY`, and functions by name. */
#undef X_ARG
#undef X_FN
#define X_ARG
#define X_FN(name) name

#define X_C(c) c
#define X_ADD(x, y) (x + y)
#define X_SUB(x, y) (x - y)
#define X_MUL(x, y) (x * y)
#define X_DIV(x, y) (x / y)
#define X_NEG(x) (-x)
#define X_ABS(x) fabs(x)
#define X_SQRT(x) sqrt(x)
#define X_FLOOR(x) floor(x)
#define X_TRUNC(x) trunc(x)
#define X_ROUND(x) rint(x)
#define X_MAX(x, y) maximum(x, y)
#define X_MIN(x, y) minimum(x, y)
#define X_LT(x, y) (x < y)
#define X_LE(x, y) (x <= y)
#define X_EQ(x, y) (x == y)
#define X_NE(x, y) (x != y)
#define X_SEL(m, x, y) (m ? x : y)

/* int32 wraps around; C's signed arithmetic must not overflow, so it is done in uint32 */
#define X_IC(c) c
#define X_IADD(x, y) (int32_t)((uint32_t)x + (uint32_t)y)
#define X_ISUB(x, y) (int32_t)((uint32_t)x - (uint32_t)y)
#define X_IMUL(x, y) (int32_t)((uint32_t)x * (uint32_t)y)
#define X_IAND(x, y) (x & y)
#define X_IOR(x, y) (x | y)
#define X_IXOR(x, y) (x ^ y)
#define X_ISHLV(x, y) (int32_t)((uint32_t)x << (y & 31))
#define X_ISHRV(x, y) (int32_t)((uint32_t)x >> (y & 31))
#define X_ISARV(x, y) (x >> (y & 31))
#define X_ILT(x, y) (x < y)
#define X_IEQ(x, y) (x == y)
#define X_IMAX(x, y) (x > y ? x : y)
#define X_IMIN(x, y) (x < y ? x : y)
#define X_ISEL(m, x, y) (m ? x : y)

#define X_MAND(x, y) (x && y)
#define X_MOR(x, y) (x || y)
#define X_MXOR(x, y) (x != y)
#define X_MNOT(x) (!x)
