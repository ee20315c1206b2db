#include "twin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/attributes.h"
#include "graph/reference.h"
#include "tensor/apply.h"

static void check(twins *w, sn_status status) {
  if (status) fail_msg("reference graph: %s", w->env.error.message);
}

static void check_tensor(twins *w, const sn_tensor *t, const char *what) {
  if (!t) fail_msg("%s: %s", what, sn_error_message(w->ctx));
}

void twins_begin(twins *w, sn_context *ctx, bool compiled) {
  memset(w, 0, sizeof *w);
  w->ctx = ctx;
  w->compiled = compiled;
  w->env = ledger_env(&w->ledger);
  w->fused = ctx->target.fused; /* the same bits are asked for */
  sn_arena_init(&w->arena, &w->env);
  sn_graph_init(&w->graph, &w->arena, false);
  sn_error_clear(ctx);
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
}

void twins_end(twins *w) {
  sn_scope_end(w->ctx);
  for (size_t i = 0; i < w->n_values; i++) free(w->values[i]);
  free(w->values);
  sn_arena_free(&w->arena);
}

/* ---- the reference side ---------------------------------------------------------------------- */

static sn_id add_node(twins *w, sn_op op, const sn_id *inputs, size_t n, const int64_t *attrs,
                      size_t n_attrs, const sn_type *type) {
  sn_id id;
  check(w, sn_graph_add(&w->graph, op, inputs, n, attrs, n_attrs, type, &id));
  if (id == w->n_values) {
    w->values = realloc(w->values, (id + 1) * sizeof *w->values);
    w->n_values++;
  }
  w->values[id] = calloc(1, sn_type_bytes(&w->graph.nodes[id].type) + 1);
  assert_non_null(w->values[id]);
  return id;
}

static sn_id evaluate(twins *w, sn_op op, const sn_id *inputs, size_t n, const int64_t *attrs,
                      size_t n_attrs, const sn_type *type) {
  const sn_id id = add_node(w, op, inputs, n, attrs, n_attrs, type);
  const void *in[TWIN_MAX_INPUTS];
  for (size_t k = 0; k < n; k++) in[k] = w->values[sn_graph_inputs(&w->graph, id)[k]];
  sn_ref_node(&w->graph, w->fused, id, in, w->values[id]);
  return id;
}

const sn_type *twin_type(const twins *w, twin x) { return &w->graph.nodes[x.id].type; }
const void *twin_value(const twins *w, twin x) { return w->values[x.id]; }

/* Both sides of one op must have the same type. */
static twin pair(twins *w, sn_tensor *t, sn_id id) {
  const char *name = sn_op_describe(w->graph.nodes[id].op)->name;
  check_tensor(w, t, name);
  const sn_type *type = &w->graph.nodes[id].type;
  if (sn_dtype_of(t) != type->dtype || sn_rank(t) != type->rank ||
      memcmp(sn_dims(t), type->dims, (size_t)type->rank * sizeof *type->dims) != 0)
    fail_msg("%s: the tensor and the reference differ in type", name);
  return (twin){t, id};
}

/* ---- leaves ---------------------------------------------------------------------------------- */

twin twin_input(twins *w, const sn_type *type, const void *data) {
  const int64_t number = (int64_t)w->n_inputs;
  assert_true(w->n_inputs < TWIN_MAX_INPUTS);
  const sn_id id = add_node(w, SN_OP_input, NULL, 0, &number, 1, type);
  memcpy(w->values[id], data, sn_type_bytes(type));
  sn_tensor *t = w->compiled ? sn_placeholder(w->ctx, type->dtype, type->rank, type->dims)
                             : sn_from_data(w->ctx, type->dtype, type->rank, type->dims, data);
  w->placeholders[w->n_inputs] = t;
  w->inputs[w->n_inputs++] = id;
  return pair(w, t, id);
}

static sn_id spread(twins *w, sn_id x, const sn_type *type) {
  if (sn_same_dims(&w->graph.nodes[x].type, type)) return x;
  return evaluate(w, SN_OP_broadcast, &x, 1, NULL, 0, type);
}

twin twin_full(twins *w, const sn_type *type, double value) {
  const sn_type scalar = sn_type_scalar(type->dtype);
  const int64_t bits = sn_double_attr(value);
  const sn_id one = evaluate(w, SN_OP_constant, NULL, 0, &bits, 1, &scalar);
  return pair(w, sn_full(w->ctx, type->dtype, type->rank, type->dims, value), spread(w, one, type));
}

twin twin_scalar(twins *w, sn_dtype dtype, double value) {
  const sn_type scalar = sn_type_scalar(dtype);
  const int64_t bits = sn_double_attr(value);
  sn_tensor *t = sn_scalar(w->ctx, value);
  check_tensor(w, t, "scalar");
  return (twin){t, evaluate(w, SN_OP_constant, NULL, 0, &bits, 1, &scalar)};
}

twin twin_iota(twins *w, const sn_type *type, int axis) {
  const int64_t attr = axis;
  return pair(w, sn_iota(w->ctx, type->dtype, type->rank, type->dims, axis),
              evaluate(w, SN_OP_iota, NULL, 0, &attr, 1, type));
}

/* ---- ops ------------------------------------------------------------------------------------- */

twin twin_apply(twins *w, sn_op op, const twin *x, size_t n) {
  sn_tensor *t[SN_MAX_ARITY] = {NULL};
  sn_id ids[SN_MAX_ARITY] = {0};
  sn_type dims = *twin_type(w, x[0]);
  for (size_t k = 1; k < n; k++) {
    const sn_type so_far = dims;
    check(w, sn_broadcast_dims(&w->env, "twin", &so_far, twin_type(w, x[k]), &dims));
  }
  for (size_t k = 0; k < n; k++) {
    t[k] = x[k].t;
    sn_type type = dims;
    type.dtype = twin_type(w, x[k])->dtype;
    ids[k] = spread(w, x[k].id, &type);
  }
  sn_tensor *y = case_apply(op == w->planted ? w->planted_as : op, t, n);
  return pair(w, y, evaluate(w, op, ids, n, NULL, 0, NULL));
}

twin twin_astype(twins *w, twin x, sn_dtype dtype) {
  const sn_type type = sn_type_scalar(dtype);
  return pair(w, sn_astype(x.t, dtype), evaluate(w, SN_OP_astype, &x.id, 1, NULL, 0, &type));
}

twin twin_bitcast(twins *w, twin x, sn_dtype dtype) {
  const sn_type type = sn_type_scalar(dtype);
  return pair(w, sn_bitcast(x.t, dtype), evaluate(w, SN_OP_bitcast, &x.id, 1, NULL, 0, &type));
}

twin twin_reshape(twins *w, twin x, const sn_type *type) {
  return pair(w, sn_reshape(x.t, type->rank, type->dims),
              evaluate(w, SN_OP_reshape, &x.id, 1, NULL, 0, type));
}

twin twin_transpose(twins *w, twin x, const int *perm) {
  int64_t attrs[SN_MAX_RANK];
  const sn_type type = *twin_type(w, x);
  for (int i = 0; i < type.rank; i++) attrs[i] = perm ? perm[i] : type.rank - 1 - i;
  return pair(w, sn_transpose(x.t, perm),
              evaluate(w, SN_OP_transpose, &x.id, 1, attrs, (size_t)type.rank, &type));
}

twin twin_broadcast(twins *w, twin x, const sn_type *type) {
  return pair(w, sn_broadcast_to(x.t, type->rank, type->dims), spread(w, x.id, type));
}

twin twin_slice(twins *w, twin x, const int64_t *begin, const int64_t *size,
                const int64_t *stride) {
  sn_type type = *twin_type(w, x);
  int64_t attrs[2 * SN_MAX_RANK];
  for (int i = 0; i < type.rank; i++) {
    attrs[i] = begin[i];
    attrs[type.rank + i] = stride[i];
    type.dims[i] = size[i];
  }
  return pair(w, sn_slice(x.t, begin, size, stride),
              evaluate(w, SN_OP_slice, &x.id, 1, attrs, 2 * (size_t)type.rank, &type));
}

twin twin_flip(twins *w, twin x) {
  const sn_type *type = twin_type(w, x);
  int64_t begin[SN_MAX_RANK], stride[SN_MAX_RANK];
  for (int i = 0; i < type->rank; i++) {
    begin[i] = type->dims[i] - 1;
    stride[i] = -1;
  }
  return twin_slice(w, x, begin,
                    (const int64_t[SN_MAX_RANK]){type->dims[0], type->dims[1], type->dims[2],
                                                 type->dims[3], type->dims[4], type->dims[5],
                                                 type->dims[6], type->dims[7]},
                    stride);
}

twin twin_pad(twins *w, twin x, const int64_t *before, const int64_t *after, const int64_t *step,
              double value) {
  sn_type type = *twin_type(w, x);
  int64_t attrs[SN_MAX_ATTRS];
  bool plain = true;
  for (int i = 0; i < type.rank; i++) {
    attrs[i] = before[i];
    attrs[type.rank + i] = step[i];
    plain = plain && step[i] == 1;
    const int64_t n = type.dims[i], span = n ? (n - 1) * step[i] + 1 : 0;
    type.dims[i] = before[i] + span + after[i];
  }
  const size_t n_attrs = 2 * (size_t)type.rank + 1;
  attrs[2 * type.rank] = sn_double_attr(value);
  sn_tensor *t = plain ? sn_pad(x.t, before, after, SN_PAD_CONSTANT, value)
                       : sn_hand_out(sn_node_of(w->ctx, SN_OP_pad, &x.t, 1, attrs, n_attrs, &type));
  return pair(w, t, evaluate(w, SN_OP_pad, &x.id, 1, attrs, n_attrs, &type));
}

twin twin_concat(twins *w, const twin *x, size_t n, int axis) {
  sn_tensor *t[TWIN_MAX_INPUTS] = {NULL};
  sn_id ids[TWIN_MAX_INPUTS] = {0};
  const int64_t attr = axis;
  for (size_t i = 0; i < n; i++) {
    t[i] = x[i].t;
    ids[i] = x[i].id;
  }
  return pair(w, sn_concat(t, n, axis), evaluate(w, SN_OP_concat, ids, n, &attr, 1, NULL));
}

twin twin_reduce(twins *w, sn_op op, twin x, uint32_t axes) {
  const int64_t mask = axes;
  sn_tensor *t = sn_hand_out(sn_reduce(op, x.t, axes, false));
  return pair(w, t, evaluate(w, op, &x.id, 1, &mask, 1, NULL));
}

twin twin_along(twins *w, sn_op op, const twin *x, const int64_t *attrs) {
  const size_t n = sn_op_describe(op)->arity, n_attrs = sn_op_attrs_length(op, x->t->type.rank);
  sn_tensor *t[SN_MAX_ARITY];
  sn_id ids[SN_MAX_ARITY];
  for (size_t k = 0; k < n; k++) {
    t[k] = x[k].t;
    ids[k] = x[k].id;
  }
  sn_tensor *y =
      sn_node_of(w->ctx, op == w->planted ? w->planted_as : op, t, n, attrs, n_attrs, NULL);
  return pair(w, sn_hand_out(y), evaluate(w, op, ids, n, attrs, n_attrs, NULL));
}

twin twin_proposed(twins *w, sn_op op, const twin *x, const int64_t *attrs, size_t n_attrs,
                   const sn_type *type) {
  const size_t n = sn_op_describe(op)->arity;
  sn_tensor *t[SN_MAX_ARITY];
  sn_id ids[SN_MAX_ARITY];
  for (size_t k = 0; k < n; k++) {
    t[k] = x[k].t;
    ids[k] = x[k].id;
  }
  return pair(w, sn_hand_out(sn_node_of(w->ctx, op, t, n, attrs, n_attrs, type)),
              evaluate(w, op, ids, n, attrs, n_attrs, type));
}

twin twin_matmul(twins *w, twin a, twin b) {
  sn_type ta = *twin_type(w, a), tb = *twin_type(w, b), batch, batch_a = ta, batch_b = tb;
  const int r = ta.rank;
  batch_a.rank = batch_b.rank = r - 2;
  check(w, sn_broadcast_dims(&w->env, "twin", &batch_a, &batch_b, &batch));
  memcpy(ta.dims, batch.dims, (size_t)(r - 2) * sizeof *ta.dims);
  memcpy(tb.dims, batch.dims, (size_t)(r - 2) * sizeof *tb.dims);
  const sn_id ids[2] = {spread(w, a.id, &ta), spread(w, b.id, &tb)};
  return pair(w, sn_matmul(a.t, b.t), evaluate(w, SN_OP_matmul, ids, 2, NULL, 0, NULL));
}

/* ---- views ----------------------------------------------------------------------------------- */

static sn_type reversed(const sn_type *type) {
  sn_type out = *type;
  for (int i = 0; i < type->rank; i++) out.dims[i] = type->dims[type->rank - 1 - i];
  return out;
}

static sn_type flat(const sn_type *type) {
  return (sn_type){.dtype = type->dtype, .rank = 1, .dims = {sn_type_size(type)}};
}

/* The type that the memory behind a view of `type` has. */
static sn_type base_type(twin_view view, const sn_type *type) {
  sn_type base = *type;
  switch (view) {
  case TWIN_TRANSPOSED: return reversed(type);
  case TWIN_STEPPED:
    for (int i = 0; i < type->rank; i++) base.dims[i] = 2 * type->dims[i] + 1;
    return base;
  case TWIN_REPEATED:
    for (int i = type->rank - 1; i >= 0; i -= 2) base.dims[i] = 1;
    return base;
  case TWIN_LOWER:
    if (!type->rank) return base;
    base.rank--;
    for (int i = 0; i < SN_MAX_RANK; i++) base.dims[i] = i < base.rank ? type->dims[i + 1] : 0;
    return base;
  case TWIN_RESHAPED:
  case TWIN_CHAIN: return flat(type);
  case TWIN_COPYING:
    if (type->rank < 2) return base;
    base = (sn_type){type->dtype, 2, {type->dims[type->rank - 1], 1}};
    for (int i = 0; i < type->rank - 1; i++) base.dims[1] *= type->dims[i];
    base.dims[0] = base.dims[1] ? base.dims[0] : type->dims[type->rank - 1];
    return base;
  default: return base;
  }
}

static twin view_of(twins *w, twin_view view, twin x, const sn_type *type) {
  const sn_type turned = reversed(type);
  int64_t ones[SN_MAX_RANK], twos[SN_MAX_RANK];
  for (int i = 0; i < SN_MAX_RANK; i++) {
    ones[i] = 1;
    twos[i] = 2;
  }
  switch (view) {
  case TWIN_TRANSPOSED: return twin_transpose(w, x, NULL);
  case TWIN_FLIPPED: return twin_flip(w, x);
  case TWIN_STEPPED: return twin_slice(w, x, ones, type->dims, twos);
  case TWIN_REPEATED:
  case TWIN_LOWER: return twin_broadcast(w, x, type);
  case TWIN_RESHAPED: return twin_reshape(w, x, type);
  case TWIN_CHAIN: return twin_flip(w, twin_transpose(w, twin_reshape(w, x, &turned), NULL));
  case TWIN_COPYING: return type->rank < 2 ? x : twin_reshape(w, twin_transpose(w, x, NULL), type);
  default: return x;
  }
}

twin twin_viewed_input(twins *w, case_random *r, twin_view view, sn_op op, int which,
                       case_values values, const sn_type *type) {
  const sn_type base = base_type(view, type);
  void *data = malloc(sn_type_bytes(&base) + 1);
  case_fill(r, op, which, type->dtype, values, sn_type_size(&base), data);
  const twin x = twin_input(w, &base, data);
  free(data);
  return view_of(w, view, x, type);
}

/* ---- running and comparing ------------------------------------------------------------------- */

void twins_output(twins *w, twin x) {
  assert_true(w->n_outputs < TWIN_MAX_OUTPUTS);
  w->outputs[w->n_outputs++] = x;
}

static bool failed(twins *w, const char *stage, char text[TWIN_TEXT]) {
  snprintf(text, TWIN_TEXT, "%s: %s", stage, sn_error_message(w->ctx));
  return false;
}

/* Within its share of the arena that it has otherwise, where it can. */
static sn_program *compile_twins(twins *w, sn_tensor *const *outputs) {
  sn_program_options options = {.donate = w->donate};
  sn_program *program = NULL, *within = NULL;
  sn_program_info info;
  sn_compile_with(w->ctx, w->placeholders, w->n_inputs, outputs, w->n_outputs, &options, &program);
  if (!program || w->budget_percent == 0) return program;
  sn_program_describe(program, &info);
  options.memory_budget = info.arena_bytes * w->budget_percent / 100;
  if (sn_compile_with(w->ctx, w->placeholders, w->n_inputs, outputs, w->n_outputs, &options,
                      &within)) {
    if (sn_error_status(w->ctx) != SN_ERR_ARGUMENT) return NULL;
    sn_error_clear(w->ctx);
    return program;
  }
  w->budgets_met += options.memory_budget > 0;
  sn_program_release(program);
  return within;
}

static bool run_program(twins *w, sn_tensor *const *outputs, char text[TWIN_TEXT]) {
  sn_tensor *arguments[TWIN_MAX_INPUTS], *held[TWIN_MAX_INPUTS];
  for (size_t i = 0; i < w->n_inputs; i++) {
    const sn_type *type = &w->graph.nodes[w->inputs[i]].type;
    arguments[i] =
        sn_from_data(w->ctx, type->dtype, type->rank, type->dims, w->values[w->inputs[i]]);
    held[i] = w->hold[i] ? sn_reshape(arguments[i], type->rank, type->dims) : NULL;
  }
  sn_program *program = compile_twins(w, outputs);
  if (!program) return failed(w, "compile", text);
  const sn_status status = sn_program_run(program, arguments, w->results);
  sn_program_release(program);
  if (status) return failed(w, "run", text);
  for (size_t i = 0; i < w->n_inputs; i++) {
    int64_t where;
    if (!held[i] || case_same(sn_dtype_of(held[i]), sn_data(held[i]), w->values[w->inputs[i]],
                              sn_size(held[i]), &where))
      continue;
    snprintf(text, TWIN_TEXT, "argument %zu was donated and held; element %lld has changed", i,
             (long long)where);
    return false;
  }
  return true;
}

bool twins_run(twins *w, char text[TWIN_TEXT]) {
  sn_tensor *outputs[TWIN_MAX_OUTPUTS];
  for (size_t i = 0; i < w->n_outputs; i++) outputs[i] = w->outputs[i].t;
  if (w->compiled) {
    if (!run_program(w, outputs, text)) return false;
  } else {
    if (sn_eval(outputs, w->n_outputs)) return failed(w, "eval", text);
    memcpy(w->results, outputs, w->n_outputs * sizeof *outputs);
  }
  for (size_t i = 0; i < w->n_outputs; i++)
    if (!sn_data(w->results[i])) return failed(w, "data", text);
  return true;
}

static void describe(const twins *w, size_t output, int64_t where, char text[TWIN_TEXT]) {
  const twin x = w->outputs[output];
  const sn_type *type = twin_type(w, x);
  char shape[SN_SHAPE_TEXT];
  snprintf(text, TWIN_TEXT, "output %zu (%%%u = %s, %s%s), element %lld: %a, the reference %a",
           output, x.id, sn_op_describe(w->graph.nodes[x.id].op)->name, sn_dtype_name(type->dtype),
           sn_shape_text(type, shape), (long long)where,
           sn_ref_load(type->dtype, sn_data(w->results[output]), where),
           sn_ref_load(type->dtype, twin_value(w, x), where));
}

bool twins_agree(twins *w, char text[TWIN_TEXT]) {
  if (!twins_run(w, text)) return false;
  for (size_t i = 0; i < w->n_outputs; i++) {
    const sn_type *type = twin_type(w, w->outputs[i]);
    int64_t where;
    if (case_same(type->dtype, sn_data(w->results[i]), twin_value(w, w->outputs[i]),
                  sn_type_size(type), &where))
      continue;
    describe(w, i, where, text);
    return false;
  }
  return true;
}
