/* print_graph.c - the IR as stable text and as Graphviz. Ids are the nodes' places, so equal graphs print
 * equally; tests compare these texts. */
#include "base/text.h"
#include "graph/attributes.h"
#include "graph/graph.h"

void sn_graph_print_attrs(sn_text *text, const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  const int rank = node->n_inputs ? g->nodes[*sn_graph_inputs(g, id)].type.rank : node->type.rank;
  const int64_t *first = sn_graph_attrs(g, id), *attrs = first;
  for (const sn_attr *attr = sn_op_describe(node->op)->attrs; attr && attr->kind; attr++) {
    const int64_t *end = attrs + sn_attr_length(attr->kind, rank);
    for (; attrs < end; attrs++) {
      if (attr->kind == SN_ATTR_VALUE)
        sn_text_add(text, attrs > first ? "; %.9g" : "%.9g", sn_attr_double(*attrs));
      else
        sn_text_add(text, attrs > first ? ", %lld" : "%lld", (long long)*attrs);
    }
  }
}

static void print_head(sn_text *text, const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  char shape[SN_SHAPE_TEXT];
  sn_text_add(text, "%s %s%s", sn_op_describe(node->op)->name, sn_dtype_name(node->type.dtype),
              sn_shape_text(&node->type, shape));
  if (!node->n_attrs) return;
  sn_text_add(text, " {");
  sn_graph_print_attrs(text, g, id);
  sn_text_add(text, "}");
}

/* Regions behind the graph they are in, with their numbers in it. */
static void print_graph(sn_text *text, const sn_graph *g) {
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_id *inputs = sn_graph_inputs(g, id);
    sn_text_add(text, "%%%u = ", id);
    print_head(text, g, id);
    for (uint32_t i = 0; i < g->nodes[id].n_inputs; i++) sn_text_add(text, " %%%u", inputs[i]);
    sn_text_add(text, "\n");
  }
  sn_text_add(text, "return");
  for (size_t i = 0; i < g->n_outputs; i++) sn_text_add(text, " %%%u", g->outputs[i]);
  sn_text_add(text, "\n");
  for (size_t i = 0; i < g->n_regions; i++) {
    sn_text_add(text, "region %zu\n", i);
    print_graph(text, g->regions[i]);
    sn_text_add(text, "end of region %zu\n", i);
  }
}

sn_status sn_graph_text(const sn_graph *g, sn_arena *arena, const char **out) {
  sn_text text = sn_text_in(arena);
  print_graph(&text, g);
  *out = text.data;
  return text.status;
}

sn_status sn_graph_dot(const sn_graph *g, const char *const *reasons, sn_arena *arena,
                       const char **out) {
  sn_text text = sn_text_in(arena);
  sn_text_add(&text, "digraph sinter {\n  node [shape=box];\n");
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_id *inputs = sn_graph_inputs(g, id);
    sn_text_add(&text, "  n%u [label=\"", id);
    print_head(&text, g, id);
    sn_text_add(&text, "\"];\n");
    for (uint32_t i = 0; i < g->nodes[id].n_inputs; i++) {
      const char *reason = reasons ? reasons[g->nodes[id].first_input + i] : "";
      sn_text_add(&text, *reason ? "  n%u -> n%u [label=\"%s\"];\n" : "  n%u -> n%u;\n", inputs[i],
                  id, reason);
    }
  }
  for (size_t i = 0; i < g->n_outputs; i++)
    sn_text_add(&text, "  out%zu [shape=ellipse]; n%u -> out%zu;\n", i, g->outputs[i], i);
  sn_text_add(&text, "}\n");
  *out = text.data;
  return text.status;
}
