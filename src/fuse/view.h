/* view.h - where the elements of a node lie: base node, offset and one stride per dimension.
 *
 * A view op never copies; it changes these numbers. A node that is not a view is its own base,
 * row-major. An iota has no memory: its "strides" say how its value grows, 1 along its axis and 0
 * elsewhere, so a view of it is again offset + sum of index times stride.
 *
 * A reshape that makes one dimension of several that do not follow on each other in memory has a
 * nest per dimension instead. Only contractions read such a view (see prepare.c). */
#ifndef SN_FUSE_VIEW_H
#define SN_FUSE_VIEW_H

#include "fuse/nest.h"
#include "graph/graph.h"
#include "target/target.h"

typedef struct sn_view {
  sn_id base;
  int64_t offset;
  int64_t strides[SN_MAX_RANK];
  sn_nest *nests; /* NULL, or one per dimension in place of the strides */
  sn_id frame;    /* SN_NONE, or a pad that is never computed: offset and strides are a view of its
                   * result, but base is the node that it reads (padding.c) */
  bool is_load;   /* of a gather that is never computed: its readers look elements up (lookup.c) */
} sn_view;

/* Describes a view of type `from` as shape `to`, a nest per dimension; false if that takes a copy. */
bool sn_view_reshape(const sn_type *from, const sn_view *view, const sn_type *to,
                     sn_nest axes[SN_MAX_RANK]);

/* Whether each nest is a single stride, so that any kernel can read the view. */
bool sn_nests_are_plain(const sn_nest *axes, int rank);

/* The view of node id, given those of all smaller ids. Where a view needs a copy, its input must be
 * one already (see prepare.c). */
sn_status sn_view_of(const sn_graph *graph, const sn_view *views, sn_id id, sn_view *out);

/* padding.c: turns pads that products alone read into views (frame), so that they are never computed. */
sn_status sn_view_padding(const sn_graph *graph, const sn_target *target, sn_view *views);

/* lookup.c: sets is_load of the gathers that all their readers can look up. */
sn_status sn_view_lookups(const sn_graph *graph, const sn_target *target, sn_arena *scratch,
                          sn_view *views);

/* How positions lie along one dimension of a view of the given type. */
static inline sn_nest sn_view_axis(const sn_type *type, const sn_view *view, int i) {
  return view->nests ? view->nests[i] : sn_nest_line(type->dims[i], view->strides[i]);
}

#endif
