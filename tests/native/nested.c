#include "nested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "author.h"

enum {
  MOST_VALUES = 4,  /* of a kind that a region has */
  MOST_ROUNDS = 24, /* of loops in each other, together */
  MOST_ELEMENTS = 40
};

typedef struct writer {
  nested_case *c;
  bool loops;  /* else they are written out */
  bool whiles; /* these have no gradients */
  sn_dtype dtype;
} writer;

/* ---- values ---------------------------------------------------------------------------------- */

static sn_tensor *number(const writer *w, double value) { return sn_scalar(w->c->ctx, value); }

/* x in another type: reshaped, or what it sums to everywhere. */
static sn_tensor *fit(const writer *w, sn_tensor *x, const sn_type *type) {
  if (sn_size(x) == sn_type_size(type)) {
    if (!sn_same_dims(&x->type, type)) x = sn_reshape(x, type->rank, type->dims);
  } else {
    x = sn_broadcast_to(sn_sum(x, SN_ALL_AXES, false), type->rank, type->dims);
  }
  if (type->dtype == SN_BOOL) return sn_greater(x, number(w, 0.25));
  if (!sn_dtype_is_float(type->dtype)) x = sn_mul(sn_tanh(x), number(w, 4));
  return type->dtype == sn_dtype_of(x) ? x : sn_astype(x, type->dtype);
}

/* As steps read it. */
static sn_tensor *as_float(const writer *w, sn_tensor *x) {
  const sn_dtype dtype = sn_dtype_of(x);
  return dtype == SN_F32 || dtype == SN_F64 ? x : sn_astype(x, w->dtype);
}

/* That of a value, now and then in another dtype. */
static sn_type some_type(author *a) {
  static const sn_dtype others[] = {SN_F16, SN_I32, SN_BOOL, SN_F64, SN_BF16, SN_I8};
  sn_type type = author_pick(a)->type;
  if (case_one_in(&a->r, 5)) type.dtype = others[case_below(&a->r, 6)];
  return type;
}

static sn_tensor *place_of(const writer *w, const sn_type *type) {
  return sn_placeholder(w->c->ctx, type->dtype, type->rank, type->dims);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool is_dropped(const nested *p, uint64_t step) {
  for (size_t i = 0; i < p->n_dropped; i++)
    if (p->dropped[i] == step) return true;
  return false;
}

static void note_step(const writer *w, uint64_t step) {
  nested_case *c = w->c;
  for (size_t i = 0; i < c->n_steps; i++)
    if (c->steps[i] == step) return;
  if (w->loops && c->n_steps < NESTED_STEPS) c->steps[c->n_steps++] = step;
}

/* How deep control flow may stand in a block, and how many rounds its loops may have in all. */
typedef struct room {
  int depth;
  int64_t rounds;
} room;

static sn_tensor *write_control(const writer *w, author *a, uint64_t id, room left);

/* Indices made of a value, or known before anything runs, as the wires of a circuit are. */
static sn_tensor *write_indices(const writer *w, author *a) {
  const sn_type type = {.dtype = SN_I32, .rank = 1, .dims = {1 + case_below(&a->r, 3)}};
  if (case_one_in(&a->r, 2)) return fit(w, author_pick(a), &type);
  const double first = (double)case_below(&a->r, 5) - 2, step = (double)case_below(&a->r, 3);
  sn_tensor *numbers = sn_arange(w->c->ctx, SN_I32, 0, (double)type.dims[0], 1);
  return sn_add(sn_mul(numbers, sn_scalar(w->c->ctx, step)), sn_scalar(w->c->ctx, first));
}

/* What indices look up in a value, or add to it or to zeros. */
static sn_tensor *look_up(const writer *w, author *a) {
  sn_tensor *x = author_pick(a);
  if (!sn_rank(x) || !sn_size(x)) return NULL;
  sn_tensor *at = write_indices(w, a), *rows = sn_take(x, at, 0);
  if (case_one_in(&a->r, 2)) return rows;
  sn_tensor *to =
      case_one_in(&a->r, 2) ? x : sn_zeros(w->c->ctx, x->type.dtype, sn_rank(x), sn_dims(x));
  return sn_scatter_add(to, at, sn_tanh(rows), 0);
}

/* A few steps over the given values. */
static void write_block(const writer *w, uint64_t id, room left, sn_tensor *const *given, size_t n,
                        author *a) {
  case_random r = {id};
  const size_t n_steps = 1 + (size_t)case_below(&r, left.depth ? 3 : 4);
  *a = (author){.ctx = w->c->ctx, .most_elements = MOST_ELEMENTS, .dtype = w->dtype};
  a->n_arguments = AUTHOR_ARGUMENTS; /* there are no more than the program's */
  memcpy(a->made, given, n * sizeof *given);
  for (size_t i = 0; i < n_steps; i++) {
    const uint64_t step = random_at(id + 1 + i);
    a->step = n + i;
    a->r.state = step;
    if (is_dropped(&w->c->program, step)) continue;
    note_step(w, step);
    if (left.depth && (i == 0 || case_one_in(&a->r, 3)))
      a->made[a->step] = write_control(w, a, step, left);
    else if (case_one_in(&a->r, 6))
      a->made[a->step] = look_up(w, a);
    else
      author_step(a);
  }
  a->step = n + n_steps;
  a->r = r;
}

/* ---- regions --------------------------------------------------------------------------------- */

/* A region: a block over captures and its own arguments, and the types of what it makes. */
typedef struct region {
  const writer *w;
  uint64_t id;
  room left;
  sn_tensor *captures[MOST_VALUES];
  size_t n_captures;
  sn_type in[2 * MOST_VALUES], out[2 * MOST_VALUES];
  size_t n_in, n_out, n_carries;
} region;

static region region_of(const writer *w, author *a, uint64_t id, room left) {
  region g = {.w = w, .id = id, .left = left};
  g.n_captures = (size_t)case_below(&a->r, MOST_VALUES);
  for (size_t k = 0; k < g.n_captures; k++) g.captures[k] = author_pick(a);
  return g;
}

/* Results stay small; a carry may also be another carry, or itself. */
static void call_region(const region *g, sn_tensor *const *in, sn_tensor **out) {
  sn_tensor *given[3 * MOST_VALUES];
  author b;
  size_t n = 0;
  for (size_t k = 0; k < g->n_captures; k++) given[n++] = g->captures[k];
  for (size_t k = 0; k < g->n_in; k++) given[n++] = as_float(g->w, in[k]);
  if (!n) given[n++] = sn_full(g->w->c->ctx, g->w->dtype, 0, NULL, 0.5);
  write_block(g->w, g->id, g->left, given, n, &b);
  for (size_t k = 0; k < g->n_out; k++) {
    sn_tensor *made = author_pick(&b);
    const size_t other = g->n_carries ? (size_t)case_below(&b.r, (int64_t)g->n_carries) : 0;
    const bool kept = k < g->n_carries && case_one_in(&b.r, 6);
    if (kept && sn_type_equal(&g->in[other], &g->out[k]))
      out[k] = in[other];
    else
      out[k] = fit(g->w, case_one_in(&b.r, 4) ? sn_sin(made) : sn_tanh(made), &g->out[k]);
  }
}

static sn_traced traced(const region *g, sn_tensor **in, sn_tensor **out) {
  for (size_t k = 0; k < g->n_in; k++) in[k] = place_of(g->w, &g->in[k]);
  call_region(g, in, out);
  return (sn_traced){in, g->n_in, out, g->n_out};
}

/* Slices as a stack. */
static sn_tensor *stack(const writer *w, sn_tensor *const *slices, int64_t n, const sn_type *type) {
  const sn_type one = sn_type_stacked(type, 1);
  sn_tensor *parts[MOST_ROUNDS];
  for (int64_t i = 0; i < n; i++) parts[i] = sn_reshape(slices[i], one.rank, one.dims);
  if (n) return sn_concat(parts, (size_t)n, 0);
  const sn_type none = sn_type_stacked(type, 0);
  return sn_zeros(w->c->ctx, none.dtype, none.rank, none.dims);
}

/* The values at place i of an axis, without it. */
static sn_tensor *slice_of(sn_tensor *x, int axis, int64_t i) {
  int64_t begin[SN_MAX_RANK] = {0}, size[SN_MAX_RANK], dims[SN_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < sn_rank(x); d++) {
    size[d] = d == axis ? 1 : sn_dims(x)[d];
    if (d != axis) dims[rank++] = sn_dims(x)[d];
  }
  begin[axis] = i;
  return sn_reshape(sn_slice(x, begin, size, NULL), rank, dims);
}

/* A select in the dtype of x, which for storage is no select's. */
static sn_tensor *chosen(sn_tensor *condition, sn_tensor *x, sn_tensor *y) {
  return sn_astype(sn_where(condition, x, y), sn_dtype_of(x));
}

/* ---- scan ------------------------------------------------------------------------------------ */

static void write_rounds(const region *g, sn_tensor *const *inputs, int64_t length, bool reverse,
                         sn_tensor **out) {
  sn_tensor *in[2 * MOST_VALUES], *made[2 * MOST_VALUES];
  sn_tensor *slices[2 * MOST_VALUES][MOST_ROUNDS];
  memcpy(out, inputs, g->n_carries * sizeof *out);
  for (int64_t i = 0; i < length; i++) {
    const int64_t t = reverse ? length - 1 - i : i;
    for (size_t k = 0; k < g->n_in; k++)
      in[k] = k < g->n_carries ? out[k] : slice_of(inputs[k], 0, t);
    call_region(g, in, made);
    memcpy(out, made, g->n_carries * sizeof *out);
    for (size_t k = g->n_carries; k < g->n_out; k++) slices[k][t] = made[k];
  }
  for (size_t k = g->n_carries; k < g->n_out; k++)
    out[k] = stack(g->w, slices[k], length, &g->out[k]);
}

static size_t write_scan(const writer *w, author *a, region *g, sn_tensor **out) {
  static const int64_t lengths[] = {0, 1, 2, 2, 3, 3, 4, MOST_ROUNDS};
  int64_t length = lengths[case_below(&a->r, 8)];
  if (length > g->left.rounds) length = g->left.rounds;
  const bool reverse = case_one_in(&a->r, 2);
  sn_tensor *inputs[2 * MOST_VALUES], *in[2 * MOST_VALUES], *made[2 * MOST_VALUES];
  g->left.rounds /= length ? length : 1;
  g->n_carries = (size_t)case_below(&a->r, MOST_VALUES);
  const size_t n_slices = (size_t)case_below(&a->r, MOST_VALUES - 1);
  for (size_t k = 0; k < g->n_carries + n_slices; k++) {
    g->in[k] = some_type(a);
    const bool slice = k >= g->n_carries && g->in[k].rank < SN_MAX_RANK;
    const sn_type type = slice ? sn_type_stacked(&g->in[k], length) : g->in[k];
    if (k >= g->n_carries && !slice) break;
    inputs[g->n_in++] = fit(w, author_pick(a), &type);
  }
  memcpy(g->out, g->in, g->n_carries * sizeof *g->out);
  g->n_out = g->n_carries + (size_t)case_below(&a->r, MOST_VALUES - 1) + !g->n_carries;
  for (size_t k = g->n_carries; k < g->n_out; k++) {
    g->out[k] = some_type(a);
    if (g->out[k].rank > 3) g->out[k].rank = 0;
  }
  if (!w->loops) {
    write_rounds(g, inputs, length, reverse, out);
    return g->n_out;
  }
  const sn_traced body = traced(g, in, made);
  return sn_scan(w->c->ctx, &body, g->n_carries, inputs, length, reverse, out) ? 0 : g->n_out;
}

/* ---- while ----------------------------------------------------------------------------------- */

/* The first carry counts rounds; beside that a block may end the loop early. */
static sn_tensor *goes_on(const region *g, const region *test, int64_t most, sn_tensor *const *in) {
  sn_tensor *below = sn_less(in[0], number(g->w, (double)most)), *holds;
  if (!test->n_out) return below;
  call_region(test, in, &holds);
  return sn_logical_and(below, sn_logical_not(holds));
}

static size_t write_while(const writer *w, author *a, region *g, sn_tensor **out) {
  static const sn_type count = {.dtype = SN_I32}, answer = {.dtype = SN_BOOL};
  int64_t most = case_below(&a->r, 5);
  if (most > g->left.rounds) most = g->left.rounds;
  g->left.rounds /= most ? most : 1;
  sn_tensor *inputs[MOST_VALUES + 1], *in[MOST_VALUES + 1], *made[MOST_VALUES + 1],
      *test_in[MOST_VALUES + 1];
  g->n_in = g->n_out = g->n_carries = 1 + (size_t)case_below(&a->r, MOST_VALUES);
  g->in[0] = g->out[0] = count;
  inputs[0] = sn_full(w->c->ctx, SN_I32, 0, NULL, 0);
  for (size_t k = 1; k < g->n_in; k++) {
    g->in[k] = g->out[k] = some_type(a);
    inputs[k] = fit(w, author_pick(a), &g->in[k]);
  }
  region test = *g;
  test.id = random_at(g->id + 77);
  test.n_out = case_one_in(&a->r, 2);
  test.out[0] = answer;
  test.n_carries = 0;
  memcpy(out, inputs, g->n_in * sizeof *out);
  sn_tensor *one = number(w, 1), *active = NULL;
  for (int64_t i = 0; i < most && !w->loops; i++) {
    sn_tensor *on = goes_on(g, &test, most, out);
    active = active ? sn_logical_and(active, on) : on;
    call_region(g, out, made);
    made[0] = sn_add(out[0], one);
    for (size_t k = 0; k < g->n_out; k++) out[k] = chosen(active, made[k], out[k]);
  }
  if (!w->loops) return g->n_out;
  sn_traced body = traced(g, in, made);
  made[0] = sn_add(in[0], one);
  for (size_t k = 0; k < g->n_in; k++) test_in[k] = place_of(w, &g->in[k]);
  sn_tensor *on = goes_on(g, &test, most, test_in);
  const sn_traced tested = {test_in, g->n_in, &on, 1};
  return sn_while(w->c->ctx, &tested, &body, inputs, out) ? 0 : g->n_out;
}

/* Operands of a region that is called once, and the types of its results. */
static void choose_operands(const writer *w, author *a, region *g, sn_tensor **inputs) {
  g->n_in = (size_t)case_below(&a->r, MOST_VALUES);
  for (size_t k = 0; k < g->n_in; k++) {
    g->in[k] = some_type(a);
    inputs[k] = fit(w, author_pick(a), &g->in[k]);
  }
  g->n_out = 1 + (size_t)case_below(&a->r, MOST_VALUES - 1);
  for (size_t k = 0; k < g->n_out; k++) g->out[k] = some_type(a);
}

/* ---- cond ------------------------------------------------------------------------------------ */

static size_t write_cond(const writer *w, author *a, region *g, sn_tensor **out) {
  static const sn_type answer = {.dtype = SN_BOOL};
  sn_tensor *inputs[MOST_VALUES], *in[2][MOST_VALUES], *made[2][MOST_VALUES];
  sn_tensor *condition = fit(w, author_pick(a), &answer);
  choose_operands(w, a, g, inputs);
  region other = *g;
  other.id = random_at(g->id + 77);
  if (!w->loops) {
    call_region(g, inputs, made[0]);
    call_region(&other, inputs, made[1]);
    for (size_t k = 0; k < g->n_out; k++) out[k] = chosen(condition, made[0][k], made[1][k]);
    return g->n_out;
  }
  const sn_traced on_true = traced(g, in[0], made[0]), on_false = traced(&other, in[1], made[1]);
  return sn_cond(condition, &on_true, &on_false, inputs, out) ? 0 : g->n_out;
}

/* ---- checkpoint ------------------------------------------------------------------------------ */

static size_t write_checkpoint(const writer *w, author *a, region *g, sn_tensor **out) {
  sn_tensor *inputs[MOST_VALUES], *in[MOST_VALUES], *made[MOST_VALUES];
  const sn_save_policy keep = {.products = case_one_in(&a->r, 2)};
  choose_operands(w, a, g, inputs);
  if (!w->loops) {
    call_region(g, inputs, out);
    return g->n_out;
  }
  const sn_traced body = traced(g, in, made);
  return sn_checkpoint(w->c->ctx, &body, inputs, &keep, out) ? 0 : g->n_out;
}

/* One of its results, to which others may be added. */
static sn_tensor *write_control(const writer *w, author *a, uint64_t id, room left) {
  sn_tensor *out[2 * MOST_VALUES];
  const int64_t kind = case_below(&a->r, w->whiles ? 10 : 8);
  left.depth--;
  region g = region_of(w, a, id, left);
  const size_t n = kind < 4   ? write_scan(w, a, &g, out)
                   : kind < 6 ? write_cond(w, a, &g, out)
                   : kind < 8 ? write_checkpoint(w, a, &g, out)
                              : write_while(w, a, &g, out);
  if (!n) return NULL;
  sn_tensor *y = as_float(w, out[case_below(&a->r, (int64_t)n)]);
  if (case_one_in(&a->r, 2)) return y;
  for (size_t k = 0; k < n; k++) y = sn_add(y, fit(w, as_float(w, out[k]), &y->type));
  return y;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* A number first, then values of any shape. */
static size_t write_program(const writer *w, sn_tensor *const *given, size_t n, sn_tensor **out) {
  case_random r = {~w->c->program.seed};
  const room left = {.depth = 1 + (int)case_below(&r, 3), .rounds = MOST_ROUNDS};
  const size_t more = (size_t)case_below(&r, 3);
  author a;
  write_block(w, w->c->program.seed, left, given, n, &a);
  sn_tensor *x = author_pick(&a);
  x = sn_size(x) ? author_total(&a, x) : sn_sum(x, SN_ALL_AXES, false); /* a mean of none is NaN */
  out[0] = sn_astype(x, w->dtype);
  for (size_t k = 1; k <= more; k++) out[k] = author_pick(&a);
  return 1 + more;
}

/* The number and its gradients. */
static size_t write_gradients(const writer *w, sn_tensor *const *given, size_t n, sn_tensor **out) {
  sn_tensor *x[NESTED_ARGUMENTS];
  for (size_t i = 0; i < n; i++) x[i] = sn_variable(given[i]);
  write_program(w, x, n, out);
  return sn_gradients(out[0], x, n, out + 1) ? 0 : 1 + n;
}

typedef size_t written_fn(const writer *w, sn_tensor *const *given, size_t n, sn_tensor **out);

/* The second half of what is given are tangents of the first. */
static size_t write_tangents(const writer *w, written_fn *function, sn_tensor *const *given,
                             size_t n, sn_tensor **out) {
  sn_tensor *x[NESTED_ARGUMENTS], *y[NESTED_RESULTS];
  for (size_t i = 0; i < n / 2; i++) x[i] = sn_variable(given[i]);
  const size_t n_out = function(w, x, n / 2, y);
  return sn_jvp(w->c->ctx, y, n_out, x, given + n / 2, n / 2, out) ? 0 : n_out;
}

/* All but the last argument have examples along an axis of their own choice. */
static size_t write_examples(const writer *w, written_fn *function, sn_tensor *const *given,
                             size_t n, sn_tensor **out) {
  sn_tensor *one[NESTED_ARGUMENTS], *y[NESTED_EXAMPLE_COUNT][NESTED_RESULTS];
  int axes[NESTED_ARGUMENTS];
  const int first[NESTED_RESULTS] = {0};
  for (size_t i = 0; i + 1 < n; i++)
    axes[i] = (int)(w->c->program.seed % (uint64_t)sn_rank(given[i]));
  one[n - 1] = given[n - 1];
  if (w->loops) {
    for (size_t i = 0; i + 1 < n; i++) {
      const sn_type type = slice_of(given[i], axes[i], 0)->type;
      one[i] = place_of(w, &type);
    }
    const size_t n_out = function(w, one, n, y[0]);
    const sn_status status = sn_vmap(w->c->ctx, y[0], first, n_out, one, given, axes, n - 1, out);
    return status ? 0 : n_out;
  }
  size_t n_out = 0;
  for (int e = 0; e < NESTED_EXAMPLE_COUNT; e++) {
    for (size_t i = 0; i + 1 < n; i++) one[i] = slice_of(given[i], axes[i], e);
    n_out = function(w, one, n, y[e]);
  }
  for (size_t k = 0; k < n_out; k++) {
    sn_tensor *each[NESTED_EXAMPLE_COUNT];
    for (int e = 0; e < NESTED_EXAMPLE_COUNT; e++) each[e] = y[e][k];
    out[k] = stack(w, each, NESTED_EXAMPLE_COUNT, &each[0]->type);
  }
  return n_out;
}

static size_t write_transformed(const writer *w, sn_tensor *const *given, size_t n,
                                sn_tensor **out) {
  sn_tensor *x[NESTED_ARGUMENTS] = {NULL}, *y[NESTED_RESULTS];
  switch (w->c->program.transform) {
  case NESTED_GRADIENT: return write_gradients(w, given, n, out);
  case NESTED_TANGENT: return write_tangents(w, write_program, given, n, out);
  case NESTED_TANGENT_OF_GRADIENT: return write_tangents(w, write_gradients, given, n, out);
  case NESTED_EXAMPLES: return write_examples(w, write_program, given, n, out);
  case NESTED_EXAMPLES_OF_GRADIENT: return write_examples(w, write_gradients, given, n, out);
  case NESTED_GRADIENT_OF_EXAMPLES:
    for (size_t i = 0; i < n; i++) x[i] = sn_variable(given[i]);
    if (!write_examples(w, write_program, x, n, y)) return 0;
    out[0] = sn_sum(y[0], SN_ALL_AXES, false);
    return sn_gradients(out[0], x, n, out + 1) ? 0 : 1 + n;
  default: return write_program(w, given, n, out);
  }
}

nested nested_of(uint64_t seed) {
  return (nested){.seed = random_at(seed),
                  .transform = (nested_transform)(seed % NESTED_TRANSFORMS)};
}

size_t nested_write(nested_case *c, bool loops, sn_tensor *const *given, sn_tensor **results) {
  const nested_transform t = c->program.transform;
  const writer w = {.c = c,
                    .loops = loops,
                    .whiles = t == NESTED_VALUES || t == NESTED_TANGENT || t == NESTED_EXAMPLES,
                    .dtype = c->types[0].dtype};
  return write_transformed(&w, given, c->n_arguments, results);
}
