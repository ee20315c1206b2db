/* words.h - the X_ vocabulary of math/expand_f32.inc as C. No include guard: each inclusion
 * undefines all words and then defines them for the instance that the includer has chosen by
 *
 *   SN_WORDS_F32, SN_WORDS_F64                scalars: float with uint32_t, double with uint64_t
 *   SN_WORDS_VF32, SN_WORDS_VF64              vectors of kernels/simd.h: vf32 with vu32, vf64 with vu64
 *   none of them                              leaves the words undefined
 *
 * This file undefines the choice as well. scalar_words.h or simd.h must be included before it, for the
 * types and for the small functions that the words use. These two headers' users instantiate Sinter's
 * functions this way, and kernels give the expressions of ops.def a meaning.
 *
 * Words of float32 use a variable `fused` of the function that they are used in. If it is a constant,
 * compilers remove it.
 *
 * Masks are int 0 or 1 for scalars, lanes with all bits or no bit set for vectors. X_ISHLV, X_ISHRV and X_ISARV
 * (arithmetic, 32 bits) shift each lane by its own count, modulo the width.
 *
 * Words made from other words are at the end. X_MAX and X_MIN return NaN if either side is NaN and order -0 below
 * +0, like IEEE 754-2019 maximum and wasm's f32x4.max: so they commute, and a reduction has the same result in
 * any order. Rounding to integers is one instruction nearly everywhere, so it is left to functions of
 * scalar_words.h and simd.h. */
#undef X_F
#undef X_I
#undef X_M
#undef X_PARAM
#undef X_ARG
#undef X_FN
#undef X_C
#undef X_IC
#undef X_ADD
#undef X_SUB
#undef X_MUL
#undef X_DIV
#undef X_NEG
#undef X_ABS
#undef X_PMIN
#undef X_PMAX
#undef X_SQRT
#undef X_FMA
#undef X_FUSED
#undef X_BITS
#undef X_FLOAT
#undef X_IADD
#undef X_ISUB
#undef X_IMUL
#undef X_IAND
#undef X_IOR
#undef X_IXOR
#undef X_ISHL
#undef X_ISHR
#undef X_ISHLV
#undef X_ISHRV
#undef X_ISARV
#undef X_TOI
#undef X_TOF
#undef X_LT
#undef X_LE
#undef X_EQ
#undef X_IEQ
#undef X_ILT
#undef X_SEL
#undef X_ISEL
#undef X_MAND
#undef X_MOR
#undef X_MXOR
#undef X_MNOT
#undef X_SEL_RARE
#undef X_NE
#undef X_MAX
#undef X_MIN
#undef X_ROUND
#undef X_FLOOR
#undef X_TRUNC
#undef X_IMAX
#undef X_IMIN
#undef X_TOP_BIT
#undef X_SIGN_BIT

/* ---- words that differ between instances: types, constants, reinterpretation, selection ---- */
#if defined(SN_WORDS_F32)
#define X_F float
#define X_I uint32_t
#define X_M int
#define X_FN(name) sn_f32_##name
#define X_C(c) ((float)(c))
#define X_IC(c) ((uint32_t)(c))
#define X_BITS(a) sn_f32_to_bits(a)
#define X_FLOAT(a) sn_f32_from_bits(a)
#define X_SQRT(a) __builtin_sqrtf(a)
#define X_TOI(a) ((uint32_t)(int32_t)(a))
#define X_TOF(a) ((float)(int32_t)(a))
#define X_ILT(a, b) ((int32_t)(a) < (int32_t)(b))
#define X_ISARV(a, n) ((uint32_t)((int32_t)(a) >> ((n)&31)))
#define X_FMA(a, b, c) sn_f32_madd(fused, a, b, c)
#elif defined(SN_WORDS_F64)
#define X_F double
#define X_I uint64_t
#define X_M int
#define X_FN(name) sn_f64_##name
#define X_C(c) ((double)(c))
#define X_IC(c) ((uint64_t)(c))
#define X_BITS(a) sn_f64_to_bits(a)
#define X_FLOAT(a) sn_f64_from_bits(a)
#define X_SQRT(a) __builtin_sqrt(a)
#define X_ILT(a, b) ((int64_t)(a) < (int64_t)(b))
#elif defined(SN_WORDS_VF32)
#define X_F vf32
#define X_I vu32
#define X_M vi32
#define X_FN(name) sn_vf32_##name
#define X_C(c) SN_VF32_CONST(c)
#define X_IC(c) sn_vu32_splat((uint32_t)(c))
#define X_BITS(a) ((vu32)(a))
#define X_FLOAT(a) ((vf32)(a))
#define X_SQRT(a) sn_vf32_sqrt(a)
#define X_PMIN(a, b) sn_vf32_pmin(a, b)
#define X_PMAX(a, b) sn_vf32_pmax(a, b)
#define X_TOI(a) ((vu32) __builtin_convertvector(a, vi32))
#define X_TOF(a) __builtin_convertvector((vi32)(a), vf32)
#define X_ILT(a, b) ((vi32)(a) < (vi32)(b))
#define X_ISARV(a, n) ((vu32)((vi32)(a) >> ((vi32)(n)&31)))
#define X_SEL(m, a, b) sn_vf32_select(m, a, b)
#define X_ISEL(m, a, b) sn_vu32_select(m, a, b)
#define X_SEL_RARE(m, a, b) (sn_vi32_any(m) ? sn_vf32_select(m, a, b) : (b))
#define X_FMA(a, b, c) sn_vf32_madd(fused, a, b, c)
#elif defined(SN_WORDS_VF64)
#define X_F vf64
#define X_I vu64
#define X_M vi64
#define X_FN(name) sn_vf64_##name
#define X_C(c) sn_vf64_splat((double)(c))
#define X_IC(c) sn_vu64_splat((uint64_t)(c))
#define X_BITS(a) ((vu64)(a))
#define X_FLOAT(a) ((vf64)(a))
#define X_SQRT(a) sn_vf64_sqrt(a)
#define X_PMIN(a, b) sn_vf64_pmin(a, b)
#define X_PMAX(a, b) sn_vf64_pmax(a, b)
#define X_ILT(a, b) ((vi64)(a) < (vi64)(b))
#define X_SEL(m, a, b) sn_vf64_select(m, a, b)
#define X_ISEL(m, a, b) sn_vu64_select(m, a, b)
#define X_SEL_RARE(m, a, b) (sn_vi64_any(m) ? sn_vf64_select(m, a, b) : (b))
#endif

#if defined(SN_WORDS_F32) || defined(SN_WORDS_VF32)
#define X_TOP_BIT 31
#define X_SIGN_BIT 0x80000000u
#define X_IMUL(a, b) ((a) * (b))
#define X_PARAM __attribute__((unused)) const bool fused,
#define X_ARG fused,
#define X_FUSED fused
#elif defined(SN_WORDS_F64) || defined(SN_WORDS_VF64)
#define X_TOP_BIT 63
#define X_SIGN_BIT 0x8000000000000000u
#endif

#if defined(SN_WORDS_F32) || defined(SN_WORDS_F64)
#define X_PMIN(a, b) ((b) < (a) ? (b) : (a))
#define X_PMAX(a, b) ((a) < (b) ? (b) : (a))
#define X_SEL(m, a, b) ((m) ? (a) : (b))
#define X_ISEL(m, a, b) ((m) ? (a) : (b))
#define X_SEL_RARE(m, a, b) ((m) ? (a) : (b))
#define X_MNOT(m) (!(m))
#elif defined(SN_WORDS_VF32) || defined(SN_WORDS_VF64)
#define X_MNOT(m) (~(m))
#endif

/* ---- words that are the same C for all instances ---- */
#ifdef X_SIGN_BIT
#ifndef X_PARAM
#define X_PARAM
#define X_ARG
#endif
#ifndef X_FMA
#define X_FUSED false
#define X_FMA(a, b, c) ((a) * (b) + (c))
#endif
#define X_ADD(a, b) ((a) + (b))
#define X_SUB(a, b) ((a) - (b))
#define X_MUL(a, b) ((a) * (b))
#define X_DIV(a, b) ((a) / (b))
#define X_NEG(a) X_FLOAT(X_BITS(a) ^ X_IC(X_SIGN_BIT))
#define X_ABS(a) X_FLOAT(X_BITS(a) & ~X_IC(X_SIGN_BIT))
#define X_IADD(a, b) ((a) + (b))
#define X_ISUB(a, b) ((a) - (b))
#define X_IAND(a, b) ((a) & (b))
#define X_IOR(a, b) ((a) | (b))
#define X_IXOR(a, b) ((a) ^ (b))
#define X_ISHL(a, n) ((a) << (n))
#define X_ISHR(a, n) ((a) >> (n))
#define X_ISHLV(a, n) ((a) << ((n)&X_IC(X_TOP_BIT)))
#define X_ISHRV(a, n) ((a) >> ((n)&X_IC(X_TOP_BIT)))
#define X_LT(a, b) ((a) < (b))
#define X_LE(a, b) ((a) <= (b))
#define X_EQ(a, b) ((a) == (b))
#define X_IEQ(a, b) ((a) == (b))
#define X_MAND(a, b) ((a) & (b))
#define X_MOR(a, b) ((a) | (b))
#define X_MXOR(a, b) ((a) ^ (b))

/* ---- words made from other words ---- */
#define X_NE(a, b) X_MNOT(X_EQ(a, b))
#define X_MAX(a, b)                                        \
  X_SEL(X_EQ(a, b), X_FLOAT(X_IAND(X_BITS(a), X_BITS(b))), \
        X_SEL(X_MOR(X_LT(b, a), X_NE(a, a)), a, b))
#define X_MIN(a, b)                                       \
  X_SEL(X_EQ(a, b), X_FLOAT(X_IOR(X_BITS(a), X_BITS(b))), \
        X_SEL(X_MOR(X_LT(a, b), X_NE(a, a)), a, b))
#define X_ROUND(a) X_FN(round)(a)
#define X_FLOOR(a) X_FN(floor)(a)
#define X_TRUNC(a) X_FN(trunc)(a)
#define X_IMAX(a, b) X_ISEL(X_ILT(b, a), a, b)
#define X_IMIN(a, b) X_ISEL(X_ILT(a, b), a, b)
#endif

#undef SN_WORDS_F32
#undef SN_WORDS_F64
#undef SN_WORDS_VF32
#undef SN_WORDS_VF64
