/* fixed.h - what of a graph depends on captured tensors alone, that is on no input, in the bodies and branches of its
 * control flow as well; and rewriting with it. What a rule makes of such nodes it makes in the whole graph, where the
 * prelude (prelude.h) computes it once. Where a region needs it, it is handed in: one more constant of each node of
 * control flow on the way there.
 *
 *   whole      index                      index, order = argsort index
 *   scan       (carry, index)       ->    (carry, index, order)
 *   its body   scatter_add by index       gathers by order, an argument
 *
 * A barrier is no obstacle: what is fixed need not wait. */
#ifndef SN_TENSOR_FIXED_H
#define SN_TENSOR_FIXED_H

#include "build/rewrite.h"
#include "target/target.h"

typedef struct sn_fixed sn_fixed;

typedef struct sn_fixed_rule {
  /* The fixed nodes of f's graph that replacing node id is about: how many, at most SN_MAX_ARITY. */
  size_t (*about)(const sn_fixed *f, sn_id id, sn_id *list);
  bool (*applies)(const sn_fixed *f, sn_id id);
  sn_id (*replace)(sn_fixed *f, sn_id id, const sn_id *inputs); /* as an sn_rewrite_fn */
} sn_fixed_rule;

/* A graph: the whole, or a region of a node of control flow. */
struct sn_fixed {
  const sn_graph *graph;
  const sn_target *target;
  const sn_fixed_rule *rule;
  sn_fixed *outer; /* the graph that the node stands in; NULL: this is the whole */
  sn_id node;
  size_t first;       /* arguments from here on are the node's constants; of the whole: captured */
  size_t given;       /* the input of the node that is argument `first` */
  uint8_t *is_fixed;  /* per node */
  uint32_t *users;    /* per node: how many inputs of others it is, and outputs */
  uint8_t *about;     /* per node: fixed, and something in the whole is to be made of it */
  sn_fixed **regions; /* per node of control flow: those with something to replace, else NULL */
  bool any;           /* there is something to replace, in it or in its regions */
  /* while it is rewritten */
  sn_rewrite *r;
  sn_id *lifted; /* per node that is about something: the whole's new node that has its value */
  sn_id *handed; /* what is handed to the node of control flow under way, behind its inputs */
  size_t n_handed, cap_handed;
};

/* *out = graph with what the rule applies to replaced; inputs from number n_inputs on are captured. */
sn_status sn_fixed_rewrite(const sn_target *target, const sn_graph *graph, size_t n_inputs,
                           const sn_fixed_rule *rule, sn_arena *arena, sn_graph *out);

/* For rules under way. The builder of the whole graph, and that of f's. */
sn_build *sn_fixed_whole(sn_fixed *f);
static inline sn_build *sn_fixed_here(sn_fixed *f) { return &f->r->to; }

/* Of a fixed node that the rule is about, the whole's new node. */
sn_id sn_fixed_lift(const sn_fixed *f, sn_id id);

/* A node of the whole as one of f's new graph. */
sn_id sn_fixed_hand_in(sn_fixed *f, sn_id id);

#endif
