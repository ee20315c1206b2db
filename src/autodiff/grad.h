/* grad.h - reverse mode as graph -> graph. */
#ifndef SN_AUTODIFF_GRAD_H
#define SN_AUTODIFF_GRAD_H

#include "graph/graph.h"

/* Appends to graph the derivatives of the scalar node y with respect to each node of wrt, into out.
 * Nodes of wrt are treated as independent of each other and of what they were made from. A node
 * that y does not depend on gets zeros. Linear in the number of nodes; scratch comes from the
 * graph's arena. */
sn_status sn_grad(sn_graph *graph, sn_id y, const sn_id *wrt, size_t n_wrt, sn_id *out);

#endif
