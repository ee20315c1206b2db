/* scalar_math.h - Sinter's own functions for single values: sn_f32_exp(float), sn_f64_exp(double),
 * and likewise all that the expansions define. Used by the reference of native builds
 * (scalar_posix.c); bit for bit what simd.h computes (NaN payloads aside). Accuracy: see the heads of
 * graph/expand_f32.inc and expand_f64.inc. */
#ifndef SN_GRAPH_SCALAR_MATH_H
#define SN_GRAPH_SCALAR_MATH_H

#include "graph/scalar_words.h"

#define SN_WORDS_F32
#include "graph/words.h"

#include "graph/expand_f32.inc"

#define SN_WORDS_F64
#include "graph/words.h"

#include "graph/expand_f64.inc"

#include "graph/words.h" /* removes them */

#endif
