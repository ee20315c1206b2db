/* integers.h - powers of integers, which no op of the table has. */
#ifndef SN_TENSOR_INTEGERS_H
#define SN_TENSOR_INTEGERS_H

#include "tensor/tensor.h"

/* Whether x^y is one: not of a negative number as exponent, which makes floats of integers. */
bool sn_is_integer_power(const sn_tensor *x, const sn_tensor *y);
sn_tensor *sn_integer_power(sn_tensor *x, sn_tensor *y);

#endif
