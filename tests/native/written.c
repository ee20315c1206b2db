#include "written.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "author.h"
#include "graph/reference.h"
#include "tensor/trace.h"

enum { MOST_OUTPUTS = AUTHOR_ARGUMENTS + 8 };

static const uint32_t fusion = 1u << SN_PASS_COUNT; /* among the switches */

/* A program as tensors. The first n_asked outputs are what its user asks for; the judge looks at
 * the value and the gradients too. */
typedef struct text_of {
  author a;
  sn_tensor *outputs[MOST_OUTPUTS];
  size_t n_outputs, n_asked;
  size_t value, gradients[AUTHOR_ARGUMENTS], variables[AUTHOR_ARGUMENTS];
  size_t n_gradients;
  bool donate[AUTHOR_ARGUMENTS]; /* per argument */
  uint32_t off;                  /* passes, and fusion */
} text_of;

/* ---- writing --------------------------------------------------------------------------------- */

static void choose_gradients(text_of *t) {
  author *a = &t->a;
  sn_tensor *wrt[AUTHOR_ARGUMENTS], *dx[AUTHOR_ARGUMENTS];
  size_t n = 0;
  for (size_t i = 0; i < a->n_arguments; i++) {
    if (!a->arguments[i].variable || case_one_in(&a->r, 4)) continue;
    t->variables[n] = i;
    wrt[n++] = a->arguments[i].tensor;
  }
  sn_tensor *loss = t->outputs[t->value];
  if (!n || sn_gradients(loss, wrt, n, dx)) return;
  for (size_t i = 0; i < n; i++) {
    t->gradients[i] = t->n_outputs;
    t->outputs[t->n_outputs++] = dx[i];
  }
  t->n_gradients = n;
}

static void put_out(text_of *t, sn_tensor *x) {
  if (x) t->outputs[t->n_outputs++] = x;
}

/* The value, its gradients, and some of what was met on the way; or values alone. */
static void finish(text_of *t) {
  author *a = &t->a;
  sn_tensor *x = author_pick(a), *loss = x ? author_total(a, x) : NULL;
  const int64_t more = case_below(&a->r, 3);
  const bool slopes = loss && !case_one_in(&a->r, 8);
  if (loss && case_one_in(&a->r, 4)) loss = sn_add(loss, author_total(a, author_pick(a)));
  for (int64_t i = 0; i < more; i++) put_out(t, author_pick(a));
  const bool shown = !case_one_in(&a->r, 4);
  t->value = t->n_outputs;
  put_out(t, loss);
  const bool early = case_one_in(&a->r, 3);
  if (slopes && early && a->eager) sn_eval(&loss, 1);
  if (slopes) choose_gradients(t);
  t->n_asked = t->n_outputs;
  if (shown || !t->n_gradients) return;
  /* the value is not asked for: it goes to the end */
  t->n_asked--;
  t->outputs[t->value] = t->outputs[t->n_asked];
  t->outputs[t->n_asked] = loss;
  t->gradients[t->n_gradients - 1] = t->value;
  t->value = t->n_asked;
}

static bool write_text(const written *p, sn_context *ctx, bool apart, text_of *t) {
  case_random choices = {p->seed};
  *t = (text_of){.a = {.ctx = ctx, .apart = apart}};
  author *a = &t->a;
  const int64_t size = case_below(&choices, 1000);
  a->eager = case_one_in(&choices, 4) && !apart;
  a->most_elements = size < 750 ? 40 : size < 980 ? 120 : size < 999 ? 1200 : 20000;
  a->dtype = case_one_in(&choices, 12) ? SN_F64 : SN_F32;
  const uint32_t off = (uint32_t)case_bits(&choices);
  t->off = case_one_in(&choices, 8) ? off : 0;
  for (size_t i = 0; i < p->n_steps; i++) {
    a->step = i;
    a->r.state = p->seed * 64 + i; /* splitmix64 mixes its counter: neighbours are unrelated */
    if (!p->dropped[i]) author_step(a);
  }
  a->step = p->n_steps;
  a->r = choices;
  finish(t);
  for (size_t i = 0; i < a->n_arguments; i++) t->donate[i] = case_one_in(&a->r, 4);
  return sn_error_status(ctx) == SN_OK;
}

static void forget_text(text_of *t) {
  for (size_t i = 0; i < t->a.n_arguments; i++) free(t->a.arguments[i].data);
}

/* ---- running --------------------------------------------------------------------------------- */

static bool break_newest(sn_context *ctx, written_trial *trial) {
  sn_compiled *newest = NULL;
  for (size_t i = 0; i < ctx->n_cached; i++)
    if (!newest || ctx->cache[i]->last_use > newest->last_use) newest = ctx->cache[i];
  return newest && trial->fault(newest->exe, trial->fault_user);
}

static bool run_compiled(const text_of *t, sn_context *ctx, written_trial *trial,
                         sn_tensor **results) {
  sn_tensor *inputs[AUTHOR_ARGUMENTS], *data[AUTHOR_ARGUMENTS];
  bool donate[AUTHOR_ARGUMENTS];
  size_t n = 0;
  for (size_t i = 0; i < t->a.n_arguments; i++) {
    const author_argument *x = &t->a.arguments[i];
    if (x->constant || x->same_as >= 0) continue;
    inputs[n] = x->given;
    data[n] = sn_from_data(ctx, x->type.dtype, x->type.rank, x->type.dims, x->data);
    donate[n++] = t->donate[i];
  }
  const sn_program_options options = {.donate = donate, .passes_off = t->off};
  sn_program *program;
  if (sn_compile_with(ctx, inputs, n, t->outputs, t->n_asked, &options, &program)) return false;
  if (trial->fault && break_newest(ctx, trial)) trial->broken = true;
  const sn_status status = sn_program_run(program, data, results);
  sn_program_release(program);
  if (trial->fault) sn_cache_clear(ctx);
  return status == SN_OK;
}

static bool run_text(const text_of *t, sn_context *ctx, written_trial *trial, sn_tensor **results) {
  if (t->a.eager) {
    memcpy(results, t->outputs, t->n_asked * sizeof *results);
    if (sn_eval(results, t->n_asked)) return false;
  } else if (!run_compiled(t, ctx, trial, results)) {
    return false;
  }
  for (size_t i = 0; i < t->n_asked; i++)
    if (!sn_data(results[i])) return false;
  return true;
}

/* ---- judging --------------------------------------------------------------------------------- */

typedef struct session { /* the program in the form that is judged */
  text_of text;
  sn_arena arena;
  sn_trace trace;
  const void **arguments;
  judge judge;
} session;

static bool is_gradient(const text_of *t, size_t output) {
  for (size_t i = 0; i < t->n_gradients; i++)
    if (t->gradients[i] == output) return true;
  return false;
}

/* Marks the nodes that gradients need, or all other outputs. */
static void mark_needed(session *s, bool gradients, uint8_t *marks) {
  sn_graph part = s->trace.graph;
  sn_id outputs[MOST_OUTPUTS];
  part.outputs = outputs;
  part.n_outputs = 0;
  for (size_t i = 0; i < s->trace.graph.n_outputs; i++)
    if (is_gradient(&s->text, i) == gradients)
      outputs[part.n_outputs++] = s->trace.graph.outputs[i];
  sn_graph_live(&part, marks);
}

/* Puts another op in the place of the first such node that only gradients need. */
static bool break_rule(session *s, written_trial *trial) {
  sn_graph *g = &s->trace.graph;
  uint8_t *slopes = calloc(g->n_nodes, 1), *values = calloc(g->n_nodes, 1);
  assert_non_null(slopes);
  assert_non_null(values);
  mark_needed(s, true, slopes);
  mark_needed(s, false, values);
  sn_id id = 0;
  while (id < g->n_nodes && (!slopes[id] || values[id] || g->nodes[id].op != trial->rule)) id++;
  free(slopes);
  free(values);
  if (id < g->n_nodes) g->nodes[id].op = trial->rule_as;
  return id < g->n_nodes;
}

/* Equal nodes stay apart from the first gradient on. */
static bool open_session(session *s, const written *p, written_trial *trial) {
  sn_context *ctx = trial->ctx;
  sn_pass_enable(ctx, "cse", false);
  sn_arena_init(&s->arena, &ctx->env);
  bool fine = write_text(p, ctx, true, &s->text);
  sn_tensor *stops[AUTHOR_ARGUMENTS];
  for (size_t i = 0; i < s->text.a.n_arguments; i++) stops[i] = s->text.a.arguments[i].given;
  fine = fine && !sn_trace_tensors(ctx, &s->arena, SN_TRACE_PROGRAM, stops, s->text.a.n_arguments,
                                   s->text.outputs, s->text.n_outputs, &s->trace);
  sn_pass_enable(ctx, "cse", true);
  if (!fine) return false;
  s->arguments = malloc((s->trace.n_arguments + 1) * sizeof *s->arguments);
  assert_non_null(s->arguments);
  for (size_t i = 0; i < s->trace.n_arguments; i++)
    s->arguments[i] =
        i < s->text.a.n_arguments ? s->text.a.arguments[i].data : sn_data(s->trace.arguments[i]);
  if (trial->rule != trial->rule_as)
    trial->broken = s->text.n_gradients && !s->text.a.no_slope && break_rule(s, trial);
  judge_open(&s->judge, &s->trace.graph, s->arguments);
  if (trial->listener) trial->listener(&s->judge, trial->listener_user);
  return true;
}

static void close_session(session *s) {
  judge_close(&s->judge);
  free(s->arguments);
  sn_arena_free(&s->arena);
  forget_text(&s->text);
}

static const char *output_name(const text_of *t, size_t output, char name[64]) {
  snprintf(name, 64, "output %zu", output);
  if (output == t->value) snprintf(name, 64, "the value");
  for (size_t i = 0; i < t->n_gradients; i++)
    if (t->gradients[i] == output)
      snprintf(name, 64, "the gradient by argument %zu", t->variables[i]);
  return name;
}

/* The reason, how the program ran, and its graph as the judge reads it. */
static void describe(const session *s, const text_of *used, written_trial *trial,
                     const char *reason) {
  const char *graph;
  if (sn_graph_text(&s->trace.graph, (sn_arena *)(uintptr_t)&s->arena, &graph)) graph = "?";
  int at = snprintf(trial->text, sizeof trial->text, "%s\n%s, passes off %x, isa %s, %d threads\n",
                    reason, used->a.eager ? "eager" : "compiled", used->off, sn_isa(trial->ctx),
                    sn_threads(trial->ctx));
  for (size_t i = 0; i < used->a.n_arguments; i++) {
    const author_argument *x = &used->a.arguments[i];
    if (x->same_as < 0 && !x->constant) continue;
    at += snprintf(trial->text + at, sizeof trial->text - (size_t)at, "argument %zu is ", i);
    at += x->same_as >= 0 ? snprintf(trial->text + at, sizeof trial->text - (size_t)at,
                                     "argument %d\n", x->same_as)
                          : snprintf(trial->text + at, sizeof trial->text - (size_t)at,
                                     "%g everywhere\n", x->number);
  }
  snprintf(trial->text + at, sizeof trial->text - (size_t)at, "%s", graph);
}

/* The elements as numbers: 0 and -0 are one. */
static void hash(uint64_t *bits, sn_dtype dtype, const void *data, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const double value = sn_ref_load(dtype, data, i);
    *bits = (*bits ^ (value == 0 ? 0 : (uint64_t)sn_double_attr(value))) * UINT64_C(0x100000001b3);
    *bits ^= *bits >> 29;
  }
}

static void note_bits(const session *s, const text_of *used, written_trial *trial,
                      sn_tensor *const *results) {
  const sn_graph *g = &s->trace.graph;
  for (size_t i = 0; i < used->n_asked; i++)
    hash(&trial->bits, sn_dtype_of(results[i]), sn_data(results[i]), sn_size(results[i]));
  for (size_t i = 0; i < s->text.n_gradients; i++) {
    const size_t output = s->text.gradients[i];
    const sn_type *type = &g->nodes[g->outputs[output]].type;
    hash(&trial->bits, type->dtype, judge_narrow(&s->judge, output), sn_type_size(type));
  }
}

static bool judge_results(session *s, const text_of *used, written_trial *trial,
                          sn_tensor *const *results) {
  for (size_t i = 0; i < used->n_asked; i++) {
    const sn_type *type = &s->trace.graph.nodes[s->trace.graph.outputs[i]].type;
    int64_t where;
    double bound;
    assert_int_equal(sn_size_bytes(results[i]), sn_type_bytes(type));
    if (judge_accepts(&s->judge, i, sn_data(results[i]), &where, &bound)) continue;
    char name[64], reason[256];
    snprintf(reason, sizeof reason,
             "%s (%%%u), element %lld: %.17g; op by op %.17g, in float64 %.17g; may be off %.3g",
             output_name(used, i, name), s->trace.graph.outputs[i], (long long)where,
             sn_ref_load(type->dtype, sn_data(results[i]), where),
             sn_ref_load(type->dtype, judge_narrow(&s->judge, i), where),
             judge_wide_at(&s->judge, i, where), bound);
    describe(s, used, trial, reason);
    return false;
  }
  return true;
}

static bool judge_slope(session *s, const text_of *used, written_trial *trial, uint64_t seed) {
  const text_of *t = &s->text;
  trial->has_slope = t->n_gradients && !t->a.no_slope;
  if (!trial->has_slope || !trial->differences) return true;
  double slope, difference;
  trial->slope = JUDGE_OPEN;
  for (uint64_t i = 1; i <= 3 && trial->slope == JUDGE_OPEN; i++) /* a kink may be beside */
    trial->slope = judge_derivative(&s->judge, seed * i, t->value, t->gradients, t->variables,
                                    t->n_gradients, &slope, &difference);
  if (trial->slope != JUDGE_WRONG) return true;
  char reason[160];
  snprintf(reason, sizeof reason,
           "the value (%%%u) rises by %.12g along a direction, by its gradients %.12g",
           s->trace.graph.outputs[t->value], difference, slope);
  describe(s, used, trial, reason);
  return false;
}

/* The same program without fusion, or with it if it was without. */
static bool judge_unfused(session *s, text_of *used, written_trial *trial) {
  sn_tensor *results[MOST_OUTPUTS];
  used->off ^= fusion;
  if (run_text(used, trial->ctx, trial, results)) return judge_results(s, used, trial, results);
  describe(s, used, trial, sn_error_message(trial->ctx));
  return false;
}

/* The same program with another number of threads: the same bits. */
static bool same_elsewhere(const written *p, session *s, written_trial *trial,
                           sn_tensor *const *results) {
  text_of *other = calloc(1, sizeof *other);
  sn_tensor *theirs[MOST_OUTPUTS];
  assert_non_null(other);
  sn_error_clear(trial->other);
  assert_int_equal(sn_scope_begin(trial->other), SN_OK);
  bool same =
      write_text(p, trial->other, false, other) && run_text(other, trial->other, trial, theirs);
  char reason[160] = "refused with another number of threads";
  for (size_t i = 0; i < other->n_asked && same; i++) {
    int64_t where;
    same = case_same(sn_dtype_of(theirs[i]), sn_data(results[i]), sn_data(theirs[i]),
                     sn_size(theirs[i]), &where);
    if (!same)
      snprintf(reason, sizeof reason, "output %zu, element %lld: other bits with %d threads", i,
               (long long)where, sn_threads(trial->other));
  }
  if (!same) describe(s, other, trial, reason);
  forget_text(other);
  free(other);
  sn_scope_end(trial->other);
  return same;
}

bool written_try(const written *p, written_trial *trial) {
  sn_context *ctx = trial->ctx;
  session *s = calloc(1, sizeof *s);
  text_of *used = calloc(1, sizeof *used);
  sn_tensor *results[MOST_OUTPUTS];
  assert_non_null(s);
  assert_non_null(used);
  trial->broken = trial->has_slope = false;
  trial->slope = JUDGE_OPEN;
  trial->bits = 0;
  sn_error_clear(ctx);
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  bool right = open_session(s, p, trial) && write_text(p, ctx, false, used) &&
               run_text(used, ctx, trial, results);
  if (right) note_bits(s, used, trial, results);
  if (!right)
    describe(s, used, trial, sn_error_message(ctx));
  else if (trial->rule != trial->rule_as)
    right = judge_slope(s, used, trial, p->seed); /* engines would have the same gradient */
  else
    right = judge_results(s, used, trial, results) && judge_slope(s, used, trial, p->seed) &&
            (!trial->other || same_elsewhere(p, s, trial, results)) &&
            (used->a.eager || trial->fault || judge_unfused(s, used, trial));
  close_session(s);
  forget_text(used);
  free(s);
  free(used);
  sn_scope_end(ctx);
  return right;
}

size_t written_shrink(written *p, written_trial *trial) {
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (size_t i = p->n_steps; i-- > 0;) {
      if (p->dropped[i]) continue;
      p->dropped[i] = true;
      if (written_try(p, trial))
        p->dropped[i] = false;
      else
        smaller = true;
    }
  }
  size_t left = 0;
  for (size_t i = 0; i < p->n_steps; i++) left += !p->dropped[i];
  written_try(p, trial); /* its text */
  return left;
}

written written_of(uint64_t seed) {
  case_random r = {~seed};
  return (written){.seed = seed, .n_steps = 2 + (size_t)case_below(&r, WRITTEN_STEPS - 1)};
}
