/* verify_graph.c - checks that a graph obeys the grammar of the IR. Test builds do so after each stage of
 * a compilation, where a violation is a bug of a pass; all builds do for graphs read from bytes
 * (program/saved.c). */
#include "graph/attributes.h"
#include "graph/regions.h"

static sn_status verify_control(const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  const int64_t *attrs = sn_graph_attrs(g, id);
  const sn_type type = sn_control_type(), **inputs;
  for (const sn_attr *attr = sn_op_describe(node->op)->attrs; attr->kind; attr++, attrs++)
    if (attr->kind == SN_ATTR_REGION) SN_CHECK(g->env, (uint64_t)*attrs < g->n_regions);
  SN_CHECK(g->env, sn_type_equal(&node->type, &type));
  SN_TRY(sn_arena_alloc(g->arena, node->n_inputs, sizeof *inputs, (void **)&inputs));
  for (uint32_t k = 0; k < node->n_inputs; k++)
    inputs[k] = &g->nodes[sn_graph_inputs(g, id)[k]].type;
  const sn_control control = sn_graph_control(g, id);
  return sn_control_verify(g->env, &control, inputs, node->n_inputs);
}

static sn_status verify_result(const sn_graph *g, sn_id id) {
  const sn_id from = *sn_graph_inputs(g, id);
  const uint64_t number = (uint64_t)*sn_graph_attrs(g, id);
  SN_CHECK(g->env, sn_op_is_control(g->nodes[from].op));
  const sn_control control = sn_graph_control(g, from);
  SN_CHECK(g->env, number < control.n_results);
  const sn_type type = sn_control_result(&control, (size_t)number);
  SN_CHECK(g->env, sn_type_equal(&g->nodes[id].type, &type));
  return SN_OK;
}

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
  if (sn_op_is_control(node->op)) return verify_control(g, id);
  return node->op == SN_OP_result ? verify_result(g, id) : SN_OK;
}

static sn_status verify(const sn_graph *g, int depth) {
  SN_CHECK(g->env, depth <= SN_MAX_NESTING);
  for (size_t i = 0; i < g->n_regions; i++) SN_TRY(verify(g->regions[i], depth + 1));
  for (size_t id = 0; id < g->n_nodes; id++) SN_TRY(verify_node(g, (sn_id)id));
  for (size_t i = 0; i < g->n_outputs; i++) SN_CHECK(g->env, g->outputs[i] < g->n_nodes);
  return SN_OK;
}

sn_status sn_graph_verify(const sn_graph *g) { return verify(g, 0); }
