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

sn_status sn_graph_inline(sn_graph *graph, const sn_graph *body, const sn_id *args, sn_id *map) {
  int64_t attrs[SN_MAX_ATTRS];
  sn_id *inputs = NULL;
  size_t capacity = 0;
  for (sn_id id = 0; id < body->n_nodes; id++) {
    const sn_node *node = sn_graph_node(body, id);
    if (node->op == SN_OP_input) {
      map[id] = args[sn_graph_attrs(body, id)[0]];
      continue;
    }
    SN_TRY(sn_arena_reserve(graph->arena, (void **)&inputs, &capacity, 0, node->n_inputs,
                            sizeof *inputs));
    for (uint32_t k = 0; k < node->n_inputs; k++) inputs[k] = map[sn_graph_inputs(body, id)[k]];
    SN_TRY(sn_graph_take_regions(graph, body, node->op, sn_graph_attrs(body, id), node->n_attrs,
                                 attrs));
    SN_TRY(sn_graph_append(graph, node->op, inputs, node->n_inputs, attrs, node->n_attrs,
                           &node->type, &map[id]));
  }
  return SN_OK;
}
