/* test_cc_loops.c - loops over tiny tensors, each compiled as one function by the machine's compiler: they have the bits of
 * the kernels that they replace; every instruction of which they may consist; and when they are used. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cc/compiler.h"
#include "cc/loop_text.h"
#include "graph_support.h"
#include "jit/emit.h"
#include "nested.h"
#include "op_cases.h"
#include "tensor/tensor.h"

extern const char sn_cc_loop_prelude[];

/* ---- programs, interpreted and by their code ------------------------------------------------- */

typedef struct engines {
  sn_context *vm, *code;
} engines;

static engines e;

/* No cache: what is compiled is of this run. */
static int begin_with(bool deterministic) {
  const sn_options options = {.threads = 2, .deterministic = deterministic};
  setenv("SINTER_CC", "off", 1);
  e.vm = case_context_with(options, sn_isa_detect());
  setenv("SINTER_CC", TEST_CC, 1);
  setenv("SINTER_CC_WAIT", "1", 1);
  setenv("SINTER_CC_CACHE", "/dev/null/cache", 1);
  e.code = case_context_with(options, sn_isa_detect());
  return 0;
}

static int begin(void **state) {
  (void)state;
  return begin_with(false);
}

static int end(void **state) {
  (void)state;
  case_context_end(e.vm);
  case_context_end(e.code);
  return 0;
}

static bool has_function(sn_program *program) {
  sn_program_info info;
  const char *text;
  sn_program_describe(program, &info);
  for (size_t k = 0; k < info.kernels; k++)
    if (sn_program_wat(program, k, &text) == SN_OK && strstr(text, "EXPORT void loop("))
      return true;
  return false;
}

enum { MOST = 64, LENGTH = 67 };

/* A scan over `n_in` stacks of scalars, with results of body(slices, carry); at last the carry, a sum of rounds. */
typedef size_t body_fn(void *user, sn_context *ctx, sn_tensor *const *slices, sn_tensor **results);

typedef struct stacks {
  sn_dtype dtype[3];
  void *data[3];
  size_t n;
} stacks;

/* Compiles and runs it on one engine. Returns the number of results. */
static size_t run_scan(sn_context *ctx, const stacks *in, bool reverse, body_fn *body, void *user,
                       sn_tensor **got) {
  const int64_t length = LENGTH;
  sn_tensor *given[4], *values[4], *inner[4], *made[MOST], *out[MOST];
  const float zero = 0;
  given[0] = sn_placeholder(ctx, SN_F32, 0, NULL);
  values[0] = sn_from_data(ctx, SN_F32, 0, NULL, &zero);
  inner[0] = sn_placeholder(ctx, SN_F32, 0, NULL);
  for (size_t k = 0; k < in->n; k++) {
    given[k + 1] = sn_placeholder(ctx, in->dtype[k], 1, &length);
    inner[k + 1] = sn_placeholder(ctx, in->dtype[k], 0, NULL);
    values[k + 1] = sn_from_data(ctx, in->dtype[k], 1, &length, in->data[k]);
  }
  made[0] = sn_add(inner[0], sn_full(ctx, SN_F32, 0, NULL, 1));
  const size_t n = 1 + body(user, ctx, inner + 1, made + 1);
  assert_true(n <= MOST);
  const sn_traced traced = {inner, in->n + 1, made, n};
  sn_program *program;
  assert_int_equal(sn_scan(ctx, &traced, 1, given, LENGTH, reverse, out), SN_OK);
  assert_int_equal(sn_compile(ctx, given, in->n + 1, out, n, NULL, &program), SN_OK);
  assert_int_equal(has_function(program), ctx == e.code);
  assert_int_equal(sn_program_run(program, values, got), SN_OK);
  sn_program_release(program);
  return n;
}

static void same_on_both(const stacks *in, bool reverse, body_fn *body, void *user) {
  sn_tensor *got[2][MOST];
  sn_scope_begin(e.vm);
  sn_scope_begin(e.code);
  const size_t n = run_scan(e.vm, in, reverse, body, user, got[0]);
  assert_int_equal(run_scan(e.code, in, reverse, body, user, got[1]), n);
  for (size_t i = 0; i < n; i++) {
    const sn_dtype dtype = sn_dtype_of(got[0][i]);
    int64_t where;
    if (!case_same(dtype, sn_data(got[0][i]), sn_data(got[1][i]), sn_size(got[0][i]), &where))
      fail_msg("%s, result %zu, round %lld", sn_dtype_name(dtype), i, (long long)where);
  }
  if (!strstr(sn_code_state(e.code), " 0 failed")) fail_msg("%s", sn_code_state(e.code));
  sn_scope_end(e.vm);
  sn_scope_end(e.code);
}

/* ---- every op ---------------------------------------------------------------------------------- */

typedef struct some_ops {
  sn_op of[MOST];
  size_t n;
} some_ops;

static size_t apply_ops(void *user, sn_context *ctx, sn_tensor *const *slices,
                        sn_tensor **results) {
  const some_ops *ops = user;
  (void)ctx;
  for (size_t i = 0; i < ops->n; i++)
    results[i] = case_apply(ops->of[i], slices, sn_op_describe(ops->of[i])->arity);
  return ops->n;
}

/* Every elementwise op of a dtype on special values, a few in a loop. */
static void ops_of(sn_dtype dtype) {
  enum { AT_ONCE = 24 };
  double data[3][LENGTH];
  case_random r = {.state = 31};
  stacks in = {.n = 3};
  some_ops ops = {.n = 0};
  for (int k = 0; k < 3; k++) {
    in.dtype[k] = dtype;
    in.data[k] = data[k];
    case_fill(&r, SN_OP_add, k, dtype, CASE_MIXED, LENGTH, data[k]);
  }
  for (int op = 0; op < SN_OP_COUNT; op++) {
    const sn_op_info *info = sn_op_describe((sn_op)op);
    if ((info->kind != SN_CLASS_MAP && info->kind != SN_CLASS_COMPARE) ||
        !case_takes((sn_op)op, dtype))
      continue;
    ops.of[ops.n++] = (sn_op)op;
    if (ops.n < AT_ONCE) continue;
    same_on_both(&in, op % 2, apply_ops, &ops);
    ops.n = 0;
  }
  if (ops.n) same_on_both(&in, false, apply_ops, &ops);
}

static void every_op_has_the_bits_of_the_vm(void **state) {
  (void)state;
  for (int dtype = 0; dtype < 4; dtype++) ops_of((sn_dtype)dtype);
}

static int begin_deterministic(void **state) {
  (void)state;
  return begin_with(true);
}

static size_t convert_to_all(void *user, sn_context *ctx, sn_tensor *const *slices,
                             sn_tensor **results) {
  size_t n = 0;
  (void)user;
  (void)ctx;
  for (int dtype = 0; dtype < SN_DTYPES; dtype++)
    results[n++] = sn_astype(slices[0], (sn_dtype)dtype);
  return n;
}

static void every_dtype_is_read_and_written(void **state) {
  (void)state;
  for (int dtype = 0; dtype < SN_DTYPES; dtype++) {
    double data[LENGTH];
    case_random r = {.state = 37};
    const stacks in = {.dtype = {(sn_dtype)dtype}, .data = {data}, .n = 1};
    case_fill(&r, SN_OP_add, 0, (sn_dtype)dtype, CASE_MIXED, LENGTH, data);
    same_on_both(&in, dtype % 2, convert_to_all, NULL);
  }
}

/* ---- control flow in control flow ---------------------------------------------------------------- */

/* Against the same written out and judged op by op (nested.h). */
static void loops_in_loops_are_what_they_are_written_out(void **state) {
  (void)state;
  static char text[NESTED_TEXT];
  for (uint64_t seed = 1; seed <= (case_short() ? 2 : 7); seed++) {
    const nested program = nested_of(seed);
    if (!nested_try(&program, e.code, text)) fail_msg("seed %d: %s", (int)seed, text);
  }
  assert_non_null(strstr(sn_code_state(e.code), " 0 failed"));
}

/* ---- when it is used ------------------------------------------------------------------------------ */

/* A loop runs kernel by kernel until it has run a few times; then its code is made, and a call has the same result. */
static void a_loop_waits_for_nothing(void **state) {
  (void)state;
  enum { RUNS = 8 };
  unsetenv("SINTER_CC_WAIT");
  sn_context *ctx = case_context(1, sn_isa_detect());
  const float start = 0.7f;
  sn_tensor *x = sn_placeholder(ctx, SN_F32, 0, NULL), *c = sn_placeholder(ctx, SN_F32, 0, NULL);
  sn_tensor *one = sn_full(ctx, SN_F32, 0, NULL, 1), *rate = sn_full(ctx, SN_F32, 0, NULL, 3.7);
  sn_tensor *less = sn_sub(one, c), *scaled = sn_mul(rate, c), *next = sn_mul(scaled, less), *out;
  const sn_traced body = {&c, 1, &next, 1};
  sn_tensor *value = sn_from_data(ctx, SN_F32, 0, NULL, &start);
  sn_program *program;
  assert_int_equal(sn_scan(ctx, &body, 1, &x, 1000, false, &out), SN_OK);
  assert_int_equal(sn_compile(ctx, &x, 1, &out, 1, NULL, &program), SN_OK);
  float expected = start;
  for (int i = 0; i < 1000; i++) expected = 3.7f * expected * (1 - expected);
  for (int run = 0; run < RUNS; run++) {
    sn_tensor *y;
    assert_int_equal(sn_program_run(program, &value, &y), SN_OK);
    assert_true(*(const float *)sn_data(y) == expected);
    sn_release(y);
    if (run == RUNS / 2) sn_code_wait(ctx);
  }
  assert_non_null(strstr(sn_code_state(ctx), " 0 failed, 0 to come"));
  sn_program_release(program);
  sn_tensor *all[] = {x, c, one, rate, less, scaled, next, out, value};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) sn_release(all[i]);
  case_context_end(ctx);
}

/* ---- every instruction ------------------------------------------------------------------------------ */

static const struct {
  const char *pops, *pushes;
} types[SN_WASM_OP_COUNT] = {
#define W(id, text, prefix, code, immediate, align, pops, pushes) [SN_WASM_##id] = {pops, pushes},
#include "jit/wasm_ops.def"
};

static void emit_any(sn_wasm *w, sn_wasm_op op) {
  static const uint8_t lanes[16] = {0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31};
  switch ((int)sn_wasm_rows[op].immediate) {
  case SN_WASM_NONE: sn_emit(w, op); break;
  case SN_WASM_LANE: sn_emit_index(w, op, 1); break;
  case SN_WASM_SHUFFLE: sn_emit_16(w, op, lanes); break;
  case SN_WASM_MEMORY: sn_emit_memory(w, op, 8); break;
  case SN_WASM_LANE_MEMORY: sn_emit_lane_memory(w, op, 8, 1); break;
  default: fail_msg("%s", sn_wasm_op_text(op));
  }
}

/* What only products of bytes and of quantised blocks have, and no loop. */
static bool is_of_bytes(int op) {
  switch (op) {
  case SN_WASM_i32x4_dot_i16x8_s:
  case SN_WASM_i32x4_relaxed_dot_add:
  case SN_WASM_i16x8_relaxed_dot:
  case SN_WASM_i16x8_add:
  case SN_WASM_i8x16_eq:
  case SN_WASM_i8x16_swizzle:
  case SN_WASM_i16x8_shl:
  case SN_WASM_i16x8_shr_s: return true;
  default: return false;
  }
}

/* One after the other on two locals; blocks, branches and locals stand in what is emitted otherwise. */
static void emit_all(sn_wasm *w) {
  const uint32_t number = sn_wasm_local(w, SN_WASM_TYPE_I32);
  const uint32_t vector = sn_wasm_local(w, SN_WASM_TYPE_V128);
  for (int op = 0; op < SN_WASM_OP_COUNT; op++) {
    const int kind = sn_wasm_rows[op].immediate;
    const char *pops = types[op].pops, *pushes = types[op].pushes;
    if (kind == SN_WASM_LOCAL || kind == SN_WASM_BLOCK || kind == SN_WASM_LABEL ||
        kind == SN_WASM_CALL || kind == SN_WASM_I32 || kind == SN_WASM_V128)
      continue;
    if (op == SN_WASM_end || op == SN_WASM_else || op == SN_WASM_return || is_of_bytes(op))
      continue;
    if (strpbrk(pops, "fd") || strpbrk(pushes, "fd")) continue;
    for (const char *type = pops; *type; type++) sn_emit_get(w, *type == 'i' ? number : vector);
    emit_any(w, (sn_wasm_op)op);
    if (*pushes) sn_emit_set(w, *pushes == 'i' ? number : vector);
  }
}

static void write_file(const char *path, const char *const *parts, size_t n) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (size_t i = 0; i < n; i++) fputs(parts[i], file);
  fclose(file);
}

static sn_status print_all(lab *l, void *made) {
  sn_wasm w;
  const uint8_t *bytes;
  size_t n;
  sn_wasm_begin(&w, &l->arena, false);
  sn_wasm_function(&w, 2);
  emit_all(&w);
  sn_wasm_function_end(&w);
  SN_TRY(sn_wasm_finish(&w, &bytes, &n));
  sn_text text = sn_text_in(&l->arena);
  SN_TRY(sn_cc_print_loop(&text, bytes, n));
  *(const char **)made = text.data;
  return SN_OK;
}

static void write_nothing(lab *l, void *made) {
  (void)l;
  (void)made;
}

static void printing_reports_a_lack_of_memory(void **state) {
  (void)state;
  const char *text;
  fail_each_allocation(write_nothing, print_all, &text);
}

/* A word that is missing would be missed by a compiler, far from here: so all of them are compiled. */
static void every_instruction_has_a_word(void **state) {
  (void)state;
  char dir[] = "/tmp/sinter-test-loops-XXXXXX", source[64], object[64], log[64];
  char reason[SN_CC_REASON] = "";
  atomic_bool stop = false;
  sn_cc_compiler c = {.isa = sn_isa_detect(), .seconds = 60, .stop = &stop};
  lab l;
  const char *text;
  lab_open(&l, false);
  assert_int_equal(print_all(&l, &text), SN_OK);
  assert_non_null(mkdtemp(dir));
  snprintf(source, sizeof source, "%s/loop.c", dir);
  snprintf(object, sizeof object, "%s/loop.so", dir);
  snprintf(log, sizeof log, "%s/log", dir);
  const char *parts[] = {"#define SN_SIMD_BYTES 16\n", sn_cc_loop_prelude, text};
  write_file(source, parts, 3);
  assert_true(sn_cc_find_compiler(&c, TEST_CC, reason));
  if (!sn_cc_compile(&c, source, object, log, reason)) fail_msg("%s", reason);
  void *library = dlopen(object, RTLD_NOW);
  assert_non_null(library);
  assert_non_null(dlsym(library, SN_CC_LOOP));
  dlclose(library);
  unlink(source), unlink(object), unlink(log), rmdir(dir);
  lab_close(&l);
}

/* What is not a loop's is refused, not printed. */
static void what_loops_do_not_have_is_refused(void **state) {
  (void)state;
  lab l;
  lab_open(&l, false);
  for (int kind = 0; kind < 3; kind++) {
    sn_wasm w;
    const uint8_t *bytes;
    size_t n;
    sn_wasm_begin(&w, &l.arena, false);
    sn_wasm_function(&w, kind == 0 ? 3 : 2);
    if (kind == 1) sn_emit(&w, SN_WASM_return);
    if (kind == 2) {
      sn_emit_get(&w, 0);
      sn_emit_memory(&w, SN_WASM_f32_load, 0);
      sn_emit(&w, SN_WASM_f32x4_splat);
      sn_emit_set(&w, sn_wasm_local(&w, SN_WASM_TYPE_V128));
    }
    sn_wasm_function_end(&w);
    assert_int_equal(sn_wasm_finish(&w, &bytes, &n), SN_OK);
    sn_text text = sn_text_in(&l.arena);
    assert_int_equal(sn_cc_print_loop(&text, bytes, n), SN_ERR_INTERNAL);
    assert_int_equal(sn_cc_print_loop(&text, bytes, n / 2), SN_ERR_INTERNAL);
  }
  lab_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_op_has_the_bits_of_the_vm, begin, end),
      cmocka_unit_test_setup_teardown(every_op_has_the_bits_of_the_vm, begin_deterministic, end),
      cmocka_unit_test_setup_teardown(every_dtype_is_read_and_written, begin, end),
      cmocka_unit_test_setup_teardown(loops_in_loops_are_what_they_are_written_out, begin, end),
      cmocka_unit_test_setup_teardown(a_loop_waits_for_nothing, begin, end),
      cmocka_unit_test(every_instruction_has_a_word),
      cmocka_unit_test(printing_reports_a_lack_of_memory),
      cmocka_unit_test(what_loops_do_not_have_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
