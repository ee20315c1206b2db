/* rules.h - one vector-Jacobian product per op. */
#ifndef SN_AUTODIFF_RULES_H
#define SN_AUTODIFF_RULES_H

#include "build/build.h"

/* What a rule sees: y = op(x[0], x[1], ...), dy the cotangent of y. It writes the cotangent of each
 * input into dx[i], or leaves SN_NONE for zero. wanted[i] tells which inputs need one; others may
 * be skipped. */
typedef struct sn_vjp_context {
  sn_build *b;
  sn_id y, dy;
  const sn_id *x;
  size_t n;
  const int64_t *attrs;
  const bool *wanted;
  sn_id *dx;
} sn_vjp_context;

typedef void sn_vjp_rule(const sn_vjp_context *s);

/* Indexed by op, complete by construction: a row of ops.def without a rule does not compile. */
extern sn_vjp_rule *const sn_vjp_rules[SN_OP_COUNT];

#endif
