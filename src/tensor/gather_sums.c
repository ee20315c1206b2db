/* gather_sums.c - where the indices of a scatter_add (or scatter_or) depend on captured tensors alone, it is
 * known beforehand which rows come together. So each row of the result can gather its own, all rows at
 * once, and adds them in the order that the scatter has: the same bits, without a row that two
 * threads write.
 *
 *   scatter_add 0 index u            place = index, from the end on and clamped as a scatter does it
 *                                    order = argsort place: the sources of row 0, of row 1 ...
 *   ragged_sum u[order] ends        ends  = cumsum of how many sources each row has
 *
 * Bits that are set come together in the same way, by ragged_or; there x may be anything.
 *
 * The prelude (prelude.c) computes order and ends once; u[order] is looked up where it is added. The
 * gradient of `take` by constant indices, the wires of a circuit say, is such a scatter. */
#include "tensor/prelude.h"

#include <math.h>

#include "build/rewrite.h"
#include "graph/reference.h"
#include "graph/regions.h"

typedef struct site {
  const sn_target *target;
  const sn_graph *graph;
  size_t n_inputs;
  uint8_t *fixed; /* per node: depends on no input */
} site;

static bool is_fixed(const site *s, sn_id id) {
  const sn_node *node = sn_graph_node(s->graph, id);
  bool fixed = node->op != SN_OP_input || *sn_graph_attrs(s->graph, id) >= (int64_t)s->n_inputs;
  for (uint32_t k = 0; k < node->n_inputs; k++)
    fixed = fixed && s->fixed[sn_graph_inputs(s->graph, id)[k]];
  return fixed;
}

/* The indices where there is one for each row, before they are spread over its points; or SN_NONE. */
static sn_id find_indices(const sn_graph *g, sn_id id, int64_t axis) {
  double value;
  if (g->nodes[id].op != SN_OP_broadcast || sn_graph_uniform(g, id, &value)) return SN_NONE;
  const sn_id from = *sn_graph_inputs(g, id);
  const sn_type *type = &g->nodes[id].type, *given = &g->nodes[from].type;
  const int64_t at = axis - type->rank + given->rank;
  const bool along = at >= 0 && given->dims[at] == type->dims[axis];
  return along && sn_type_size(given) == type->dims[axis] ? from : SN_NONE;
}

static bool is_worth_it(const site *s, sn_id id) {
  const sn_graph *g = s->graph;
  const sn_node *node = sn_graph_node(g, id);
  const sn_id *x = sn_graph_inputs(g, id);
  double start;
  if (!sn_op_describe(node->op)->gathered || !sn_op_is_call(node->op) || !s->fixed[x[1]] ||
      s->fixed[id])
    return false;
  const int64_t axis = *sn_graph_attrs(g, id);
  int64_t row = 1; /* what lies together of it */
  for (int i = (int)axis + 1; i < node->type.rank; i++) row *= node->type.dims[i];
  const bool from_zero = sn_graph_uniform(g, x[0], &start) && start == 0 && !signbit(start);
  return node->type.rank < SN_MAX_RANK && row >= s->target->costs.gathered_row &&
         sn_type_size(&node->type) && sn_type_size(&g->nodes[x[2]].type) &&
         find_indices(g, x[1], axis) != SN_NONE && (from_zero || node->op == SN_OP_scatter_or);
}

/* Position among n that each index names. */
static sn_id bounded(sn_build *b, sn_id index, int64_t n) {
  const sn_id none = sn_build_like(b, index, 0), last = sn_build_like(b, index, (double)(n - 1));
  const sn_id behind = sn_build_binary(b, SN_OP_add, index, sn_build_like(b, index, (double)n));
  const sn_id from_end = sn_build_binary(b, SN_OP_less, index, none);
  const sn_id at = sn_build_where(b, from_end, behind, index);
  return sn_build_binary(b, SN_OP_minimum, sn_build_binary(b, SN_OP_maximum, at, none), last);
}

/* The axis first, the others as they are; and back. */
static void put_first(int axis, int rank, int64_t *there, int64_t *back) {
  there[0] = axis;
  for (int i = 0; i < rank; i++)
    if (i != axis) there[i < axis ? i + 1 : i] = i;
  for (int i = 0; i < rank; i++) back[there[i]] = i;
}

static sn_id gather_rows(sn_build *b, sn_id rows, sn_id order) {
  if (b->status) return SN_NONE;
  const sn_type type = *sn_build_type(b, rows);
  sn_type column = {SN_I32, type.rank, {sn_build_type(b, order)->dims[0]}}, spread = type;
  spread.dtype = SN_I32;
  spread.dims[0] = column.dims[0];
  for (int i = 1; i < type.rank; i++) column.dims[i] = 1;
  const sn_id places = sn_build_broadcast(b, sn_build_reshape(b, order, &column), &spread);
  return sn_build_along(b, SN_OP_gather, (const int64_t[]){0}, rows, places);
}

/* Where updates are looked up by captured indices themselves, u = v[which]: u[order] is v[which[order]]. */
static sn_id find_which(const site *s, sn_id u, int64_t axis) {
  const sn_graph *g = s->graph;
  if (g->nodes[u].op != SN_OP_gather || *sn_graph_attrs(g, u) != axis) return SN_NONE;
  const sn_id which = sn_graph_inputs(g, u)[1];
  return s->fixed[which] ? find_indices(g, which, axis) : SN_NONE;
}

/* u[order], axis first. */
static sn_id gather_sources(sn_rewrite *r, sn_id u, int axis, sn_id order) {
  const sn_id which = find_which(r->user, u, axis);
  const sn_type flat = {SN_I32, 1, {r->from->nodes[u].type.dims[axis]}};
  int64_t there[SN_MAX_RANK], back[SN_MAX_RANK];
  put_first(axis, r->from->nodes[u].type.rank, there, back);
  sn_build *b = &r->to;
  sn_id rows = r->map[u];
  if (which != SN_NONE) {
    rows = r->map[sn_graph_inputs(r->from, u)[0]];
    order = sn_build_along(b, SN_OP_gather, (const int64_t[]){0},
                           sn_build_reshape(b, r->map[which], &flat), order);
  }
  return gather_rows(b, axis ? sn_build_transpose(b, rows, there) : rows, order);
}

/* sn_rewrite_fn */
static sn_id rewrite(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const site *s = r->user;
  if (!is_worth_it(s, id)) return SN_NONE;
  const int axis = (int)*sn_graph_attrs(r->from, id);
  const sn_type *type = &r->from->nodes[id].type;
  const int64_t n = type->dims[axis];
  const sn_id *x = sn_graph_inputs(r->from, id), given = find_indices(r->from, x[1], axis);
  const sn_type flat = {SN_I32, 1, {sn_type_size(&r->from->nodes[given].type)}};
  const sn_type ends_type = {SN_I32, 1, {n}};
  int64_t there[SN_MAX_RANK], back[SN_MAX_RANK];
  put_first(axis, type->rank, there, back);
  sn_build *b = &r->to;
  const sn_id place = bounded(b, sn_build_reshape(b, r->map[given], &flat), n);
  const sn_id order = sn_build_along(b, SN_OP_argsort, ((const int64_t[]){0, false}), place);
  const sn_id counts =
      sn_build_along(b, SN_OP_scatter_add, (const int64_t[]){0}, sn_build_full(b, &ends_type, 0),
                     place, sn_build_like(b, place, 1));
  const sn_id ends = sn_build_along(b, SN_OP_cumsum, ((const int64_t[]){0, false, false}), counts);
  const sn_op op = r->from->nodes[id].op;
  const sn_id sources[] = {gather_sources(r, x[2], axis, order), ends};
  sn_id sums = sn_build_op(b, sn_op_describe(op)->gathered, sources, 2, NULL, 0, NULL);
  if (axis) sums = sn_build_transpose(b, sums, back);
  return op == SN_OP_scatter_or ? sn_build_binary(b, SN_OP_bitwise_or, inputs[0], sums) : sums;
}

sn_status sn_gather_sums(const sn_target *target, const sn_graph *traced, size_t n_inputs,
                         sn_arena *arena, sn_graph *out) {
  site s = {.target = target, .graph = traced, .n_inputs = n_inputs};
  bool any = false;
  SN_TRY(sn_arena_alloc(arena, traced->n_nodes, 1, (void **)&s.fixed));
  for (sn_id id = 0; id < traced->n_nodes; id++) {
    s.fixed[id] = is_fixed(&s, id);
    any = any || is_worth_it(&s, id);
  }
  *out = *traced;
  if (!any) return SN_OK;
  SN_TRY(sn_rewrite_graph(traced, out, arena, traced->share, NULL, rewrite, &s));
  return sn_graph_keep_regions(out, traced);
}
