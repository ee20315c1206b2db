#include "tensor/trace_region.h"

#include "tensor/post_order.h"

/* A tensor's number in the walk is a node of the region, or, with this bit, an index in `outside`. */
#define OUTSIDE 0x80000000u

typedef struct tracing {
  sn_context *ctx;
  sn_arena *arena;
  const sn_traced *traced;
  sn_captures *captures;
  sn_graph *graph;
  sn_tensor *
      *outside;   /* tensors that depend on no input: first those that earlier regions captured, then those met */
  sn_id *inside;  /* for each of these the node that stands for it in the region, or SN_NONE */
  size_t n_known; /* how many earlier regions captured */
  size_t n_outside, cap_outside, cap_inside;
} tracing;

static bool is_outside(const sn_tensor *t) { return t->id & OUTSIDE; }

static sn_status note_outside(tracing *w, sn_tensor *t, bool visit) {
  SN_TRY(sn_arena_grow(w->arena, (void **)&w->outside, &w->cap_outside, w->n_outside,
                       sizeof *w->outside));
  SN_TRY(sn_arena_grow(w->arena, (void **)&w->inside, &w->cap_inside, w->n_outside,
                       sizeof *w->inside));
  w->outside[w->n_outside] = t;
  w->inside[w->n_outside] = SN_NONE;
  if (visit) sn_visit(w->ctx, t, (sn_id)w->n_outside | OUTSIDE);
  w->n_outside++;
  return SN_OK;
}

static sn_status add_argument(tracing *w, size_t number, const sn_type *type, sn_id *out) {
  const int64_t attr = (int64_t)number;
  w->graph->origin = (sn_origin){0};
  return sn_graph_append(w->graph, SN_OP_input, NULL, 0, &attr, 1, type, out);
}

static sn_status capture(tracing *w, sn_tensor *t, sn_id *out) {
  sn_captures *c = w->captures;
  size_t at = t->id & ~OUTSIDE;
  if (at >= w->n_known) {
    at = c->n;
    SN_TRY(sn_arena_grow(w->arena, (void **)&c->tensors, &c->capacity, c->n, sizeof *c->tensors));
    c->tensors[c->n++] = t;
  }
  return add_argument(w, w->traced->n_inputs + at, &t->type, out);
}

/* *out is the node that stands for an outside tensor in the region. Numbers and broadcasts are made inside; others are
 * captured. */
static sn_status bring_in(tracing *w, sn_tensor *t, sn_id *out) {
  sn_id *known = &w->inside[t->id & ~OUTSIDE], x;
  if (*known != SN_NONE) {
    *out = *known;
    return SN_OK;
  }
  const bool lazy = t->state == SN_TENSOR_LAZY;
  w->graph->origin = t->origin;
  if (lazy && t->op == SN_OP_constant) {
    SN_TRY(sn_graph_append(w->graph, t->op, NULL, 0, t->attrs, t->n_attrs, &t->type, out));
  } else if (lazy && t->op == SN_OP_broadcast && t->inputs[0]->op != SN_OP_broadcast) {
    SN_TRY(bring_in(w, t->inputs[0], &x));
    SN_TRY(sn_graph_append(w->graph, t->op, &x, 1, t->attrs, t->n_attrs, &t->type, out));
  } else {
    SN_TRY(capture(w, t, out));
  }
  w->inside[t->id & ~OUTSIDE] = *out;
  return SN_OK;
}

static bool is_input(const sn_traced *traced, const sn_tensor *t) {
  bool found = false;
  for (size_t i = 0; i < traced->n_inputs && t->state == SN_TENSOR_PLACEHOLDER; i++)
    found = found || traced->inputs[i] == t;
  return found;
}

/* Sets `inside` of all tensors that are newer than the placeholders: the traced function made these. The list of live tensors
 * has the newest first. */
static void mark_inside(sn_context *ctx, const sn_traced *traced, bool inside) {
  for (sn_tensor *t = traced->n_inputs ? ctx->newest : NULL; t && !is_input(traced, t);
       t = t->older)
    t->inside = inside;
}

/* The walk stops at tensors that depend on no placeholder at all: they are outside. Broadcasts are walked through, since they
 * may be made inside. */
static sn_status meet(void *user, sn_tensor *t, bool *leaf) {
  tracing *w = user;
  SN_FAIL_IF(&w->ctx->env, t->state == SN_TENSOR_USED_UP, SN_ERR_ARGUMENT, NULL,
             "a tensor that was donated to a program has no value any more");
  const bool spread = t->state == SN_TENSOR_LAZY && t->op == SN_OP_broadcast;
  *leaf = t->state != SN_TENSOR_LAZY || (!t->traced && !t->inside && !spread);
  return *leaf ? note_outside(w, t, true) : SN_OK;
}

static sn_status finish(void *user, sn_tensor *t) {
  tracing *w = user;
  bool outside = !t->inside;
  for (uint32_t k = 0; k < t->n_inputs; k++) outside = outside && is_outside(t->inputs[k]);
  if (outside) return note_outside(w, t, true);
  sn_id few[SN_MAX_ARITY], *inputs = few, id;
  if (t->n_inputs > SN_MAX_ARITY)
    SN_TRY(sn_arena_alloc(w->arena, t->n_inputs, sizeof *inputs, (void **)&inputs));
  for (uint32_t k = 0; k < t->n_inputs; k++) {
    sn_tensor *x = t->inputs[k];
    if (is_outside(x))
      SN_TRY(bring_in(w, x, &inputs[k]));
    else
      inputs[k] = x->id;
  }
  int64_t attrs[SN_MAX_ATTRS];
  SN_TRY(sn_regions_number(w->graph, t->op, t->attrs, t->n_attrs, attrs));
  w->graph->origin = t->origin;
  SN_TRY(sn_graph_append(w->graph, t->op, inputs, t->n_inputs, attrs, t->n_attrs, &t->type, &id));
  sn_visit(w->ctx, t, id);
  return SN_OK;
}

static sn_status trace(tracing *w) {
  sn_context *ctx = w->ctx;
  sn_arena *arena = w->arena;
  const sn_traced *traced = w->traced;
  sn_captures *captures = w->captures;
  sn_graph *out = w->graph;
  sn_graph_init(out, arena, ctx->options.pass_on[SN_PASS_cse]);
  ctx->mark++;
  for (size_t i = 0; i < traced->n_inputs; i++) {
    sn_tensor *t = traced->inputs[i];
    sn_id id;
    SN_FAIL_IF(&ctx->env, sn_is_visited(ctx, t), SN_ERR_ARGUMENT, NULL,
               "the same tensor is given twice as an argument");
    SN_TRY(add_argument(w, i, &t->type, &id));
    sn_visit(ctx, t, id);
  }
  w->n_known = captures->n;
  for (size_t k = 0; k < captures->n; k++)
    SN_TRY(note_outside(w, captures->tensors[k], !sn_is_visited(ctx, captures->tensors[k])));
  sn_post_order walk = {.ctx = ctx, .arena = arena, .user = w, .meet = meet, .finish = finish};
  SN_TRY(sn_arena_alloc(arena, traced->n_outputs, sizeof *out->outputs, (void **)&out->outputs));
  out->n_outputs = traced->n_outputs;
  for (size_t i = 0; i < traced->n_outputs; i++) {
    sn_tensor *t = traced->outputs[i];
    SN_TRY(sn_walk_from(&walk, t));
    if (is_outside(t))
      SN_TRY(bring_in(w, t, &out->outputs[i]));
    else
      out->outputs[i] = t->id;
  }
  return SN_OK;
}

sn_status sn_trace_region(sn_context *ctx, sn_arena *arena, const sn_traced *traced, bool has_own,
                          sn_captures *captures, sn_graph *out) {
  tracing w = {.ctx = ctx, .arena = arena, .traced = traced, .captures = captures, .graph = out};
  if (has_own) mark_inside(ctx, traced, true);
  const sn_status status = trace(&w);
  if (has_own) mark_inside(ctx, traced, false);
  return status;
}
