/* rewrite_rules.c - the walk of rewrite_rules.h, and what rules ask. Work is linear: each old node is offered to
 * the rules at most MOST_REWRITES times. */
#include "passes/rewrite_rules.h"

#include "base/log.h"

#define MOST_REWRITES 16 /* for one old node */
#define MOST_DEPTH 4     /* of ops made by rules inside rules */
#define SIGN_DEPTH 4     /* of the question for -0 */

static sn_id apply_once(const sn_match *s) {
  for (const sn_rule *rule = s->walk->rules; rule->apply; rule++) {
    if (rule->op != s->op && rule->op != SN_OP_COUNT) continue;
    const sn_id made = rule->apply(s);
    if (made == SN_NONE) continue;
    SN_LOG(s->b->graph->env, SN_LOG_REWRITES, "  %s: %s -> %%%u %s\n", rule->name,
           sn_op_describe(s->op)->name, made, sn_op_describe(s->b->graph->nodes[made].op)->name);
    return made;
  }
  return SN_NONE;
}

/* The last rewrite of the site, or SN_NONE where no rule applies. */
static sn_id settle(const sn_match *first) {
  sn_match s = *first;
  sn_id settled = SN_NONE;
  while (s.walk->budget > 0 && !s.b->status) {
    const size_t before = s.b->graph->n_nodes;
    const sn_id made = apply_once(&s);
    if (made == SN_NONE) break;
    s.walk->budget--;
    settled = made;
    if (made < before) break; /* it stands in the graph already, settled */
    const sn_node *node = sn_graph_node(s.b->graph, made);
    s = (sn_match){.walk = s.walk,
                   .b = s.b,
                   .op = node->op,
                   .type = node->type,
                   .x = sn_graph_inputs(s.b->graph, made),
                   .n = node->n_inputs,
                   .attrs = sn_graph_attrs(s.b->graph, made),
                   .n_attrs = node->n_attrs};
  }
  return settled;
}

static sn_id visit(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  sn_rule_walk *walk = r->user;
  const sn_node *node = sn_graph_node(r->from, id);
  walk->r = r;
  walk->depth = 0;
  walk->budget = MOST_REWRITES;
  const sn_match s = {.walk = walk,
                      .b = &r->to,
                      .op = node->op,
                      .type = node->type,
                      .x = inputs,
                      .n = node->n_inputs,
                      .attrs = sn_graph_attrs(r->from, id),
                      .n_attrs = node->n_attrs,
                      .old = sn_graph_inputs(r->from, id)};
  return settle(&s);
}

sn_status sn_rewrite_by_rules(const sn_pass_context *context, const sn_graph *from, sn_graph *to,
                              const sn_rule *rules) {
  sn_rule_walk walk = {.context = context, .rules = rules};
  SN_TRY(sn_arena_alloc(from->arena, from->n_nodes, sizeof *walk.uses, (void **)&walk.uses));
  for (size_t i = 0; i < from->n_nodes; i++) walk.uses[i] = 0;
  for (size_t i = 0; i < from->n_edges; i++) walk.uses[from->edges[i]]++;
  for (size_t i = 0; i < from->n_outputs; i++) walk.uses[from->outputs[i]]++;
  return sn_rewrite_graph(from, to, to->arena, context->share, NULL, visit, &walk);
}

sn_id sn_match_view(const sn_match *s, sn_op op, sn_id x, const int64_t *attrs, uint32_t n_attrs,
                    const sn_type *type) {
  if (s->b->status) return SN_NONE;
  sn_match inner = {s->walk, s->b, op, *type, &x, 1, attrs, n_attrs, NULL};
  inner.type.dtype = sn_build_type(s->b, x)->dtype;
  sn_id made = SN_NONE;
  if (s->walk->depth < MOST_DEPTH) {
    s->walk->depth++;
    made = settle(&inner);
    s->walk->depth--;
  }
  return made != SN_NONE ? made : sn_build_op(s->b, op, &x, 1, attrs, n_attrs, &inner.type);
}

/* ---- what rules ask -------------------------------------------------------------------------- */

bool sn_match_value(const sn_match *s, int i, double value) {
  double found;
  return sn_graph_uniform(s->b->graph, s->x[i], &found) &&
         sn_double_attr(found) == sn_double_attr(value);
}

bool sn_match_single_use(const sn_match *s, int i) {
  return s->old && s->walk->uses[s->old[i]] == 1;
}

static bool never_minus_zero(const sn_graph *g, sn_id x, int depth);

static bool none_has_minus_zero(const sn_graph *g, const sn_node *node, int depth) {
  bool none = true;
  for (uint32_t i = 0; i < node->n_inputs && none; i++)
    none = never_minus_zero(g, g->edges[node->first_input + i], depth);
  return none;
}

/* By the column minus_zero of the table, and by their attributes and dtypes of the ops that it cannot say it of. */
static bool never_minus_zero(const sn_graph *g, sn_id x, int depth) {
  const sn_node *node = sn_graph_node(g, x);
  const sn_op_info *op = sn_op_describe(node->op);
  const sn_id *in = sn_graph_inputs(g, x);
  double value;
  if (!sn_dtype_is_float(node->type.dtype) || op->not_negative) return true;
  if (depth == 0) return false;
  if (node->op == SN_OP_constant) /* as its dtype holds it: -1e-300 is -0 in float32 */
    return sn_graph_uniform(g, x, &value) && sn_double_attr(value) != sn_double_attr(-0.0);
  if (node->op == SN_OP_astype) return !sn_dtype_is_float(g->nodes[*in].type.dtype);
  if (node->op == SN_OP_pad && sn_graph_attrs(g, x)[node->n_attrs - 1] != sn_double_attr(0))
    return false;
  switch (op->minus_zero) {
  case SN_ZERO_UNKNOWN: return false;
  case SN_ZERO_NEVER: return true;
  case SN_ZERO_OF_FIRST: return never_minus_zero(g, in[0], depth - 1);
  case SN_ZERO_OF_ALL: /* of two */
    return never_minus_zero(g, in[0], depth - 1) || never_minus_zero(g, in[1], depth - 1);
  case SN_ZERO_OF_ANY: return none_has_minus_zero(g, node, depth - 1);
  }
  return false;
}

bool sn_match_never_minus_zero(const sn_match *s, sn_id x) {
  return never_minus_zero(s->b->graph, x, SIGN_DEPTH);
}
