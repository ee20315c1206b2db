/* test_ops.c - every op of ops.def, compiled, against the scalar reference: equal bits for every dtype
 * that it takes, over shapes of all ranks, special values, broadcasting, views, every pass off, and
 * 1 to 4 threads. The cases come from the rows, so a new row is tested without a line here. Sums and
 * matrix products, which add in the kernel's own order, are in test_sums.c. */
#include "case_support.h"
#include "kernels/strip.h"
#include "twin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DTYPES = 4 };

/* ---- walking the table ----------------------------------------------------------------------- */

static bool is_elementwise(sn_op op) {
  const sn_op_class kind = sn_op_describe(op)->kind;
  return kind == SN_CLASS_MAP || kind == SN_CLASS_COMPARE || kind == SN_CLASS_SELECT;
}

typedef void row_fn(sn_op op, sn_dtype dtype);

/* Calls fn for every elementwise row and every dtype it takes. */
static void each_row(row_fn *fn) {
  for (int op = 0; op < SN_OP_COUNT; op++)
    for (int dtype = 0; dtype < DTYPES; dtype++)
      if (is_elementwise((sn_op)op) && case_takes((sn_op)op, (sn_dtype)dtype))
        fn((sn_op)op, (sn_dtype)dtype);
}

static sn_dtype input_dtype(sn_op op, size_t which, sn_dtype dtype) {
  return sn_op_describe(op)->kind == SN_CLASS_SELECT && which == 0 ? SN_BOOL : dtype;
}

static void must_agree(twins *w, sn_op op, sn_dtype dtype, const char *where) {
  char text[TWIN_TEXT];
  if (!twins_agree(w, text))
    fail_msg("%s of %s, %s: %s", sn_op_describe(op)->name, sn_dtype_name(dtype), where, text);
}

/* One application; views: one per input. */
static void apply_case(sn_op op, sn_dtype dtype, const sn_type *dims, const twin_view *views,
                       case_values values, bool compiled) {
  const size_t n = sn_op_describe(op)->arity;
  twins w;
  twins_begin(&w, ctx, compiled);
  twin x[SN_MAX_ARITY];
  for (size_t k = 0; k < n; k++) {
    sn_type type = *dims;
    type.dtype = input_dtype(op, k, dtype);
    x[k] = twin_viewed_input(&w, &rng, views[k], op, (int)k, values, &type);
  }
  twins_output(&w, twin_apply(&w, op, x, n));
  char shape[SN_SHAPE_TEXT], where[SN_SHAPE_TEXT + 64];
  snprintf(where, sizeof where, "shape %s, views %d %d %d", sn_shape_text(dims, shape), views[0],
           views[1], views[2]);
  must_agree(&w, op, dtype, where);
  twins_end(&w);
}

/* ---- elementwise ----------------------------------------------------------------------------- */

static const twin_view plain[SN_MAX_ARITY] = {TWIN_PLAIN, TWIN_PLAIN, TWIN_PLAIN};

static void all_shapes(sn_op op, sn_dtype dtype) {
  for (size_t i = 0; i < case_shape_count; i++)
    if (!case_short() || case_one_in(&rng, 2))
      apply_case(op, dtype, &case_shapes[i], plain, CASE_MIXED, i % 2);
}

static void shapes(void **state) {
  (void)state;
  each_row(all_shapes);
}

/* All pairs (triples) of special values. */
static void all_specials(sn_op op, sn_dtype dtype) {
  sn_type type = {.rank = 1, .dims = {1}};
  for (int k = 0; k < sn_op_describe(op)->arity; k++)
    type.dims[0] *= (int64_t)case_special_count(dtype);
  apply_case(op, dtype, &type, plain, CASE_SPECIALS, true);
}

static void special_values(void **state) {
  (void)state;
  each_row(all_specials);
}

/* Without fused multiply-adds the kernels of this machine's instruction set and of those below it compute the same
 * bits. */
static void plain_bits_on_every_instruction_set(void **state) {
  (void)state;
  sn_context *own = ctx;
  for (int isa = (int)sn_isa_detect(); isa >= SN_ISA_SSE2; isa--) {
    if (isa < (int)sn_isa_detect() &&
        sn_strips_for((sn_isa_id)isa, false) == sn_strips_for((sn_isa_id)(isa + 1), false))
      continue;
    ctx = case_context_with((sn_options){.threads = 1, .deterministic = true}, (sn_isa_id)isa);
    each_row(all_specials);
    each_row(all_shapes);
    case_context_end(ctx);
  }
  ctx = own;
}

/* Each input through each kind of view, the others through random ones. */
static void all_views(sn_op op, sn_dtype dtype) {
  static const sn_type dims[] = {{.rank = 2, .dims = {33, 31}},
                                 {.rank = 3, .dims = {4, 9, 8}},
                                 {.rank = 8, .dims = {2, 2, 2, 3, 2, 2, 1, 3}},
                                 {.rank = 1, .dims = {300}},
                                 {.rank = 0},
                                 {.rank = 2, .dims = {0, 4}}};
  for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
    for (int view = 0; view < TWIN_VIEWS; view++) {
      if (case_short() && !case_one_in(&rng, 3)) continue;
      for (size_t k = 0; k < sn_op_describe(op)->arity; k++) {
        twin_view views[SN_MAX_ARITY];
        for (size_t j = 0; j < SN_MAX_ARITY; j++)
          views[j] = j == k ? (twin_view)view : (twin_view)case_below(&rng, TWIN_VIEWS);
        apply_case(op, dtype, &dims[d], views, CASE_MIXED, view % 2);
      }
    }
}

static void views(void **state) {
  (void)state;
  each_row(all_views);
}

/* ---- broadcasting ---------------------------------------------------------------------------- */

static void all_broadcasts(sn_op op, sn_dtype dtype) {
  static const sn_type sets[][SN_MAX_ARITY] = {
      {{.rank = 2, .dims = {3, 5}}, {.rank = 1, .dims = {5}}, {.rank = 0}},
      {{.rank = 1, .dims = {5}}, {.rank = 2, .dims = {3, 1}}, {.rank = 2, .dims = {1, 5}}},
      {{.rank = 0}, {.rank = 3, .dims = {2, 3, 4}}, {.rank = 1, .dims = {1}}},
      {{.rank = 2, .dims = {0, 1}}, {.rank = 2, .dims = {1, 5}}, {.rank = 1, .dims = {5}}},
      {{.rank = 2, .dims = {257, 1}}, {.rank = 2, .dims = {1, 19}}, {.rank = 1, .dims = {19}}},
      {{.rank = 8, .dims = {2, 1, 2, 1, 1, 3, 1, 1}},
       {.rank = 4, .dims = {3, 1, 2, 2}},
       {.rank = 8, .dims = {1, 3, 1, 1, 1, 1, 2, 1}}},
  };
  const size_t n = sn_op_describe(op)->arity;
  for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
    twins w;
    twins_begin(&w, ctx, s % 2);
    twin x[SN_MAX_ARITY];
    for (size_t k = 0; k < n; k++) {
      sn_type type = sets[s][k];
      type.dtype = input_dtype(op, k, dtype);
      x[k] = twin_viewed_input(&w, &rng, TWIN_PLAIN, op, (int)k, CASE_MIXED, &type);
    }
    twins_output(&w, twin_apply(&w, op, x, n));
    must_agree(&w, op, dtype, "broadcasting");
    twins_end(&w);
  }
}

static void broadcasting(void **state) {
  (void)state;
  each_row(all_broadcasts);
}

/* A bare number on either side; as an eager input, and as a constant of a program. Powers as they
 * are written: what `strength` makes of x^2 rounds differently, and has its own tests. */
static void all_numbers(sn_op op, sn_dtype dtype) {
  assert_int_equal(sn_pass_enable(ctx, "strength", op != SN_OP_pow), SN_OK);
  static const double numbers[] = {0, -0.0, 1, -1, 2, 0.5, 3, 0.1, 1e10};
  if (sn_op_describe(op)->arity != 2 || dtype == SN_BOOL) return;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    for (int side = 0; side < 4; side++) {
      if (dtype == SN_I32 && numbers[i] != (double)(int)numbers[i]) continue;
      if (op == SN_OP_pow && numbers[i] == 2 && !(side & 1)) continue; /* see squares_by_pow */
      const sn_type type = {.dtype = dtype, .rank = 1, .dims = {40}};
      twins w;
      twins_begin(&w, ctx, side & 2);
      twin x[2];
      x[side & 1] = twin_viewed_input(&w, &rng, TWIN_PLAIN, op, 0, CASE_SPECIALS, &type);
      x[1 - (side & 1)] = twin_scalar(&w, dtype, numbers[i]);
      twins_output(&w, twin_apply(&w, op, x, 2));
      must_agree(&w, op, dtype, "with a bare number");
      twins_end(&w);
    }
}

static void bare_numbers(void **state) {
  (void)state;
  each_row(all_numbers);
  assert_int_equal(sn_pass_enable(ctx, "strength", true), SN_OK);
}

/* x^2 is compiled to x * x, which rounds once: the bits of square, within one ULP of pow. */
static void squares_by_pow(void **state) {
  (void)state;
  for (int dtype = SN_F32; dtype <= SN_F64; dtype++) {
    const sn_type type = {.dtype = (sn_dtype)dtype, .rank = 1, .dims = {1000}};
    twins w;
    twins_begin(&w, ctx, false);
    const twin x = twin_viewed_input(&w, &rng, TWIN_PLAIN, SN_OP_square, 0, CASE_SPECIALS, &type);
    sn_tensor *two = sn_scalar(ctx, 2), *power = sn_pow(x.t, two), *square = sn_square(x.t);
    const void *a = sn_data(power), *b = sn_data(square);
    int64_t where;
    assert_true(a && b &&
                case_same((sn_dtype)dtype, a, b, 1000, &where)); /* the scope frees them */
    twins_end(&w);
  }
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static void casts(void **state) {
  (void)state;
  for (int from = 0; from < (int)SN_DTYPES; from++)
    for (int to = 0; to < (int)SN_DTYPES; to++)
      for (int view = 0; view < TWIN_VIEWS; view++)
        for (size_t i = 0; i < case_shape_count; i++) {
          if (case_short() && view && !case_one_in(&rng, 4)) continue;
          twins w;
          twins_begin(&w, ctx, i % 2);
          sn_type type = case_shapes[i];
          type.dtype = (sn_dtype)from;
          const twin x = twin_viewed_input(&w, &rng, (twin_view)view, SN_OP_astype, 0,
                                           view ? CASE_MIXED : CASE_SPECIALS, &type);
          twins_output(&w, twin_astype(&w, x, (sn_dtype)to));
          if (from + to == SN_F32 + SN_I32 && from != to)
            twins_output(&w, twin_bitcast(&w, x, (sn_dtype)to));
          must_agree(&w, SN_OP_astype, (sn_dtype)to, sn_dtype_name((sn_dtype)from));
          twins_end(&w);
        }
}

/* A number that its dtype cannot hold is the number the dtype does hold, before any further op. */
static void casts_of_numbers(void **state) {
  (void)state;
  static const double numbers[] = {0.1, 2.7, -2.7, 1e300, 16777217, 3e9, -0.0, 0x1p-149};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    for (int from = 0; from < (int)SN_DTYPES; from++)
      for (int to = 0; to < (int)SN_DTYPES; to++)
        for (int compiled = 0; compiled < 2; compiled++) {
          const sn_type type = {.dtype = (sn_dtype)from, .rank = 1, .dims = {3}};
          twins w;
          twins_begin(&w, ctx, compiled);
          const twin x = twin_full(&w, &type, numbers[i]);
          twins_output(&w, twin_astype(&w, x, (sn_dtype)to));
          twins_output(&w, x);
          must_agree(&w, SN_OP_astype, (sn_dtype)to, "of a constant");
          twins_end(&w);
        }
}

/* ---- structure ------------------------------------------------------------------------------- */

static void pads(void **state) {
  (void)state;
  for (int dtype = 0; dtype < DTYPES; dtype++)
    for (size_t i = 0; i < case_shape_count; i++)
      for (int view = 0; view < TWIN_VIEWS; view++) {
        sn_type type = case_shapes[i];
        type.dtype = (sn_dtype)dtype;
        int64_t before[SN_MAX_RANK], after[SN_MAX_RANK], step[SN_MAX_RANK];
        for (int d = 0; d < type.rank; d++) {
          const int64_t most = type.rank > 4 ? 2 : 4;
          before[d] = case_below(&rng, most);
          after[d] = case_below(&rng, most);
          step[d] = view == TWIN_STEPPED ? 1 + case_below(&rng, 2) : 1;
        }
        twins w;
        twins_begin(&w, ctx, i % 2);
        const twin x =
            twin_viewed_input(&w, &rng, (twin_view)view, SN_OP_pad, 0, CASE_MIXED, &type);
        twins_output(&w, twin_pad(&w, x, before, after, step, view ? 1 : -0.0));
        must_agree(&w, SN_OP_pad, (sn_dtype)dtype, "pad");
        twins_end(&w);
      }
}

static void concats(void **state) {
  (void)state;
  for (int dtype = 0; dtype < DTYPES; dtype++)
    for (size_t i = 0; i < case_shape_count; i++)
      for (int axis = 0; axis < case_shapes[i].rank; axis++) {
        twins w;
        twins_begin(&w, ctx, (int)i % 2);
        twin parts[6];
        const size_t n = 1 + (size_t)case_below(&rng, 5);
        for (size_t k = 0; k < n; k++) {
          sn_type type = case_shapes[i];
          type.dtype = (sn_dtype)dtype;
          if (k % 2) type.dims[axis] = case_below(&rng, 4);
          parts[k] = twin_viewed_input(&w, &rng, (twin_view)case_below(&rng, TWIN_VIEWS),
                                       SN_OP_concat, 0, CASE_MIXED, &type);
        }
        parts[n] = parts[0]; /* the same input twice */
        twins_output(&w, twin_concat(&w, parts, n + 1, axis));
        must_agree(&w, SN_OP_concat, (sn_dtype)dtype, "concat");
        twins_end(&w);
      }
}

/* What reads no memory: indices and constants, also through views. */
static void leaves(void **state) {
  (void)state;
  for (int dtype = 0; dtype < DTYPES; dtype++)
    for (size_t i = 0; i < case_shape_count; i++) {
      sn_type type = case_shapes[i];
      type.dtype = (sn_dtype)dtype;
      twins w;
      twins_begin(&w, ctx, i % 2);
      const twin full = twin_full(&w, &type, dtype == SN_BOOL ? 1 : 3);
      twins_output(&w, twin_transpose(&w, full, NULL));
      for (int axis = 0; axis < type.rank && axis < 4 && dtype != SN_BOOL; axis++) {
        const twin x = twin_iota(&w, &type, axis);
        twins_output(&w, axis % 2 ? twin_flip(&w, x) : twin_transpose(&w, x, NULL));
      }
      must_agree(&w, SN_OP_iota, (sn_dtype)dtype, "leaves");
      twins_end(&w);
    }
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* A graph in which every pass finds work, with several outputs that share parts. */
static void write_graph(twins *w, sn_op op, sn_dtype dtype) {
  const sn_type type = {.dtype = dtype, .rank = 2, .dims = {19, 23}};
  const sn_op_info *row = sn_op_describe(op);
  twin x[SN_MAX_ARITY];
  for (size_t k = 0; k < row->arity; k++) {
    sn_type in = type;
    in.dtype = input_dtype(op, k, dtype);
    x[k] = twin_viewed_input(w, &rng, (twin_view)case_below(&rng, TWIN_VIEWS), op, (int)k,
                             CASE_MIXED, &in);
  }
  const twin y = twin_apply(w, op, x, row->arity);
  const twin again = twin_apply(w, op, x, row->arity);
  const twin back = twin_transpose(w, twin_transpose(w, again, NULL), NULL);
  const sn_type *made = twin_type(w, y);
  twins_output(w, twin_flip(w, y));
  if (sn_dtype_is_float(made->dtype)) {
    const twin one = twin_full(w, made, 1), two = twin_apply(w, SN_OP_add, (twin[]){one, one}, 2);
    const twin same = twin_apply(w, SN_OP_mul, (twin[]){back, one}, 2);
    twins_output(w, twin_apply(w, SN_OP_div, (twin[]){same, two}, 2));
    twins_output(w, twin_apply(w, SN_OP_neg, (twin[]){twin_apply(w, SN_OP_neg, &same, 1)}, 1));
    twins_output(w, twin_reduce(w, SN_OP_max, twin_apply(w, SN_OP_abs, &same, 1), 1));
  } else {
    twins_output(w, twin_apply(w, SN_OP_equal, (twin[]){back, y}, 2));
    twins_output(w, twin_astype(w, back, SN_F64));
  }
}

static void all_passes(sn_op op, sn_dtype dtype) {
  const uint32_t all = (1u << sn_pass_count()) - 1;
  for (int i = -2; i < sn_pass_count(); i++) {
    twins w;
    twins_begin(&w, ctx, i % 2);
    write_graph(&w, op, dtype);
    case_passes_off(ctx, i == -2 ? 0 : i == -1 ? all : 1u << i);
    must_agree(&w, op, dtype, i == -2 ? "all passes" : i == -1 ? "no pass" : sn_pass_name(i));
    twins_end(&w);
  }
  case_passes_off(ctx, 0);
}

static void passes(void **state) {
  (void)state;
  each_row(all_passes);
}

/* ---- donation -------------------------------------------------------------------------------- */

enum { PROGRAMS = 9 };

/* Programs that must not, or only with care, write into the memory of an argument they still read.
 * m and other are square, v is a row. */
static void write_in_place(twins *w, int kind, const twin *x) {
  const twin m = x[0], other = x[1], v = x[2];
  const twin turned = twin_transpose(w, m, NULL), size = twin_apply(w, SN_OP_abs, &m, 1);
  const twin negative = twin_apply(w, SN_OP_neg, &m, 1);
  const twin least = twin_reduce(w, SN_OP_min, size, 1);
  const twin most = twin_reduce(w, SN_OP_max, twin_apply(w, SN_OP_mul, (twin[]){m, v}, 2), 2);
  const twin programs[][2] = {
      {twin_apply(w, SN_OP_add, (twin[]){m, turned}, 2), v},
      {twin_apply(w, SN_OP_mul, (twin[]){twin_flip(w, m), other}, 2), v},
      {most, most}, /* each element reads all of v, which is as large */
      {twin_type(w, v)->dims[0] > 100 ? v : twin_matmul(w, m, other), v},
      {negative, size}, /* two results for one place */
      {m, negative},    /* the argument is a result too */
      {twin_concat(w, (twin[]){v, v}, 2, 0), m},
      {twin_apply(w, SN_OP_mul, (twin[]){m, least}, 2), /* read again by a later kernel */
       twin_apply(w, SN_OP_add, (twin[]){turned, least}, 2)},
      {twin_astype(w, m, SN_I32), twin_bitcast(w, other, SN_I32)}, /* same size, other dtype */
  };
  assert_int_equal(sizeof programs / sizeof *programs, PROGRAMS);
  twins_output(w, programs[kind][0]);
  twins_output(w, programs[kind][1]);
}

static void donated_arguments(void **state) {
  (void)state;
  static const int64_t sizes[] = {1, 3, 17, 70, 300}; /* the last: several units of rows */
  for (int kind = 0; kind < PROGRAMS; kind++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
      for (int hold = 0; hold < 2; hold++) {
        const int64_t n = sizes[s];
        const sn_type square = {SN_F32, 2, {n, n}}, row = {SN_F32, 1, {n}};
        twins w;
        twins_begin(&w, ctx, true);
        twin x[3];
        for (int k = 0; k < 3; k++) {
          x[k] = twin_viewed_input(&w, &rng, TWIN_PLAIN, SN_OP_add, 0, CASE_WHOLE,
                                   k < 2 ? &square : &row);
          w.donate[k] = true;
          w.hold[k] = hold;
        }
        write_in_place(&w, kind, x);
        char text[TWIN_TEXT];
        for (int run = 0; run < 2; run++)
          if (!twins_agree(&w, text)) fail_msg("kind %d, size %d: %s", kind, (int)n, text);
        twins_end(&w);
      }
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Large enough that lanes share the work: a map, reductions both ways, a product with an
 * epilogue. */
static void write_large(twins *w, int64_t rows, int64_t cols) {
  const sn_type type = {.dtype = SN_F32, .rank = 2, .dims = {rows, cols}};
  const sn_type square = {.dtype = SN_F32, .rank = 2, .dims = {cols, 37}};
  const twin x = twin_viewed_input(w, &rng, TWIN_PLAIN, SN_OP_tanh, 0, CASE_DOMAIN, &type);
  const twin m = twin_viewed_input(w, &rng, TWIN_TRANSPOSED, SN_OP_tanh, 0, CASE_DOMAIN, &square);
  const twin y = twin_apply(w, SN_OP_exp, (twin[]){twin_apply(w, SN_OP_sin, &x, 1)}, 1);
  twins_output(w, y);
  twins_output(w, twin_reduce(w, SN_OP_sum, y, 3));
  twins_output(w, twin_reduce(w, SN_OP_sum, x, 1));
  twins_output(w, twin_reduce(w, SN_OP_sum, x, 2));
  twins_output(w, twin_reduce(w, SN_OP_max, twin_transpose(w, x, NULL), 1));
  twins_output(w, twin_apply(w, SN_OP_relu, (twin[]){twin_matmul(w, x, m)}, 1));
}

static void same_bits_for_any_threads(void **state) {
  (void)state;
  enum { MOST = 4 };
  const int64_t rows = case_short() ? 96 : 700, cols = 301;
  twins w[MOST];
  sn_context *contexts[MOST];
  for (int i = 0; i < MOST; i++) {
    rng.state = case_seed();
    contexts[i] = case_context(i + 1, sn_isa_detect());
    assert_int_equal(sn_threads(contexts[i]), i + 1);
    twins_begin(&w[i], contexts[i], true);
    write_large(&w[i], rows, cols);
    for (int run = 0; run < 3; run++) {
      char text[TWIN_TEXT];
      if (!twins_run(&w[i], text)) fail_msg("%s", text);
      for (size_t k = 0; k < w[i].n_outputs; k++) {
        sn_tensor *got = w[i].results[k], *one = w[0].results[k];
        int64_t where;
        if (!case_same(sn_dtype_of(got), sn_data(got), sn_data(one), sn_size(got), &where))
          fail_msg("output %zu, element %lld differs on %d threads", k, (long long)where, i + 1);
      }
    }
  }
  for (int i = 0; i < MOST; i++) {
    twins_end(&w[i]);
    case_context_end(contexts[i]);
  }
}

/* ---- the tests themselves -------------------------------------------------------------------- */

/* A wrong op in place of the right one must be noticed for every row that has a neighbour to be
 * mistaken for. */
static void planted_faults_are_caught(void **state) {
  (void)state;
  static const sn_op swaps[][2] = {{SN_OP_add, SN_OP_sub},         {SN_OP_less, SN_OP_less_equal},
                                   {SN_OP_maximum, SN_OP_minimum}, {SN_OP_sin, SN_OP_cos},
                                   {SN_OP_floor, SN_OP_trunc},     {SN_OP_relu, SN_OP_abs},
                                   {SN_OP_log1p, SN_OP_log},       {SN_OP_round, SN_OP_ceil}};
  for (size_t i = 0; i < sizeof swaps / sizeof *swaps; i++) {
    const sn_type type = {.dtype = SN_F32, .rank = 1, .dims = {300}};
    const size_t n = sn_op_describe(swaps[i][0])->arity;
    twins w;
    twins_begin(&w, ctx, true);
    w.planted = swaps[i][0];
    w.planted_as = swaps[i][1];
    twin x[SN_MAX_ARITY];
    for (size_t k = 0; k < n; k++)
      x[k] = twin_viewed_input(&w, &rng, TWIN_PLAIN, swaps[i][0], (int)k, CASE_SPECIALS, &type);
    twins_output(&w, twin_apply(&w, swaps[i][0], x, n));
    char text[TWIN_TEXT];
    assert_false(twins_agree(&w, text));
    twins_end(&w);
  }
}

static void comparison_is_exact(void **state) {
  (void)state;
  int64_t where;
  const float zeros[2] = {0.0f, -0.0f}, nans[2] = {__builtin_nanf("1"), __builtin_nanf("2")};
  const float near[2] = {1.0f, 0x1.000002p0f};
  const uint8_t bools[2] = {1, 2};
  assert_false(case_same(SN_F32, &zeros[0], &zeros[1], 1, &where));
  assert_true(case_same(SN_F32, &nans[0], &nans[1], 1, &where));
  assert_false(case_same(SN_F32, &nans[0], &zeros[0], 1, &where));
  assert_false(case_same(SN_F32, &near[0], &near[1], 1, &where));
  assert_false(case_same(SN_BOOL, &bools[0], &bools[1], 1, &where));
  assert_true(case_same(SN_F32, near, near, 2, &where));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(comparison_is_exact),
      cmocka_unit_test(planted_faults_are_caught),
      cmocka_unit_test(shapes),
      cmocka_unit_test(special_values),
      cmocka_unit_test(plain_bits_on_every_instruction_set),
      cmocka_unit_test(views),
      cmocka_unit_test(broadcasting),
      cmocka_unit_test(bare_numbers),
      cmocka_unit_test(squares_by_pow),
      cmocka_unit_test(casts),
      cmocka_unit_test(casts_of_numbers),
      cmocka_unit_test(pads),
      cmocka_unit_test(concats),
      cmocka_unit_test(leaves),
      cmocka_unit_test(passes),
      cmocka_unit_test(donated_arguments),
      cmocka_unit_test(same_bits_for_any_threads),
  };
  return cmocka_run_group_tests(tests, open_cases, close_cases);
}
