#include "inspect/graph_json.h"

#include "base/text.h"
#include "graph/attributes.h"
#include "graph/regions.h"

static void add_ids(sn_text *t, const char *name, const sn_id *ids, size_t n) {
  sn_text_add(t, "\"%s\":[", name);
  for (size_t i = 0; i < n; i++) sn_text_add(t, i ? ",%u" : "%u", ids[i]);
  sn_text_add(t, "]");
}

static void add_numbers(sn_text *t, const int64_t *numbers, uint32_t n) {
  sn_text_add(t, "[");
  for (uint32_t i = 0; i < n; i++) sn_text_add(t, i ? ",%lld" : "%lld", (long long)numbers[i]);
  sn_text_add(t, "]");
}

/* JSON has only finite numbers, so others are strings. */
static void add_value(sn_text *t, double value) {
  if (value - value == 0)
    sn_text_add(t, "%.17g", value);
  else
    sn_text_add(t, value != value ? "\"NaN\"" : value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
}

static bool is_list(sn_attr_kind kind) {
  return kind == SN_ATTR_PERMUTATION || kind == SN_ATTR_PER_AXIS || kind == SN_ATTR_STEP_PER_AXIS ||
         kind == SN_ATTR_PER_SPATIAL;
}

static void add_attrs(sn_text *t, const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  const int rank = node->n_inputs ? g->nodes[*sn_graph_inputs(g, id)].type.rank : node->type.rank;
  const int64_t *attrs = sn_graph_attrs(g, id);
  const sn_attr *first = sn_op_describe(node->op)->attrs;
  sn_text_add(t, "\"attrs\":{");
  for (const sn_attr *attr = first; attr && attr->kind; attr++) {
    const uint32_t length = sn_attr_length(attr->kind, rank);
    sn_text_add(t, "%s\"%s\":", attr > first ? "," : "", attr->name);
    if (is_list(attr->kind))
      add_numbers(t, attrs, length);
    else if (attr->kind == SN_ATTR_VALUE)
      add_value(t, sn_attr_double(*attrs));
    else
      sn_text_add(t, "%lld", (long long)*attrs);
    attrs += length;
  }
  sn_text_add(t, "}");
}

static void add_node(sn_text *t, const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  sn_text_add(t, "%s{\"op\":\"%s\",\"dtype\":\"%s\",\"shape\":", id ? "," : "",
              sn_op_describe(node->op)->name, sn_dtype_name(node->type.dtype));
  add_numbers(t, node->type.dims, (uint32_t)node->type.rank);
  sn_text_add(t, ",");
  add_attrs(t, g, id);
  sn_text_add(t, ",");
  add_ids(t, "inputs", sn_graph_inputs(g, id), node->n_inputs);
  sn_text_add(t, "}");
}

/* Recursion is at most SN_MAX_NESTING deep. */
static void add_graph(sn_text *t, const sn_graph *g) {
  sn_text_add(t, "{\"nodes\":[");
  for (sn_id id = 0; id < g->n_nodes; id++) add_node(t, g, id);
  sn_text_add(t, "],");
  add_ids(t, "outputs", g->outputs, g->n_outputs);
  sn_text_add(t, ",\"regions\":[");
  for (size_t i = 0; i < g->n_regions; i++) {
    sn_text_add(t, i ? "," : "");
    add_graph(t, g->regions[i]);
  }
  sn_text_add(t, "]}");
}

sn_status sn_graph_json(const sn_graph *graph, sn_arena *arena, const char **out) {
  sn_text text = sn_text_in(arena);
  add_graph(&text, graph);
  *out = text.data;
  return text.status;
}
