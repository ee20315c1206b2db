#include "build/rewrite.h"

#include "base/log.h"
#include "build/inline.h"

static sn_status map_inputs(sn_rewrite *r, sn_id id, sn_id **inputs, size_t *capacity) {
  const uint32_t n = r->from->nodes[id].n_inputs;
  if (n > *capacity) {
    SN_TRY(sn_arena_alloc(r->to.graph->arena, n, sizeof **inputs, (void **)inputs));
    *capacity = n;
  }
  for (uint32_t i = 0; i < n; i++) (*inputs)[i] = r->map[sn_graph_inputs(r->from, id)[i]];
  return SN_OK;
}

sn_status sn_rewrite_graph(const sn_graph *from, sn_graph *to, sn_arena *arena, bool share,
                           const uint8_t *keep, sn_rewrite_fn *rule, void *user) {
  sn_graph_init(to, arena, share);
  SN_TRY(sn_graph_reserve(to, from));
  to->n_arguments = from->n_arguments;
  sn_rewrite r = {.from = from, .to = sn_build_in(to), .user = user};
  SN_TRY(sn_arena_alloc(from->arena, from->n_nodes, sizeof *r.map, (void **)&r.map));
  sn_id *inputs = NULL;
  size_t capacity = 0;
  for (sn_id id = 0; id < from->n_nodes; id++) {
    r.map[id] = SN_NONE;
    if (keep && !keep[id]) continue;
    SN_TRY(map_inputs(&r, id, &inputs, &capacity));
    const sn_node *node = sn_graph_node(from, id);
    to->origin = r.to.origin = node->origin;
    sn_id replaced = rule ? rule(&r, id, inputs) : SN_NONE;
    SN_TRY(r.to.status);
    if (replaced == SN_NONE) {
      SN_TRY(sn_graph_append(to, node->op, inputs, node->n_inputs, sn_graph_attrs(from, id),
                             node->n_attrs, &node->type, &replaced));
    } else {
      SN_LOG(from->env, SN_LOG_REWRITES, "  %%%u %s -> %%%u %s\n", id,
             sn_op_describe(node->op)->name, replaced,
             sn_op_describe(to->nodes[replaced].op)->name);
    }
    r.map[id] = replaced;
  }
  to->origin = (sn_origin){0};
  SN_TRY(sn_arena_alloc(arena, from->n_outputs, sizeof *to->outputs, (void **)&to->outputs));
  to->n_outputs = from->n_outputs;
  for (size_t i = 0; i < from->n_outputs; i++) to->outputs[i] = r.map[from->outputs[i]];
  return SN_OK;
}

sn_id sn_rewrite_control(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const sn_node *node = sn_graph_node(r->from, id);
  int64_t attrs[SN_MAX_ATTRS];
  r->to.status = sn_graph_take_regions(r->to.graph, r->from, node->op, sn_graph_attrs(r->from, id),
                                       node->n_attrs, attrs);
  if (r->to.status) return SN_NONE;
  return sn_build_op(&r->to, node->op, inputs, node->n_inputs, attrs, node->n_attrs, &node->type);
}
