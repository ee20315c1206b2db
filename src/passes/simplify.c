/* simplify.c - algebraic identities, a function each, that hold bit for bit for every IEEE value
 * (NaN payloads aside), infinities and signed zeros included; the one exception says so. */
#include <math.h>
#include <string.h>

#include "passes/passes.h"
#include "passes/rewrite.h"

typedef struct site {
  sn_rewrite *r;
  const sn_node *node;
  const int64_t *attrs;
  const sn_id *x; /* inputs in the new graph */
} site;

static const sn_node *input_node(const site *s, int i) { return &s->r->to.graph->nodes[s->x[i]]; }

static bool is_value(const site *s, int i, double value) {
  double found;
  return sn_graph_uniform(s->r->to.graph, s->x[i], &found) &&
         sn_double_attr(found) == sn_double_attr(value);
}

static sn_id input_of(const site *s, int i) { return *sn_graph_inputs(s->r->to.graph, s->x[i]); }

static bool is_op(const site *s, int i, sn_op op) { return input_node(s, i)->op == op; }
static bool is_float(const site *s) { return sn_dtype_is_float(input_node(s, 0)->type.dtype); }
static sn_id zero_like(const site *s, sn_id x) { return sn_build_like(&s->r->to, x, 0); }

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* x * 1 = 1 * x = x */
static sn_id multiply_by_one(const site *s) {
  if (is_value(s, 1, 1)) return s->x[0];
  return is_value(s, 0, 1) ? s->x[1] : SN_NONE;
}

/* i * 0 = 0 of integers; a float may be NaN, infinite or negative */
static sn_id multiply_by_zero(const site *s) {
  if (is_float(s)) return SN_NONE;
  return is_value(s, 0, 0) || is_value(s, 1, 0) ? zero_like(s, s->x[0]) : SN_NONE;
}

/* (-x) * (-y) = x * y: signs multiply apart from magnitudes */
static sn_id multiply_negatives(const site *s) {
  if (!is_float(s) || !is_op(s, 0, SN_OP_neg) || !is_op(s, 1, SN_OP_neg)) return SN_NONE;
  return sn_build_binary(&s->r->to, SN_OP_mul, input_of(s, 0), input_of(s, 1));
}

/* x + (-0) = x; (x + 0 is not: -0 + 0 = +0, but integers have one zero) */
static sn_id add_nothing(const site *s) {
  const double zero = is_float(s) ? -0.0 : 0;
  if (is_value(s, 1, zero)) return s->x[0];
  return is_value(s, 0, zero) ? s->x[1] : SN_NONE;
}

/* x + (-y) = x - y, (-x) + y = y - x: subtraction is addition of the negative */
static sn_id add_negative(const site *s) {
  sn_build *to = &s->r->to;
  if (!is_float(s)) return SN_NONE;
  if (is_op(s, 1, SN_OP_neg)) return sn_build_binary(to, SN_OP_sub, s->x[0], input_of(s, 1));
  if (is_op(s, 0, SN_OP_neg)) return sn_build_binary(to, SN_OP_sub, s->x[1], input_of(s, 0));
  return SN_NONE;
}

/* x - 0 = x */
static sn_id subtract_nothing(const site *s) { return is_value(s, 1, 0) ? s->x[0] : SN_NONE; }

/* i - i = 0 of integers; NaN and infinity have no difference */
static sn_id subtract_itself(const site *s) {
  return !is_float(s) && s->x[0] == s->x[1] ? zero_like(s, s->x[0]) : SN_NONE;
}

/* x - (-y) = x + y */
static sn_id subtract_negative(const site *s) {
  if (!is_float(s) || !is_op(s, 1, SN_OP_neg)) return SN_NONE;
  return sn_build_binary(&s->r->to, SN_OP_add, s->x[0], input_of(s, 1));
}

/* x / 1 = x */
static sn_id divide_by_one(const site *s) { return is_value(s, 1, 1) ? s->x[0] : SN_NONE; }

/* x / 2^k = x * 2^-k: both only move the exponent, and round alike where that leaves the range */
static sn_id divide_by_power_of_two(const site *s) {
  double value;
  if (!sn_graph_uniform(s->r->to.graph, s->x[1], &value)) return SN_NONE;
  int exponent;
  const int least = input_node(s, 0)->type.dtype == SN_F32 ? -125 : -1021;
  if (!isfinite(value) || fabs(frexp(value, &exponent)) != 0.5) return SN_NONE;
  if (exponent < least + 2 || exponent > -least) return SN_NONE; /* 1 / value is a normal number */
  sn_build *to = &s->r->to;
  return sn_build_binary(to, SN_OP_mul, s->x[0], sn_build_like(to, s->x[1], 1 / value));
}

/* x^1 = x; x^2 = x * x, rounded once where pow is within one ULP of that */
static sn_id small_power(const site *s) {
  if (is_value(s, 1, 1)) return s->x[0];
  return is_value(s, 1, 2) ? sn_build_unary(&s->r->to, SN_OP_square, s->x[0]) : SN_NONE;
}

/* -(-x) = x, not(not x) = x */
static sn_id undo(const site *s) {
  return input_node(s, 0)->op == s->node->op ? input_of(s, 0) : SN_NONE;
}

/* |  |x|  | = |x|, relu(relu x) = relu x, and likewise floor, ceil, trunc, round, sign */
static sn_id same_again(const site *s) {
  return input_node(s, 0)->op == s->node->op ? s->x[0] : SN_NONE;
}

/* |-x| = |x| and (-x)^2 = |x|^2 = x^2 */
static sn_id drop_sign(const site *s) {
  if (!is_float(s) || !(is_op(s, 0, SN_OP_neg) || is_op(s, 0, SN_OP_abs))) return SN_NONE;
  return sn_build_unary(&s->r->to, s->node->op, input_of(s, 0));
}

/* max(x, x) = min(x, x) = x, and so for and, or */
static sn_id of_itself(const site *s) { return s->x[0] == s->x[1] ? s->x[0] : SN_NONE; }

/* ---- selection ------------------------------------------------------------------------------- */

/* where(c, x, x) = x; where(true, x, y) = x */
static sn_id select_known(const site *s) {
  double condition;
  if (s->x[1] == s->x[2]) return s->x[1];
  if (!sn_graph_uniform(s->r->to.graph, s->x[0], &condition)) return SN_NONE;
  return condition != 0 ? s->x[1] : s->x[2];
}

/* where(not c, x, y) = where(c, y, x) */
static sn_id select_negated(const site *s) {
  if (!is_op(s, 0, SN_OP_logical_not)) return SN_NONE;
  return sn_build_where(&s->r->to, input_of(s, 0), s->x[2], s->x[1]);
}

/* where(c, where(c, x, y), z) = where(c, x, z), and where(c, x, where(c, y, z)) = where(c, x, z) */
static sn_id select_twice(const site *s) {
  sn_id x[3] = {s->x[0], s->x[1], s->x[2]};
  for (int i = 1; i <= 2; i++) {
    if (!is_op(s, i, SN_OP_where)) continue;
    const sn_id *inner = sn_graph_inputs(s->r->to.graph, s->x[i]);
    if (inner[0] == s->x[0]) x[i] = inner[i];
  }
  return x[1] == s->x[1] && x[2] == s->x[2] ? SN_NONE : sn_build_where(&s->r->to, x[0], x[1], x[2]);
}

/* ---- markers and views ----------------------------------------------------------------------- */

/* identity(x) = x: its work, telling x from x, is done once derivatives are taken */
static sn_id simplify_identity(const site *s) { return s->x[0]; }

/* a view that changes nothing */
static sn_id simplify_same_type(const site *s) {
  return sn_type_equal(&input_node(s, 0)->type, &s->node->type) ? s->x[0] : SN_NONE;
}

/* reshape(reshape(x)) = reshape(x) */
static sn_id simplify_reshape(const site *s) {
  if (input_node(s, 0)->op == SN_OP_reshape)
    return sn_build_reshape(&s->r->to, input_of(s, 0), &s->node->type);
  return simplify_same_type(s);
}

/* transpose(transpose(x, p), q) = transpose(x, p[q]); the identical permutation is nothing */
static sn_id simplify_transpose(const site *s) {
  const int rank = s->node->type.rank;
  int64_t perm[SN_MAX_RANK];
  memcpy(perm, s->attrs, sizeof *perm * (size_t)rank);
  sn_id x = s->x[0];
  const bool nested = input_node(s, 0)->op == SN_OP_transpose;
  if (nested) {
    const int64_t *inner = sn_graph_attrs(s->r->to.graph, x);
    for (int i = 0; i < rank; i++) perm[i] = inner[s->attrs[i]];
    x = input_of(s, 0);
  }
  bool same = true;
  for (int i = 0; i < rank; i++) same = same && perm[i] == i;
  if (same) return x;
  return nested ? sn_build_transpose(&s->r->to, x, perm) : SN_NONE;
}

/* broadcast(broadcast(x)) = broadcast(x): dims of 1 stay 1 in between, or are spread once */
static sn_id broadcast_again(const site *s) {
  if (!is_op(s, 0, SN_OP_broadcast)) return SN_NONE;
  return sn_build_broadcast(&s->r->to, input_of(s, 0), &s->node->type);
}

/* slice(slice(x)): begins and strides compose; from 0 in steps of 1 to the end it is nothing */
static sn_id slice_again(const site *s) {
  const int rank = s->node->type.rank;
  const sn_id x = s->x[0];
  bool whole = sn_type_equal(&input_node(s, 0)->type, &s->node->type);
  for (int i = 0; i < rank; i++) whole = whole && s->attrs[i] == 0 && s->attrs[rank + i] == 1;
  if (whole) return x;
  if (!is_op(s, 0, SN_OP_slice) || sn_type_size(&s->node->type) == 0) return SN_NONE;
  const int64_t *inner = sn_graph_attrs(s->r->to.graph, x);
  int64_t attrs[2 * SN_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    attrs[i] = inner[i] + s->attrs[i] * inner[rank + i];
    attrs[rank + i] = s->attrs[rank + i] * inner[rank + i];
  }
  const sn_id from = input_of(s, 0);
  return sn_build_op(&s->r->to, SN_OP_slice, &from, 1, attrs, 2 * (size_t)rank, &s->node->type);
}

/* A slice that lies in one input of a concat is a slice of that input: what is stacked and taken
 * apart again meets no memory. */
static sn_id slice_of_concat(const site *s) {
  if (!is_op(s, 0, SN_OP_concat) || sn_type_size(&s->node->type) == 0) return SN_NONE;
  const sn_graph *g = s->r->to.graph;
  const int rank = s->node->type.rank;
  const int64_t axis = *sn_graph_attrs(g, s->x[0]), stride = s->attrs[rank + axis];
  const int64_t first = s->attrs[axis], last = first + (s->node->type.dims[axis] - 1) * stride;
  int64_t begin = 0;
  for (uint32_t k = 0; k < input_node(s, 0)->n_inputs; k++) {
    const sn_id part = sn_graph_inputs(g, s->x[0])[k];
    const int64_t end = begin + g->nodes[part].type.dims[axis];
    if (first >= begin && first < end) {
      if (last < begin || last >= end) return SN_NONE;
      int64_t attrs[2 * SN_MAX_RANK];
      memcpy(attrs, s->attrs, 2 * (size_t)rank * sizeof *attrs);
      attrs[axis] -= begin;
      return sn_build_op(&s->r->to, SN_OP_slice, &part, 1, attrs, 2 * (size_t)rank, &s->node->type);
    }
    begin = end;
  }
  return SN_NONE;
}

/* max and min over axes of size 1 are the element */
static sn_id reduce_of_one(const site *s) {
  const sn_type *type = &input_node(s, 0)->type;
  for (int i = 0; i < type->rank; i++)
    if (((uint64_t)s->attrs[0] >> i & 1) && type->dims[i] != 1) return SN_NONE;
  return sn_build_reshape(&s->r->to, s->x[0], &s->node->type);
}

/* ---- the rules ------------------------------------------------------------------------------- */

typedef struct simplify_rule {
  sn_op op;
  sn_id (*apply)(const site *s);
} simplify_rule;

/* Of an op's rules the first that applies is taken. */
static const simplify_rule rules[] = {
    {SN_OP_mul, multiply_by_one},
    {SN_OP_mul, multiply_by_zero},
    {SN_OP_mul, multiply_negatives},
    {SN_OP_add, add_nothing},
    {SN_OP_add, add_negative},
    {SN_OP_sub, subtract_nothing},
    {SN_OP_sub, subtract_itself},
    {SN_OP_sub, subtract_negative},
    {SN_OP_div, divide_by_one},
    {SN_OP_div, divide_by_power_of_two},
    {SN_OP_pow, small_power},
    {SN_OP_neg, undo},
    {SN_OP_logical_not, undo},
    {SN_OP_abs, same_again},
    {SN_OP_relu, same_again},
    {SN_OP_floor, same_again},
    {SN_OP_ceil, same_again},
    {SN_OP_trunc, same_again},
    {SN_OP_round, same_again},
    {SN_OP_sign, same_again},
    {SN_OP_abs, drop_sign},
    {SN_OP_square, drop_sign},
    {SN_OP_maximum, of_itself},
    {SN_OP_minimum, of_itself},
    {SN_OP_logical_and, of_itself},
    {SN_OP_logical_or, of_itself},
    {SN_OP_where, select_known},
    {SN_OP_where, select_negated},
    {SN_OP_where, select_twice},
    {SN_OP_identity, simplify_identity},
    {SN_OP_stop_gradient, simplify_identity},
    {SN_OP_reshape, simplify_reshape},
    {SN_OP_transpose, simplify_transpose},
    {SN_OP_broadcast, simplify_same_type},
    {SN_OP_broadcast, broadcast_again},
    {SN_OP_slice, slice_again},
    {SN_OP_slice, slice_of_concat},
    {SN_OP_astype, simplify_same_type},
    {SN_OP_max, reduce_of_one},
    {SN_OP_min, reduce_of_one},
};

static sn_id simplify(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const site s = {r, sn_graph_node(r->from, id), sn_graph_attrs(r->from, id), inputs};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    const sn_id found = rules[i].op == s.node->op ? rules[i].apply(&s) : SN_NONE;
    if (found != SN_NONE) return found;
  }
  return SN_NONE;
}

sn_status sn_pass_simplify(const sn_graph *from, sn_graph *to, bool share) {
  return sn_rewrite_graph(from, to, from->arena, share, NULL, simplify, NULL);
}
