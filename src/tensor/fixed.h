/* fixed.h - finds the fixed nodes of a graph, which depend on captured tensors alone and on no input, also in the bodies and
 * branches of its control flow; and rewrites the graph by a rule about them. What the rule computes from fixed nodes it
 * makes in the whole graph, where the prelude (prelude.h) computes it once. If a region needs it, it is handed in, as one
 * more constant of each node of control flow on the way there.
 *
 *   whole      index                      index, order = argsort index
 *   scan       (carry, index)       ->    (carry, index, order)
 *   its body   scatter_add by index       gathers by order, an argument
 *
 * Barriers are looked through: a fixed value need not wait. */
#ifndef SN_TENSOR_FIXED_H
#define SN_TENSOR_FIXED_H

#include "build/rewrite.h"
#include "target/target.h"

typedef struct sn_fixed sn_fixed;

typedef struct sn_fixed_rule {
  /* Lists the fixed nodes of f's graph that replacing node id needs in the whole graph. Returns their number, at most
   * SN_MAX_ARITY. */
  size_t (*needs)(const sn_fixed *f, sn_id id, sn_id *list);
  bool (*applies)(const sn_fixed *f, sn_id id);
  sn_id (*replace)(sn_fixed *f, sn_id id, const sn_id *inputs); /* as an sn_rewrite_fn */
} sn_fixed_rule;

/* What is known of a graph: of the whole one, or of a region of a node of control flow. */
struct sn_fixed {
  const sn_graph *graph;
  const sn_target *target;
  const sn_fixed_rule *rule;
  sn_fixed *outer; /* the graph that contains the node of control flow; NULL: this is the whole graph */
  sn_id node;
  size_t first;       /* first argument that is a constant of the node; in the whole graph: that is captured */
  size_t first_input; /* number of the node's input that is argument `first` */
  uint8_t *is_fixed;  /* per node */
  uint32_t *users;    /* per node how often other nodes and the outputs read it */
  uint8_t *needed;    /* per node: it is fixed, and the rule needs its value in the whole graph */
  sn_fixed **regions; /* per node of control flow its regions if one has something to replace, else NULL */
  bool any;           /* there is something to replace in the graph or in its regions */
  /* while it is rewritten */
  sn_rewrite *r;
  sn_id *lifted; /* per node that is `needed`: the new node of the whole graph with its value */
  sn_id *handed; /* further inputs for the node of control flow under way, behind its own */
  size_t n_handed, cap_handed;
};

/* *out is the graph with all nodes replaced to which the rule applies. Arguments from n_inputs on are captured. */
sn_status sn_fixed_rewrite(const sn_target *target, const sn_graph *graph, size_t n_inputs,
                           const sn_fixed_rule *rule, sn_arena *arena, sn_graph *out);

/* For use by rules: the builder of the whole new graph, and that of f's. */
sn_build *sn_fixed_whole(sn_fixed *f);
static inline sn_build *sn_fixed_here(sn_fixed *f) { return &f->r->to; }

/* The node of the whole new graph with the value of a fixed node that the rule's `needs` has listed. */
sn_id sn_fixed_lift(const sn_fixed *f, sn_id id);

/* Makes a node of the whole new graph available in f's: returns the argument that stands for it there. */
sn_id sn_fixed_hand_in(sn_fixed *f, sn_id id);

#endif
