/* dependents.c - walks nodes in order, and within control flow its regions.
 *
 *   scan, while        a carry depends on its initial value and on what the body makes it of, also in earlier rounds
 *   while, cond        results also depend on what the test, or the bool, depends on
 *   custom             results depend on all inputs: its rule may read inputs that the function does not */
#include "autodiff/dependents.h"

static sn_status flow_of_control(sn_arena *arena, const sn_control *c, const uint8_t *given,
                                 size_t n, uint8_t *results);

/* What a walk knows of the nodes that it has met. */
typedef struct flow {
  sn_arena *arena;
  uint8_t *marks;    /* per node */
  uint8_t **results; /* per node of control flow: which of its results are marked */
} flow;

/* Meets node number `at` of the walk. c: NULL if it is no control flow. given: which of its n inputs are marked. */
static sn_status meet(flow *f, size_t at, sn_op op, const sn_control *c, const uint8_t *given,
                      size_t n) {
  if (c) {
    SN_TRY(sn_arena_alloc(f->arena, c->n_results, 1, (void **)&f->results[at]));
    return flow_of_control(f->arena, c, given, n, f->results[at]);
  }
  for (size_t k = 0; k < sn_op_reads(op, n); k++) f->marks[at] |= given[k];
  return SN_OK;
}

static sn_status begin(flow *f, sn_arena *arena, size_t n_nodes, uint8_t *marks) {
  *f = (flow){.arena = arena, .marks = marks};
  return sn_arena_alloc(arena, n_nodes, sizeof *f->results, (void **)&f->results);
}

/* Makes *marks, per node of the region. arguments: which of the region's arguments are marked. */
static sn_status flow_of_region(sn_arena *arena, const sn_graph *g, const uint8_t *arguments,
                                uint8_t **marks) {
  flow f;
  SN_TRY(sn_arena_alloc(arena, g->n_nodes, 1, (void **)marks));
  SN_TRY(begin(&f, arena, g->n_nodes, *marks));
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = sn_graph_node(g, id);
    const sn_id *inputs = sn_graph_inputs(g, id);
    uint8_t *given;
    if (node->op == SN_OP_input) (*marks)[id] = arguments[sn_graph_attrs(g, id)[0]];
    if (node->op == SN_OP_result) (*marks)[id] = f.results[*inputs][*sn_graph_attrs(g, id)];
    if (node->op == SN_OP_input || node->op == SN_OP_result) continue;
    SN_TRY(sn_arena_alloc(arena, node->n_inputs, 1, (void **)&given));
    for (uint32_t k = 0; k < node->n_inputs; k++) given[k] = (*marks)[inputs[k]];
    const bool is_control = sn_op_is_control(node->op);
    const sn_control c = is_control ? sn_graph_control(g, id) : (sn_control){0};
    SN_TRY(meet(&f, id, node->op, is_control ? &c : NULL, given, node->n_inputs));
  }
  return SN_OK;
}

/* Adds to `results` the results of a region that depend on the marked arguments. */
static sn_status add_results(sn_arena *arena, const sn_graph *region, const uint8_t *arguments,
                             size_t n_results, uint8_t *results) {
  uint8_t *marks;
  SN_TRY(flow_of_region(arena, region, arguments, &marks));
  for (size_t k = 0; k < n_results; k++) results[k] |= marks[region->outputs[k]];
  return SN_OK;
}

/* A loop: repeats the body's flow until no further carry is found. */
static sn_status flow_of_loop(sn_arena *arena, const sn_control *c, const uint8_t *given, size_t n,
                              uint8_t *results) {
  uint8_t *arguments;
  SN_TRY(sn_arena_alloc(arena, n, 1, (void **)&arguments));
  for (size_t k = 0; k < n; k++) arguments[k] = given[k];
  for (size_t k = 0; k < c->n_carries; k++) results[k] = given[k];
  for (bool found = true; found;) {
    found = false;
    SN_TRY(add_results(arena, c->regions[0], arguments, c->n_results, results));
    for (size_t k = 0; k < c->n_carries; k++) {
      found = found || (results[k] && !arguments[k]);
      arguments[k] = results[k];
    }
  }
  uint8_t decides = 0;
  if (c->op == SN_OP_while_loop) SN_TRY(add_results(arena, c->regions[1], arguments, 1, &decides));
  for (size_t k = 0; k < c->n_results; k++) results[k] |= decides;
  return SN_OK;
}

static sn_status flow_of_control(sn_arena *arena, const sn_control *c, const uint8_t *given,
                                 size_t n, uint8_t *results) {
  if (c->op == SN_OP_scan || c->op == SN_OP_while_loop)
    return flow_of_loop(arena, c, given, n, results);
  if (c->op == SN_OP_checkpoint)
    return add_results(arena, c->regions[0], given, c->n_results, results);
  uint8_t all = 0;
  for (size_t k = 0; k < (c->op == SN_OP_cond ? 1 : n); k++) all |= given[k];
  for (size_t k = 0; k < c->n_results; k++) results[k] = all;
  if (c->op != SN_OP_cond) return SN_OK;
  for (int r = 0; r < 2; r++)
    SN_TRY(add_results(arena, c->regions[r], given + 1, c->n_results, results));
  return SN_OK;
}

sn_status sn_mark_dependents(sn_build *b, sn_range range, uint8_t *marks) {
  flow f;
  SN_TRY(begin(&f, b->arena, range.end - range.first, marks));
  for (sn_id id = range.first; id < range.end; id++) {
    const sn_build_node node = sn_build_node_of(b, id);
    const size_t at = id - range.first, n = node.n_inputs;
    uint8_t *given;
    if (marks[at]) continue;
    /* n is 0 for a tensor that has its value: it has dropped its inputs */
    if (node.op == SN_OP_result && n) {
      const sn_id from = sn_build_input(b, id, 0);
      if (from >= range.first) marks[at] = f.results[from - range.first][*node.attrs];
      continue;
    }
    SN_TRY(sn_arena_alloc(b->arena, n, 1, (void **)&given));
    for (size_t k = 0; k < n; k++) {
      const sn_id x = sn_build_input(b, id, k);
      given[k] = x >= range.first && marks[x - range.first];
    }
    const bool is_control = sn_op_is_control(node.op);
    const sn_control c = is_control ? b->maker->control(b, id) : (sn_control){0};
    SN_TRY(meet(&f, at, node.op, is_control ? &c : NULL, given, n));
  }
  return SN_OK;
}
