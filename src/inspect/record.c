#include "inspect/record.h"

#include "backend/backend.h"
#include "base/host.h"
#include "fuse/fuse.h"
#include "graph/regions.h"
#include "inspect/dot.h"
#include "inspect/recomputed.h"

/* ---- stages ---------------------------------------------------------------------------------- */

void sn_record_begin(sn_record *r, sn_arena *arena) {
  r->json = r->rewrites = sn_text_in(arena);
  sn_text_add(&r->json, "{\"stages\":[");
  r->began = sn_host_now_ms();
}

void sn_record_rewrite(sn_record *r, const char *rule, sn_id from, sn_id to) {
  sn_text_add(&r->rewrites, "%s{\"rule\":\"%s\",\"from\":%u,\"to\":%u}",
              r->rewrites.used ? "," : "", rule, from, to);
}

static void begin_stage(sn_record *r, const char *stage, const char *text) {
  const double ms = sn_host_now_ms() - r->began;
  const bool first = r->json.used && r->json.data[r->json.used - 1] == '[';
  sn_text_add(&r->json, first ? "{\"name\":" : ",{\"name\":");
  sn_text_add_json(&r->json, stage);
  sn_text_add(&r->json, ",\"compileMs\":%.4f,\"rewrites\":[%s],\"text\":", ms > 0 ? ms : 0,
              r->rewrites.used ? r->rewrites.data : "");
  if (r->rewrites.status) r->json.status = r->rewrites.status;
  r->rewrites = sn_text_in(r->json.arena);
  sn_text_add_json(&r->json, text);
}

/* Ends the JSON of a stage. The next stage's time begins here, so recording does not count. */
static void end_stage(sn_record *r, sn_status status) {
  if (status && !r->json.status) r->json.status = status;
  sn_text_add(&r->json, "}");
  r->began = sn_host_now_ms();
}

static void add_dims(sn_text *t, const char *name, const int64_t *dims, int rank) {
  sn_text_add(t, ",\"%s\":[", name);
  for (int i = 0; i < rank; i++) sn_text_add(t, i ? ",%lld" : "%lld", (long long)dims[i]);
  sn_text_add(t, "]");
}

static void add_ids(sn_text *t, const char *name, const uint32_t *ids, size_t n) {
  sn_text_add(t, ",\"%s\":[", name);
  for (size_t i = 0; i < n; i++) sn_text_add(t, i ? ",%u" : "%u", ids[i]);
  sn_text_add(t, "]");
}

/* Adds which regions a node runs, and how its inputs become their arguments. */
static void add_control(sn_text *t, const sn_graph *g, sn_id id) {
  const sn_control c = sn_graph_control(g, id);
  const sn_attr *attr = sn_op_describe(c.op)->attrs; /* regions come first */
  sn_text_add(t, ",\"control\":{\"first\":%zu,\"carries\":%zu,\"stacks\":%zu",
              sn_control_first(c.op), c.n_carries, c.n_stacks);
  if (c.op == SN_OP_scan)
    sn_text_add(t, ",\"rounds\":%lld,\"backwards\":%s", (long long)c.length,
                c.reverse ? "true" : "false");
  sn_text_add(t, ",\"regions\":[");
  for (uint32_t i = 0; i < c.n_regions; i++)
    sn_text_add(t, "%s{\"name\":\"%s\",\"number\":%lld}", i ? "," : "", attr[i].name,
                (long long)sn_graph_attrs(g, id)[i]);
  sn_text_add(t, "]}");
}

static void add_node(sn_text *t, const sn_graph *g, sn_id id, const sn_groups *groups) {
  const sn_node *node = sn_graph_node(g, id);
  sn_text_add(t, "%s{\"id\":%u,\"op\":\"%s\",\"dtype\":\"%s\"", id ? "," : "", id,
              sn_op_describe(node->op)->name, sn_dtype_name(node->type.dtype));
  add_dims(t, "shape", node->type.dims, node->type.rank);
  sn_text_add(t, ",\"attrs\":\"");
  sn_graph_print_attrs(t, g, id);
  if (groups && groups->kernel_of[id] != SN_NONE)
    sn_text_add(t, "\",\"group\":%u", groups->kernel_of[id]);
  else
    sn_text_add(t, "\",\"group\":null");
  if (node->origin.call) sn_text_add(t, ",\"call\":%u", node->origin.call);
  if (node->origin.derivative) sn_text_add(t, ",\"derivative\":true");
  if (node->origin.recomputed) sn_text_add(t, ",\"again\":true");
  if (sn_op_is_control(node->op)) add_control(t, g, id);
  sn_text_add(t, "}");
}

/* *out are the notes' reasons by edge, or NULL if there are no notes. */
static sn_status reasons_of(const sn_graph *g, const sn_edge_note *notes, sn_arena *arena,
                            const char ***out) {
  *out = NULL;
  if (!notes) return SN_OK;
  SN_TRY(sn_arena_alloc(arena, g->n_edges, sizeof **out, (void **)out));
  for (size_t i = 0; i < g->n_edges; i++) (*out)[i] = notes[i].reason;
  return SN_OK;
}

/* Adds a graph; its regions have no groups and notes. Recursion is at most SN_MAX_NESTING deep. */
static void add_graph(sn_text *t, const sn_graph *g, const sn_groups *groups,
                      const sn_edge_note *notes) {
  sn_text_add(t, ",\"nodes\":[");
  for (sn_id id = 0; id < g->n_nodes; id++) add_node(t, g, id, groups);
  sn_text_add(t, "],\"edges\":[");
  const char *comma = "";
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = sn_graph_node(g, id);
    for (uint32_t k = 0; k < node->n_inputs; k++) {
      const sn_edge_note note = notes ? notes[node->first_input + k] : (sn_edge_note){"", false};
      sn_text_add(t, "%s{\"from\":%u,\"to\":%u,\"reason\":\"%s\"%s}", comma,
                  sn_graph_inputs(g, id)[k], id, note.reason, note.cut ? ",\"cut\":true" : "");
      comma = ",";
    }
  }
  sn_text_add(t, "]");
  add_ids(t, "outputs", g->outputs, g->n_outputs);
  sn_text_add(t, ",\"regions\":[");
  for (size_t i = 0; i < g->n_regions; i++) {
    sn_text_add(t, i ? ",{\"number\":%zu" : "{\"number\":%zu", i);
    add_graph(t, g->regions[i], NULL, NULL);
    sn_text_add(t, "}");
  }
  sn_text_add(t, "]");
}

void sn_record_graph(sn_record *r, const char *stage, const char *text, const sn_graph *g,
                     const sn_groups *groups) {
  sn_arena *arena = r->json.arena;
  const sn_edge_note *notes = NULL;
  sn_status status = groups ? sn_explain_edges(groups, arena, &notes) : SN_OK;
  begin_stage(r, stage, text);
  const char **reasons;
  if (!status) add_graph(&r->json, g, groups, notes);
  if (!status) status = reasons_of(g, notes, arena, &reasons);
  if (!status) status = sn_dot_graph(&r->json, g, groups, reasons);
  end_stage(r, status);
}

/* ---- the graph of kernels -------------------------------------------------------------------- */

static void add_kernel_nodes(sn_text *t, const sn_groups *groups) {
  for (uint32_t k = 0; k < groups->n_groups; k++) {
    const sn_group *g = &groups->groups[k];
    sn_text_add(t, "%s{\"id\":%u,\"op\":\"%s\",\"dtype\":\"%s\"", k ? "," : "", k, g->name,
                g->n_stores ? sn_dtype_name(g->stores[0].target.dtype) : "");
    add_dims(t, "shape", g->space, g->space_rank);
    sn_text_add(t, ",\"attrs\":\"%s\",\"group\":%u}", sn_group_kind_name(g), k);
  }
}

/* There is an edge for each value that a kernel reads and an earlier one has written. */
static sn_status add_kernel_edges(sn_text *t, const sn_groups *groups) {
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
      comma = ",";
    }
    sn_group_writes(&groups->groups[k], &set);
    for (size_t i = 0; i < set.n; i++) writer[set.ids[i]] = k;
  }
  return SN_OK;
}

void sn_record_kernels(sn_record *r, const char *stage, const char *text, const sn_groups *groups) {
  sn_text *t = &r->json;
  begin_stage(r, stage, text);
  sn_text_add(t, ",\"nodes\":[");
  add_kernel_nodes(t, groups);
  sn_text_add(t, "],\"edges\":[");
  sn_status status = add_kernel_edges(t, groups);
  sn_text_add(t, "],\"outputs\":[],\"regions\":[]");
  if (!status) status = sn_dot_kernels(t, groups);
  end_stage(r, status);
}

/* ---- kernels and memory ---------------------------------------------------------------------- */

/* Adds the number of the kernel that kernel k repeats because of the memory budget, or null. */
static void add_repeated(sn_text *t, const sn_executable *exe, size_t k) {
  const uint32_t *repeats = exe->program->groups.repeats;
  if (repeats && repeats[k] != SN_NONE)
    sn_text_add(t, "%u", repeats[k]);
  else
    sn_text_add(t, "null");
}

static sn_status add_kernel(sn_text *t, const sn_executable *exe, const sn_recomputed *recomputed,
                            const sn_kernel_view *view, sn_value_set *set, size_t k) {
  const sn_group *g = &exe->program->groups.groups[k];
  sn_text nest = sn_text_in(t->arena);
  sn_group_print(&nest, k, g);
  SN_TRY(nest.status);
  sn_text_add(t, "%s{\"id\":%zu,\"kind\":\"%s\",\"name\":\"%s\",\"engine\":\"%s\",", k ? "," : "",
              k, sn_group_kind_name(g), g->name, view->engine);
  sn_text_add(t,
              "\"dispatches\":%.17g,\"flops\":%.17g,\"bytes\":%.17g,\"again\":", view->dispatches,
              g->flops, g->bytes);
  add_repeated(t, exe, k);
  sn_text_add(t, ",\"flopsAgain\":%.17g", recomputed->kernel_flops[k]);
  sn_text_add(t, ",\"text\":");
  sn_text_add_json(t, nest.data);
  sn_text_add(t, ",\"code\":");
  sn_text_add_json(t, view->text);
  sn_group_reads(g, set);
  add_ids(t, "reads", set->ids, set->n);
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
  const sn_place *place = &exe->program->plan.places[v];
  const sn_value *value = &exe->program->groups.values[v];
  sn_text_add(t, "{\"value\":%u,\"node\":%u,\"dtype\":\"%s\"", v, value->node,
              sn_dtype_name(value->type.dtype));
  add_dims(t, "shape", value->type.dims, value->type.rank);
  if (place->kind == SN_PLACE_ARENA)
    sn_text_add(t, ",\"offset\":%zu", place->offset);
  else
    sn_text_add(t, ",\"offset\":null");
  sn_text_add(t, ",\"bytes\":%zu,\"first\":%u,\"last\":%u,\"kind\":\"%s\"}",
              sn_type_bytes(&value->type), place->first, place->last, kinds[place->kind]);
}

/* Adds what staying within the memory budget costs and saves. */
static void add_budget(sn_text *t, const sn_program_code *p) {
  const sn_groups *groups = &p->groups;
  size_t n = 0;
  double flops = 0, bytes = 0;
  if (!p->memory_budget) {
    sn_text_add(t, ",\"budget\":null");
    return;
  }
  for (size_t k = 0; groups->repeats && k < groups->n_groups; k++) {
    if (groups->repeats[k] == SN_NONE) continue;
    n++;
    flops += groups->groups[k].flops;
    bytes += groups->groups[k].bytes;
  }
  sn_text_add(t, ",\"budget\":{\"bytes\":%zu,\"savedBytes\":%zu,\"kernelsAgain\":%zu,",
              p->memory_budget, p->needed_bytes - p->plan.arena_bytes, n);
  sn_text_add(t, "\"flopsAgain\":%.17g,\"bytesAgain\":%.17g}", flops, bytes);
}

/* Adds what derivatives recompute. */
static void add_derivatives(sn_text *t, const sn_recomputed *recomputed) {
  if (!(recomputed->flops > 0 || recomputed->dropped_bytes > 0)) {
    sn_text_add(t, ",\"again\":null");
    return;
  }
  sn_text_add(t, ",\"again\":{\"keptValues\":%zu,\"keptBytes\":%.17g,", recomputed->kept,
              recomputed->kept_bytes);
  sn_text_add(t, "\"droppedBytes\":%.17g,\"flops\":%.17g}", recomputed->dropped_bytes,
              recomputed->flops);
}

static void add_memory(sn_text *t, const sn_executable *exe, const sn_recomputed *recomputed) {
  sn_text_add(t, "\"memory\":{\"arenaBytes\":%zu,\"naiveBytes\":%llu",
              exe->program->plan.arena_bytes, (unsigned long long)exe->program->plan.naive_bytes);
  add_budget(t, exe->program);
  add_derivatives(t, recomputed);
  sn_text_add(t, ",\"blocks\":[");
  const char *comma = "";
  for (uint32_t v = 0; v < exe->program->plan.n_values; v++) {
    if (exe->program->plan.places[v].first == SN_NONE) continue;
    sn_text_add(t, "%s", comma);
    add_block(t, exe, v);
    comma = ",";
  }
  sn_text_add(t, "]}");
}

sn_status sn_record_end(sn_record *r, sn_executable *exe) {
  sn_text *t = &r->json;
  sn_value_set set;
  sn_recomputed recomputed;
  sn_kernel_view *views;
  const size_t n = exe->program->n_steps;
  SN_TRY(sn_value_set_init(&set, t->arena, &exe->program->groups));
  SN_TRY(sn_arena_alloc(t->arena, n, sizeof *views, (void **)&views));
  SN_TRY(exe->backend->views(t->arena, exe, views));
  SN_TRY(sn_count_recomputed(exe->program, t->arena, &recomputed));
  sn_text_add(t, "],\"kernels\":[");
  for (size_t k = 0; k < n; k++) SN_TRY(add_kernel(t, exe, &recomputed, &views[k], &set, k));
  sn_text_add(t, "],");
  add_memory(t, exe, &recomputed);
  sn_text_add(t, ",\"nodes\":%zu,\"flops\":%.17g,\"bytes\":%.17g}", exe->program->graph.n_nodes,
              exe->program->flops, exe->program->bytes);
  SN_TRY(t->status);
  return sn_arena_text(&exe->program->arena, t->data, &exe->program->inspection);
}
