/* strength.c - cheaper forms of the same function that round differently, but no worse: strength
 * reduction, and sums of broadcasts, which reverse mode makes. NaN, infinities and signs of zero
 * are still those of the exact result. Programs that need the rounding of the ops as written switch
 * this pass off. */
#include <string.h>

#include "passes/passes.h"
#include "passes/rewrite_rules.h"

/* x^1 = x, x^2 = x x, x^3 = x^2 x, x^-1 = 1/x: each within one ULP; pow is within two */
static sn_id small_power(const sn_match *m) {
  const sn_id x = m->x[0];
  if (sn_match_value(m, 1, 1)) return x;
  if (sn_match_value(m, 1, 2)) return sn_build_unary(m->b, SN_OP_square, x);
  if (sn_match_value(m, 1, 3))
    return sn_build_binary(m->b, SN_OP_mul, sn_build_unary(m->b, SN_OP_square, x), x);
  return sn_match_value(m, 1, -1) ? sn_build_unary(m->b, SN_OP_reciprocal, x) : SN_NONE;
}

/* A sum over repeated axes is x n: one rounding instead of many. If n x overflows so does the sum,
 * as its partial sums grow steadily. + 0 is added because a sum of -0 is +0. n must be exact in the
 * dtype. */
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
  /* the shape of x without the reduced axes; some of its dims are still to be repeated */
  sn_type spread = {.dtype = m->type.dtype};
  for (int i = lead < 0 ? 0 : lead; i < to.rank; i++)
    if (!(axes >> i & 1)) spread.dims[spread.rank++] = from.dims[i - lead];
  sum = sn_build_reshape(m->b, sum, &spread);
  sum = sn_build_binary(m->b, SN_OP_mul, sum, sn_build_like(m->b, sum, n));
  if (!m->b->status && !left && sn_dtype_is_float(from.dtype) && !sn_match_never_minus_zero(m, x))
    sum = sn_build_binary(m->b, SN_OP_add, sum, sn_build_like(m->b, sum, 0));
  return sn_build_broadcast(m->b, sum, &m->type);
}

/* A sum of sums is one sum over all the axes, in the order that the new size implies. */
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
 * sum is at least 1, so nothing overflows, and elements that softmax rounds to 0 keep their
 * logarithm. */
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
  /* Only if the divisor is this sum broadcast along its own axes. Graphs share equal nodes. */
  if (below != sn_build_broadcast_back(m->b, sum, &type, axes)) return SN_NONE;
  return sn_build_binary(m->b, SN_OP_sub, z, sn_build_broadcast_back(m->b, log, &type, axes));
}

/* ---- windows of few points ------------------------------------------------------------------- */

/* Most points of a window, and most elementwise ops between the windows and the reduction: they
 * bound the number of nodes that are made. */
enum { MOST_POINTS = 49, MOST_DEPTH = 3 };

typedef struct window {
  uint64_t axes;              /* the axes that are reduced, as bits */
  int64_t begin[SN_MAX_RANK]; /* index of the point along these axes, 0 along the others */
  sn_type type;               /* of the result: without these axes */
  bool any;                   /* at_point has met a windows node */
} window;

/* The node behind all reshapes of x if it has this shape; else x. */
static sn_id behind_reshapes(const sn_match *m, sn_id x, const sn_type *type) {
  sn_id from = x;
  while (sn_match_is(m, from, SN_OP_reshape)) from = sn_match_input(m, from, 0);
  return sn_same_dims(&sn_match_node(m, from)->type, type) ? from : x;
}

/* The broadcast x at the window's point, such as a filter's weight there, broadcast to `type`. */
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

/* Whether x is a windows node or a transpose of one. */
static bool is_windows(const sn_match *m, sn_id x) {
  if (sn_match_is(m, x, SN_OP_transpose)) x = sn_match_input(m, x, 0);
  return sn_match_is(m, x, SN_OP_windows);
}

/* x at one point of each window; SN_NONE if x is not made of windows and broadcasts by at most
 * MOST_DEPTH elementwise ops. */
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

/* A reduction over few window points, as in pooling and convolutions of single channels, is written
 * out as one combine per point: one kernel with as many loads, which other readers of the windows
 * can join. Points are combined in the order of a reduction. */
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

/* A product with k = 1 has one term, 0 + x y: as elementwise ops it can join its readers' kernels. A
 * negative term that underflows becomes +0 here; a fused multiply-add would leave it -0. */
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

/* A factor with its batch dims merged into k: a left one is (m, batch k), a right one (batch k, n). */
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

/* A sum over a whole batch of products is one product whose k runs through the batch, too. vmap makes such
 * sums for the gradients of weights. The single products then never lie in memory. */
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
