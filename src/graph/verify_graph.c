/* verify_graph.c - is this graph a sentence of the IR? Run between stages; a violation is a bug of a
 * pass. */
#include "graph/graph.h"

static sn_status verify_node(const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  const sn_id *inputs = sn_graph_inputs(g, id);
  SN_CHECK(g->env, (unsigned)node->op < SN_OP_COUNT);
  SN_CHECK(g->env, node->first_input + (size_t)node->n_inputs <= g->n_edges);
  SN_CHECK(g->env, node->first_attr + (size_t)node->n_attrs <= g->n_attrs);
  for (uint32_t i = 0; i < node->n_inputs; i++) SN_CHECK(g->env, inputs[i] < id);
  if (node->op == SN_OP_input && node->n_attrs)
    SN_CHECK(g->env, (uint64_t)sn_graph_attrs(g, id)[0] < g->n_arguments);
  sn_type type = node->type;
  SN_TRY(sn_graph_infer(g, node->op, inputs, node->n_inputs, sn_graph_attrs(g, id), node->n_attrs,
                        &type));
  SN_CHECK(g->env, sn_type_equal(&type, &node->type));
  return SN_OK;
}

sn_status sn_graph_verify(const sn_graph *g) {
  for (size_t id = 0; id < g->n_nodes; id++) SN_TRY(verify_node(g, (sn_id)id));
  for (size_t i = 0; i < g->n_outputs; i++) SN_CHECK(g->env, g->outputs[i] < g->n_nodes);
  return SN_OK;
}
