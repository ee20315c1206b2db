/* simplify.c - identities of arithmetic, one row each, that hold bit for bit for every value,
 * infinities and signed zeros included; only which NaN results may differ. Rules for views are in
 * layout.c, forms that round differently in strength.c. */
#include <math.h>

#include "passes/passes.h"
#include "passes/rewrite_rules.h"

/* Whether op made input i; and the first input of input i. */
static bool is(const sn_match *m, int i, sn_op op) { return sn_match_is(m, m->x[i], op); }
static sn_id in(const sn_match *m, int i) { return sn_match_input(m, m->x[i], 0); }

static sn_id unary(const sn_match *m, sn_op op, sn_id x) { return sn_build_unary(m->b, op, x); }
static sn_id binary(const sn_match *m, sn_op op, sn_id x, sn_id y) {
  return sn_build_binary(m->b, op, x, y);
}

static bool same_inputs(const sn_match *m) { return m->x[0] == m->x[1]; }
static bool is_int(const sn_match *m) { return sn_match_dtype(m, 0) == SN_I32; }

/* The row of ops.def of the op that made input 0. */
static const sn_op_info *made_by(const sn_match *m) {
  return sn_op_describe(sn_match_node(m, m->x[0])->op);
}

/* Of a commutative op with one input of this value everywhere, the other input; else SN_NONE. */
static sn_id other_than(const sn_match *m, double value) {
  if (sn_match_value(m, 1, value)) return m->x[0];
  return sn_match_value(m, 0, value) ? m->x[1] : SN_NONE;
}

/* The index of an input that op made, 0 or 1; -1 if op made neither. */
static int which(const sn_match *m, sn_op op) {
  if (sn_match_is(m, m->x[1], op)) return 1;
  return sn_match_is(m, m->x[0], op) ? 0 : -1;
}

/* ---- products -------------------------------------------------------------------------------- */

/* x * 1 = x */
static sn_id times_one(const sn_match *m) { return other_than(m, 1); }

/* x * -1 = -x */
static sn_id times_minus_one(const sn_match *m) {
  const sn_id x = other_than(m, -1);
  return x != SN_NONE ? unary(m, SN_OP_neg, x) : SN_NONE;
}

/* x * 0 = 0 for integers only: of floats, NaN, infinity and negative numbers times 0 are not +0 */
static sn_id times_zero(const sn_match *m) {
  return is_int(m) && other_than(m, 0) != SN_NONE ? sn_match_full(m, 0) : SN_NONE;
}

/* (-x) (-y) = x y */
static sn_id negated_factors(const sn_match *m) {
  return is(m, 0, SN_OP_neg) && is(m, 1, SN_OP_neg) ? binary(m, SN_OP_mul, in(m, 0), in(m, 1))
                                                    : SN_NONE;
}

/* (-x) c = x (-c), (-x) y = -(x y): the sign moves out, where a sum or difference can absorb it */
static sn_id negated_factor(const sn_match *m) {
  const int i = which(m, SN_OP_neg);
  double c;
  if (i < 0) return SN_NONE;
  const sn_id x = in(m, i), y = m->x[1 - i];
  if (sn_graph_uniform(sn_match_graph(m), y, &c) && sn_match_is_float(m))
    return binary(m, SN_OP_mul, x, sn_build_like(m->b, y, -c));
  return unary(m, SN_OP_neg, binary(m, SN_OP_mul, x, y));
}

/* x x = square x */
static sn_id same_factors(const sn_match *m) {
  return same_inputs(m) ? unary(m, SN_OP_square, m->x[0]) : SN_NONE;
}

/* x / 1 = x, x / -1 = -x */
static sn_id over_one(const sn_match *m) { return sn_match_value(m, 1, 1) ? m->x[0] : SN_NONE; }
static sn_id over_minus_one(const sn_match *m) {
  return sn_match_value(m, 1, -1) ? unary(m, SN_OP_neg, m->x[0]) : SN_NONE;
}

/* x / 2^k = x 2^-k: both round the same exact number once. 2^-k must be a normal number. */
static sn_id over_power_of_two(const sn_match *m) {
  double c;
  if (!sn_graph_uniform(sn_match_graph(m), m->x[1], &c)) return SN_NONE;
  const double most = m->type.dtype == SN_F32 ? 0x1p120 : 0x1p1000;
  const bool is_power = (uint64_t)sn_double_attr(c) << 12 == 0; /* no bit of the fraction is set */
  return is_power && fabs(c) < most && fabs(c) > 1 / most
             ? binary(m, SN_OP_mul, m->x[0], sn_build_like(m->b, m->x[1], 1 / c))
             : SN_NONE;
}

/* 1 / x = reciprocal x */
static sn_id one_over(const sn_match *m) {
  return sn_match_value(m, 0, 1) ? unary(m, SN_OP_reciprocal, m->x[1]) : SN_NONE;
}

/* (-x) / (-y) = x / y */
static sn_id negated_quotient(const sn_match *m) {
  return is(m, 0, SN_OP_neg) && is(m, 1, SN_OP_neg) ? binary(m, SN_OP_div, in(m, 0), in(m, 1))
                                                    : SN_NONE;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* x + -0 = x; x + 0 = x where x is never -0, as -0 + 0 = +0 */
static sn_id plus_zero(const sn_match *m) {
  const sn_id x = other_than(m, -0.0);
  if (x != SN_NONE) return x;
  const sn_id y = other_than(m, 0);
  return y != SN_NONE && sn_match_never_minus_zero(m, y) ? y : SN_NONE;
}

/* (x + 0) + y = x + y where y is never -0: the two differ only if x and y are both -0 */
static sn_id plus_zero_inside(const sn_match *m) {
  const int i = which(m, SN_OP_add);
  if (i < 0 || !sn_match_never_minus_zero(m, m->x[1 - i])) return SN_NONE;
  for (int k = 0; k < 2; k++) {
    double zero;
    if (sn_graph_uniform(sn_match_graph(m), sn_match_input(m, m->x[i], k), &zero) && zero == 0)
      return binary(m, SN_OP_add, sn_match_input(m, m->x[i], 1 - k), m->x[1 - i]);
  }
  return SN_NONE;
}

/* x + (-y) = x - y */
static sn_id plus_negated(const sn_match *m) {
  const int i = which(m, SN_OP_neg);
  return i >= 0 ? binary(m, SN_OP_sub, m->x[1 - i], in(m, i)) : SN_NONE;
}

/* x - 0 = x; x - (-0) = x where x is never -0 */
static sn_id minus_zero(const sn_match *m) {
  return sn_match_value(m, 1, 0) ||
                 (sn_match_value(m, 1, -0.0) && sn_match_never_minus_zero(m, m->x[0]))
             ? m->x[0]
             : SN_NONE;
}

/* x - (-y) = x + y */
static sn_id minus_negated(const sn_match *m) {
  return is(m, 1, SN_OP_neg) ? binary(m, SN_OP_add, m->x[0], in(m, 1)) : SN_NONE;
}

/* -0 - x = -x; 0 - x = -x for integers only, as 0 - 0 = +0 for floats */
static sn_id zero_minus(const sn_match *m) {
  return sn_match_value(m, 0, -0.0) || (is_int(m) && sn_match_value(m, 0, 0))
             ? unary(m, SN_OP_neg, m->x[1])
             : SN_NONE;
}

/* x - x = 0 for integers only: NaN - NaN and inf - inf are NaN */
static sn_id minus_itself(const sn_match *m) {
  return same_inputs(m) && is_int(m) ? sn_match_full(m, 0) : SN_NONE;
}

/* ---- one input ------------------------------------------------------------------------------- */

/* -(-x) = x */
static sn_id neg_neg(const sn_match *m) { return is(m, 0, SN_OP_neg) ? in(m, 0) : SN_NONE; }

/* marker(x) = stop_gradient(x) = x: both mean something to autodiff only, which has run by now */
static sn_id marker(const sn_match *m) { return m->x[0]; }

/* |-x| = |x|, (-x)^2 = |x|^2 = x^2 */
static sn_id sign_lost(const sn_match *m) {
  const bool sign = is(m, 0, SN_OP_neg) || (m->op == SN_OP_square && is(m, 0, SN_OP_abs));
  return sign ? sn_build_unary(m->b, m->op, in(m, 0)) : SN_NONE;
}

/* f(f(x)) = f(x) */
static sn_id twice(const sn_match *m) { return sn_match_is(m, m->x[0], m->op) ? m->x[0] : SN_NONE; }

/* |x| = relu x = x if x is NaN or >= +0. Not for integers, whose squares wrap. */
static sn_id not_negative(const sn_match *m) {
  return made_by(m)->not_negative && sn_match_is_float(m) ? m->x[0] : SN_NONE;
}

/* floor(round x) = round x, likewise all pairs of floor, ceil, trunc and round; and integers or
 * bools cast to floats are whole */
static sn_id whole_already(const sn_match *m) {
  const bool cast =
      is(m, 0, SN_OP_astype) && !sn_dtype_is_float(sn_match_node(m, in(m, 0))->type.dtype);
  return cast || made_by(m)->whole ? m->x[0] : SN_NONE;
}

/* x^0 = 1, also for x = NaN, as C99 says */
static sn_id power_zero(const sn_match *m) {
  double y;
  return sn_graph_uniform(sn_match_graph(m), m->x[1], &y) && y == 0 ? sn_match_full(m, 1) : SN_NONE;
}

/* ---- casts ----------------------------------------------------------------------------------- */

static sn_id cast_to_same(const sn_match *m) {
  return sn_match_dtype(m, 0) == m->type.dtype ? m->x[0] : SN_NONE;
}

/* Two casts are the second one alone if the first loses nothing. */
static sn_id cast_of_cast(const sn_match *m) {
  if (!is(m, 0, SN_OP_astype)) return SN_NONE;
  const sn_dtype from = sn_match_node(m, in(m, 0))->type.dtype, by = sn_match_dtype(m, 0);
  const sn_dtype to = m->type.dtype;
  const bool lossless = from == SN_BOOL || (by == SN_F64 && from != SN_F64);
  if (sn_dtype_is_small(from) && from == to) return in(m, 0); /* widened and narrowed again */
  return lossless && !sn_dtype_is_small(to) ? sn_build_cast(m->b, SN_OP_astype, in(m, 0), to)
                                            : SN_NONE;
}

/* bitcast(bitcast x) = x */
static sn_id bitcast_back(const sn_match *m) {
  return is(m, 0, SN_OP_bitcast) ? in(m, 0) : SN_NONE;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

/* x < x is false, also for NaN; x == x and x <= x are true except for NaN */
static sn_id below_itself(const sn_match *m) {
  return same_inputs(m) ? sn_match_full(m, 0) : SN_NONE;
}
static sn_id equal_to_itself(const sn_match *m) {
  return same_inputs(m) && !sn_match_is_float(m) ? sn_match_full(m, 1) : SN_NONE;
}
static sn_id unequal_to_itself(const sn_match *m) {
  return same_inputs(m) && !sn_match_is_float(m) ? sn_match_full(m, 0) : SN_NONE;
}

/* The bool node that input i is, or is a cast of; else SN_NONE. */
static sn_id bool_behind(const sn_match *m, int i) {
  if (sn_match_dtype(m, i) == SN_BOOL) return m->x[i];
  if (!is(m, i, SN_OP_astype)) return SN_NONE;
  const sn_id x = in(m, i);
  return sn_match_node(m, x)->type.dtype == SN_BOOL ? x : SN_NONE;
}

/* A mask (bool or cast of one) compared with 0 or 1 is the mask or its negation. */
static sn_id compared_mask(const sn_match *m, bool equal) {
  for (int i = 0; i < 2; i++) {
    const sn_id mask = bool_behind(m, i);
    if (mask == SN_NONE) continue;
    if (sn_match_value(m, 1 - i, 1)) return equal ? mask : unary(m, SN_OP_logical_not, mask);
    if (sn_match_value(m, 1 - i, 0)) return equal ? unary(m, SN_OP_logical_not, mask) : mask;
  }
  return SN_NONE;
}
static sn_id mask_equal(const sn_match *m) { return compared_mask(m, true); }
static sn_id mask_unequal(const sn_match *m) { return compared_mask(m, false); }
static sn_id mask_above_zero(const sn_match *m) {
  const sn_id mask = bool_behind(m, 0);
  return mask != SN_NONE && sn_match_value(m, 1, 0) ? mask : SN_NONE;
}

/* ---- bools and bits -------------------------------------------------------------------------- */

static sn_id not_not(const sn_match *m) { return is(m, 0, SN_OP_logical_not) ? in(m, 0) : SN_NONE; }

/* not (x == y) is x != y, also for NaN; not (x < y) is x >= y only where there is no NaN */
static sn_id not_comparison(const sn_match *m) {
  const sn_op_info *comparison = made_by(m);
  if (!comparison->opposite) return SN_NONE;
  const sn_id a = sn_match_input(m, m->x[0], 0), b = sn_match_input(m, m->x[0], 1);
  const bool of_nan = comparison->of_nan != sn_op_describe(comparison->opposite)->of_nan;
  return of_nan || !sn_dtype_is_float(sn_match_node(m, a)->type.dtype)
             ? sn_build_binary(m->b, comparison->opposite, a, b)
             : SN_NONE;
}

/* (x and x) = (x or x) = max(x, x) = min(x, x) = x */
static sn_id with_itself(const sn_match *m) { return same_inputs(m) ? m->x[0] : SN_NONE; }
static sn_id xor_itself(const sn_match *m) {
  return same_inputs(m) ? sn_match_full(m, 0) : SN_NONE;
}
static sn_id with_zero(const sn_match *m) { return other_than(m, 0); } /* or, xor */
static sn_id and_zero(const sn_match *m) {
  return other_than(m, 0) != SN_NONE ? sn_match_full(m, 0) : SN_NONE;
}
static sn_id and_true(const sn_match *m) { return other_than(m, 1); }
static sn_id or_true(const sn_match *m) {
  return other_than(m, 1) != SN_NONE ? sn_match_full(m, 1) : SN_NONE;
}
static sn_id xor_true(const sn_match *m) {
  const sn_id x = other_than(m, 1);
  return x != SN_NONE ? unary(m, SN_OP_logical_not, x) : SN_NONE;
}
static sn_id and_ones(const sn_match *m) { return other_than(m, -1); }
static sn_id shift_by_zero(const sn_match *m) {
  return sn_match_value(m, 1, 0) ? m->x[0] : SN_NONE;
}

/* ---- choices --------------------------------------------------------------------------------- */

/* max(x, -inf) = x = min(x, inf) */
static sn_id above_nothing(const sn_match *m) {
  return sn_match_is_float(m) ? other_than(m, -INFINITY) : SN_NONE;
}
static sn_id below_nothing(const sn_match *m) {
  return sn_match_is_float(m) ? other_than(m, INFINITY) : SN_NONE;
}

/* max(x, 0) = relu x */
static sn_id above_zero(const sn_match *m) {
  const sn_id x = other_than(m, 0);
  return x != SN_NONE ? unary(m, SN_OP_relu, x) : SN_NONE;
}

/* c ? x : x = x */
static sn_id no_choice(const sn_match *m) { return m->x[1] == m->x[2] ? m->x[1] : SN_NONE; }
static sn_id known_choice(const sn_match *m) {
  double c;
  return sn_graph_uniform(sn_match_graph(m), m->x[0], &c) ? (c != 0 ? m->x[1] : m->x[2]) : SN_NONE;
}

/* (not c) ? x : y = c ? y : x */
static sn_id opposite_choice(const sn_match *m) {
  return is(m, 0, SN_OP_logical_not) ? sn_build_where(m->b, in(m, 0), m->x[2], m->x[1]) : SN_NONE;
}

/* c ? (c ? x : y) : z = c ? x : z, and c ? x : (c ? y : z) = c ? x : z */
static sn_id same_choice(const sn_match *m) {
  const sn_id c = m->x[0];
  sn_id x = m->x[1], y = m->x[2];
  if (is(m, 1, SN_OP_where) && sn_match_input(m, x, 0) == c) x = sn_match_input(m, x, 1);
  if (is(m, 2, SN_OP_where) && sn_match_input(m, y, 0) == c) y = sn_match_input(m, y, 2);
  return x != m->x[1] || y != m->x[2] ? sn_build_where(m->b, c, x, y) : SN_NONE;
}

/* c ? true : false = c, c ? false : true = not c */
static sn_id choice_is_condition(const sn_match *m) {
  if (m->type.dtype != SN_BOOL) return SN_NONE;
  if (sn_match_value(m, 1, 1) && sn_match_value(m, 2, 0)) return m->x[0];
  return sn_match_value(m, 1, 0) && sn_match_value(m, 2, 1) ? unary(m, SN_OP_logical_not, m->x[0])
                                                            : SN_NONE;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* A reduction over axes of size 1 is a reshape. A sum is 0 + x, which turns -0 into +0. */
static sn_id reduce_nothing(const sn_match *m) {
  const sn_type *x = &sn_match_node(m, m->x[0])->type;
  if (sn_type_size(x) != sn_type_size(&m->type) || sn_type_size(x) == 0) return SN_NONE;
  const sn_id y = sn_build_reshape(m->b, is(m, 0, SN_OP_reshape) ? in(m, 0) : m->x[0], &m->type);
  if (m->op != SN_OP_sum || m->b->status || sn_match_never_minus_zero(m, y)) return y;
  return binary(m, SN_OP_add, y, sn_match_full(m, 0));
}

/* Input 0 is a reduction, and the match reduces it again over `outer`. Returns the axes of the inner
 * reduction's input that the two remove together. */
static uint64_t both_axes(const sn_match *m, uint64_t outer) {
  const sn_id inner = m->x[0];
  uint64_t axes = (uint64_t)*sn_graph_attrs(sn_match_graph(m), inner);
  int kept = 0;
  for (int i = 0; i < sn_match_node(m, in(m, 0))->type.rank; i++) {
    if (axes >> i & 1) continue;
    if (outer >> kept & 1) axes |= (uint64_t)1 << i;
    kept++;
  }
  return axes;
}

/* max(max(x)) is one max over all the axes, as no order matters; likewise min, and sums and products
 * of integers. */
static sn_id reduce_twice(const sn_match *m) {
  const bool any_order = sn_op_describe(m->op)->picks || is_int(m);
  if (!any_order || !sn_match_is(m, m->x[0], m->op) || !sn_match_single_use(m, 0)) return SN_NONE;
  return sn_build_reduce(m->b, m->op, in(m, 0), both_axes(m, (uint64_t)m->attrs[0]));
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
