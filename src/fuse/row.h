/* row.h - the row domain of a set of nodes: reductions over the same trailing axes, and what is
 * computed per element and per row between them.
 *
 *   shape (outer..., inner...)      per element: nodes of this shape
 *                                   per row: nodes with one element per outer index, whatever
 *                                   sizes of 1 their shape has */
#ifndef SN_FUSE_ROW_H
#define SN_FUSE_ROW_H

#include "fuse/view.h"

typedef struct sn_row_domain {
  sn_type shape;
  int outer_rank; /* the dims from here on are the row */
} sn_row_domain;

/* The domain of a reduction that can be part of a row group: over trailing axes, of so few points
 * that a row stays in cache between phases. False for all other nodes. */
bool sn_row_of(const sn_target *target, const sn_graph *graph, sn_id reduction, sn_row_domain *out);

/* Whether a node of this type can be a member: it has an element per point, or one per row. Any
 * other would be read and stored in the wrong places. */
bool sn_row_holds(const sn_row_domain *domain, const sn_type *type);

/* Whether view, of type `type`, shows the elements of a value per row (its base, of base_type) in
 * step with the domain: one per row, or each repeated along its row. */
bool sn_row_shows(const sn_row_domain *domain, const sn_type *base_type, const sn_view *view,
                  const sn_type *type);

/* Sets map[i] to the dim of a per-row node that runs over outer dim i; SN_MAX_RANK if that has size 1. */
void sn_row_map(const sn_row_domain *domain, const sn_type *type, int map[SN_MAX_RANK]);

/* Whether a member of the set is computed per element. */
static inline bool sn_row_is_element(const sn_row_domain *domain, const sn_type *type) {
  return sn_same_dims(&domain->shape, type);
}

#endif
