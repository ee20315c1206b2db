/* test_vmap.c - vmap of every op, in float64, against a loop over the examples: each is run alone, and
 * its results have to be at its position in the batch. For each case, each choice of mapped inputs, and
 * each position of the new axis:
 *
 *   vmap of f, of vjp, of jvp, of jvp of vjp, of hessian      vjp and jvp of vmap of f */
#include "case_support.h"
#include "derivative_cases.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

enum { EXAMPLES = 3, MOST = 2048 };
static const double RTOL = 1e-12;

typedef struct inputs {
  sn_tensor *x[DERIVATIVE_INPUTS];
} inputs;

/* ---- what is mapped -------------------------------------------------------------------------- */

/* Makes tensors of one example, returns how many. */
typedef size_t function_of(const derivative_case *c, const inputs *in, sn_tensor **out);

static size_t make_y(const derivative_case *c, const inputs *in, sn_tensor **out) {
  out[0] = sn_astype(must(c->name, c->build(ctx, c, in->x)), SN_F64);
  return 1;
}

static inputs variables_of(const derivative_case *c, const inputs *in) {
  inputs v = {{NULL}};
  for (int k = 0; k < c->n; k++) v.x[k] = must(c->name, sn_variable(in->x[k]));
  return v;
}

static size_t make_vjp(const derivative_case *c, const inputs *in, sn_tensor **out) {
  const inputs v = variables_of(c, in);
  sn_tensor *y;
  make_y(c, &v, &y);
  sn_tensor *u = random_like(y, 7);
  succeed(c->name, sn_vjp(ctx, &y, 1, &u, v.x, (size_t)c->n, out));
  return (size_t)c->n;
}

static inputs directions(const derivative_case *c, const inputs *in) {
  inputs d = {{NULL}};
  for (int k = 0; k < c->n; k++) d.x[k] = random_like(in->x[k], 3 + (uint64_t)k);
  return d;
}

static size_t make_jvp(const derivative_case *c, const inputs *in, sn_tensor **out) {
  const inputs v = variables_of(c, in), d = directions(c, in);
  sn_tensor *y;
  make_y(c, &v, &y);
  succeed(c->name, sn_jvp(ctx, &y, 1, v.x, d.x, (size_t)c->n, out));
  return 1;
}

static size_t make_jvp_of_vjp(const derivative_case *c, const inputs *in, sn_tensor **out) {
  const inputs v = variables_of(c, in), d = directions(c, in);
  sn_tensor *slopes[DERIVATIVE_INPUTS];
  const size_t n = make_vjp(c, &v, slopes);
  succeed(c->name, sn_jvp(ctx, slopes, n, v.x, d.x, (size_t)c->n, out));
  return n;
}

/* The second derivatives by the first input: what jvp of vjp makes of each unit vector, by a vmap of its own. */
static size_t make_hessian(const derivative_case *c, const inputs *in, sn_tensor **out) {
  const inputs v = variables_of(c, in);
  const sn_type *type = &c->in[0];
  const int64_t n = sn_type_size(type);
  int64_t dims[SN_MAX_RANK] = {n};
  double unit[DERIVATIVE_ELEMENTS * DERIVATIVE_ELEMENTS] = {0};
  for (int i = 0; i < type->rank; i++) dims[i + 1] = type->dims[i];
  for (int64_t i = 0; i < n; i++) unit[i * n + i] = 1;
  sn_tensor *slopes[DERIVATIVE_INPUTS], *bent;
  sn_tensor *direction = sn_placeholder(ctx, SN_F64, type->rank, type->dims);
  sn_tensor *units = sn_from_data(ctx, SN_F64, type->rank + 1, dims, unit);
  make_vjp(c, &v, slopes);
  succeed(c->name, sn_jvp(ctx, slopes, 1, v.x, &direction, 1, &bent));
  succeed(c->name, sn_vmap(ctx, &bent, (int[]){0}, 1, &direction, &units, (int[]){0}, 1, out));
  return 1;
}

static const struct {
  const char *name;
  function_of *make;
} functions[] = {{"vmap", make_y},
                 {"vmap of vjp", make_vjp},
                 {"vmap of jvp", make_jvp},
                 {"vmap of jvp of vjp", make_jvp_of_vjp},
                 {"vmap of hessian", make_hessian}};

/* ---- batches --------------------------------------------------------------------------------- */

/* One choice: which inputs are mapped, and where the new axis stands in inputs and results. */
typedef struct choice {
  const derivative_case *c;
  derivative_point at[EXAMPLES];
  uint32_t mapped;
  int place;
} choice;

static bool is_mapped(const choice *ch, int k) { return ch->mapped >> k & 1; }

/* The axis in a tensor of this rank. */
static int axis_of(const choice *ch, int rank) { return ch->place % rank; }

static sn_tensor *moved(sn_tensor *t, int from, int to) {
  int64_t wide[SN_MAX_RANK];
  int perm[SN_MAX_RANK];
  sn_move_axis(sn_rank(t), from, to, wide);
  for (int i = 0; i < sn_rank(t); i++) perm[i] = (int)wide[i];
  return sn_transpose(t, perm);
}

static sn_tensor *value_of(const choice *ch, int k, int example) {
  const sn_type *type = &ch->c->in[k];
  return sn_from_data(ctx, SN_F64, type->rank, type->dims, ch->at[example].x[k]);
}

/* t, the same for all examples, along the axis of the choice. */
static sn_tensor *repeated(const choice *ch, sn_tensor *t) {
  int64_t dims[SN_MAX_RANK] = {EXAMPLES};
  for (int i = 0; i < sn_rank(t); i++) dims[i + 1] = sn_dims(t)[i];
  t = sn_broadcast_to(t, sn_rank(t) + 1, dims);
  return moved(t, 0, axis_of(ch, sn_rank(t)));
}

static sn_tensor *batch_of(const choice *ch, int k) {
  const sn_type *type = &ch->c->in[k];
  const int64_t n = sn_type_size(type);
  int64_t dims[SN_MAX_RANK] = {EXAMPLES};
  double all[EXAMPLES * DERIVATIVE_ELEMENTS];
  for (int i = 0; i < type->rank; i++) dims[i + 1] = type->dims[i];
  for (int e = 0; e < EXAMPLES; e++) memcpy(all + e * n, ch->at[e].x[k], (size_t)n * sizeof *all);
  sn_tensor *batch = sn_from_data(ctx, SN_F64, type->rank + 1, dims, all);
  return moved(batch, 0, axis_of(ch, type->rank + 1));
}

/* Inputs as vmap takes them: batches where mapped. */
static inputs batches_of(const choice *ch) {
  inputs in = {{NULL}};
  for (int k = 0; k < ch->c->n; k++)
    in.x[k] = is_mapped(ch, k) ? batch_of(ch, k) : value_of(ch, k, 0);
  return in;
}

static inputs example_of(const choice *ch, int example) {
  inputs in = {{NULL}};
  for (int k = 0; k < ch->c->n; k++) in.x[k] = value_of(ch, k, is_mapped(ch, k) ? example : 0);
  return in;
}

/* f of all examples: f is recorded on placeholders. */
static size_t map(const choice *ch, function_of *f, const inputs *in, sn_tensor **out) {
  const derivative_case *c = ch->c;
  inputs one = *in;
  sn_tensor *made[DERIVATIVE_INPUTS], *examples[DERIVATIVE_INPUTS], *batches[DERIVATIVE_INPUTS];
  int in_axes[DERIVATIVE_INPUTS], out_axes[DERIVATIVE_INPUTS];
  size_t n = 0;
  for (int k = 0; k < c->n; k++) {
    if (!is_mapped(ch, k)) continue;
    one.x[k] = examples[n] = sn_placeholder(ctx, SN_F64, c->in[k].rank, c->in[k].dims);
    batches[n] = in->x[k];
    const int axis = axis_of(ch, c->in[k].rank + 1);
    in_axes[n++] = ch->place % 2 ? axis - c->in[k].rank - 1 : axis; /* both ways to say it */
  }
  const size_t n_made = f(c, &one, made);
  for (size_t k = 0; k < n_made; k++) out_axes[k] = axis_of(ch, sn_rank(made[k]) + 1);
  succeed(c->name, sn_vmap(ctx, made, out_axes, n_made, examples, batches, in_axes, n, out));
  return n_made;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void expect_near(const choice *ch, const char *what, sn_tensor *got, sn_tensor *want) {
  double g[MOST], w[MOST], largest = 0;
  const int64_t n = sn_size(want);
  assert_true(n <= MOST);
  if (sn_size(got) != n)
    fail_msg("%s: %s: %lld elements, not %lld", ch->c->name, what, (long long)sn_size(got),
             (long long)n);
  succeed(ch->c->name, sn_read(must(ch->c->name, got), g, sizeof g));
  succeed(ch->c->name, sn_read(must(ch->c->name, want), w, sizeof w));
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(w[i]));
  for (int64_t i = 0; i < n; i++)
    if (!(fabs(g[i] - w[i]) <= RTOL * largest))
      fail_msg("%s: %s, inputs %u mapped, axis %d: element %lld is %.17g, not %.17g", ch->c->name,
               what, ch->mapped, ch->place, (long long)i, g[i], w[i]);
}

/* What got has at an example's place. */
static sn_tensor *part_of(const choice *ch, sn_tensor *got, int example) {
  int64_t begin[SN_MAX_RANK] = {example}, size[SN_MAX_RANK] = {1};
  sn_tensor *front = moved(got, axis_of(ch, sn_rank(got)), 0);
  for (int i = 1; i < sn_rank(got); i++) size[i] = sn_dims(front)[i];
  return sn_slice(front, begin, size, NULL);
}

static void check_parts(const choice *ch, const char *what, sn_tensor *got, sn_tensor **want) {
  if (sn_dims(got)[axis_of(ch, sn_rank(got))] != EXAMPLES)
    fail_msg("%s: %s: no axis", ch->c->name, what);
  for (int e = 0; e < EXAMPLES; e++) expect_near(ch, what, part_of(ch, got, e), want[e]);
}

/* want[k]: of each example. */
static size_t loop(const choice *ch, function_of *f, sn_tensor *want[][EXAMPLES]) {
  size_t n = 0;
  for (int e = 0; e < EXAMPLES; e++) {
    sn_tensor *made[DERIVATIVE_INPUTS];
    const inputs in = example_of(ch, e);
    n = f(ch->c, &in, made);
    for (size_t k = 0; k < n; k++) want[k][e] = made[k];
  }
  return n;
}

static void check_derivatives_of_vmap(const choice *ch) {
  const derivative_case *c = ch->c;
  const inputs in = batches_of(ch), v = variables_of(c, &in);
  inputs d = {{NULL}};
  sn_tensor *y, *dy, *u, *slopes[DERIVATIVE_INPUTS], *want[DERIVATIVE_INPUTS][EXAMPLES];
  map(ch, make_y, &v, &y);
  for (int k = 0; k < c->n; k++) {
    d.x[k] = random_like(value_of(ch, k, 0), 3 + (uint64_t)k);
    if (is_mapped(ch, k)) d.x[k] = repeated(ch, d.x[k]);
  }
  succeed(c->name, sn_jvp(ctx, &y, 1, v.x, d.x, (size_t)c->n, &dy));
  loop(ch, make_jvp, want);
  check_parts(ch, "jvp of vmap", dy, want[0]);

  sn_tensor *one[DERIVATIVE_INPUTS];
  const inputs first = example_of(ch, 0);
  make_y(c, &first, one);
  u = repeated(ch, random_like(one[0], 7));
  succeed(c->name, sn_vjp(ctx, &y, 1, &u, v.x, (size_t)c->n, slopes));
  loop(ch, make_vjp, want);
  for (int k = 0; k < c->n; k++) {
    if (is_mapped(ch, k)) {
      check_parts(ch, "vjp of vmap", slopes[k], want[k]);
      continue;
    }
    sn_tensor *sum = want[k][0];
    for (int e = 1; e < EXAMPLES; e++) sum = sn_add(sum, want[k][e]);
    expect_near(ch, "vjp of vmap", slopes[k], sum);
  }
}

static void check_choice(const choice *ch) {
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  const inputs in = batches_of(ch);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    sn_tensor *got[DERIVATIVE_INPUTS], *want[DERIVATIVE_INPUTS][EXAMPLES];
    const size_t n = map(ch, functions[i].make, &in, got);
    assert_int_equal(loop(ch, functions[i].make, want), n);
    for (size_t k = 0; k < n; k++) check_parts(ch, functions[i].name, got[k], want[k]);
  }
  check_derivatives_of_vmap(ch);
  sn_scope_end(ctx);
}

static void check_case(const derivative_case *c) {
  choice ch = {.c = c};
  int most = 0;
  for (int e = 0; e < EXAMPLES; e++) ch.at[e] = derivative_random_point(c, &rng);
  for (int k = 0; k < c->n; k++) most = c->in[k].rank > most ? c->in[k].rank : most;
  for (ch.mapped = 1; ch.mapped < 1u << c->n; ch.mapped++)
    for (ch.place = 0; ch.place <= most; ch.place++) check_choice(&ch);
}

static void rows_of_the_table(void **state) {
  (void)state;
  derivative_rows(check_case);
}

static void structured_ops(void **state) {
  (void)state;
  derivative_structured(check_case);
}

/* ---- arguments ------------------------------------------------------------------------------- */

typedef struct call {
  sn_tensor *y, *example, *batch;
  int in_axis, out_axis;
} call;

static sn_status vmap_of(const call *a, sn_tensor **out) {
  return sn_vmap(ctx, &a->y, &a->out_axis, 1, &a->example, &a->batch, &a->in_axis, 1, out);
}

static void expect_refused(call a, sn_status status, const char *text) {
  sn_tensor *out;
  assert_int_equal(vmap_of(&a, &out), status);
  assert_string_equal(sn_error_message(ctx), text);
  sn_error_clear(ctx);
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

/* What depends on no example is repeated, or stays as it is. */
static void independent_outputs(void **state) {
  (void)state;
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  const double data[] = {1, 2, 3}, want[] = {1, 1, 2, 2, 3, 3};
  sn_tensor *c = sn_from_data(ctx, SN_F64, 1, DIMS(3), data), *out;
  call a = {.y = c,
            .example = sn_placeholder(ctx, SN_F64, 0, NULL),
            .batch = sn_from_data(ctx, SN_F64, 1, DIMS(2), data),
            .out_axis = -1};
  double got[6];
  assert_int_equal(vmap_of(&a, &out), SN_OK);
  assert_int_equal(sn_read(out, got, sizeof got), SN_OK);
  assert_memory_equal(got, want, sizeof want);
  a.out_axis = SN_NO_AXIS;
  assert_int_equal(vmap_of(&a, &out), SN_OK);
  assert_int_equal(sn_rank(out), 1);
  sn_scope_end(ctx);
}

static void bad_arguments(void **state) {
  (void)state;
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  const double data[] = {1, 2, 3, 4, 5, 6};
  sn_tensor *x = sn_placeholder(ctx, SN_F64, 1, DIMS(2)), *y = sn_square(x);
  sn_tensor *rows = sn_from_data(ctx, SN_F64, 2, DIMS(3, 2), data);
  sn_tensor *long_one = sn_placeholder(ctx, SN_F64, 8, DIMS(2, 1, 1, 1, 1, 1, 1, 1));
  expect_refused((call){y, x, rows, 1, 0}, SN_ERR_SHAPE,
                 "vmap: batch 0 is float64 (3, 2), its example float64 (2,); axis 1");
  expect_refused((call){y, x, sn_astype(rows, SN_F32), 0, 0}, SN_ERR_SHAPE,
                 "vmap: batch 0 is float32 (3, 2), its example float64 (2,); axis 0");
  expect_refused((call){y, x, rows, 2, 0}, SN_ERR_SHAPE,
                 "vmap: axis 2 of batch 0 is out of range for rank 2");
  expect_refused((call){y, x, rows, 0, -3}, SN_ERR_SHAPE,
                 "vmap: axis -3 of output 0 is out of range for rank 2");
  expect_refused((call){y, x, rows, 0, SN_NO_AXIS}, SN_ERR_ARGUMENT,
                 "vmap: output 0 depends on what is mapped, so it needs an axis");
  expect_refused((call){sn_mul(y, long_one), x, rows, 0, 0}, SN_ERR_SHAPE,
                 "vmap: broadcast of shape (2, 1, 1, 1, 1, 1, 1, 2) has no room for one more axis");
  sn_tensor *two[] = {x, sn_placeholder(ctx, SN_F64, 0, NULL)}, *out;
  sn_tensor *batches[] = {rows, sn_from_data(ctx, SN_F64, 1, DIMS(2), data)};
  assert_int_equal(sn_vmap(ctx, &y, (int[]){0}, 1, two, batches, (int[]){0, 0}, 2, &out),
                   SN_ERR_SHAPE);
  assert_string_equal(sn_error_message(ctx), "vmap: batch 0 has 3 examples, batch 1 2");
  sn_error_clear(ctx);
  assert_int_equal(sn_vmap(ctx, &y, (int[]){0}, 1, two, batches, NULL, 0, &out), SN_ERR_ARGUMENT);
  assert_string_equal(sn_error_message(ctx), "vmap: nothing is mapped");
  sn_error_clear(ctx);
  sn_scope_end(ctx);
}

/* Every allocation fails once, of jvp and of vmap: an error, and nothing is left behind. */
static void each_allocation_fails(void **state) {
  (void)state;
  const double data[] = {1, 2, 3, 4, 5, 6};
  sn_status status = SN_ERR_MEMORY;
  for (int64_t k = 0; status; k++) {
    assert_int_equal(sn_scope_begin(ctx), SN_OK);
    sn_tensor *x = sn_placeholder(ctx, SN_F64, 1, DIMS(2)), *v = sn_variable(x), *dy, *out;
    const call a = {.example = x, .batch = sn_from_data(ctx, SN_F64, 2, DIMS(3, 2), data)};
    sn_tensor *one = sn_from_data(ctx, SN_F64, 1, DIMS(2), data);
    sn_tensor *y =
        sn_mul(sn_max(v, 1, true), sn_softmax(sn_pad(v, DIMS(1), DIMS(1), SN_PAD_CONSTANT, 1), 0));
    ctx->env.heap.fail_countdown = k;
    status = sn_jvp(ctx, &y, 1, &v, &one, 1, &dy);
    if (!status)
      status = sn_vmap(ctx, &dy, &a.out_axis, 1, &a.example, &a.batch, &a.in_axis, 1, &out);
    ctx->env.heap.fail_countdown = -1;
    if (status) assert_int_equal(status, SN_ERR_MEMORY);
    sn_error_clear(ctx);
    sn_scope_end(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_the_table),     cmocka_unit_test(structured_ops),
      cmocka_unit_test(independent_outputs),   cmocka_unit_test(bad_arguments),
      cmocka_unit_test(each_allocation_fails),
  };
  return cmocka_run_group_tests(tests, open_cases, close_cases);
}
