/* lower_control.c - control flow becomes a group of its own: its inputs, each a run of a buffer's elements, and the
 * results that somebody uses, each a whole buffer. What its regions do is in programs of their own (program/steps.h). */
#include "fuse/lowering.h"

static sn_operand run_of(const sn_lowering *l, sn_id id) {
  const sn_view *view = &l->views[id];
  return (sn_operand){.value = l->value_of[view->base],
                      .dtype = l->g->nodes[id].type.dtype,
                      .offset = view->offset,
                      .strides = {1}};
}

sn_status sn_lower_control(sn_lowering *l, size_t set, sn_group *group) {
  const sn_id anchor = l->p->anchor[set], *x = sn_graph_inputs(l->g, anchor);
  const sn_node *node = sn_graph_node(l->g, anchor);
  size_t n;
  const sn_id *members = sn_lower_members(l, set, &n);
  group->kind = SN_GROUP_CONTROL;
  group->name = sn_op_describe(node->op)->name;
  sn_control_flow *c = &group->control;
  *c = (sn_control_flow){.node = anchor, .n_operands = node->n_inputs};
  SN_TRY(sn_arena_alloc(l->arena, c->n_operands, sizeof *c->operands, (void **)&c->operands));
  SN_TRY(sn_arena_alloc(l->arena, n, sizeof *c->results, (void **)&c->results));
  SN_TRY(sn_arena_alloc(l->arena, n, sizeof *group->stores, (void **)&group->stores));
  for (uint32_t k = 0; k < c->n_operands; k++) c->operands[k] = run_of(l, x[k]);
  for (size_t i = 0; i < n; i++) {
    if (members[i] == anchor) continue;
    c->results[group->n_stores] = (uint32_t)*sn_graph_attrs(l->g, members[i]);
    group->stores[group->n_stores++].target = run_of(l, members[i]);
  }
  return SN_OK;
}
