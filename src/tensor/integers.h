/* integers.h - powers of integers, for which ops.def has no row. */
#ifndef SN_TENSOR_INTEGERS_H
#define SN_TENSOR_INTEGERS_H

#include "tensor/tensor.h"

/* Whether x^y is a power of integers. It is not if y is a negative bare number: then the result is float. */
bool sn_is_integer_power(const sn_tensor *x, const sn_tensor *y);
sn_tensor *sn_integer_power(sn_tensor *x, sn_tensor *y);

#endif
