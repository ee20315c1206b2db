/* constant_fold.c - an op whose result is one value everywhere, known at compile time, becomes that
 * constant. The reference computes it, so folding cannot change a bit. A constant tensor with
 * several different values has no node of its own (it is a concat or pad); layout.c simplifies views
 * of such tensors. */
#include <math.h>

#include "graph/reference.h"
#include "passes/passes.h"
#include "passes/rewrite_rules.h"

static bool uniform(const sn_match *m, uint32_t i, double *value) {
  return sn_graph_uniform(sn_match_graph(m), m->x[i], value);
}

/* f(c, d) for an elementwise f */
static sn_id arithmetic(const sn_match *m) {
  if (!sn_op_is_elementwise(m->op) || m->n == 0 || m->op == SN_OP_bitcast) return SN_NONE;
  if (sn_dtype_is_small(m->type.dtype)) return SN_NONE; /* storage dtypes have no constants */
  double values[SN_MAX_ARITY];
  for (uint32_t i = 0; i < m->n; i++)
    if (!uniform(m, i, &values[i])) return SN_NONE;
  const sn_dtype last = sn_match_dtype(m, (int)m->n - 1);
  return sn_match_full(
      m, sn_ref_scalar(m->walk->context->target->fused, m->op, last, values, m->type.dtype));
}

/* A constant that is cast to float16 or bfloat16, viewed, and cast back: the rounded constant.
 * arithmetic() cannot fold the first cast, as these dtypes have no constants. */
static sn_id rounded(const sn_match *m) {
  const sn_graph *g = sn_match_graph(m);
  sn_id x = m->x[0];
  double value;
  while (sn_op_describe(g->nodes[x].op)->kind == SN_CLASS_VIEW) x = sn_match_input(m, x, 0);
  const sn_dtype by = g->nodes[x].type.dtype;
  if (g->nodes[x].op != SN_OP_astype || !sn_dtype_is_small(by) || !sn_dtype_is_float(by) ||
      !sn_graph_uniform(g, sn_match_input(m, x, 0), &value))
    return SN_NONE;
  return sn_match_full(m, sn_ref_convert(by, value));
}

/* the index along an axis of size 1 */
static sn_id iota_of_one(const sn_match *m) {
  return m->type.dims[m->attrs[0]] == 1 ? sn_match_full(m, 0) : SN_NONE;
}

/* a pad of a constant with the same constant */
static sn_id pad_with_same(const sn_match *m) {
  double value;
  if (!uniform(m, 0, &value)) return SN_NONE;
  const double around = sn_ref_convert(m->type.dtype, sn_attr_double(m->attrs[m->n_attrs - 1]));
  return sn_double_attr(value) == sn_double_attr(around) ? sn_match_full(m, value) : SN_NONE;
}

/* a concat of equal constants */
static sn_id concat_of_same(const sn_match *m) {
  double value, other;
  if (!uniform(m, 0, &value)) return SN_NONE;
  for (uint32_t i = 1; i < m->n; i++)
    if (!uniform(m, i, &other) || sn_double_attr(other) != sn_double_attr(value)) return SN_NONE;
  return sn_match_full(m, value);
}

/* How many elements each result of the reduction combines; 0 if there are no results. */
static double points(const sn_match *m) {
  const int64_t kept = sn_type_size(&m->type);
  return kept ? (double)(sn_type_size(&sn_match_node(m, m->x[0])->type) / kept) : 0;
}

static sn_id extremum_of_same(const sn_match *m) {
  double value;
  return uniform(m, 0, &value) && points(m) > 0 ? sn_match_full(m, value) : SN_NONE;
}

/* The sum of n times c is n c if every partial sum, in any order, is exact: n times the odd part of
 * c fits the significand. Sums start at +0, so a sum of -0 is +0. */
static sn_id sum_of_same(const sn_match *m) {
  double c;
  const double n = points(m);
  if (!uniform(m, 0, &c)) return SN_NONE;
  if (n == 0 || c == 0) return sn_match_full(m, 0);
  if (!isfinite(c)) return sn_match_full(m, c);
  if (m->type.dtype == SN_I32) {
    if (fabs(c) * n > 0x1p53) return SN_NONE;
    return sn_match_full(m, (double)(int32_t)(int64_t)(c * n)); /* wraps */
  }
  double odd = fabs(c);
  while (odd != floor(odd)) odd *= 2;
  while (odd / 2 == floor(odd / 2)) odd /= 2;
  const double most = m->type.dtype == SN_F32 ? 0x1p24 : 0x1p53;
  const double biggest = m->type.dtype == SN_F32 ? 0x1p127 : 0x1p1000;
  return odd * n <= most && fabs(c) * n < biggest ? sn_match_full(m, c * n) : SN_NONE;
}

static sn_id product_of_same(const sn_match *m) {
  double c;
  if (!uniform(m, 0, &c)) return SN_NONE;
  const bool known = points(m) == 0 || c == 1 || sn_double_attr(c) == sn_double_attr(0);
  return known ? sn_match_full(m, points(m) == 0 ? 1 : c) : SN_NONE;
}

/* Gather and sort only select elements, which are all equal. */
static sn_id gather_of_same(const sn_match *m) {
  double value;
  return uniform(m, 0, &value) ? sn_match_full(m, value) : SN_NONE;
}

static const sn_rule rules[] = {
    SN_RULE(COUNT, arithmetic),      SN_RULE(astype, rounded),
    SN_RULE(iota, iota_of_one),      SN_RULE(pad, pad_with_same),
    SN_RULE(concat, concat_of_same), SN_RULE(max, extremum_of_same),
    SN_RULE(min, extremum_of_same),  SN_RULE(sum, sum_of_same),
    SN_RULE(prod, product_of_same),  SN_RULE(gather, gather_of_same),
    SN_RULE(sort, gather_of_same),   SN_RULES_END,
};

sn_status sn_pass_fold(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  return sn_rewrite_by_rules(context, from, to, rules);
}
