/* scalar.h - the elementwise rows of ops.def, and the steps of reductions, on single values: what
 * they mean. Bit for bit the same from all instances of the text (NaN payloads aside). */
#ifndef SN_GRAPH_SCALAR_H
#define SN_GRAPH_SCALAR_H

#include "graph/ops.h"

/* a, b: values of dtype; b of ops that have it. fused: of float32, see expand_f32.inc. A comparison
 * gives 0 or 1. */
double sn_op_scalar(sn_op op, sn_dtype dtype, bool fused, double a, double b);

/* A value as the bits of float16 or bfloat16, and back. */
uint16_t sn_half_bits(sn_dtype dtype, float value);
float sn_half_value(sn_dtype dtype, uint16_t bits);

#endif
