/* lower_call.c - an op along one axis becomes a group of its own: its inputs and its result are operands over the same space,
 * and the kernel of its class runs it. So do ops of quantised blocks and ops between processes. */
#include <string.h>

#include "fuse/lowering.h"
#include "graph/quant_blocks.h"

bool sn_node_is_call(const sn_target *target, const sn_node *node) {
  if (node->op != SN_OP_concat) return sn_op_is_call(node->op);
  return node->n_inputs > target->costs.copies && node->n_inputs < target->limits.buffers;
}

static sn_status begin_call(sn_lowering *l, const sn_node *node, sn_call *call) {
  const size_t n = node->n_inputs;
  *call = (sn_call){.op = node->op, .n_operands = node->n_inputs};
  SN_TRY(sn_arena_alloc(l->arena, n, sizeof *call->operands, (void **)&call->operands));
  SN_TRY(sn_arena_alloc(l->arena, n, sizeof *call->lengths, (void **)&call->lengths));
  if (node->op != SN_OP_concat) return SN_OK;
  return sn_arena_alloc(l->arena, n + 1, sizeof *call->starts, (void **)&call->starts);
}

/* Adds the store of the result, a whole buffer, whose strides the caller sets. */
static sn_status store_whole(const sn_lowering *l, sn_id anchor, sn_group *group) {
  SN_TRY(sn_arena_alloc(l->arena, 1, sizeof *group->stores, (void **)&group->stores));
  group->stores[0] = (sn_store){
      .target = {.value = l->value_of[anchor], .dtype = l->g->nodes[anchor].type.dtype}};
  group->n_stores = 1;
  return SN_OK;
}

/* Sets the space (batch, rows) and the strides of whole buffers: of x (batch, rows, k), of the blocks (batch, n, bytes), whose
 * n rows lie one after the other along the axis, and of the result (batch, rows, n). For matmul_dequantized x has n, and the
 * result k. If the blocks are the only input, their own rows are the space. */
static void place_blocks(sn_lowering *l, const sn_node *node, const sn_id *x, sn_group *group) {
  sn_call *call = &group->call;
  sn_operand *target = &group->stores[0].target;
  const int last = node->type.rank - 1;
  if (node->n_inputs == 1) {
    const sn_type *rows = &l->g->nodes[x[0]].type;
    group->space_rank = 1;
    call->length = node->type.dims[last];
    call->lengths[0] = rows->dims[last];
    group->space[0] = 1;
    for (int i = 0; i < last; i++) group->space[0] *= rows->dims[i];
    call->operands[0].strides[0] = call->lengths[0];
    call->operands[0].strides[1] = 1;
    target->strides[0] = call->length;
    target->strides[1] = 1;
    return;
  }
  const sn_blocks_shape s = sn_blocks_shape_of((sn_block_kind)*call->options,
                                               &l->g->nodes[x[0]].type, &l->g->nodes[x[1]].type);
  const bool back = call->op == SN_OP_matmul_dequantized;
  const int64_t from = back ? s.n : s.k, to = back ? s.k : s.n;
  const int64_t lengths[] = {from, s.n * s.bytes, to}, rows[] = {from, 0, to};
  sn_operand *operands[] = {&call->operands[0], &call->operands[1], target};
  group->space_rank = 2;
  group->space[0] = s.batch;
  group->space[1] = s.rows;
  call->length = to;
  for (int i = 0; i < 3; i++) {
    if (i < 2) call->lengths[i] = lengths[i];
    operands[i]->strides[0] = i == 1 ? lengths[i] : s.rows * lengths[i];
    operands[i]->strides[1] = rows[i];
    operands[i]->strides[2] = 1;
  }
}

sn_status sn_lower_blocks(sn_lowering *l, size_t set, sn_group *group) {
  const sn_id anchor = l->p->anchor[set], *x = sn_graph_inputs(l->g, anchor);
  const sn_node *node = sn_graph_node(l->g, anchor);
  group->kind = SN_GROUP_CALL;
  SN_TRY(begin_call(l, node, &group->call));
  group->call.options = sn_graph_attrs(l->g, anchor);
  for (uint32_t k = 0; k < node->n_inputs; k++)
    group->call.operands[k] = sn_lower_operand(l, x[k], 0, NULL);
  SN_TRY(store_whole(l, anchor, group));
  place_blocks(l, node, x, group);
  return SN_OK;
}

/* Whole buffers: lengths[0] elements are sent, length elements come back. */
sn_status sn_lower_collective(sn_lowering *l, size_t set, sn_group *group) {
  const sn_id anchor = l->p->anchor[set], *x = sn_graph_inputs(l->g, anchor);
  const sn_node *node = sn_graph_node(l->g, anchor);
  group->kind = SN_GROUP_CALL;
  SN_TRY(begin_call(l, node, &group->call));
  group->call.options = sn_graph_attrs(l->g, anchor);
  group->call.operands[0] = sn_lower_operand(l, x[0], 0, NULL);
  group->call.operands[0].strides[0] = 1;
  group->call.lengths[0] = sn_type_size(&l->g->nodes[x[0]].type);
  group->call.length = sn_type_size(&node->type);
  SN_TRY(store_whole(l, anchor, group));
  group->stores[0].target.strides[0] = 1;
  return SN_OK;
}

/* The axis becomes the last dimension of the operands; the other dimensions are the space. */
sn_status sn_lower_call(sn_lowering *l, size_t set, sn_group *group) {
  const sn_id anchor = l->p->anchor[set], *x = sn_graph_inputs(l->g, anchor);
  const sn_node *node = sn_graph_node(l->g, anchor);
  const int64_t *attrs = sn_graph_attrs(l->g, anchor);
  const int rank = node->type.rank, axis = (int)attrs[0];
  int perm[SN_MAX_RANK];
  int64_t strides[SN_MAX_RANK];
  group->kind = SN_GROUP_CALL;
  for (int i = 0; i < rank; i++) {
    if (i == axis) continue;
    group->space[group->space_rank] = node->type.dims[i];
    perm[group->space_rank++] = i;
  }
  perm[rank - 1] = axis;
  sn_call *call = &group->call;
  SN_TRY(begin_call(l, node, call));
  call->length = node->type.dims[axis];
  call->options = attrs + 1;
  for (uint32_t k = 0; k < node->n_inputs; k++) {
    call->operands[k] = sn_lower_operand(l, x[k], rank, perm);
    call->lengths[k] = l->g->nodes[x[k]].type.dims[axis];
    if (call->starts) call->starts[k + 1] = call->starts[k] + call->lengths[k];
  }
  SN_TRY(sn_arena_alloc(l->arena, 1, sizeof *group->stores, (void **)&group->stores));
  sn_operand *target = &group->stores[0].target;
  group->stores[0] =
      (sn_store){.target = {.value = l->value_of[anchor], .dtype = node->type.dtype}};
  sn_row_major(&node->type, strides);
  for (int i = 0; i < rank; i++) target->strides[i] = strides[perm[i]];
  group->n_stores = 1;
  return SN_OK;
}

double sn_call_flops(const sn_group *group) {
  const sn_call *call = &group->call;
  const double points = (double)sn_group_points(group), n = (double)call->length;
  const sn_op_class kind = sn_op_describe(call->op)->kind;
  int levels = 0; /* of a merge sort */
  while (call->length >> levels) levels++;
  if (kind == SN_CLASS_BLOCKS && call->n_operands > 1)
    return 2 * points * n * (double)call->lengths[0];
  if (kind == SN_CLASS_BLOCKS) return 2 * points * n;
  if (kind == SN_CLASS_SORT) return points * n * levels;
  if (kind == SN_CLASS_SCAN) return points * n;
  if (kind != SN_CLASS_SCATTER || call->op == SN_OP_scatter_set) return 0;
  return points * (double)call->lengths[1];
}
