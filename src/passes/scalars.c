/* scalars.c - a program over tiny tensors is rewritten to scalars: stacks, slices, masks and sums of
 * a few elements then need no kernels of their own, and the whole program is one straight-line
 * function.
 *
 *   v = stack(a, b, c)          parts(v)  = a, b, c
 *   s = slice(v, 1)             parts(s)  = b
 *   w = v * v                   parts(w)  = a a, b b, c c
 *   return w                    concat of its parts, reshaped
 *
 * Every computed value has parts, one node per element; arguments are read by slices. The pass runs
 * only if all computed values are tiny, there are at least two of them, and one would otherwise go
 * through memory. */
#include <string.h>

#include "build/rewrite.h"
#include "graph/reference.h"
#include "passes/passes.h"

/* Most elements of a value, even if the target allows more: combine() gives the order of sums of up
 * to so many terms. */
#define MOST_ELEMENTS 16
/* Most parts of a program, which bounds the work of the compiler. */
#define MOST_PARTS 100000

typedef struct taking {
  const sn_graph *from;
  sn_build to;
  const uint8_t *live;
  int64_t most;  /* most elements of a value */
  size_t *first; /* per node: index in `parts` of its first part */
  sn_id *parts;
} taking;

/* ---- whether --------------------------------------------------------------------------------- */

static bool is_input(const sn_graph *g, sn_id id) { return g->nodes[id].op == SN_OP_input; }

static bool can_take_apart(const taking *t, sn_id id) {
  const sn_graph *g = t->from;
  const sn_node *node = sn_graph_node(g, id);
  if (is_input(g, id)) return true;
  if (sn_type_size(&node->type) > t->most) return false;
  const sn_id *x = sn_graph_inputs(g, id);
  switch (sn_op_describe(node->op)->kind) {
  case SN_CLASS_LEAF:
  case SN_CLASS_VIEW:
  case SN_CLASS_PAD:
  case SN_CLASS_CONCAT: return true;
  case SN_CLASS_REDUCE: return sn_type_size(&g->nodes[*x].type) <= t->most;
  case SN_CLASS_MATMUL: {
    const sn_type *a = &g->nodes[x[0]].type;
    return a->dims[a->rank - 1] <= t->most;
  }
  default: return sn_op_is_elementwise(node->op);
  }
}

/* Whether, without this pass, the node would be a value that one kernel stores and another reads. */
static bool goes_through_memory(const sn_graph *g, sn_id id) {
  const sn_op_class kind = sn_op_describe(g->nodes[id].op)->kind;
  if (sn_op_is_elementwise(g->nodes[id].op) || kind == SN_CLASS_LEAF) return false;
  if (kind != SN_CLASS_VIEW) return true;
  return sn_op_describe(g->nodes[*sn_graph_inputs(g, id)].op)->kind != SN_CLASS_LEAF;
}

/* Whether the whole program can and should be rewritten. Sets t->first and the number of parts. */
static bool is_worth_it(const taking *t, size_t *n_parts) {
  const sn_graph *g = t->from;
  size_t through_memory = 0, computed = 0;
  *n_parts = 0;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    if (!t->live[id]) continue;
    if (!can_take_apart(t, id)) return false;
    t->first[id] = *n_parts;
    if (!is_input(g, id)) *n_parts += (size_t)sn_type_size(&g->nodes[id].type);
    if (*n_parts > MOST_PARTS) return false;
    const bool costs = goes_through_memory(g, id);
    through_memory += costs;
    computed += sn_op_describe(g->nodes[id].op)->kind > SN_CLASS_VIEW;
  }
  return through_memory > 0 && computed > 1;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static sn_id part_of_input(taking *t, sn_id id, int64_t flat) {
  const sn_node *node = sn_graph_node(t->from, id);
  const sn_type scalar = sn_type_scalar(node->type.dtype);
  const sn_id x = sn_build_op(&t->to, SN_OP_input, NULL, 0, sn_graph_attrs(t->from, id),
                              node->n_attrs, &node->type);
  if (!node->type.rank) return x;
  sn_type one = node->type;
  int64_t attrs[2 * SN_MAX_RANK];
  sn_unravel(&node->type, flat, attrs);
  for (int i = 0; i < one.rank; i++) {
    one.dims[i] = 1;
    attrs[one.rank + i] = 1;
  }
  const sn_id at = sn_build_op(&t->to, SN_OP_slice, &x, 1, attrs, 2 * (size_t)one.rank, &one);
  return sn_build_reshape(&t->to, at, &scalar);
}

static sn_id part(taking *t, sn_id id, int64_t flat) {
  if (is_input(t->from, id)) return part_of_input(t, id, flat);
  return t->parts[t->first[id] + (size_t)flat];
}

static sn_id constant(taking *t, sn_dtype dtype, double value) {
  const sn_type scalar = sn_type_scalar(dtype);
  return sn_build_full(&t->to, &scalar, value);
}

static void take_leaf(taking *t, sn_id id, sn_id *out) {
  const sn_node *node = sn_graph_node(t->from, id);
  const int64_t attr = *sn_graph_attrs(t->from, id);
  for (int64_t i = 0; i < sn_type_size(&node->type); i++) {
    int64_t at[SN_MAX_RANK];
    sn_unravel(&node->type, i, at);
    const double value = node->op == SN_OP_iota ? (double)at[attr] : sn_attr_double(attr);
    out[i] = constant(t, node->type.dtype, value);
  }
}

static void take_elementwise(taking *t, sn_id id, sn_id *out) {
  const sn_node *node = sn_graph_node(t->from, id);
  const sn_id *x = sn_graph_inputs(t->from, id);
  const sn_type scalar = sn_type_scalar(node->type.dtype);
  for (int64_t i = 0; i < sn_type_size(&node->type); i++) {
    sn_id in[SN_MAX_ARITY];
    for (uint32_t k = 0; k < node->n_inputs; k++) in[k] = part(t, x[k], i);
    out[i] = sn_build_op(&t->to, node->op, in, node->n_inputs, sn_graph_attrs(t->from, id),
                         node->n_attrs, &scalar);
  }
}

/* Reduces n terms in the order of kernels/fold.h: element j with j + half, for halves 8, 4, 2, 1.
 * Reductions that round begin at their identity. Changes x. */
static sn_id combine(taking *t, sn_op reduction, sn_dtype dtype, sn_id *x, int n) {
  const sn_op_info *op = sn_op_describe(reduction);
  for (int half = MOST_ELEMENTS / 2; half; half /= 2) {
    for (int j = 0; j + half < n && j < half; j++)
      x[j] = sn_build_binary(&t->to, op->step, x[j], x[j + half]);
    if (n > half) n = half;
  }
  if (op->picks) return x[0];
  const sn_id first = constant(t, dtype, sn_reduce_identity(reduction, dtype));
  return n ? sn_build_binary(&t->to, op->step, x[0], first) : first;
}

static void take_reduce(taking *t, sn_id id, sn_id *out) {
  const sn_node *node = sn_graph_node(t->from, id);
  const sn_id x = *sn_graph_inputs(t->from, id);
  const sn_type *type = &t->from->nodes[x].type;
  const uint64_t mask = (uint64_t)*sn_graph_attrs(t->from, id);
  for (int64_t o = 0; o < sn_type_size(&node->type); o++) {
    sn_id terms[MOST_ELEMENTS];
    int n = 0;
    for (int64_t i = 0; i < sn_type_size(type); i++) {
      int64_t at[SN_MAX_RANK], kept[SN_MAX_RANK] = {0};
      int rank = 0;
      sn_unravel(type, i, at);
      for (int d = 0; d < type->rank; d++)
        if (!(mask >> d & 1)) kept[rank++] = at[d];
      if (sn_ravel(&node->type, kept) == o) terms[n++] = part(t, x, i);
    }
    out[o] = combine(t, node->op, type->dtype, terms, n);
  }
}

static void take_matmul(taking *t, sn_id id, sn_id *out) {
  const sn_type *c = &t->from->nodes[id].type;
  const sn_id *x = sn_graph_inputs(t->from, id);
  const sn_type *a = &t->from->nodes[x[0]].type;
  const int64_t m = c->dims[c->rank - 2], n = c->dims[c->rank - 1], k = a->dims[a->rank - 1];
  for (int64_t i = 0; i < sn_type_size(c); i++) {
    const int64_t col = i % n, row = i / n % m, batch = i / n / m;
    sn_id sum = constant(t, c->dtype, 0);
    for (int64_t p = 0; p < k; p++) {
      const sn_id product =
          sn_build_binary(&t->to, SN_OP_mul, part(t, x[0], (batch * m + row) * k + p),
                          part(t, x[1], (batch * k + p) * n + col));
      sum = sn_build_binary(&t->to, SN_OP_add, sum, product);
    }
    out[i] = sum;
  }
}

static void take_pad(taking *t, sn_id id, sn_id *out) {
  const sn_node *node = sn_graph_node(t->from, id);
  const int64_t *attrs = sn_graph_attrs(t->from, id);
  const sn_id x = *sn_graph_inputs(t->from, id);
  const sn_type *type = &t->from->nodes[x].type;
  const int rank = node->type.rank;
  for (int64_t i = 0; i < sn_type_size(&node->type); i++)
    out[i] = constant(t, node->type.dtype, sn_attr_double(attrs[2 * rank]));
  for (int64_t i = 0; i < sn_type_size(type); i++) {
    int64_t at[SN_MAX_RANK];
    sn_unravel(type, i, at);
    for (int d = 0; d < rank; d++) at[d] = attrs[d] + at[d] * attrs[rank + d];
    out[sn_ravel(&node->type, at)] = part(t, x, i);
  }
}

static void take_concat(taking *t, sn_id id, sn_id *out) {
  const sn_node *node = sn_graph_node(t->from, id);
  const int64_t axis = *sn_graph_attrs(t->from, id);
  int64_t shift = 0;
  for (uint32_t k = 0; k < node->n_inputs; k++) {
    const sn_id x = sn_graph_inputs(t->from, id)[k];
    const sn_type *type = &t->from->nodes[x].type;
    for (int64_t i = 0; i < sn_type_size(type); i++) {
      int64_t at[SN_MAX_RANK];
      sn_unravel(type, i, at);
      at[axis] += shift;
      out[sn_ravel(&node->type, at)] = part(t, x, i);
    }
    shift += type->dims[axis];
  }
}

static void take_node(taking *t, sn_id id) {
  const sn_node *node = sn_graph_node(t->from, id);
  sn_id *out = t->parts + t->first[id];
  if (is_input(t->from, id)) return;
  t->to.origin = node->origin;
  switch (sn_op_describe(node->op)->kind) {
  case SN_CLASS_LEAF: take_leaf(t, id, out); break;
  case SN_CLASS_VIEW:
    for (int64_t i = 0; i < sn_type_size(&node->type); i++)
      out[i] = part(t, *sn_graph_inputs(t->from, id), sn_ref_view_source(t->from, id, i));
    break;
  case SN_CLASS_PAD: take_pad(t, id, out); break;
  case SN_CLASS_CONCAT: take_concat(t, id, out); break;
  case SN_CLASS_REDUCE: take_reduce(t, id, out); break;
  case SN_CLASS_MATMUL: take_matmul(t, id, out); break;
  default: take_elementwise(t, id, out); break;
  }
}

/* ---- results --------------------------------------------------------------------------------- */

static sn_id put_together(taking *t, sn_id id) {
  const sn_type *type = &t->from->nodes[id].type;
  const sn_type row = {.dtype = type->dtype, .rank = 1, .dims = {1}};
  const int64_t n = sn_type_size(type), axis = 0;
  if (is_input(t->from, id))
    return sn_build_op(&t->to, SN_OP_input, NULL, 0, sn_graph_attrs(t->from, id), 1, type);
  if (n == 0) return sn_build_full(&t->to, type, 0);
  if (n == 1) return sn_build_reshape(&t->to, part(t, id, 0), type);
  sn_id rows[MOST_ELEMENTS];
  for (int64_t i = 0; i < n; i++) rows[i] = sn_build_reshape(&t->to, part(t, id, i), &row);
  const sn_id all = sn_build_op(&t->to, SN_OP_concat, rows, (size_t)n, &axis, 1, NULL);
  return sn_build_reshape(&t->to, all, type);
}

sn_status sn_pass_scalars(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  sn_arena *arena = from->arena, *target = to->arena;
  const int64_t wanted = context->target->costs.scalar_elements;
  taking t = {
      .from = from, .to = sn_build_in(to), .most = wanted < MOST_ELEMENTS ? wanted : MOST_ELEMENTS};
  uint8_t *live;
  size_t n_parts;
  SN_TRY(sn_arena_alloc(arena, from->n_nodes, 1, (void **)&live));
  SN_TRY(sn_arena_alloc(arena, from->n_nodes, sizeof *t.first, (void **)&t.first));
  sn_graph_live(from, live);
  t.live = live;
  if (!is_worth_it(&t, &n_parts))
    return sn_rewrite_graph(from, to, target, context->share, NULL, NULL, NULL);
  SN_TRY(sn_arena_alloc(arena, n_parts, sizeof *t.parts, (void **)&t.parts));
  sn_graph_init(to, target, true); /* shared, as the same parts of arguments are made many times */
  to->n_arguments = from->n_arguments;
  for (sn_id id = 0; id < from->n_nodes; id++)
    if (live[id]) take_node(&t, id);
  t.to.origin = (sn_origin){0};
  SN_TRY(sn_arena_alloc(target, from->n_outputs, sizeof *to->outputs, (void **)&to->outputs));
  to->n_outputs = from->n_outputs;
  for (size_t i = 0; i < from->n_outputs; i++) to->outputs[i] = put_together(&t, from->outputs[i]);
  return t.to.status;
}
