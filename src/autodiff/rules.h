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

/* Control flow has no rule there, for all of its results count at once: control_rules.c.
 *
 * Cotangents of a node's inputs, into dx, from those of its results: dy[k], SN_NONE for zeros. wanted[i]: whether input i
 * needs one; the others', and those that are zeros, become SN_NONE. All have wide dtypes. */
void sn_control_vjp(sn_build *b, sn_id id, const sn_id *dy, const bool *wanted, sn_id *dx);

/* Tangents of a node's results, into dy, from those of its inputs; SN_NONE for zeros. */
void sn_control_jvp(sn_build *b, sn_id id, const sn_id *dx, sn_id *dy);

#endif
