/* inline_functions.c - the stage "inline". Checkpoints and functions with a derivative of their own stay whole until
 * derivatives have been taken. Here their bodies replace them, and `named` nodes become their inputs. This is no pass
 * that can be switched off: fusion and all later stages do not know these ops. */
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

/* Sets *results to the new nodes that stand for the function's results. */
static sn_status inline_body(sn_rewrite *r, sn_id id, const sn_id *inputs, sn_id **results) {
  const sn_graph *body = sn_graph_control(r->from, id).regions[0];
  sn_id *map;
  SN_TRY(sn_arena_alloc(r->from->arena, body->n_nodes, sizeof *map, (void **)&map));
  SN_TRY(sn_arena_alloc(r->from->arena, body->n_outputs, sizeof **results, (void **)results));
  SN_TRY(sn_build_inline(&r->to, body, inputs, map));
  for (size_t k = 0; k < body->n_outputs; k++) (*results)[k] = map[body->outputs[k]];
  return SN_OK;
}

/* Only `result` nodes read a function's node, and these take theirs from `results`. So any new node may stand for it. */
static sn_id inline_function(sn_rewrite *r, sn_id id, const sn_id *inputs, sn_id **results) {
  r->to.status = inline_body(r, id, inputs, results);
  return r->to.status ? SN_NONE : **results;
}

/* Copies control flow. Its regions get new numbers, because the functions' regions are not copied. */
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
  /* A list that is not NULL, even if empty, tells apply() in pipeline.c that this stage has numbered the regions. */
  return to->regions ? SN_OK
                     : sn_arena_alloc(to->arena, 1, sizeof *to->regions, (void **)&to->regions);
}
