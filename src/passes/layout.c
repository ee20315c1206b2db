/* layout.c - views move to where they are free: a chain of views becomes one, a slice of a concat or
 * pad reads its input directly, and an op on broadcast values runs on the small values and
 * broadcasts the result. Views do no arithmetic, so every rule here is exact by construction. */
#include <string.h>

#include "passes/passes.h"
#include "passes/rewrite_rules.h"

static const sn_type *in_type(const sn_match *m) { return &sn_match_node(m, m->x[0])->type; }
static sn_id inner(const sn_match *m) { return sn_match_input(m, m->x[0], 0); }
static const sn_type *inner_type(const sn_match *m) { return &sn_match_node(m, inner(m))->type; }
static const int64_t *in_attrs(const sn_match *m) {
  return sn_graph_attrs(sn_match_graph(m), m->x[0]);
}
static bool is_view_of(const sn_match *m, sn_op op) { return sn_match_is(m, m->x[0], op); }

static sn_id slice_of(const sn_match *m, sn_id x, const int64_t *begin, const int64_t *stride,
                      const sn_type *type) {
  int64_t attrs[2 * SN_MAX_RANK];
  memcpy(attrs, begin, sizeof *attrs * (size_t)type->rank);
  memcpy(attrs + type->rank, stride, sizeof *attrs * (size_t)type->rank);
  return sn_match_view(m, SN_OP_slice, x, attrs, 2 * (uint32_t)type->rank, type);
}

/* ---- one view -------------------------------------------------------------------------------- */

/* a reshape or broadcast to the same shape */
static sn_id same_shape(const sn_match *m) {
  return sn_same_dims(in_type(m), &m->type) ? m->x[0] : SN_NONE;
}

/* a slice of everything */
static sn_id whole_slice(const sn_match *m) {
  for (int i = 0; i < m->type.rank; i++)
    if (m->attrs[i] != 0 || m->attrs[m->type.rank + i] != 1 ||
        m->type.dims[i] != in_type(m)->dims[i])
      return SN_NONE;
  return m->x[0];
}

/* a transpose that moves no axis is its input; one that moves only axes of size 1 is a reshape */
static sn_id idle_transpose(const sn_match *m) {
  int64_t last = -1;
  bool same = true, idle = true;
  for (int i = 0; i < m->type.rank; i++) {
    same = same && m->attrs[i] == i;
    if (m->type.dims[i] == 1) continue;
    idle = idle && m->attrs[i] > last;
    last = m->attrs[i];
  }
  if (same) return m->x[0];
  return idle ? sn_match_view(m, SN_OP_reshape, m->x[0], NULL, 0, &m->type) : SN_NONE;
}

/* any view of a broadcast single element is a broadcast of that element */
static sn_id view_of_one_value(const sn_match *m) {
  if (!is_view_of(m, SN_OP_broadcast) || sn_type_size(inner_type(m)) != 1) return SN_NONE;
  const sn_type scalar = sn_type_scalar(m->type.dtype);
  return sn_build_broadcast(m->b, sn_build_reshape(m->b, inner(m), &scalar), &m->type);
}

/* ---- views of views -------------------------------------------------------------------------- */

static sn_id reshape_of_reshape(const sn_match *m) {
  return is_view_of(m, SN_OP_reshape) ? sn_build_reshape(m->b, inner(m), &m->type) : SN_NONE;
}

static sn_id broadcast_of_broadcast(const sn_match *m) {
  return is_view_of(m, SN_OP_broadcast) ? sn_build_broadcast(m->b, inner(m), &m->type) : SN_NONE;
}

/* transpose(transpose(x, p), q) = transpose(x, p[q]) */
static sn_id transpose_of_transpose(const sn_match *m) {
  if (!is_view_of(m, SN_OP_transpose)) return SN_NONE;
  int64_t perm[SN_MAX_RANK];
  for (int i = 0; i < m->type.rank; i++) perm[i] = in_attrs(m)[m->attrs[i]];
  return sn_match_view(m, SN_OP_transpose, inner(m), perm, (uint32_t)m->type.rank, &m->type);
}

/* x[b + i s][c + j t] = x[b + c s + j s t] */
static sn_id slice_of_slice(const sn_match *m) {
  const int rank = m->type.rank;
  if (!is_view_of(m, SN_OP_slice) || sn_type_size(&m->type) == 0) return SN_NONE;
  int64_t begin[SN_MAX_RANK], stride[SN_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    const int64_t b = in_attrs(m)[i], step = in_attrs(m)[rank + i];
    begin[i] = b + m->attrs[i] * step;
    /* along an axis of one element the stride is not used, and the product could overflow */
    stride[i] = m->type.dims[i] > 1 ? m->attrs[rank + i] * step : 1;
  }
  return slice_of(m, inner(m), begin, stride, &m->type);
}

/* slice(broadcast x) = broadcast(slice x) */
static sn_id slice_of_broadcast(const sn_match *m) {
  if (!is_view_of(m, SN_OP_broadcast)) return SN_NONE;
  sn_type part = *inner_type(m);
  const int lead = m->type.rank - part.rank;
  int64_t begin[SN_MAX_RANK], stride[SN_MAX_RANK];
  for (int i = 0; i < part.rank; i++) {
    const bool repeated = part.dims[i] != in_type(m)->dims[lead + i];
    begin[i] = repeated ? 0 : m->attrs[lead + i];
    stride[i] = repeated ? 1 : m->attrs[m->type.rank + lead + i];
    if (!repeated) part.dims[i] = m->type.dims[lead + i];
  }
  const sn_type type = m->type;
  return sn_build_broadcast(m->b, slice_of(m, inner(m), begin, stride, &part), &type);
}

/* A storage dtype that is widened, viewed and narrowed again: the views alone. */
static sn_id views_between_casts(const sn_match *m) {
  enum { MOST = 4 };
  sn_id views[MOST], x = m->x[0];
  const sn_graph *g = sn_match_graph(m);
  int n = 0;
  for (; n < MOST && sn_op_describe(g->nodes[x].op)->kind == SN_CLASS_VIEW &&
         g->nodes[x].n_inputs == 1;
       x = sn_match_input(m, x, 0))
    views[n++] = x;
  if (n == 0 || g->nodes[x].op != SN_OP_astype) return SN_NONE;
  x = sn_match_input(m, x, 0);
  if (!sn_dtype_is_small(m->type.dtype) || g->nodes[x].type.dtype != m->type.dtype) return SN_NONE;
  while (n-- > 0) {
    const sn_node view = g->nodes[views[n]];
    sn_type type = view.type;
    int64_t attrs[2 * SN_MAX_RANK];
    memcpy(attrs, sn_graph_attrs(g, views[n]), view.n_attrs * sizeof *attrs);
    type.dtype = m->type.dtype;
    x = sn_match_view(m, view.op, x, attrs, view.n_attrs, &type);
  }
  return x;
}

/* ---- parts of concats and pads ---------------------------------------------------------------- */

/* The lowest and the highest index that the match, a slice, reads along an axis. */
static void reach(const sn_match *m, int axis, int64_t *low, int64_t *high) {
  const int64_t first = m->attrs[axis];
  const int64_t last = first + (m->type.dims[axis] - 1) * m->attrs[m->type.rank + axis];
  *low = first < last ? first : last;
  *high = first < last ? last : first;
}

/* A slice inside one input of a concat is a slice of that input. */
static sn_id slice_of_concat(const sn_match *m) {
  if (!is_view_of(m, SN_OP_concat) || sn_type_size(&m->type) == 0) return SN_NONE;
  const int64_t axis = *in_attrs(m);
  int64_t low, high, at = 0;
  reach(m, (int)axis, &low, &high);
  for (uint32_t k = 0; k < sn_match_node(m, m->x[0])->n_inputs; k++) {
    const sn_id x = sn_match_input(m, m->x[0], (int)k);
    const int64_t n = sn_match_node(m, x)->type.dims[axis];
    if (low >= at && high < at + n) {
      int64_t begin[SN_MAX_RANK];
      memcpy(begin, m->attrs, sizeof *begin * (size_t)m->type.rank);
      begin[axis] -= at;
      return slice_of(m, x, begin, m->attrs + m->type.rank, &m->type);
    }
    at += n;
    if (low < at) return SN_NONE;
  }
  return SN_NONE;
}

/* A slice of a pad of x that takes elements of x only is a slice of x; one that takes none of them
 * is a constant, the padding. */
static sn_id slice_of_pad(const sn_match *m) {
  if (!is_view_of(m, SN_OP_pad) || sn_type_size(&m->type) == 0) return SN_NONE;
  const int rank = m->type.rank;
  int64_t begin[SN_MAX_RANK], stride[SN_MAX_RANK];
  bool inside = true, outside = sn_type_size(inner_type(m)) == 0;
  for (int i = 0; i < rank; i++) {
    const int64_t first = in_attrs(m)[i], step = in_attrs(m)[rank + i];
    const int64_t end = first + (inner_type(m)->dims[i] - 1) * step;
    int64_t low, high;
    reach(m, i, &low, &high);
    outside = outside || high < first || low > end;
    const bool one = m->type.dims[i] == 1;
    inside = inside && low >= first && high <= end && (m->attrs[i] - first) % step == 0 &&
             (one || m->attrs[rank + i] % step == 0);
    begin[i] = (m->attrs[i] - first) / step;
    stride[i] = one ? 1 : m->attrs[rank + i] / step;
  }
  if (outside) return sn_match_full(m, sn_attr_double(in_attrs(m)[2 * rank]));
  return inside ? slice_of(m, inner(m), begin, stride, &m->type) : SN_NONE;
}

/* a pad that adds no element */
static sn_id idle_pad(const sn_match *m) {
  return sn_same_dims(in_type(m), &m->type) && sn_type_size(&m->type) ? m->x[0] : SN_NONE;
}

/* a concat in which one input holds all elements: the others, if any, are empty */
static sn_id concat_of_one(const sn_match *m) {
  for (uint32_t k = 0; k < m->n; k++)
    if (sn_same_dims(&sn_match_node(m, m->x[k])->type, &m->type)) return m->x[k];
  return SN_NONE;
}

/* Whether x and y are slices of the same base, y begins along the axis where x ends, and they agree
 * along all other axes. */
static bool goes_on(const sn_match *m, sn_id x, sn_id y, int64_t axis) {
  const sn_graph *g = sn_match_graph(m);
  if (!sn_match_is(m, y, SN_OP_slice) || sn_match_input(m, x, 0) != sn_match_input(m, y, 0))
    return false;
  const int rank = m->type.rank;
  const int64_t *a = sn_graph_attrs(g, x), *b = sn_graph_attrs(g, y);
  for (int i = 0; i < rank; i++) {
    if (a[rank + i] != b[rank + i]) return false;
    const int64_t next = i == axis ? a[i] + g->nodes[x].type.dims[i] * a[rank + i] : a[i];
    if (b[i] != next) return false;
  }
  return true;
}

/* [x[0:2] | x[2:5] | ...] = x[0:...] */
static sn_id concat_of_slices(const sn_match *m) {
  if (m->n < 2 || !sn_match_is(m, m->x[0], SN_OP_slice) || sn_type_size(&m->type) == 0)
    return SN_NONE;
  for (uint32_t k = 1; k < m->n; k++)
    if (!goes_on(m, m->x[k - 1], m->x[k], m->attrs[0])) return SN_NONE;
  return slice_of(m, inner(m), in_attrs(m), in_attrs(m) + m->type.rank, &m->type);
}

/* ---- views and arithmetic -------------------------------------------------------------------- */

static bool is_uniform(const sn_match *m, sn_id x) {
  double value;
  return sn_graph_uniform(sn_match_graph(m), x, &value);
}

/* Whether x, an input of the elementwise op, is a view that the match's view undoes. */
static bool takes_back(const sn_match *m, sn_id x) {
  const sn_graph *g = sn_match_graph(m);
  if (!sn_match_is(m, x, m->op)) return false;
  const sn_id base = sn_match_input(m, x, 0);
  if (!sn_same_dims(&g->nodes[base].type, &m->type)) return false;
  for (int i = 0; m->op == SN_OP_transpose && i < m->type.rank; i++)
    if (sn_graph_attrs(g, x)[m->attrs[i]] != i) return false;
  return true;
}

/* reshape(f(reshape x, c)) = f(x, c) where the outer reshape undoes the inner one and c is one value
 * everywhere; the same for transpose. */
static sn_id view_around_arithmetic(const sn_match *m) {
  const sn_id y = m->x[0];
  const sn_node node = *sn_match_node(m, y);
  if (!sn_op_is_elementwise(node.op) || !sn_match_single_use(m, 0)) return SN_NONE;
  bool any = false;
  for (uint32_t k = 0; k < node.n_inputs; k++) {
    const sn_id x = sn_match_input(m, y, (int)k);
    if (!takes_back(m, x) && !is_uniform(m, x)) return SN_NONE;
    any = any || takes_back(m, x);
  }
  if (!any) return SN_NONE;
  sn_id in[SN_MAX_ARITY];
  for (uint32_t k = 0; k < node.n_inputs; k++) {
    const sn_id x = sn_match_input(m, y, (int)k);
    in[k] = takes_back(m, x) ? sn_match_input(m, x, 0)
                             : sn_match_view(m, m->op, x, m->attrs, m->n_attrs, &m->type);
  }
  const sn_type type = m->type;
  return sn_build_op(m->b, node.op, in, node.n_inputs, NULL, 0, &type);
}

/* If all inputs are broadcasts, sets *small to the smallest shape from which all of them, and so the
 * result, can be broadcast. False if an input is none. */
static bool shape_before_repeat(const sn_match *m, sn_type *small) {
  *small = m->type;
  int rank = 0;
  for (int i = 0; i < m->type.rank; i++) small->dims[i] = m->type.dims[i] ? 1 : 0;
  for (uint32_t k = 0; k < m->n; k++) {
    if (!sn_match_is(m, m->x[k], SN_OP_broadcast)) return false;
    const sn_type *x = &sn_match_node(m, sn_match_input(m, m->x[k], 0))->type;
    for (int i = 0; i < x->rank; i++)
      if (x->dims[i] != 1) small->dims[m->type.rank - x->rank + i] = x->dims[i];
    if (x->rank > rank) rank = x->rank;
  }
  memmove(small->dims, small->dims + (small->rank - rank), sizeof *small->dims * (size_t)rank);
  for (int i = rank; i < SN_MAX_RANK; i++) small->dims[i] = 0;
  small->rank = rank;
  return true;
}

/* Whether some input, behind its views, is computed: then the op on the small values can run in the
 * kernel that computes it. */
static bool joins_a_kernel(const sn_match *m) {
  for (uint32_t k = 0; k < m->n; k++) {
    sn_id x = m->x[k];
    while (sn_op_describe(sn_match_node(m, x)->op)->kind == SN_CLASS_VIEW)
      x = sn_match_input(m, x, 0);
    if (sn_op_describe(sn_match_node(m, x)->op)->kind > SN_CLASS_VIEW) return true;
  }
  return false;
}

/* f(broadcast x, broadcast y) = broadcast f(x, y): fewer elements are computed. A cheap op on
 * arguments stays with its reader, because the small op would need a kernel of its own. */
static sn_id repeat_after_arithmetic(const sn_match *m) {
  sn_type small;
  if (!sn_op_is_elementwise(m->op) || !m->n || !shape_before_repeat(m, &small)) return SN_NONE;
  if (sn_type_size(&small) >= sn_type_size(&m->type)) return SN_NONE;
  if (sn_op_describe(m->op)->cost < m->walk->context->target->costs.load_flops &&
      !joins_a_kernel(m))
    return SN_NONE;
  sn_id in[SN_MAX_ARITY];
  for (uint32_t k = 0; k < m->n; k++)
    in[k] = sn_build_broadcast(m->b, sn_match_input(m, m->x[k], 0), &small);
  return sn_build_broadcast(m->b, sn_build_op(m->b, m->op, in, m->n, NULL, 0, &small), &m->type);
}

/* max(broadcast x) = max(x): repeating elements does not change their maximum */
static sn_id extremum_of_repeated(const sn_match *m) {
  if (!is_view_of(m, SN_OP_broadcast) || sn_type_size(in_type(m)) == 0) return SN_NONE;
  const sn_type from = *inner_type(m);
  const int lead = in_type(m)->rank - from.rank;
  sn_type left = {.dtype = from.dtype};
  uint64_t axes = 0;
  bool fewer = false;
  for (int i = 0; i < in_type(m)->rank; i++) {
    const bool reduced = (uint64_t)m->attrs[0] >> i & 1;
    const bool repeated = i < lead || from.dims[i - lead] != in_type(m)->dims[i];
    if (i >= lead && reduced) axes |= (uint64_t)1 << (i - lead);
    if (i >= lead && !reduced) left.dims[left.rank++] = from.dims[i - lead];
    fewer = fewer || (reduced && repeated);
  }
  if (!fewer) return SN_NONE;
  const sn_id made = sn_build_reduce(m->b, m->op, inner(m), axes);
  return sn_build_broadcast(m->b, sn_build_reshape(m->b, made, &left), &m->type);
}

/* ---- reshapes after what reads them ---------------------------------------------------------- */

/* A reshape of x has the memory layout of x. So an op that reads it can run in the index space of x
 * instead, and then fits into the kernel of x (a product's above all). This is done only if x is
 * computed: an argument can be read in any index space, and the reader's own suits it best. */

/* Walks two shapes with the same number of elements in pairs of the shortest runs of dims that hold
 * equally many: (2, 3, 20) and (6, 4, 5) are paired as 2 3 | 6 and 20 | 4 5. */
typedef struct dims_walk {
  const sn_type *a, *b;
  int a_begin, a_end, b_begin, b_end;
} dims_walk;

static bool next_runs(dims_walk *w) {
  int64_t in_a = 1, in_b = 1;
  w->a_begin = w->a_end;
  w->b_begin = w->b_end;
  if (w->a_end == w->a->rank && w->b_end == w->b->rank) return false;
  do {
    if (w->a_end < w->a->rank && in_a <= in_b)
      in_a *= w->a->dims[w->a_end++];
    else
      in_b *= w->b->dims[w->b_end++];
  } while (in_a != in_b);
  return true;
}

/* The base of x if x is made by the op `view` from a computed value whose kernel the reader can join
 * (a product, a reduction, an elementwise op); else SN_NONE. */
static sn_id base_of(const sn_match *m, sn_id x, sn_op view) {
  if (!sn_match_is(m, x, view) || !sn_type_size(&sn_match_node(m, x)->type)) return SN_NONE;
  const sn_id base = sn_match_input(m, x, 0);
  const sn_op op = sn_match_node(m, base)->op;
  const sn_op_class kind = sn_op_describe(op)->kind;
  const bool joins = kind == SN_CLASS_MATMUL || kind == SN_CLASS_REDUCE || sn_op_is_elementwise(op);
  return joins ? base : SN_NONE;
}

/* Whether the broadcast x can be reshaped to `to` by reshaping its base: its repeated dims must fill
 * whole runs. Sets *small to the base's shape after that, with size 1 along repeated dims. */
static bool reshape_repeated(const sn_match *m, sn_id x, const sn_type *to, sn_type *small) {
  const sn_type *from = &sn_match_node(m, x)->type;
  const sn_type *base = &sn_match_node(m, sn_match_input(m, x, 0))->type;
  const int lead = from->rank - base->rank;
  *small = *to;
  small->dtype = from->dtype;
  for (dims_walk w = {.a = from, .b = to}; next_runs(&w);) {
    bool some = false, all = true;
    for (int i = w.a_begin; i < w.a_end; i++) {
      const bool repeated = from->dims[i] > 1 && (i < lead || base->dims[i - lead] == 1);
      some = some || repeated;
      all = all && (repeated || from->dims[i] == 1);
    }
    if (some && !all) return false;
    for (int k = w.b_begin; some && k < w.b_end; k++) small->dims[k] = 1;
  }
  return true;
}

/* Whether reshaping x to `to` moves no element in memory and keeps x in the kernel that makes it. */
static bool moves_along(const sn_match *m, sn_id x, const sn_type *to) {
  const sn_node *node = sn_match_node(m, x);
  if (node->op == SN_OP_broadcast) return reshape_repeated(m, x, to, &(sn_type){0});
  if (node->op == SN_OP_reshape) return true;
  return node->op == SN_OP_input || is_uniform(m, x);
}

/* Reshapes x, for which moves_along holds, to `to`. */
static sn_id move_along(const sn_match *m, sn_id x, const sn_type *to) {
  sn_type small;
  if (!sn_match_is(m, x, SN_OP_broadcast)) return sn_match_view(m, SN_OP_reshape, x, NULL, 0, to);
  reshape_repeated(m, x, to, &small);
  const sn_id part = sn_match_view(m, SN_OP_reshape, sn_match_input(m, x, 0), NULL, 0, &small);
  sn_type whole = *to;
  whole.dtype = small.dtype;
  return sn_build_broadcast(m->b, part, &whole);
}

/* f(reshape x, c) = reshape f(x, c) */
static sn_id reshape_after_arithmetic(const sn_match *m) {
  if (!sn_op_is_elementwise(m->op)) return SN_NONE;
  sn_id base = SN_NONE, in[SN_MAX_ARITY];
  for (uint32_t k = 0; k < m->n && base == SN_NONE; k++) base = base_of(m, m->x[k], SN_OP_reshape);
  if (base == SN_NONE) return SN_NONE;
  const sn_type type = m->type;
  sn_type to = sn_match_node(m, base)->type;
  to.dtype = type.dtype;
  for (uint32_t k = 0; k < m->n; k++)
    if (!moves_along(m, m->x[k], &to)) return SN_NONE;
  for (uint32_t k = 0; k < m->n; k++) in[k] = move_along(m, m->x[k], &to);
  return sn_build_reshape(m->b, sn_build_op(m->b, m->op, in, m->n, NULL, 0, &to), &type);
}

/* sum(reshape x) = reshape sum(x): the same elements in the same order */
static sn_id reshape_after_reduction(const sn_match *m) {
  const sn_id base = base_of(m, m->x[0], SN_OP_reshape);
  if (base == SN_NONE) return SN_NONE;
  uint64_t axes = 0;
  for (dims_walk w = {.a = in_type(m), .b = inner_type(m)}; next_runs(&w);) {
    bool some = false, all = true;
    for (int i = w.a_begin; i < w.a_end; i++) {
      const bool reduced = (uint64_t)m->attrs[0] >> i & 1;
      some = some || (reduced && in_type(m)->dims[i] > 1);
      all = all && (reduced || in_type(m)->dims[i] == 1);
    }
    if (some && !all) return SN_NONE;
    for (int k = w.b_begin; some && k < w.b_end; k++) axes |= (uint64_t)1 << k;
  }
  const sn_type type = m->type;
  return axes ? sn_build_reshape(m->b, sn_build_reduce(m->b, m->op, base, axes), &type) : SN_NONE;
}

/* ---- transposes after what reads them -------------------------------------------------------- */

/* f(transpose x, c) = transpose f(x, c): as with reshapes, f then fits into the kernel of x. A
 * transpose with other readers stays: if one of them reduces it, f fits into that kernel instead. */
static sn_id transpose_after_arithmetic(const sn_match *m) {
  int64_t perm[SN_MAX_RANK], back[SN_MAX_RANK];
  uint32_t n = 0;
  sn_type to = m->type;
  sn_id in[SN_MAX_ARITY];
  bool alone = true;
  if (!sn_op_is_elementwise(m->op)) return SN_NONE;
  for (uint32_t k = 0; k < m->n; k++) {
    if (sn_match_is(m, m->x[k], SN_OP_broadcast)) continue;
    const int64_t *attrs = sn_graph_attrs(sn_match_graph(m), m->x[k]);
    if (base_of(m, m->x[k], SN_OP_transpose) == SN_NONE) return SN_NONE;
    for (int i = 0; i < to.rank; i++) {
      if (n && perm[i] != attrs[i]) return SN_NONE;
      perm[i] = attrs[i];
      back[attrs[i]] = i;
      to.dims[attrs[i]] = m->type.dims[i];
    }
    alone = n++ || sn_match_single_use(m, (int)k);
  }
  if (!n || !alone) return SN_NONE;
  const sn_type type = m->type;
  const uint32_t rank = (uint32_t)type.rank;
  for (uint32_t k = 0; k < m->n; k++)
    in[k] = sn_match_view(m, SN_OP_transpose, m->x[k], back, rank, &to);
  const sn_id y = sn_build_op(m->b, m->op, in, m->n, NULL, 0, &to);
  return sn_match_view(m, SN_OP_transpose, y, perm, rank, &type);
}

/* clang-format off */
static const sn_rule rules[] = {
    SN_RULE(reshape, same_shape),
    SN_RULE(broadcast, same_shape),
    SN_RULE(slice, whole_slice),
    SN_RULE(transpose, idle_transpose),
    SN_RULE(reshape, view_of_one_value),
    SN_RULE(transpose, view_of_one_value),
    SN_RULE(slice, view_of_one_value),
    SN_RULE(reshape, reshape_of_reshape),
    SN_RULE(broadcast, broadcast_of_broadcast),
    SN_RULE(transpose, transpose_of_transpose),
    SN_RULE(slice, slice_of_slice),
    SN_RULE(slice, slice_of_broadcast),
    SN_RULE(astype, views_between_casts),
    SN_RULE(slice, slice_of_concat),
    SN_RULE(slice, slice_of_pad),
    SN_RULE(pad, idle_pad),
    SN_RULE(concat, concat_of_one),
    SN_RULE(concat, concat_of_slices),
    SN_RULE(reshape, view_around_arithmetic),
    SN_RULE(transpose, view_around_arithmetic),
    SN_RULE(max, extremum_of_repeated),
    SN_RULE(min, extremum_of_repeated),
    SN_RULE(COUNT, repeat_after_arithmetic),
    SN_RULE(COUNT, reshape_after_arithmetic),
    SN_RULE(COUNT, transpose_after_arithmetic),
    SN_RULE(sum, reshape_after_reduction),
    SN_RULE(max, reshape_after_reduction),
    SN_RULE(min, reshape_after_reduction),
    SN_RULES_END,
};
/* clang-format on */

sn_status sn_pass_layout(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  return sn_rewrite_by_rules(context, from, to, rules);
}
