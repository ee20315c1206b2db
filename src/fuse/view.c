#include "fuse/view.h"

/* Walks both shapes from the left in blocks of equal size: dims from[i..i2) against to[j..j2).
 * Inside a block the old dims must follow on each other (stride[i] = stride[i+1] dim[i+1]). Sizes
 * of 1 match anything. */
bool sn_view_reshape(const sn_type *from, const int64_t *strides, const sn_type *to,
                     int64_t out[SN_MAX_RANK]) {
  if (sn_type_size(to) == 0) {
    for (int j = 0; j < to->rank; j++) out[j] = 0;
    return true;
  }
  sn_type old = sn_type_scalar(from->dtype);
  int64_t old_strides[SN_MAX_RANK];
  for (int i = 0; i < from->rank; i++) {
    if (from->dims[i] == 1) continue;
    old_strides[old.rank] = strides[i];
    old.dims[old.rank++] = from->dims[i];
  }
  int i = 0, j = 0;
  while (i < old.rank && j < to->rank) {
    int i2 = i + 1, j2 = j + 1;
    int64_t left = old.dims[i], right = to->dims[j];
    while (left != right) {
      if (left < right)
        left *= old.dims[i2++];
      else
        right *= to->dims[j2++];
    }
    for (int k = i; k + 1 < i2; k++)
      if (old_strides[k] != old_strides[k + 1] * old.dims[k + 1]) return false;
    int64_t stride = old_strides[i2 - 1];
    for (int k = j2 - 1; k >= j; k--) {
      out[k] = stride;
      stride *= to->dims[k];
    }
    i = i2;
    j = j2;
  }
  for (; j < to->rank; j++) out[j] = 0; /* only sizes of 1 are left */
  return true;
}

static void view_self(const sn_graph *g, sn_id id, sn_view *out) {
  const sn_node *node = sn_graph_node(g, id);
  *out = (sn_view){.base = id};
  if (node->op == SN_OP_iota)
    out->strides[sn_graph_attrs(g, id)[0]] = 1;
  else if (node->op != SN_OP_constant)
    sn_row_major(&node->type, out->strides);
}

bool sn_view_of(const sn_graph *g, const sn_view *views, sn_id id, sn_view *out) {
  const sn_node *node = sn_graph_node(g, id);
  if (sn_op_describe(node->op)->kind != SN_CLASS_VIEW) {
    view_self(g, id, out);
    return true;
  }
  const sn_id x = *sn_graph_inputs(g, id);
  const sn_type *from = &g->nodes[x].type;
  const int64_t *attrs = sn_graph_attrs(g, id);
  const sn_view in = views[x];
  *out = (sn_view){.base = in.base, .offset = in.offset};
  switch (node->op) {
  case SN_OP_transpose:
    for (int i = 0; i < from->rank; i++) out->strides[i] = in.strides[attrs[i]];
    return true;
  case SN_OP_broadcast: {
    const int lead = node->type.rank - from->rank;
    for (int i = 0; i < from->rank; i++)
      out->strides[lead + i] = from->dims[i] == node->type.dims[lead + i] ? in.strides[i] : 0;
    return true;
  }
  case SN_OP_slice:
    for (int i = 0; i < from->rank; i++) {
      out->offset += attrs[i] * in.strides[i];
      out->strides[i] = attrs[from->rank + i] * in.strides[i];
    }
    return true;
  default: return sn_view_reshape(from, in.strides, &node->type, out->strides);
  }
}
