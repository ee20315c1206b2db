/* strength.c - cheaper forms of the same function that round differently, but no worse: strength
 * reduction, and what reverse mode leaves of sums over broadcasts. NaN, infinities and signs of
 * zero are those of the exact result, too. Programs that need the rounding of the ops as written
 * switch this pass off. */
#include <string.h>

#include "passes/passes.h"
#include "passes/rewrite_rules.h"

/* x^2 = x x, x^3 = x^2 x, x^1 = x, x^-1 = 1/x: at most one unit in the last place from pow's two */
static sn_id small_power(const sn_match *m) {
  const sn_id x = m->x[0];
  if (sn_match_value(m, 1, 1)) return x;
  if (sn_match_value(m, 1, 2)) return sn_build_unary(m->b, SN_OP_square, x);
  if (sn_match_value(m, 1, 3))
    return sn_build_binary(m->b, SN_OP_mul, sn_build_unary(m->b, SN_OP_square, x), x);
  return sn_match_value(m, 1, -1) ? sn_build_unary(m->b, SN_OP_reciprocal, x) : SN_NONE;
}

/* Sum over repeated axes: x n, one rounding instead of many. Where n x overflows so does the sum,
 * as its partial sums grow steadily; + 0 because a sum of -0 is +0. n has to be exact. */
static sn_id sum_of_repeated(const sn_match *m) {
  const sn_graph *g = sn_match_graph(m);
  if (!sn_match_is(m, m->x[0], SN_OP_broadcast)) return SN_NONE;
  const sn_id x = sn_match_input(m, m->x[0], 0);
  const sn_type from = g->nodes[x].type, to = g->nodes[m->x[0]].type;
  const uint64_t axes = (uint64_t)m->attrs[0];
  const int lead = to.rank - from.rank;
  const double most = from.dtype == SN_F32 ? 0x1p24 : from.dtype == SN_F64 ? 0x1p53 : 0x1p31;
  double n = 1;
  uint64_t left = 0;
  for (int i = 0; i < to.rank; i++) {
    if (!(axes >> i & 1)) continue;
    if (i >= lead && from.dims[i - lead] == to.dims[i])
      left |= (uint64_t)1 << (i - lead);
    else
      n *= (double)to.dims[i];
  }
  if (n < 2 || n > most || sn_type_size(&from) == 0) return SN_NONE;
  sn_id sum = sn_build_reduce(m->b, SN_OP_sum, x, left);
  if (m->b->status) return SN_NONE;
  /* what is left of x: kept axes, some of them repeated */
  sn_type spread = {.dtype = m->type.dtype};
  for (int i = lead < 0 ? 0 : lead; i < to.rank; i++)
    if (!(axes >> i & 1)) spread.dims[spread.rank++] = from.dims[i - lead];
  sum = sn_build_reshape(m->b, sum, &spread);
  sum = sn_build_binary(m->b, SN_OP_mul, sum, sn_build_like(m->b, sum, n));
  if (!m->b->status && !left && sn_dtype_is_float(from.dtype) && !sn_match_never_minus_zero(m, x))
    sum = sn_build_binary(m->b, SN_OP_add, sum, sn_build_like(m->b, sum, 0));
  return sn_build_broadcast(m->b, sum, &m->type);
}

/* The sum of sums is one sum, in the order that its own size says. */
static sn_id sum_of_sums(const sn_match *m) {
  const sn_id inner = m->x[0];
  if (!sn_match_is(m, inner, SN_OP_sum) || !sn_match_single_use(m, 0)) return SN_NONE;
  const sn_id x = sn_match_input(m, inner, 0);
  uint64_t axes = (uint64_t)*sn_graph_attrs(sn_match_graph(m), inner);
  int kept = 0;
  for (int i = 0; i < sn_match_node(m, x)->type.rank; i++) {
    if (axes >> i & 1) continue;
    if ((uint64_t)m->attrs[0] >> kept++ & 1) axes |= (uint64_t)1 << i;
  }
  return sn_build_reduce(m->b, SN_OP_sum, x, axes);
}

/* What x is a view of. */
static sn_id behind_views(const sn_match *m, sn_id x) {
  while (sn_op_describe(sn_match_node(m, x)->op)->kind == SN_CLASS_VIEW)
    x = sn_match_input(m, x, 0);
  return x;
}

/* log(e^z / sum e^z) = z - log(sum e^z) where z = x - max x, as softmax makes it: z <= 0 and the
 * sum is at least 1, so nothing overflows, and what softmax rounds to 0 keeps its logarithm. */
static sn_id log_of_softmax(const sn_match *m) {
  if (!sn_match_is(m, m->x[0], SN_OP_div)) return SN_NONE;
  const sn_id e = sn_match_input(m, m->x[0], 0), below = sn_match_input(m, m->x[0], 1);
  const sn_id sum = behind_views(m, below);
  if (!sn_match_is(m, e, SN_OP_exp) || !sn_match_is(m, sum, SN_OP_sum) ||
      sn_match_input(m, sum, 0) != e)
    return SN_NONE;
  const sn_id z = sn_match_input(m, e, 0);
  if (!sn_match_is(m, z, SN_OP_sub)) return SN_NONE;
  const sn_id top = behind_views(m, sn_match_input(m, z, 1));
  const sn_graph *g = sn_match_graph(m);
  if (!sn_match_is(m, top, SN_OP_max) || sn_match_input(m, top, 0) != sn_match_input(m, z, 0) ||
      *sn_graph_attrs(g, top) != *sn_graph_attrs(g, sum))
    return SN_NONE;
  const uint64_t axes = (uint64_t)*sn_graph_attrs(g, sum);
  const sn_type type = m->type;
  const sn_id log = sn_build_unary(m->b, SN_OP_log, sum);
  /* only if the divisor is the sum of its own row, spread */
  if (below != sn_build_spread(m->b, sum, &type, axes)) return SN_NONE;
  return sn_build_binary(m->b, SN_OP_sub, z, sn_build_spread(m->b, log, &type, axes));
}

/* ---- windows of few points ------------------------------------------------------------------- */

/* Points of a window, and ops between windows and reduction: bounds the nodes that are made. */
enum { MOST_POINTS = 49, MOST_DEPTH = 3 };

typedef struct window {
  uint64_t axes;
  int64_t begin[SN_MAX_RANK]; /* the point, as slices want it: 0 along the other axes */
  sn_type type;               /* without the axes */
  bool any;                   /* windows were met */
} window;

/* What x is a reshape of, where that is of this shape. */
static sn_id behind_reshapes(const sn_match *m, sn_id x, const sn_type *type) {
  sn_id from = x;
  while (sn_match_is(m, from, SN_OP_reshape)) from = sn_match_input(m, from, 0);
  return sn_same_dims(&sn_match_node(m, from)->type, type) ? from : x;
}

/* Of what is repeated, what it has at this point: of a filter its weight there. */
static sn_id point_of_repeated(const sn_match *m, sn_id x, const window *w, const sn_type *type) {
  sn_id from = sn_match_input(m, x, 0);
  const sn_type small = sn_match_node(m, from)->type;
  const int lead = sn_match_node(m, x)->type.rank - small.rank;
  sn_type one = small, left = {.dtype = small.dtype};
  int64_t attrs[2 * SN_MAX_RANK];
  for (int i = 0; i < small.rank; i++) {
    const bool along = w->axes >> (lead + i) & 1;
    attrs[i] = along && small.dims[i] > 1 ? w->begin[lead + i] : 0;
    attrs[small.rank + i] = 1;
    if (along)
      one.dims[i] = 1;
    else
      left.dims[left.rank++] = small.dims[i];
  }
  if (!sn_same_dims(&one, &small))
    from = sn_match_view(m, SN_OP_slice, from, attrs, 2 * (uint32_t)small.rank, &one);
  if (m->b->status) return SN_NONE;
  from = sn_build_reshape(m->b, behind_reshapes(m, from, &left), &left);
  return sn_build_broadcast(m->b, from, type);
}

/* Windows, their axes in any order. */
static bool is_windows(const sn_match *m, sn_id x) {
  if (sn_match_is(m, x, SN_OP_transpose)) x = sn_match_input(m, x, 0);
  return sn_match_is(m, x, SN_OP_windows);
}

/* x at one point of each window; SN_NONE if it is not made of windows by a few elementwise ops. */
static sn_id at_point(const sn_match *m, sn_id x, window *w, int depth) {
  const sn_node *node = sn_match_node(m, x);
  sn_type type = w->type, one = node->type;
  type.dtype = node->type.dtype;
  if (node->op == SN_OP_broadcast) return point_of_repeated(m, x, w, &type);
  if (is_windows(m, x)) {
    int64_t attrs[2 * SN_MAX_RANK];
    w->any = true;
    for (int i = 0; i < one.rank; i++) {
      attrs[i] = w->begin[i];
      attrs[one.rank + i] = 1;
      if (w->axes >> i & 1) one.dims[i] = 1;
    }
    x = sn_match_view(m, SN_OP_slice, x, attrs, 2 * (uint32_t)one.rank, &one);
    return sn_build_reshape(m->b, x, &type);
  }
  sn_id inputs[3];
  const sn_op op = node->op;
  const uint32_t n = node->n_inputs;
  if (!sn_op_is_elementwise(op) || n > 3 || depth == MOST_DEPTH) return SN_NONE;
  for (uint32_t k = 0; k < n; k++) {
    inputs[k] = at_point(m, sn_match_input(m, x, (int)k), w, depth + 1);
    if (inputs[k] == SN_NONE) return SN_NONE;
  }
  return sn_build_op(m->b, op, inputs, n, NULL, 0, &type);
}

/* Pooling, and convolutions of single channels: few points are so many loads in one walk, and what
 * else is made of the windows joins it. In the order in which a reduction takes them. */
static sn_id over_points(const sn_match *m, sn_op combine) {
  const sn_type whole = sn_match_node(m, m->x[0])->type;
  window w = {.axes = (uint64_t)m->attrs[0], .type = m->type};
  int64_t points = 1;
  for (int i = 0; i < whole.rank; i++)
    if (w.axes >> i & 1) points = whole.dims[i] > MOST_POINTS ? 0 : points * whole.dims[i];
  const int last = whole.rank - 1;
  if (points < 1 || points > MOST_POINTS || w.axes >> last & 1) return SN_NONE;
  sn_id all = SN_NONE;
  for (int64_t p = 0; p < points; p++) {
    int64_t rest = p;
    for (int i = last; i >= 0; i--) {
      if (!(w.axes >> i & 1)) continue;
      w.begin[i] = rest % whole.dims[i];
      rest /= whole.dims[i];
    }
    const sn_id x = at_point(m, m->x[0], &w, 0);
    if (x == SN_NONE || !w.any) return SN_NONE;
    all = all == SN_NONE ? x : sn_build_binary(m->b, combine, all, x);
  }
  return all;
}

static sn_id max_of_points(const sn_match *m) { return over_points(m, SN_OP_maximum); }
static sn_id min_of_points(const sn_match *m) { return over_points(m, SN_OP_minimum); }

/* + 0 because a sum of -0 is +0 */
static sn_id sum_of_points(const sn_match *m) {
  const sn_id sum = over_points(m, SN_OP_add);
  if (sum == SN_NONE || sn_match_never_minus_zero(m, m->x[0])) return sum;
  return sn_build_binary(m->b, SN_OP_add, sum, sn_build_like(m->b, sum, 0));
}

/* A product over k = 1 has one term, 0 + x y: elementwise it joins what reads it. A fused multiply-add
 * keeps the sign of a term that vanishes. */
static sn_id product_of_one_term(const sn_match *m) {
  const sn_type *x = &sn_match_node(m, m->x[0])->type;
  if (x->dims[x->rank - 1] != 1 || x->dtype != m->type.dtype || sn_match_dtype(m, 1) != x->dtype)
    return SN_NONE;
  const sn_id left = sn_build_broadcast(m->b, m->x[0], &m->type);
  const sn_id right = sn_build_broadcast(m->b, m->x[1], &m->type);
  const sn_id term = sn_build_binary(m->b, SN_OP_mul, left, right);
  if (m->b->status || sn_match_never_minus_zero(m, term)) return term;
  return sn_build_binary(m->b, SN_OP_add, term, sn_match_full(m, 0));
}

/* ---- sums over a batch of products ----------------------------------------------------------- */

/* A factor with the batch beside k: a left one (m, batch and k), a right one (batch and k, n). */
static sn_id beside_k(const sn_match *m, sn_id x, bool left) {
  if (m->b->status) return SN_NONE;
  const sn_type type = *sn_build_type(m->b, x);
  const int batch = type.rank - 2;
  sn_type merged = {type.dtype, 2, {1, 1}};
  int64_t order[SN_MAX_RANK] = {batch};
  for (int i = 0; i < type.rank; i++) {
    if (left && i < type.rank - 1) order[i + 1] = i + (i >= batch);
    merged.dims[left ? i != batch : i > batch] *= type.dims[i];
  }
  return sn_build_reshape(m->b, left ? sn_build_transpose(m->b, x, order) : x, &merged);
}

/* A sum over a whole batch of products is one product, whose k runs through the batch too: what vmap makes
 * of the gradient of weights. What each product comes to is never in memory. */
static sn_id sum_of_products(const sn_match *m) {
  const sn_graph *from = m->walk->r->from;
  if (!sn_match_single_use(m, 0) || from->nodes[*m->old].op != SN_OP_matmul) return SN_NONE;
  const sn_type *products = &from->nodes[*m->old].type;
  const int batch = products->rank - 2;
  if (!batch || *m->attrs != ((int64_t)1 << batch) - 1 || !sn_type_size(products)) return SN_NONE;
  sn_id x[2];
  for (int i = 0; i < 2; i++) {
    x[i] = m->walk->r->map[sn_graph_inputs(from, *m->old)[i]];
    if (sn_match_is(m, x[i], SN_OP_broadcast)) return SN_NONE; /* would have to be copied */
  }
  return sn_build_matmul(m->b, beside_k(m, x[0], true), beside_k(m, x[1], false));
}

/* clang-format off */
static const sn_rule rules[] = {
    SN_RULE(pow, small_power),
    SN_RULE(sum, sum_of_repeated),
    SN_RULE(sum, sum_of_products),
    SN_RULE(sum, sum_of_sums),
    SN_RULE(sum, sum_of_points),
    SN_RULE(max, max_of_points),
    SN_RULE(min, min_of_points),
    SN_RULE(log, log_of_softmax),
    SN_RULE(matmul, product_of_one_term),
    SN_RULES_END,
};
/* clang-format on */

sn_status sn_pass_strength(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  return sn_rewrite_by_rules(context, from, to, rules);
}
