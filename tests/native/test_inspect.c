/* test_inspect.c - what a recorded program tells about itself, and options of single programs. */
#include "api_support.h"

static sn_program *compile_recorded(sn_tensor *x, sn_tensor *y, sn_program_options options) {
  sn_program *program;
  options.record = true;
  assert_int_equal(sn_compile_with(f.ctx, &x, 1, &y, 1, &options, &program), SN_OK);
  return program;
}

static uint32_t pass_bit(const char *name) {
  for (int i = 0; i < sn_pass_count(); i++)
    if (!strcmp(sn_pass_name(i), name)) return 1u << i;
  fail_msg("no pass %s", name);
  return 0;
}

static void expect_in(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("%s\nis not in\n%s", part, text);
}

static void records_tell_the_stages(void **state) {
  (void)state;
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(3, 4)), *y = sn_sum(sn_exp(p), 1, false);
  sn_program *program = compile_recorded(p, y, (sn_program_options){0});
  const char *json = sn_program_inspection(program);
  expect_in(json, "{\"stages\":[{\"name\":\"trace\",\"compileMs\":");
  expect_in(json, "\"text\":\"%0 = input float32(3, 4) {0}\\n%1 = exp float32(3, 4) %0\\n");
  expect_in(json, "{\"id\":1,\"op\":\"exp\",\"dtype\":\"float32\",\"shape\":[3,4],\"attrs\":\"\","
                  "\"group\":null}");
  expect_in(json, "{\"id\":1,\"op\":\"exp\",\"dtype\":\"float32\",\"shape\":[3,4],\"attrs\":\"\","
                  "\"group\":0}");
  expect_in(json, "{\"from\":0,\"to\":1,\"reason\":\"an argument\"},"
                  "{\"from\":1,\"to\":2,\"reason\":\"fused\"}");
  expect_in(json, "\"kernels\":[{\"id\":0,\"kind\":\"reduce\",\"name\":\"exp+sum\"");
  expect_in(json, "\"reads\":[0],\"writes\":[1]");
  expect_in(json, "\"memory\":{\"arenaBytes\":0,");
  expect_in(sn_program_text(program, "groups"), "k0 reduce exp+sum");
  sn_program_release(program);
}

/* A softmax of a scan's stack, with what was captured: whole, with attributes by name and numbers exact. */
static void the_graph_is_told_before_it_is_lowered(void **state) {
  (void)state;
  sn_tensor *p = sn_placeholder(f.ctx, SN_F64, DIMS(3, 4)), *held = ramp(f.ctx, DIMS(4), 1);
  sn_tensor *held64 = sn_astype(held, SN_F64);
  sn_tensor *y = sn_softmax(sn_mul(sn_add(p, held64), sn_scalar(f.ctx, 0.1)), -1);
  sn_program *program = compile_recorded(p, y, (sn_program_options){0}), *plain;
  const char *json;
  assert_int_equal(sn_program_graph(program, &json), SN_OK);
  expect_in(json, "{\"nodes\":[{\"op\":\"input\",\"dtype\":\"float64\",\"shape\":[3,4],"
                  "\"attrs\":{\"number\":0},\"inputs\":[]}");
  expect_in(json, "\"attrs\":{\"value\":0.1");
  expect_in(json,
            "{\"op\":\"softmax\",\"dtype\":\"float64\",\"shape\":[3,4],\"attrs\":{\"axis\":1}");
  expect_in(json, "\"regions\":[]}");
  assert_ptr_equal(sn_program_captured(program, 0), held);
  assert_null(sn_program_captured(program, 1));
  assert_int_equal(sn_compile(f.ctx, &p, 1, &y, 1, NULL, &plain), SN_OK);
  assert_int_equal(sn_program_graph(plain, &json), SN_ERR_ARGUMENT);
  sn_error_clear(f.ctx);
  sn_program_release(plain);
  sn_program_release(program);
}

static void only_recorded_programs_are_recorded(void **state) {
  (void)state;
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(3)), *y = sn_sqrt(p);
  sn_program *plain, *recorded = compile_recorded(p, y, (sn_program_options){0});
  assert_int_equal(sn_compile(f.ctx, &p, 1, &y, 1, NULL, &plain), SN_OK);
  assert_non_null(sn_program_inspection(recorded));
  assert_null(sn_program_inspection(plain)); /* not that of the equal graph from the cache */
  assert_null(sn_program_text(plain, "trace"));
  sn_program_release(plain);
  sn_program_release(recorded);
}

static void switches_hold_for_one_program(void **state) {
  (void)state;
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(3)), *y = sn_add(sn_exp(p), sn_exp(p));
  sn_program *all = compile_recorded(p, y, (sn_program_options){0});
  sn_program *apart = compile_recorded(
      p, y, (sn_program_options){.passes_off = pass_bit("fuse") | pass_bit("cse")});
  sn_program_info with, without;
  sn_program_describe(all, &with);
  sn_program_describe(apart, &without);
  assert_int_equal(with.kernels, 1);
  assert_true(without.kernels > 1);
  assert_null(sn_program_text(apart, "cse"));
  expect_in(sn_program_inspection(apart), "fusion is off");
  assert_int_equal(sn_pass_enable(f.ctx, "fuse", false), SN_OK);
  sn_program *on = compile_recorded(p, y, (sn_program_options){.passes_on = pass_bit("fuse")});
  assert_int_equal(sn_pass_enable(f.ctx, "fuse", true), SN_OK);
  sn_program_describe(on, &with);
  assert_int_equal(with.kernels, 1);
  sn_program_release(all);
  sn_program_release(apart);
  sn_program_release(on);
}

static void code_is_listed_on_demand(void **state) {
  (void)state;
  sn_tensor *p = sn_placeholder(f.ctx, SN_F32, DIMS(100)), *y = sn_relu(sn_add(p, p));
  sn_program *program = compile_recorded(p, y, (sn_program_options){0});
  const char *text;
  assert_int_equal(sn_program_wat(program, 0, &text), SN_OK);
  expect_in(text, "EXPORT void k0_0_strip(");
  expect_in(text, "apply_add_f32(");
  assert_int_equal(sn_program_wat(program, 1, &text), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "wat: there is no kernel 1 of 1");
  assert_int_equal(sn_program_c_source(program, "twice", &text), SN_OK);
  expect_in(text, "void twice(const float *a0, float *out0) {");
  expect_in(text, "float v1 = v0 + v0;");
  static const char *const wrong[] = {"", "2x", "a b", "f(void);", "\xc3\xa9", "int", "main"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(sn_program_c_source(program, wrong[i], &text), SN_ERR_ARGUMENT);
    sn_error_clear(f.ctx);
  }
  assert_int_equal(sn_program_c_source(program, "int_", &text), SN_OK);
  sn_program_release(program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(records_tell_the_stages),
      TEST(the_graph_is_told_before_it_is_lowered),
      TEST(only_recorded_programs_are_recorded),
      TEST(switches_hold_for_one_program),
      TEST(code_is_listed_on_demand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
