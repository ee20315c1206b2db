/* test_blocks.c - ops on quantised blocks have the bits of the reference for every kind, size, number of threads and
 * instruction set, for views, for numbers that are not finite and for any bytes. Their gradients equal those of the product
 * with the dequantised numbers. js/test/blocks.test.mjs tests the reference. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case_support.h"
#include "graph/quant_blocks.h"
#include "twin.h"

enum { KINDS = SN_BLOCK_Q6_K + 1 };

/* ---- values against the reference -------------------------------------------------------------- */

/* Any bytes but where scales are NaN, whose payloads no law keeps. */
static twin some_rows(twins *w, const sn_block_layout *layout, const sn_type *type, bool wild) {
  const size_t n = (size_t)sn_type_size(type);
  uint8_t *data = malloc(n + 1);
  for (size_t i = 0; i < n; i++) data[i] = (uint8_t)case_below(&rng, 256);
  for (size_t at = 0; at < n; at += layout->bytes) {
    const bool last = layout->bytes == 210; /* where Q6_K has its scale */
    for (int i = 0; i < (layout->has_min ? 2 : 1); i++) {
      uint8_t *high = data + at + (last ? 209 : 1 + 2 * i);
      const int64_t exponent = wild ? case_below(&rng, 31) : 6 + case_below(&rng, 10);
      *high = (uint8_t)((*high & 131) | exponent << 2);
    }
  }
  const twin rows = twin_input(w, type, data);
  free(data);
  return rows;
}

/* With 1 to 4 threads, one context for each instruction set of an x86 machine, the best one first. Each of them has kernels of
 * blocks of its own; other machines have one instruction set. */
static void open_contexts(sn_context *contexts[4]) {
  const sn_isa_id best = sn_isa_detect();
  const sn_isa_id all[] = {best, SN_ISA_SSE2, SN_ISA_AVX2, SN_ISA_GENERIC};
  const bool is_x86 = best >= SN_ISA_SSE2 && best <= SN_ISA_AVX512;
  for (int i = 0; i < 4; i++)
    contexts[i] = case_context(i + 1, is_x86 && all[i] <= best ? all[i] : best);
}

static void block_case(sn_context *in, sn_block_kind kind) {
  twins w;
  const sn_block_layout *layout = sn_block_layout_of(kind);
  const int64_t attr = kind, blocks = case_one_in(&rng, 12) ? 0 : 1 + case_below(&rng, 5);
  twins_begin(&w, in, case_one_in(&rng, 2));
  sn_type rows = {SN_U8, 2, {case_below(&rng, 40), blocks * layout->bytes}};
  sn_type x = {SN_F32, 1 + (int)case_below(&rng, 3), {0}};
  if (case_one_in(&rng, 3) && x.rank > 1) {
    rows = (sn_type){SN_U8, 3, {1 + case_below(&rng, 3), rows.dims[0], rows.dims[1]}};
    x.dims[0] = rows.dims[0];
  }
  for (int i = rows.rank - 2; i < x.rank - 1; i++) x.dims[i] = case_below(&rng, 7);
  x.dims[x.rank - 1] = blocks * layout->numbers;
  const twin bytes = some_rows(&w, layout, &rows, case_one_in(&rng, 3));
  const twin_view view = (twin_view)case_below(&rng, TWIN_VIEWS);
  const case_values values = case_one_in(&rng, 4) ? CASE_MIXED : CASE_DOMAIN;
  const twin inputs[] = {twin_viewed_input(&w, &rng, view, SN_OP_add, 0, values, &x), bytes};
  twins_output(&w, twin_proposed(&w, SN_OP_dequantize_blocks, &bytes, &attr, 1, NULL));
  twins_output(&w, twin_proposed(&w, SN_OP_matmul_blocks, inputs, &attr, 1, NULL));
  char text[TWIN_TEXT];
  if (!twins_agree(&w, text)) fail_msg("%s: %s", layout->name, text);
  twins_end(&w);
}

static void values_have_the_bits_of_the_reference(void **state) {
  (void)state;
  sn_context *contexts[4];
  rng.state = case_seed();
  print_message("seed %llu\n", (unsigned long long)case_seed());
  open_contexts(contexts);
  for (int i = 0; i < (case_short() ? 400 : 1600); i++)
    block_case(contexts[i % 4], (sn_block_kind)(i / 4 % KINDS));
  for (int i = 0; i < 4; i++) case_context_end(contexts[i]);
}

/* ---- products with the numbers ----------------------------------------------------------------- */

/* Rows whose numbers are whole: scales of 1. */
static void make_whole(const sn_block_layout *layout, uint8_t *data, size_t n) {
  for (size_t at = 0; at < n; at += layout->bytes) {
    const bool last = layout->bytes == 210;
    for (int i = 0; i < (layout->has_min ? 2 : 1); i++)
      memcpy(data + at + (last ? 208 : 2 * i), (uint8_t[]){0, 0x3c}, 2);
  }
}

/* Whole numbers whose sums are exact in any order, so that the bits are those of the reference. */
static void dequantized_case(sn_context *in, sn_block_kind kind) {
  twins w;
  const sn_block_layout *layout = sn_block_layout_of(kind);
  const int64_t attr = kind, blocks = case_one_in(&rng, 12) ? 0 : 1 + case_below(&rng, 5);
  twins_begin(&w, in, case_one_in(&rng, 2));
  sn_type rows = {SN_U8, 2, {case_below(&rng, 200), blocks * layout->bytes}};
  sn_type x = {SN_F32, 1 + (int)case_below(&rng, 3), {0}};
  if (case_one_in(&rng, 3) && x.rank > 1) {
    rows = (sn_type){SN_U8, 3, {1 + case_below(&rng, 3), rows.dims[0], rows.dims[1]}};
    x.dims[0] = rows.dims[0];
  }
  for (int i = rows.rank - 2; i < x.rank - 1; i++) x.dims[i] = case_below(&rng, 9);
  x.dims[x.rank - 1] = rows.dims[rows.rank - 2];
  const size_t n = (size_t)sn_type_size(&rows), m = (size_t)sn_type_size(&x);
  uint8_t *data = malloc(n + 1);
  float *values = malloc((m + 1) * sizeof *values);
  for (size_t i = 0; i < n; i++) data[i] = (uint8_t)case_below(&rng, 256);
  for (size_t i = 0; i < m; i++) values[i] = (float)(case_below(&rng, 9) - 4);
  make_whole(layout, data, n);
  const twin inputs[] = {twin_input(&w, &x, values), twin_input(&w, &rows, data)};
  free(data);
  free(values);
  twins_output(&w, twin_proposed(&w, SN_OP_matmul_dequantized, inputs, &attr, 1, NULL));
  char text[TWIN_TEXT];
  if (!twins_agree(&w, text)) fail_msg("%s: %s", layout->name, text);
  twins_end(&w);
}

static void products_with_numbers_have_the_bits_of_the_reference(void **state) {
  (void)state;
  sn_context *contexts[4];
  rng.state = case_seed();
  print_message("seed %llu\n", (unsigned long long)case_seed());
  open_contexts(contexts);
  for (int i = 0; i < (case_short() ? 200 : 800); i++)
    dequantized_case(contexts[i % 4], (sn_block_kind)(i / 4 % KINDS));
  for (int i = 0; i < 4; i++) case_context_end(contexts[i]);
}

/* ---- rules ------------------------------------------------------------------------------------- */

/* A block of Q8_0 with scale 1: 0, 1, 2 ... times a sign. */
static sn_tensor *counting(int64_t rows) {
  uint8_t data[8 * 34];
  for (int64_t i = 0; i < rows * 34; i++) data[i] = (uint8_t)(i % 34 - 2);
  for (int64_t r = 0; r < rows; r++) memcpy(data + r * 34, (uint8_t[]){0, 0x3c}, 2);
  return sn_from_data(ctx, SN_U8, 2, (int64_t[]){rows, 34}, data);
}

static void gradients_are_those_of_the_numbers(void **state) {
  (void)state;
  sn_tensor *rows = counting(3), *x = sn_full(ctx, SN_F32, 2, (int64_t[]){2, 32}, 0.5), *dx;
  sn_tensor *y = sn_matmul_blocks(x, rows, SN_BLOCK_Q8_0);
  assert_int_equal(sn_gradients(sn_sum(y, SN_ALL_AXES, false), &x, 1, &dx), SN_OK);
  float slopes[64], values[6];
  assert_int_equal(sn_read(dx, slopes, sizeof slopes), SN_OK);
  assert_int_equal(sn_read(y, values, sizeof values), SN_OK);
  for (int i = 0; i < 64; i++) assert_float_equal(slopes[i], (float)(3 * (i % 32)), 0);
  for (int i = 0; i < 6; i++) assert_float_equal(values[i], 248, 1e-4);
}

/* No weight's numbers are in memory as a whole, in a gradient either. */
static void numbers_are_made_while_they_are_multiplied(void **state) {
  (void)state;
  enum { LAYERS = 8, SIZE = 64, BYTES = SIZE / 32 * 34 };
  sn_tensor *in[1 + LAYERS] = {sn_placeholder(ctx, SN_F32, 2, (int64_t[]){2, SIZE})}, *y = in[0],
                    *dx;
  for (int i = 1; i <= LAYERS; i++) {
    in[i] = sn_placeholder(ctx, SN_U8, 2, (int64_t[]){SIZE, BYTES});
    y = sn_tanh(sn_matmul_blocks(y, in[i], SN_BLOCK_Q8_0));
  }
  assert_int_equal(sn_gradients(sn_sum(y, SN_ALL_AXES, false), in, 1, &dx), SN_OK);
  sn_program *program;
  sn_program_info info;
  assert_int_equal(sn_compile(ctx, in, 1 + LAYERS, &dx, 1, NULL, &program), SN_OK);
  sn_program_describe(program, &info);
  sn_program_release(program);
  assert_in_range(info.arena_bytes, 1, SIZE * SIZE * sizeof(float) / 2);
}

static void refuses(sn_tensor *made, sn_status status, const char *text) {
  assert_null(made);
  assert_int_equal(sn_error_status(ctx), status);
  assert_non_null(strstr(sn_error_message(ctx), text));
  sn_error_clear(ctx);
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  sn_tensor *rows = counting(3), *x = sn_zeros(ctx, SN_F32, 2, (int64_t[]){2, 64});
  refuses(sn_matmul_blocks(x, rows, SN_BLOCK_Q8_0), SN_ERR_SHAPE,
          "rows of 32 numbers of kind Q8_0, and x has 64: x (2, 64), rows (3, 34)");
  refuses(sn_matmul_blocks(x, rows, SN_BLOCK_Q4_0), SN_ERR_SHAPE, "no whole blocks of kind Q4_0");
  refuses(sn_matmul_blocks(x, x, SN_BLOCK_Q4_0), SN_ERR_DTYPE, "rows must be uint8, not float32");
  refuses(sn_matmul_dequantized(x, rows, SN_BLOCK_Q8_0), SN_ERR_SHAPE, "x (..., n) for n rows");
  refuses(sn_dequantize_blocks(rows, (sn_block_kind)77), SN_ERR_ARGUMENT, "number 77");
  refuses(sn_dequantize_blocks(sn_scalar(ctx, 1), SN_BLOCK_Q4_K), SN_ERR_DTYPE, "must be uint8");
}

static int open_context(void **state) {
  (void)state;
  ctx = case_context(2, sn_isa_detect());
  sn_scope_begin(ctx);
  return 0;
}

static int close_context(void **state) {
  (void)state;
  sn_scope_end(ctx);
  case_context_end(ctx);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_have_the_bits_of_the_reference),
      cmocka_unit_test(products_with_numbers_have_the_bits_of_the_reference),
      cmocka_unit_test_setup_teardown(gradients_are_those_of_the_numbers, open_context,
                                      close_context),
      cmocka_unit_test_setup_teardown(numbers_are_made_while_they_are_multiplied, open_context,
                                      close_context),
      cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, open_context, close_context),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
