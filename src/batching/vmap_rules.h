/* vmap_rules.h - how an op takes one more axis. */
#ifndef SN_BATCHING_VMAP_RULES_H
#define SN_BATCHING_VMAP_RULES_H

#include "build/build.h"

/* What a rule sees: y = op(x[0], x[1], ...) of one example, and batch[k], x[k] with one more axis in
 * front, or SN_NONE where x[k] is the same for all examples. At least one is given. */
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

/* Gives y with the new axis in front. */
typedef sn_id sn_vmap_rule(const sn_vmap_context *s);

/* The rule of an op; that of most follows from the kinds of its attributes. */
sn_vmap_rule *sn_vmap_rule_of(sn_op op);

/* Control flow has no rule there, for it has several results: vmap_control.c. batch[k]: of input k, as above. out: per
 * result, with the axis in front; SN_NONE: the same for all examples. */
void sn_vmap_control(sn_build *b, sn_id id, const sn_id *batch, int64_t size, sn_id *out);

#endif
