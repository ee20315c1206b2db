/* constant_fold.c - what is known at compile time is computed: an op whose result is one value everywhere
 * becomes that value. Arithmetic is that of the reference, so folding cannot change a bit. Tensors
 * of several known values have no node of their own; views of them are taken apart by layout.c. */
#include <math.h>

#include "graph/reference.h"
#include "passes/passes.h"
#include "passes/rewrite_rules.h"

#define RULE(name) static sn_id name(const sn_match *s)

static bool uniform(const sn_match *s, uint32_t i, double *value) {
  return sn_graph_uniform(sn_match_graph(s), s->x[i], value);
}

/* f(c, d) for an elementwise f */
RULE(arithmetic) {
  if (!sn_op_is_elementwise(s->op) || s->n == 0 || s->op == SN_OP_bitcast) return SN_NONE;
  if (sn_dtype_is_small(s->type.dtype)) return SN_NONE; /* it has no constants */
  double values[SN_MAX_ARITY];
  for (uint32_t i = 0; i < s->n; i++)
    if (!uniform(s, i, &values[i])) return SN_NONE;
  const sn_dtype last = sn_match_dtype(s, (int)s->n - 1);
  return sn_match_full(
      s, sn_ref_scalar(s->walk->context->target->fused, s->op, last, values, s->type.dtype));
}

/* the index along an axis of size 1 */
RULE(iota_of_one) { return s->type.dims[s->attrs[0]] == 1 ? sn_match_full(s, 0) : SN_NONE; }

/* padding with what is inside */
RULE(pad_with_same) {
  double value;
  if (!uniform(s, 0, &value)) return SN_NONE;
  const double around = sn_ref_convert(s->type.dtype, sn_attr_double(s->attrs[s->n_attrs - 1]));
  return sn_double_attr(value) == sn_double_attr(around) ? sn_match_full(s, value) : SN_NONE;
}

/* equal values one after the other */
RULE(concat_of_same) {
  double value, other;
  if (!uniform(s, 0, &value)) return SN_NONE;
  for (uint32_t i = 1; i < s->n; i++)
    if (!uniform(s, i, &other) || sn_double_attr(other) != sn_double_attr(value)) return SN_NONE;
  return sn_match_full(s, value);
}

/* What a reduction puts together from n equal values, n > 0. */
static double points(const sn_match *s) {
  const int64_t kept = sn_type_size(&s->type);
  return kept ? (double)(sn_type_size(&sn_match_node(s, s->x[0])->type) / kept) : 0;
}

RULE(extremum_of_same) {
  double value;
  return uniform(s, 0, &value) && points(s) > 0 ? sn_match_full(s, value) : SN_NONE;
}

/* n c, where every partial sum in whatever order is exact: the significand of c times n fits. Sums
 * begin at +0, so that of -0 is +0. */
RULE(sum_of_same) {
  double c;
  const double n = points(s);
  if (!uniform(s, 0, &c)) return SN_NONE;
  if (n == 0 || c == 0) return sn_match_full(s, 0);
  if (!isfinite(c)) return sn_match_full(s, c);
  if (s->type.dtype == SN_I32) {
    if (fabs(c) * n > 0x1p53) return SN_NONE;
    return sn_match_full(s, (double)(int32_t)(int64_t)(c * n)); /* wraps */
  }
  double odd = fabs(c);
  while (odd != floor(odd)) odd *= 2;
  while (odd / 2 == floor(odd / 2)) odd /= 2;
  const double most = s->type.dtype == SN_F32 ? 0x1p24 : 0x1p53;
  const double biggest = s->type.dtype == SN_F32 ? 0x1p127 : 0x1p1000;
  return odd * n <= most && fabs(c) * n < biggest ? sn_match_full(s, c * n) : SN_NONE;
}

RULE(product_of_same) {
  double c;
  if (!uniform(s, 0, &c)) return SN_NONE;
  const bool known = points(s) == 0 || c == 1 || sn_double_attr(c) == sn_double_attr(0);
  return known ? sn_match_full(s, points(s) == 0 ? 1 : c) : SN_NONE;
}

/* All elements are equal, whichever are taken. */
RULE(gather_of_same) {
  double value;
  return uniform(s, 0, &value) ? sn_match_full(s, value) : SN_NONE;
}

static const sn_rule rules[] = {
    SN_RULE(COUNT, arithmetic),
    SN_RULE(iota, iota_of_one),
    SN_RULE(pad, pad_with_same),
    SN_RULE(concat, concat_of_same),
    SN_RULE(max, extremum_of_same),
    SN_RULE(min, extremum_of_same),
    SN_RULE(sum, sum_of_same),
    SN_RULE(prod, product_of_same),
    SN_RULE(gather, gather_of_same),
    SN_RULE(sort, gather_of_same),
    SN_RULES_END,
};

sn_status sn_pass_fold(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  return sn_rewrite_by_rules(context, from, to, rules);
}
