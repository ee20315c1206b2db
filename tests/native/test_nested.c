/* test_nested.c - random programs with nested control flow, compiled, eager and as C source, against the same programs
 * unrolled and judged op by op.
 *
 *   SINTER_TEST_SEED=<printed on failure> test_nested    that program first
 *   SINTER_TEST_PROGRAMS=100000 test_nested              as many programs */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nested.h"
#include "tensor/program.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { CONTEXTS = 4, IN_C = 8 /* each which-th program is compiled as C, too */ };

static sn_context *contexts[CONTEXTS]; /* of 1, 2, 3, 4 threads */
static char text[NESTED_TEXT];

static uint64_t program_count(uint64_t otherwise) {
  const char *count = getenv("SINTER_TEST_PROGRAMS");
  return count ? strtoull(count, NULL, 0) : case_short() ? otherwise / 10 : otherwise;
}

static void fail_program(uint64_t seed, nested *program, nested_trial *right, sn_context *ctx) {
  const size_t left = nested_shrink(program, right, ctx, text);
  fputs(text, stderr); /* longer than a message may be */
  fail_msg("SINTER_TEST_SEED=%llu, shrunk to %zu steps", (unsigned long long)seed, left);
}

static void programs_are_what_they_are_written_out(void **state) {
  (void)state;
  const uint64_t first = case_seed(), count = program_count(1000);
  print_message("seeds %llu to %llu\n", (unsigned long long)first,
                (unsigned long long)(first + count - 1));
  for (uint64_t seed = first; seed < first + count; seed++) {
    nested program = nested_of(seed);
    sn_context *ctx = contexts[seed / NESTED_TRANSFORMS % CONTEXTS];
    if (!nested_try(&program, ctx, text)) fail_program(seed, &program, nested_try, ctx);
  }
}

/* ---- as C ------------------------------------------------------------------------------------ */

static void put_list(FILE *file, const char *list, size_t n) {
  for (size_t i = 0; i < n; i++) fprintf(file, "%s%s[%zu]", i ? ", " : "", list, i);
}

/* Its C, and a function `run<number>` that takes lists of addresses. */
static sn_status write_source(nested_case *c, size_t number, FILE *file) {
  sn_tensor *given[NESTED_ARGUMENTS], *results[NESTED_RESULTS];
  sn_program *program;
  const char *source;
  char name[32];
  snprintf(name, sizeof name, "program%zu", number);
  nested_give(c, false, given);
  const size_t n = nested_write(c, true, given, results);
  SN_TRY(sn_compile(c->ctx, given, c->n_arguments, results, n, NULL, &program));
  const sn_status status =
      program->n_captured ? SN_ERR_UNSUPPORTED : sn_program_c_source(program, name, &source);
  if (!status) {
    fprintf(file, "%s\nvoid run%zu(const void *const *in, void *const *out);\n", source, number);
    fprintf(file, "void run%zu(const void *const *in, void *const *out) {\n  %s(", number, name);
    put_list(file, "in", c->n_arguments);
    fputs(", ", file);
    put_list(file, "out", n);
    fputs(");\n}\n", file);
  }
  sn_program_release(program);
  return status;
}

static bool run_source(nested_case *c, size_t number, void *library) {
  _Alignas(64) static char memory[NESTED_RESULTS][8192];
  void (*function)(const void *const *in, void *const *out);
  const void *results[NESTED_RESULTS];
  void *out[NESTED_RESULTS];
  char name[32];
  snprintf(name, sizeof name, "run%zu", number);
  *(void **)&function = dlsym(library, name);
  assert_non_null(*(void **)&function);
  for (size_t k = 0; k < c->n_results; k++) {
    assert_true(sn_type_bytes(nested_type(c, k)) <= sizeof memory[k]);
    results[k] = out[k] = memory[k];
  }
  function(c->arguments, out);
  return nested_accepts(c, "C source", results);
}

static void *compile_sources(const char *folder) {
  char command[512], binary[64];
  snprintf(binary, sizeof binary, "%s/programs.so", folder);
  snprintf(command, sizeof command, "%s -std=c11 -O0 -shared -fPIC %s/*.c -o %s -lm", TEST_CC,
           folder, binary);
  assert_int_equal(system(command), 0);
  void *library = dlopen(binary, RTLD_NOW);
  if (!library) fail_msg("%s", dlerror());
  return library;
}

typedef struct in_c {
  nested_case c;
  bool has_source; /* not with a float16, nor if something is captured */
} in_c;

static void write_sources(const char *folder, in_c *cases, size_t n) {
  char path[64];
  for (size_t i = 0; i < n; i++) {
    snprintf(path, sizeof path, "%s/program%zu.c", folder, i);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    const sn_status status = write_source(&cases[i].c, i, file);
    fclose(file);
    cases[i].has_source = status == SN_OK;
    if (!status) continue;
    if (status != SN_ERR_UNSUPPORTED) fail_msg("%s", sn_error_message(cases[i].c.ctx));
    sn_error_clear(cases[i].c.ctx);
  }
}

/* The first of some cases whose C is wrong, or n. */
static size_t wrong_in_c(in_c *cases, size_t n) {
  char folder[] = "/tmp/sinter-nested-XXXXXX", command[64];
  assert_non_null(mkdtemp(folder));
  write_sources(folder, cases, n);
  void *library = compile_sources(folder);
  size_t wrong = 0;
  while (wrong < n && (!cases[wrong].has_source || run_source(&cases[wrong].c, wrong, library)))
    wrong++;
  dlclose(library);
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
  return wrong;
}

static bool is_right_in_c(const nested *program, sn_context *ctx, char why[NESTED_TEXT]) {
  in_c *one = calloc(1, sizeof *one);
  assert_non_null(one);
  assert_true(nested_open(&one->c, program, ctx));
  const bool right = wrong_in_c(one, 1) == 1;
  memcpy(why, one->c.text, sizeof one->c.text);
  nested_close(&one->c);
  free(one);
  return right;
}

static void programs_are_the_same_in_c(void **state) {
  (void)state;
  const uint64_t first = case_seed();
  const size_t count = program_count(1000) / IN_C;
  in_c *cases = calloc(count + 1, sizeof *cases);
  assert_non_null(cases);
  for (size_t i = 0; i < count; i++) {
    const nested program = nested_of(first + i * IN_C);
    assert_true(nested_open(&cases[i].c, &program, contexts[0]));
  }
  const size_t wrong = wrong_in_c(cases, count);
  size_t written = 0;
  for (size_t i = count; i-- > 0;) {
    written += cases[i].has_source;
    nested_close(&cases[i].c);
  }
  free(cases);
  if (wrong < count) {
    nested program = nested_of(first + wrong * IN_C);
    fail_program(first + wrong * IN_C, &program, is_right_in_c, contexts[0]);
  }
  print_message("%zu of %zu programs as C\n", written, count);
  assert_true(written * 2 >= count);
}

static int setup(void **state) {
  (void)state;
  case_poisoned_contexts(contexts, CONTEXTS);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  case_contexts_end(contexts, CONTEXTS);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(programs_are_what_they_are_written_out),
      cmocka_unit_test(programs_are_the_same_in_c),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
