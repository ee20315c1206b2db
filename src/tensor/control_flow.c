/* control_flow.c - nodes with regions, made of functions that were traced: loops and conditions (sn_scan, sn_while, sn_cond),
 * and functions that stay whole for differentiation (sn_checkpoint, sn_custom). */
#include "tensor/apply.h"
#include "tensor/eval.h"
#include "tensor/trace_region.h"

/* The state of one such call. Regions are traced into arena; the tensors that they capture become the node's last inputs. */
typedef struct call {
  sn_context *ctx;
  sn_arena *arena;
  const char *name;
  sn_captures captures;
  sn_graph graphs[SN_MAX_REGIONS];
  sn_region *regions[SN_MAX_REGIONS];
  size_t n_inputs[SN_MAX_REGIONS]; /* arguments of a region, without captures */
  int n_regions;
  size_t n_kept; /* outputs of a checkpoint's region that are kept for the derivative and are no results */
  bool has_own;  /* nodes that a function makes of captured tensors alone stay in its region (sn_trace_region) */
} call;

/* ---- checking -------------------------------------------------------------------------------- */

static sn_status differ(const call *c, const char *what, size_t k, const sn_type *a,
                        const char *and, const sn_type *b) {
  const bool shapes = !sn_same_dims(a, b);
  return SN_FAIL(&c->ctx->env, shapes ? SN_ERR_SHAPE : SN_ERR_DTYPE, c->name,
                 "%s %zu is %s %*p, %s %s %*p", what, k, sn_dtype_name(a->dtype), a->rank, a->dims,
                 and, sn_dtype_name(b->dtype), b->rank, b->dims);
}

static sn_status check_carries(const call *c, const sn_traced *body, sn_tensor *const *carries,
                               size_t n) {
  SN_FAIL_IF(&c->ctx->env, body->n_inputs < n || body->n_outputs < n, SN_ERR_ARGUMENT, c->name,
             "the body has %zu arguments and %zu results, there are %zu carries", body->n_inputs,
             body->n_outputs, n);
  for (size_t k = 0; k < n; k++) {
    const sn_type *type = &carries[k]->type;
    if (!sn_type_equal(type, &body->inputs[k]->type))
      return differ(c, "carry", k, type, "the body's argument", &body->inputs[k]->type);
    if (!sn_type_equal(type, &body->outputs[k]->type))
      return differ(c, "carry", k, type, "the body makes it", &body->outputs[k]->type);
  }
  return SN_OK;
}

static sn_status check_stacks(const call *c, const sn_traced *body, size_t n_carries,
                              sn_tensor *const *stacks, size_t n, int64_t length) {
  for (size_t k = 0; k < n; k++) {
    const sn_type *stack = &stacks[k]->type;
    SN_FAIL_IF(&c->ctx->env, stack->rank == 0 || stack->dims[0] != length, SN_ERR_SHAPE, c->name,
               "input %zu has shape %*p, not %lld slices", k, stack->rank, stack->dims,
               (long long)length);
    const sn_type slice = sn_type_slice(stack);
    if (!sn_type_equal(&slice, &body->inputs[n_carries + k]->type))
      return differ(c, "a slice of input", k, &slice, "the body's argument",
                    &body->inputs[n_carries + k]->type);
  }
  for (size_t k = n_carries; k < body->n_outputs; k++)
    SN_FAIL_IF(&c->ctx->env, body->outputs[k]->type.rank == SN_MAX_RANK, SN_ERR_SHAPE, c->name,
               "result %zu has %d dimensions already", k - n_carries, SN_MAX_RANK);
  return SN_OK;
}

static sn_status accept(const call *c, const sn_traced *traced) {
  SN_TRY(sn_context_check_tensors(c->ctx, traced->inputs, traced->n_inputs, c->name));
  SN_TRY(sn_context_check_tensors(c->ctx, traced->outputs, traced->n_outputs, c->name));
  for (size_t i = 0; i < traced->n_inputs; i++)
    SN_FAIL_IF(&c->ctx->env, traced->inputs[i]->state != SN_TENSOR_PLACEHOLDER, SN_ERR_ARGUMENT,
               c->name, "argument %zu of a traced function is no placeholder", i);
  return SN_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

static sn_status trace(call *c, const sn_traced *traced) {
  SN_TRY(sn_trace_region(c->ctx, c->arena, traced, c->has_own, &c->captures,
                         &c->graphs[c->n_regions]));
  c->n_inputs[c->n_regions++] = traced->n_inputs;
  return SN_OK;
}

/* Makes the regions; each has all captures as its last arguments, whether it reads them or not. */
static sn_status make_regions(call *c) {
  for (int r = 0; r < c->n_regions; r++) {
    c->graphs[r].n_arguments = c->n_inputs[r] + c->captures.n;
    SN_TRY(sn_region_new(&c->ctx->env, &c->graphs[r], &c->regions[r]));
  }
  return SN_OK;
}

/* Makes the node of control flow, whose inputs are the n given ones, then the captures. */
static sn_status make_node(call *c, sn_op op, sn_tensor *const *inputs, size_t n,
                           const int64_t *numbers, size_t n_numbers, sn_tensor **out) {
  sn_tensor **all;
  int64_t attrs[SN_MAX_ATTRS];
  const sn_type type = sn_control_type();
  SN_TRY(sn_arena_alloc(c->arena, n + c->captures.n, sizeof *all, (void **)&all));
  if (n) memcpy(all, inputs, n * sizeof *all);
  if (c->captures.n) memcpy(all + n, c->captures.tensors, c->captures.n * sizeof *all);
  for (int r = 0; r < c->n_regions; r++) attrs[r] = sn_region_attr(c->regions[r]);
  if (n_numbers) memcpy(attrs + c->n_regions, numbers, n_numbers * sizeof *numbers);
  return sn_tensor_new(c->ctx, op, all, n + c->captures.n, attrs, (size_t)c->n_regions + n_numbers,
                       &type, out);
}

/* Makes a tensor for each result of the node. */
static sn_status make_results(const call *c, sn_tensor *node, sn_tensor **out) {
  const sn_graph *regions[] = {&c->graphs[0], &c->graphs[1]};
  const sn_control control = sn_control_of(node->op, node->attrs, node->n_inputs, regions);
  sn_status status = SN_OK;
  size_t made = 0;
  while (!status && made < control.n_results - c->n_kept) {
    const int64_t number = (int64_t)made;
    const sn_type type = sn_control_result(&control, made);
    status = sn_type_check(&c->ctx->env, &type, c->name);
    if (!status)
      status = sn_tensor_new(c->ctx, SN_OP_result, &node, 1, &number, 1, &type, &out[made]);
    if (!status) made++;
  }
  while (status && made) sn_release(out[--made]);
  return status;
}

/* Unless it is traced or tracked, control flow is run at once, with all of its results. */
static sn_status run_now(const call *c, sn_tensor *const *results, size_t n) {
  uint32_t ticket;
  if (!n || results[0]->traced || results[0]->tracked) return SN_OK;
  return sn_eval_tensors(c->ctx, results, n, &ticket);
}

static sn_status finish(call *c, sn_op op, sn_tensor *const *inputs, size_t n,
                        const int64_t *numbers, size_t n_numbers, sn_tensor **out) {
  sn_tensor *node;
  SN_TRY(make_node(c, op, inputs, n, numbers, n_numbers, &node));
  const size_t n_results = c->graphs[0].n_outputs - c->n_kept;
  sn_status status = sn_scope_reserve(c->ctx, n_results);
  if (!status) status = make_results(c, node, out);
  sn_release(node);
  SN_TRY(status);
  status = run_now(c, out, n_results);
  for (size_t k = 0; k < n_results; k++) {
    if (status)
      sn_release(out[k]);
    else
      out[k] = sn_hand_out(out[k]);
  }
  return status;
}

static sn_status scan(call *c, const sn_traced *body, size_t n_carries, sn_tensor *const *inputs,
                      int64_t length, bool reverse, sn_tensor **out) {
  sn_env *env = &c->ctx->env;
  SN_TRY(accept(c, body));
  SN_FAIL_IF(env, length < 0, SN_ERR_ARGUMENT, c->name, "length %lld is negative",
             (long long)length);
  SN_TRY(check_carries(c, body, inputs, n_carries));
  const size_t n_stacks = body->n_inputs - n_carries;
  SN_TRY(check_stacks(c, body, n_carries, inputs + n_carries, n_stacks, length));
  SN_TRY(trace(c, body));
  SN_TRY(make_regions(c));
  const int64_t numbers[] = {(int64_t)n_carries, (int64_t)n_stacks, length, reverse};
  return finish(c, SN_OP_scan, inputs, body->n_inputs, numbers, 4, out);
}

static sn_status while_loop(call *c, const sn_traced *test, const sn_traced *body,
                            sn_tensor *const *carries, sn_tensor **out) {
  const size_t n = body->n_inputs;
  const sn_type bool_scalar = sn_type_scalar(SN_BOOL);
  SN_TRY(accept(c, test));
  SN_TRY(accept(c, body));
  SN_TRY(check_carries(c, body, carries, n));
  SN_FAIL_IF(&c->ctx->env, test->n_inputs != n || test->n_outputs != 1 || body->n_outputs != n,
             SN_ERR_ARGUMENT, c->name,
             "test and body must take %zu carries, the test return one bool", n);
  for (size_t k = 0; k < n; k++)
    if (!sn_type_equal(&carries[k]->type, &test->inputs[k]->type))
      return differ(c, "carry", k, &carries[k]->type, "the test's argument",
                    &test->inputs[k]->type);
  if (!sn_type_equal(&test->outputs[0]->type, &bool_scalar))
    return differ(c, "the test's result", 0, &test->outputs[0]->type, "it must be", &bool_scalar);
  SN_TRY(trace(c, body));
  SN_TRY(trace(c, test));
  SN_TRY(make_regions(c));
  const int64_t numbers[] = {(int64_t)n};
  return finish(c, SN_OP_while_loop, carries, n, numbers, 1, out);
}

static sn_status cond(call *c, sn_tensor *condition, const sn_traced *on_true,
                      const sn_traced *on_false, sn_tensor *const *operands, sn_tensor **out) {
  const size_t n = on_true->n_inputs;
  const sn_type bool_scalar = sn_type_scalar(SN_BOOL);
  sn_tensor **inputs;
  SN_TRY(accept(c, on_true));
  SN_TRY(accept(c, on_false));
  if (!sn_type_equal(&condition->type, &bool_scalar))
    return differ(c, "the condition", 0, &condition->type, "it must be", &bool_scalar);
  SN_FAIL_IF(&c->ctx->env, on_false->n_inputs != n || on_false->n_outputs != on_true->n_outputs,
             SN_ERR_ARGUMENT, c->name,
             "the branches take %zu and %zu operands and return %zu and %zu", n, on_false->n_inputs,
             on_true->n_outputs, on_false->n_outputs);
  for (size_t k = 0; k < n; k++) {
    const sn_type *type = &operands[k]->type;
    if (!sn_type_equal(type, &on_true->inputs[k]->type))
      return differ(c, "operand", k, type, "the branch's argument", &on_true->inputs[k]->type);
    if (!sn_type_equal(type, &on_false->inputs[k]->type))
      return differ(c, "operand", k, type, "the other branch's argument",
                    &on_false->inputs[k]->type);
  }
  for (size_t k = 0; k < on_true->n_outputs; k++)
    if (!sn_type_equal(&on_true->outputs[k]->type, &on_false->outputs[k]->type))
      return differ(c, "result", k, &on_true->outputs[k]->type, "of the other branch",
                    &on_false->outputs[k]->type);
  c->has_own = true;
  SN_TRY(trace(c, on_true));
  SN_TRY(trace(c, on_false));
  SN_TRY(make_regions(c));
  SN_TRY(sn_arena_alloc(c->arena, n + 1, sizeof *inputs, (void **)&inputs));
  inputs[0] = condition;
  if (n) memcpy(inputs + 1, operands, n * sizeof *inputs);
  return finish(c, SN_OP_cond, inputs, n + 1, NULL, 0, out);
}

/* ---- functions that stay whole --------------------------------------------------------------- */

static sn_status check_operands(const call *c, const sn_traced *f, sn_tensor *const *operands) {
  for (size_t k = 0; k < f->n_inputs; k++)
    if (!sn_type_equal(&operands[k]->type, &f->inputs[k]->type))
      return differ(c, "operand", k, &operands[k]->type, "the function's argument",
                    &f->inputs[k]->type);
  return SN_OK;
}

static bool is_product(const sn_node *node) {
  return node->op == SN_OP_matmul || node->op == SN_OP_conv;
}

static bool is_named(const sn_graph *g, sn_id id, const sn_save_policy *keep) {
  bool found = false;
  for (size_t i = 0; i < keep->n_names && g->nodes[id].op == SN_OP_named; i++)
    found = found || *sn_graph_attrs(g, id) == keep->names[i];
  return found;
}

/* Makes the values that are to be kept further outputs of the body. */
static sn_status keep_values(call *c, const sn_save_policy *keep) {
  sn_graph *g = &c->graphs[0];
  sn_id *outputs;
  SN_TRY(sn_arena_alloc(c->arena, g->n_outputs + g->n_nodes, sizeof *outputs, (void **)&outputs));
  if (g->n_outputs) memcpy(outputs, g->outputs, g->n_outputs * sizeof *outputs);
  for (sn_id id = 0; id < g->n_nodes; id++)
    if ((keep->products && is_product(&g->nodes[id])) || is_named(g, id, keep))
      outputs[g->n_outputs + c->n_kept++] = id;
  g->outputs = outputs;
  g->n_outputs += c->n_kept;
  return SN_OK;
}

static sn_status checkpoint(call *c, const sn_traced *body, sn_tensor *const *operands,
                            const sn_save_policy *keep, sn_tensor **out) {
  SN_TRY(accept(c, body));
  SN_TRY(check_operands(c, body, operands));
  c->has_own = true;
  SN_TRY(trace(c, body));
  if (keep) SN_TRY(keep_values(c, keep));
  SN_TRY(make_regions(c));
  const int64_t kept = (int64_t)c->n_kept;
  return finish(c, SN_OP_checkpoint, operands, body->n_inputs, &kept, 1, out);
}

/* Checks the derivatives that a rule takes or makes: there must be one for each float among the tensors `of`. */
static sn_status check_derivatives(const call *c, const char *what, sn_tensor *const *derivatives,
                                   size_t n, sn_tensor *const *of, size_t n_of) {
  size_t at = 0;
  for (size_t k = 0; k < n_of; k++) {
    if (!sn_dtype_is_float(of[k]->type.dtype)) continue;
    if (at < n && !sn_type_equal(&derivatives[at]->type, &of[k]->type))
      return differ(c, what, at, &derivatives[at]->type, "what it is of", &of[k]->type);
    at++;
  }
  SN_FAIL_IF(&c->ctx->env, at != n, SN_ERR_ARGUMENT, c->name, "there are %zu of %s, expected %zu",
             n, what, at);
  return SN_OK;
}

static sn_status custom(call *c, const sn_traced *body, const sn_traced *rule, bool reverse,
                        sn_tensor *const *arguments, sn_tensor **out) {
  const size_t n = body->n_inputs;
  SN_TRY(accept(c, body));
  SN_TRY(accept(c, rule));
  SN_TRY(check_operands(c, body, arguments));
  SN_FAIL_IF(&c->ctx->env, rule->n_inputs < n, SN_ERR_ARGUMENT, c->name,
             "the rule has %zu arguments, the function %zu", rule->n_inputs, n);
  const sn_traced own = {rule->inputs, n, NULL, 0};
  SN_TRY(check_operands(c, &own, arguments));
  const sn_traced ends[] = {{arguments, n, NULL, 0}, {body->outputs, body->n_outputs, NULL, 0}};
  SN_TRY(check_derivatives(c, "the derivatives that the rule takes", rule->inputs + n,
                           rule->n_inputs - n, ends[reverse].inputs, ends[reverse].n_inputs));
  SN_TRY(check_derivatives(c, "the derivatives that the rule makes", rule->outputs, rule->n_outputs,
                           ends[!reverse].inputs, ends[!reverse].n_inputs));
  SN_TRY(trace(c, body));
  SN_TRY(trace(c, rule));
  SN_TRY(make_regions(c));
  const int64_t numbers[] = {(int64_t)n, reverse};
  return finish(c, SN_OP_custom, arguments, n, numbers, 2, out);
}

/* ---- public ---------------------------------------------------------------------------------- */

static void begin(call *c, sn_context *ctx, sn_arena *arena, const char *name) {
  sn_arena_init(arena, &ctx->env);
  *c = (call){.ctx = ctx, .arena = arena, .name = name};
}

static sn_status end(call *c, sn_status status) {
  for (int r = 0; r < SN_MAX_REGIONS; r++) sn_region_release(c->regions[r]);
  sn_arena_free(c->arena);
  return sn_context_report(c->ctx, status);
}

sn_status sn_scan(sn_context *ctx, const sn_traced *body, size_t n_carries,
                  sn_tensor *const *inputs, int64_t length, bool reverse, sn_tensor **out) {
  call c;
  sn_arena arena;
  SN_TRY(sn_context_check_tensors(ctx, inputs, body->n_inputs, "scan: input"));
  begin(&c, ctx, &arena, "scan");
  return end(&c, scan(&c, body, n_carries, inputs, length, reverse, out));
}

sn_status sn_while(sn_context *ctx, const sn_traced *test, const sn_traced *body,
                   sn_tensor *const *carries, sn_tensor **out) {
  call c;
  sn_arena arena;
  SN_TRY(sn_context_check_tensors(ctx, carries, body->n_inputs, "whileLoop: carry"));
  begin(&c, ctx, &arena, "whileLoop");
  return end(&c, while_loop(&c, test, body, carries, out));
}

sn_status sn_checkpoint(sn_context *ctx, const sn_traced *body, sn_tensor *const *operands,
                        const sn_save_policy *keep, sn_tensor **out) {
  call c;
  sn_arena arena;
  SN_TRY(sn_context_check_tensors(ctx, operands, body->n_inputs, "checkpoint: operand"));
  begin(&c, ctx, &arena, "checkpoint");
  return end(&c, checkpoint(&c, body, operands, keep, out));
}

sn_status sn_custom(sn_context *ctx, const sn_traced *body, const sn_traced *rule, bool reverse,
                    sn_tensor *const *arguments, sn_tensor **out) {
  call c;
  sn_arena arena;
  SN_TRY(sn_context_check_tensors(ctx, arguments, body->n_inputs, "custom: argument"));
  begin(&c, ctx, &arena, reverse ? "customVjp" : "customJvp");
  return end(&c, custom(&c, body, rule, reverse, arguments, out));
}

sn_tensor *sn_named(sn_tensor *x, int32_t name) {
  const int64_t number = name;
  return sn_hand_out(x ? sn_node_of(x->ctx, SN_OP_named, &x, 1, &number, 1, NULL) : NULL);
}

sn_status sn_cond(sn_tensor *condition, const sn_traced *on_true, const sn_traced *on_false,
                  sn_tensor *const *operands, sn_tensor **out) {
  call c;
  sn_arena arena;
  if (!condition) return SN_ERR_ARGUMENT;
  SN_TRY(sn_context_check_tensors(condition->ctx, operands, on_true->n_inputs, "cond: operand"));
  begin(&c, condition->ctx, &arena, "cond");
  return end(&c, cond(&c, condition, on_true, on_false, operands, out));
}
