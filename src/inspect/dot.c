/* dot.c - the Graphviz texts in the JSON of a recording. */
#include <string.h>

#include "inspect/dot.h"

static sn_status add(sn_text *json, const sn_text *dot) {
  SN_TRY(dot->status);
  sn_text_add(json, ",\"dot\":");
  sn_text_add_json(json, dot->data);
  return SN_OK;
}

/* Graphviz merges subgraphs of the same name into one box, so each node is put into its kernel's box by itself. */
sn_status sn_dot_graph(sn_text *json, const sn_graph *g, const sn_groups *groups,
                       const char *const *reasons) {
  const char *plain;
  sn_text dot = sn_text_in(json->arena);
  SN_TRY(sn_graph_dot(g, reasons, json->arena, &plain));
  sn_text_add(&dot, "%.*s", (int)(strlen(plain) - strlen("}\n")), plain);
  for (sn_id id = 0; groups && id < g->n_nodes; id++) {
    const uint32_t k = groups->kernel_of[id];
    if (k == SN_NONE) continue;
    sn_text_add(&dot, "  subgraph cluster_k%u { label=\"k%u %s\"; n%u; }\n", k, k,
                sn_group_kind_name(&groups->groups[k]), id);
  }
  sn_text_add(&dot, "}\n");
  return add(json, &dot);
}

/* There is an edge for each value that a kernel reads and an earlier one has written. */
sn_status sn_dot_kernels(sn_text *json, const sn_groups *groups) {
  sn_text dot = sn_text_in(json->arena);
  sn_value_set set;
  uint32_t *writer;
  SN_TRY(sn_value_set_init(&set, json->arena, groups));
  SN_TRY(sn_arena_alloc(json->arena, groups->n_values, sizeof *writer, (void **)&writer));
  for (size_t v = 0; v < groups->n_values; v++) writer[v] = SN_NONE;
  sn_text_add(&dot, "digraph sinter {\n  node [shape=box];\n");
  for (uint32_t k = 0; k < groups->n_groups; k++) {
    const sn_group *g = &groups->groups[k];
    sn_text_add(&dot, "  k%u [label=\"k%u %s %s\"];\n", k, k, sn_group_kind_name(g), g->name);
    sn_group_reads(g, &set);
    for (size_t i = 0; i < set.n; i++) {
      const uint32_t v = set.ids[i];
      char shape[SN_SHAPE_TEXT];
      if (writer[v] != SN_NONE)
        sn_text_add(&dot, "  k%u -> k%u [label=\"b%u %s%s\"];\n", writer[v], k, v,
                    sn_dtype_name(groups->values[v].type.dtype),
                    sn_shape_text(&groups->values[v].type, shape));
    }
    sn_group_writes(g, &set);
    for (size_t i = 0; i < set.n; i++) writer[set.ids[i]] = k;
  }
  sn_text_add(&dot, "}\n");
  return add(json, &dot);
}
