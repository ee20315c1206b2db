/* rewrite_rules.h - a pass as a list of rules. A rule looks at one op that is about to be added to
 * the new graph, its match, and says what to put in its place:
 *
 *   SN_RULE(mul, times_one)      x * 1 -> x
 *
 * The walk is bottom-up: the inputs of a match have been rewritten already. What a rule makes is
 * offered to the rules again, so that a chain settles where it stands; nodes that nobody reads any
 * more stay behind for dce. */
#ifndef SN_PASSES_REWRITE_RULES_H
#define SN_PASSES_REWRITE_RULES_H

#include "build/rewrite.h"
#include "graph/reference.h"
#include "passes/passes.h"

typedef struct sn_rule_walk {
  const sn_pass_context *context;
  const struct sn_rule *rules;
  sn_rewrite *r;
  sn_id old;      /* the node under way */
  uint32_t *uses; /* of the old nodes */
  int depth;      /* of ops that rules make by rules */
  int budget;     /* rewrites left for the old node under way: work per node is bounded */
} sn_rule_walk;

typedef struct sn_match { /* one op, not added yet */
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

/* A row of a pass's table: a rule for SN_OP_##op. The log names it. */
#define SN_RULE(op, rule) \
  { SN_OP_##op, rule, #rule }
#define SN_RULES_END \
  { .apply = NULL }

/* rules end with a row whose apply is NULL. */
sn_status sn_rewrite_by_rules(const sn_pass_context *context, const sn_graph *from, sn_graph *to,
                              const sn_rule *rules);

/* Notes that `made` stands for node `old`, where somebody looks. */
sn_status sn_note_rewrite(const sn_pass_context *context, const char *rule, sn_id old, sn_id made);

/* A view of x, made by the rules where one applies. */
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

/* Whether input i has this value everywhere, told from the same with the other sign of zero. */
bool sn_match_value(const sn_match *m, int i, double value);

/* The result: one value everywhere. */
static inline sn_id sn_match_full(const sn_match *m, double value) {
  return sn_build_full(m->b, &m->type, value);
}

/* Whether the old graph reads input i here only. */
bool sn_match_single_use(const sn_match *m, int i);

/* Whether no element can be -0: then x + 0 is x. False where it is not known. */
bool sn_match_never_minus_zero(const sn_match *m, sn_id x);

#endif
