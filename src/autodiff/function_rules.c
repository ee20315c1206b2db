/* function_rules.c - derivatives of checkpoints and custom functions.
 *
 *   checkpoint   vjp: that of its body, which is computed again from the kept values and the operands. These wait, behind
 *                barriers, for the first cotangent, so no other value of the body lives until then
 *   custom       its rule, or the transpose of its rule for the other direction. Only its arguments have derivatives */
#include "autodiff/control_site.h"
#include "autodiff/dependents.h"
#include "autodiff/vjp.h"

/* ---- checkpoint ------------------------------------------------------------------------------ */

/* Puts a barrier on each operand, which waits for the first cotangent that there is. */
static sn_status hold_operands(sn_site *s, const sn_id *dy) {
  sn_id *held;
  size_t first = 0;
  while (dy[first] == SN_NONE) first++;
  SN_TRY(sn_arena_alloc(s->b->arena, s->n, sizeof *held, (void **)&held));
  for (size_t k = 0; k < s->n; k++) {
    const sn_id inputs[] = {s->x[k], dy[first]};
    held[k] = sn_build_op(s->b, SN_OP_barrier, inputs, 2, NULL, 0, NULL);
  }
  s->x = held;
  return s->b->status;
}

/* Sets *result: per node of the maker that is a kept value, the number of the checkpoint's result that has it. */
static sn_status find_kept_results(const sn_site *s, size_t **result) {
  const sn_graph *body = s->c.regions[0];
  SN_TRY(sn_arena_alloc(s->b->arena, s->m.graph.n_nodes, sizeof **result, (void **)result));
  for (size_t k = s->c.n_results - s->c.n_kept; k < s->c.n_results; k++)
    (*result)[s->map[body->outputs[k]]] = k;
  return SN_OK;
}

sn_status sn_checkpoint_vjp(sn_site *s, sn_id id, const sn_id *dy, const bool *wanted, sn_id *dx) {
  sn_graph region;
  sn_argument *arguments;
  sn_id *args, *map;
  size_t n, at = 0, *kept;
  SN_TRY(hold_operands(s, dy));
  SN_TRY(sn_site_vjp(s, s->c.regions[0], dy, wanted, &region, &arguments, &n));
  SN_TRY(find_kept_results(s, &kept));
  SN_TRY(sn_arena_alloc(s->b->arena, n, sizeof *args, (void **)&args));
  SN_TRY(sn_arena_alloc(s->b->arena, region.n_nodes, sizeof *map, (void **)&map));
  for (size_t i = 0; i < n; i++) {
    args[i] = arguments[i].from;
    if (arguments[i].given == SN_GIVEN_NODE) continue;
    const size_t k = kept[arguments[i].from];
    args[i] = sn_build_result(s->b, id, k, sn_output_type(s->c.regions[0], k));
  }
  SN_TRY(s->b->status);
  SN_TRY(sn_build_inline(s->b, &region, args, map));
  for (size_t k = 0; k < s->n; k++)
    if (wanted[k]) dx[k] = map[region.outputs[at++]];
  return SN_OK;
}

/* ---- custom ---------------------------------------------------------------------------------- */

/* One use of a rule: the derivatives that it is given and those that it makes, which exist for floats only, and for each
 * the number of its argument or result. */
typedef struct rule {
  sn_site *s;
  sn_id *given, *made;
  size_t *given_of, *made_of;
  size_t n_given, n_made;
} rule;

static sn_status refuse_capture(const rule *r) {
  return SN_FAIL(r->s->b->arena->env, SN_ERR_ARGUMENT, r->s->c.reverse ? "customVjp" : "customJvp",
                 "the function captures a tensor that is differentiated by: make it an argument");
}

/* The type of result or argument k of a custom function. */
static const sn_type *type_of(const sn_site *s, bool results, size_t k) {
  return results ? sn_output_type(s->c.regions[0], k) : sn_build_type(s->b, s->x[k]);
}

/* Lists the numbers of the floats among the results or arguments. */
static sn_status list_floats(const sn_site *s, bool results, size_t **of, size_t *n) {
  const size_t n_all = results ? s->c.n_results : s->c.n_arguments;
  SN_TRY(sn_arena_alloc(s->b->arena, n_all, sizeof **of, (void **)of));
  for (size_t k = 0; k < n_all; k++)
    if (sn_dtype_is_float(type_of(s, results, k)->dtype)) (*of)[(*n)++] = k;
  return SN_OK;
}

static sn_status begin_rule(rule *r, sn_site *s) {
  *r = (rule){.s = s};
  SN_TRY(list_floats(s, s->c.reverse, &r->given_of, &r->n_given));
  SN_TRY(list_floats(s, !s->c.reverse, &r->made_of, &r->n_made));
  SN_TRY(sn_arena_alloc(s->b->arena, r->n_given, sizeof *r->given, (void **)&r->given));
  return sn_arena_alloc(s->b->arena, r->n_made, sizeof *r->made, (void **)&r->made);
}

/* Copies the rule's graph and sets r->made to what it computes from the arguments and r->given. */
static sn_status inline_rule(rule *r) {
  const sn_site *s = r->s;
  const sn_graph *region = s->c.regions[1];
  sn_id *args, *map;
  size_t n = 0;
  SN_TRY(s->b->status);
  SN_TRY(sn_arena_alloc(s->b->arena, region->n_arguments, sizeof *args, (void **)&args));
  SN_TRY(sn_arena_alloc(s->b->arena, region->n_nodes, sizeof *map, (void **)&map));
  for (size_t k = 0; k < s->c.n_arguments; k++) args[n++] = s->x[k];
  for (size_t i = 0; i < r->n_given; i++) args[n++] = r->given[i];
  for (size_t k = s->c.n_arguments; k < s->n; k++) args[n++] = s->x[k];
  SN_TRY(sn_build_inline(s->b, region, args, map));
  for (size_t i = 0; i < r->n_made; i++) r->made[i] = map[region->outputs[i]];
  return SN_OK;
}

static sn_id as_wide(sn_build *b, sn_id x) {
  return b->status ? SN_NONE
                   : sn_build_cast(b, SN_OP_astype, x, sn_dtype_wide(sn_build_type(b, x)->dtype));
}

/* in: the derivatives that the rule is given, per argument or result; out: those that it makes. */
static sn_status apply_rule(rule *r, const sn_id *in, sn_id *out) {
  const sn_site *s = r->s;
  for (size_t i = 0; i < r->n_given && !s->b->status; i++) {
    const size_t k = r->given_of[i];
    const sn_type *type = type_of(s, s->c.reverse, k);
    r->given[i] = in[k] == SN_NONE ? sn_build_full(s->b, type, 0)
                                   : sn_build_cast(s->b, SN_OP_astype, in[k], type->dtype);
  }
  SN_TRY(inline_rule(r));
  for (size_t i = 0; i < r->n_made; i++) out[r->made_of[i]] = as_wide(s->b, r->made[i]);
  return s->b->status;
}

/* ---- the transpose of a rule ----------------------------------------------------------------- */

/* Sets r->given to a distinct node for each derivative. Their values do not matter, because the rule must be linear in
 * them. */
static sn_status make_markers(rule *r) {
  sn_build *b = r->s->b;
  for (size_t i = 0; i < r->n_given && !b->status; i++) {
    const sn_type *type = type_of(r->s, r->s->c.reverse, r->given_of[i]);
    r->given[i] = sn_build_unary(b, SN_OP_marker, sn_build_full(b, type, (double)i));
  }
  return b->status;
}

/* Fails if a derivative of the rule depends on the values of the markers: then the rule is not linear. */
static sn_status check_linear(const rule *r, const sn_id *made, size_t n) {
  sn_build *b = r->s->b;
  const sn_range range = sn_range_of(made, n, r->given, r->n_given);
  uint8_t *marks;
  SN_TRY(sn_arena_alloc(b->arena, range.end - range.first, 1, (void **)&marks));
  for (size_t i = 0; i < r->n_given; i++) marks[r->given[i] - range.first] = 1;
  SN_TRY(sn_mark_dependents(b, range, marks));
  for (size_t i = 0; i < n; i++)
    SN_FAIL_IF(b->arena->env, made[i] >= range.first && marks[made[i] - range.first],
               SN_ERR_ARGUMENT, r->s->c.reverse ? "customVjp" : "customJvp",
               "what the rule makes is not linear in the %s it is given",
               r->s->c.reverse ? "cotangents" : "tangents");
  return SN_OK;
}

/* The rule in the other direction. in: per argument or result, what apply_rule makes; out: what it is given. */
static sn_status transpose_rule(rule *r, const sn_id *in, const bool *wanted, sn_id *out) {
  const sn_site *s = r->s;
  sn_id *y, *dy, *wrt, *dwrt;
  size_t n = 0, n_wrt = 0, at = 0;
  SN_TRY(sn_arena_alloc(s->b->arena, r->n_made, sizeof *y, (void **)&y));
  SN_TRY(sn_arena_alloc(s->b->arena, r->n_made, sizeof *y, (void **)&dy));
  SN_TRY(sn_arena_alloc(s->b->arena, r->n_given, sizeof *wrt, (void **)&wrt));
  SN_TRY(sn_arena_alloc(s->b->arena, r->n_given, sizeof *wrt, (void **)&dwrt));
  SN_TRY(make_markers(r));
  SN_TRY(inline_rule(r));
  for (size_t i = 0; i < r->n_made; i++) {
    if (in[r->made_of[i]] == SN_NONE) continue;
    y[n] = r->made[i];
    dy[n++] = in[r->made_of[i]];
  }
  for (size_t i = 0; i < r->n_given; i++)
    if (!wanted || wanted[r->given_of[i]]) wrt[n_wrt++] = r->given[i];
  SN_TRY(sn_vjp_nodes(s->b, y, dy, n, wrt, n_wrt, dwrt));
  SN_TRY(check_linear(r, dwrt, n_wrt));
  for (size_t i = 0; i < r->n_given; i++)
    if (!wanted || wanted[r->given_of[i]]) out[r->given_of[i]] = dwrt[at++];
  return s->b->status;
}

/* ---- both directions ------------------------------------------------------------------------- */

sn_status sn_custom_vjp(sn_site *s, const sn_id *dy, const bool *wanted, sn_id *dx) {
  rule r;
  SN_TRY(begin_rule(&r, s));
  for (size_t k = s->c.n_arguments; k < s->n; k++)
    if (wanted[k]) return refuse_capture(&r);
  return s->c.reverse ? apply_rule(&r, dy, dx) : transpose_rule(&r, dy, wanted, dx);
}

sn_status sn_custom_jvp(sn_site *s, const sn_id *dx, sn_id *dy) {
  rule r;
  SN_TRY(begin_rule(&r, s));
  for (size_t k = s->c.n_arguments; k < s->n; k++)
    if (dx[k] != SN_NONE) return refuse_capture(&r);
  for (size_t k = 0; k < s->c.n_results; k++) dy[k] = SN_NONE;
  return s->c.reverse ? transpose_rule(&r, dx, NULL, dy) : apply_rule(&r, dx, dy);
}
