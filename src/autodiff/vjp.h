/* vjp.h - reverse mode, on whatever a builder makes. */
#ifndef SN_AUTODIFF_VJP_H
#define SN_AUTODIFF_VJP_H

#include "build/build.h"

/* Makes the cotangents of the nodes wrt, into out, from those of the nodes y, n of them: sums over k
 * of dy[k] times the derivative of y[k]. All are floats; dy[k] has the shape of y[k] and its wide
 * dtype, and so have out[i] and wrt[i]. Nodes of wrt are treated as independent of each other and of
 * what they were made from. One that no y depends on gets zeros. Linear in the number of nodes;
 * scratch comes from the builder's arena. */
sn_status sn_vjp_nodes(sn_build *b, const sn_id *y, const sn_id *dy, size_t n, const sn_id *wrt,
                       size_t n_wrt, sn_id *out);

#endif
