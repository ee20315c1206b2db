/* build_nodes.c - the maker (build.h) for nodes of a dense graph. */
#include "build/build.h"

static sn_status add(sn_build *b, sn_op op, const sn_id *inputs, size_t n_inputs,
                     const int64_t *attrs, size_t n_attrs, const sn_type *type, sn_id *out) {
  b->graph->origin = b->origin;
  return sn_graph_add(b->graph, op, inputs, n_inputs, attrs, n_attrs, type, out);
}

static const sn_type *type(const sn_build *b, sn_id id) { return &b->graph->nodes[id].type; }

static sn_build_node node(const sn_build *b, sn_id id) {
  const sn_node *n = sn_graph_node(b->graph, id);
  return (sn_build_node){n->op, n->n_inputs, n->n_attrs, sn_graph_attrs(b->graph, id), n->origin};
}

static sn_id input(const sn_build *b, sn_id id, size_t k) {
  return sn_graph_inputs(b->graph, id)[k];
}

static sn_control control(const sn_build *b, sn_id id) { return sn_graph_control(b->graph, id); }

static sn_status region(sn_build *b, const sn_graph *body, int64_t *attr) {
  return sn_graph_add_region(b->graph, body, attr);
}

sn_build sn_build_in(sn_graph *graph) {
  static const sn_maker maker = {add, type, node, input, control, region};
  return (sn_build){.maker = &maker, .arena = graph->arena, .graph = graph};
}
