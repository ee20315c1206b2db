/* test_compile_memory.c - the memory that the compiler takes per node of a graph, measured as the difference
 * of two graphs of the same form, so that the fixed cost of a compilation does not count. */
#include "support.h"

enum { FEW = 2000, MANY = 6000, MOST_BYTES = 2048 };

/* Makes a scalar of n leaves; *nodes: how many there are then. */
typedef sn_tensor *builder(sn_context *ctx, size_t n, size_t *nodes);

static sn_tensor *pair(sn_context *ctx, size_t i) {
  return sn_from_data(ctx, SN_F32, 1, (int64_t[]){2}, (float[]){(float)i, 1});
}

static sn_tensor *concat_of_arguments(sn_context *ctx, size_t n, size_t *nodes) {
  sn_tensor **parts = malloc(n * sizeof *parts);
  for (size_t i = 0; i < n; i++) parts[i] = pair(ctx, i);
  sn_tensor *whole = sn_concat(parts, n, 0);
  free(parts);
  *nodes = n;
  return sn_sum(whole, SN_ALL_AXES, false);
}

static sn_tensor **multiples(sn_context *ctx, size_t n) {
  sn_tensor **list = malloc(n * sizeof *list), *x = pair(ctx, 1);
  for (size_t i = 0; i < n; i++) list[i] = sn_mul(x, sn_scalar(ctx, (double)i + 0.25));
  return list;
}

static sn_tensor *concat_of_products(sn_context *ctx, size_t n, size_t *nodes) {
  sn_tensor **parts = multiples(ctx, n), *whole = sn_concat(parts, n, 0);
  free(parts);
  *nodes = 2 * n;
  return sn_sum(whole, SN_ALL_AXES, false);
}

static sn_tensor *tree_of_sums(sn_context *ctx, size_t n, size_t *nodes) {
  sn_tensor **list = multiples(ctx, n);
  *nodes = 3 * n;
  for (; n > 1; n = (n + 1) / 2)
    for (size_t i = 0; i < (n + 1) / 2; i++)
      list[i] = 2 * i + 1 < n ? sn_add(list[2 * i], list[2 * i + 1]) : list[2 * i];
  sn_tensor *whole = sn_sum(list[0], SN_ALL_AXES, false);
  free(list);
  return whole;
}

/* Scalars: taken apart, they become one function. */
static sn_tensor *chain_of_scalars(sn_context *ctx, size_t n, size_t *nodes) {
  sn_tensor *p = sn_placeholder(ctx, SN_F32, 0, NULL), *x = p;
  for (size_t i = 0; i < n; i++) x = i % 2 ? sn_sin(x) : sn_add(x, p);
  sn_program *program;
  assert_int_equal(sn_compile(ctx, &p, 1, &x, 1, NULL, &program), SN_OK);
  sn_program_release(program);
  *nodes = n;
  return sn_full(ctx, SN_F32, 0, NULL, 0);
}

/* Bytes at the most while the graph is compiled and run, and its number of nodes. */
static size_t peak_of(builder *build, size_t n, size_t *nodes) {
  fixture f;
  sn_memory_info before, after;
  fixture_open(&f, (sn_options){.threads = 1});
  assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
  sn_tensor *whole = build(f.ctx, n, nodes);
  sn_memory(f.ctx, &before);
  assert_non_null(sn_data(whole));
  sn_memory(f.ctx, &after);
  sn_scope_end(f.ctx);
  fixture_close(&f);
  return after.bytes_peak > before.bytes_peak ? after.bytes_peak - before.bytes_in_use
                                              : before.bytes_peak - before.bytes_in_use;
}

static void a_node_takes_little(void **state) {
  static const struct {
    const char *name;
    builder *build;
  } cases[] = {{"concat of arguments", concat_of_arguments},
               {"concat of products", concat_of_products},
               {"tree of sums", tree_of_sums},
               {"chain of scalars", chain_of_scalars}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t few, many;
    const size_t less = peak_of(cases[i].build, FEW, &few);
    const size_t more = peak_of(cases[i].build, MANY, &many);
    const size_t bytes = (more - less) / (many - few);
    if (bytes > MOST_BYTES) fail_msg("%s: %zu bytes a node", cases[i].name, bytes);
  }
}

/* Many inputs, of different lengths, some of them views, along either axis. */
static void a_wide_concat_is_right(void **state) {
  enum { PARTS = 500 };
  (void)state;
  for (int axis = 0; axis < 2; axis++) {
    fixture f;
    fixture_open(&f, (sn_options){.threads = 2});
    assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
    sn_tensor *parts[PARTS], *zero = sn_full(f.ctx, SN_F32, 2, (int64_t[]){3, 1}, 0);
    float values[12];
    for (int i = 0; i < 12; i++) values[i] = (float)i;
    sn_tensor *x = sn_from_data(f.ctx, SN_F32, 2, (int64_t[]){3, 4}, values);
    int64_t length = 0;
    for (int64_t i = 0; i < PARTS; i++) { /* columns i % 4 .., every second one turned round */
      const int64_t width = 4 - i % 4;
      sn_tensor *part = sn_slice(x, (int64_t[]){0, i % 2 ? 3 : i % 4}, (int64_t[]){3, width},
                                 (int64_t[]){1, i % 2 ? -1 : 1});
      if (i % 5 == 0) part = sn_add(part, zero);
      if (i % 7 == 0) part = sn_full(f.ctx, SN_F32, 2, (int64_t[]){3, width}, 9);
      parts[i] = axis ? part : sn_transpose(part, NULL);
      length += width;
    }
    sn_tensor *whole = sn_concat(parts, PARTS, axis);
    if (!axis) whole = sn_transpose(whole, NULL);
    float *got = malloc((size_t)length * 3 * sizeof *got);
    assert_int_equal(sn_read(whole, got, (size_t)length * 3 * sizeof *got), SN_OK);
    int64_t at = 0;
    for (int64_t i = 0; i < PARTS; i++) {
      const int64_t width = 4 - i % 4;
      for (int64_t row = 0; row < 3; row++)
        for (int64_t k = 0; k < width; k++) {
          const int64_t column = i % 2 ? 3 - k : i % 4 + k;
          const float want = i % 7 ? (float)(4 * row + column) : 9;
          assert_float_equal(got[row * length + at + k], want, 0);
        }
      at += width;
    }
    free(got);
    sn_scope_end(f.ctx);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_node_takes_little),
      cmocka_unit_test(a_wide_concat_is_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
