/* limit.c - columns of a chain's scores that need not be computed, as those behind a causal mask: a
 * comparison of the numbers of row and column makes them -infinity, which no maximum sees, and
 * which e^x makes 0, which no sum sees.
 *
 *   s = where(column <= row, q k^T, -inf)     where false:  -inf
 *   m = max s                                               m
 *   p = e^(s - m) / sum e^(s - m)                           0
 *   o = p v                                                 o + 0
 *
 * What is so made is known of each node. All that read scores must be able to do without those
 * columns, and nothing else may read them. Every row has a column that counts, so where all is
 * finite the bits are the same. */
#include <math.h>

#include "fuse/chain.h"

/* What a node has where column > row, or negative: where row > column. */
enum { ANYTHING, ZERO, NEVER, UNHEARD }; /* 0 or false, -infinity; what no reduction hears */

/* The dim whose numbers a node has, perhaps transposed, or less than any. */
static int64_t axis_of(const sn_graph *g, const sn_node *node) {
  const sn_node *in = node->op == SN_OP_transpose ? &g->nodes[g->edges[node->first_input]] : node;
  if (in->op != SN_OP_iota) return -2 * SN_MAX_RANK;
  const int64_t axis = g->attrs[in->first_attr];
  if (in == node) return axis;
  int64_t i = 0;
  while (g->attrs[(int64_t)node->first_attr + i] != axis) i++;
  return i;
}

static int known_of(const sn_graph *g, const int8_t *known, const sn_node *node) {
  const sn_id *in = g->edges + node->first_input;
  double value;
  if (!node->n_inputs) return ANYTHING;
  const sn_node *left = &g->nodes[in[0]], *right = &g->nodes[in[node->n_inputs > 1]];
  const int x = known[in[0]], y = known[in[node->n_inputs > 1]];
  const bool zero = x & 1; /* if not, x is NEVER or ANYTHING */
  switch (node->op) {
  case SN_OP_less_equal: {
    const int64_t l = axis_of(g, left), r = axis_of(g, right);
    return l + r == 2 * node->type.rank - 3 ? (int)(l - r) : ANYTHING;
  }
  case SN_OP_where:
    if (!zero || !sn_graph_uniform(g, in[2], &value)) return ANYTHING;
    return value == 0 ? x : value == -INFINITY ? x * NEVER : ANYTHING;
  case SN_OP_exp: return zero ? ANYTHING : x / NEVER;
  case SN_OP_sub: return zero ? ANYTHING : x;
  case SN_OP_mul: return zero ? x : y & 1 ? y : ANYTHING;
  case SN_OP_div: return zero ? x : ANYTHING;
  default: return ANYTHING;
  }
}

void sn_chain_know(sn_groups *groups, int8_t *known) {
  const sn_graph *g = groups->graph;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = &g->nodes[id];
    const uint32_t group = groups->kernel_of[id];
    known[id] = (int8_t)known_of(g, known, node);
    if (group != SN_NONE && sn_op_describe(node->op)->kind == SN_CLASS_REDUCE &&
        known[g->edges[node->first_input]] != (node->op == SN_OP_sum   ? ZERO
                                               : node->op == SN_OP_max ? NEVER
                                                                       : UNHEARD))
      groups->groups[group].hears_all = true;
  }
}

typedef struct limiter {
  sn_chain *chain;
  const sn_value *values;
  const size_t *local_at;
  int column; /* the dim */
  sn_group *member;
  bool fits;
} limiter;

static bool is_scores(const limiter *l, uint32_t value) {
  if (value == SN_NONE || l->local_at[value] == SN_NOT_LOCAL) return false;
  const sn_type *type = &l->values[value].type;
  const int64_t *last = type->dims + type->rank - 2;
  return type->rank > 1 && last[0] == l->chain->rows && last[1] == l->chain->columns;
}

/* Scores are read and written column by column, and who makes columns makes scores. */
static sn_status check_access(void *user, const sn_access_note *access) {
  limiter *l = user;
  sn_group *g = l->member;
  const sn_operand *o = access->operand;
  const bool along = g->limited != SN_LIMITED_TERMS && access->inner_rank == 1 &&
                     access->inner[0] == l->chain->columns &&
                     g->space_rank + g->reduced_rank == l->column + 1;
  const bool scores = is_scores(l, o->value);
  if (scores && along && o->strides[l->column] == 1)
    g->limited = SN_LIMITED_COLUMNS;
  else if (scores || (along && access->write))
    l->fits = false;
  return SN_OK;
}

static void limit_member(limiter *l, const int8_t *known, sn_group *g) {
  sn_chain *c = l->chain;
  l->member = g;
  if (g->kind == SN_GROUP_CONTRACTION && is_scores(l, g->a.value)) {
    const int side = known[l->values[g->a.value].node];
    const sn_nest *terms = &g->a.along;
    if (!c->side) c->side = side;
    if (!(side & 1) || c->side != side || g->k != c->columns || terms->dims[0] != c->columns ||
        terms->strides[0] != 1)
      l->fits = false;
    g->limited = SN_LIMITED_TERMS;
  }
  sn_chain_visit(g, l->column, check_access, l);
  if (g->limited && g->n_phases && (g->hears_all || c->side < 0)) l->fits = false;
}

void sn_chain_limit(sn_chain *c, int outer, const int8_t *known, const sn_value *values,
                    const size_t *local_at) {
  limiter l = {c, values, local_at, outer, NULL, true};
  c->columns = c->whole[0].space[outer];
  for (uint32_t m = c->n_members; m-- > 0;) limit_member(&l, known, &c->whole[m]);
  if (!l.fits) c->side = 0;
}

sn_range sn_chain_columns(const sn_chain *c, int64_t row) {
  sn_range r = {0, c->columns};
  const int64_t to = (row + c->block + SN_LIMIT_UNIT - 1) & -SN_LIMIT_UNIT;
  if (c->side > 0 && to < r.to) r.to = to;
  if (c->side < 0) r.from = row < r.to ? row & -SN_LIMIT_UNIT : r.to;
  return r;
}
