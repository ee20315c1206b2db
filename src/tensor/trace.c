#include "tensor/trace.h"

#include "tensor/post_order.h"
#include "tensor/region.h"

typedef struct tracing {
  sn_context *ctx;
  sn_arena *arena;
  sn_trace_mode mode;
  sn_trace *trace;
} tracing;

bool sn_trace_is_free_number(const sn_tensor *t) {
  static const double folded[] = {0, 1, -1, 2, 0.5};
  if (t->op != SN_OP_constant || t->state != SN_TENSOR_LAZY) return false;
  for (size_t i = 0; i < sizeof folded / sizeof *folded; i++)
    if (t->attrs[0] == sn_double_attr(folded[i])) return false;
  return true;
}

static sn_status add_argument(tracing *w, sn_tensor *t) {
  sn_trace *tr = w->trace;
  SN_TRY(sn_arena_grow(w->arena, (void **)&tr->arguments, &tr->cap_arguments, tr->n_arguments,
                       sizeof *tr->arguments));
  const int64_t number = (int64_t)tr->n_arguments;
  sn_id id;
  tr->graph.origin = t->origin;
  SN_TRY(sn_graph_append(&tr->graph, SN_OP_input, NULL, 0, &number, 1, &t->type, &id));
  tr->arguments[tr->n_arguments++] = t;
  sn_visit(w->ctx, t, id);
  return SN_OK;
}

static sn_status meet(void *user, sn_tensor *t, bool *leaf) {
  tracing *w = user;
  SN_FAIL_IF(&w->ctx->env, t->state == SN_TENSOR_USED_UP, SN_ERR_ARGUMENT, NULL,
             "a tensor that was donated to a program has no value any more");
  SN_FAIL_IF(&w->ctx->env, t->state == SN_TENSOR_PLACEHOLDER, SN_ERR_ARGUMENT, NULL,
             "a tensor of a function being traced has no value yet" SN_HINT
             "return it from the function, and read it outside");
  *leaf = t->state == SN_TENSOR_VALUE || (w->mode == SN_TRACE_EVAL && sn_trace_is_free_number(t));
  return *leaf ? add_argument(w, t) : SN_OK;
}

static sn_status finish(void *user, sn_tensor *t) {
  tracing *w = user;
  sn_id few[SN_MAX_ARITY], *inputs, id;
  int64_t numbered[SN_MAX_ATTRS];
  const int64_t *attrs = t->attrs;
  if (sn_op_is_control(t->op)) {
    SN_TRY(sn_regions_number(&w->trace->graph, t->op, attrs, t->n_attrs, numbered));
    attrs = numbered;
  }
  SN_TRY(sn_input_ids(w->arena, t, few, &inputs));
  w->trace->graph.origin = t->origin;
  SN_TRY(sn_graph_append(&w->trace->graph, t->op, inputs, t->n_inputs, attrs, t->n_attrs, &t->type,
                         &id));
  sn_visit(w->ctx, t, id);
  return SN_OK;
}

sn_status sn_trace_tensors(sn_context *ctx, sn_arena *arena, sn_trace_mode mode,
                           sn_tensor *const *stops, size_t n_stops, sn_tensor *const *outputs,
                           size_t n_outputs, sn_trace *out) {
  *out = (sn_trace){0};
  sn_graph_init(&out->graph, arena, ctx->options.pass_on[SN_PASS_cse]);
  ctx->mark++;
  tracing w = {ctx, arena, mode, out};
  sn_post_order walk = {.ctx = ctx, .arena = arena, .user = &w, .meet = meet, .finish = finish};
  for (size_t i = 0; i < n_stops; i++) {
    SN_FAIL_IF(&ctx->env, sn_is_visited(ctx, stops[i]), SN_ERR_ARGUMENT, NULL,
               "the same tensor is given twice as an argument");
    SN_TRY(add_argument(&w, stops[i]));
  }
  for (size_t i = 0; i < n_outputs; i++) SN_TRY(sn_walk_from(&walk, outputs[i]));
  SN_TRY(sn_arena_alloc(arena, n_outputs, sizeof(sn_id), (void **)&out->graph.outputs));
  out->graph.n_outputs = n_outputs;
  for (size_t i = 0; i < n_outputs; i++) out->graph.outputs[i] = outputs[i]->id;
  out->graph.n_arguments = out->n_arguments;
  return SN_OK;
}
