/* test_emit.c - the assembler for WebAssembly: golden bytes, edge cases of LEB128, text, and misuse, which its check reports;
 * and lane operations that are replaced by others. tests/jit tests that engines accept what it writes. */
#include "graph_support.h"

#include "jit/emit.h"
#include "jit/vector.h"

static void begin(lab *l, sn_wasm *w) {
  lab_open(l, true);
  sn_wasm_begin(w, &l->arena, false);
  w->check = sn_wasm_check;
}

static void expect_module(lab *l, sn_wasm *w, const uint8_t *bytes, size_t n) {
  const uint8_t *got;
  size_t n_got;
  assert_int_equal(sn_wasm_finish(w, &got, &n_got), SN_OK);
  assert_int_equal(n_got, n);
  assert_memory_equal(got, bytes, n);
  lab_close(l);
}

/* y[i] = x[i] + x[i] for one vector */
static void a_module_is_these_bytes(void **state) {
  (void)state;
  lab l;
  sn_wasm w;
  begin(&l, &w);
  sn_wasm_function(&w, 2);
  const uint32_t v = sn_wasm_local(&w, SN_WASM_TYPE_V128);
  sn_emit_get(&w, 1);
  sn_emit_get(&w, 0);
  sn_emit_memory(&w, SN_WASM_v128_load, 16);
  sn_emit_index(&w, SN_WASM_local_tee, v);
  sn_emit_get(&w, v);
  sn_emit(&w, SN_WASM_f32x4_add);
  sn_emit_memory(&w, SN_WASM_v128_store, 0);
  assert_int_equal(sn_wasm_function_end(&w), 0);
  uint8_t expected[512];
  size_t n = 0;
#define PUT(...)                             \
  do {                                       \
    const uint8_t put_[] = {__VA_ARGS__};    \
    memcpy(expected + n, put_, sizeof put_); \
    n += sizeof put_;                        \
  } while (0)
  PUT(0, 'a', 's', 'm', 1, 0, 0, 0);
  PUT(1, 118, SN_WASM_MAX_PARAMS + 1);
  for (uint8_t i = 0; i <= SN_WASM_MAX_PARAMS; i++) {
    PUT(0x60, i);
    for (uint8_t k = 0; k < i; k++) PUT(0x7f);
    PUT(0);
  }
  PUT(2, 15, 1, 3, 'e', 'n', 'v', 6, 'm', 'e', 'm', 'o', 'r', 'y', 2, 0, 0);
  PUT(3, 2, 1, 2);
  PUT(7, 5, 1, 1, '0', 0, 0);
  PUT(10, 25, 1, 23, 1, 1, 0x7b);
  PUT(0x20, 1, 0x20, 0, 0xfd, 0x00, 2, 16, 0x22, 2, 0x20, 2, 0xfd, 0xe4, 0x01, 0xfd, 0x0b, 2, 0);
  PUT(0x0b);
#undef PUT
  expect_module(&l, &w, expected, n);
}

static void constants_take_as_many_bytes_as_they_need(void **state) {
  (void)state;
  static const struct {
    int32_t value;
    uint8_t bytes[5];
    size_t n;
  } cases[] = {
      {0, {0}, 1},
      {63, {0x3f}, 1},
      {64, {0xc0, 0}, 2},
      {-1, {0x7f}, 1},
      {-64, {0x40}, 1},
      {-65, {0xbf, 0x7f}, 2},
      {8191, {0xff, 0x3f}, 2},
      {8192, {0x80, 0xc0, 0}, 3},
      {INT32_MAX, {0xff, 0xff, 0xff, 0xff, 0x07}, 5},
      {INT32_MIN, {0x80, 0x80, 0x80, 0x80, 0x78}, 5},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lab l;
    sn_wasm w;
    begin(&l, &w);
    sn_wasm_function(&w, 0);
    sn_emit_i32(&w, cases[i].value);
    assert_int_equal(w.body.used, 1 + cases[i].n);
    assert_int_equal(w.body.data[0], 0x41);
    assert_memory_equal(w.body.data + 1, cases[i].bytes, cases[i].n);
    lab_close(&l);
  }
}

static void offsets_are_unsigned(void **state) {
  (void)state;
  lab l;
  sn_wasm w;
  begin(&l, &w);
  sn_wasm_function(&w, 1);
  sn_emit_get(&w, 0);
  sn_emit_memory(&w, SN_WASM_f32_load, UINT32_MAX);
  const uint8_t expected[] = {0x20, 0, 0x2a, 2, 0xff, 0xff, 0xff, 0xff, 0x0f};
  assert_int_equal(w.body.used, sizeof expected);
  assert_memory_equal(w.body.data, expected, sizeof expected);
  lab_close(&l);
}

static void locals_of_one_type_are_one_run(void **state) {
  (void)state;
  lab l;
  sn_wasm w;
  begin(&l, &w);
  sn_wasm_function(&w, 1);
  for (int i = 0; i < 200; i++) sn_wasm_local(&w, SN_WASM_TYPE_V128);
  assert_int_equal(sn_wasm_local(&w, SN_WASM_TYPE_I32), 201);
  sn_wasm_function_end(&w);
  const uint8_t expected[] = {7, 2, 0xc8, 0x01, 0x7b, 1, 0x7f, 0x0b};
  assert_int_equal(w.code.used, sizeof expected);
  assert_memory_equal(w.code.data, expected, sizeof expected);
  lab_close(&l);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

typedef void misuse_fn(sn_wasm *w);

static void expect_misuse(misuse_fn *emit, const char *message) {
  lab l;
  sn_wasm w;
  begin(&l, &w);
  sn_wasm_function(&w, 1);
  emit(&w);
  sn_wasm_function_end(&w);
  const uint8_t *bytes;
  size_t n;
  assert_int_equal(sn_wasm_finish(&w, &bytes, &n), SN_ERR_INTERNAL);
  assert_string_equal(l.env.error.message, message);
  lab_close(&l);
}

static void of_another_type(sn_wasm *w) {
  sn_emit_get(w, 0);
  sn_emit_get(w, 0);
  sn_emit(w, SN_WASM_f32x4_add);
}
static void too_few(sn_wasm *w) {
  sn_emit_get(w, 0);
  sn_emit(w, SN_WASM_i32_add);
}
static void from_outside_the_block(sn_wasm *w) {
  sn_emit_get(w, 0);
  sn_emit_block(w, SN_WASM_block);
  sn_emit(w, SN_WASM_i32_eqz);
}
static void left_behind(sn_wasm *w) { sn_emit_get(w, 0); }
static void no_local(sn_wasm *w) { sn_emit_get(w, 1); }
static void no_label(sn_wasm *w) { sn_emit_index(w, SN_WASM_br, 1); }
static void no_function(sn_wasm *w) { sn_emit_index(w, SN_WASM_call, 0); }
static void block_left_open(sn_wasm *w) { sn_emit_block(w, SN_WASM_block); }
static void wrong_local(sn_wasm *w) {
  sn_wasm_local(w, SN_WASM_TYPE_V128);
  sn_emit_get(w, 0);
  sn_emit_set(w, 1);
}

static void misuse_is_an_error(void **state) {
  (void)state;
  expect_misuse(of_another_type, "internal: wasm f32x4.add: operand of another type");
  expect_misuse(too_few, "internal: wasm i32.add: too few operands");
  expect_misuse(from_outside_the_block, "internal: wasm i32.eqz: too few operands");
  expect_misuse(left_behind, "internal: wasm end: operands left behind");
  expect_misuse(no_local, "internal: wasm local.get: no such local");
  expect_misuse(no_label, "internal: wasm br: no such label");
  expect_misuse(no_function, "internal: wasm call: no such function yet");
  expect_misuse(block_left_open, "internal: wasm end: blocks left open");
  expect_misuse(wrong_local, "internal: wasm local.set: operand of another type");
}

static void behind_a_branch_anything_goes(void **state) {
  (void)state;
  lab l;
  sn_wasm w;
  begin(&l, &w);
  sn_wasm_function(&w, 0);
  sn_emit_block(&w, SN_WASM_block);
  sn_emit_index(&w, SN_WASM_br, 0);
  sn_emit(&w, SN_WASM_f32x4_add);
  sn_emit(&w, SN_WASM_end);
  sn_wasm_function_end(&w);
  const uint8_t *bytes;
  size_t n;
  assert_int_equal(sn_wasm_finish(&w, &bytes, &n), SN_OK);
  lab_close(&l);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void text_shows_blocks_and_immediates(void **state) {
  (void)state;
  lab l;
  sn_wasm w;
  begin(&l, &w);
  sn_wasm_function(&w, 1);
  const uint32_t v = sn_wasm_local(&w, SN_WASM_TYPE_V128);
  sn_emit_get(&w, 0);
  sn_emit_block(&w, SN_WASM_if);
  sn_emit_16(&w, SN_WASM_v128_const, (uint32_t[]){1, 0x80000000, 3, 4});
  sn_emit_set(&w, v);
  sn_emit_get(&w, 0);
  sn_emit_get(&w, v);
  sn_emit_lane_memory(&w, SN_WASM_v128_store32_lane, 8, 3);
  sn_emit(&w, SN_WASM_end);
  sn_emit_i32(&w, -7);
  sn_emit_set(&w, 0);
  sn_wasm_function_end(&w);
  const uint8_t *bytes;
  size_t n;
  const char *text;
  assert_int_equal(sn_wasm_finish(&w, &bytes, &n), SN_OK);
  assert_int_equal(sn_wasm_function_text(&l.arena, bytes, n, 0, &text), SN_OK);
  assert_string_equal(text, "  (func (export \"0\") (type 1) (param i32)\n"
                            "    (local v128)\n"
                            "    local.get 0\n"
                            "    if\n"
                            "      v128.const i32x4 0x1 0x80000000 0x3 0x4\n"
                            "      local.set 1\n"
                            "      local.get 0\n"
                            "      local.get 1\n"
                            "      v128.store32_lane offset=8 align=4 3\n"
                            "    end\n"
                            "    i32.const -7\n"
                            "    local.set 0\n"
                            "  )\n");
  lab_close(&l);
}

/* What bodies of bitwise operations are made of: an inversion, and an and with an inverted side, are one operation. */
static void inverted_bits_are_no_operation_of_their_own(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  sn_vecs v;
  sn_vecs_init(&v, &l.arena, (sn_vec_target){0});
  const sn_vec a = sn_vec_input(&v, 2, 0), b = sn_vec_input(&v, 2, 1);
  const sn_vec ones = sn_vec_const32(&v, UINT32_MAX), not_a = sn_vec_xor(&v, a, ones);
  const sn_vec left = sn_vec_and(&v, not_a, b), right = sn_vec_and(&v, b, not_a);
  const sn_vec plain = sn_vec_xor(&v, a, b);
  assert_int_equal(v.status, SN_OK);
  assert_int_equal(v.nodes[not_a].code, SN_WASM_v128_not);
  assert_int_equal(sn_vec_xor(&v, not_a, ones), a);
  assert_int_equal(left, right);
  assert_int_equal(v.nodes[left].code, SN_WASM_v128_andnot);
  assert_int_equal(v.nodes[left].args[0], b);
  assert_int_equal(v.nodes[left].args[1], a);
  assert_int_equal(v.nodes[plain].code, SN_WASM_v128_xor);
  assert_int_equal(v.nodes[sn_vec_and(&v, a, b)].code, SN_WASM_v128_and);
  lab_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_module_is_these_bytes),
      cmocka_unit_test(constants_take_as_many_bytes_as_they_need),
      cmocka_unit_test(offsets_are_unsigned),
      cmocka_unit_test(locals_of_one_type_are_one_run),
      cmocka_unit_test(misuse_is_an_error),
      cmocka_unit_test(behind_a_branch_anything_goes),
      cmocka_unit_test(text_shows_blocks_and_immediates),
      cmocka_unit_test(inverted_bits_are_no_operation_of_their_own),
  };
  return cmocka_run_group_tests_name("emit", tests, NULL, NULL);
}
