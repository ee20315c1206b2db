#include "tensor/trace.h"

typedef struct walk {
  sn_context *ctx;
  sn_arena *arena;
  sn_trace_mode mode;
  sn_trace *trace;
  sn_tensor **stack;
  size_t n_stack, cap_stack;
} walk;

bool sn_trace_is_free_number(const sn_tensor *t) {
  static const double folded[] = {0, 1, -1, 2, 0.5};
  if (t->op != SN_OP_constant || t->state != SN_TENSOR_LAZY) return false;
  for (size_t i = 0; i < sizeof folded / sizeof *folded; i++)
    if (t->attrs[0] == sn_double_attr(folded[i])) return false;
  return true;
}

static bool is_visited(const walk *w, const sn_tensor *t) { return t->mark == w->ctx->mark; }

static sn_status add_node(walk *w, sn_tensor *t, sn_op op, const sn_id *inputs, size_t n_inputs,
                          const int64_t *attrs, size_t n_attrs) {
  sn_trace *tr = w->trace;
  const size_t before = tr->graph.n_nodes;
  /* Variables of equal values are still different ones: each has a derivative of its own. */
  const bool share = tr->graph.share;
  tr->graph.share = share && !(w->mode == SN_TRACE_GRAD && op == SN_OP_identity);
  const sn_status status =
      sn_graph_add(&tr->graph, op, inputs, n_inputs, attrs, n_attrs, &t->type, &t->id);
  tr->graph.share = share;
  SN_TRY(status);
  t->mark = w->ctx->mark;
  if (tr->graph.n_nodes == before) return SN_OK; /* an equal node was there */
  SN_TRY(sn_arena_grow(w->arena, (void **)&tr->tensor_of, &tr->cap_tensor_of, before,
                       sizeof *tr->tensor_of));
  tr->tensor_of[before] = t;
  return SN_OK;
}

static sn_status add_argument(walk *w, sn_tensor *t) {
  sn_trace *tr = w->trace;
  SN_TRY(sn_arena_grow(w->arena, (void **)&tr->arguments, &tr->cap_arguments, tr->n_arguments,
                       sizeof *tr->arguments));
  const int64_t number = (int64_t)tr->n_arguments;
  tr->arguments[tr->n_arguments++] = t;
  return add_node(w, t, SN_OP_input, NULL, 0, &number, 1);
}

/* A tensor whose elements come from outside the graph. */
static bool is_leaf(const walk *w, const sn_tensor *t) {
  if (t->state == SN_TENSOR_VALUE) return !(w->mode == SN_TRACE_GRAD && t->tracked && t->n_inputs);
  return w->mode == SN_TRACE_EVAL && sn_trace_is_free_number(t);
}

static sn_status visit_leaf(walk *w, sn_tensor *t, bool *leaf) {
  *leaf = true;
  SN_FAIL_IF(&w->ctx->env, t->state == SN_TENSOR_USED_UP, SN_ERR_ARGUMENT,
             "a tensor that was donated to a program has no value any more");
  if (t->state == SN_TENSOR_PLACEHOLDER) {
    SN_FAIL_IF(&w->ctx->env, w->mode != SN_TRACE_GRAD, SN_ERR_ARGUMENT,
               "a tensor of a function being traced has no value yet");
    return add_argument(w, t);
  }
  if (is_leaf(w, t)) return add_argument(w, t);
  *leaf = false;
  return SN_OK;
}

static sn_status push(walk *w, sn_tensor *t) {
  SN_TRY(sn_arena_grow(w->arena, (void **)&w->stack, &w->cap_stack, w->n_stack, sizeof *w->stack));
  w->stack[w->n_stack++] = t;
  return SN_OK;
}

static sn_status add_lazy(walk *w, sn_tensor *t) {
  sn_id few[SN_MAX_ARITY], *inputs = few;
  if (t->n_inputs > SN_MAX_ARITY)
    SN_TRY(sn_arena_alloc(w->arena, t->n_inputs, sizeof *inputs, (void **)&inputs));
  for (uint32_t k = 0; k < t->n_inputs; k++) inputs[k] = t->inputs[k]->id;
  return add_node(w, t, t->op, inputs, t->n_inputs, t->attrs, t->n_attrs);
}

/* A tensor stays on the stack until all its inputs have nodes; each is looked at once per input. */
static sn_status walk_from(walk *w, sn_tensor *root) {
  SN_TRY(push(w, root));
  while (w->n_stack) {
    sn_tensor *t = w->stack[w->n_stack - 1];
    bool leaf = is_visited(w, t);
    if (!leaf) SN_TRY(visit_leaf(w, t, &leaf));
    bool ready = true;
    for (uint32_t k = 0; !leaf && k < t->n_inputs; k++) {
      if (is_visited(w, t->inputs[k])) continue;
      SN_TRY(push(w, t->inputs[k]));
      ready = false;
    }
    if (!ready) continue;
    if (!leaf) SN_TRY(add_lazy(w, t));
    w->n_stack--;
  }
  return SN_OK;
}

sn_status sn_trace_tensors(sn_context *ctx, sn_arena *arena, sn_trace_mode mode,
                           sn_tensor *const *stops, size_t n_stops, sn_tensor *const *outputs,
                           size_t n_outputs, sn_trace *out) {
  *out = (sn_trace){0};
  sn_graph_init(&out->graph, arena, ctx->options.pass_on[SN_PASS_cse]);
  ctx->mark++;
  walk w = {.ctx = ctx, .arena = arena, .mode = mode, .trace = out};
  for (size_t i = 0; i < n_stops; i++) {
    SN_FAIL_IF(&ctx->env, is_visited(&w, stops[i]), SN_ERR_ARGUMENT,
               "the same tensor is given twice as an argument");
    SN_TRY(add_argument(&w, stops[i]));
  }
  for (size_t i = 0; i < n_outputs; i++) SN_TRY(walk_from(&w, outputs[i]));
  SN_TRY(sn_arena_alloc(arena, n_outputs, sizeof(sn_id), (void **)&out->graph.outputs));
  out->graph.n_outputs = n_outputs;
  for (size_t i = 0; i < n_outputs; i++) out->graph.outputs[i] = outputs[i]->id;
  out->graph.n_arguments = out->n_arguments;
  return SN_OK;
}
