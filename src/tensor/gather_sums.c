/* gather_sums.c - replaces scatters by fixed indices with gathers. If the indices of a scatter_add (or
 * scatter_or) depend on captured tensors alone, it is known beforehand which source rows go to a row of the
 * result. So each row can gather its own sources, all rows in parallel, and add them in the order of the
 * scatter: the same bits, but no two threads write one row.
 *
 *   scatter_add 0 index u           place = index, counted from the end if negative, and clamped
 *                                   order = argsort place: the sources of row 0, of row 1 ...
 *   ragged_sum u[order] ends        ends  = cumsum of how many sources each row has
 *
 * scatter_or becomes ragged_or in the same way; it may start from any x, not only from 0.
 *
 * The prelude (prelude.c) computes order and ends once, for loops, too (fixed.h). u[order] is a lookup in
 * the kernel that adds. The gradient of `take` by constant indices, such as the wires of a circuit, is
 * such a scatter.
 *
 * order contains each source once. So if u is elementwise, its operands can be looked up instead, and u
 * itself need not be computed beforehand:
 *
 *   u = dy (c + d h[wire])          u[order] = dy[order] (c[order] + d[order] h[wire[order]])
 *
 * That pays if nothing else reads u, and its operands are in memory anyway. */
#include "tensor/prelude.h"

#include <math.h>

#include "graph/reference.h"
#include "tensor/fixed.h"

/* The indices before they are broadcast over a row's points, if there is one per row; else SN_NONE. */
static sn_id find_indices(const sn_graph *g, sn_id id, int64_t axis) {
  double value;
  if (g->nodes[id].op != SN_OP_broadcast || sn_graph_uniform(g, id, &value)) return SN_NONE;
  const sn_id from = *sn_graph_inputs(g, id);
  const sn_type *type = &g->nodes[id].type, *given = &g->nodes[from].type;
  const int64_t at = axis - type->rank + given->rank;
  const bool along = at >= 0 && given->dims[at] == type->dims[axis];
  return along && sn_type_size(given) == type->dims[axis] ? from : SN_NONE;
}

/* Whether the op combines rows by indices and has a gathered form. */
static bool is_scatter(sn_op op) { return sn_op_is_call(op) && sn_op_describe(op)->gathered; }

/* The indices of a gather or such a scatter if they are fixed, one per row; else SN_NONE. */
static sn_id fixed_indices(const sn_fixed *f, sn_id id) {
  const sn_op op = f->graph->nodes[id].op;
  if (op != SN_OP_gather && !is_scatter(op)) return SN_NONE;
  const sn_id index = sn_graph_inputs(f->graph, id)[1];
  if (!f->is_fixed[index]) return SN_NONE;
  return find_indices(f->graph, index, *sn_graph_attrs(f->graph, id));
}

static size_t needs(const sn_fixed *f, sn_id id, sn_id *list) {
  *list = fixed_indices(f, id);
  return *list != SN_NONE;
}

static bool is_worth_it(const sn_fixed *f, sn_id id) {
  const sn_graph *g = f->graph;
  const sn_node *node = sn_graph_node(g, id);
  const sn_id *x = sn_graph_inputs(g, id);
  double start;
  if (!is_scatter(node->op) || f->is_fixed[id]) return false;
  const int64_t axis = *sn_graph_attrs(g, id);
  int64_t row = 1; /* contiguous elements of a row */
  for (int i = (int)axis + 1; i < node->type.rank; i++) row *= node->type.dims[i];
  const bool from_zero = sn_graph_uniform(g, x[0], &start) && start == 0 && !signbit(start);
  return node->type.rank < SN_MAX_RANK && row >= f->target->costs.gathered_row &&
         sn_type_size(&node->type) && sn_type_size(&g->nodes[x[2]].type) &&
         fixed_indices(f, id) != SN_NONE && (from_zero || node->op == SN_OP_scatter_or);
}

/* The positions in 0 .. n - 1 that the indices name, as one dimension. */
static sn_id bounded(sn_build *b, sn_id given, int64_t n) {
  if (b->status) return SN_NONE;
  const sn_type flat = {SN_I32, 1, {sn_type_size(sn_build_type(b, given))}};
  const sn_id index = sn_build_reshape(b, given, &flat);
  const sn_id none = sn_build_like(b, index, 0), last = sn_build_like(b, index, (double)(n - 1));
  const sn_id behind = sn_build_binary(b, SN_OP_add, index, sn_build_like(b, index, (double)n));
  const sn_id from_end = sn_build_binary(b, SN_OP_less, index, none);
  const sn_id at = sn_build_where(b, from_end, behind, index);
  return sn_build_binary(b, SN_OP_minimum, sn_build_binary(b, SN_OP_maximum, at, none), last);
}

/* The permutation that puts the axis first, and its inverse. */
static void put_first(int axis, int rank, int64_t *there, int64_t *back) {
  there[0] = axis;
  for (int i = 0; i < rank; i++)
    if (i != axis) there[i < axis ? i + 1 : i] = i;
  for (int i = 0; i < rank; i++) back[there[i]] = i;
}

/* Gathers the rows that `order`, a node of the whole graph, names. */
static sn_id gather_rows(sn_fixed *f, sn_id rows, sn_id order) {
  sn_build *b = sn_fixed_here(f);
  order = sn_fixed_hand_in(f, order);
  if (b->status || order == SN_NONE) return SN_NONE;
  sn_type spread = *sn_build_type(b, rows), column = {SN_I32, spread.rank, {0}};
  spread.dtype = SN_I32;
  spread.dims[0] = column.dims[0] = sn_type_size(sn_build_type(b, order));
  for (int i = 1; i < spread.rank; i++) column.dims[i] = 1;
  const sn_id places = sn_build_broadcast(b, sn_build_reshape(b, order, &column), &spread);
  return sn_build_along(b, SN_OP_gather, (const int64_t[]){0}, rows, places);
}

/* ---- looking up the operands of rows --------------------------------------------------------- */

/* Most nodes that are looked at instead of u: bounds the compiler's work, and the size of a kernel. */
enum { MOST_TERMS = 24 };

static bool has_rows(const sn_graph *g, sn_id id, int64_t n) {
  return g->nodes[id].type.rank && g->nodes[id].type.dims[0] == n;
}

/* Whether row i of a view is row i of its input (of a slice: row i + begin), perhaps in another shape. */
static bool keeps_rows(const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  const sn_id x = *sn_graph_inputs(g, id);
  const sn_type *from = &g->nodes[x].type;
  const int64_t n = node->type.dims[0], *attrs = sn_graph_attrs(g, id);
  if (node->op == SN_OP_reshape) return has_rows(g, x, n);
  if (node->op == SN_OP_broadcast) return from->rank == node->type.rank && has_rows(g, x, n);
  bool whole = node->op == SN_OP_slice;
  for (int i = 1; i < from->rank && whole; i++) whole = from->dims[i] == node->type.dims[i];
  return whole && attrs[from->rank] == 1;
}

/* Whether node id is computed again from looked-up rows of its inputs, not looked up itself: if nothing else
 * reads it, or it is cheap. */
static bool is_made_again(const sn_fixed *f, sn_id id, bool is_first) {
  const sn_op op = f->graph->nodes[id].op;
  return sn_op_is_elementwise(op) && (is_first || f->users[id] == 1 ||
                                      sn_op_describe(op)->cost <= f->target->costs.again_flops);
}

/* Whether the rows of id can be made from looked-up rows of others; `left` counts down the nodes that may be visited, which
 * also bounds the recursion. */
static bool can_look_through(const sn_fixed *f, sn_id id, bool is_first, int *left) {
  const sn_graph *g = f->graph;
  const sn_node *node = sn_graph_node(g, id);
  const sn_id *x = sn_graph_inputs(g, id);
  double value;
  if (--*left < 0) return false;
  if (sn_graph_uniform(g, id, &value)) return true;
  if (sn_op_describe(node->op)->kind == SN_CLASS_VIEW && node->op != SN_OP_barrier)
    return !keeps_rows(g, id) || can_look_through(f, *x, false, left);
  if (!is_made_again(f, id, is_first)) return true;
  bool can = true;
  for (uint32_t k = 0; k < node->n_inputs; k++) can = can && can_look_through(f, x[k], false, left);
  return can;
}

/* For a gather by fixed indices: the rows of its table that the rows named by `order` come from. */
static sn_id looked_up(sn_fixed *f, sn_id id, sn_id order) {
  const sn_graph *g = f->graph;
  sn_build *whole = sn_fixed_whole(f);
  const sn_type *table = &g->nodes[*sn_graph_inputs(g, id)].type;
  const int64_t n = table->dims[*sn_graph_attrs(g, id)];
  const sn_id places = bounded(whole, sn_fixed_lift(f, fixed_indices(f, id)), n);
  return sn_build_along(whole, SN_OP_gather, (const int64_t[]){0}, places, order);
}

static sn_id look_through(sn_fixed *f, sn_id id, sn_id order, bool is_first);

static sn_id view_of_rows(sn_fixed *f, sn_id id, sn_id order) {
  sn_build *b = sn_fixed_here(f), *whole = sn_fixed_whole(f);
  const sn_node *node = sn_graph_node(f->graph, id);
  const int64_t *attrs = sn_graph_attrs(f->graph, id);
  sn_type type = node->type;
  if (whole->status) return SN_NONE;
  type.dims[0] = sn_build_type(whole, order)->dims[0];
  if (node->op == SN_OP_slice && attrs[0])
    order = sn_build_binary(whole, SN_OP_add, order, sn_build_like(whole, order, (double)attrs[0]));
  const sn_id rows = look_through(f, *sn_graph_inputs(f->graph, id), order, false);
  if (node->op == SN_OP_broadcast) return sn_build_broadcast(b, rows, &type);
  return node->op == SN_OP_reshape ? sn_build_reshape(b, rows, &type) : rows;
}

/* Makes the rows of node id that `order` names, from looked-up rows of its inputs where possible. */
static sn_id look_through(sn_fixed *f, sn_id id, sn_id order, bool is_first) {
  const sn_graph *g = f->graph;
  sn_build *b = sn_fixed_here(f), *whole = sn_fixed_whole(f);
  const sn_node *node = sn_graph_node(g, id);
  const sn_id *x = sn_graph_inputs(g, id);
  sn_type type = node->type;
  double value;
  if (b->status || whole->status) return SN_NONE;
  type.dims[0] = sn_build_type(whole, order)->dims[0];
  if (sn_graph_uniform(g, id, &value)) return sn_build_full(b, &type, value);
  if (sn_op_describe(node->op)->kind == SN_CLASS_VIEW && node->op != SN_OP_barrier &&
      keeps_rows(g, id))
    return view_of_rows(f, id, order);
  if (node->op == SN_OP_gather && !*sn_graph_attrs(g, id) && fixed_indices(f, id) != SN_NONE)
    return gather_rows(f, f->r->map[*x], looked_up(f, id, order));
  if (!is_made_again(f, id, is_first)) return gather_rows(f, f->r->map[id], order);
  sn_id in[SN_MAX_ARITY];
  for (uint32_t k = 0; k < node->n_inputs; k++) in[k] = look_through(f, x[k], order, false);
  return sn_build_op(b, node->op, in, node->n_inputs, sn_graph_attrs(g, id), node->n_attrs, &type);
}

/* ---- the sums -------------------------------------------------------------------------------- */

/* The rows of u along an axis that `order` names; the axis comes first in the result. */
static sn_id gather_sources(sn_fixed *f, sn_id u, int axis, sn_id order) {
  const sn_node *node = sn_graph_node(f->graph, u);
  int64_t there[SN_MAX_RANK], back[SN_MAX_RANK];
  int left = MOST_TERMS;
  sn_id rows = f->r->map[u];
  const bool stored = sn_op_is_elementwise(node->op) && f->users[u] > 1; /* others need it in memory anyway */
  if (!axis && !stored && can_look_through(f, u, true, &left))
    return look_through(f, u, order, true);
  if (axis && node->op == SN_OP_gather && *sn_graph_attrs(f->graph, u) == axis &&
      fixed_indices(f, u) != SN_NONE) {
    rows = f->r->map[*sn_graph_inputs(f->graph, u)];
    order = looked_up(f, u, order);
  }
  put_first(axis, node->type.rank, there, back);
  return gather_rows(f, axis ? sn_build_transpose(sn_fixed_here(f), rows, there) : rows, order);
}

static sn_id replace(sn_fixed *f, sn_id id, const sn_id *inputs) {
  const sn_graph *g = f->graph;
  const sn_op op = g->nodes[id].op;
  const int axis = (int)*sn_graph_attrs(g, id);
  const sn_type *type = &g->nodes[id].type;
  const int64_t n = type->dims[axis];
  const sn_type ends_type = {SN_I32, 1, {n}};
  int64_t there[SN_MAX_RANK], back[SN_MAX_RANK];
  put_first(axis, type->rank, there, back);
  sn_build *b = sn_fixed_here(f), *whole = sn_fixed_whole(f);
  const sn_id place = bounded(whole, sn_fixed_lift(f, fixed_indices(f, id)), n);
  const sn_id order = sn_build_along(whole, SN_OP_argsort, ((const int64_t[]){0, false}), place);
  const sn_id counts =
      sn_build_along(whole, SN_OP_scatter_add, (const int64_t[]){0},
                     sn_build_full(whole, &ends_type, 0), place, sn_build_like(whole, place, 1));
  const sn_id ends =
      sn_build_along(whole, SN_OP_cumsum, ((const int64_t[]){0, false, false}), counts);
  const sn_id sources[] = {gather_sources(f, sn_graph_inputs(g, id)[2], axis, order),
                           sn_fixed_hand_in(f, ends)};
  sn_id sums = sn_build_op(b, sn_op_describe(op)->gathered, sources, 2, NULL, 0, NULL);
  if (!b->status) b->status = whole->status;
  if (axis) sums = sn_build_transpose(b, sums, back);
  return op == SN_OP_scatter_or ? sn_build_binary(b, SN_OP_bitwise_or, inputs[0], sums) : sums;
}

sn_status sn_gather_sums(const sn_target *target, const sn_graph *traced, size_t n_inputs,
                         sn_arena *arena, sn_graph *out) {
  static const sn_fixed_rule rule = {needs, is_worth_it, replace};
  return sn_fixed_rewrite(target, traced, n_inputs, &rule, arena, out);
}
