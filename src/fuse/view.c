#include "fuse/view.h"

#include <string.h>

/* All positions of a view as one nest; false if it has too many dims. */
static bool as_one_nest(const sn_type *type, const sn_view *view, sn_nest *out) {
  *out = (sn_nest){.rank = 0};
  bool fits = true;
  for (int i = 0; i < type->rank; i++) {
    if (!view->nests) fits = fits && sn_nest_add(out, type->dims[i], view->strides[i]);
    for (int k = 0; view->nests && k < view->nests[i].rank; k++)
      fits = fits && sn_nest_add(out, view->nests[i].dims[k], view->nests[i].strides[k]);
  }
  if (!out->rank) *out = sn_nest_line(1, 0);
  return fits;
}

bool sn_view_reshape(const sn_type *from, const sn_view *view, const sn_type *to,
                     sn_nest axes[SN_MAX_RANK]) {
  sn_nest whole;
  if (sn_type_size(to) == 0) {
    for (int i = 0; i < to->rank; i++) axes[i] = sn_nest_line(to->dims[i], 0);
    return true;
  }
  return as_one_nest(from, view, &whole) && sn_nest_split(&whole, to->dims, to->rank, axes);
}

bool sn_nests_are_plain(const sn_nest *axes, int rank) {
  bool plain = true;
  for (int i = 0; i < rank; i++) plain = plain && axes[i].rank == 1;
  return plain;
}

static sn_status view_reshape(const sn_graph *g, const sn_type *from, const sn_view *in,
                              const sn_type *to, sn_view *out) {
  sn_nest axes[SN_MAX_RANK];
  SN_CHECK(g->env, sn_view_reshape(from, in, to, axes));
  if (sn_nests_are_plain(axes, to->rank)) {
    for (int i = 0; i < to->rank; i++) out->strides[i] = axes[i].strides[0];
    return SN_OK;
  }
  SN_TRY(sn_arena_alloc(g->arena, (size_t)to->rank, sizeof *axes, (void **)&out->nests));
  memcpy(out->nests, axes, (size_t)to->rank * sizeof *axes);
  return SN_OK;
}

static sn_status view_transpose(const sn_graph *g, const sn_view *in, const int64_t *perm, int rank,
                                sn_view *out) {
  if (in->nests)
    SN_TRY(sn_arena_alloc(g->arena, (size_t)rank, sizeof *in->nests, (void **)&out->nests));
  for (int i = 0; i < rank; i++) {
    out->strides[i] = in->strides[perm[i]];
    if (in->nests) out->nests[i] = in->nests[perm[i]];
  }
  return SN_OK;
}

static void view_self(const sn_graph *g, sn_id id, sn_view *out) {
  const sn_node *node = sn_graph_node(g, id);
  *out = (sn_view){.base = id, .frame = SN_NONE};
  if (node->op == SN_OP_iota)
    out->strides[sn_graph_attrs(g, id)[0]] = 1;
  else if (node->op != SN_OP_constant)
    sn_row_major(&node->type, out->strides);
}

sn_status sn_view_of(const sn_graph *g, const sn_view *views, sn_id id, sn_view *out) {
  const sn_node *node = sn_graph_node(g, id);
  if (sn_op_describe(node->op)->kind != SN_CLASS_VIEW) {
    view_self(g, id, out);
    return SN_OK;
  }
  const sn_id x = *sn_graph_inputs(g, id);
  const sn_type *from = &g->nodes[x].type;
  const int64_t *attrs = sn_graph_attrs(g, id);
  const sn_view in = views[x];
  if (node->op == SN_OP_barrier) {
    *out = in;
    return SN_OK;
  }
  *out = (sn_view){.base = in.base, .offset = in.offset, .frame = SN_NONE};
  SN_CHECK(g->env, !in.nests || node->op == SN_OP_transpose || node->op == SN_OP_reshape);
  switch (node->op) {
  case SN_OP_transpose: return view_transpose(g, &in, attrs, from->rank, out);
  case SN_OP_broadcast: {
    const int lead = node->type.rank - from->rank;
    for (int i = 0; i < from->rank; i++)
      out->strides[lead + i] = from->dims[i] == node->type.dims[lead + i] ? in.strides[i] : 0;
    return SN_OK;
  }
  case SN_OP_slice:
    for (int i = 0; i < from->rank; i++) {
      out->offset += attrs[i] * in.strides[i];
      out->strides[i] = attrs[from->rank + i] * in.strides[i];
    }
    return SN_OK;
  case SN_OP_windows: {
    const int64_t axis = attrs[0], stride = in.strides[axis];
    for (int i = 0; i < from->rank; i++) out->strides[i < axis ? i : i + 1] = in.strides[i];
    out->strides[axis] = attrs[1] * stride;
    out->strides[axis + 1] = attrs[2] * stride;
    return SN_OK;
  }
  default: return view_reshape(g, from, &in, &node->type, out);
  }
}
