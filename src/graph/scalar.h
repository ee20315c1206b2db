/* scalar.h - the elementwise rows of ops.def and the steps of reductions, on single values: this is
 * what they mean. Every build of their text gives the same bits (NaN payloads aside). */
#ifndef SN_GRAPH_SCALAR_H
#define SN_GRAPH_SCALAR_H

#include "graph/ops.h"

/* The op on values a and, if it has two inputs, b, both of dtype. fused: which bits functions of
 * float32 have, see math/expand_f32.inc. A comparison gives 0 or 1. */
double sn_op_scalar(sn_op op, sn_dtype dtype, bool fused, double a, double b);

/* Rounds a value to the bits of float16 or bfloat16, and widens such bits. */
uint16_t sn_half_bits(sn_dtype dtype, float value);
float sn_half_value(sn_dtype dtype, uint16_t bits);

#endif
