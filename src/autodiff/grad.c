/* grad.c - the reverse walk.
 *
 *   forward   needs[i]: node i depends on some wrt node (and is a float)
 *   backward  from y down: dx of node i is complete when i is reached, for all its users have
 *             larger ids
 *
 * A wrt node stops the walk: what it was made from is not differentiated through it. Cotangents
 * have wide dtypes; only what is handed out has that of its wrt node. */
#include "autodiff/grad.h"

#include "autodiff/parts.h"
#include "autodiff/rules.h"

typedef struct walk {
  sn_graph *graph;
  sn_build build;
  size_t n_forward; /* nodes before the walk; the walk appends behind them */
  uint8_t *needs;
  uint8_t *is_wrt;
  sn_id *adjoint; /* per forward node: its cotangent so far, or SN_NONE */
  sn_id *parts;   /* per forward node: its slice met last whose cotangent waits, or SN_NONE */
  sn_id *next;    /* of a slice that waits: the one met before it */
} walk;

static sn_status mark_dependence(walk *w, const sn_id *wrt, size_t n_wrt) {
  for (size_t i = 0; i < n_wrt; i++) w->needs[wrt[i]] = w->is_wrt[wrt[i]] = 1;
  for (size_t id = 0; id < w->n_forward; id++) {
    const sn_id *inputs = sn_graph_inputs(w->graph, (sn_id)id);
    for (uint32_t k = 0; k < w->graph->nodes[id].n_inputs; k++)
      if (w->needs[inputs[k]]) w->needs[id] = 1;
    if (!sn_dtype_is_float(w->graph->nodes[id].type.dtype)) w->needs[id] = 0;
  }
  return SN_OK;
}

static void add_to(walk *w, sn_id id, sn_id dx) {
  sn_id *sum = &w->adjoint[id];
  *sum = *sum == SN_NONE ? dx : sn_build_binary(&w->build, SN_OP_add, *sum, dx);
}

/* A slice's cotangent waits for those of the others (parts.h). */
static void leave_part(walk *w, sn_id slice) {
  const sn_id x = *sn_graph_inputs(w->graph, slice);
  if (!w->needs[x]) return;
  w->next[slice] = w->parts[x];
  w->parts[x] = slice;
}

/* All slices of node id have been met. */
static sn_status take_parts(walk *w, sn_id id) {
  size_t n = 0;
  sn_id *slices;
  for (sn_id part = w->parts[id]; part != SN_NONE; part = w->next[part]) n++;
  if (!n) return SN_OK;
  SN_TRY(sn_arena_alloc(w->graph->arena, n, sizeof *slices, (void **)&slices));
  n = 0;
  for (sn_id part = w->parts[id]; part != SN_NONE; part = w->next[part]) slices[n++] = part;
  add_to(w, id, sn_join_parts(&w->build, slices, n, w->adjoint));
  return w->build.status;
}

/* Adds the cotangents that node id hands to its inputs. */
static sn_status propagate(walk *w, sn_id id, sn_arena *arena) {
  const sn_node node = w->graph->nodes[id];
  void *block;
  SN_TRY(
      sn_arena_alloc(arena, node.n_inputs, sizeof(sn_id) + sizeof(sn_id) + sizeof(bool), &block));
  sn_id *x = block, *dx = x + node.n_inputs;
  bool *wanted = (bool *)(dx + node.n_inputs);
  const sn_id *inputs = sn_graph_inputs(w->graph, id);
  for (uint32_t k = 0; k < node.n_inputs; k++) {
    x[k] = inputs[k];
    dx[k] = SN_NONE;
    wanted[k] = w->needs[inputs[k]];
  }
  int64_t attrs[SN_MAX_ATTRS]; /* a copy: the rule appends to the graph, whose arrays move */
  for (uint32_t k = 0; k < node.n_attrs; k++) attrs[k] = sn_graph_attrs(w->graph, id)[k];
  const sn_rule_site site = {&w->build, id, w->adjoint[id], x, node.n_inputs, attrs, wanted, dx};
  sn_grad_rules[node.op](&site);
  SN_TRY(w->build.status);
  for (uint32_t k = 0; k < node.n_inputs; k++)
    if (wanted[k] && dx[k] != SN_NONE) add_to(w, x[k], dx[k]);
  return w->build.status;
}

/* The cotangent of node id, for all its users have been met, and from it those of its inputs. */
static sn_status meet(walk *w, sn_id id) {
  SN_TRY(take_parts(w, id));
  if (w->adjoint[id] == SN_NONE || !w->needs[id] || w->is_wrt[id]) return SN_OK;
  if (!sn_is_part(w->graph, id)) return propagate(w, id, w->graph->arena);
  leave_part(w, id);
  return SN_OK;
}

sn_status sn_grad(sn_graph *graph, sn_id y, const sn_id *wrt, size_t n_wrt, sn_id *out) {
  const sn_type y_type = graph->nodes[y].type;
  char text[SN_SHAPE_TEXT];
  SN_FAIL_IF(graph->env, sn_type_size(&y_type) != 1, SN_ERR_SHAPE,
             "grad: needs a scalar, not shape %s", sn_shape_text(&y_type, text));
  SN_FAIL_IF(graph->env, !sn_dtype_is_float(y_type.dtype), SN_ERR_DTYPE,
             "grad: needs a float, not %s", sn_dtype_name(y_type.dtype));
  for (size_t i = 0; i < n_wrt; i++)
    SN_FAIL_IF(graph->env, !sn_dtype_is_float(graph->nodes[wrt[i]].type.dtype), SN_ERR_DTYPE,
               "grad: argument %zu is %s; only floats have gradients", i,
               sn_dtype_name(graph->nodes[wrt[i]].type.dtype));

  walk w = {.graph = graph, .build = {graph, SN_OK}, .n_forward = graph->n_nodes};
  SN_TRY(sn_arena_alloc(graph->arena, w.n_forward, 1, (void **)&w.needs));
  SN_TRY(sn_arena_alloc(graph->arena, w.n_forward, 1, (void **)&w.is_wrt));
  SN_TRY(sn_arena_alloc(graph->arena, w.n_forward, sizeof(sn_id), (void **)&w.adjoint));
  SN_TRY(sn_arena_alloc(graph->arena, w.n_forward, sizeof(sn_id), (void **)&w.parts));
  SN_TRY(sn_arena_alloc(graph->arena, w.n_forward, sizeof(sn_id), (void **)&w.next));
  for (size_t i = 0; i < w.n_forward; i++) w.adjoint[i] = w.parts[i] = w.next[i] = SN_NONE;
  SN_TRY(mark_dependence(&w, wrt, n_wrt));

  sn_type type = y_type;
  type.dtype = sn_dtype_wide(type.dtype);
  w.adjoint[y] = sn_build_full(&w.build, &type, 1);
  for (sn_id id = y + 1; id-- > 0;) SN_TRY(meet(&w, id));
  for (size_t i = 0; i < n_wrt; i++) {
    const sn_id id = w.adjoint[wrt[i]];
    type = graph->nodes[wrt[i]].type;
    const sn_dtype dtype = type.dtype;
    type.dtype = sn_dtype_wide(dtype);
    out[i] = id == SN_NONE || !w.needs[y] ? sn_build_full(&w.build, &type, 0) : id;
    out[i] = sn_build_cast(&w.build, SN_OP_astype, out[i], dtype);
  }
  return w.build.status;
}
