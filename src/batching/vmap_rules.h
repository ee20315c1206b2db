/* vmap_rules.h - the rules by which ops take one more axis. */
#ifndef SN_BATCHING_VMAP_RULES_H
#define SN_BATCHING_VMAP_RULES_H

#include "build/build.h"

/* What a rule sees: y = op(x[0], x[1], ...) for one example, and batch[k], which is x[k] with one more
 * axis in front, or SN_NONE if x[k] is the same for all examples. At least one batch[k] is given. */
typedef struct sn_vmap_context {
  sn_build *b;
  sn_op op;
  sn_type y; /* the type of y */
  const sn_id *x, *batch;
  size_t n;
  const int64_t *attrs;
  size_t n_attrs;
  int64_t size; /* of the new axis */
} sn_vmap_context;

/* Returns y with the new axis in front. */
typedef sn_id sn_vmap_rule(const sn_vmap_context *s);

/* The rule of an op. Most ops have the one that follows from the kinds of their attributes. */
sn_vmap_rule *sn_vmap_rule_of(sn_op op);

/* Control flow has no such rule, because it has several results: vmap_control.c. batch[k]: for input k, as above. Sets out
 * to the results with the axis in front; all of them get it, even those that are the same for all examples. */
void sn_vmap_control(sn_build *b, sn_id id, const sn_id *batch, int64_t size, sn_id *out);

#endif
