/* print_graph.c - the IR as stable text and as Graphviz. Names of nodes are their ids, so equal graphs
 * have equal texts, which tests compare. */
#include "base/text.h"
#include "graph/attributes.h"
#include "graph/graph.h"
#include "graph/regions.h"

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

/* Prints a graph and, after it, its regions with their numbers. */
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

/* ---- Graphviz -------------------------------------------------------------------------------- */

static sn_status draw_nodes(sn_text *text, const sn_graph *g, const char *path,
                            const char *const *reasons);

/* Draws a region of node id: the first time a box with the region's nodes, each time dashed edges from the node's
 * inputs to the region's arguments and from the region's outputs to the node. */
static sn_status draw_region(sn_text *text, const sn_graph *g, sn_id id, size_t number,
                             const char *path, bool first_time) {
  const sn_graph *region = g->regions[number];
  const size_t first = sn_control_first(g->nodes[id].op);
  sn_text inner = sn_text_in(text->arena);
  sn_text_add(&inner, "%sr%zu_", path, number);
  SN_TRY(inner.status);
  if (first_time) {
    sn_text_add(text, "  subgraph cluster_%s {\n  label=\"region %zu\";\n", inner.data, number);
    SN_TRY(draw_nodes(text, region, inner.data, NULL));
    sn_text_add(text, "  }\n");
  }
  for (sn_id x = 0; x < region->n_nodes; x++)
    if (region->nodes[x].op == SN_OP_input)
      sn_text_add(text, "  %sn%u -> %sn%u [style=dashed];\n", path,
                  sn_graph_inputs(g, id)[first + (size_t)*sn_graph_attrs(region, x)], inner.data,
                  x);
  for (size_t k = 0; k < region->n_outputs; k++)
    sn_text_add(text, "  %sn%u -> %sn%u [style=dashed];\n", inner.data, region->outputs[k], path,
                id);
  return SN_OK;
}

/* path: the prefix of the nodes' names, "" or "r0_" or "r0_r1_". */
static sn_status draw_nodes(sn_text *text, const sn_graph *g, const char *path,
                            const char *const *reasons) {
  uint8_t *drawn;
  SN_TRY(sn_arena_alloc(text->arena, g->n_regions, 1, (void **)&drawn));
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = &g->nodes[id];
    sn_text_add(text, "  %sn%u [label=\"", path, id);
    print_head(text, g, id);
    sn_text_add(text, "\"];\n");
    for (uint32_t i = 0; i < node->n_inputs; i++) {
      const char *reason = reasons ? reasons[node->first_input + i] : "";
      sn_text_add(text, *reason ? "  %sn%u -> %sn%u [label=\"%s\"];\n" : "  %sn%u -> %sn%u;\n",
                  path, sn_graph_inputs(g, id)[i], path, id, reason);
    }
    const int64_t *number = sn_graph_attrs(g, id); /* regions come first */
    for (const sn_attr *a = sn_op_describe(node->op)->attrs; a && a->kind == SN_ATTR_REGION; a++) {
      SN_TRY(draw_region(text, g, id, (size_t)*number, path, !drawn[*number]));
      drawn[*number++] = 1;
    }
  }
  return text->status;
}

sn_status sn_graph_dot(const sn_graph *g, const char *const *reasons, sn_arena *arena,
                       const char **out) {
  sn_text text = sn_text_in(arena);
  sn_text_add(&text, "digraph sinter {\n  node [shape=box];\n");
  SN_TRY(draw_nodes(&text, g, "", reasons));
  for (size_t i = 0; i < g->n_outputs; i++)
    sn_text_add(&text, "  out%zu [shape=ellipse]; n%u -> out%zu;\n", i, g->outputs[i], i);
  sn_text_add(&text, "}\n");
  *out = text.data;
  return text.status;
}
