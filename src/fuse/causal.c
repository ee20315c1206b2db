/* causal.c - columns of a chain's scores that need not be computed because a causal mask hides them:
 * a comparison of the row's and the column's index makes them -infinity, which changes no maximum;
 * e^x makes that 0, which changes no sum.
 *
 *   s = where(column <= row, q k^T, -inf)     where false:  -inf
 *   m = max s                                               m
 *   p = e^(s - m) / sum e^(s - m)                           0
 *   o = p v                                                 o + 0
 *
 * Such facts are noted for each node (sn_mask_facts), as each line follows from those above it. Whatever
 * reads scores must be able to do without the hidden columns, and only members may read scores.
 * Every row has a column that counts, so if all values are finite the bits are the same. */
#include <math.h>

#include "fuse/chain.h"
#include "fuse/group_visit.h"
#include "graph/reference.h"

/* ---- what nodes have where a mask hides them ------------------------------------------------- */

enum {
  ZERO = SN_ZERO_ABOVE | SN_ZERO_BELOW,
  NEVER_BY_ZERO = SN_NEVER_ABOVE / SN_ZERO_ABOVE,
  NEVER = ZERO * NEVER_BY_ZERO
};

/* The axis along which an iota, perhaps transposed, counts. Of other nodes a number that no sum of two axes reaches. */
static int64_t axis_of(const sn_graph *g, sn_id id) {
  const sn_node *node = &g->nodes[id];
  const sn_node *in = node->op == SN_OP_transpose ? &g->nodes[g->edges[node->first_input]] : node;
  if (in->op != SN_OP_iota) return -2 * SN_MAX_RANK;
  const int64_t axis = g->attrs[in->first_attr];
  if (in == node) return axis;
  int64_t i = 0;
  while (g->attrs[(int64_t)node->first_attr + i] != axis) i++;
  return i;
}

static unsigned facts_of(const sn_graph *g, const uint8_t *mask_facts, const sn_node *node) {
  const sn_id *in = g->edges + node->first_input;
  double value;
  if (!node->n_inputs) return 0;
  const unsigned x = mask_facts[in[0]];
  switch (node->op) {
  case SN_OP_less_equal: {
    const int64_t l = axis_of(g, in[0]), r = axis_of(g, in[1]);
    if (l + r != 2 * node->type.rank - 3) return 0; /* they are not the last two */
    return l > r ? SN_ZERO_ABOVE : SN_ZERO_BELOW;
  }
  case SN_OP_where:
    if (!(x & ZERO) || !sn_graph_uniform(g, in[2], &value)) return 0;
    return value == 0 ? x & ZERO : value == -INFINITY ? (x & ZERO) * NEVER_BY_ZERO : 0;
  case SN_OP_exp: return (x & NEVER) / NEVER_BY_ZERO;
  case SN_OP_sub: return x & NEVER;
  case SN_OP_mul: return (x | mask_facts[in[1]]) & ZERO;
  case SN_OP_div: return x & ZERO;
  default: return 0;
  }
}

void sn_chain_find_masks(sn_groups *groups, uint8_t *mask_facts) {
  const sn_graph *g = groups->graph;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = &g->nodes[id];
    const uint32_t group = groups->kernel_of[id];
    mask_facts[id] = (uint8_t)facts_of(g, mask_facts, node);
    if (group == SN_NONE || sn_op_describe(node->op)->kind != SN_CLASS_REDUCE) continue;
    const unsigned ignored = node->op == SN_OP_sum   ? SN_ZERO_ABOVE
                             : node->op == SN_OP_max ? SN_NEVER_ABOVE
                                                     : 0;
    if (!(mask_facts[g->edges[node->first_input]] & ignored))
      groups->groups[group].row.needs_masked = true;
  }
}

/* ---- what members of a chain do for columns -------------------------------------------------- */

typedef struct limiter {
  sn_chain *chain;
  const sn_value *values;
  const bool *is_local;
  int column; /* the dim */
  sn_group *member;
  bool fits;
} limiter;

static bool is_scores(const limiter *l, uint32_t value) {
  if (value == SN_NONE || !l->is_local[value]) return false;
  const sn_type *type = &l->values[value].type;
  const int64_t *last = type->dims + type->rank - 2;
  return type->rank > 1 && last[0] == l->chain->rows && last[1] == l->chain->columns;
}

/* Checks that a member reads and writes scores column by column, and that one with a loop over columns
 * writes nothing but scores; such a member is limited. */
static sn_status check_touch(void *user, const sn_touch *touch) {
  limiter *l = user;
  sn_group *g = l->member;
  const sn_operand *o = touch->operand;
  const bool along = g->limited != SN_LIMITED_TERMS && touch->rank == l->column + 1 &&
                     touch->dims[l->column] == l->chain->columns &&
                     g->space_rank + g->reduced_rank == l->column + 1;
  if (touch->role == SN_ROLE_FACTOR) return SN_OK;
  const bool scores = is_scores(l, o->value);
  if (scores && along && o->strides[l->column] == 1)
    g->limited = SN_LIMITED_COLUMNS;
  else if (scores || (along && sn_touch_writes(touch)))
    l->fits = false;
  return SN_OK;
}

/* A product whose terms are columns of scores can leave out those that are zeros. */
static void limit_terms(limiter *l, const uint8_t *mask_facts, sn_group *g) {
  sn_chain *c = l->chain;
  const unsigned facts = mask_facts[l->values[g->contraction.factors[0].value].node];
  const int side = (facts & SN_ZERO_ABOVE) != 0 ? 1 : -1;
  const sn_nest *terms = &g->contraction.factors[0].nests->of[SN_AXIS_ALONG];
  if (!c->side) c->side = side;
  if (!(facts & ZERO) || c->side != side || g->contraction.k != c->columns || terms->rank != 1 ||
      terms->strides[0] != 1)
    l->fits = false;
  g->limited = SN_LIMITED_TERMS;
}

void sn_chain_limit(sn_chain *c, int outer, const uint8_t *mask_facts, const sn_value *values,
                    const bool *is_local) {
  limiter l = {c, values, is_local, outer, NULL, true};
  uint32_t first = 0; /* the member that makes scores */
  while (c->members[first].kind != SN_GROUP_CONTRACTION)
    if (++first == c->n_members) return;
  c->columns = c->members[first].space[outer];
  for (uint32_t m = c->n_members; m-- > first;) {
    sn_group *g = l.member = &c->members[m];
    if (g->kind == SN_GROUP_CONTRACTION && m > first &&
        is_scores(&l, g->contraction.factors[0].value))
      limit_terms(&l, mask_facts, g);
    sn_group_visit(g, check_touch, &l);
    if (g->limited && g->kind == SN_GROUP_ROW && (g->row.needs_masked || c->side < 0))
      l.fits = false;
  }
  if (!l.fits) c->side = 0;
}

/* The sum of min(row, columns) over the first `rows` rows, counted from 1. */
static double below(double rows, double columns) {
  const double short_rows = rows < columns ? rows : columns;
  return short_rows * (short_rows + 1) / 2 + (rows - short_rows) * columns;
}

double sn_chain_unmasked_share(const sn_chain *c) {
  const double rows = (double)c->rows, columns = (double)c->columns, all = rows * columns;
  if (c->side > 0) return below(rows, columns) / all;
  return c->side < 0 ? 1 - below(rows - 1, columns) / all : 1;
}
