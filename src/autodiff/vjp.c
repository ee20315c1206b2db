/* vjp.c - the reverse walk.
 *
 *   forward   needs[i]: node i depends on some wrt node (and is a float)
 *   backward  from the last y down: the cotangent of node i is complete when i is reached, because all
 *             its users have larger numbers
 *
 * A wrt node stops the walk: what it was made from is not differentiated through it. Cotangents
 * have wide dtypes. */
#include "autodiff/vjp.h"

#include <string.h>

#include "autodiff/parts.h"
#include "autodiff/rules.h"
#include "build/range.h"

typedef struct walk {
  sn_build *b;
  sn_id first, end; /* the forward nodes (range.h); the walk adds others */
  /* Per forward node, indexed by its number - first: */
  uint8_t *needs;
  uint8_t *is_wrt;
  sn_id *cotangent; /* its cotangent so far, or SN_NONE */
  sn_id *parts;     /* its slices or results whose cotangents wait: the one met last, or SN_NONE */
  sn_id *next;      /* of a slice or result that waits: the one met before it */
} walk;

static bool depends(const walk *w, sn_id id) {
  return id >= w->first && id < w->end && w->needs[id - w->first];
}

static void mark_dependence(walk *w, const sn_id *wrt, size_t n_wrt) {
  for (size_t i = 0; i < n_wrt; i++) w->needs[wrt[i] - w->first] = w->is_wrt[wrt[i] - w->first] = 1;
  for (sn_id id = w->first; id < w->end; id++) {
    if (w->is_wrt[id - w->first] || !sn_dtype_is_float(sn_build_type(w->b, id)->dtype)) continue;
    const sn_build_node node = sn_build_node_of(w->b, id);
    const size_t n = sn_op_reads(node.op, node.n_inputs);
    bool needs = false;
    for (size_t k = 0; k < n && !needs; k++) needs = depends(w, sn_build_input(w->b, id, k));
    w->needs[id - w->first] = needs;
  }
}

static void add_to(walk *w, sn_id id, sn_id dx) {
  sn_id *sum = &w->cotangent[id - w->first];
  *sum = *sum == SN_NONE ? dx : sn_build_binary(w->b, SN_OP_add, *sum, dx);
}

/* Lets the cotangent of a slice (parts.h), or of a result of control flow, wait for those of the others. */
static void leave_part(walk *w, sn_id slice) {
  const sn_id x = sn_build_input(w->b, slice, 0);
  if (!depends(w, x)) return;
  w->next[slice - w->first] = w->parts[x - w->first];
  w->parts[x - w->first] = slice;
}

/* Adds the cotangents of the slices of node id, which have all been met, to that of the node. */
static sn_status take_parts(walk *w, sn_id id) {
  const sn_id last = w->parts[id - w->first];
  size_t n = 0;
  sn_part *parts;
  for (sn_id at = last; at != SN_NONE; at = w->next[at - w->first]) n++;
  if (!n) return SN_OK;
  SN_TRY(sn_arena_alloc(w->b->arena, n, sizeof *parts, (void **)&parts));
  n = 0;
  for (sn_id at = last; at != SN_NONE; at = w->next[at - w->first])
    parts[n++] = (sn_part){at, w->cotangent[at - w->first]};
  add_to(w, id, sn_join_parts(w->b, parts, n));
  return w->b->status;
}

/* Control flow: the cotangents of its results have all been met and wait in the list of parts. */
static sn_status propagate_control(walk *w, sn_id id) {
  const size_t n = sn_build_node_of(w->b, id).n_inputs;
  const size_t n_results = w->b->maker->control(w->b, id).n_results;
  sn_id *dy, *dx;
  bool *wanted;
  SN_TRY(sn_arena_alloc(w->b->arena, n_results, sizeof *dy, (void **)&dy));
  SN_TRY(sn_arena_alloc(w->b->arena, n, sizeof *dx, (void **)&dx));
  SN_TRY(sn_arena_alloc(w->b->arena, n, sizeof *wanted, (void **)&wanted));
  for (size_t k = 0; k < n_results; k++) dy[k] = SN_NONE;
  for (sn_id at = w->parts[id - w->first]; at != SN_NONE; at = w->next[at - w->first])
    dy[*sn_build_node_of(w->b, at).attrs] = w->cotangent[at - w->first];
  for (size_t k = 0; k < n; k++) {
    const sn_id x = sn_build_input(w->b, id, k);
    dx[k] = SN_NONE;
    wanted[k] = depends(w, x) && sn_dtype_is_float(sn_build_type(w->b, x)->dtype);
  }
  sn_control_vjp(w->b, id, dy, wanted, dx);
  for (size_t k = 0; k < n && !w->b->status; k++)
    if (dx[k] != SN_NONE) add_to(w, sn_build_input(w->b, id, k), dx[k]);
  return w->b->status;
}

/* Adds to the cotangents of the inputs of node id what its rule gives. */
static sn_status propagate(walk *w, sn_id id) {
  const sn_build_node node = sn_build_node_of(w->b, id);
  const size_t n = node.n_inputs;
  void *block;
  SN_TRY(sn_arena_alloc(w->b->arena, n, 2 * sizeof(sn_id) + sizeof(bool), &block));
  sn_id *x = block, *dx = x + n;
  bool *wanted = (bool *)(dx + n);
  for (size_t k = 0; k < n; k++) {
    x[k] = sn_build_input(w->b, id, k);
    dx[k] = SN_NONE;
    wanted[k] = depends(w, x[k]);
  }
  int64_t attrs[SN_MAX_ATTRS]; /* a copy: the rule adds nodes */
  if (node.n_attrs) memcpy(attrs, node.attrs, node.n_attrs * sizeof *attrs);
  const sn_vjp_context site = {w->b, id, w->cotangent[id - w->first], x, n, attrs, wanted, dx};
  sn_vjp_rules[node.op](&site);
  SN_TRY(w->b->status);
  for (size_t k = 0; k < n; k++)
    if (wanted[k] && dx[k] != SN_NONE) add_to(w, x[k], dx[k]);
  return w->b->status;
}

/* Completes the cotangent of node id, all of whose users have been met, and propagates it to the inputs. */
static sn_status meet(walk *w, sn_id id) {
  const sn_id at = id - w->first;
  const sn_op op = sn_build_node_of(w->b, id).op;
  sn_build_derive(w->b, id);
  if (sn_op_is_control(op)) return w->parts[at] == SN_NONE ? SN_OK : propagate_control(w, id);
  SN_TRY(take_parts(w, id));
  if (w->cotangent[at] == SN_NONE || !w->needs[at] || w->is_wrt[at]) return SN_OK;
  if (op != SN_OP_result && !sn_is_part(w->b, id)) return propagate(w, id);
  leave_part(w, id);
  return SN_OK;
}

sn_status sn_vjp_nodes(sn_build *b, const sn_id *y, const sn_id *dy, size_t n, const sn_id *wrt,
                       size_t n_wrt, sn_id *out) {
  SN_TRY(b->status);
  const sn_origin outside = b->origin;
  const sn_range range = sn_range_of(y, n, wrt, n_wrt);
  walk w = {.b = b, .first = range.first, .end = range.end};
  const size_t n_forward = w.end - w.first;
  SN_TRY(sn_arena_alloc(b->arena, n_forward, 1, (void **)&w.needs));
  SN_TRY(sn_arena_alloc(b->arena, n_forward, 1, (void **)&w.is_wrt));
  SN_TRY(sn_arena_alloc(b->arena, n_forward, sizeof(sn_id), (void **)&w.cotangent));
  SN_TRY(sn_arena_alloc(b->arena, n_forward, sizeof(sn_id), (void **)&w.parts));
  SN_TRY(sn_arena_alloc(b->arena, n_forward, sizeof(sn_id), (void **)&w.next));
  for (size_t i = 0; i < n_forward; i++) w.cotangent[i] = w.parts[i] = w.next[i] = SN_NONE;
  mark_dependence(&w, wrt, n_wrt);

  for (size_t k = 0; k < n; k++)
    if (depends(&w, y[k])) add_to(&w, y[k], dy[k]);
  for (sn_id id = w.end; id-- > w.first;) SN_TRY(meet(&w, id));
  b->origin = outside;
  for (size_t i = 0; i < n_wrt; i++) {
    sn_type type = *sn_build_type(b, wrt[i]);
    type.dtype = sn_dtype_wide(type.dtype);
    const sn_id dx = w.cotangent[wrt[i] - w.first];
    out[i] = dx == SN_NONE ? sn_build_full(b, &type, 0) : dx;
  }
  return b->status;
}
