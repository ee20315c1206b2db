#include "inspect/record.h"

#include <string.h>

#include "base/host.h"
#include "fuse/fuse.h"

/* ---- stages ---------------------------------------------------------------------------------- */

void sn_record_begin(sn_record *r, sn_arena *arena) {
  r->json = sn_text_in(arena);
  sn_text_add(&r->json, "{\"stages\":[");
  r->began = sn_host_now_ms();
}

static void begin_stage(sn_record *r, const char *stage, const char *text, const char *dot) {
  const double ms = sn_host_now_ms() - r->began;
  const bool first = r->json.used && r->json.data[r->json.used - 1] == '[';
  sn_text_add(&r->json, first ? "{\"name\":" : ",{\"name\":");
  sn_text_add_json(&r->json, stage);
  sn_text_add(&r->json, ",\"compileMs\":%.4f,\"text\":", ms > 0 ? ms : 0);
  sn_text_add_json(&r->json, text);
  sn_text_add(&r->json, ",\"dot\":");
  sn_text_add_json(&r->json, dot);
}

/* Recording takes no part in the time of the next stage. */
static void end_stage(sn_record *r, sn_status status) {
  if (status && !r->json.status) r->json.status = status;
  sn_text_add(&r->json, "}");
  r->began = sn_host_now_ms();
}

static void add_dims(sn_text *t, const char *name, const int64_t *dims, int rank) {
  sn_text_add(t, "\"%s\":[", name);
  for (int i = 0; i < rank; i++) sn_text_add(t, i ? ",%lld" : "%lld", (long long)dims[i]);
  sn_text_add(t, "]");
}

static void add_ids(sn_text *t, const char *name, const uint32_t *ids, size_t n) {
  sn_text_add(t, "\"%s\":[", name);
  for (size_t i = 0; i < n; i++) sn_text_add(t, i ? ",%u" : "%u", ids[i]);
  sn_text_add(t, "]");
}

static void add_node(sn_text *t, const sn_graph *g, sn_id id, const sn_groups *groups) {
  const sn_node *node = sn_graph_node(g, id);
  sn_text_add(t, "%s{\"id\":%u,\"op\":\"%s\",\"dtype\":\"%s\",", id ? "," : "", id,
              sn_op_describe(node->op)->name, sn_dtype_name(node->type.dtype));
  add_dims(t, "shape", node->type.dims, node->type.rank);
  sn_text_add(t, ",\"attrs\":\"");
  sn_graph_print_attrs(t, g, id);
  if (groups && groups->kernel_of[id] != SN_NONE)
    sn_text_add(t, "\",\"group\":%u}", groups->kernel_of[id]);
  else
    sn_text_add(t, "\",\"group\":null}");
}

static void add_nodes_and_edges(sn_text *t, const sn_graph *g, const sn_groups *groups,
                                const sn_edge_note *notes) {
  sn_text_add(t, ",\"nodes\":[");
  for (sn_id id = 0; id < g->n_nodes; id++) add_node(t, g, id, groups);
  sn_text_add(t, "],\"edges\":[");
  const char *comma = "";
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = sn_graph_node(g, id);
    for (uint32_t k = 0; k < node->n_inputs; k++) {
      sn_text_add(t, "%s{\"from\":%u,\"to\":%u,\"reason\":\"%s\"}", comma,
                  sn_graph_inputs(g, id)[k], id, notes ? notes[node->first_input + k].reason : "");
      comma = ",";
    }
  }
  sn_text_add(t, "],");
  add_ids(t, "outputs", g->outputs, g->n_outputs);
}

/* Graphviz draws subgraphs of one name as one box, so each node can name its kernel by itself. */
static sn_status graph_dot(sn_arena *arena, const sn_graph *g, const sn_groups *groups,
                           const char **out) {
  SN_TRY(sn_graph_dot(g, arena, out));
  if (!groups) return SN_OK;
  sn_text t = sn_text_in(arena);
  sn_text_add(&t, "%.*s", (int)(strlen(*out) - strlen("}\n")), *out);
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const uint32_t k = groups->kernel_of[id];
    if (k == SN_NONE) continue;
    sn_text_add(&t, "  subgraph cluster_k%u { label=\"k%u %s\"; n%u; }\n", k, k,
                sn_group_kind_name(&groups->groups[k]), id);
  }
  sn_text_add(&t, "}\n");
  *out = t.data;
  return t.status;
}

void sn_record_graph(sn_record *r, const char *stage, const char *text, const sn_graph *g,
                     const sn_groups *groups) {
  sn_arena *arena = r->json.arena;
  const char *dot = "";
  const sn_edge_note *notes = NULL;
  sn_status status = graph_dot(arena, g, groups, &dot);
  if (!status && groups) status = sn_explain_edges(groups, arena, &notes);
  begin_stage(r, stage, text, dot);
  if (!status) add_nodes_and_edges(&r->json, g, groups, notes);
  end_stage(r, status);
}

/* ---- the graph of kernels -------------------------------------------------------------------- */

static void add_kernel_nodes(sn_text *t, sn_text *dot, const sn_groups *groups) {
  for (size_t k = 0; k < groups->n_groups; k++) {
    const sn_group *g = &groups->groups[k];
    sn_text_add(t, "%s{\"id\":%zu,\"op\":\"%s\",\"dtype\":\"%s\",", k ? "," : "", k, g->name,
                g->n_stores ? sn_dtype_name(g->stores[0].target.dtype) : "");
    add_dims(t, "shape", g->space, g->space_rank);
    sn_text_add(t, ",\"attrs\":\"%s\",\"group\":%zu}", sn_group_kind_name(g), k);
    sn_text_add(dot, "  k%zu [label=\"k%zu %s %s\"];\n", k, k, sn_group_kind_name(g), g->name);
  }
}

/* An edge per value a kernel reads that an earlier one has written. */
static sn_status add_kernel_edges(sn_text *t, sn_text *dot, const sn_groups *groups) {
  sn_value_set set;
  uint32_t *writer;
  SN_TRY(sn_value_set_init(&set, t->arena, groups));
  SN_TRY(sn_arena_alloc(t->arena, groups->n_values, sizeof *writer, (void **)&writer));
  for (size_t v = 0; v < groups->n_values; v++) writer[v] = SN_NONE;
  const char *comma = "";
  for (uint32_t k = 0; k < groups->n_groups; k++) {
    sn_group_reads(&groups->groups[k], &set);
    for (size_t i = 0; i < set.n; i++) {
      const uint32_t v = set.ids[i];
      char shape[SN_SHAPE_TEXT];
      if (writer[v] == SN_NONE) continue;
      sn_text_add(t, "%s{\"from\":%u,\"to\":%u,\"reason\":\"b%u %s%s\"}", comma, writer[v], k, v,
                  sn_dtype_name(groups->values[v].type.dtype),
                  sn_shape_text(&groups->values[v].type, shape));
      sn_text_add(dot, "  k%u -> k%u [label=\"b%u\"];\n", writer[v], k, v);
      comma = ",";
    }
    sn_group_writes(&groups->groups[k], &set);
    for (size_t i = 0; i < set.n; i++) writer[set.ids[i]] = k;
  }
  return SN_OK;
}

void sn_record_kernels(sn_record *r, const char *stage, const char *text, const sn_groups *groups) {
  sn_text graph = sn_text_in(r->json.arena), dot = graph;
  sn_text_add(&graph, ",\"nodes\":[");
  sn_text_add(&dot, "digraph sinter {\n  node [shape=box];\n");
  add_kernel_nodes(&graph, &dot, groups);
  sn_text_add(&graph, "],\"edges\":[");
  sn_status status = add_kernel_edges(&graph, &dot, groups);
  sn_text_add(&graph, "],\"outputs\":[]");
  sn_text_add(&dot, "}\n");
  if (!status) status = graph.status ? graph.status : dot.status;
  if (!status) {
    begin_stage(r, stage, text, dot.data);
    sn_text_add(&r->json, "%s", graph.data);
  }
  end_stage(r, status);
}

/* ---- kernels and memory ---------------------------------------------------------------------- */

/* The edges by which each kernel reads what others computed, threaded into a list per kernel. */
typedef struct cut_lists {
  const sn_edge_note *notes;
  uint32_t *first, *next; /* per kernel, per edge: an edge, or SN_NONE */
  sn_id *to;              /* per edge: its user */
} cut_lists;

static sn_status list_cuts(sn_arena *arena, const sn_groups *groups, cut_lists *lists) {
  const sn_graph *g = groups->graph;
  SN_TRY(sn_explain_edges(groups, arena, &lists->notes));
  SN_TRY(sn_arena_alloc(arena, groups->n_groups, sizeof *lists->first, (void **)&lists->first));
  SN_TRY(sn_arena_alloc(arena, g->n_edges, sizeof *lists->next, (void **)&lists->next));
  SN_TRY(sn_arena_alloc(arena, g->n_edges, sizeof *lists->to, (void **)&lists->to));
  for (size_t k = 0; k < groups->n_groups; k++) lists->first[k] = SN_NONE;
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;) {
    const sn_node *node = sn_graph_node(g, id);
    for (uint32_t k = node->n_inputs; k-- > 0;) {
      const uint32_t edge = node->first_input + k, kernel = groups->kernel_of[id];
      if (kernel == SN_NONE || !lists->notes[edge].cut) continue;
      lists->to[edge] = id;
      lists->next[edge] = lists->first[kernel];
      lists->first[kernel] = edge;
    }
  }
  return SN_OK;
}

static void add_cuts(sn_text *t, const sn_graph *g, const cut_lists *lists, size_t k) {
  const char *comma = "";
  sn_text_add(t, "\"cuts\":[");
  for (uint32_t edge = lists->first[k]; edge != SN_NONE; edge = lists->next[edge]) {
    sn_text_add(t, "%s{\"from\":%u,\"to\":%u,\"reason\":\"%s\"}", comma, g->edges[edge],
                lists->to[edge], lists->notes[edge].reason);
    comma = ",";
  }
  sn_text_add(t, "],");
}

static sn_status add_kernel(sn_text *t, const sn_executable *exe, const cut_lists *cuts,
                            sn_value_set *set, size_t k) {
  const sn_group *g = &exe->groups.groups[k];
  sn_text nest = sn_text_in(t->arena), code = nest;
  sn_group_print(&nest, k, g);
  sn_kernel_print(&code, k, &exe->kernels[k]);
  SN_TRY(nest.status);
  SN_TRY(code.status);
  sn_text_add(t, "%s{\"id\":%zu,\"kind\":\"%s\",\"name\":\"%s\",\"engine\":\"%s\",", k ? "," : "",
              k, sn_group_kind_name(g), g->name, sn_kernel_engine(&exe->kernels[k], true));
  sn_text_add(t, "\"flops\":%.17g,\"bytes\":%.17g,\"text\":", g->flops, g->bytes);
  sn_text_add_json(t, nest.data);
  sn_text_add(t, ",\"code\":");
  sn_text_add_json(t, code.data);
  sn_text_add(t, ",");
  add_cuts(t, &exe->graph, cuts, k);
  sn_group_reads(g, set);
  add_ids(t, "reads", set->ids, set->n);
  sn_text_add(t, ",");
  sn_group_writes(g, set);
  add_ids(t, "writes", set->ids, set->n);
  sn_text_add(t, "}");
  return SN_OK;
}

static void add_block(sn_text *t, const sn_executable *exe, uint32_t v) {
  static const char *const kinds[] = {[SN_PLACE_ARGUMENT] = "argument",
                                      [SN_PLACE_DONATED] = "donated",
                                      [SN_PLACE_OUTPUT] = "output",
                                      [SN_PLACE_ARENA] = "arena"};
  const sn_place *place = &exe->plan.places[v];
  const sn_value *value = &exe->groups.values[v];
  sn_text_add(t, "{\"value\":%u,\"node\":%u,\"dtype\":\"%s\",", v, value->node,
              sn_dtype_name(value->type.dtype));
  add_dims(t, "shape", value->type.dims, value->type.rank);
  if (place->kind == SN_PLACE_ARENA)
    sn_text_add(t, ",\"offset\":%zu", place->offset);
  else
    sn_text_add(t, ",\"offset\":null");
  sn_text_add(t, ",\"bytes\":%zu,\"first\":%u,\"last\":%u,\"kind\":\"%s\"}",
              sn_type_bytes(&value->type), place->first, place->last, kinds[place->kind]);
}

static void add_memory(sn_text *t, const sn_executable *exe) {
  sn_text_add(t, "\"memory\":{\"arenaBytes\":%zu,\"naiveBytes\":%llu,\"blocks\":[",
              exe->plan.arena_bytes, (unsigned long long)exe->plan.naive_bytes);
  const char *comma = "";
  for (uint32_t v = 0; v < exe->plan.n_values; v++) {
    if (exe->plan.places[v].first == SN_NONE) continue;
    sn_text_add(t, "%s", comma);
    add_block(t, exe, v);
    comma = ",";
  }
  sn_text_add(t, "]}");
}

sn_status sn_record_end(sn_record *r, sn_executable *exe) {
  sn_text *t = &r->json;
  sn_value_set set;
  cut_lists cuts;
  SN_TRY(sn_value_set_init(&set, t->arena, &exe->groups));
  SN_TRY(list_cuts(t->arena, &exe->groups, &cuts));
  sn_text_add(t, "],\"kernels\":[");
  for (size_t k = 0; k < exe->n_kernels; k++) SN_TRY(add_kernel(t, exe, &cuts, &set, k));
  sn_text_add(t, "],");
  add_memory(t, exe);
  sn_text_add(t, ",\"nodes\":%zu,\"flops\":%.17g,\"bytes\":%.17g}", exe->graph.n_nodes, exe->flops,
              exe->bytes);
  SN_TRY(t->status);
  return sn_arena_text(&exe->arena, t->data, &exe->inspection);
}
