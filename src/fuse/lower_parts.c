/* lower_parts.c - buffers that are put together from parts: pads and concats of few inputs. */
#include "fuse/lowering.h"

/* Adds a group that copies `from`, or the constant `value` if that is SN_NONE, into a part of node's
 * buffer; and, if behind is not 0, into a second part that lies so many elements behind the first. */
static sn_status lower_copy(sn_lowering *l, sn_id node, sn_id from, double value,
                            const sn_operand *target, const sn_type *space, int64_t behind) {
  sn_group *group;
  SN_TRY(sn_lower_new_group(l, &group));
  sn_lower_space(group, space);
  sn_body_builder b = {.l = l, .rank = space->rank};
  for (int i = 0; i < b.rank; i++) b.perm[i] = i;
  const sn_insn fill = {
      .kind = SN_INSN_CONST, .dtype = l->g->nodes[node].type.dtype, .value = value};
  SN_TRY(from == SN_NONE ? sn_lower_insn(&b, node, &fill) : sn_lower_source(&b, from));
  SN_TRY(sn_lower_end_body(&b, &group->post));
  group->n_stores = behind ? 2 : 1;
  SN_TRY(sn_arena_alloc(l->arena, group->n_stores, sizeof *group->stores, (void **)&group->stores));
  for (uint32_t i = 0; i < group->n_stores; i++) {
    group->stores[i] = (sn_store){.insn = 0, .target = *target};
    group->stores[i].target.offset += i * behind;
  }
  group->name = sn_op_describe(l->g->nodes[node].op)->name;
  return SN_OK;
}

/* Whether the kernel of x, which pad id reads, may write x into the pad's buffer: it must store at
 * every point of x's shape. If readers make a member again, they read x, so it needs its own buffer. */
static bool is_padded_in_place(const sn_lowering *l, sn_id id, sn_id x) {
  const sn_graph *g = l->g;
  const sn_node *node = sn_graph_node(g, x);
  const uint32_t set = l->p->set[x];
  if (node->op != SN_OP_matmul && !sn_op_is_elementwise(node->op)) return false;
  size_t n;
  const sn_id *nodes = sn_lower_members(l, set, &n);
  bool fits = l->p->row[set] == SN_NONE;
  for (size_t i = 0; i < n; i++)
    fits = fits && sn_same_dims(&node->type, &g->nodes[nodes[i]].type) && !l->recomputed[nodes[i]];
  for (int i = 0; i < node->type.rank; i++)
    fits = fits && sn_graph_attrs(g, id)[node->type.rank + i] == 1;
  return fits;
}

void sn_lower_padded(sn_lowering *l, const sn_id *reader) {
  for (sn_id id = 0; id < l->g->n_nodes; id++) {
    if (l->g->nodes[id].op != SN_OP_pad || l->value_of[id] == SN_NONE) continue;
    const sn_id x = *sn_graph_inputs(l->g, id);
    if (reader[x] == id && is_padded_in_place(l, id, x)) l->value_of[x] = l->value_of[id];
  }
}

void sn_lower_inside(const sn_lowering *l, sn_id pad, sn_operand *target) {
  const sn_type *type = &l->g->nodes[pad].type;
  const int64_t *attrs = sn_graph_attrs(l->g, pad);
  sn_row_major(type, target->strides);
  for (int i = 0; i < type->rank; i++) {
    target->offset += attrs[i] * target->strides[i];
    target->strides[i] *= attrs[type->rank + i];
  }
}

/* Fills what is around x: along each axis the parts before and after it, within x along earlier axes. */
static sn_status fill_around(sn_lowering *l, sn_id id, double value, sn_operand target) {
  const sn_type *type = &l->g->nodes[id].type, *x = &l->g->nodes[*sn_graph_inputs(l->g, id)].type;
  sn_type part = *type;
  for (int i = 0; i < type->rank; i++) {
    const int64_t low = sn_graph_attrs(l->g, id)[i], high = type->dims[i] - low - x->dims[i];
    const int64_t behind = (low + x->dims[i]) * target.strides[i];
    sn_operand after = target;
    after.offset += behind;
    part.dims[i] = low;
    if (low) SN_TRY(lower_copy(l, id, SN_NONE, value, &target, &part, low == high ? behind : 0));
    part.dims[i] = high;
    if (high && low != high) SN_TRY(lower_copy(l, id, SN_NONE, value, &after, &part, 0));
    part.dims[i] = x->dims[i];
    target.offset += low * target.strides[i];
  }
  return SN_OK;
}

/* A pad writes its value everywhere, then the input into its place; or the value only around the
 * input, if the input's kernel has written that into the pad's buffer. */
sn_status sn_lower_pad(sn_lowering *l, sn_id id) {
  const sn_type *type = &l->g->nodes[id].type;
  const sn_id x = *sn_graph_inputs(l->g, id);
  const double value = sn_attr_double(sn_graph_attrs(l->g, id)[2 * type->rank]);
  sn_operand target = {.value = l->value_of[id], .dtype = type->dtype};
  sn_row_major(type, target.strides);
  if (l->value_of[x] == target.value) return fill_around(l, id, value, target);
  SN_TRY(lower_copy(l, id, SN_NONE, value, &target, type, 0));
  sn_lower_inside(l, id, &target);
  return lower_copy(l, id, x, 0, &target, &l->g->nodes[x].type, 0);
}

sn_status sn_lower_concat(sn_lowering *l, sn_id id) {
  const sn_type *type = &l->g->nodes[id].type;
  const int64_t axis = sn_graph_attrs(l->g, id)[0];
  sn_operand target = {.value = l->value_of[id], .dtype = type->dtype};
  sn_row_major(type, target.strides);
  for (uint32_t k = 0; k < l->g->nodes[id].n_inputs; k++) {
    const sn_id x = sn_graph_inputs(l->g, id)[k];
    SN_TRY(lower_copy(l, id, x, 0, &target, &l->g->nodes[x].type, 0));
    target.offset += l->g->nodes[x].type.dims[axis] * target.strides[axis];
  }
  return SN_OK;
}
