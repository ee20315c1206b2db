/* test_planes.c - the pass `planes`: the loops whose carries it splits, as text of the IR; and that values and derivatives of
 * random loops over arrays of structs have the same bits with and without it. */
#include <math.h>
#include <stdio.h>

#include "api_support.h"
#include "graph/attributes.h"
#include "graph/dtypes.h"
#include "graph/reference.h"

enum { N = 16 };

/* ---- which loops ----------------------------------------------------------------------------- */

/* The carries of all scans and while loops behind a stage, one behind the other: "1 5 " */
static void carries_after(const sn_program *program, const char *stage, char *out) {
  const char *at = sn_program_text(program, stage);
  assert_non_null(at);
  *out = 0;
  for (const char *end = strstr(at, "region 0"); at && at < end;) {
    int carries = 0;
    const char *scan = strstr(at, "= scan"), *loop = strstr(at, "= while_loop");
    const char *next = !scan || (loop && loop < scan) ? loop : scan;
    if (!next || next > end) return;
    const char *from = next == scan ? "{%*d, %d" : "{%*d, %*d, %d";
    at = strchr(next, '{');
    assert_int_equal(sscanf(at, from, &carries), 1);
    out += sprintf(out, "%d ", carries);
  }
}

static sn_program *compiled(bool planes, sn_tensor **inputs, size_t n, sn_tensor **outputs,
                            size_t n_outputs) {
  const sn_program_options record = {.record = true};
  sn_program *program;
  assert_int_equal(sn_pass_enable(f.ctx, "planes", planes), SN_OK);
  assert_int_equal(sn_compile_with(f.ctx, inputs, n, outputs, n_outputs, &record, &program), SN_OK);
  return program;
}

/* The slice from place `at` on an axis, so wide. */
static sn_tensor *field(sn_tensor *s, int axis, int64_t at, int64_t width) {
  int64_t begin[SN_MAX_RANK] = {0}, size[SN_MAX_RANK];
  memcpy(size, sn_dims(s), sizeof *size * (size_t)sn_rank(s));
  begin[axis] = at;
  size[axis] = width;
  return sn_slice(s, begin, size, NULL);
}

static sn_tensor *scanned(sn_tensor *in, sn_tensor *made, sn_tensor *start, int64_t length) {
  const sn_traced body = {&in, 1, &made, 1};
  sn_tensor *out;
  assert_int_equal(sn_scan(f.ctx, &body, 1, &start, length, false, &out), SN_OK);
  return out;
}

typedef sn_tensor *body_fn(sn_tensor *s);

static sn_tensor *by_fields(sn_tensor *s) {
  sn_tensor *x = field(s, 1, 0, 1), *v = field(s, 1, 1, 1);
  return sn_concat((sn_tensor *[]){sn_add(x, v), sn_sin(x)}, 2, 1);
}
static sn_tensor *by_arithmetic(sn_tensor *s) { return sn_add(s, sn_mul(s, by_fields(s))); }
static sn_tensor *by_stack(sn_tensor *s) {
  const int64_t n = sn_dims(s)[0];
  sn_tensor *x = sn_reshape(field(s, 1, 0, 1), 1, &n), *v = sn_reshape(field(s, 1, 1, 1), 1, &n);
  return sn_stack((sn_tensor *[]){sn_sub(v, x), sn_sin(x)}, 2, 1);
}
static sn_tensor *backwards(sn_tensor *s) {
  const int64_t begin[] = {N - 1, 1}, size[] = {N, 1}, strides[] = {-1, -1};
  sn_tensor *v = sn_slice(s, begin, size, strides);
  return sn_concat((sn_tensor *[]){field(s, 1, 0, 1), v}, 2, 1);
}
static sn_tensor *by_pads(sn_tensor *s) {
  const int64_t none[] = {0, 0}, one[] = {0, 1};
  return sn_add(sn_pad(sn_sin(field(s, 1, 0, 1)), none, one, SN_PAD_CONSTANT, 0),
                sn_pad(field(s, 1, 1, 1), one, none, SN_PAD_CONSTANT, 0));
}
static sn_tensor *swapped(sn_tensor *s) {
  return sn_concat((sn_tensor *[]){field(s, 1, 1, 1), sn_sin(field(s, 1, 0, 1))}, 2, 1);
}
static sn_tensor *summed(sn_tensor *s) { return sn_mul(by_fields(s), sn_sum(s, 2, true)); }
static sn_tensor *shifted(sn_tensor *s) {
  return sn_concat((sn_tensor *[]){field(s, 1, 0, 1), field(s, 1, 0, 3)}, 2, 1);
}
static sn_tensor *uncut(sn_tensor *s) { return sn_mul(sn_sin(s), s); }
static sn_tensor *two_axes(sn_tensor *s) {
  sn_tensor *rows = sn_concat((sn_tensor *[]){field(s, 0, 0, 8), field(s, 0, 8, N - 8)}, 2, 0);
  return sn_add(by_fields(s), sn_sin(rows));
}
static sn_tensor *by_parts_of_two(sn_tensor *s) {
  sn_tensor *x = field(s, 1, 0, 2), *v = field(s, 1, 2, 2);
  return sn_concat((sn_tensor *[]){sn_add(x, field(s, 1, 3, 1)), sn_mul(v, x)}, 2, 1);
}
static sn_tensor *with_a_long_rest(sn_tensor *s) {
  sn_tensor *rest = field(s, 1, 3, sn_dims(s)[1] - 3);
  return sn_concat((sn_tensor *[]){sn_sin(field(s, 1, 0, 3)), sn_neg(rest)}, 2, 1);
}

static void loops_are_cut_where_fields_are_read(void **state) {
  (void)state;
  const struct {
    body_fn *body;
    int64_t fields, n;
    const char *carries;
  } cases[] = {{by_fields, 2, 64, "2 "},        {by_arithmetic, 2, 64, "2 "},
               {by_stack, 2, 64, "2 "},         {by_pads, 2, 64, "2 "},
               {swapped, 2, 64, "2 "},          {by_parts_of_two, 4, 64, "2 "},
               {backwards, 2, N, "1 "},         {summed, 2, 64, "1 "},
               {shifted, 4, 64, "1 "},          {uncut, 2, 64, "1 "},
               {two_axes, 2, N, "1 "},          {by_fields, 2, 31, "1 "},
               {by_fields, 2, 32, "2 "},        {with_a_long_rest, 64, N, "2 "},
               {with_a_long_rest, 65, N, "1 "}, {with_a_long_rest, 100, N, "1 "}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int64_t dims[] = {cases[i].n, cases[i].fields};
    char carries[64];
    sn_tensor *in = sn_placeholder(f.ctx, SN_F32, 2, dims);
    sn_tensor *start = sn_placeholder(f.ctx, SN_F32, 2, dims);
    sn_tensor *out = scanned(in, cases[i].body(in), start, 3);
    sn_program *program = compiled(true, &start, 1, &out, 1);
    carries_after(program, "planes", carries);
    if (strcmp(carries, cases[i].carries)) fail_msg("case %zu: %s", i, carries);
    const bool noted =
        strstr(sn_program_inspection(program), "\"rule\":\"planes_of_structs\"") != NULL;
    assert_int_equal(noted, *carries == '2');
    sn_program_release(program);
  }
}

/* Each allocation of compiling a loop and its derivative fails once. */
static void a_failed_allocation_leaves_nothing(void **state) {
  (void)state;
  const int64_t dims[] = {40, 2};
  sn_tensor *in = sn_placeholder(f.ctx, SN_F32, 2, dims),
            *start = sn_placeholder(f.ctx, SN_F32, 2, dims);
  sn_tensor *results[2] = {sn_sum(scanned(in, by_arithmetic(in), start, 3), SN_ALL_AXES, false)};
  assert_int_equal(sn_gradients(results[0], &start, 1, results + 1), SN_OK);
  sn_status status = SN_ERR_MEMORY;
  for (int64_t k = 0; status; k++) {
    sn_program *program;
    f.ledger.countdown = k;
    status = sn_compile(f.ctx, &start, 1, results, 2, NULL, &program);
    f.ledger.countdown = -1;
    if (!status) sn_program_release(program);
    if (status) assert_int_equal(status, SN_ERR_MEMORY);
    sn_error_clear(f.ctx);
  }
}

/* ---- random loops ---------------------------------------------------------------------------- */

static case_random rng;

enum { MOST_CARRIES = 2, MOST_FIELDS = 4, MOST_OUTPUTS = 8 };

/* A carry: an array of structs along an axis, of so many fields, so wide each. */
typedef struct structs {
  int rank, axis, fields;
  int64_t dims[3], width[MOST_FIELDS];
  sn_dtype dtype;
} structs;

typedef struct random_loop {
  structs carries[MOST_CARRIES];
  int n;
  int64_t rounds;
  bool by_test, reverse, nested, history, gradient;
} random_loop;

static structs random_structs(sn_dtype dtype) {
  structs s = {.rank = 1 + (int)case_below(&rng, 3), .dtype = dtype};
  s.axis = (int)case_below(&rng, s.rank);
  s.fields = 1 + (int)case_below(&rng, MOST_FIELDS);
  for (int i = 0; i < s.rank; i++) s.dims[i] = (int64_t[]){0, 1, 3, 9, 40}[case_below(&rng, 5)];
  s.dims[s.axis] = 0;
  for (int i = 0; i < s.fields; i++) s.dims[s.axis] += s.width[i] = 1 + case_below(&rng, 2);
  return s;
}

static sn_tensor *combined(sn_tensor *x, sn_tensor *y, sn_dtype dtype) {
  sn_tensor *made;
  if (dtype == SN_BOOL) return case_one_in(&rng, 2) ? sn_logical_xor(x, y) : sn_logical_and(x, y);
  switch (case_below(&rng, 4)) {
  case 0: made = sn_add(x, y); break;
  case 1: made = sn_mul(x, y); break;
  case 2: made = sn_where(sn_less(x, y), y, x); break;
  default: made = sn_maximum(sn_sub(x, y), x);
  }
  return sn_astype(made, dtype);
}

/* A field of the next round: of fields of the same width, or of one place. */
static sn_tensor *random_field(const structs *c, sn_tensor *s, int number) {
  sn_tensor *made = NULL;
  for (int n = 2; n > 0; n--) {
    const int64_t from = case_below(&rng, c->fields);
    int64_t at = 0, width = c->width[from];
    for (int i = 0; i < from; i++) at += c->width[i];
    if (width != c->width[number]) width = 1;
    if (case_one_in(&rng, 30)) at = case_below(&rng, c->dims[c->axis] - width + 1); /* across */
    sn_tensor *x = field(s, c->axis, at, width);
    made = made ? combined(made, x, c->dtype) : x;
  }
  int64_t dims[3];
  memcpy(dims, c->dims, sizeof dims);
  dims[c->axis] = c->width[number];
  return sn_broadcast_to(made, c->rank, dims);
}

static sn_tensor *random_step(const structs *c, sn_tensor *s) {
  sn_tensor *fields[MOST_FIELDS];
  for (int i = 0; i < c->fields; i++) fields[i] = random_field(c, s, i);
  sn_tensor *made = sn_concat(fields, (size_t)c->fields, c->axis);
  if (case_one_in(&rng, 2)) made = combined(made, s, c->dtype);
  if (case_one_in(&rng, 10) && c->dtype != SN_BOOL)
    made = sn_astype(sn_add(made, sn_sum(s, 1u << c->axis, true)), c->dtype);
  return made;
}

/* The carries of one round, behind them what is stacked of it. */
static size_t random_round(const random_loop *l, sn_tensor *const *in, sn_tensor **made) {
  size_t n = (size_t)l->n;
  for (int k = 0; k < l->n; k++) made[k] = random_step(&l->carries[k], in[k]);
  if (!l->history) return n;
  for (int k = 0; k < l->n; k++) made[n++] = case_one_in(&rng, 2) ? in[k] : made[k];
  return n;
}

static void placeholders(const random_loop *l, sn_tensor **out) {
  for (int k = 0; k < l->n; k++)
    out[k] = sn_placeholder(f.ctx, l->carries[k].dtype, l->carries[k].rank, l->carries[k].dims);
}

static size_t run_by_scan(const random_loop *l, sn_tensor *const *start, sn_tensor **out) {
  sn_tensor *in[MOST_CARRIES], *made[MOST_OUTPUTS], *inner[MOST_OUTPUTS];
  placeholders(l, in);
  const size_t n = random_round(l, in, made);
  sn_traced body = {in, (size_t)l->n, made, n};
  if (l->nested) { /* the loop twice, one in the other */
    sn_tensor *twice[MOST_CARRIES];
    placeholders(l, twice);
    assert_int_equal(sn_scan(f.ctx, &body, (size_t)l->n, twice, 2, false, inner), SN_OK);
    body = (sn_traced){twice, (size_t)l->n, inner, n};
    assert_int_equal(sn_scan(f.ctx, &body, (size_t)l->n, start, l->rounds, l->reverse, out), SN_OK);
    return n;
  }
  assert_int_equal(sn_scan(f.ctx, &body, (size_t)l->n, start, l->rounds, l->reverse, out), SN_OK);
  return n;
}

/* As long as a count says and a field of the first carry is not too large. */
static size_t run_by_test(const random_loop *l, sn_tensor *const *start, sn_tensor **out) {
  sn_tensor *in[MOST_CARRIES + 1], *made[MOST_OUTPUTS], *from[MOST_CARRIES + 1];
  const structs *c = &l->carries[0];
  placeholders(l, in);
  memcpy(from, start, (size_t)l->n * sizeof *from);
  in[l->n] = sn_placeholder(f.ctx, SN_I32, 0, NULL);
  from[l->n] = sn_full(f.ctx, SN_I32, 0, NULL, 0);
  random_loop plain = *l;
  plain.history = false;
  random_round(&plain, in, made);
  made[l->n] = sn_add(in[l->n], sn_full(f.ctx, SN_I32, 0, NULL, 1));
  sn_tensor *most = sn_full(f.ctx, SN_F32, 0, NULL, 1000);
  sn_tensor *sum = sn_sum(sn_astype(field(in[0], c->axis, 0, 1), SN_F32), SN_ALL_AXES, false);
  sn_tensor *go = sn_logical_and(
      sn_less(in[l->n], sn_full(f.ctx, SN_I32, 0, NULL, (double)l->rounds)), sn_less(sum, most));
  const sn_traced test = {in, (size_t)l->n + 1, &go, 1},
                  body = {in, (size_t)l->n + 1, made, (size_t)l->n + 1};
  assert_int_equal(sn_while(f.ctx, &test, &body, from, out), SN_OK);
  return (size_t)l->n;
}

/* Behind the results the derivatives of what they are in sum. */
static size_t add_gradients(const random_loop *l, sn_tensor *const *start, sn_tensor **out,
                            size_t n) {
  sn_tensor *loss = sn_full(f.ctx, SN_F32, 0, NULL, 0);
  for (size_t k = 0; k < n; k++)
    loss = sn_add(loss, sn_astype(sn_sum(sn_tanh(out[k]), SN_ALL_AXES, false), SN_F32));
  assert_int_equal(sn_gradients(loss, start, (size_t)l->n, out + n), SN_OK);
  return n + (size_t)l->n;
}

static random_loop any_loop(void) {
  random_loop l = {.n = 1 + (int)case_below(&rng, MOST_CARRIES), .rounds = case_below(&rng, 5)};
  const sn_dtype dtype = (sn_dtype)case_below(&rng, SN_DTYPES);
  for (int k = 0; k < l.n; k++) l.carries[k] = random_structs(dtype);
  l.by_test = case_one_in(&rng, 4);
  l.reverse = case_one_in(&rng, 2);
  l.nested = !l.by_test && case_one_in(&rng, 4);
  l.history = case_one_in(&rng, 2);
  l.gradient = !l.by_test && case_one_in(&rng, 2) && sn_dtype_is_float(dtype);
  return l;
}

static sn_tensor *random_values(const structs *c) {
  void *data;
  sn_tensor *x = sn_empty(f.ctx, SN_F32, c->rank, c->dims, &data);
  for (int64_t i = 0; i < sn_size(x); i++) ((float *)data)[i] = (float)case_between(&rng, -2, 2);
  return sn_astype(c->dtype == SN_BOOL ? sn_less(x, sn_scalar(f.ctx, 0)) : x, c->dtype);
}

static void expect_same_bits(uint64_t seed, sn_tensor *a, sn_tensor *b) {
  const sn_dtype dtype = sn_dtype_of(a);
  const void *x = sn_data(a), *y = sn_data(b);
  for (int64_t i = 0; i < sn_size(a); i++) {
    const double p = sn_ref_load(dtype, x, i), q = sn_ref_load(dtype, y, i);
    if (sn_double_attr(p) != sn_double_attr(q) && !(isnan(p) && isnan(q)))
      fail_msg("loop %llu: element %lld is %a, not %a", (unsigned long long)seed, (long long)i, q,
               p);
  }
}

/* Whether it was cut. */
static bool try_loop(uint64_t seed) {
  sn_tensor *start[MOST_CARRIES], *values[MOST_CARRIES], *out[MOST_OUTPUTS],
      *results[2][MOST_OUTPUTS];
  bool cut = false;
  rng.state = seed;
  const random_loop l = any_loop();
  placeholders(&l, start);
  size_t n = (l.by_test ? run_by_test : run_by_scan)(&l, start, out);
  if (l.gradient) n = add_gradients(&l, start, out, n);
  for (int k = 0; k < l.n; k++) values[k] = random_values(&l.carries[k]);
  for (int on = 0; on < 2; on++) {
    sn_program *program = compiled(on, start, (size_t)l.n, out, n);
    assert_int_equal(sn_program_run(program, values, results[on]), SN_OK);
    cut = strstr(sn_program_inspection(program), "\"rule\":\"planes_of_structs\"") != NULL;
    sn_program_release(program);
  }
  for (size_t k = 0; k < n; k++) expect_same_bits(seed, results[0][k], results[1][k]);
  return cut;
}

static void random_loops_keep_their_bits(void **state) {
  (void)state;
  const int n = getenv("SINTER_TEST_SHORT") ? 150 : 1500;
  const char *given = getenv("SINTER_TEST_SEED");
  const uint64_t seed = given ? strtoull(given, NULL, 0) : 31;
  int cut = 0;
  for (int i = 0; i < n; i++) {
    assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
    cut += try_loop(seed * 100000 + (uint64_t)i);
    sn_scope_end(f.ctx);
  }
  print_message("%d of %d loops are cut\n", cut, n);
  assert_true(cut > n / 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(loops_are_cut_where_fields_are_read),
      TEST(a_failed_allocation_leaves_nothing),
      TEST(random_loops_keep_their_bits),
  };
  return cmocka_run_group_tests_name("planes", tests, NULL, NULL);
}
