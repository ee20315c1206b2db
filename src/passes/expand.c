/* expand.c - convolutions become views and products (graph/conv.h). Not a pass that can be switched
 * off: nothing behind it knows them. */
#include "graph/conv.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

static sn_id expand_node(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const sn_node *node = sn_graph_node(r->from, id);
  if (node->op != SN_OP_conv) return SN_NONE;
  return sn_build_conv(&r->to, inputs[0], inputs[1], sn_graph_attrs(r->from, id), &node->type);
}

bool sn_needs_expanding(const sn_graph *graph) {
  for (size_t i = 0; i < graph->n_nodes; i++)
    if (graph->nodes[i].op == SN_OP_conv) return true;
  return false;
}

sn_status sn_expand(const sn_graph *from, sn_graph *to, bool share) {
  return sn_rewrite_graph(from, to, from->arena, share, NULL, expand_node, NULL);
}
