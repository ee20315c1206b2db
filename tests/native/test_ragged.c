/* test_ragged.c - sums of bags of rows (kernels/kernel_ragged.c) have the bits of the reference for every
 * dtype, view and number of threads, wherever bags end; and scatters by captured indices, which become
 * such sums (tensor/gather_sums.c), keep their bits. */
#include "graph_support.h"
#include "twin.h"

#include "tensor/apply.h"
#include "tensor/tensor.h"

static case_random rng;

enum { MOST = 600 };

/* ---- the op ---------------------------------------------------------------------------------- */

/* In order or anywhere, with bags of nothing, and beyond both ends. */
static twin ends_of(twins *w, int64_t n, int64_t rows) {
  int32_t data[MOST];
  int64_t at = 0;
  const bool any = case_one_in(&rng, 3);
  assert_true(n <= MOST);
  for (int64_t i = 0; i < n; i++) {
    at += case_one_in(&rng, 3) ? 0 : case_below(&rng, 4);
    data[i] = (int32_t)(any ? case_below(&rng, 3 * rows + 3) - rows - 1 : at < rows ? at : rows);
  }
  return twin_input(w, &(sn_type){SN_I32, 1, {n}}, data);
}

/* Rows as they are, or those that a gather looks up. */
static twin some_rows(twins *w, const sn_type *type) {
  const twin_view view =
      case_one_in(&rng, 2) ? TWIN_PLAIN : (twin_view)case_below(&rng, TWIN_VIEWS);
  if (type->rank < 2 || !type->dims[0] || case_one_in(&rng, 2))
    return twin_viewed_input(w, &rng, view, SN_OP_neg, 0, CASE_MIXED, type);
  sn_type from = *type, places = {SN_I32, type->rank, {type->dims[0]}}, all = *type;
  int32_t data[MOST];
  from.dims[0] = 1 + case_below(&rng, 9);
  all.dtype = SN_I32;
  assert_true(type->dims[0] <= MOST);
  for (int i = 1; i < type->rank; i++) places.dims[i] = 1;
  for (int64_t i = 0; i < type->dims[0]; i++)
    data[i] = (int32_t)(case_below(&rng, 4 * from.dims[0]) - 2 * from.dims[0]);
  const twin x[2] = {twin_viewed_input(w, &rng, view, SN_OP_neg, 0, CASE_MIXED, &from),
                     twin_broadcast(w, twin_input(w, &places, data), &all)};
  return twin_along(w, SN_OP_gather, x, (int64_t[]){0});
}

/* Rows, or what is computed of several. */
static twin rows_of(twins *w, const sn_type *type) {
  static const sn_op ops[] = {SN_OP_mul, SN_OP_add, SN_OP_sub};
  twin rows = some_rows(w, type);
  for (int64_t n = case_below(&rng, 4); n > 1; n--)
    rows = twin_apply(w, ops[case_below(&rng, 3)], (twin[]){rows, some_rows(w, type)}, 2);
  return rows;
}

static void ragged_case(sn_dtype dtype, sn_context *in) {
  twins w;
  twins_begin(&w, in, case_one_in(&rng, 2));
  sn_type type = {.dtype = dtype, .rank = 1 + (int)case_below(&rng, 4)};
  for (int d = 1; d < type.rank; d++) type.dims[d] = case_below(&rng, d == type.rank - 1 ? 300 : 4);
  if (type.rank > 1 && case_one_in(&rng, 3)) type.dims[type.rank - 1] = 4 << case_below(&rng, 4);
  type.dims[0] = case_below(&rng, 40);
  const int64_t n = case_below(&rng, case_one_in(&rng, 4) ? MOST : 20);
  const twin x[2] = {rows_of(&w, &type), ends_of(&w, n, type.dims[0])};
  const sn_op op = dtype == SN_I32 && case_one_in(&rng, 2) ? SN_OP_ragged_or : SN_OP_ragged_sum;
  const twin sums = twin_proposed(&w, op, x, NULL, 0, NULL);
  if (case_one_in(&rng, 2)) twins_output(&w, sums);
  const twin other = twin_input(&w, twin_type(&w, sums), twin_value(&w, sums));
  twins_output(&w, twin_apply(&w, SN_OP_mul, (twin[]){sums, other}, 2));
  char text[TWIN_TEXT], shape[SN_SHAPE_TEXT];
  if (!twins_agree(&w, text))
    fail_msg("%s%s, %lld bags: %s", sn_dtype_name(dtype), sn_shape_text(&type, shape), (long long)n,
             text);
  twins_end(&w);
}

static void sums_have_the_bits_of_the_reference(void **state) {
  (void)state;
  static const sn_dtype dtypes[] = {SN_F32, SN_F64, SN_I32};
  sn_context *one = case_context(1, sn_isa_detect()), *two = case_context(2, sn_isa_detect());
  rng.state = case_seed();
  print_message("seed %llu\n", (unsigned long long)case_seed());
  for (int i = 0; i < (case_short() ? 200 : 900); i++)
    ragged_case(dtypes[i % 3], i % 2 ? two : one);
  case_context_end(one);
  case_context_end(two);
}

static void rows_are_looked_up_and_what_follows_is_fused(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(6, 9), column = I32(6, 1), full = I32(6, 9), made = F32(4, 9);
  const sn_id u = input(&l, F32(5, 9)), order = input(&l, I32(6)), ends = input(&l, I32(4));
  const sn_id spread = sn_build_broadcast(&l.b, sn_build_reshape(&l.b, order, &column), &full);
  const sn_id rows =
      sn_build_op(&l.b, SN_OP_gather, (sn_id[]){u, spread}, 2, &(int64_t){0}, 1, &type);
  const sn_id sums = sn_build_op(&l.b, SN_OP_ragged_sum, (sn_id[]){rows, ends}, 2, NULL, 0, &made);
  OUTPUTS(&l, sn_build_binary(&l.b, SN_OP_add, sums, input(&l, made)));
  const sn_groups groups = cut_with_lookups(&l, 2);
  const char *text;
  assert_int_equal(sn_groups_text(&groups, &l.arena, &text), SN_OK);
  assert_string_equal(text, "k0 reduce ragged_sum+add space(4, 9) reduced(6) up to b2[0, 1, 0]\n"
                            "  phase 0\n"
                            "    v0 = b0[0, 0, 1, 0] + 9 x b1[0, 0, 0, 1](5) : float32\n"
                            "    total0 = sum v0\n"
                            "  then\n"
                            "    v0 = total0 : float32\n"
                            "    v1 = b3[0, 9, 1] : float32\n"
                            "    v2 = add v0 v1 : float32\n"
                            "    b4[0, 9, 1] = v2\n"
                            "return b4\n");
  lab_close(&l);
}

/* Terms of looked-up rows and of values for each of them, in the kernel that adds them up. */
static void what_is_summed_is_computed_where_it_is_added(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(6, 9), column = I32(6, 1), full = I32(6, 9), made = F32(4, 9);
  const sn_id u = input(&l, F32(5, 9)), order = input(&l, I32(6)), ends = input(&l, I32(4));
  const sn_id spread = sn_build_broadcast(&l.b, sn_build_reshape(&l.b, order, &column), &full);
  const sn_id rows =
      sn_build_op(&l.b, SN_OP_gather, (sn_id[]){u, spread}, 2, &(int64_t){0}, 1, &type);
  const sn_id scale = sn_build_broadcast(&l.b, input(&l, F32(6, 1)), &type);
  const sn_id terms = sn_build_binary(&l.b, SN_OP_mul, rows, scale);
  OUTPUTS(&l, sn_build_op(&l.b, SN_OP_ragged_sum, (sn_id[]){terms, ends}, 2, NULL, 0, &made));
  const sn_groups groups = cut_with_lookups(&l, INT64_MAX);
  const char *text;
  assert_int_equal(sn_groups_text(&groups, &l.arena, &text), SN_OK);
  assert_string_equal(text, "k0 reduce mul+ragged_sum space(4, 9) reduced(6) up to b2[0, 1, 0]\n"
                            "  phase 0\n"
                            "    v0 = b0[0, 0, 1, 0] + 9 x b1[0, 0, 0, 1](5) : float32\n"
                            "    v1 = b3[0, 0, 0, 1] : float32\n"
                            "    v2 = mul v0 v1 : float32\n"
                            "    total0 = sum v2\n"
                            "  then\n"
                            "    v0 = total0 : float32\n"
                            "    b4[0, 9, 1] = v0\n"
                            "return b4\n");
  lab_close(&l);
}

/* ---- scatters -------------------------------------------------------------------------------- */

typedef struct scatter {
  int rank, axis;
  int64_t dims[3], n; /* of the updates; rows of the result */
  sn_dtype dtype;
  sn_scatter_mode mode; /* add to 0, or set bits of 5 */
} scatter;

static void fill(sn_dtype dtype, int64_t count, void *data) {
  for (int64_t i = 0; i < count; i++) {
    const double value = (double)case_below(&rng, 2000) / 631 - 1.5;
    if (dtype == SN_F64) ((double *)data)[i] = value;
    if (dtype == SN_F32) ((float *)data)[i] = (float)value;
    if (dtype == SN_I32) ((int32_t *)data)[i] = (int32_t)(value * 1e9);
  }
}

static size_t run(sn_context *ctx, const scatter *s, sn_tensor *const *in, bool captured, void *out,
                  size_t bytes) {
  int64_t made[3];
  for (int i = 0; i < s->rank; i++) made[i] = i == s->axis ? s->n : s->dims[i];
  sn_tensor *p[2] = {sn_placeholder(ctx, s->dtype, s->rank, s->dims),
                     sn_placeholder(ctx, SN_I32, 1, &s->dims[s->axis])};
  const double start = s->mode == SN_SCATTER_OR ? 5 : 0;
  sn_tensor *from = sn_full(ctx, s->dtype, s->rank, made, start), *result;
  sn_tensor *y = sn_neg(sn_scatter(from, captured ? in[1] : p[1], p[0], s->axis, s->mode));
  sn_program *program;
  assert_int_equal(sn_compile(ctx, p, captured ? 1 : 2, &y, 1, NULL, &program), SN_OK);
  assert_true(captured == (sn_program_prelude(program) != NULL));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(sn_program_run(program, in, &result), SN_OK);
    assert_int_equal(sn_read(result, out, bytes), SN_OK);
  }
  sn_program_info info;
  sn_program_describe(program, &info);
  sn_program_release(program);
  return info.kernels;
}

static void scatter_case(sn_context *ctx) {
  static const sn_dtype dtypes[] = {SN_F32, SN_F64, SN_I32};
  scatter s = {.rank = 2 + (int)case_below(&rng, 2), .n = 1 + case_below(&rng, 40)};
  s.axis = (int)case_below(&rng, s.rank - 1);
  s.dtype = dtypes[case_below(&rng, 3)];
  s.mode = s.dtype == SN_I32 && case_one_in(&rng, 2) ? SN_SCATTER_OR : SN_SCATTER_ADD;
  for (int i = 0; i < s.rank; i++) s.dims[i] = 1 + case_below(&rng, i == s.axis ? 60 : 4);
  s.dims[s.rank - 1] = 16 + case_below(&rng, 300);
  const int64_t count = s.dims[0] * s.dims[1] * (s.rank > 2 ? s.dims[2] : 1);
  const size_t bytes = (size_t)(count / s.dims[s.axis] * s.n) * sn_dtype_bytes(s.dtype);
  int32_t index[60];
  void *data = malloc((size_t)count * 8), *want = malloc(bytes), *got = malloc(bytes);
  for (int64_t i = 0; i < s.dims[s.axis]; i++)
    index[i] = (int32_t)(case_below(&rng, 4 * s.n) - 2 * s.n);
  fill(s.dtype, count, data);
  sn_scope_begin(ctx);
  sn_tensor *in[2] = {sn_from_data(ctx, s.dtype, s.rank, s.dims, data),
                      sn_from_data(ctx, SN_I32, 1, &s.dims[s.axis], index)};
  run(ctx, &s, in, false, want, bytes);
  assert_int_equal(run(ctx, &s, in, true, got, bytes),
                   1 + (s.axis && s.dims[0] > 1 && s.n > 1)); /* a transpose between */
  assert_memory_equal(got, want, bytes);
  sn_scope_end(ctx);
  free(data);
  free(want);
  free(got);
}

static void scatters_by_captured_indices_keep_their_bits(void **state) {
  (void)state;
  sn_context *one = case_context(1, sn_isa_detect()), *two = case_context(2, sn_isa_detect());
  for (int i = 0; i < (case_short() ? 40 : 200); i++) scatter_case(i % 2 ? two : one);
  case_context_end(one);
  case_context_end(two);
}

/* ---- wires ----------------------------------------------------------------------------------- */

/* What goes back through the wires of a layer of gates: each of `inputs` rows adds dy (c + d h) of those that lead to
 * it, where dy and h are looked up, too. */
typedef struct layer {
  int64_t inputs, gates, cells;
  sn_tensor *h, *dy, *c, *d, *to, *others, *gate;
} layer;

static sn_tensor *sums_of_wires(const layer *l, sn_tensor *h) {
  sn_context *ctx = h->ctx;
  sn_tensor *slope = sn_add(l->c, sn_mul(l->d, sn_take(h, l->others, 0)));
  sn_tensor *zeros = sn_zeros(ctx, SN_F32, 2, (int64_t[]){l->inputs, l->cells});
  return sn_scatter_add(zeros, l->to, sn_mul(sn_take(l->dy, l->gate, 0), slope), 0);
}

typedef enum place { PLAIN, IN_SCAN, IN_NESTED_SCAN, IN_GRADIENT, IN_COND, IN_WHILE, PLACES } place;

static sn_tensor *in_scan(const layer *l, sn_tensor *h, bool nested) {
  sn_tensor *x = sn_placeholder(h->ctx, SN_F32, 2, (int64_t[]){l->inputs, l->cells}), *last;
  sn_tensor *next = nested ? in_scan(l, x, false) : sn_tanh(sums_of_wires(l, x));
  const sn_traced body = {&x, 1, &next, 1};
  assert_int_equal(sn_scan(h->ctx, &body, 1, &h, nested ? 2 : 3, nested, &last), SN_OK);
  return last;
}

/* By h, of steps that are made again for it. */
static sn_tensor *gradient(const layer *l, sn_tensor *h) {
  sn_tensor *start = sn_variable(h), *dh, *last, *made;
  sn_tensor *x = sn_placeholder(h->ctx, SN_F32, 2, (int64_t[]){l->inputs, l->cells}), *y = x;
  sn_tensor *z = sn_placeholder(h->ctx, SN_F32, 2, (int64_t[]){l->inputs, l->cells});
  sn_tensor *step = sn_tanh(sums_of_wires(l, z));
  const sn_traced again = {&z, 1, &step, 1};
  assert_int_equal(sn_checkpoint(h->ctx, &again, &y, NULL, &made), SN_OK);
  const sn_traced body = {&x, 1, &made, 1};
  assert_int_equal(sn_scan(h->ctx, &body, 1, &start, 3, false, &last), SN_OK);
  assert_int_equal(sn_gradients(sn_sum(sn_square(last), SN_ALL_AXES, false), &start, 1, &dh),
                   SN_OK);
  return dh;
}

static sn_tensor *in_cond(const layer *l, sn_tensor *h) {
  sn_tensor *x[2], *y[2], *out;
  for (int i = 0; i < 2; i++)
    x[i] = sn_placeholder(h->ctx, SN_F32, 2, (int64_t[]){l->inputs, l->cells});
  y[0] = sums_of_wires(l, x[0]);
  y[1] = sn_neg(x[1]);
  const sn_traced branches[2] = {{&x[0], 1, &y[0], 1}, {&x[1], 1, &y[1], 1}};
  sn_tensor *is_more = sn_less(sn_scalar(h->ctx, -1e9), sn_sum(h, SN_ALL_AXES, false));
  assert_int_equal(sn_cond(is_more, &branches[0], &branches[1], &h, &out), SN_OK);
  return out;
}

static sn_tensor *in_while(const layer *l, sn_tensor *h) {
  sn_tensor *n[2], *x[2], *next[2], *last[2];
  for (int i = 0; i < 2; i++) {
    n[i] = sn_placeholder(h->ctx, SN_F32, 0, NULL);
    x[i] = sn_placeholder(h->ctx, SN_F32, 2, (int64_t[]){l->inputs, l->cells});
  }
  sn_tensor *goes_on = sn_less(n[0], sn_scalar(h->ctx, 3));
  next[0] = sn_add(n[1], sn_scalar(h->ctx, 1));
  next[1] = sn_tanh(sums_of_wires(l, x[1]));
  const sn_traced test = {(sn_tensor *[]){n[0], x[0]}, 2, &goes_on, 1};
  const sn_traced body = {(sn_tensor *[]){n[1], x[1]}, 2, next, 2};
  sn_tensor *start[2] = {sn_full(h->ctx, SN_F32, 0, NULL, 0), h};
  assert_int_equal(sn_while(h->ctx, &test, &body, start, last), SN_OK);
  return last[1];
}

static sn_tensor *write_place(const layer *l, place where) {
  switch (where) {
  case IN_SCAN: return in_scan(l, l->h, false);
  case IN_NESTED_SCAN: return in_scan(l, l->h, true);
  case IN_GRADIENT: return gradient(l, l->h);
  case IN_COND: return in_cond(l, l->h);
  case IN_WHILE: return in_while(l, l->h);
  default: return sn_neg(sums_of_wires(l, l->h));
  }
}

enum { LAYER_TENSORS = 7 };

/* The bits are those that it has where the program is given the wires, and scatters by them. */
static void run_layer(sn_context *ctx, const layer *values, place where, bool captured, void *out) {
  layer l = *values;
  sn_tensor *in[LAYER_TENSORS] = {l.h, l.dy, l.c, l.d, l.to, l.others, l.gate};
  sn_tensor **as[] = {&l.h, &l.dy, &l.c, &l.d, &l.to, &l.others, &l.gate}, *p[LAYER_TENSORS],
            *result;
  const size_t n = captured ? 4 : LAYER_TENSORS;
  for (size_t i = 0; i < n; i++)
    *as[i] = p[i] = sn_placeholder(ctx, in[i]->type.dtype, in[i]->type.rank, in[i]->type.dims);
  sn_tensor *y = write_place(&l, where);
  sn_program *program;
  assert_int_equal(sn_compile(ctx, p, n, &y, 1, NULL, &program), SN_OK);
  assert_true(captured == (sn_program_prelude(program) != NULL));
  assert_int_equal(sn_program_run(program, in, &result), SN_OK);
  assert_int_equal(sn_read(result, out, (size_t)(l.inputs * l.cells) * sizeof(float)), SN_OK);
  sn_program_release(program);
}

static sn_tensor *random_wires(sn_context *ctx, int64_t n, int64_t most) {
  int32_t list[64];
  for (int64_t i = 0; i < n; i++) list[i] = (int32_t)(case_below(&rng, 3 * most) - most);
  return sn_from_data(ctx, SN_I32, 1, &n, list);
}

static sn_tensor *random_floats(sn_context *ctx, int64_t rows, int64_t cells) {
  sn_tensor *x;
  void *data;
  x = sn_empty(ctx, SN_F32, 2, (int64_t[]){rows, cells}, &data);
  fill(SN_F32, rows * cells, data);
  return x;
}

static void layer_case(sn_context *ctx, place where) {
  layer l = {.inputs = 1 + case_below(&rng, 12), .gates = 1 + case_below(&rng, 12)};
  l.cells = 16 + case_below(&rng, case_one_in(&rng, 4) ? 2500 : 60);
  const int64_t wires = 2 * l.gates;
  const size_t bytes = (size_t)(l.inputs * l.cells) * sizeof(float);
  void *want = malloc(bytes), *got = malloc(bytes);
  sn_scope_begin(ctx);
  l.h = random_floats(ctx, l.inputs, l.cells);
  l.dy = random_floats(ctx, l.gates, l.cells);
  l.c = random_floats(ctx, wires, 1);
  l.d = random_floats(ctx, wires, 1);
  l.to = random_wires(ctx, wires, l.inputs);
  l.others = random_wires(ctx, wires, l.inputs);
  l.gate = random_wires(ctx, wires, l.gates);
  run_layer(ctx, &l, where, false, want);
  run_layer(ctx, &l, where, true, got);
  assert_memory_equal(got, want, bytes);
  sn_scope_end(ctx);
  free(want);
  free(got);
}

static void wires_keep_their_bits_wherever_they_stand(void **state) {
  (void)state;
  sn_context *one = case_context(1, sn_isa_detect()), *two = case_context(2, sn_isa_detect());
  for (int i = 0; i < PLACES * (case_short() ? 8 : 40); i++)
    layer_case(i / PLACES % 2 ? two : one, (place)(i % PLACES));
  case_context_end(one);
  case_context_end(two);
}

/* ---- loops and derivatives ------------------------------------------------------------------- */

/* The gradient of a table by rows that a loop looks up: such a scatter beside the loop. */
static void scatters_stand_beside_loops(void **state) {
  (void)state;
  enum { ROWS = 50, WIDTH = 64, LOOKUPS = 128 };
  sn_context *ctx = case_context(1, sn_isa_detect());
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  void *places, *table;
  sn_tensor *at = sn_empty(ctx, SN_I32, 1, (int64_t[]){LOOKUPS}, &places);
  sn_tensor *value = sn_empty(ctx, SN_F32, 2, (int64_t[]){ROWS, WIDTH}, &table);
  for (int i = 0; i < LOOKUPS; i++) ((int32_t *)places)[i] = i * 7 % ROWS;
  for (int i = 0; i < ROWS * WIDTH; i++) ((float *)table)[i] = 1;
  sn_tensor *given = sn_placeholder(ctx, SN_F32, 2, (int64_t[]){ROWS, WIDTH});
  sn_tensor *x = sn_variable(given), *c = sn_placeholder(ctx, SN_F32, 0, NULL), *last, *dx, *out;
  sn_tensor *next = sn_add(c, sn_sum(sn_square(sn_take(x, at, 0)), SN_ALL_AXES, false));
  const sn_traced body = {&c, 1, &next, 1};
  sn_tensor *start = sn_full(ctx, SN_F32, 0, NULL, 0);
  assert_int_equal(sn_scan(ctx, &body, 1, &start, 5, false, &last), SN_OK);
  assert_int_equal(sn_gradients(last, &x, 1, &dx), SN_OK);
  sn_program *program;
  assert_int_equal(sn_compile(ctx, &given, 1, &dx, 1, NULL, &program), SN_OK);
  assert_int_equal(sn_program_run(program, &value, &out), SN_OK);
  const float *slope = sn_data(out); /* 5 rounds of 2 x, for each time that a row is looked up */
  for (int i = 0; i < ROWS; i++)
    assert_int_equal(slope[i * WIDTH], 10 * (2 + (i * 43 % ROWS < LOOKUPS - 2 * ROWS)));
  sn_program_release(program);
  sn_scope_end(ctx);
  case_context_end(ctx);
}

/* y[i] = the sum of bag i, squared: twice that for each of its rows, and forwards the sums of tangents. */
static void sums_have_derivatives(void **state) {
  (void)state;
  sn_context *ctx = case_context(1, sn_isa_detect());
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  const double rows[6] = {1, 2, 3, 4, 5, 6}, tangents[6] = {1, 0, 10, 0, 100, 1000};
  const int32_t ends[3] = {2, 2, 5}; /* none in the second bag, the last row in none */
  sn_tensor *x = sn_variable(sn_from_data(ctx, SN_F64, 1, (int64_t[]){6}, rows)), *dx, *dy;
  sn_tensor *e = sn_from_data(ctx, SN_I32, 1, (int64_t[]){3}, ends);
  sn_tensor *y =
      sn_hand_out(sn_node_of(ctx, SN_OP_ragged_sum, (sn_tensor *[]){x, e}, 2, NULL, 0, NULL));
  sn_tensor *sum = sn_sum(sn_square(y), SN_ALL_AXES, false);
  sn_tensor *t = sn_from_data(ctx, SN_F64, 1, (int64_t[]){6}, tangents);
  assert_int_equal(sn_gradients(sum, &x, 1, &dx), SN_OK);
  assert_int_equal(sn_jvp(ctx, &y, 1, &x, &t, 1, &dy), SN_OK);
  assert_memory_equal(sn_data(dx), ((double[]){6, 6, 24, 24, 24, 0}), sizeof rows);
  assert_memory_equal(sn_data(dy), ((double[]){1, 0, 110}), 3 * sizeof(double));
  sn_scope_end(ctx);
  case_context_end(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_have_the_bits_of_the_reference),
      cmocka_unit_test(rows_are_looked_up_and_what_follows_is_fused),
      cmocka_unit_test(scatters_by_captured_indices_keep_their_bits),
      cmocka_unit_test(wires_keep_their_bits_wherever_they_stand),
      cmocka_unit_test(what_is_summed_is_computed_where_it_is_added),
      cmocka_unit_test(scatters_stand_beside_loops),
      cmocka_unit_test(sums_have_derivatives),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
