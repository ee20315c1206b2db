/* scalar_math.h - Sinter's own functions for single values: sn_f32_exp(float), sn_f64_exp(double),
 * and all others that the expansions define. The reference uses them (graph/scalar_posix.c). They have the same bits as
 * those of kernels/simd.h (NaN payloads aside). For their accuracy see the heads of math/expand_f32.inc and
 * expand_f64.inc. */
#ifndef SN_MATH_SCALAR_MATH_H
#define SN_MATH_SCALAR_MATH_H

#include "math/scalar_words.h"

#define SN_WORDS_F32
#include "math/words.h"

#include "math/expand_f32.inc"

#define SN_WORDS_F64
#include "math/words.h"

#include "math/expand_f64.inc"

#include "math/words.h" /* undefines the words */

#endif
