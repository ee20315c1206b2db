#include "build/inline.h"

#include <string.h>

#include "graph/attributes.h"

sn_status sn_graph_take_regions(sn_graph *graph, const sn_graph *from, sn_op op,
                                const int64_t *attrs, size_t n_attrs, int64_t taken[SN_MAX_ATTRS]) {
  if (n_attrs) memcpy(taken, attrs, n_attrs * sizeof *attrs);
  const sn_attr *attr = sn_op_describe(op)->attrs;
  for (int i = 0; attr && attr[i].kind == SN_ATTR_REGION; i++)
    SN_TRY(sn_graph_add_region(graph, from->regions[attrs[i]], &taken[i]));
  return SN_OK;
}

sn_status sn_graph_take_node(sn_graph *graph, const sn_graph *from, sn_id id, const sn_id *map,
                             sn_id *out) {
  const sn_node *node = sn_graph_node(from, id);
  int64_t attrs[SN_MAX_ATTRS];
  sn_id *inputs;
  SN_TRY(sn_arena_alloc(from->arena, node->n_inputs, sizeof *inputs, (void **)&inputs));
  for (uint32_t k = 0; k < node->n_inputs; k++) inputs[k] = map[sn_graph_inputs(from, id)[k]];
  SN_TRY(
      sn_graph_take_regions(graph, from, node->op, sn_graph_attrs(from, id), node->n_attrs, attrs));
  graph->origin = node->origin;
  return sn_graph_append(graph, node->op, inputs, node->n_inputs, attrs, node->n_attrs, &node->type,
                         out);
}

/* Copies the attributes of node id, with references to regions as the builder's maker makes them. */
static sn_status name_regions(sn_build *b, const sn_graph *from, sn_id id,
                              int64_t named[SN_MAX_ATTRS]) {
  const sn_node *node = sn_graph_node(from, id);
  const int64_t *attrs = sn_graph_attrs(from, id);
  const sn_attr *attr = sn_op_describe(node->op)->attrs;
  if (node->n_attrs) memcpy(named, attrs, node->n_attrs * sizeof *attrs);
  for (int i = 0; attr && attr[i].kind == SN_ATTR_REGION; i++)
    SN_TRY(b->maker->region(b, from->regions[attrs[i]], &named[i]));
  return SN_OK;
}

sn_status sn_build_inline(sn_build *b, const sn_graph *region, const sn_id *args, sn_id *map) {
  int64_t attrs[SN_MAX_ATTRS];
  sn_id *inputs = NULL;
  size_t capacity = 0;
  const sn_origin outside = b->origin;
  for (sn_id id = 0; id < region->n_nodes; id++) {
    const sn_node *node = sn_graph_node(region, id);
    if (node->op == SN_OP_input) {
      map[id] = args[sn_graph_attrs(region, id)[0]];
      continue;
    }
    SN_TRY(
        sn_arena_reserve(b->arena, (void **)&inputs, &capacity, 0, node->n_inputs, sizeof *inputs));
    for (uint32_t k = 0; k < node->n_inputs; k++) inputs[k] = map[sn_graph_inputs(region, id)[k]];
    SN_TRY(name_regions(b, region, id, attrs));
    b->origin = node->origin;
    b->origin.recomputed |= outside.recomputed;
    b->origin.derivative |= outside.derivative;
    map[id] = sn_build_op(b, node->op, inputs, node->n_inputs, attrs, node->n_attrs, &node->type);
    b->origin = outside;
    SN_TRY(b->status);
  }
  return SN_OK;
}
