/* simplify.c - algebraic identities, one line each, that hold bit for bit for every IEEE value (NaN
 * payloads aside), infinities and signed zeros included. */
#include <string.h>

#include "passes/passes.h"
#include "passes/rewrite.h"

typedef struct site {
  sn_rewrite *r;
  const sn_node *node;
  const int64_t *attrs;
  const sn_id *x; /* inputs in the new graph */
} site;

static const sn_node *input_node(const site *s, int i) { return &s->r->to.graph->nodes[s->x[i]]; }

static bool is_value(const site *s, int i, double value) {
  double found;
  return sn_graph_uniform(s->r->to.graph, s->x[i], &found) &&
         sn_double_attr(found) == sn_double_attr(value);
}

static sn_id input_of(const site *s, int i) { return *sn_graph_inputs(s->r->to.graph, s->x[i]); }

/* x * 1 = 1 * x = x */
static sn_id simplify_mul(const site *s) {
  if (is_value(s, 1, 1)) return s->x[0];
  return is_value(s, 0, 1) ? s->x[1] : SN_NONE;
}

/* x + (-0) = x, and x - 0 = x; (x + 0 is not: -0 + 0 = +0) */
static sn_id simplify_add(const site *s) {
  if (is_value(s, 1, -0.0)) return s->x[0];
  return is_value(s, 0, -0.0) ? s->x[1] : SN_NONE;
}
static sn_id simplify_sub(const site *s) { return is_value(s, 1, 0) ? s->x[0] : SN_NONE; }

/* x / 1 = x */
static sn_id simplify_div(const site *s) { return is_value(s, 1, 1) ? s->x[0] : SN_NONE; }

/* -(-x) = x */
static sn_id simplify_neg(const site *s) {
  return input_node(s, 0)->op == SN_OP_neg ? input_of(s, 0) : SN_NONE;
}

/* identity(x) = x: its work, telling x from x, is done once derivatives are taken */
static sn_id simplify_identity(const site *s) { return s->x[0]; }

/* a view that changes nothing */
static sn_id simplify_same_type(const site *s) {
  return sn_type_equal(&input_node(s, 0)->type, &s->node->type) ? s->x[0] : SN_NONE;
}

/* reshape(reshape(x)) = reshape(x) */
static sn_id simplify_reshape(const site *s) {
  if (input_node(s, 0)->op == SN_OP_reshape)
    return sn_build_reshape(&s->r->to, input_of(s, 0), &s->node->type);
  return simplify_same_type(s);
}

/* transpose(transpose(x, p), q) = transpose(x, p[q]); the identical permutation is nothing */
static sn_id simplify_transpose(const site *s) {
  const int rank = s->node->type.rank;
  int64_t perm[SN_MAX_RANK];
  memcpy(perm, s->attrs, sizeof *perm * (size_t)rank);
  sn_id x = s->x[0];
  const bool nested = input_node(s, 0)->op == SN_OP_transpose;
  if (nested) {
    const int64_t *inner = sn_graph_attrs(s->r->to.graph, x);
    for (int i = 0; i < rank; i++) perm[i] = inner[s->attrs[i]];
    x = input_of(s, 0);
  }
  bool same = true;
  for (int i = 0; i < rank; i++) same = same && perm[i] == i;
  if (same) return x;
  return nested ? sn_build_transpose(&s->r->to, x, perm) : SN_NONE;
}

static sn_id simplify(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const site s = {r, sn_graph_node(r->from, id), sn_graph_attrs(r->from, id), inputs};
  switch (s.node->op) {
  case SN_OP_mul: return simplify_mul(&s);
  case SN_OP_add: return simplify_add(&s);
  case SN_OP_sub: return simplify_sub(&s);
  case SN_OP_div: return simplify_div(&s);
  case SN_OP_neg: return simplify_neg(&s);
  case SN_OP_identity:
  case SN_OP_stop_gradient: return simplify_identity(&s);
  case SN_OP_reshape: return simplify_reshape(&s);
  case SN_OP_transpose: return simplify_transpose(&s);
  case SN_OP_broadcast:
  case SN_OP_astype: return simplify_same_type(&s);
  default: return SN_NONE;
  }
}

sn_status sn_pass_simplify(const sn_graph *from, sn_graph *to, bool share) {
  return sn_rewrite_graph(from, to, from->arena, share, NULL, simplify, NULL);
}
