/* region.h - regions: the bodies and branches that tensors of control flow hold.
 *
 * A region is an immutable dense graph with a reference count. A lazy tensor's attribute is its address; tracing the
 * tensor replaces that by a number in the graph that is made (graph/regions.h). */
#ifndef SN_TENSOR_REGION_H
#define SN_TENSOR_REGION_H

#include "graph/regions.h"

typedef struct sn_region {
  uint32_t refs;
  sn_arena arena;
  sn_graph graph;
} sn_region;

/* A region with a copy of the graph, and one reference for the caller. */
sn_status sn_region_new(sn_env *env, const sn_graph *graph, sn_region **out);
void sn_region_release(sn_region *region);

static inline int64_t sn_region_attr(const sn_region *region) { return (int64_t)(uintptr_t)region; }
static inline sn_region *sn_attr_region(int64_t attr) { return (sn_region *)(uintptr_t)attr; }

/* Take or release one reference to each region among a node's attributes. */
void sn_regions_retain(sn_op op, const int64_t *attrs);
void sn_regions_release(sn_op op, const int64_t *attrs);

/* Copies the attributes, with the addresses of regions replaced by their numbers in graph, to which they are added. */
sn_status sn_regions_number(sn_graph *graph, sn_op op, const int64_t *attrs, size_t n_attrs,
                            int64_t numbered[SN_MAX_ATTRS]);

/* Describes a tensor of control flow by its op and attributes. */
sn_control sn_region_control(sn_op op, const int64_t *attrs, size_t n_inputs);

#endif
