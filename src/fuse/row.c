#include "fuse/row.h"

bool sn_row_of(const sn_target *target, const sn_graph *g, sn_id id, sn_row_domain *out) {
  const sn_node *node = sn_graph_node(g, id);
  if (sn_op_describe(node->op)->kind != SN_CLASS_REDUCE) return false;
  const sn_type *x = &g->nodes[*sn_graph_inputs(g, id)].type;
  const uint64_t mask = (uint64_t)*sn_graph_attrs(g, id);
  int outer = 0;
  while (outer < x->rank && !(mask >> outer & 1)) outer++;
  int64_t rows = 1, length = 1;
  for (int i = 0; i < outer; i++) rows *= x->dims[i];
  const int64_t most = sn_target_row_points(target, rows);
  for (int i = outer; i < x->rank; i++) {
    if (!(mask >> i & 1)) return false;
    length *= x->dims[i];
    if (length > most) return false;
  }
  /* a row of one point would look like a value per row; an empty one has nothing to reduce */
  if (length < 2 || sn_type_size(x) == 0) return false;
  *out = (sn_row_domain){.shape = *x, .outer_rank = outer};
  return true;
}

/* The next of the first n dims, from `at` on, whose size is not 1; n if there is none. */
static int next_dim(const int64_t *dims, int n, int at) {
  while (at < n && dims[at] == 1) at++;
  return at;
}

/* Whether `type` has one element per row, in the rows' order. */
static bool is_per_row(const sn_row_domain *domain, const sn_type *type) {
  int i = 0, j = 0;
  for (;; i++, j++) {
    i = next_dim(domain->shape.dims, domain->outer_rank, i);
    j = next_dim(type->dims, type->rank, j);
    if (i == domain->outer_rank || j == type->rank) break;
    if (domain->shape.dims[i] != type->dims[j]) return false;
  }
  return i == domain->outer_rank && j == type->rank;
}

bool sn_row_holds(const sn_row_domain *domain, const sn_type *type) {
  return sn_row_is_element(domain, type) || is_per_row(domain, type);
}

void sn_row_map(const sn_row_domain *domain, const sn_type *type, int map[SN_MAX_RANK]) {
  int j = 0;
  for (int i = 0; i < domain->outer_rank; i++) {
    map[i] = SN_MAX_RANK;
    if (domain->shape.dims[i] == 1) continue;
    j = next_dim(type->dims, type->rank, j);
    map[i] = j++;
  }
}

bool sn_row_shows(const sn_row_domain *domain, const sn_type *base_type, const sn_view *view,
                  const sn_type *type) {
  if (view->offset != 0 || !is_per_row(domain, base_type)) return false;
  const bool element = sn_row_is_element(domain, type);
  if (!element && !is_per_row(domain, type)) return false;
  /* row-major over the outer dims, nothing along the row */
  int64_t expected = 1;
  for (int i = type->rank - 1; i >= 0; i--) {
    if (type->dims[i] == 1) continue;
    const bool inner = element && i >= domain->outer_rank;
    if (view->strides[i] != (inner ? 0 : expected)) return false;
    if (!inner) expected *= type->dims[i];
  }
  return true;
}
