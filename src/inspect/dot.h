/* dot.h - adds a stage's graph, as text for Graphviz, to the stage's JSON. */
#ifndef SN_INSPECT_DOT_H
#define SN_INSPECT_DOT_H

#include "base/text.h"
#include "fuse/fuse.h"

/* The graph of nodes. groups and reasons (sn_graph_dot) are NULL before there are kernels. */
sn_status sn_dot_graph(sn_text *json, const sn_graph *graph, const sn_groups *groups,
                       const char *const *reasons);

/* The graph whose nodes are the kernels. */
sn_status sn_dot_kernels(sn_text *json, const sn_groups *groups);

#endif
