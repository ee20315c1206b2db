/* vmap_control.c - loops and conditions with one more axis.
 *
 *   scan    the rounds are those of one example; stacks have the new axis behind that of the rounds
 *   while   runs as long as the test of any example holds; the carries of examples that are done do not change
 *   cond    with one bool for all examples: stays a cond. With a bool per example: both branches, then a select. A branch
 *           then also runs on operands of examples that do not take it, which may give infinities, such as the logarithm
 *           of 0, and NaN in derivatives as 0 times infinity. Therefore these examples get no gradient from the branch
 *           and, if it reads floats that all examples share, run it on the operands of an example that takes it
 *   custom  both its body and its rule; cotangents of what all examples share are added up
 *
 * A carry has the new axis if its initial value has it, or if a round makes a value with it. */
#include <string.h>

#include "batching/vmap.h"
#include "batching/vmap_rules.h"
#include "build/body_maker.h"

typedef struct site {
  sn_build *b;
  sn_control c;
  const sn_id *x, *batch; /* per input, as in sn_vmap_context */
  size_t n;
  int64_t attrs[SN_MAX_ATTRS];
  size_t n_attrs;
  int64_t size;
  uint8_t *mapped;  /* per argument of a region: it has the new axis */
  bool test_mapped; /* of a while_loop: the test differs between examples */
  sn_body_maker m;
  sn_id *examples, *batches; /* per mapped argument, in the region that is made */
  size_t n_mapped;
} site;

static size_t arguments_of(const site *s) { return s->n - sn_control_first(s->c.op); }

static sn_id repeated(sn_build *b, sn_id x, int64_t size) {
  if (b->status) return SN_NONE;
  const sn_type type = sn_type_stacked(sn_build_type(b, x), size);
  return sn_build_broadcast(b, x, &type);
}

/* x with its first two axes exchanged. */
static sn_id swap_first(sn_build *b, sn_id x) {
  int64_t perm[SN_MAX_RANK];
  if (b->status) return SN_NONE;
  sn_move_axis(sn_build_type(b, x)->rank, 1, 0, perm);
  return sn_build_transpose(b, x, perm);
}

/* ---- which carries have the axis ------------------------------------------------------------- */

/* Marks the nodes of a region that depend on mapped arguments. */
static sn_status mark_mapped(const site *s, int region, uint8_t **marks) {
  const sn_graph *g = s->c.regions[region];
  SN_TRY(sn_arena_alloc(s->b->arena, g->n_nodes, 1, (void **)marks));
  sn_region_flow(g, s->mapped, false, *marks);
  return SN_OK;
}

/* Sets mapped and test_mapped: repeats until no further carry gets the axis. */
static sn_status find_mapped(site *s) {
  const sn_graph *body = s->c.regions[0];
  uint8_t *marks;
  SN_TRY(sn_arena_alloc(s->b->arena, s->n, 1, (void **)&s->mapped));
  for (size_t k = 0; k < arguments_of(s); k++)
    s->mapped[k] = s->batch[k + sn_control_first(s->c.op)] != SN_NONE;
  for (bool found = true; found;) {
    found = false;
    if (s->c.op == SN_OP_while_loop) {
      SN_TRY(mark_mapped(s, 1, &marks));
      s->test_mapped = marks[s->c.regions[1]->outputs[0]];
    }
    SN_TRY(mark_mapped(s, 0, &marks));
    for (size_t k = 0; k < s->c.n_carries; k++) {
      if (s->mapped[k] || !(s->test_mapped || marks[body->outputs[k]])) continue;
      s->mapped[k] = 1;
      found = true;
    }
  }
  return SN_OK;
}

/* ---- regions --------------------------------------------------------------------------------- */

/* The input of the new node for argument k. */
static sn_id given(const site *s, size_t k) {
  const size_t input = k + sn_control_first(s->c.op);
  if (!s->mapped[k]) return s->x[input];
  if (s->batch[input] == SN_NONE) return repeated(s->b, s->x[input], s->size);
  return sn_argument_kind_of(&s->c, k) == SN_ARGUMENT_SLICE ? swap_first(s->b, s->batch[input])
                                                            : s->batch[input];
}

/* Begins a region: adds its arguments with the axis and, for those that have it, placeholders for one example, over which
 * the old region is copied before it is mapped. Sets args to what the old region's arguments become in that copy. */
static sn_status begin_region(site *s, const sn_id *inputs, sn_id *args) {
  sn_body_begin(&s->m, s->b, s->b->arena);
  s->n_mapped = 0;
  for (size_t k = 0; k < arguments_of(s); k++) {
    const sn_type *input = sn_build_type(s->b, s->x[k + sn_control_first(s->c.op)]);
    const sn_type type = sn_argument_type(&s->c, k, input), wider = sn_type_stacked(&type, s->size);
    const sn_type *own = s->mapped[k] ? &wider : &type;
    const sn_id id =
        sn_body_argument(&s->m, sn_argument_kind_of(&s->c, k), SN_GIVEN_NODE, inputs[k], own);
    args[k] = id;
    if (!s->mapped[k]) continue;
    args[k] = sn_body_argument(&s->m, SN_ARGUMENT_NONE, SN_GIVEN_NODE, 0, &type);
    s->examples[s->n_mapped] = args[k];
    s->batches[s->n_mapped++] = id;
  }
  return s->m.b.status;
}

/* Sets out to the region's outputs with the axis, except carries that do not have it. */
static sn_status map_outputs(site *s, const sn_graph *region, const sn_id *args, sn_id *out) {
  sn_build *b = &s->m.b;
  sn_id *map, *y;
  const size_t n = region->n_outputs;
  SN_TRY(sn_arena_alloc(b->arena, region->n_nodes, sizeof *map, (void **)&map));
  SN_TRY(sn_arena_alloc(b->arena, n, sizeof *y, (void **)&y));
  SN_TRY(sn_build_inline(b, region, args, map));
  for (size_t k = 0; k < n; k++) y[k] = map[region->outputs[k]];
  SN_TRY(sn_vmap_nodes(b, y, n, s->examples, s->batches, s->n_mapped, s->size, out));
  for (size_t k = 0; k < n; k++) {
    const bool plain = k < s->c.n_carries && region == s->c.regions[0] && !s->mapped[k];
    if (out[k] == SN_NONE) out[k] = plain ? y[k] : repeated(b, y[k], s->size);
  }
  return b->status;
}

/* Whether any of the bools x (B) is true. */
static sn_id any_of(sn_build *b, sn_id x) {
  if (b->status) return SN_NONE;
  const sn_id number = sn_build_cast(b, SN_OP_astype, x, SN_I32);
  return sn_build_cast(b, SN_OP_astype, sn_build_reduce(b, SN_OP_max, number, 1), SN_BOOL);
}

/* Broadcasts x, one value per example or one for all, to the shape of `like`, whose first axis is that of examples. */
static sn_id spread(sn_build *b, sn_id x, sn_id like) {
  if (b->status) return SN_NONE;
  sn_type type = *sn_build_type(b, like), thin = type;
  type.dtype = thin.dtype = sn_build_type(b, x)->dtype;
  for (int i = 0; i < thin.rank; i++) thin.dims[i] = i ? 1 : sn_type_size(sn_build_type(b, x));
  return sn_build_broadcast(b, sn_build_reshape(b, x, &thin), &type);
}

/* mask ? x : y, per example. Storage dtypes are widened for the select. */
static sn_id chosen(sn_build *b, sn_id mask, sn_id x, sn_id y) {
  if (b->status) return SN_NONE;
  const sn_dtype dtype = sn_build_type(b, x)->dtype, wide = sn_dtype_wide(dtype);
  x = sn_build_cast(b, SN_OP_astype, x, wide);
  y = sn_build_cast(b, SN_OP_astype, y, wide);
  return sn_build_cast(b, SN_OP_astype, sn_build_where(b, spread(b, mask, x), x, y), dtype);
}

static sn_status map_region(site *s, int r, const sn_id *inputs, sn_graph *out,
                            sn_argument **arguments, size_t *n) {
  const sn_graph *region = s->c.regions[r];
  const bool is_test = s->c.op == SN_OP_while_loop && r == 1;
  sn_id *args, *y, *goes_on;
  SN_TRY(sn_arena_alloc(s->b->arena, s->n, sizeof *args, (void **)&args));
  SN_TRY(sn_arena_alloc(s->b->arena, region->n_outputs, sizeof *y, (void **)&y));
  SN_TRY(begin_region(s, inputs, args));
  SN_TRY(map_outputs(s, region, args, y));
  sn_build *b = &s->m.b;
  if (is_test) y[0] = any_of(b, y[0]);
  if (s->test_mapped && !is_test) { /* carries of examples that are done do not change */
    SN_TRY(sn_arena_alloc(b->arena, 1, sizeof *goes_on, (void **)&goes_on));
    SN_TRY(map_outputs(s, s->c.regions[1], args, goes_on));
    for (size_t k = 0; k < s->c.n_carries; k++) y[k] = chosen(b, *goes_on, y[k], s->batches[k]);
  }
  for (size_t k = 0; k < region->n_outputs; k++) sn_body_output(&s->m, y[k]);
  return sn_body_close(&s->m, NULL, false, out, arguments, n);
}

/* ---- a rule for all examples ------------------------------------------------------------------ */

/* Adds an argument to a rule. type: for one example; mapped: it has the axis. *arg: its node for one example. */
static void add_derivative(site *s, const sn_type *type, bool mapped, sn_id *arg) {
  sn_build *b = &s->m.b;
  const sn_type wider = sn_type_stacked(type, s->size);
  *arg = sn_body_argument(&s->m, SN_ARGUMENT_CONST, SN_GIVEN_NODE, 0, mapped ? &wider : type);
  if (!mapped || b->status) return;
  s->batches[s->n_mapped] = *arg;
  *arg = s->examples[s->n_mapped++] =
      sn_body_argument(&s->m, SN_ARGUMENT_NONE, SN_GIVEN_NODE, 0, type);
}

static sn_id add_constant(site *s, size_t k) {
  sn_id arg;
  add_derivative(s, sn_build_type(s->b, s->x[k]), s->mapped[k], &arg);
  return arg;
}

/* Begins a rule: adds its arguments, given derivatives and consts. Sets args to their nodes for one example. */
static sn_status begin_rule(site *s, sn_id *args) {
  const sn_control *c = &s->c;
  size_t n = 0;
  sn_body_begin(&s->m, s->b, s->b->arena);
  s->n_mapped = 0;
  for (size_t k = 0; k < c->n_arguments; k++) args[n++] = add_constant(s, k);
  const size_t n_given = c->reverse ? c->n_results : c->n_arguments;
  for (size_t k = 0; k < n_given; k++) {
    const sn_type type = c->reverse ? sn_control_result(c, k) : *sn_build_type(s->b, s->x[k]);
    if (sn_dtype_is_float(type.dtype))
      add_derivative(s, &type, c->reverse || s->mapped[k], &args[n++]);
  }
  for (size_t k = c->n_arguments; k < s->n; k++) args[n++] = add_constant(s, k);
  return s->m.b.status;
}

/* Adds the rule's outputs. The cotangent of an argument without the axis is summed over the examples. */
static sn_status end_rule(site *s, const sn_id *y) {
  const sn_control *c = &s->c;
  sn_build *b = &s->m.b;
  for (size_t k = 0, at = 0; c->reverse && k < c->n_arguments; k++) {
    if (!sn_dtype_is_float(sn_build_type(s->b, s->x[k])->dtype)) continue;
    const sn_id dx = y[at++];
    sn_body_output(&s->m, s->mapped[k] ? dx : sn_build_reduce(b, SN_OP_sum, dx, 1));
  }
  for (size_t k = 0; !c->reverse && k < c->regions[1]->n_outputs; k++) sn_body_output(&s->m, y[k]);
  return b->status;
}

static sn_status map_rule(site *s, sn_graph *out) {
  const sn_graph *rule = s->c.regions[1];
  sn_argument *arguments;
  sn_id *args, *y;
  size_t n;
  SN_TRY(sn_arena_alloc(s->b->arena, rule->n_arguments, sizeof *args, (void **)&args));
  SN_TRY(sn_arena_alloc(s->b->arena, rule->n_outputs, sizeof *y, (void **)&y));
  SN_TRY(sn_arena_alloc(s->b->arena, rule->n_arguments, sizeof *y, (void **)&s->examples));
  SN_TRY(sn_arena_alloc(s->b->arena, rule->n_arguments, sizeof *y, (void **)&s->batches));
  SN_TRY(begin_rule(s, args));
  SN_TRY(map_outputs(s, rule, args, y));
  SN_TRY(end_rule(s, y));
  return sn_body_close(&s->m, NULL, false, out, &arguments, &n);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Result k of the new node with the axis in front; in a scan's stacks it is behind that of the rounds at first. */
static sn_id result_of(site *s, sn_id node, size_t k) {
  const sn_type type = sn_control_result(&s->c, k);
  const bool carry = k < s->c.n_carries, stack = s->c.op == SN_OP_scan && !carry;
  sn_type wider = sn_type_stacked(&type, s->size);
  /* not SN_NONE, which means the recorded result: that node depends on the example */
  if (carry && !s->mapped[k]) return repeated(s->b, sn_build_result(s->b, node, k, &type), s->size);
  if (stack) {
    wider.dims[0] = type.dims[0];
    wider.dims[1] = s->size;
  }
  const sn_id id = sn_build_result(s->b, node, k, &wider);
  return stack ? swap_first(s->b, id) : id;
}

static sn_status map_loop(site *s, sn_id *out) {
  sn_graph regions[SN_MAX_REGIONS];
  sn_argument *arguments;
  sn_id *inputs, *all;
  size_t n = 0;
  const size_t n_args = arguments_of(s), first = sn_control_first(s->c.op);
  SN_TRY(find_mapped(s));
  SN_TRY(sn_arena_alloc(s->b->arena, n_args, sizeof *inputs, (void **)&inputs));
  for (size_t k = 0; k < n_args; k++) inputs[k] = given(s, k);
  SN_TRY(s->b->status);
  const bool has_rule = s->c.op == SN_OP_custom;
  for (uint32_t r = 0; r < s->c.n_regions - has_rule; r++)
    SN_TRY(map_region(s, (int)r, inputs, &regions[r], &arguments, &n));
  if (has_rule) SN_TRY(map_rule(s, &regions[1]));
  for (uint32_t r = 0; r < s->c.n_regions; r++)
    SN_TRY(s->b->maker->region(s->b, &regions[r], &s->attrs[r]));
  SN_TRY(sn_arena_alloc(s->b->arena, n + 1, sizeof *all, (void **)&all));
  all[0] = s->x[0]; /* a cond's bool; other ops overwrite it */
  for (size_t i = 0; i < n; i++) all[first + i] = arguments[i].from;
  const sn_type type = sn_control_type();
  const sn_id node = sn_build_op(s->b, s->c.op, all, first + n, s->attrs, s->n_attrs, &type);
  for (size_t k = 0; k < s->c.n_results; k++) out[k] = result_of(s, node, k);
  return s->b->status;
}

/* ---- a choice for each example --------------------------------------------------------------- */

static bool is_float(const sn_build *b, sn_id x) {
  return !b->status && sn_dtype_is_float(sn_build_type(b, x)->dtype);
}

static bool shares_floats(const site *s) {
  bool any = false;
  for (size_t k = 1; k < s->n; k++)
    any = any || (s->batch[k] == SN_NONE && is_float(s->b, s->x[k]));
  return any;
}

/* Which examples take a branch: `taken`, a bool per example; `first`, the number of the first that does, or B; `any`,
 * whether one does. */
typedef struct takers {
  sn_id taken, first, any;
} takers;

static takers takers_of(sn_build *b, sn_id taken, int64_t size) {
  const sn_type all = {.dtype = SN_I32, .rank = 1, .dims = {size}}, one = sn_type_scalar(SN_I32);
  const int64_t axis = 0;
  const sn_id numbers = sn_build_op(b, SN_OP_iota, NULL, 0, &axis, 1, &all);
  const sn_id mine = sn_build_where(b, taken, numbers, sn_build_full(b, &all, (double)size));
  sn_id first = sn_build_reduce(b, SN_OP_min, mine, 1);
  first = sn_build_reshape(b, first, &one);
  const sn_id none = sn_build_full(b, &one, (double)size);
  return (takers){taken, first, sn_build_binary(b, SN_OP_less, first, none)};
}

/* taken ? x : y, where y gets no gradient. */
static sn_id taken_or(sn_build *b, sn_id taken, sn_id x, sn_id y) {
  return chosen(b, taken, x, sn_build_unary(b, SN_OP_stop_gradient, y));
}

/* The operand x of all examples, in which those that do not take the branch get that of the first that does. */
static sn_id of_takers(sn_build *b, const takers *t, sn_id x) {
  const int64_t axis[] = {0};
  const sn_id one = sn_build_along(b, SN_OP_gather, axis, x, spread(b, t->first, x));
  return taken_or(b, t->taken, x, one);
}

/* Copies a branch to the cond's place and sets out to its results for all examples. Operands that examples share get no
 * gradient if no example takes the branch. */
static sn_status map_branch(site *s, const sn_graph *branch, sn_id taken, sn_id *out) {
  sn_build *b = s->b;
  const size_t n = branch->n_outputs;
  sn_id *args, *map, *y;
  SN_TRY(sn_arena_alloc(b->arena, s->n, sizeof *args, (void **)&args));
  SN_TRY(sn_arena_alloc(b->arena, branch->n_nodes, sizeof *map, (void **)&map));
  SN_TRY(sn_arena_alloc(b->arena, n, sizeof *y, (void **)&y));
  s->n_mapped = 0;
  const bool shared = s->size && shares_floats(s);
  const takers t = shared ? takers_of(b, taken, s->size) : (takers){0};
  for (size_t k = 0; k < arguments_of(s); k++) {
    const sn_id x = args[k] = s->x[k + 1], batch = s->batch[k + 1];
    if (batch == SN_NONE) {
      if (shared && is_float(b, x)) args[k] = taken_or(b, t.any, x, x);
      continue;
    }
    args[k] = sn_build_unary(b, SN_OP_marker, x);
    s->examples[s->n_mapped] = args[k];
    s->batches[s->n_mapped++] = shared           ? of_takers(b, &t, batch)
                                : is_float(b, x) ? taken_or(b, taken, batch, batch)
                                                 : batch;
  }
  SN_TRY(b->status);
  SN_TRY(sn_build_inline(b, branch, args, map));
  for (size_t k = 0; k < n; k++) y[k] = map[branch->outputs[k]];
  SN_TRY(sn_vmap_nodes(b, y, n, s->examples, s->batches, s->n_mapped, s->size, out));
  for (size_t k = 0; k < n; k++)
    if (out[k] == SN_NONE) out[k] = repeated(b, y[k], s->size);
  return b->status;
}

static sn_status map_choice(site *s, sn_id *out) {
  sn_id *other;
  SN_TRY(sn_arena_alloc(s->b->arena, s->c.n_results, sizeof *other, (void **)&other));
  SN_TRY(map_branch(s, s->c.regions[0], s->batch[0], out));
  const sn_id not_taken = sn_build_unary(s->b, SN_OP_logical_not, s->batch[0]);
  SN_TRY(map_branch(s, s->c.regions[1], not_taken, other));
  for (size_t k = 0; k < s->c.n_results; k++) out[k] = chosen(s->b, s->batch[0], out[k], other[k]);
  return s->b->status;
}

void sn_vmap_control(sn_build *b, sn_id id, const sn_id *batch, int64_t size, sn_id *out) {
  const sn_build_node node = sn_build_node_of(b, id);
  site s = {.b = b,
            .c = b->maker->control(b, id),
            .batch = batch,
            .n = node.n_inputs,
            .n_attrs = node.n_attrs,
            .size = size};
  sn_id *x = NULL;
  memcpy(s.attrs, node.attrs, node.n_attrs * sizeof *s.attrs);
  b->status = sn_arena_alloc(b->arena, s.n, sizeof *x, (void **)&x);
  if (!b->status) b->status = sn_arena_alloc(b->arena, s.n, sizeof *x, (void **)&s.examples);
  if (!b->status) b->status = sn_arena_alloc(b->arena, s.n, sizeof *x, (void **)&s.batches);
  for (size_t k = 0; k < s.n && !b->status; k++) x[k] = sn_build_input(b, id, k);
  s.x = x;
  if (b->status) return;
  const bool choice = s.c.op == SN_OP_cond && batch[0] != SN_NONE;
  b->status = choice ? map_choice(&s, out) : map_loop(&s, out);
}
