/* jvp.c - the forward walk. A node's tangent is dy = J dx, J its derivative. rules.c has only the rule
 * dx = J^T dy for every op, from which J is derived:
 *
 *   linear by its row   J is the op itself: apply it to tangents
 *   elementwise         J is diagonal and so its own transpose: apply the rule to the tangent of one
 *                       input at a time
 *   all others          the rule is linear in dy, and J is its transpose: reverse mode on the rule
 *
 * So no op needs a second rule. Tangents have wide dtypes, as cotangents have. */
#include "autodiff/jvp.h"

#include <string.h>

#include "autodiff/rules.h"
#include "autodiff/vjp.h"
#include "build/range.h"
#include "graph/attributes.h"

typedef struct walk {
  sn_build *b;
  sn_id first, end; /* the forward nodes (range.h); the walk adds others */
  /* Per forward node, indexed by its number - first: */
  uint8_t *is_wrt;
  sn_id *tangent;  /* its tangent; SN_NONE: zeros */
  sn_id **results; /* of control flow: the tangents of its results, or NULL */
} walk;

/* A node whose tangent is made: y = op(x[0], x[1], ...); dx are the tangents of x. */
typedef struct site {
  sn_build *b;
  sn_id y;
  sn_op op;
  sn_type type; /* of y's tangent */
  const sn_id *x, *dx;
  size_t n;
  int64_t attrs[SN_MAX_ATTRS];
  size_t n_attrs;
} site;

static sn_id add(sn_build *b, sn_id sum, sn_id x) {
  if (sum == SN_NONE || x == SN_NONE) return sum == SN_NONE ? x : sum;
  return sn_build_binary(b, SN_OP_add, sum, x);
}

static sn_type wide_type(const sn_build *b, sn_id x) {
  sn_type type = *sn_build_type(b, x);
  type.dtype = sn_dtype_wide(type.dtype);
  return type;
}

static sn_id zeros_like(sn_build *b, sn_id x) {
  const sn_type type = wide_type(b, x);
  return sn_build_full(b, &type, 0);
}

/* ---- one node -------------------------------------------------------------------------------- */

static sn_id apply(const site *s, const sn_id *inputs) {
  return sn_build_op(s->b, s->op, inputs, s->n, s->attrs, s->n_attrs, &s->type);
}

/* Sets attributes of kind VALUE to 0, such as a pad's value: it is added to the result, so it has no part in the
 * derivative. */
static void clear_values(site *s) {
  const int rank = sn_build_type(s->b, s->x[0])->rank;
  int64_t *at = s->attrs;
  for (const sn_attr *attr = sn_op_describe(s->op)->attrs; attr && attr->kind; attr++) {
    if (attr->kind == SN_ATTR_VALUE) *at = sn_double_attr(0);
    at += sn_attr_length(attr->kind, rank);
  }
}

/* The tangent by the op itself. inputs: room for s->n nodes. */
static sn_id by_itself(site *s, sn_linearity linear, sn_id *inputs) {
  sn_id dy = SN_NONE;
  clear_values(s);
  memcpy(inputs, s->x, s->n * sizeof *inputs);
  if (linear == SN_LINEAR_IN_EACH) {
    for (size_t k = 0; k < s->n; k++) {
      if (s->dx[k] == SN_NONE) continue;
      inputs[k] = s->dx[k];
      dy = add(s->b, dy, apply(s, inputs));
      inputs[k] = s->x[k];
    }
    return dy;
  }
  const size_t n = linear == SN_LINEAR_IN_FIRST ? 1 : s->n;
  if (n == 1 && s->dx[0] == SN_NONE) return SN_NONE;
  for (size_t k = 0; k < n && !s->b->status; k++)
    if (sn_dtype_is_float(sn_build_type(s->b, s->x[k])->dtype))
      inputs[k] = s->dx[k] == SN_NONE ? zeros_like(s->b, s->x[k]) : s->dx[k];
  return apply(s, inputs);
}

static void call_rule(const site *s, sn_id dy, const bool *wanted, sn_id *out) {
  for (size_t k = 0; k < s->n; k++) out[k] = SN_NONE;
  const sn_vjp_context context = {s->b, s->y, dy, s->x, s->n, s->attrs, wanted, out};
  sn_vjp_rules[s->op](&context);
}

/* The tangent of an elementwise op, by its rule. wanted, out: room. */
static sn_id by_rule(const site *s, bool *wanted, sn_id *out) {
  sn_id dy = SN_NONE;
  for (size_t k = 0; k < s->n; k++) {
    if (s->dx[k] == SN_NONE) continue;
    memset(wanted, 0, s->n * sizeof *wanted);
    wanted[k] = true;
    call_rule(s, s->dx[k], wanted, out);
    dy = add(s->b, dy, out[k]);
  }
  return dy;
}

/* The tangent by the transpose of the rule: J dx is the cotangent of u, a marker that the rule gets as dy and whose value
 * does not matter. wanted, out: room, for out of 2 s->n nodes. */
static sn_id by_transpose(const site *s, bool *wanted, sn_id *out) {
  const sn_id u = sn_build_unary(s->b, SN_OP_marker, s->y);
  sn_id *dx = out + s->n, dy = SN_NONE;
  size_t n = 0;
  for (size_t k = 0; k < s->n; k++) wanted[k] = s->dx[k] != SN_NONE;
  call_rule(s, u, wanted, out);
  for (size_t k = 0; k < s->n; k++) {
    if (!wanted[k] || out[k] == SN_NONE) continue;
    dx[n] = s->dx[k];
    out[n++] = out[k];
  }
  if (!s->b->status && n) s->b->status = sn_vjp_nodes(s->b, out, dx, n, &u, 1, &dy);
  return dy;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static sn_id tangent_of(const walk *w, sn_id x) {
  return x >= w->first && x < w->end ? w->tangent[x - w->first] : SN_NONE;
}

/* Control flow: makes the tangents of all its results; meet_result hands them to the result nodes. */
static sn_status meet_control(walk *w, sn_id id) {
  const size_t n = sn_build_node_of(w->b, id).n_inputs;
  const size_t n_results = w->b->maker->control(w->b, id).n_results;
  sn_id *dx, *dy;
  bool any = false;
  SN_TRY(sn_arena_alloc(w->b->arena, n, sizeof *dx, (void **)&dx));
  SN_TRY(sn_arena_alloc(w->b->arena, n_results, sizeof *dy, (void **)&dy));
  for (size_t k = 0; k < n; k++) {
    dx[k] = tangent_of(w, sn_build_input(w->b, id, k));
    any = any || dx[k] != SN_NONE;
  }
  if (!any) return SN_OK;
  sn_control_jvp(w->b, id, dx, dy);
  w->results[id - w->first] = dy;
  return w->b->status;
}

static void meet_result(walk *w, sn_id id) {
  const sn_id from = sn_build_input(w->b, id, 0);
  const sn_id *dy = from >= w->first ? w->results[from - w->first] : NULL;
  if (dy) w->tangent[id - w->first] = dy[*sn_build_node_of(w->b, id).attrs];
}

/* The tangent of node id from those of its inputs. */
static sn_status meet(walk *w, sn_id id) {
  const sn_build_node node = sn_build_node_of(w->b, id);
  bool any = false;
  sn_build_derive(w->b, id);
  if (sn_op_is_control(node.op)) return meet_control(w, id);
  /* a tensor that has its value has dropped its inputs: then there are none */
  if (node.op == SN_OP_result && node.n_inputs) {
    meet_result(w, id);
    return SN_OK;
  }
  for (size_t k = 0; k < node.n_inputs && !any; k++)
    any = tangent_of(w, sn_build_input(w->b, id, k)) != SN_NONE;
  if (!any || !sn_dtype_is_float(sn_build_type(w->b, id)->dtype)) return SN_OK;

  void *block;
  SN_TRY(sn_arena_alloc(w->b->arena, node.n_inputs, 4 * sizeof(sn_id) + sizeof(bool), &block));
  sn_id *x = block, *dx = x + node.n_inputs, *room = dx + node.n_inputs;
  bool *wanted = (bool *)(room + 2 * node.n_inputs);
  for (size_t k = 0; k < node.n_inputs; k++) {
    x[k] = sn_build_input(w->b, id, k);
    dx[k] = tangent_of(w, x[k]);
  }
  site s = {.b = w->b,
            .y = id,
            .op = node.op,
            .type = wide_type(w->b, id),
            .x = x,
            .dx = dx,
            .n = node.n_inputs,
            .n_attrs = node.n_attrs};
  if (node.n_attrs) memcpy(s.attrs, node.attrs, node.n_attrs * sizeof *s.attrs);
  const sn_linearity linear = sn_op_describe(s.op)->linear;
  w->tangent[id - w->first] = linear                       ? by_itself(&s, linear, room)
                              : sn_op_is_elementwise(s.op) ? by_rule(&s, wanted, room)
                                                           : by_transpose(&s, wanted, room);
  return w->b->status;
}

sn_status sn_jvp_nodes(sn_build *b, const sn_id *y, size_t n, const sn_id *wrt, const sn_id *dwrt,
                       size_t n_wrt, sn_id *out) {
  SN_TRY(b->status);
  const sn_origin outside = b->origin;
  const sn_range range = sn_range_of(y, n, wrt, n_wrt);
  walk w = {.b = b, .first = range.first, .end = range.end};
  const size_t n_forward = w.end - w.first;
  SN_TRY(sn_arena_alloc(b->arena, n_forward, 1, (void **)&w.is_wrt));
  SN_TRY(sn_arena_alloc(b->arena, n_forward, sizeof(sn_id), (void **)&w.tangent));
  SN_TRY(sn_arena_alloc(b->arena, n_forward, sizeof(sn_id *), (void **)&w.results));
  for (size_t i = 0; i < n_forward; i++) w.tangent[i] = SN_NONE;
  for (size_t i = 0; i < n_wrt; i++) {
    w.is_wrt[wrt[i] - w.first] = 1;
    w.tangent[wrt[i] - w.first] = dwrt[i];
  }
  for (sn_id id = w.first; id < w.end; id++)
    if (!w.is_wrt[id - w.first]) SN_TRY(meet(&w, id));
  b->origin = outside;
  for (size_t i = 0; i < n; i++) {
    const sn_id dy = tangent_of(&w, y[i]);
    out[i] = dy == SN_NONE ? zeros_like(b, y[i]) : dy;
  }
  return b->status;
}
