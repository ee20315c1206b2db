/* inline.h - copies nodes between graphs: a whole region into the place of a call, or single nodes into another graph. */
#ifndef SN_BUILD_INLINE_H
#define SN_BUILD_INLINE_H

#include "build/build.h"
#include "graph/regions.h"

/* Adds to b what a region computes from args, one node per argument of the region. Fills map: per node of the region, its
 * node in b. */
sn_status sn_build_inline(sn_build *b, const sn_graph *region, const sn_id *args, sn_id *map);

/* Copies attributes of a node of `from` to taken, for a node of graph: the regions they refer to are copied to graph, and
 * renumbered. */
sn_status sn_graph_take_regions(sn_graph *graph, const sn_graph *from, sn_op op,
                                const int64_t *attrs, size_t n_attrs, int64_t taken[SN_MAX_ATTRS]);

/* Adds a copy of node id of `from`, regions included. Its inputs are those of the original, mapped by `map`. */
sn_status sn_graph_take_node(sn_graph *graph, const sn_graph *from, sn_id id, const sn_id *map,
                             sn_id *out);

#endif
