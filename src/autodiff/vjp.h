/* vjp.h - reverse mode, on the nodes of any builder (build/build.h). */
#ifndef SN_AUTODIFF_VJP_H
#define SN_AUTODIFF_VJP_H

#include "build/build.h"

/* Sets out to the cotangents of the nodes wrt, from those of the n nodes y: out[i] = sum over k of
 * (d y[k] / d wrt[i])^T dy[k]. All are floats. dy[k] has the shape of y[k] and its wide dtype, and
 * out[i] those of wrt[i]. Nodes of wrt are treated as independent of each other and of what they were
 * made from. One that no y depends on gets zeros. Linear in the number of nodes; temporary memory
 * comes from the builder's arena. */
sn_status sn_vjp_nodes(sn_build *b, const sn_id *y, const sn_id *dy, size_t n, const sn_id *wrt,
                       size_t n_wrt, sn_id *out);

#endif
