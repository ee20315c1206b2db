#include "build/body_maker.h"

void sn_body_begin(sn_body_maker *m, const sn_build *outside, sn_arena *arena) {
  *m = (sn_body_maker){0};
  sn_graph_init(&m->graph, arena, true);
  m->b = sn_build_in(&m->graph);
  m->b.load_flops = outside->load_flops;
  m->b.precision = outside->precision;
}

static sn_status add_argument(sn_body_maker *m, const sn_argument *argument, const sn_type *type,
                              sn_id *out) {
  const int64_t number = (int64_t)m->n_arguments;
  SN_TRY(sn_arena_grow(m->graph.arena, (void **)&m->arguments, &m->cap_arguments, m->n_arguments,
                       sizeof *m->arguments));
  m->arguments[m->n_arguments++] = *argument;
  return sn_graph_append(&m->graph, SN_OP_input, NULL, 0, &number, 1, type, out);
}

sn_id sn_body_argument(sn_body_maker *m, sn_argument_kind kind, sn_given given, uint32_t from,
                       const sn_type *type) {
  const sn_argument argument = {kind, given, from};
  sn_id id = SN_NONE;
  if (!m->b.status) m->b.status = add_argument(m, &argument, type, &id);
  return id;
}

void sn_body_output(sn_body_maker *m, sn_id id) {
  if (!m->b.status)
    m->b.status = sn_arena_grow(m->graph.arena, (void **)&m->outputs, &m->cap_outputs, m->n_outputs,
                                sizeof *m->outputs);
  if (!m->b.status) m->outputs[m->n_outputs++] = id;
}

/* ---- closing --------------------------------------------------------------------------------- */

typedef struct closing {
  const sn_body_maker *m;
  const uint8_t *saved;
  uint8_t *live;
  uint32_t *number; /* per node that becomes an argument: its number */
  sn_id *map;
  sn_argument *arguments;
  size_t n_arguments;
} closing;

static bool is_saved(const closing *c, sn_id id) { return c->saved && c->saved[id]; }

static void mark_live(const closing *c) {
  const sn_graph *g = &c->m->graph;
  for (size_t i = 0; i < c->m->n_outputs; i++) c->live[c->m->outputs[i]] = 1;
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;) {
    if (!c->live[id] || is_saved(c, id)) continue;
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) c->live[sn_graph_inputs(g, id)[k]] = 1;
  }
}

static void take_number(closing *c, sn_id id, const sn_argument *argument) {
  c->number[id] = (uint32_t)c->n_arguments;
  c->arguments[c->n_arguments++] = *argument;
}

static void number_kind(closing *c, sn_argument_kind kind, bool all) {
  const sn_graph *g = &c->m->graph;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const bool live = c->live[id];
    if (g->nodes[id].op == SN_OP_input) {
      const sn_argument *argument = &c->m->arguments[sn_graph_attrs(g, id)[0]];
      if (argument->kind == kind && (live || all)) take_number(c, id, argument);
    } else if (kind == SN_ARGUMENT_SLICE && live && is_saved(c, id)) {
      take_number(c, id, &(sn_argument){kind, SN_GIVEN_MADE, id});
    }
  }
}

static sn_status emit(closing *c, sn_id id, sn_graph *out) {
  const sn_graph *g = &c->m->graph;
  const int64_t number = c->number[id];
  if (g->nodes[id].op != SN_OP_input && !is_saved(c, id))
    return sn_graph_take_node(out, g, id, c->map, &c->map[id]);
  return sn_graph_append(out, SN_OP_input, NULL, 0, &number, 1, &g->nodes[id].type, &c->map[id]);
}

sn_status sn_body_close(sn_body_maker *m, const uint8_t *saved, bool prune, sn_graph *out,
                        sn_argument **arguments, size_t *n) {
  SN_TRY(m->b.status);
  sn_arena *arena = m->graph.arena;
  const size_t n_nodes = m->graph.n_nodes;
  closing c = {.m = m, .saved = saved};
  SN_TRY(sn_arena_alloc(arena, n_nodes, 1, (void **)&c.live));
  SN_TRY(sn_arena_alloc(arena, n_nodes, sizeof *c.number, (void **)&c.number));
  SN_TRY(sn_arena_alloc(arena, n_nodes, sizeof *c.map, (void **)&c.map));
  SN_TRY(sn_arena_alloc(arena, n_nodes, sizeof *c.arguments, (void **)&c.arguments));
  mark_live(&c);
  number_kind(&c, SN_ARGUMENT_CARRY, true);
  number_kind(&c, SN_ARGUMENT_SLICE, !prune);
  number_kind(&c, SN_ARGUMENT_CONST, !prune);
  sn_graph_init(out, arena, true);
  for (sn_id id = 0; id < n_nodes; id++)
    if (c.live[id]) SN_TRY(emit(&c, id, out));
  SN_TRY(sn_arena_alloc(arena, m->n_outputs, sizeof *out->outputs, (void **)&out->outputs));
  out->n_outputs = m->n_outputs;
  for (size_t i = 0; i < m->n_outputs; i++) out->outputs[i] = c.map[m->outputs[i]];
  out->n_arguments = c.n_arguments;
  *arguments = c.arguments;
  *n = c.n_arguments;
  return SN_OK;
}
