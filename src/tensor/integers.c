/* integers.c - exact floor division, and powers of integers; power and division of floats are ops of ops.def. */
#include "tensor/integers.h"

#include "tensor/compose.h"

/* floor(x / y) of int32; INT32_MIN / -1 wraps, x / 0 is 0. The first quotient is computed in float32. What it
 * leaves of x is x mod y, and y as many times as the quotient was off: less than 2^10 times, which the
 * second quotient finds exactly. */
static sn_tensor *divide_integers(sn_tensor *x, sn_tensor *y) {
  sn_tensor *none = sn_binary_number(SN_OP_equal, y, 0),
            *safe = sn_choose(none, sn_number_like(y, 1), y);
  sn_tensor *divisor = sn_cast(safe, SN_F32), *modulo = sn_binary(SN_OP_mod, x, safe);
  sn_tensor *first = sn_cast(sn_binary(SN_OP_div, sn_cast(x, SN_F32), divisor), SN_I32);
  sn_tensor *left = sn_binary(SN_OP_sub, x, sn_binary(SN_OP_mul, first, safe));
  left = sn_binary(SN_OP_sub, sn_cast(left, SN_F32), sn_cast(modulo, SN_F32));
  sn_tensor *second = sn_unary(SN_OP_round, sn_binary(SN_OP_div, left, divisor));
  sn_tensor *quotient = sn_binary(SN_OP_add, first, sn_cast(second, SN_I32));
  return sn_choose(none, sn_number_like(x, 0), quotient);
}

/* floor(x / y) without the error of rounding x / y: (x - x mod y) / y is nearly an integer and is rounded. */
static sn_tensor *divide_floats(sn_tensor *x, sn_tensor *y) {
  sn_tensor *regular = sn_binary(SN_OP_logical_and, sn_unary(SN_OP_isfinite, y),
                                 sn_binary_number(SN_OP_not_equal, y, 0));
  sn_tensor *multiple = sn_binary(SN_OP_sub, x, sn_binary(SN_OP_mod, x, y));
  return sn_choose(regular, sn_unary(SN_OP_round, sn_binary(SN_OP_div, multiple, y)),
                   sn_unary(SN_OP_floor, sn_binary(SN_OP_div, x, y)));
}

sn_tensor *sn_floor_divide(sn_tensor *x, sn_tensor *y) {
  if (!x || !y) return NULL;
  temporaries t = sn_begin(x, "floorDivide");
  const sn_tensor *rest = sn_binary(SN_OP_mod, x, y);
  if (!rest) return sn_finish(&t, NULL);
  const sn_dtype dtype = rest->type.dtype, wide = sn_dtype_wide(dtype);
  sn_tensor *a = sn_cast(x, wide), *b = sn_cast(y, wide);
  sn_tensor *quotient = sn_dtype_is_float(wide) ? divide_floats(a, b) : divide_integers(a, b);
  return sn_finish(&t, sn_cast(quotient, dtype));
}

/* x^n by repeated squaring. */
static sn_tensor *power_of_number(sn_tensor *x, uint32_t n) {
  sn_tensor *power = NULL, *square = x;
  for (uint32_t left = n; left && square; left /= 2) {
    if (left % 2) power = power ? sn_binary(SN_OP_mul, power, square) : square;
    if (left > 1) square = sn_binary(SN_OP_mul, square, square);
  }
  return n ? power : sn_ones_like(x);
}

/* `power` where y has the bit, `otherwise` where not. */
static sn_tensor *where_bit(sn_tensor *y, int bit, sn_tensor *otherwise, sn_tensor *power) {
  sn_tensor *shifted = bit ? sn_binary_number(SN_OP_shift_right_logical, y, bit) : y;
  sn_tensor *clear =
      sn_binary_number(SN_OP_equal, sn_binary_number(SN_OP_bitwise_and, shifted, 1), 0);
  return sn_choose(clear, otherwise, power);
}

/* x^y of int32, over the 31 bits of y; for y < 0 it is 1 / x^-y truncated: 0, or 1 or -1 if x is. */
static sn_tensor *power_of_tensor(sn_tensor *x, sn_tensor *y) {
  sn_tensor *one = sn_number_like(x, 1), *zero = sn_number_like(x, 0), *square = x;
  sn_tensor *power = where_bit(y, 0, one, x);
  for (int bit = 1; bit < 31; bit++) {
    square = sn_binary(SN_OP_mul, square, square);
    power = where_bit(y, bit, power, sn_binary(SN_OP_mul, power, square));
  }
  sn_tensor *of_minus_one =
      sn_choose(sn_binary_number(SN_OP_equal, x, -1), where_bit(y, 0, one, x), zero);
  sn_tensor *inverse = sn_choose(sn_binary_number(SN_OP_equal, x, 1), x, of_minus_one);
  return sn_choose(sn_binary_number(SN_OP_less, y, 0), inverse, power);
}

bool sn_is_integer_power(const sn_tensor *x, const sn_tensor *y) {
  if (!x || !y || sn_dtype_is_float(sn_promote(x, y))) return false;
  return !sn_is_number(y) || sn_attr_double(y->attrs[0]) >= 0;
}

sn_tensor *sn_integer_power(sn_tensor *x, sn_tensor *y) {
  temporaries t = sn_begin(x, "pow");
  sn_tensor *base = sn_cast(x, SN_I32);
  if (sn_is_number(y))
    return sn_finish(&t, power_of_number(base, (uint32_t)sn_attr_double(y->attrs[0])));
  return sn_finish(&t, power_of_tensor(base, sn_cast(y, SN_I32)));
}
