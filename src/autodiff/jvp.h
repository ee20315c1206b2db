/* jvp.h - forward mode, on whatever a builder makes. */
#ifndef SN_AUTODIFF_JVP_H
#define SN_AUTODIFF_JVP_H

#include "build/build.h"

/* Makes the tangents of the nodes y, n of them, into out, from those of the nodes wrt: sums over i of
 * the derivative of y[k] by wrt[i] times dwrt[i]. All are floats; dwrt[i] has the shape of wrt[i] and
 * its wide dtype, or is SN_NONE for zeros; out[k] those of y[k]. Nodes of wrt are treated as
 * independent of each other and of what they were made from. A y that depends on none gets zeros.
 * Linear in the number of nodes; scratch comes from the builder's arena. */
sn_status sn_jvp_nodes(sn_build *b, const sn_id *y, size_t n, const sn_id *wrt, const sn_id *dwrt,
                       size_t n_wrt, sn_id *out);

#endif
