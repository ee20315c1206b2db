/* view.h - where the elements of a node lie: base node, offset and one stride per dimension.
 *
 * A view op never copies; it changes these numbers. A node that is not a view is its own base,
 * row-major. An iota has no memory: its "strides" say how its value grows, 1 along its axis and 0
 * elsewhere, so a view of it is again offset + sum of index times stride. */
#ifndef SN_FUSE_VIEW_H
#define SN_FUSE_VIEW_H

#include "graph/graph.h"

typedef struct sn_view {
  sn_id base;
  int64_t offset;
  int64_t strides[SN_MAX_RANK];
} sn_view;

/* Can a view with these dims and strides be seen as shape `to` without a copy? Writes its strides.
 */
bool sn_view_reshape(const sn_type *from, const int64_t *strides, const sn_type *to,
                     int64_t out[SN_MAX_RANK]);

/* The view of node id, given those of all smaller ids. A reshape that needs a copy must have got
 * one in its input before (see prepare.h); false if not. */
bool sn_view_of(const sn_graph *graph, const sn_view *views, sn_id id, sn_view *out);

#endif
