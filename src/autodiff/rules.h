/* rules.h - one vector-Jacobian product per op. */
#ifndef SN_AUTODIFF_RULES_H
#define SN_AUTODIFF_RULES_H

#include "build/build.h"

/* What a rule sees: y = op(x[0], x[1], ...), and dy, the cotangent of y. The rule sets dx[i] to the
 * cotangent of input i, or leaves it SN_NONE for zeros. wanted[i] tells whether input i needs one; the
 * rule may skip others. */
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

/* By op. The table is complete: a row of ops.def without a rule does not compile. */
extern sn_vjp_rule *const sn_vjp_rules[SN_OP_COUNT];

/* The rules of control flow are not in that table, as they need all results of a node at once: control_rules.c.
 *
 * Sets dx to the cotangents of the inputs of node id, from dy[k], those of its results; SN_NONE stands for zeros. Only
 * inputs i with wanted[i] get one. All have wide dtypes. The caller sets dx to SN_NONE before. */
void sn_control_vjp(sn_build *b, sn_id id, const sn_id *dy, const bool *wanted, sn_id *dx);

/* Sets dy to the tangents of the results of node id, from those of its inputs; SN_NONE stands for zeros. */
void sn_control_jvp(sn_build *b, sn_id id, const sn_id *dx, sn_id *dy);

#endif
