/* simplify.c - identities of arithmetic, one row each, that hold bit for bit for every value (which
 * NaN it is aside), infinities and signed zeros included. Those of views stand in layout.c; forms
 * that round differently in strength.c. */
#include <math.h>

#include "passes/passes.h"
#include "passes/rewrite_rules.h"

#define RULE(name) static sn_id name(const sn_match *s)
#define IS(i, what) sn_match_is(s, s->x[i], SN_OP_##what)
#define IN(i) sn_match_input(s, s->x[i], 0) /* the input of input i */
#define UNARY(op, x) sn_build_unary(s->b, SN_OP_##op, (x))
#define BINARY(op, x, y) sn_build_binary(s->b, SN_OP_##op, (x), (y))

static bool same_inputs(const sn_match *s) { return s->x[0] == s->x[1]; }
static bool is_int(const sn_match *s) { return sn_match_dtype(s, 0) == SN_I32; }

/* What the table says of the op that made input 0. */
static const sn_op_info *made_by(const sn_match *s) {
  return sn_op_describe(sn_match_node(s, s->x[0])->op);
}

/* The other input of a commutative op where one has this value; SN_NONE where none has. */
static sn_id other_than(const sn_match *s, double value) {
  if (sn_match_value(s, 1, value)) return s->x[0];
  return sn_match_value(s, 0, value) ? s->x[1] : SN_NONE;
}

/* The number of an input that op made, 0 or 1; -1: neither. */
static int which(const sn_match *s, sn_op op) {
  if (sn_match_is(s, s->x[1], op)) return 1;
  return sn_match_is(s, s->x[0], op) ? 0 : -1;
}

/* ---- products -------------------------------------------------------------------------------- */

/* x * 1 = x */
RULE(times_one) { return other_than(s, 1); }

/* x * -1 = -x */
RULE(times_minus_one) {
  const sn_id x = other_than(s, -1);
  return x != SN_NONE ? UNARY(neg, x) : SN_NONE;
}

/* x * 0 = 0 of integers; of floats not: NaN, infinity and -1 times 0 */
RULE(times_zero) {
  return is_int(s) && other_than(s, 0) != SN_NONE ? sn_match_full(s, 0) : SN_NONE;
}

/* (-x) (-y) = x y */
RULE(negated_factors) { return IS(0, neg) && IS(1, neg) ? BINARY(mul, IN(0), IN(1)) : SN_NONE; }

/* (-x) c = x (-c), (-x) y = -(x y): signs come out where sums can take them in */
RULE(negated_factor) {
  const int i = which(s, SN_OP_neg);
  double c;
  if (i < 0) return SN_NONE;
  const sn_id x = IN(i), y = s->x[1 - i];
  if (sn_graph_uniform(sn_match_graph(s), y, &c) && sn_match_is_float(s))
    return BINARY(mul, x, sn_build_like(s->b, y, -c));
  return UNARY(neg, BINARY(mul, x, y));
}

/* x x = square x */
RULE(same_factors) { return same_inputs(s) ? UNARY(square, s->x[0]) : SN_NONE; }

/* x / 1 = x, x / -1 = -x */
RULE(over_one) { return sn_match_value(s, 1, 1) ? s->x[0] : SN_NONE; }
RULE(over_minus_one) { return sn_match_value(s, 1, -1) ? UNARY(neg, s->x[0]) : SN_NONE; }

/* x / 2^k = x 2^-k: both are the same number, rounded once. 2^-k must be a normal number. */
RULE(over_power_of_two) {
  double c;
  if (!sn_graph_uniform(sn_match_graph(s), s->x[1], &c)) return SN_NONE;
  const double most = s->type.dtype == SN_F32 ? 0x1p120 : 0x1p1000;
  const bool is_power = (uint64_t)sn_double_attr(c) << 12 == 0; /* the bits of its fraction */
  return is_power && fabs(c) < most && fabs(c) > 1 / most
             ? BINARY(mul, s->x[0], sn_build_like(s->b, s->x[1], 1 / c))
             : SN_NONE;
}

/* 1 / x = reciprocal x */
RULE(one_over) { return sn_match_value(s, 0, 1) ? UNARY(reciprocal, s->x[1]) : SN_NONE; }

/* (-x) / (-y) = x / y */
RULE(negated_quotient) { return IS(0, neg) && IS(1, neg) ? BINARY(div, IN(0), IN(1)) : SN_NONE; }

/* ---- sums ------------------------------------------------------------------------------------ */

/* x + -0 = x; x + 0 = x where x is never -0, as -0 + 0 = +0 */
RULE(plus_zero) {
  const sn_id x = other_than(s, -0.0);
  if (x != SN_NONE) return x;
  const sn_id y = other_than(s, 0);
  return y != SN_NONE && sn_match_never_minus_zero(s, y) ? y : SN_NONE;
}

/* (x + 0) + y = x + y where y is never -0: only the sum of two -0 could tell */
RULE(plus_zero_inside) {
  const int i = which(s, SN_OP_add);
  if (i < 0 || !sn_match_never_minus_zero(s, s->x[1 - i])) return SN_NONE;
  for (int k = 0; k < 2; k++) {
    double zero;
    if (sn_graph_uniform(sn_match_graph(s), sn_match_input(s, s->x[i], k), &zero) && zero == 0)
      return BINARY(add, sn_match_input(s, s->x[i], 1 - k), s->x[1 - i]);
  }
  return SN_NONE;
}

/* x + (-y) = x - y */
RULE(plus_negated) {
  const int i = which(s, SN_OP_neg);
  return i >= 0 ? BINARY(sub, s->x[1 - i], IN(i)) : SN_NONE;
}

/* x - 0 = x; x - (-0) = x where x is never -0 */
RULE(minus_zero) {
  return sn_match_value(s, 1, 0) ||
                 (sn_match_value(s, 1, -0.0) && sn_match_never_minus_zero(s, s->x[0]))
             ? s->x[0]
             : SN_NONE;
}

/* x - (-y) = x + y */
RULE(minus_negated) { return IS(1, neg) ? BINARY(add, s->x[0], IN(1)) : SN_NONE; }

/* -0 - x = -x; 0 - x = -x of integers (of floats not: 0 - 0 = +0) */
RULE(zero_minus) {
  return sn_match_value(s, 0, -0.0) || (is_int(s) && sn_match_value(s, 0, 0)) ? UNARY(neg, s->x[1])
                                                                              : SN_NONE;
}

/* x - x = 0 of integers; of floats not: NaN and infinity */
RULE(minus_itself) { return same_inputs(s) && is_int(s) ? sn_match_full(s, 0) : SN_NONE; }

/* ---- one input ------------------------------------------------------------------------------- */

/* -(-x) = x */
RULE(neg_neg) { return IS(0, neg) ? IN(0) : SN_NONE; }

/* marker(x) = x: its work, telling x from x, is done once derivatives are taken */
RULE(marker) { return s->x[0]; }

/* |-x| = |x|, (-x)^2 = |x|^2 = x^2 */
RULE(sign_lost) {
  const bool sign = IS(0, neg) || (s->op == SN_OP_square && IS(0, abs));
  return sign ? sn_build_unary(s->b, s->op, IN(0)) : SN_NONE;
}

/* f(f(x)) = f(x) */
RULE(twice) { return sn_match_is(s, s->x[0], s->op) ? s->x[0] : SN_NONE; }

/* Nothing is below +0, so |x| = relu x = x. Integers not: squares wrap. */
RULE(not_negative) { return made_by(s)->not_negative && sn_match_is_float(s) ? s->x[0] : SN_NONE; }

/* floor(round x) = round x, and all other pairs of them; whole numbers cast are whole */
RULE(whole_already) {
  const bool cast = IS(0, astype) && !sn_dtype_is_float(sn_match_node(s, IN(0))->type.dtype);
  return cast || made_by(s)->whole ? s->x[0] : SN_NONE;
}

/* x^0 = 1, of NaN too, as C99 says */
RULE(power_zero) {
  double y;
  return sn_graph_uniform(sn_match_graph(s), s->x[1], &y) && y == 0 ? sn_match_full(s, 1) : SN_NONE;
}

/* ---- casts ----------------------------------------------------------------------------------- */

RULE(cast_to_same) { return sn_match_dtype(s, 0) == s->type.dtype ? s->x[0] : SN_NONE; }

/* A cast that loses nothing, and one after it: the second alone. */
RULE(cast_of_cast) {
  if (!IS(0, astype)) return SN_NONE;
  const sn_dtype from = sn_match_node(s, IN(0))->type.dtype, by = sn_match_dtype(s, 0);
  const sn_dtype to = s->type.dtype;
  const bool lossless = from == SN_BOOL || (by == SN_F64 && from != SN_F64);
  if (sn_dtype_is_small(from) && from == to) return IN(0); /* it went by its wide one */
  return lossless && !sn_dtype_is_small(to) ? sn_build_cast(s->b, SN_OP_astype, IN(0), to)
                                            : SN_NONE;
}

/* bitcast(bitcast x) = x */
RULE(bitcast_back) { return IS(0, bitcast) ? IN(0) : SN_NONE; }

/* ---- comparisons ----------------------------------------------------------------------------- */

/* x < x is false, of NaN too; x == x and x <= x are true only where there is no NaN */
RULE(below_itself) { return same_inputs(s) ? sn_match_full(s, 0) : SN_NONE; }
RULE(equal_to_itself) {
  return same_inputs(s) && !sn_match_is_float(s) ? sn_match_full(s, 1) : SN_NONE;
}
RULE(unequal_to_itself) {
  return same_inputs(s) && !sn_match_is_float(s) ? sn_match_full(s, 0) : SN_NONE;
}

/* The bool that input i is a cast of, or is. SN_NONE: of none. */
static sn_id bool_behind(const sn_match *s, int i) {
  if (sn_match_dtype(s, i) == SN_BOOL) return s->x[i];
  if (!IS(i, astype)) return SN_NONE;
  const sn_id x = IN(i);
  return sn_match_node(s, x)->type.dtype == SN_BOOL ? x : SN_NONE;
}

/* A mask compared with 0 or 1 is the mask or its opposite. */
static sn_id compared_mask(const sn_match *s, bool equal) {
  for (int i = 0; i < 2; i++) {
    const sn_id mask = bool_behind(s, i);
    if (mask == SN_NONE) continue;
    if (sn_match_value(s, 1 - i, 1)) return equal ? mask : UNARY(logical_not, mask);
    if (sn_match_value(s, 1 - i, 0)) return equal ? UNARY(logical_not, mask) : mask;
  }
  return SN_NONE;
}
RULE(mask_equal) { return compared_mask(s, true); }
RULE(mask_unequal) { return compared_mask(s, false); }
RULE(mask_above_zero) {
  const sn_id mask = bool_behind(s, 0);
  return mask != SN_NONE && sn_match_value(s, 1, 0) ? mask : SN_NONE;
}

/* ---- bools and bits -------------------------------------------------------------------------- */

RULE(not_not) { return IS(0, logical_not) ? IN(0) : SN_NONE; }

/* not (x == y) is x != y, of NaN too; that of x < y is x >= y only where there is no NaN */
RULE(not_comparison) {
  const sn_op_info *comparison = made_by(s);
  if (!comparison->opposite) return SN_NONE;
  const sn_id a = sn_match_input(s, s->x[0], 0), b = sn_match_input(s, s->x[0], 1);
  const bool of_nan = comparison->of_nan != sn_op_describe(comparison->opposite)->of_nan;
  return of_nan || !sn_dtype_is_float(sn_match_node(s, a)->type.dtype)
             ? sn_build_binary(s->b, comparison->opposite, a, b)
             : SN_NONE;
}

/* x and x = x or x = max(x, x) = min(x, x) = x */
RULE(with_itself) { return same_inputs(s) ? s->x[0] : SN_NONE; }
RULE(xor_itself) { return same_inputs(s) ? sn_match_full(s, 0) : SN_NONE; }
RULE(with_zero) { return other_than(s, 0); } /* or, xor */
RULE(and_zero) { return other_than(s, 0) != SN_NONE ? sn_match_full(s, 0) : SN_NONE; }
RULE(and_true) { return other_than(s, 1); }
RULE(or_true) { return other_than(s, 1) != SN_NONE ? sn_match_full(s, 1) : SN_NONE; }
RULE(xor_true) {
  const sn_id x = other_than(s, 1);
  return x != SN_NONE ? UNARY(logical_not, x) : SN_NONE;
}
RULE(and_ones) { return other_than(s, -1); }
RULE(shift_by_zero) { return sn_match_value(s, 1, 0) ? s->x[0] : SN_NONE; }

/* ---- choices --------------------------------------------------------------------------------- */

/* max(x, -inf) = x = min(x, inf) */
RULE(above_nothing) { return sn_match_is_float(s) ? other_than(s, -INFINITY) : SN_NONE; }
RULE(below_nothing) { return sn_match_is_float(s) ? other_than(s, INFINITY) : SN_NONE; }

/* max(x, 0) = relu x */
RULE(above_zero) {
  const sn_id x = other_than(s, 0);
  return x != SN_NONE ? UNARY(relu, x) : SN_NONE;
}

/* c ? x : x = x */
RULE(no_choice) { return s->x[1] == s->x[2] ? s->x[1] : SN_NONE; }
RULE(known_choice) {
  double c;
  return sn_graph_uniform(sn_match_graph(s), s->x[0], &c) ? (c != 0 ? s->x[1] : s->x[2]) : SN_NONE;
}

/* (not c) ? x : y = c ? y : x */
RULE(opposite_choice) {
  return IS(0, logical_not) ? sn_build_where(s->b, IN(0), s->x[2], s->x[1]) : SN_NONE;
}

/* c ? (c ? x : y) : z = c ? x : z, and the same on the other side */
RULE(same_choice) {
  const sn_id c = s->x[0];
  sn_id x = s->x[1], y = s->x[2];
  if (IS(1, where) && sn_match_input(s, x, 0) == c) x = sn_match_input(s, x, 1);
  if (IS(2, where) && sn_match_input(s, y, 0) == c) y = sn_match_input(s, y, 2);
  return x != s->x[1] || y != s->x[2] ? sn_build_where(s->b, c, x, y) : SN_NONE;
}

/* c ? true : false = c */
RULE(choice_is_condition) {
  if (s->type.dtype != SN_BOOL) return SN_NONE;
  if (sn_match_value(s, 1, 1) && sn_match_value(s, 2, 0)) return s->x[0];
  return sn_match_value(s, 1, 0) && sn_match_value(s, 2, 1) ? UNARY(logical_not, s->x[0]) : SN_NONE;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Over axes of size 1 nothing is combined but the identity: 0 + x, which of -0 is +0. */
RULE(reduce_nothing) {
  const sn_type *x = &sn_match_node(s, s->x[0])->type;
  if (sn_type_size(x) != sn_type_size(&s->type) || sn_type_size(x) == 0) return SN_NONE;
  const sn_id y = sn_build_reshape(s->b, IS(0, reshape) ? IN(0) : s->x[0], &s->type);
  if (s->op != SN_OP_sum || s->b->status || sn_match_never_minus_zero(s, y)) return y;
  return BINARY(add, y, sn_match_full(s, 0));
}

/* The axes of input i's input that a reduction over `outer` of input i, a reduction itself, takes
 * together. */
static uint64_t both_axes(const sn_match *s, uint64_t outer) {
  const sn_id inner = s->x[0];
  uint64_t axes = (uint64_t)*sn_graph_attrs(sn_match_graph(s), inner);
  int kept = 0;
  for (int i = 0; i < sn_match_node(s, IN(0))->type.rank; i++) {
    if (axes >> i & 1) continue;
    if (outer >> kept & 1) axes |= (uint64_t)1 << i;
    kept++;
  }
  return axes;
}

/* max(max(x)) over all axes at once: no order matters. Integers' sums and products: nor there. */
RULE(reduce_twice) {
  const bool any_order = sn_op_describe(s->op)->picks || is_int(s);
  if (!any_order || !sn_match_is(s, s->x[0], s->op) || !sn_match_single_use(s, 0)) return SN_NONE;
  return sn_build_reduce(s->b, s->op, IN(0), both_axes(s, (uint64_t)s->attrs[0]));
}

/* clang-format off */
static const sn_rule rules[] = {
    SN_RULE(mul, times_one),
    SN_RULE(mul, times_minus_one),
    SN_RULE(mul, times_zero),
    SN_RULE(mul, negated_factors),
    SN_RULE(mul, negated_factor),
    SN_RULE(mul, same_factors),
    SN_RULE(div, over_one),
    SN_RULE(div, over_minus_one),
    SN_RULE(div, over_power_of_two),
    SN_RULE(div, one_over),
    SN_RULE(div, negated_quotient),
    SN_RULE(add, plus_zero),
    SN_RULE(add, plus_zero_inside),
    SN_RULE(add, plus_negated),
    SN_RULE(sub, minus_zero),
    SN_RULE(sub, minus_negated),
    SN_RULE(sub, zero_minus),
    SN_RULE(sub, minus_itself),
    SN_RULE(neg, neg_neg),
    SN_RULE(marker, marker),
    SN_RULE(stop_gradient, marker),
    SN_RULE(abs, sign_lost),
    SN_RULE(square, sign_lost),
    SN_RULE(abs, twice),
    SN_RULE(relu, twice),
    SN_RULE(sign, twice),
    SN_RULE(abs, not_negative),
    SN_RULE(relu, not_negative),
    SN_RULE(floor, whole_already),
    SN_RULE(ceil, whole_already),
    SN_RULE(trunc, whole_already),
    SN_RULE(round, whole_already),
    SN_RULE(pow, power_zero),
    SN_RULE(astype, cast_to_same),
    SN_RULE(astype, cast_of_cast),
    SN_RULE(bitcast, bitcast_back),
    SN_RULE(less, below_itself),
    SN_RULE(greater, below_itself),
    SN_RULE(equal, equal_to_itself),
    SN_RULE(less_equal, equal_to_itself),
    SN_RULE(greater_equal, equal_to_itself),
    SN_RULE(not_equal, unequal_to_itself),
    SN_RULE(equal, mask_equal),
    SN_RULE(not_equal, mask_unequal),
    SN_RULE(greater, mask_above_zero),
    SN_RULE(logical_not, not_not),
    SN_RULE(logical_not, not_comparison),
    SN_RULE(logical_and, with_itself),
    SN_RULE(logical_or, with_itself),
    SN_RULE(bitwise_and, with_itself),
    SN_RULE(bitwise_or, with_itself),
    SN_RULE(maximum, with_itself),
    SN_RULE(minimum, with_itself),
    SN_RULE(logical_xor, xor_itself),
    SN_RULE(bitwise_xor, xor_itself),
    SN_RULE(logical_or, with_zero),
    SN_RULE(logical_xor, with_zero),
    SN_RULE(bitwise_or, with_zero),
    SN_RULE(bitwise_xor, with_zero),
    SN_RULE(logical_and, and_zero),
    SN_RULE(bitwise_and, and_zero),
    SN_RULE(logical_and, and_true),
    SN_RULE(logical_or, or_true),
    SN_RULE(logical_xor, xor_true),
    SN_RULE(bitwise_and, and_ones),
    SN_RULE(shift_left, shift_by_zero),
    SN_RULE(shift_right_logical, shift_by_zero),
    SN_RULE(maximum, above_nothing),
    SN_RULE(minimum, below_nothing),
    SN_RULE(maximum, above_zero),
    SN_RULE(where, no_choice),
    SN_RULE(where, known_choice),
    SN_RULE(where, opposite_choice),
    SN_RULE(where, same_choice),
    SN_RULE(where, choice_is_condition),
    SN_RULE(sum, reduce_nothing),
    SN_RULE(prod, reduce_nothing),
    SN_RULE(max, reduce_nothing),
    SN_RULE(min, reduce_nothing),
    SN_RULE(sum, reduce_twice),
    SN_RULE(prod, reduce_twice),
    SN_RULE(max, reduce_twice),
    SN_RULE(min, reduce_twice),
    SN_RULES_END,
};
/* clang-format on */

sn_status sn_pass_simplify(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  return sn_rewrite_by_rules(context, from, to, rules);
}
