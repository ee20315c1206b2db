/* test_base.c - allocation with its counters and failures, arenas, checked sizes, texts, the debug
 * scale. */
#define _GNU_SOURCE 1

#include "graph_support.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/format.h"
#include "base/log.h"
#include "base/size.h"
#include "base/text.h"

/* ---- heap ------------------------------------------------------------------------------------ */

static void heap_counts(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  sn_heap *heap = &l.env.heap;
  void *a, *b;
  assert_int_equal(sn_alloc(&l.env, 100, &a), SN_OK);
  assert_int_equal(sn_alloc_zeroed(&l.env, 3, 8, &b), SN_OK);
  for (int i = 0; i < 24; i++) assert_int_equal(((char *)b)[i], 0);
  assert_int_equal((uintptr_t)a % 64, 0);
  assert_int_equal(heap->live_bytes, 124);
  assert_int_equal(heap->live_blocks, 2);
  sn_free(&l.env, a, 100);
  assert_int_equal(heap->live_bytes, 24);
  assert_int_equal(heap->peak_bytes, 124);
  sn_free(&l.env, b, 24);
  sn_free(&l.env, NULL, 5);
  assert_int_equal(heap->live_bytes, 0);
  assert_int_equal(heap->live_blocks, 0);
  lab_close(&l);
}

static void zero_bytes_are_a_block_of_their_own(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  void *a, *b;
  assert_int_equal(sn_alloc(&l.env, 0, &a), SN_OK);
  assert_int_equal(sn_alloc(&l.env, 0, &b), SN_OK);
  assert_non_null(a);
  assert_ptr_not_equal(a, b);
  sn_free(&l.env, a, 0);
  sn_free(&l.env, b, 0);
  lab_close(&l);
}

/* What a heap keeps is in its ledger, but not among what lives. */
static void small_blocks_are_kept_for_the_next_of_their_size(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  sn_heap *heap = &l.env.heap;
  heap->kept.on = true;
  void *a, *b, *again;
  assert_int_equal(sn_alloc(&l.env, 65, &a), SN_OK);
  assert_int_equal(sn_alloc(&l.env, 64, &b), SN_OK);
  assert_int_equal(l.ledger.live_bytes, 128 + 64); /* whole units */
  assert_int_equal(heap->live_bytes, 65 + 64);
  sn_free(&l.env, a, 65);
  sn_free(&l.env, b, 64);
  assert_int_equal(heap->live_blocks, 0);
  assert_int_equal(l.ledger.live_blocks, 2);
  const size_t calls = l.ledger.calls;
  assert_int_equal(sn_alloc(&l.env, 128, &again), SN_OK);
  assert_ptr_equal(again, a);
  assert_int_equal(sn_alloc_zeroed(&l.env, 1, 1, &again), SN_OK);
  assert_ptr_equal(again, b);
  assert_int_equal(*(char *)again, 0);
  assert_int_equal(l.ledger.calls, calls);
  sn_free(&l.env, a, 128);
  sn_free(&l.env, b, 1);
  sn_heap_end(heap);
  lab_close(&l);
}

static void few_bytes_are_kept_and_large_blocks_go(void **state) {
  (void)state;
  enum { SMALL = SN_KEPT_UNIT * SN_KEPT_SIZES, BLOCKS = 2 * SN_KEPT_BYTES / SMALL };
  lab l;
  lab_open(&l, true);
  sn_heap *heap = &l.env.heap;
  heap->kept.on = true;
  void *blocks[BLOCKS], *large;
  for (int i = 0; i < BLOCKS; i++) assert_int_equal(sn_alloc(&l.env, SMALL, &blocks[i]), SN_OK);
  assert_int_equal(sn_alloc(&l.env, SMALL + 1, &large), SN_OK);
  assert_int_equal(l.ledger.live_bytes, (size_t)(BLOCKS + 1) * SMALL + 1);
  for (int i = 0; i < BLOCKS; i++) sn_free(&l.env, blocks[i], SMALL);
  sn_free(&l.env, large, SMALL + 1);
  assert_int_equal(heap->live_bytes, 0);
  assert_int_equal(l.ledger.live_bytes, SN_KEPT_BYTES);
  sn_heap_end(heap);
  lab_close(&l);
}

static void the_limit_holds(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  l.env.heap.limit_bytes = 1000;
  void *a, *b = &l;
  assert_int_equal(sn_alloc(&l.env, 990, &a), SN_OK);
  const size_t calls = l.ledger.calls;
  assert_int_equal(sn_alloc(&l.env, 11, &b), SN_ERR_MEMORY);
  assert_string_equal(l.env.error.message, "out of memory: 11 bytes more, 990 in use");
  assert_ptr_equal(b, &l);
  assert_int_equal(sn_alloc(&l.env, SIZE_MAX, &b), SN_ERR_MEMORY);
  assert_int_equal(l.ledger.calls, calls);
  assert_int_equal(sn_alloc(&l.env, 10, &b), SN_OK);
  sn_free(&l.env, a, 990);
  sn_free(&l.env, b, 10);
  lab_close(&l);
}

static void failures_come_when_ordered(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  sn_heap *heap = &l.env.heap;
  void *a, *b;
  heap->fail_countdown = 1;
  assert_int_equal(sn_alloc(&l.env, 8, &a), SN_OK);
  assert_int_equal(sn_alloc(&l.env, 8, &b), SN_ERR_MEMORY);
  assert_int_equal(sn_alloc(&l.env, 8, &b), SN_OK);
  heap->fail_countdown = 0;
  heap->fail_forever = true;
  void *c = NULL;
  for (int i = 0; i < 3; i++) assert_int_equal(sn_alloc(&l.env, 8, &c), SN_ERR_MEMORY);
  assert_null(c);
  heap->fail_countdown = -1;
  assert_int_equal(heap->live_blocks, 2);
  sn_free(&l.env, a, 8);
  sn_free(&l.env, b, 8);
  lab_close(&l);
}

static void arrays_grow_and_keep_their_contents(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  int *items = NULL;
  size_t capacity = 0;
  for (size_t n = 0; n < 1000; n++) {
    assert_int_equal(sn_grow(&l.env, (void **)&items, &capacity, n, sizeof *items), SN_OK);
    items[n] = (int)n;
  }
  for (int n = 0; n < 1000; n++) assert_int_equal(items[n], n);
  int *const before = items;
  l.env.heap.fail_countdown = 0;
  assert_int_equal(sn_grow(&l.env, (void **)&items, &capacity, capacity, sizeof *items),
                   SN_ERR_MEMORY);
  assert_ptr_equal(items, before);
  assert_int_equal(capacity, 1024);
  sn_free(&l.env, items, capacity * sizeof *items);
  lab_close(&l);
}

/* ---- arenas ---------------------------------------------------------------------------------- */

static void arena_blocks_are_aligned_zeroed_and_stay(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  unsigned char *blocks[2000];
  case_random random = {7};
  size_t sizes[2000];
  for (int i = 0; i < 2000; i++) {
    sizes[i] = i == 1000 ? 300000 : (size_t)case_below(&random, 200);
    assert_int_equal(sn_arena_alloc(&l.arena, sizes[i], 1, (void **)&blocks[i]), SN_OK);
    assert_int_equal((uintptr_t)blocks[i] % 16, 0);
    for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(blocks[i][k], 0);
    memset(blocks[i], i & 255, sizes[i]);
  }
  for (int i = 0; i < 2000; i++)
    for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(blocks[i][k], i & 255);
  assert_true(l.env.heap.live_blocks < 20);
  sn_arena_free(&l.arena);
  assert_int_equal(l.env.heap.live_blocks, 0);
  void *again;
  assert_int_equal(sn_arena_alloc(&l.arena, 1, 1, &again), SN_OK); /* usable after free */
  lab_close(&l);
}

static void arena_failures_lose_nothing(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  char *kept;
  assert_int_equal(sn_arena_alloc(&l.arena, 16, 1, (void **)&kept), SN_OK);
  strcpy(kept, "still here");
  void *block = kept;
  l.env.heap.fail_countdown = 0;
  assert_int_equal(sn_arena_alloc(&l.arena, 1 << 20, 1, &block), SN_ERR_MEMORY);
  assert_ptr_equal(block, kept);
  assert_string_equal(kept, "still here");
  assert_int_equal(sn_arena_alloc(&l.arena, 1 << 20, 1, &block), SN_OK);
  const size_t calls = l.ledger.calls;
  assert_int_equal(sn_arena_alloc(&l.arena, SIZE_MAX / 2, 4, &block), SN_ERR_MEMORY);
  assert_int_equal(sn_arena_alloc(&l.arena, SIZE_MAX, 1, &block), SN_ERR_MEMORY);
  assert_int_equal(sn_arena_alloc(&l.arena, SIZE_MAX - 16, 1, &block), SN_ERR_MEMORY);
  assert_int_equal(l.ledger.calls, calls);
  lab_close(&l);
}

static void arena_arrays_and_texts(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  int *items = NULL;
  size_t capacity = 0;
  for (size_t n = 0; n < 100; n++) {
    assert_int_equal(sn_arena_grow(&l.arena, (void **)&items, &capacity, n, sizeof *items), SN_OK);
    items[n] = (int)(3 * n);
  }
  for (int n = 0; n < 100; n++) assert_int_equal(items[n], 3 * n);
  const char *copy;
  char text[] = "a name";
  assert_int_equal(sn_arena_text(&l.arena, text, &copy), SN_OK);
  text[0] = 'X';
  assert_string_equal(copy, "a name");
  lab_close(&l);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Of two that grow by turns, and small blocks between them. */
static void large_arena_arrays_leave_nothing_behind(void **state) {
  enum { ITEMS = 1 << 20 };
  (void)state;
  lab l;
  lab_open(&l, true);
  uint64_t *items[2] = {NULL};
  size_t capacity[2] = {0};
  for (size_t n = 0; n < ITEMS; n++) {
    for (int k = 0; k < 2; k++) {
      assert_int_equal(sn_arena_grow(&l.arena, (void **)&items[k], &capacity[k], n, 8), SN_OK);
      items[k][n] = n + (size_t)k;
    }
    if (n % 4096 == 0) assert_non_null(sn_arena_take(&l.arena, 1, 16));
  }
  for (size_t n = 0; n < ITEMS; n++)
    for (int k = 0; k < 2; k++) assert_int_equal(items[k][n], n + (size_t)k);
  const size_t wanted = 2 * ITEMS * sizeof *items[0];
  assert_true(l.env.heap.live_bytes < wanted + wanted / 4);
  assert_true(l.env.heap.peak_bytes < wanted + wanted / 2);
  lab_close(&l);
}

static void sizes_are_checked(void **state) {
  (void)state;
  size_t s;
  int64_t i;
  assert_false(sn_size_mul_overflows(SIZE_MAX / 3, 3, &s));
  assert_int_equal(s, SIZE_MAX / 3 * 3);
  assert_true(sn_size_mul_overflows(SIZE_MAX / 3 + 1, 3, &s));
  assert_false(sn_size_add_overflows(SIZE_MAX - 1, 1, &s));
  assert_true(sn_size_add_overflows(SIZE_MAX, 1, &s));
  assert_false(sn_int_mul_overflows(INT64_MIN, 1, &i));
  assert_true(sn_int_mul_overflows(INT64_MIN, -1, &i));
  assert_true(sn_int_add_overflows(INT64_MAX, 1, &i));
  assert_true(sn_size_round_up(0, 64, &s) && s == 0);
  assert_true(sn_size_round_up(65, 64, &s) && s == 128);
  assert_true(sn_size_round_up(SIZE_MAX - 63, 64, &s) && s == SIZE_MAX - 63);
  assert_false(sn_size_round_up(SIZE_MAX - 62, 64, &s));
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void texts_grow(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  sn_text text = sn_text_in(&l.arena);
  char *expected = calloc(20000, 1);
  for (int i = 0; i < 2000; i++) {
    sn_text_add(&text, "%d,", i);
    sprintf(expected + strlen(expected), "%d,", i);
  }
  sn_text_add(&text, "%s", "");
  assert_int_equal(text.status, SN_OK);
  assert_string_equal(text.data, expected);
  assert_int_equal(text.used, strlen(expected));
  free(expected);
  lab_close(&l);
}

static void a_text_keeps_its_first_failure(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  sn_text text = sn_text_in(&l.arena);
  l.env.heap.fail_countdown = 0;
  sn_text_add(&text, "no room at all");
  assert_int_equal(text.status, SN_ERR_MEMORY);
  sn_text_add(&text, "room, but too late");
  assert_int_equal(text.status, SN_ERR_MEMORY);
  assert_int_equal(text.used, 0);
  lab_close(&l);
}

/* The same text and length as the C library's, in whatever room. */
#define EXPECT_FORMAT(...)                                                 \
  do {                                                                     \
    char expected[2000], text[2000];                                       \
    const int length = snprintf(expected, sizeof expected, __VA_ARGS__);   \
    assert_int_equal(sn_format(text, sizeof text, __VA_ARGS__), length);   \
    assert_string_equal(text, expected);                                   \
    for (size_t room = 0; room <= 3; room++) {                             \
      memset(text, 'x', sizeof text);                                      \
      assert_int_equal(sn_format(text, room, __VA_ARGS__), length);        \
      if (room) assert_int_equal(text[strnlen(expected, room - 1)], '\0'); \
      if (room) assert_memory_equal(text, expected, strlen(text));         \
      assert_int_equal(text[room], 'x');                                   \
    }                                                                      \
  } while (0)

static void formats_are_those_of_printf(void **state) {
  (void)state;
  EXPECT_FORMAT("plain, 100%%");
  EXPECT_FORMAT("%s|%8s|%-8s|%.2s|%.*s|%*s|", "abc", "abc", "abc", "abc", 1, "abc", 5, "");
  EXPECT_FORMAT("%c%c %-40s|", 'a', 'b', "left");
  EXPECT_FORMAT("%d %d %i %d %5d|%-5d|", 0, -1, INT32_MIN, INT32_MAX, -42, -42);
  EXPECT_FORMAT("%u %u %x %04x %04x", 0u, UINT32_MAX, 0xabcdu, 7u, 0x12345u);
  EXPECT_FORMAT("%lld %lld %llx", LLONG_MIN, LLONG_MAX, 0x123456789abcdefULL);
  EXPECT_FORMAT("%zu %zu", (size_t)0, SIZE_MAX);
}

static void expect_number(double x) {
  EXPECT_FORMAT("%g %.9g %.17g %.0g %.1g %.3g", x, x, x, x, x, x);
  EXPECT_FORMAT("%.0f %.1f %.4f %9.4f %f", x, x, x, x, x);
}

static void numbers_are_those_of_printf(void **state) {
  (void)state;
  static const double values[] = {
      0,       1,       0.5,           1.5,      2.5,       9.5,  0.05,    0.25,     0.75,
      0.96,    0.095,   99.95,         999999.5, 9.9999995, 1e5,  1e6,     123456,   1234567,
      1e-4,    1e-5,    0.00012345678, 1e15,     1e16,      1e17, 1e22,    1e23,     5e-324,
      DBL_MIN, DBL_MAX, 0x1p-13,       0x1p53,   0x1p62,    0.1,  1.0 / 3, INFINITY, NAN};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    expect_number(values[i]);
    expect_number(-values[i]);
  }
  case_random random = {1};
  for (int i = 0; i < 5000; i++) { /* all exponents, then halves, hundredths and floats */
    const uint64_t bits = case_bits(&random);
    double x;
    memcpy(&x, &bits, sizeof x);
    const double whole = (double)(int32_t)(bits >> 40);
    expect_number(i % 4 == 0   ? x
                  : i % 4 == 1 ? whole / 2
                  : i % 4 == 2 ? whole / 100
                               : (double)(float)(whole * 0x1p-30));
  }
}

/* Where the whole part stands, if at all. */
static void parts_are_found(void **state) {
  (void)state;
  const char *text = "aab, aabb";
  assert_ptr_equal(sn_text_find(text, "aab"), text);
  assert_ptr_equal(sn_text_find(text, "aabb"), text + 5);
  assert_ptr_equal(sn_text_find(text, "b"), text + 2);
  assert_null(sn_text_find(text, "aabbb"));
  assert_null(sn_text_find("", "a"));
}

/* ---- errors and log -------------------------------------------------------------------------- */

static sn_status halve(sn_env *env, int x, int *out) {
  SN_FAIL_IF(env, x % 2, SN_ERR_ARGUMENT, "halve", "%d is odd", x);
  *out = x / 2;
  return SN_OK;
}

static sn_status quarter(sn_env *env, int x, int *out) {
  SN_TRY(halve(env, x, out));
  return halve(env, *out, out);
}

static sn_status broken(sn_env *env) {
  SN_CHECK(env, 1 + 1 == 3);
  return SN_OK;
}

static void errors_are_values(void **state) {
  (void)state;
  sn_env env = {0};
  int out = 0;
  assert_int_equal(quarter(&env, 12, &out), SN_OK);
  assert_int_equal(out, 3);
  assert_int_equal(quarter(&env, 6, &out), SN_ERR_ARGUMENT);
  assert_string_equal(env.error.message, "halve: 3 is odd");
  assert_int_equal(env.error.status, SN_ERR_ARGUMENT);
  assert_string_equal(env.error.op, "halve");
  assert_int_equal(env.error.n_shapes, 0);
  assert_int_equal(broken(&env), SN_ERR_INTERNAL);
  assert_non_null(strstr(env.error.message, "internal: "));
  assert_non_null(strstr(env.error.message, "internal: test_base.c:"));
  char longer[1000];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  SN_FAIL(&env, SN_ERR_SHAPE, "long", "%s", longer); /* cut, never beyond its room */
  assert_int_equal(strlen(env.error.message), sizeof env.error.message - 1);
  SN_FAIL(&env, SN_ERR_SHAPE, longer, "%s", longer);
  assert_int_equal(strlen(env.error.op), sizeof env.error.op - 1);
}

/* Shapes beyond the room of an error, or of its text, are not noted or not written; none is lost
 * because of the other. */
static void errors_note_shapes(void **state) {
  (void)state;
  sn_env env = {0};
  const int64_t dims[] = {INT64_MAX, 0, 1, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
  const int line = __LINE__ + 1;
  SN_FAIL(&env, SN_ERR_SHAPE, "f", "%*p, %*p, %*p", 0, dims, 1, dims, 3, dims);
  assert_string_equal(env.error.message,
                      "f: (), (9223372036854775807,), (9223372036854775807, 0, 1)");
  assert_int_equal(env.error.n_shapes, 3);
  for (int i = 0; i < 3; i++) {
    const sn_error_shape *shape = &env.error.shapes[i];
    assert_int_equal(shape->rank, i + (i > 1));
    if (i) assert_memory_equal(shape->dims, dims, (size_t)shape->rank * sizeof *dims);
  }
  assert_string_equal(env.error.file, "test_base.c");
  assert_int_equal(env.error.line, line);
  SN_FAIL(&env, SN_ERR_SHAPE, NULL, "%*p%*p%*p%*p%*p", 8, dims, 8, dims, 8, dims, 8, dims, 1, dims);
  assert_int_equal(strlen(env.error.message), sizeof env.error.message - 1);
  assert_int_equal(env.error.n_shapes, SN_ERROR_SHAPES);
  assert_int_equal(env.error.shapes[3].rank, 8);
  assert_string_equal(env.error.op, "");
  SN_FAIL(&env, SN_ERR_DTYPE, NULL, "no shape"); /* nothing of an earlier error stays */
  assert_int_equal(env.error.n_shapes, 0);
}

static void status_numbers_are_pinned(void **state) {
  (void)state;
  const sn_status all[] = {SN_OK,           SN_ERR_SHAPE,       SN_ERR_DTYPE,  SN_ERR_MEMORY,
                           SN_ERR_ARGUMENT, SN_ERR_UNSUPPORTED, SN_ERR_WORKER, SN_ERR_INTERNAL};
  for (int i = 0; i < 8; i++) assert_int_equal(all[i], i);
  assert_int_equal(SN_F32, 0);
  assert_int_equal(SN_F64, 1);
  assert_int_equal(SN_I32, 2);
  assert_int_equal(SN_BOOL, 3);
}

/* What the library writes to stderr during fn. */
static void capture_stderr(void (*fn)(sn_env *), sn_env *env, char *out, size_t size) {
  FILE *file = tmpfile();
  assert_non_null(file);
  fflush(stderr);
  const int saved = dup(2);
  dup2(fileno(file), 2);
  fn(env);
  fflush(stderr);
  dup2(saved, 2);
  close(saved);
  rewind(file);
  out[fread(out, 1, size - 1, file)] = '\0';
  fclose(file);
}

static int line_of_failure;

static void log_at_all_levels(sn_env *env) {
  SN_LOG(env, SN_LOG_EVENTS, "events %d\n", 1);
  SN_LOG(env, SN_LOG_IR, "ir\n");
  line_of_failure = __LINE__ + 1;
  SN_FAIL(env, SN_ERR_SHAPE, NULL, "a shape");
}

static void the_log_has_levels(void **state) {
  (void)state;
  char text[200], expected[200];
  sn_env env = {0};
  capture_stderr(log_at_all_levels, &env, text, sizeof text);
  assert_string_equal(text, "");
  env.debug = SN_LOG_EVENTS;
  capture_stderr(log_at_all_levels, &env, text, sizeof text);
  snprintf(expected, sizeof expected, "events 1\nerror 1: a shape (test_base.c:%d)\n",
           line_of_failure);
  assert_string_equal(text, expected);
  env.debug = SN_LOG_REWRITES;
  capture_stderr(log_at_all_levels, &env, text, sizeof text);
  snprintf(expected, sizeof expected, "events 1\nir\nerror 1: a shape (test_base.c:%d)\n",
           line_of_failure);
  assert_string_equal(text, expected);
}

static void the_environment_sets_the_level(void **state) {
  (void)state;
  const char *const before = getenv("SINTER_DEBUG");
  char *kept = before ? strdup(before) : NULL;
  const char *const bad[] = {"", "7", "-1", "11", "x"};
  for (int i = 0; i < 5; i++) {
    setenv("SINTER_DEBUG", bad[i], 1);
    assert_int_equal(sn_log_level_from_environment(), 0);
  }
  setenv("SINTER_DEBUG", "4", 1);
  assert_int_equal(sn_log_level_from_environment(), 4);
  unsetenv("SINTER_DEBUG");
  assert_int_equal(sn_log_level_from_environment(), 0);
  if (kept) setenv("SINTER_DEBUG", kept, 1);
  free(kept);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(heap_counts),
      cmocka_unit_test(zero_bytes_are_a_block_of_their_own),
      cmocka_unit_test(small_blocks_are_kept_for_the_next_of_their_size),
      cmocka_unit_test(few_bytes_are_kept_and_large_blocks_go),
      cmocka_unit_test(the_limit_holds),
      cmocka_unit_test(failures_come_when_ordered),
      cmocka_unit_test(arrays_grow_and_keep_their_contents),
      cmocka_unit_test(arena_blocks_are_aligned_zeroed_and_stay),
      cmocka_unit_test(arena_failures_lose_nothing),
      cmocka_unit_test(arena_arrays_and_texts),
      cmocka_unit_test(large_arena_arrays_leave_nothing_behind),
      cmocka_unit_test(sizes_are_checked),
      cmocka_unit_test(texts_grow),
      cmocka_unit_test(a_text_keeps_its_first_failure),
      cmocka_unit_test(formats_are_those_of_printf),
      cmocka_unit_test(numbers_are_those_of_printf),
      cmocka_unit_test(parts_are_found),
      cmocka_unit_test(errors_are_values),
      cmocka_unit_test(errors_note_shapes),
      cmocka_unit_test(status_numbers_are_pinned),
      cmocka_unit_test(the_log_has_levels),
      cmocka_unit_test(the_environment_sets_the_level),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
