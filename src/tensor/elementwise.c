/* elementwise.c - the public elementwise functions: one for each row of ops.def; those with parameters
 * are graphs of such rows, with the formula in the comment. A branch that is not taken gets an
 * argument at which its derivative is finite: otherwise 0 times infinity would reach the gradient. */
#include <math.h>

#include "graph/reference.h"
#include "tensor/compose.h"
#include "tensor/integers.h"

sn_tensor *sn_apply_op(sn_op op, sn_tensor *const *inputs, size_t n) {
  if (op == SN_OP_pow && sn_is_integer_power(inputs[0], inputs[1]))
    return sn_integer_power(inputs[0], inputs[1]);
  return sn_hand_out(sn_elementwise(op, inputs, n));
}

#define UNARY_FUNCTION(id) \
  sn_tensor *sn_##id(sn_tensor *x) { return sn_apply_op(SN_OP_##id, &x, 1); }
#define BINARY_FUNCTION(id)                                   \
  sn_tensor *sn_##id(sn_tensor *x, sn_tensor *y) {            \
    return sn_apply_op(SN_OP_##id, (sn_tensor *[]){x, y}, 2); \
  }
#define TERNARY_FUNCTION(id)                                             \
  sn_tensor *sn_##id(sn_tensor *condition, sn_tensor *x, sn_tensor *y) { \
    return sn_apply_op(SN_OP_##id, (sn_tensor *[]){condition, x, y}, 3); \
  }
SN_UNARY_OPS(UNARY_FUNCTION)
SN_BINARY_OPS(BINARY_FUNCTION)
SN_TERNARY_OPS(TERNARY_FUNCTION)

/* Whether a bare number as a bound is beyond all integers of this dtype. It is then left out, since it
 * would turn the integers into floats. sign: 1 for an upper bound, -1 for a lower one. */
static bool cannot_bind(sn_dtype dtype, const sn_tensor *bound, double sign) {
  if (!sn_is_number(bound) || sn_dtype_is_float(dtype) || dtype == SN_BOOL) return false;
  const double value = sn_attr_double(bound->attrs[0]);
  return sign * value >= sign * sn_ref_convert(dtype, sign * (double)INFINITY);
}

/* clip x = min(max(x, lo), hi) */
sn_tensor *sn_clip(sn_tensor *x, sn_tensor *lo, sn_tensor *hi) {
  if (!x) return NULL;
  temporaries t = sn_begin(x, "clip");
  sn_tensor *y = sn_note(sn_retain(x));
  if (lo && !cannot_bind(x->type.dtype, lo, -1)) y = sn_binary(SN_OP_maximum, y, lo);
  if (hi && !cannot_bind(x->type.dtype, hi, 1)) y = sn_binary(SN_OP_minimum, y, hi);
  return sn_finish(&t, y);
}

/* y = x where x > 0, else alpha x */
sn_tensor *sn_leaky_relu(sn_tensor *x, double alpha) {
  temporaries t = sn_begin(x, "leakyRelu");
  sn_tensor *v = sn_as_float(&t, x);
  sn_tensor *positive = sn_binary(SN_OP_greater, v, sn_number_like(v, 0));
  return sn_finish(&t, sn_choose(positive, v, sn_binary(SN_OP_mul, sn_number_like(v, alpha), v)));
}

/* y = scale x where x > 0, else scale alpha (e^x - 1) */
static sn_tensor *scaled_elu(const char *what, sn_tensor *x, double alpha, double scale) {
  temporaries t = sn_begin(x, what);
  sn_tensor *v = sn_as_float(&t, x);
  sn_tensor *zero = sn_number_like(v, 0), *positive = sn_binary(SN_OP_greater, v, zero);
  sn_tensor *curve = sn_unary(SN_OP_expm1, sn_choose(positive, zero, v));
  sn_tensor *below = sn_binary(SN_OP_mul, sn_number_like(v, scale * alpha), curve);
  sn_tensor *above = scale == 1 ? v : sn_binary(SN_OP_mul, sn_number_like(v, scale), v);
  return sn_finish(&t, sn_choose(positive, above, below));
}

sn_tensor *sn_elu(sn_tensor *x, double alpha) { return scaled_elu("elu", x, alpha, 1); }

/* The parameters for which activations keep mean 0 and variance 1 (Klambauer et al., 2017). */
sn_tensor *sn_selu(sn_tensor *x) {
  return scaled_elu("selu", x, 1.6732632423543772, 1.0507009873554805);
}

/* y = x min(max(x + 3, 0), 6) / 6 */
sn_tensor *sn_hardswish(sn_tensor *x) {
  temporaries t = sn_begin(x, "hardswish");
  sn_tensor *v = sn_as_float(&t, x);
  sn_tensor *shifted = sn_binary(SN_OP_add, v, sn_number_like(v, 3));
  sn_tensor *gate = sn_binary(SN_OP_minimum, sn_unary(SN_OP_relu, shifted), sn_number_like(v, 6));
  return sn_finish(&t, sn_binary(SN_OP_mul, v, sn_binary(SN_OP_div, gate, sn_number_like(v, 6))));
}

/* y = x (1 + tanh u) / 2 = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3) */
sn_tensor *sn_gelu_tanh(sn_tensor *x) {
  temporaries t = sn_begin(x, "geluTanh");
  sn_tensor *v = sn_as_float(&t, x);
  sn_tensor *cubic =
      sn_binary(SN_OP_mul, sn_number_like(v, 0.07135481627260025), sn_unary(SN_OP_square, v));
  sn_tensor *slope = sn_binary(SN_OP_add, sn_number_like(v, 1.5957691216057308), cubic);
  return sn_finish(
      &t, sn_binary(SN_OP_mul, v, sn_unary(SN_OP_sigmoid, sn_binary(SN_OP_mul, v, slope))));
}
