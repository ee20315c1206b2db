#include "fuse/set_buffers.h"

#include <string.h>

static bool is_limited(const sn_set_buffers *b) { return b->limit != SN_NO_LIMIT; }

static sn_status new_list(const sn_set_buffers *b, sn_buffer_list *list) {
  return list->ids ? SN_OK
                   : sn_arena_alloc(b->arena, b->limit, sizeof *list->ids, (void **)&list->ids);
}

static bool add(const sn_set_buffers *b, sn_buffer_list *list, sn_id id) {
  for (uint32_t i = 0; i < list->n; i++)
    if (list->ids[i] == id) return true;
  if (list->n == b->limit) return false;
  list->ids[list->n++] = id;
  return true;
}

static void copy(sn_buffer_list *to, const sn_buffer_list *from) {
  to->n = from->n;
  if (from->n) memcpy(to->ids, from->ids, from->n * sizeof *to->ids);
}

uint32_t sn_set_buffers_sources(const sn_set_buffers *b, sn_id x, sn_id from[SN_SOURCES]) {
  const sn_id base = b->views[x].base, *inputs = sn_graph_inputs(b->g, base);
  const bool looked_up = b->views[base].is_load;
  uint32_t n = 0;
  for (int i = 0; i < 1 + looked_up; i++) {
    const sn_id at = looked_up ? b->views[inputs[i]].base : base;
    const sn_op op = b->g->nodes[at].op;
    if (op != SN_OP_constant && op != SN_OP_iota) from[n++] = at;
  }
  return n;
}

/* Lists the buffers that id reads, each once, and how often. Without a node (SN_NONE) there are none. */
static void list_edges(sn_set_buffers *b, sn_id id) {
  b->n_edges = 0;
  for (uint32_t k = 0; id != SN_NONE && k < b->g->nodes[id].n_inputs; k++) {
    sn_id from[SN_SOURCES];
    const uint32_t n = sn_set_buffers_sources(b, sn_graph_inputs(b->g, id)[k], from);
    for (uint32_t j = 0; j < n; j++) {
      uint32_t i = 0;
      while (i < b->n_edges && b->edges[i].from != from[j]) i++;
      if (i == b->n_edges) b->edges[b->n_edges++] = (sn_buffer_edge){.from = from[j]};
      b->edges[i].times++;
    }
  }
}

sn_status sn_set_buffers_init(sn_set_buffers *b, const sn_graph *g, const sn_view *views,
                              const uint8_t *live, uint32_t limit, sn_arena *arena) {
  const size_t n = g->n_nodes;
  *b = (sn_set_buffers){.g = g, .views = views, .arena = arena, .limit = limit};
  if (!is_limited(b)) return SN_OK;
  SN_TRY(sn_arena_alloc(arena, n, sizeof *b->unread, (void **)&b->unread));
  SN_TRY(sn_arena_alloc(arena, n, 1, (void **)&b->is_output));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *b->cones, (void **)&b->cones));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *b->sets, (void **)&b->sets));
  SN_TRY(new_list(b, &b->both.reads));
  const size_t most = SN_SOURCES * ((size_t)limit + SN_MAX_ARITY);
  SN_TRY(sn_arena_alloc(arena, most, sizeof *b->edges, (void **)&b->edges));
  for (sn_id id = 0; id < n; id++) {
    if (!live[id] || sn_op_describe(g->nodes[id].op)->kind == SN_CLASS_VIEW) continue;
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++)
      b->unread[views[sn_graph_inputs(g, id)[k]].base]++;
  }
  for (size_t i = 0; i < g->n_outputs; i++) {
    b->unread[views[g->outputs[i]].base]++;
    b->is_output[views[g->outputs[i]].base] = 1;
  }
  return SN_OK;
}

/* Adds what id reads, except for nodes that a reduction owns: they are computed inside it. */
static sn_status add_inputs(sn_set_buffers *b, sn_buffer_list *list, sn_id id) {
  SN_TRY(new_list(b, list));
  list_edges(b, id);
  for (uint32_t i = 0; i < b->n_edges; i++)
    if (b->owner[b->edges[i].from] == SN_NONE)
      SN_CHECK(b->arena->env, add(b, list, b->edges[i].from));
  return SN_OK;
}

sn_status sn_set_buffers_own(sn_set_buffers *b, sn_id id, sn_id reduction) {
  if (!is_limited(b)) return SN_OK;
  return add_inputs(b, &b->cones[reduction], id);
}

sn_status sn_set_buffers_begin(sn_set_buffers *b, uint32_t set, sn_id id) {
  if (!is_limited(b)) return SN_OK;
  sn_set_traffic *t = &b->sets[set];
  *t = (sn_set_traffic){.writes = 1, .outputs = b->is_output[id]};
  SN_TRY(new_list(b, &t->reads));
  copy(&t->reads, &b->cones[id]);
  return add_inputs(b, &t->reads, id);
}

static bool is_one_of(const sn_set_buffers *b, const uint32_t *sets, uint32_t n, sn_id x) {
  const uint32_t root = b->root_of(b->user, x);
  bool is = false;
  for (uint32_t i = 0; i < n; i++) is = is || sets[i] == root;
  return is;
}

/* Adds what the joining node reads from outside the sets. Members that nothing else reads any more
 * are not written. */
static bool add_node(sn_set_buffers *b, const uint32_t *sets, uint32_t n) {
  sn_set_traffic *both = &b->both;
  for (uint32_t i = 0; i < b->n_edges; i++) {
    const sn_buffer_edge *e = &b->edges[i];
    if (is_one_of(b, sets, n, e->from))
      both->writes -= b->unread[e->from] == e->times;
    else if (!add(b, &both->reads, e->from))
      return false;
  }
  return true;
}

bool sn_set_buffers_fit(sn_set_buffers *b, const uint32_t *sets, uint32_t n, sn_id id) {
  sn_set_traffic *both = &b->both;
  if (!is_limited(b)) return true;
  both->reads.n = 0;
  both->writes = id != SN_NONE;
  both->outputs = id != SN_NONE && b->is_output[id];
  list_edges(b, id);
  for (uint32_t i = 0; i < n; i++) {
    const sn_set_traffic *t = &b->sets[sets[i]];
    both->writes += id == SN_NONE && i ? t->outputs : t->writes;
    both->outputs += t->outputs;
    for (uint32_t k = 0; k < t->reads.n; k++)
      if (!is_one_of(b, sets, n, t->reads.ids[k]) && !add(b, &both->reads, t->reads.ids[k]))
        return false;
  }
  return add_node(b, sets, n) && both->reads.n + both->writes <= b->limit;
}

sn_status sn_set_buffers_join(sn_set_buffers *b, uint32_t root) {
  if (!is_limited(b)) return SN_OK;
  sn_set_traffic *t = &b->sets[root];
  SN_TRY(new_list(b, &t->reads));
  copy(&t->reads, &b->both.reads);
  t->writes = b->both.writes;
  t->outputs = b->both.outputs;
  for (uint32_t i = 0; i < b->n_edges; i++)
    if (b->root_of(b->user, b->edges[i].from) == root)
      b->unread[b->edges[i].from] -= b->edges[i].times;
  return SN_OK;
}
