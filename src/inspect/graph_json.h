/* graph_json.h - a graph as exact JSON, which sn_program_graph returns (include/sinter.h describes the format). */
#ifndef SN_INSPECT_GRAPH_JSON_H
#define SN_INSPECT_GRAPH_JSON_H

#include "graph/graph.h"

sn_status sn_graph_json(const sn_graph *graph, sn_arena *arena, const char **out);

#endif
