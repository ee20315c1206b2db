/* inline.h - a region's nodes put into another graph, and a graph's nodes taken into one of their own. */
#ifndef SN_BUILD_INLINE_H
#define SN_BUILD_INLINE_H

#include "build/build.h"
#include "graph/regions.h"

/* Adds what a region computes of args, a node for each of its arguments. map: per node of the region the one that stands
 * for it. */
sn_status sn_build_inline(sn_build *b, const sn_graph *region, const sn_id *args, sn_id *map);

/* Attributes whose regions are those of `from`, for a node of graph. */
sn_status sn_graph_take_regions(sn_graph *graph, const sn_graph *from, sn_op op,
                                const int64_t *attrs, size_t n_attrs, int64_t taken[SN_MAX_ATTRS]);

/* A copy of node id of another graph, regions included, that reads what `map` has for its inputs. */
sn_status sn_graph_take_node(sn_graph *graph, const sn_graph *from, sn_id id, const sn_id *map,
                             sn_id *out);

#endif
