/* jvp.h - forward mode, on the nodes of any builder (build/build.h). */
#ifndef SN_AUTODIFF_JVP_H
#define SN_AUTODIFF_JVP_H

#include "build/build.h"

/* Sets out to the tangents of the n nodes y: out[k] = sum over i of (d y[k] / d wrt[i]) dwrt[i]. All
 * are floats. dwrt[i] has the shape of wrt[i] and its wide dtype, or is SN_NONE for zeros; out[k] has
 * the shape of y[k] and its wide dtype. Nodes of wrt are treated as independent of each other and of
 * what they were made from. A y that depends on no wrt gets zeros. Linear in the number of nodes;
 * temporary memory comes from the builder's arena. */
sn_status sn_jvp_nodes(sn_build *b, const sn_id *y, size_t n, const sn_id *wrt, const sn_id *dwrt,
                       size_t n_wrt, sn_id *out);

#endif
