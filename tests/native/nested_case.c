#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/reference.h"
#include "nested.h"

/* ---- arguments ------------------------------------------------------------------------------- */

/* Numbers between -2 and 2; of examples with one more axis, tangents behind what they are of. */
static void choose_arguments(nested_case *c) {
  static const sn_type shapes[] = {{.rank = 0},
                                   {.rank = 1, .dims = {3}},
                                   {.rank = 2, .dims = {2, 3}},
                                   {.rank = 1, .dims = {4}},
                                   {.rank = 2, .dims = {4, 2}}};
  const nested_transform t = c->program.transform;
  const bool examples = t == NESTED_EXAMPLES || t == NESTED_EXAMPLES_OF_GRADIENT ||
                        t == NESTED_GRADIENT_OF_EXAMPLES;
  const bool tangents = t == NESTED_TANGENT || t == NESTED_TANGENT_OF_GRADIENT;
  case_random r = {c->program.seed ^ 0x5bd1};
  const sn_dtype dtype = case_one_in(&r, 4) ? SN_F64 : SN_F32;
  const size_t n = 2 + (size_t)case_below(&r, 2);
  c->n_arguments = tangents ? 2 * n : n;
  for (size_t i = 0; i < c->n_arguments; i++) {
    sn_type type = i < n ? shapes[case_below(&r, 5)] : c->types[i - n];
    type.dtype = dtype;
    if (examples && i + 1 < n) {
      const int axis = (int)(c->program.seed % (uint64_t)(type.rank + 1));
      for (int d = type.rank++; d > axis; d--) type.dims[d] = type.dims[d - 1];
      type.dims[axis] = NESTED_EXAMPLE_COUNT;
    }
    c->types[i] = type;
    c->arguments[i] = c->data[i] = malloc(sn_type_bytes(&type) + 1);
    assert_non_null(c->data[i]);
    for (int64_t k = 0; k < sn_type_size(&type); k++)
      sn_ref_store(dtype, c->data[i], k, case_between(&r, -2, 2));
  }
}

void nested_give(nested_case *c, bool values, sn_tensor **given) {
  for (size_t i = 0; i < c->n_arguments; i++) {
    const sn_type *t = &c->types[i];
    given[i] = values ? sn_from_data(c->ctx, t->dtype, t->rank, t->dims, c->data[i])
                      : sn_placeholder(c->ctx, t->dtype, t->rank, t->dims);
  }
}

/* ---- judging --------------------------------------------------------------------------------- */

static const char *const transforms[] = {
    [NESTED_VALUES] = "values",
    [NESTED_GRADIENT] = "gradient",
    [NESTED_TANGENT] = "jvp",
    [NESTED_EXAMPLES] = "vmap",
    [NESTED_GRADIENT_OF_EXAMPLES] = "gradient of vmap",
    [NESTED_EXAMPLES_OF_GRADIENT] = "vmap of gradient",
    [NESTED_TANGENT_OF_GRADIENT] = "jvp of gradient",
};

/* The reason, and the program with its loops. */
bool nested_refuse(nested_case *c, const char *engine, const char *reason) {
  sn_tensor *given[NESTED_ARGUMENTS], *results[NESTED_RESULTS];
  sn_arena arena;
  sn_trace trace;
  const char *graph = "?";
  int at = snprintf(c->text, sizeof c->text, "%s of %s: %s\n", engine,
                    transforms[c->program.transform], reason);
  sn_error_clear(c->ctx);
  sn_arena_init(&arena, &c->ctx->env);
  const size_t n = nested_write(c, true, given, results);
  if (n &&
      !sn_trace_tensors(c->ctx, &arena, SN_TRACE_PROGRAM, given, c->n_arguments, results, n,
                        &trace) &&
      sn_graph_text(&trace.graph, &arena, &graph))
    graph = "?";
  snprintf(c->text + at, sizeof c->text - (size_t)at, "%s", graph);
  sn_arena_free(&arena);
  sn_error_clear(c->ctx);
  return false;
}

bool nested_open(nested_case *c, const nested *program, sn_context *ctx) {
  sn_tensor *given[NESTED_ARGUMENTS], *results[NESTED_RESULTS];
  *c = (nested_case){.program = *program, .ctx = ctx};
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  sn_arena_init(&c->arena, &ctx->env);
  choose_arguments(c);
  sn_pass_enable(ctx, "cse", false);
  nested_give(c, false, given);
  c->n_results = nested_write(c, false, given, results);
  const bool fine =
      c->n_results && !sn_trace_tensors(ctx, &c->arena, SN_TRACE_PROGRAM, given, c->n_arguments,
                                        results, c->n_results, &c->trace);
  sn_pass_enable(ctx, "cse", true);
  if (!fine) return nested_refuse(c, "written out", sn_error_message(ctx));
  judge_open(&c->judge, &c->trace.graph, c->arguments);
  return true;
}

void nested_close(nested_case *c) {
  judge_close(&c->judge);
  sn_arena_free(&c->arena);
  for (size_t i = 0; i < c->n_arguments; i++) free(c->data[i]);
  sn_synchronize(c->ctx); /* what was run at once on the way */
  sn_scope_end(c->ctx);
}

const sn_type *nested_type(const nested_case *c, size_t result) {
  return &c->trace.graph.nodes[c->trace.graph.outputs[result]].type;
}

bool nested_accepts(nested_case *c, const char *engine, const void *const *results) {
  for (size_t k = 0; k < c->n_results; k++) {
    int64_t where;
    double bound = 0;
    if (judge_accepts(&c->judge, k, results[k], &where, &bound)) continue;
    const sn_dtype dtype = nested_type(c, k)->dtype;
    char reason[200];
    snprintf(reason, sizeof reason,
             "result %zu, element %lld: %.17g; written out op by op %.17g, in float64 %.17g; may "
             "be off %.3g",
             k, (long long)where, sn_ref_load(dtype, results[k], where),
             sn_ref_load(dtype, judge_narrow(&c->judge, k), where),
             judge_wide_at(&c->judge, k, where), bound);
    return nested_refuse(c, engine, reason);
  }
  return true;
}

static bool accepts_tensors(nested_case *c, const char *engine, sn_tensor *const *results) {
  const void *data[NESTED_RESULTS];
  for (size_t k = 0; k < c->n_results; k++) {
    if (!sn_type_equal(nested_type(c, k), &results[k]->type))
      return nested_refuse(c, engine, "a result of another type");
    data[k] = sn_data(results[k]);
    if (!data[k]) return nested_refuse(c, engine, sn_error_message(c->ctx));
  }
  return nested_accepts(c, engine, data);
}

bool nested_runs_at_once(nested_case *c) {
  sn_tensor *given[NESTED_ARGUMENTS], *results[NESTED_RESULTS];
  nested_give(c, true, given);
  const size_t n = nested_write(c, true, given, results);
  if (!n || sn_eval(results, n)) return nested_refuse(c, "at once", sn_error_message(c->ctx));
  return accepts_tensors(c, "at once", results);
}

bool nested_runs_compiled(nested_case *c, uint32_t off) {
  sn_tensor *given[NESTED_ARGUMENTS], *results[NESTED_RESULTS];
  const sn_program_options options = {.passes_off = off};
  sn_program *program;
  char engine[32];
  snprintf(engine, sizeof engine, "compiled, passes off %x,", off);
  nested_give(c, false, given);
  const size_t n = nested_write(c, true, given, results);
  if (!n || sn_compile_with(c->ctx, given, c->n_arguments, results, n, &options, &program))
    return nested_refuse(c, engine, sn_error_message(c->ctx));
  nested_give(c, true, given);
  const sn_status status = sn_program_run(program, given, results);
  sn_program_release(program);
  return status ? nested_refuse(c, engine, sn_error_message(c->ctx))
                : accepts_tensors(c, engine, results);
}

bool nested_try(const nested *program, sn_context *ctx, char text[NESTED_TEXT]) {
  nested_case *c = malloc(sizeof *c);
  assert_non_null(c);
  case_random r = {program->seed ^ 0x9e37};
  const uint32_t off = (uint32_t)case_bits(&r) & ((2u << SN_PASS_COUNT) - 1);
  bool right = nested_open(c, program, ctx);
  right = right && nested_runs_compiled(c, 0) && nested_runs_at_once(c) &&
          (!case_one_in(&r, 3) || nested_runs_compiled(c, off));
  if (!right) memcpy(text, c->text, sizeof c->text);
  nested_close(c);
  free(c);
  return right;
}

/* The steps that a program has now. */
static size_t steps_of(const nested *program, sn_context *ctx, uint64_t steps[NESTED_STEPS]) {
  sn_tensor *given[NESTED_ARGUMENTS], *results[NESTED_RESULTS];
  nested_case *c = malloc(sizeof *c);
  assert_non_null(c);
  nested_open(c, program, ctx);
  nested_give(c, false, given);
  nested_write(c, true, given, results);
  memcpy(steps, c->steps, sizeof c->steps);
  const size_t n = c->n_steps;
  nested_close(c);
  free(c);
  sn_error_clear(ctx);
  return n;
}

size_t nested_shrink(nested *program, nested_trial *right, sn_context *ctx,
                     char text[NESTED_TEXT]) {
  uint64_t steps[NESTED_STEPS];
  size_t n = steps_of(program, ctx, steps);
  for (size_t i = n; i-- > 0 && program->n_dropped < NESTED_STEPS;) {
    program->dropped[program->n_dropped++] = steps[i];
    if (right(program, ctx, text)) {
      program->n_dropped--;
      continue;
    }
    n = i = steps_of(program, ctx, steps); /* without it, and without those inside of it */
  }
  right(program, ctx, text);
  return n;
}
