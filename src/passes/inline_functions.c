/* inline_functions.c - the stage "inline". Checkpoints and functions with a derivative of their own stay whole until
 * derivatives have been taken. Then their bodies stand in their place, and names of values are forgotten. It is no pass
 * that can be switched off: fusion and all behind it do not know these ops. */
#include "build/inline.h"
#include "build/rewrite.h"
#include "passes/passes.h"

bool sn_has_functions(const sn_graph *graph) {
  for (size_t i = 0; i < graph->n_nodes; i++)
    if (sn_op_is_function(graph->nodes[i].op) || graph->nodes[i].op == SN_OP_named) return true;
  for (size_t i = 0; i < graph->n_regions; i++)
    if (sn_has_functions(graph->regions[i])) return true;
  return false;
}

/* results: the new nodes of the function's results. */
static sn_status inline_body(sn_rewrite *r, sn_id id, const sn_id *inputs, sn_id **results) {
  const sn_graph *body = sn_graph_control(r->from, id).regions[0];
  sn_id *map;
  SN_TRY(sn_arena_alloc(r->from->arena, body->n_nodes, sizeof *map, (void **)&map));
  SN_TRY(sn_arena_alloc(r->from->arena, body->n_outputs, sizeof **results, (void **)results));
  SN_TRY(sn_build_inline(&r->to, body, inputs, map));
  for (size_t k = 0; k < body->n_outputs; k++) (*results)[k] = map[body->outputs[k]];
  return SN_OK;
}

/* The function's own node is read by nobody but its results: any new one stands for it. */
static sn_id inline_function(sn_rewrite *r, sn_id id, const sn_id *inputs, sn_id **results) {
  r->to.status = inline_body(r, id, inputs, results);
  return r->to.status ? SN_NONE : **results;
}

/* Regions are numbered anew, as those of functions are not needed. */
static sn_id copy_control(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const sn_node *node = sn_graph_node(r->from, id);
  int64_t attrs[SN_MAX_ATTRS];
  r->to.status = sn_graph_take_regions(r->to.graph, r->from, node->op, sn_graph_attrs(r->from, id),
                                       node->n_attrs, attrs);
  return sn_build_op(&r->to, node->op, inputs, node->n_inputs, attrs, node->n_attrs, &node->type);
}

static sn_id rewrite_node(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const sn_node *node = sn_graph_node(r->from, id);
  sn_id **results = r->user;
  if (sn_op_is_function(node->op)) return inline_function(r, id, inputs, &results[id]);
  if (node->op == SN_OP_named) return *inputs;
  if (sn_op_is_control(node->op)) return copy_control(r, id, inputs);
  if (node->op != SN_OP_result) return SN_NONE;
  const sn_id *made = results[*sn_graph_inputs(r->from, id)];
  return made ? made[*sn_graph_attrs(r->from, id)] : SN_NONE;
}

sn_status sn_inline_functions(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  sn_id **results;
  uint8_t *live;
  SN_TRY(sn_arena_alloc(from->arena, from->n_nodes, sizeof *results, (void **)&results));
  SN_TRY(sn_arena_alloc(from->arena, from->n_nodes, 1, (void **)&live));
  sn_graph_live(from, live);
  SN_TRY(sn_rewrite_graph(from, to, to->arena, context->share, live, rewrite_node, results));
  /* A list of its own, even an empty one: see apply in pipeline.c. */
  return to->regions ? SN_OK
                     : sn_arena_alloc(to->arena, 1, sizeof *to->regions, (void **)&to->regions);
}
