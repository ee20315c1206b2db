/* rewrite_rules.h - a pass as a list of rules. A rule looks at one op that is about to be added to
 * the new graph (the match) and returns the node to use instead:
 *
 *   SN_RULE(mul, times_one)      x * 1 -> x
 *
 * The walk is bottom-up: the inputs of a match have been rewritten already. The node that a rule
 * makes is offered to the rules again, so a chain of rewrites settles in one walk. Nodes that lose
 * their last reader stay in the graph until dce. */
#ifndef SN_PASSES_REWRITE_RULES_H
#define SN_PASSES_REWRITE_RULES_H

#include "build/rewrite.h"
#include "graph/reference.h"
#include "passes/passes.h"

typedef struct sn_rule_walk {
  const sn_pass_context *context;
  const struct sn_rule *rules;
  sn_rewrite *r;
  sn_id old;      /* the old node that is being rewritten */
  uint32_t *uses; /* per old node: how many edges and outputs read it */
  int depth;      /* how deep sn_match_view is nested */
  int budget;     /* rewrites left for `old`, so that the work per node is bounded */
} sn_rule_walk;

/* An op that is not in the new graph yet, or that a rule has just made. */
typedef struct sn_match {
  sn_rule_walk *walk;
  sn_build *b;
  sn_op op;
  sn_type type;
  const sn_id *x; /* inputs, in the new graph */
  uint32_t n;
  const int64_t *attrs;
  uint32_t n_attrs;
  const sn_id *old; /* inputs in the old graph; NULL: this op was made by a rule */
} sn_match;

typedef struct sn_rule {
  sn_op op;                          /* SN_OP_COUNT: all ops */
  sn_id (*apply)(const sn_match *m); /* SN_NONE: does not apply */
  const char *name;
} sn_rule;

/* A row of a pass's table: a rule for SN_OP_##op. The log uses the rule's name. */
#define SN_RULE(op, rule) \
  { SN_OP_##op, rule, #rule }
#define SN_RULES_END \
  { .apply = NULL }

/* Builds *to from *from by the rules, a list that ends with SN_RULES_END. Earlier rows go first. */
sn_status sn_rewrite_by_rules(const sn_pass_context *context, const sn_graph *from, sn_graph *to,
                              const sn_rule *rules);

/* Records, if context->notes is set, that node `made` of the new graph replaces node `old`. */
sn_status sn_note_rewrite(const sn_pass_context *context, const char *rule, sn_id old, sn_id made);

/* A view of x. The rules are applied to it first, as to an op of the old graph. */
sn_id sn_match_view(const sn_match *m, sn_op op, sn_id x, const int64_t *attrs, uint32_t n_attrs,
                    const sn_type *type);

/* ---- what rules ask -------------------------------------------------------------------------- */

static inline const sn_graph *sn_match_graph(const sn_match *m) { return m->b->graph; }
static inline const sn_node *sn_match_node(const sn_match *m, sn_id x) {
  return &m->b->graph->nodes[x];
}
static inline bool sn_match_is(const sn_match *m, sn_id x, sn_op op) {
  return m->b->graph->nodes[x].op == op;
}
static inline sn_id sn_match_input(const sn_match *m, sn_id x, int i) {
  return sn_graph_inputs(m->b->graph, x)[i];
}
static inline sn_dtype sn_match_dtype(const sn_match *m, int i) {
  return sn_match_node(m, m->x[i])->type.dtype;
}
static inline bool sn_match_is_float(const sn_match *m) {
  return sn_dtype_is_float(sn_match_dtype(m, (int)m->n - 1));
}

/* Whether every element of input i is known to be this value. The two zeros are different values. */
bool sn_match_value(const sn_match *m, int i, double value);

/* A node of the match's type with this value everywhere. */
static inline sn_id sn_match_full(const sn_match *m, double value) {
  return sn_build_full(m->b, &m->type, value);
}

/* Whether this match is the only reader of input i in the old graph. False for ops made by rules. */
bool sn_match_single_use(const sn_match *m, int i);

/* Whether it is known that no element of x is -0: then x + 0 is x. */
bool sn_match_never_minus_zero(const sn_match *m, sn_id x);

#endif
