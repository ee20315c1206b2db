/* control.h - derivatives of loops and conditions: more of them.
 *
 *   scan     vjp: the rounds in reverse, the cotangents of the carries carried, those of the consts added up. What a
 *                 round needs of the forward rounds is stacked by the forward loop, made once more with more results:
 *                 carries, and values that are costly to make again; the rest is made again from them.
 *            jvp: tangents are carried and stacked beside the values
 *   cond     vjp, jvp: of both branches; a branch makes again what it needs
 *   while    jvp: as a scan's; it has no vjp, for how often it ran is not known */
#ifndef SN_AUTODIFF_CONTROL_H
#define SN_AUTODIFF_CONTROL_H

#include "build/build.h"

/* Cotangents of a node's inputs, into dx, from those of its results: dy[k], SN_NONE for zeros. wanted[i]: whether input i
 * needs one; the others', and those that are zeros, become SN_NONE. All have wide dtypes. */
void sn_control_vjp(sn_build *b, sn_id id, const sn_id *dy, const bool *wanted, sn_id *dx);

/* Tangents of a node's results, into dy, from those of its inputs; SN_NONE for zeros. */
void sn_control_jvp(sn_build *b, sn_id id, const sn_id *dx, sn_id *dy);

#endif
