/* verify_graph.c - is this graph a sentence of the IR? Run between stages; a violation is a bug of a
 * pass. */
#include "graph/conv_shape.h"
#include "graph/graph.h"

static uint32_t expected_attrs(const sn_graph *g, const sn_node *node) {
  const uint32_t rank =
      node->n_inputs ? (uint32_t)g->nodes[g->edges[node->first_input]].type.rank : 0;
  switch (sn_op_describe(node->op)->kind) {
  case SN_CLASS_LEAF:
  case SN_CLASS_CONCAT:
  case SN_CLASS_SOFTMAX:
  case SN_CLASS_GATHER:
  case SN_CLASS_SCATTER:
  case SN_CLASS_REDUCE: return 1;
  case SN_CLASS_SORT: return 2;
  case SN_CLASS_SCAN: return 3;
  case SN_CLASS_PAD: return 2 * rank + 1;
  case SN_CLASS_CONV: return SN_CONV_ATTRS(rank - 2);
  case SN_CLASS_VIEW:
    if (node->op == SN_OP_slice) return 2 * rank;
    if (node->op == SN_OP_windows) return 3;
    return node->op == SN_OP_transpose ? rank : 0;
  default: return 0;
  }
}

static sn_status verify_node(const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  const sn_id *inputs = sn_graph_inputs(g, id);
  SN_CHECK(g->env, (unsigned)node->op < SN_OP_COUNT);
  SN_CHECK(g->env, node->first_input + (size_t)node->n_inputs <= g->n_edges);
  SN_CHECK(g->env, node->first_attr + (size_t)node->n_attrs <= g->n_attrs);
  for (uint32_t i = 0; i < node->n_inputs; i++) SN_CHECK(g->env, inputs[i] < id);
  SN_CHECK(g->env, node->n_attrs == expected_attrs(g, node));
  if (node->op == SN_OP_input)
    SN_CHECK(g->env, (uint64_t)sn_graph_attrs(g, id)[0] < g->n_arguments);
  const sn_type *few[SN_MAX_ARITY], **in = few;
  if (node->n_inputs > SN_MAX_ARITY) /* a concat */
    SN_TRY(sn_arena_alloc(g->arena, node->n_inputs, sizeof *in, (void **)&in));
  for (uint32_t i = 0; i < node->n_inputs; i++) in[i] = &g->nodes[inputs[i]].type;
  sn_type type = node->type;
  SN_TRY(
      sn_infer(g->env, node->op, in, node->n_inputs, sn_graph_attrs(g, id), node->n_attrs, &type));
  SN_CHECK(g->env, sn_type_equal(&type, &node->type));
  return SN_OK;
}

sn_status sn_graph_verify(const sn_graph *g) {
  for (size_t id = 0; id < g->n_nodes; id++) SN_TRY(verify_node(g, (sn_id)id));
  for (size_t i = 0; i < g->n_outputs; i++) SN_CHECK(g->env, g->outputs[i] < g->n_nodes);
  return SN_OK;
}
