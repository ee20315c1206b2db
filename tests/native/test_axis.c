/* test_axis.c - the ops along one axis (gather, scatter, sort, scan) against the reference: equal
 * bits for every axis of every shape, every dtype, views, indices that repeat, that count from the end
 * or are out of range, NaN and ties in sorts; all on 1 to 4 threads. */
#include "case_support.h"
#include "twin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/reference.h"

enum { DTYPES = 4, MOST_SORTED = 1500 };

/* ---- one application ------------------------------------------------------------------------- */

/* Indices of -2n .. 2n - 1; now and then one for all lines, as a view. */
static twin indices_of(twins *w, const sn_type *type, int axis, int64_t n) {
  sn_type base = *type;
  base.dtype = SN_I32;
  const bool shared = case_one_in(&rng, 2);
  for (int d = 0; shared && d < base.rank; d++)
    if (d != axis) base.dims[d] = 1;
  const int64_t count = sn_type_size(&base);
  int32_t *data = malloc(((size_t)count + 1) * sizeof *data);
  for (int64_t i = 0; i < count; i++) data[i] = n ? (int32_t)(case_below(&rng, 4 * n) - 2 * n) : 0;
  const twin x = twin_input(w, &base, data);
  free(data);
  return twin_broadcast(w, x, type);
}

static twin_view any_view(void) {
  return case_one_in(&rng, 3) ? TWIN_PLAIN : (twin_view)case_below(&rng, TWIN_VIEWS);
}

/* How many places are indexed along an axis of n. */
static int64_t any_count(int64_t n) {
  const int64_t counts[] = {0, 1, 3, n, 2 * n + 1};
  return n ? counts[case_below(&rng, 5)] : 0;
}

static twin apply(twins *w, sn_op op, const sn_type *type, int axis, case_values values) {
  const sn_op_class kind = sn_op_describe(op)->kind;
  const bool alone = kind == SN_CLASS_COLLECTIVE; /* one process, and one part */
  const bool fixed = alone || op == SN_OP_recurrence;
  const int64_t attrs[3] = {axis, alone ? 1 : case_below(&rng, 2),
                            fixed ? alone : case_below(&rng, 2)};
  twin x[SN_MAX_ARITY];
  x[0] = twin_viewed_input(w, &rng, any_view(), op, 0, values, type);
  sn_type moved = *type;
  moved.dims[axis] = any_count(type->dims[axis]);
  if (kind == SN_CLASS_GATHER || kind == SN_CLASS_SCATTER)
    x[1] = indices_of(w, &moved, axis, type->dims[axis]);
  else
    x[1] = twin_viewed_input(w, &rng, any_view(), op, 1, values, type);
  if (kind == SN_CLASS_SCATTER)
    x[2] = twin_viewed_input(w, &rng, any_view(), op, 2, values, &moved);
  return twin_along(w, op, x, attrs);
}

static bool takes(sn_op op, sn_dtype dtype) { return sn_op_takes(op, sn_dtype_wide(dtype)); }

static void axis_case(sn_op op, const sn_type *type, int axis, case_values values) {
  twins w;
  twins_begin(&w, ctx, case_one_in(&rng, 2));
  twins_output(&w, apply(&w, op, type, axis, values));
  char text[TWIN_TEXT], shape[SN_SHAPE_TEXT];
  if (!twins_agree(&w, text))
    fail_msg("%s of %s%s along axis %d: %s", sn_op_describe(op)->name, sn_dtype_name(type->dtype),
             sn_shape_text(type, shape), axis, text);
  twins_end(&w);
}

static void each_axis(sn_op op, const sn_type *dims) {
  static const case_values values[] = {CASE_WHOLE, CASE_MIXED};
  for (int dtype = 0; dtype < DTYPES; dtype++)
    for (int axis = 0; axis < dims->rank; axis++) {
      sn_type type = *dims;
      type.dtype = (sn_dtype)dtype;
      if (!takes(op, type.dtype) || (case_short() && !case_one_in(&rng, 3))) continue;
      axis_case(op, &type, axis, values[case_below(&rng, 2)]);
    }
}

static bool has_axis(sn_op op) {
  return sn_op_is_call(op) && sn_op_describe(op)->kind != SN_CLASS_BLOCKS;
}

static void every_axis_of_every_shape(void **state) {
  (void)state;
  for (int op = 0; op < SN_OP_COUNT; op++)
    for (size_t i = 0; has_axis((sn_op)op) && i < case_shape_count; i++)
      for (int times = 0; times < (case_short() ? 1 : 4); times++)
        each_axis((sn_op)op, &case_shapes[i]);
}

/* Lines of every way to sort: by insertion, merging, digits. */
static void sorts_of_all_lengths(void **state) {
  (void)state;
  static const int64_t lengths[] = {2, 23, 24, 25, 47, 49, 97, 255, 511, 512, 513, MOST_SORTED};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const sn_type rows = {.rank = 2, .dims = {3, lengths[i]}};
    const sn_type columns = {.rank = 2, .dims = {lengths[i], 3}};
    for (int op = SN_OP_sort; op <= SN_OP_argsort; op++) {
      each_axis((sn_op)op, &rows);
      each_axis((sn_op)op, &columns);
    }
  }
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Large enough to be cut into units in each of the ways there are. */
static void write_large(twins *w) {
  static const struct {
    sn_op op;
    sn_type type;
    int axis;
  } large[] = {
      {SN_OP_gather, {SN_F32, 2, {3000, 65}}, 0},
      {SN_OP_gather, {SN_F64, 2, {500, 300}}, 1},
      {SN_OP_gather, {SN_BOOL, 2, {3, 70000}}, 0},
      {SN_OP_scatter_add, {SN_F32, 2, {900, 64}}, 0},
      {SN_OP_scatter_add, {SN_I32, 1, {50000}}, 0},
      {SN_OP_scatter_set, {SN_F64, 3, {40, 50, 20}}, 1},
      {SN_OP_cumsum, {SN_F32, 2, {300, 700}}, 0},
      {SN_OP_cumprod, {SN_F64, 2, {400, 500}}, 1},
  };
  for (size_t i = 0; i < sizeof large / sizeof *large; i++)
    twins_output(w, apply(w, large[i].op, &large[i].type, large[i].axis, CASE_DOMAIN));
}

static void write_sorts(twins *w) {
  const sn_type rows = {SN_F32, 2, {60, 600}}, columns = {SN_F64, 2, {40, 700}};
  twins_output(w, apply(w, SN_OP_sort, &rows, 1, CASE_MIXED));
  twins_output(w, apply(w, SN_OP_argsort, &columns, 0, CASE_MIXED));
}

static void write_scatters(twins *w) {
  const sn_type shares = {SN_F64, 2, {200, 256}}, blocks = {SN_F32, 2, {70, 700}};
  const sn_type tables = {SN_I32, 3, {2, 300, 130}};
  twins_output(w, apply(w, SN_OP_scatter_add, &shares, 0, CASE_DOMAIN));
  twins_output(w, apply(w, SN_OP_scatter_max, &blocks, 0, CASE_MIXED));
  twins_output(w, apply(w, SN_OP_scatter_mul, &tables, 1, CASE_DOMAIN));
  twins_output(w, apply(w, SN_OP_scatter_or, &tables, 1, CASE_DOMAIN));
}

static void same_bits_for_any_threads(void **state) {
  (void)state;
  static void (*const write[])(twins *) = {write_large, write_sorts, write_scatters};
  sn_context *own = ctx;
  for (int threads = case_short() ? 3 : 1; threads <= (case_short() ? 3 : 4); threads++) {
    ctx = case_context(threads, sn_isa_detect());
    for (int part = 0; part < 3; part++) {
      twins w;
      char text[TWIN_TEXT];
      twins_begin(&w, ctx, true);
      write[part](&w);
      for (int run = 0; run < 2; run++)
        if (!twins_agree(&w, text)) fail_msg("%d threads: %s", threads, text);
      twins_end(&w);
    }
    case_context_end(ctx);
  }
  ctx = own;
}

/* ---- among other ops ------------------------------------------------------------------------- */

/* Read again after it was indexed, donated, and with constants and counts for inputs. */
static void inputs_of_all_kinds(void **state) {
  (void)state;
  for (int hold = 0; hold < 2; hold++) {
    const sn_type type = {SN_F32, 2, {9, 7}}, index = {SN_I32, 2, {9, 7}};
    twins w;
    twins_begin(&w, ctx, true);
    const twin x = twin_viewed_input(&w, &rng, TWIN_PLAIN, SN_OP_add, 0, CASE_DOMAIN, &type);
    w.donate[0] = true;
    w.hold[0] = hold;
    const twin at = twin_iota(&w, &index, 0), ones = twin_full(&w, &type, 1);
    const twin moved = twin_along(&w, SN_OP_scatter_add, (twin[]){x, at, ones}, (int64_t[]){1});
    const twin back = twin_along(&w, SN_OP_gather, (twin[]){ones, at}, (int64_t[]){0});
    const twin sums = twin_along(&w, SN_OP_cumsum, (twin[]){twin_apply(&w, SN_OP_neg, &moved, 1)},
                                 (int64_t[]){0, 1, 0});
    twins_output(&w, sums);
    twins_output(
        &w,
        twin_apply(&w, SN_OP_add,
                   (twin[]){twin_transpose(&w, sums, NULL), twin_transpose(&w, back, NULL)}, 2));
    twins_output(&w, twin_apply(&w, SN_OP_mul, (twin[]){moved, x}, 2));
    char text[TWIN_TEXT];
    for (int run = 0; run < 2; run++)
      if (!twins_agree(&w, text)) fail_msg("%s", text);
    twins_end(&w);
  }
}

static void planted_faults_are_caught(void **state) {
  (void)state;
  static const sn_op swaps[][2] = {{SN_OP_cumsum, SN_OP_cumprod},
                                   {SN_OP_scatter_add, SN_OP_scatter_set}};
  for (size_t i = 0; i < 2; i++) {
    const sn_type type = {SN_F32, 2, {8, 9}};
    twins w;
    twins_begin(&w, ctx, true);
    w.planted = swaps[i][0];
    w.planted_as = swaps[i][1];
    twin x[3] = {twin_viewed_input(&w, &rng, TWIN_PLAIN, SN_OP_add, 0, CASE_DOMAIN, &type)};
    x[1] = indices_of(&w, &type, 1, 9);
    x[2] = twin_viewed_input(&w, &rng, TWIN_PLAIN, SN_OP_add, 0, CASE_DOMAIN, &type);
    twins_output(&w, twin_along(&w, swaps[i][0], x, (int64_t[]){1, 0, 0}));
    char text[TWIN_TEXT];
    assert_false(twins_agree(&w, text));
    twins_end(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planted_faults_are_caught), cmocka_unit_test(every_axis_of_every_shape),
      cmocka_unit_test(sorts_of_all_lengths),      cmocka_unit_test(inputs_of_all_kinds),
      cmocka_unit_test(same_bits_for_any_threads),
  };
  return cmocka_run_group_tests(tests, open_cases, close_cases);
}
