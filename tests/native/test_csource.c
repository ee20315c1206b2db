/* test_csource.c - programs with every kind of kernel as C source: a C compiler accepts them without a
 * warning, and the result computes what the program computes. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "api_support.h"

#include "tensor/apply.h"

enum { INPUTS = 4, MOST_OUTPUTS = 2, LARGEST = 8192 };

/* In: float32 (6, 10), float32 (10, 8), float64 (4, 7), int32 (6). Returns how many outputs. */
typedef int program_fn(sn_tensor *const *in, sn_tensor **out);

static int maps(sn_tensor *const *in, sn_tensor **out) {
  sn_tensor *x = in[0], *turned = sn_transpose(x, (int[]){1, 0});
  out[0] = sn_where(sn_less(x, sn_scalar(f.ctx, 1)), sn_exp(sn_neg(x)), sn_sqrt(sn_abs(x)));
  out[1] = sn_atan2(turned, sn_add(sn_floor(turned), sn_iota(f.ctx, SN_F32, DIMS(10, 6), 0)));
  return 2;
}

static int types(sn_tensor *const *in, sn_tensor **out) {
  sn_tensor *i = in[3], *odd = sn_equal(sn_mod(i, sn_scalar(f.ctx, 2)), sn_scalar(f.ctx, 1));
  out[0] = sn_add(sn_astype(sn_mul(i, i), SN_F64), sn_astype(odd, SN_F64));
  out[1] = sn_logical_or(sn_logical_not(odd), sn_isfinite(sn_astype(i, SN_F32)));
  return 2;
}

static int reductions(sn_tensor *const *in, sn_tensor **out) {
  out[0] = sn_sum(sn_square(in[0]), 1u << 0, false);
  out[1] = sn_max(sn_mul(in[2], sn_sin(in[2])), 1u << 1, true);
  return 2;
}

static int whole_reductions(sn_tensor *const *in, sn_tensor **out) {
  out[0] = sn_mean(in[2], SN_ALL_AXES, false);
  out[1] = sn_any(sn_less(in[3], sn_scalar(f.ctx, 0)), SN_ALL_AXES, false);
  return 2;
}

static int rows(sn_tensor *const *in, sn_tensor **out) {
  out[0] = sn_softmax(in[0], 1);
  out[1] = sn_layer_norm(in[2], 1u << (sn_rank(in[2]) - 1), NULL, NULL, 1e-5);
  return 2;
}

static int products(sn_tensor *const *in, sn_tensor **out) {
  sn_tensor *y = sn_tanh(sn_matmul(in[0], in[1]));
  out[0] = sn_add(y, sn_sum(y, 1u << 0, true));
  out[1] = sn_matmul(in[2], sn_transpose(in[2], (int[]){1, 0}));
  return 2;
}

static int arranged(sn_tensor *const *in, sn_tensor **out) {
  sn_tensor *padded = sn_pad(in[0], (int64_t[]){1, 2}, (int64_t[]){0, 3}, SN_PAD_CONSTANT, 0.5);
  out[0] = sn_concat((sn_tensor *[]){in[0], sn_neg(in[0])}, 2, 1);
  out[1] =
      sn_slice(sn_mul(padded, padded), (int64_t[]){1, 1}, (int64_t[]){3, 5}, (int64_t[]){2, 2});
  return 2;
}

static int along(sn_tensor *const *in, sn_tensor **out) {
  out[0] = sn_sort(in[0], 1, true);
  out[1] = sn_argsort(in[2], 0, false);
  return 2;
}

static int scans(sn_tensor *const *in, sn_tensor **out) {
  out[0] = sn_cumsum(in[0], 1, true, false);
  out[1] = sn_argmax(in[0], 0, false);
  return 2;
}

static int gathers(sn_tensor *const *in, sn_tensor **out) {
  out[0] = sn_take(in[1], in[3], 0);
  out[1] =
      sn_scatter_add(in[1], in[3], sn_slice(in[1], (int64_t[]){0, 0}, (int64_t[]){6, 8}, NULL), 0);
  return 2;
}

/* Sums of bags of rows, whose ends go up and down, and of those that a gather looks up. */
static int bags(sn_tensor *const *in, sn_tensor **out) {
  for (int k = 0; k < 2; k++) {
    sn_tensor *rows = k ? sn_take(in[2], in[3], 0) : in[0];
    sn_tensor *sums =
        sn_node_of(f.ctx, SN_OP_ragged_sum, (sn_tensor *[]){rows, in[3]}, 2, NULL, 0, NULL);
    out[k] = sn_neg(sn_hand_out(sums));
  }
  return 2;
}

/* Rows in reverse: carry' = tanh(carry) + row; then doubled until its sum is above 50. */
static int loops(sn_tensor *const *in, sn_tensor **out) {
  sn_tensor *p[4], *scanned[2], *results[1];
  for (int k = 0; k < 4; k++) p[k] = sn_placeholder(f.ctx, SN_F32, DIMS(10));
  sn_tensor *next = sn_add(sn_tanh(p[0]), p[1]), *made[2] = {next, sn_mul(p[0], p[1])};
  sn_tensor *start[2] = {sn_zeros(f.ctx, SN_F32, DIMS(10)), in[0]};
  const sn_traced body = {p, 2, made, 2};
  assert_int_equal(sn_scan(f.ctx, &body, 1, start, 6, true, scanned), SN_OK);
  sn_tensor *twice = sn_add(p[2], sn_abs(p[2]));
  sn_tensor *small = sn_less(sn_sum(sn_abs(p[3]), SN_ALL_AXES, false), sn_scalar(f.ctx, 50));
  const sn_traced grow = {&p[2], 1, &twice, 1}, test = {&p[3], 1, &small, 1};
  sn_tensor *positive = sn_abs(scanned[0]);
  assert_int_equal(sn_while(f.ctx, &test, &grow, &positive, results), SN_OK);
  out[0] = results[0];
  out[1] = scanned[1];
  return 2;
}

/* A choice in a loop, and results that nobody reads. */
static int choices(sn_tensor *const *in, sn_tensor **out) {
  sn_tensor *p[4], *chosen[2], *scanned[2];
  for (int k = 0; k < 4; k++) p[k] = sn_placeholder(f.ctx, SN_F64, k ? 1 : 0, (const int64_t[]){7});
  sn_tensor *first = sn_max(p[1], SN_ALL_AXES, false);
  sn_tensor *a[2] = {sn_neg(p[2]), sn_square(p[2])}, *b[2] = {sn_sqrt(sn_abs(p[3])), p[3]};
  const sn_traced on_true = {&p[2], 1, a, 2}, on_false = {&p[3], 1, b, 2};
  sn_tensor *condition = sn_greater(first, p[0]);
  assert_int_equal(sn_cond(condition, &on_true, &on_false, &p[1], chosen), SN_OK);
  sn_tensor *made[2] = {first, chosen[0]};
  sn_tensor *start[2] = {sn_zeros(f.ctx, SN_F64, 0, NULL), in[2]};
  const sn_traced body = {p, 2, made, 2};
  assert_int_equal(sn_scan(f.ctx, &body, 1, start, 4, false, scanned), SN_OK);
  out[0] = scanned[1];
  return 1;
}

static program_fn *const programs[] = {
    maps,    types, reductions, whole_reductions, rows, products, arranged, along, scans,
    gathers, bags,  loops,      choices};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* ---- the same twice -------------------------------------------------------------------------- */

static sn_tensor *argument(int number) {
  static const sn_dtype dtypes[INPUTS] = {SN_F32, SN_F32, SN_F64, SN_I32};
  static const int64_t dims[INPUTS][2] = {{6, 10}, {10, 8}, {4, 7}, {6, 0}};
  void *data;
  sn_tensor *t = sn_empty(f.ctx, dtypes[number], number == 3 ? 1 : 2, dims[number], &data);
  for (size_t i = 0; i < (size_t)sn_size(t); i++) {
    const double value = (double)(i * 37 % 61) * 0.17 - 4.5;
    if (number == 2) ((double *)data)[i] = value;
    if (number < 2) ((float *)data)[i] = (float)value;
    if (number == 3) ((int32_t *)data)[i] = (int32_t)(i * 5 % 9);
  }
  return t;
}

static double element(sn_dtype dtype, const void *data, int64_t i) {
  switch (dtype) {
  case SN_F32: return (double)((const float *)data)[i];
  case SN_F64: return ((const double *)data)[i];
  case SN_I32: return ((const int32_t *)data)[i];
  default: return ((const uint8_t *)data)[i];
  }
}

static void expect_equal(int number, sn_tensor *expected, const void *got) {
  const sn_dtype dtype = sn_dtype_of(expected);
  const double tolerance = dtype == SN_F32 ? 1e-5 : dtype == SN_F64 ? 1e-13 : 0;
  const void *data = sn_data(expected);
  for (int64_t i = 0; i < sn_size(expected); i++) {
    const double want = element(dtype, data, i), is = element(dtype, got, i);
    if (!(fabs(is - want) <= tolerance * fmax(1, fabs(want))))
      fail_msg("program %d, element %lld is %g, not %g", number, (long long)i, is, want);
  }
}

typedef struct compiled {
  sn_program *program;
  size_t n_outputs;
} compiled;

/* Writes the program's C to the file. */
static compiled write_program(int number, bool fusion, FILE *file) {
  sn_tensor *in[INPUTS], *out[MOST_OUTPUTS];
  const char *source;
  char name[32];
  for (int i = 0; i < INPUTS; i++) {
    sn_tensor *like = argument(i);
    in[i] = sn_placeholder(f.ctx, sn_dtype_of(like), sn_rank(like), sn_dims(like));
  }
  compiled c = {.n_outputs = (size_t)programs[number](in, out)};
  assert_int_equal(sn_pass_enable(f.ctx, "fuse", fusion), SN_OK);
  assert_int_equal(sn_compile(f.ctx, in, INPUTS, out, c.n_outputs, NULL, &c.program), SN_OK);
  snprintf(name, sizeof name, "program%d", number);
  assert_int_equal(sn_program_c_source(c.program, name, &source), SN_OK);
  fputs(source, file);
  return c;
}

static void run_both(int number, const compiled *c, void *library) {
  static double memory[MOST_OUTPUTS][LARGEST / sizeof(double)];
  sn_tensor *in[INPUTS], *out[MOST_OUTPUTS];
  char name[32];
  snprintf(name, sizeof name, "program%d", number);
  void (*function)(const void *, const void *, const void *, const void *, void *, void *);
  *(void **)&function = dlsym(library, name);
  assert_true(function != NULL);
  for (int i = 0; i < INPUTS; i++) in[i] = argument(i);
  assert_int_equal(sn_program_run(c->program, in, out), SN_OK);
  function(sn_data(in[0]), sn_data(in[1]), sn_data(in[2]), sn_data(in[3]), memory[0], memory[1]);
  for (size_t k = 0; k < c->n_outputs; k++) expect_equal(number, out[k], memory[k]);
}

static void in_c(bool fusion) {
  char folder[] = "/tmp/sinter-csource-XXXXXX", source[64], binary[64], command[512];
  compiled all[PROGRAMS];
  assert_non_null(mkdtemp(folder));
  snprintf(binary, sizeof binary, "%s/programs.so", folder);
  for (int i = 0; i < PROGRAMS; i++) {
    snprintf(source, sizeof source, "%s/program%d.c", folder, i);
    FILE *file = fopen(source, "w");
    assert_non_null(file);
    all[i] = write_program(i, fusion, file);
    fclose(file);
  }
  snprintf(
      command, sizeof command,
      "%s -std=c11 -O1 -Wall -Wextra -Wno-unused-parameter -Werror -shared -fPIC %s/*.c -o %s -lm",
      TEST_CC, folder, binary);
  assert_int_equal(system(command), 0);
  void *library = dlopen(binary, RTLD_NOW);
  if (!library) fail_msg("%s", dlerror());
  for (int i = 0; i < PROGRAMS; i++) {
    run_both(i, &all[i], library);
    sn_program_release(all[i].program);
  }
  dlclose(library);
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

static void fused_programs_are_the_same_in_c(void **state) {
  (void)state;
  in_c(true);
}

static void single_ops_are_the_same_in_c(void **state) {
  (void)state;
  in_c(false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(fused_programs_are_the_same_in_c),
      TEST(single_ops_are_the_same_in_c),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
