/* dot.h - a stage's graph for Graphviz, added to its JSON. */
#ifndef SN_INSPECT_DOT_H
#define SN_INSPECT_DOT_H

#include "base/text.h"
#include "fuse/fuse.h"

/* groups, reasons (sn_graph_dot): NULL before there are kernels. */
sn_status sn_dot_graph(sn_text *json, const sn_graph *graph, const sn_groups *groups,
                       const char *const *reasons);

/* The nodes are the kernels. */
sn_status sn_dot_kernels(sn_text *json, const sn_groups *groups);

#endif
