/* rewrite_rules.c - the walk of rewrite_rules.h, and what rules ask. Work is linear: the rules
 * rewrite at most MOST_REWRITES times for each old node. */
#include "passes/rewrite_rules.h"

#include "base/log.h"

#define MOST_REWRITES 16 /* for one old node */
#define MOST_DEPTH 4     /* nesting of sn_match_view: views that rules make inside rules */
#define SIGN_DEPTH 4     /* nodes that never_minus_zero looks through */

sn_status sn_note_rewrite(const sn_pass_context *context, const char *rule, sn_id old, sn_id made) {
  sn_rewrite_notes *notes = context->notes;
  if (!notes) return SN_OK;
  SN_TRY(sn_arena_grow(notes->arena, (void **)&notes->list, &notes->capacity, notes->n,
                       sizeof *notes->list));
  notes->list[notes->n++] = (sn_rewrite_note){rule, old, made};
  return SN_OK;
}

static sn_id apply_once(const sn_match *m) {
  for (const sn_rule *rule = m->walk->rules; rule->apply; rule++) {
    if (rule->op != m->op && rule->op != SN_OP_COUNT) continue;
    const sn_id made = rule->apply(m);
    if (made == SN_NONE) continue;
    SN_LOG(m->b->graph->env, SN_LOG_REWRITES, "  %s: %s -> %%%u %s\n", rule->name,
           sn_op_describe(m->op)->name, made, sn_op_describe(m->b->graph->nodes[made].op)->name);
    if (!m->b->status)
      m->b->status = sn_note_rewrite(m->walk->context, rule->name, m->walk->old, made);
    return made;
  }
  return SN_NONE;
}

/* Applies the rules until none matches. Returns the last node made, or SN_NONE if no rule applied. */
static sn_id settle(const sn_match *first) {
  sn_match m = *first;
  sn_id settled = SN_NONE;
  while (m.walk->budget > 0 && !m.b->status) {
    const size_t before = m.b->graph->n_nodes;
    const sn_id made = apply_once(&m);
    if (made == SN_NONE) break;
    m.walk->budget--;
    settled = made;
    if (made < before) break; /* it was in the graph before, so the rules have seen it */
    const sn_node *node = sn_graph_node(m.b->graph, made);
    m = (sn_match){.walk = m.walk,
                   .b = m.b,
                   .op = node->op,
                   .type = node->type,
                   .x = sn_graph_inputs(m.b->graph, made),
                   .n = node->n_inputs,
                   .attrs = sn_graph_attrs(m.b->graph, made),
                   .n_attrs = node->n_attrs};
  }
  return settled;
}

static sn_id visit(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  sn_rule_walk *walk = r->user;
  const sn_node *node = sn_graph_node(r->from, id);
  walk->r = r;
  walk->old = id;
  walk->depth = 0;
  walk->budget = MOST_REWRITES;
  const sn_match m = {.walk = walk,
                      .b = &r->to,
                      .op = node->op,
                      .type = node->type,
                      .x = inputs,
                      .n = node->n_inputs,
                      .attrs = sn_graph_attrs(r->from, id),
                      .n_attrs = node->n_attrs,
                      .old = sn_graph_inputs(r->from, id)};
  return settle(&m);
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

sn_id sn_match_view(const sn_match *m, sn_op op, sn_id x, const int64_t *attrs, uint32_t n_attrs,
                    const sn_type *type) {
  if (m->b->status) return SN_NONE;
  sn_match inner = {m->walk, m->b, op, *type, &x, 1, attrs, n_attrs, NULL};
  inner.type.dtype = sn_build_type(m->b, x)->dtype;
  sn_id made = SN_NONE;
  if (m->walk->depth < MOST_DEPTH) {
    m->walk->depth++;
    made = settle(&inner);
    m->walk->depth--;
  }
  return made != SN_NONE ? made : sn_build_op(m->b, op, &x, 1, attrs, n_attrs, &inner.type);
}

/* ---- what rules ask -------------------------------------------------------------------------- */

bool sn_match_value(const sn_match *m, int i, double value) {
  double found;
  return sn_graph_uniform(m->b->graph, m->x[i], &found) &&
         sn_double_attr(found) == sn_double_attr(value);
}

bool sn_match_single_use(const sn_match *m, int i) {
  return m->old && m->walk->uses[m->old[i]] == 1;
}

static bool never_minus_zero(const sn_graph *g, sn_id x, int depth);

static bool none_has_minus_zero(const sn_graph *g, const sn_node *node, int depth) {
  bool none = true;
  for (uint32_t i = 0; i < node->n_inputs && none; i++)
    none = never_minus_zero(g, g->edges[node->first_input + i], depth);
  return none;
}

/* Decides by the facts not_negative and minus_zero of ops.def. Constants, casts and pads depend on
 * their attributes and dtypes instead. */
static bool never_minus_zero(const sn_graph *g, sn_id x, int depth) {
  const sn_node *node = sn_graph_node(g, x);
  const sn_op_info *op = sn_op_describe(node->op);
  const sn_id *in = sn_graph_inputs(g, x);
  double value;
  if (!sn_dtype_is_float(node->type.dtype) || op->not_negative) return true;
  if (depth == 0) return false;
  if (node->op == SN_OP_constant) /* uniform rounds to the dtype: -1e-300 is -0 in float32 */
    return sn_graph_uniform(g, x, &value) && sn_double_attr(value) != sn_double_attr(-0.0);
  if (node->op == SN_OP_astype) return !sn_dtype_is_float(g->nodes[*in].type.dtype);
  if (node->op == SN_OP_pad && sn_graph_attrs(g, x)[node->n_attrs - 1] != sn_double_attr(0))
    return false;
  switch (op->minus_zero) {
  case SN_ZERO_UNKNOWN: return false;
  case SN_ZERO_NEVER: return true;
  case SN_ZERO_OF_FIRST: return never_minus_zero(g, in[0], depth - 1);
  case SN_ZERO_OF_ALL: /* such ops have two inputs */
    return never_minus_zero(g, in[0], depth - 1) || never_minus_zero(g, in[1], depth - 1);
  case SN_ZERO_OF_ANY: return none_has_minus_zero(g, node, depth - 1);
  }
  return false;
}

bool sn_match_never_minus_zero(const sn_match *m, sn_id x) {
  return never_minus_zero(m->b->graph, x, SIGN_DEPTH);
}
