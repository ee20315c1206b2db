/* test_cc.c - kernels compiled by the machine's compiler: they have the bits of the strip VM; and all that can go wrong with
 * a compiler or with the cache on disk. Programs run twice: interpreted, and again when their code is ready. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "bits/bits.h"
#include "fixture.h"
#include "op_cases.h"
#include "recipes.h"
#include "tensor/tensor.h"

static char root[64]; /* a directory of this test's own */
static char cache[96];

/* ---- set-up ---------------------------------------------------------------------------------- */

static void remove_all(const char *path) {
  DIR *dir = opendir(path);
  char name[512];
  for (const struct dirent *e; dir && (e = readdir(dir));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    snprintf(name, sizeof name, "%s/%s", path, e->d_name);
    if (unlink(name)) remove_all(name);
  }
  if (dir) closedir(dir);
  rmdir(path);
}

static int open_root(void **state) {
  (void)state;
  snprintf(root, sizeof root, "/tmp/sinter-test-cc-XXXXXX");
  if (!mkdtemp(root)) return 1;
  snprintf(cache, sizeof cache, "%s/cache", root);
  return 0;
}

static int close_root(void **state) {
  (void)state;
  remove_all(root);
  return 0;
}

/* Each test begins with the machine's compiler and an empty cache. */
static int begin(void **state) {
  (void)state;
  remove_all(cache);
  setenv("SINTER_CC", TEST_CC, 1);
  unsetenv("SINTER_CC_SECONDS");
  unsetenv("SINTER_CC_CACHE_MB");
  unsetenv("SINTER_CC_WAIT");
  return setenv("SINTER_CC_CACHE", cache, 1);
}

/* A compiler that is this script; "$object" is what it is asked to make. */
static void use_script(const char *text) {
  char path[128];
  snprintf(path, sizeof path, "%s/compiler", root);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file,
          "#!/bin/sh\n[ \"$1\" = --version ] && echo script && exit 0\n"
          "while [ \"$1\" != -o ]; do shift; done\nobject=$2\n%s\n",
          text);
  fclose(file);
  assert_int_equal(chmod(path, 0700), 0);
  setenv("SINTER_CC", path, 1);
}

/* ---- one small program ----------------------------------------------------------------------- */

enum { POINTS = 1000 };

typedef struct probe {
  fixture f;
  sn_tensor *x;
  sn_program *program;
} probe;

static void probe_open(probe *p, int threads) {
  float values[POINTS];
  for (int i = 0; i < POINTS; i++) values[i] = (float)i / 100;
  fixture_open(&p->f, (sn_options){.threads = threads});
  p->x = sn_from_data(p->f.ctx, SN_F32, 1, (const int64_t[]){POINTS}, values);
  sn_tensor *a = sn_placeholder(p->f.ctx, SN_F32, 1, (const int64_t[]){POINTS});
  sn_tensor *square = sn_square(a), *y = sn_add(square, a);
  assert_int_equal(sn_compile(p->f.ctx, &a, 1, &y, 1, NULL, &p->program), SN_OK);
  sn_release(y);
  sn_release(square);
  sn_release(a);
}

static void probe_run(const probe *p) {
  sn_tensor *y;
  assert_int_equal(sn_program_run(p->program, &p->x, &y), SN_OK);
  const float *got = sn_data(y);
  for (int i = 0; i < POINTS; i++) {
    const float x = (float)i / 100, square = x * x;
    assert_true(got[i] == square + x);
  }
  sn_release(y);
}

static void probe_close(probe *p) {
  sn_program_release(p->program);
  sn_release(p->x);
  fixture_close(&p->f);
}

/* Runs before its code could be there and then with it, if there is any; expects this in the state. */
static void probe_says(const char *expected) {
  probe p;
  probe_open(&p, 1);
  probe_run(&p);
  sn_code_wait(p.f.ctx);
  probe_run(&p);
  const char *state = sn_code_state(p.f.ctx);
  if (!strstr(state, expected)) fail_msg("%s instead of %s", state, expected);
  probe_close(&p);
}

/* ---- the cache ------------------------------------------------------------------------------- */

static const char *cached_file(void) {
  static char path[512];
  DIR *dir = opendir(cache);
  assert_non_null(dir);
  path[0] = '\0';
  for (const struct dirent *e; (e = readdir(dir));)
    if (e->d_name[0] != '.') snprintf(path, sizeof path, "%s/%s", cache, e->d_name);
  closedir(dir);
  assert_true(*path);
  return path;
}

static void code_comes_from_the_cache_the_second_time(void **state) {
  (void)state;
  probe_says("1 compiled, 0 from the cache, 0 failed");
  struct stat about;
  assert_int_equal(stat(cache, &about), 0);
  assert_int_equal(about.st_mode & 0777, 0700);
  assert_int_equal(stat(cached_file(), &about), 0);
  assert_int_equal(about.st_mode & 0777, 0600);
  probe_says("0 compiled, 1 from the cache, 0 failed");
}

static void a_damaged_object_is_made_again(void **state) {
  (void)state;
  probe_says("1 compiled");
  struct stat about;
  assert_int_equal(stat(cached_file(), &about), 0);
  for (int part = 0; part < 4; part++) {
    const int file = open(cached_file(), O_RDWR);
    char byte;
    const off_t at = about.st_size * part / 4 + 1;
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    close(file);
    probe_says("1 compiled, 0 from the cache");
  }
  assert_int_equal(truncate(cached_file(), about.st_size / 2), 0);
  probe_says("1 compiled, 0 from the cache");
  assert_int_equal(truncate(cached_file(), 0), 0);
  probe_says("1 compiled, 0 from the cache");
  probe_says("1 from the cache");
}

static void what_others_can_write_is_not_loaded(void **state) {
  (void)state;
  probe_says("1 compiled");
  assert_int_equal(chmod(cached_file(), 0666), 0);
  probe_says("1 compiled, 0 from the cache");
  char moved[128];
  snprintf(moved, sizeof moved, "%s/moved.so", root);
  char path[512];
  snprintf(path, sizeof path, "%s", cached_file());
  assert_int_equal(rename(path, moved), 0);
  assert_int_equal(symlink(moved, path), 0);
  probe_says("1 compiled, 0 from the cache");
  if (!geteuid()) {
    assert_int_equal(chown(cached_file(), 1, 1), 0);
    probe_says("1 compiled, 0 from the cache");
  }
  assert_int_equal(chmod(cache, 0755), 0);
  probe_says("1 compiled, 0 from the cache, 0 failed, 0 to come; no cache");
}

/* A file of the cache, as old as this. */
static void plant(const char *name, size_t bytes, int hours) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", cache, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (size_t i = 0; i < bytes; i++) fputc('x', file);
  fclose(file);
  const struct timeval then = {.tv_sec = time(NULL) - 3600 * hours};
  assert_int_equal(utimes(path, (const struct timeval[]){then, then}), 0);
}

static bool is_there(const char *name) {
  char path[256];
  struct stat about;
  snprintf(path, sizeof path, "%s/%s", cache, name);
  return !lstat(path, &about);
}

/* There are more small ones than one walk over the directory removes. */
static void what_was_used_last_stays_in_a_full_cache(void **state) {
  (void)state;
  enum { SMALL = 300 };
  char name[64];
  probe_says("1 compiled, 0 from the cache, 0 failed");
  snprintf(name, sizeof name, "%s", strrchr(cached_file(), '/') + 1);
  plant(name, 1, 40); /* damaged, so that it is made again */
  plant("00000000000000000000000000000001.so", 400000, 3);
  plant("00000000000000000000000000000002.so", 300000, 1);
  plant("notes.so", 2000000, 90);
  for (int i = 0; i < SMALL; i++) {
    char small[64];
    snprintf(small, sizeof small, "%032x.so", 16 + i);
    plant(small, 2000, 50 + i);
  }
  setenv("SINTER_CC_CACHE_MB", "1", 1);
  probe_says("1 compiled, 0 from the cache, 0 failed");
  assert_true(is_there(name));
  assert_true(is_there("notes.so"));
  assert_true(is_there("00000000000000000000000000000002.so"));
  assert_false(is_there("0000000000000000000000000000013b.so"));
  assert_false(is_there("00000000000000000000000000000010.so"));
  /* a hit counts as a use */
  struct timeval then = {.tv_sec = time(NULL) - 7200};
  struct stat about;
  char path[256];
  snprintf(path, sizeof path, "%s/%s", cache, name);
  assert_int_equal(utimes(path, (const struct timeval[]){then, then}), 0);
  probe_says("0 compiled, 1 from the cache, 0 failed");
  assert_int_equal(stat(path, &about), 0);
  assert_true(about.st_mtime > then.tv_sec + 3600);
}

static void work_left_behind_is_removed(void **state) {
  (void)state;
  char path[256], file[300];
  probe_says("1 compiled, 0 from the cache, 0 failed");
  for (int hours = 0; hours < 3; hours += 2) {
    snprintf(path, sizeof path, "%s/work-%d", cache, hours);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(file, sizeof file, "%s/kernels.c", path);
    fclose(fopen(file, "w"));
    const struct timeval then = {.tv_sec = time(NULL) - 3600 * hours};
    assert_int_equal(utimes(path, (const struct timeval[]){then, then}), 0);
  }
  probe_says("0 compiled, 1 from the cache, 0 failed");
  assert_true(is_there("work-0"));
  assert_false(is_there("work-2"));
}

static void without_a_cache_code_is_still_made(void **state) {
  (void)state;
  setenv("SINTER_CC_CACHE", "/dev/null/cache", 1);
  probe_says("1 compiled, 0 from the cache, 0 failed, 0 to come; no cache");
  setenv("SINTER_CC_CACHE", "/proc", 1); /* nobody's own */
  probe_says("1 compiled, 0 from the cache, 0 failed, 0 to come; no cache");
}

/* ---- compilers ------------------------------------------------------------------------------- */

static void without_a_compiler_the_vm_goes_on(void **state) {
  (void)state;
  setenv("SINTER_CC", "/nowhere/cc", 1);
  probe_says("1 failed, 0 to come; there is no compiler /nowhere/cc");
  setenv("SINTER_CC", "sinter-no-such-compiler", 1);
  probe_says("there is no compiler sinter-no-such-compiler");
  setenv("SINTER_CC", "off", 1);
  probe_says("off");
}

static void a_compiler_that_fails_or_lies_is_told_of(void **state) {
  (void)state;
  use_script("echo 'no such flag' >&2; exit 1");
  probe_says("compiler failed: no such flag");
  use_script("kill -9 $$");
  probe_says("compiler failed");
  use_script("echo garbage > \"$object\"");
  probe_says("what the compiler made cannot be loaded");
  use_script("exit 0");
  probe_says("what the compiler made cannot be loaded");
  use_script("exec " TEST_CC " -shared -x c -o \"$object\" /dev/null");
  probe_says("what the compiler made lacks a function");
  setenv("SINTER_CC_SECONDS", "1", 1);
  use_script("sleep 100");
  probe_says("took more than 1 s");
}

/* The context ends at once, and so does the compiler. */
static void nobody_waits_for_a_compiler(void **state) {
  (void)state;
  use_script("echo $$ > \"$object.pid\"; exec sleep 1000");
  probe p;
  probe_open(&p, 2);
  for (int i = 0; i < 100; i++) probe_run(&p); /* hot */
  probe_close(&p);
}

static void equal_programs_share_their_code(void **state) {
  (void)state;
  probe p;
  probe_open(&p, 1);
  sn_tensor *a = sn_placeholder(p.f.ctx, SN_F32, 1, (const int64_t[]){POINTS});
  sn_tensor *square = sn_square(a), *y = sn_add(square, a);
  sn_program *again;
  const sn_program_options record = {.record = true};
  assert_int_equal(sn_compile_with(p.f.ctx, &a, 1, &y, 1, &record, &again), SN_OK);
  sn_code_wait(p.f.ctx);
  assert_non_null(strstr(sn_code_state(p.f.ctx), "1 compiled, 0 from the cache"));
  const char *text;
  assert_int_equal(sn_program_wat(again, 0, &text), SN_OK);
  assert_non_null(strstr(text, "EXPORT void k0_0_strip("));
  assert_non_null(strstr(sn_program_inspection(again), "\"cc\""));
  sn_program_release(again);
  assert_int_equal(sn_profile_start(p.f.ctx, 0), SN_OK);
  probe_run(&p);
  sn_profile_stop(p.f.ctx);
  const sn_kernel_profile *rows;
  assert_int_equal(sn_profile_kernels(p.f.ctx, &rows), 1);
  assert_string_equal(rows[0].engine, "cc");
  sn_release(y);
  sn_release(square);
  sn_release(a);
  probe_close(&p);
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* Outputs of one program, interpreted and then by its code. */
static void both_ways(sn_context *ctx, sn_tensor *const *in, sn_tensor *const *given, size_t n_in,
                      sn_tensor *const *out, size_t n) {
  enum { MOST = 128 };
  sn_tensor *got[2][MOST];
  sn_program *program;
  assert_true(n <= MOST);
  assert_int_equal(sn_compile(ctx, in, n_in, out, n, NULL, &program), SN_OK);
  for (int run = 0; run < 2; run++) {
    assert_int_equal(sn_program_run(program, given, got[run]), SN_OK);
    if (!run) sn_code_wait(ctx);
  }
  assert_non_null(strstr(sn_code_state(ctx), "1 compiled, 0 from the cache, 0 failed"));
  for (size_t i = 0; i < n; i++) {
    int64_t where;
    if (!case_same(sn_dtype_of(got[0][i]), sn_data(got[0][i]), sn_data(got[1][i]),
                   sn_size(got[0][i]), &where))
      fail_msg("output %zu differs at %lld", i, (long long)where);
    for (int run = 0; run < 2; run++) sn_release(got[run][i]);
  }
  sn_program_release(program);
}

/* Every row of ops.def in one program for each dtype, on special values; sizes are around vectors and strips. */
static void ops_of(sn_dtype dtype) {
  static const int64_t sizes[] = {261, 0, 1, 7, 1000, 16, 255};
  enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 1000 };
  case_random r = {.state = 17};
  sn_context *ctx = case_context(2, sn_isa_detect());
  sn_tensor *in[SIZES * 3], *given[SIZES * 3], *out[SN_OP_COUNT];
  size_t n = 0;
  for (int s = 0; s < SIZES; s++) {
    for (int k = 0; k < 3; k++) {
      void *data;
      in[3 * s + k] = sn_placeholder(ctx, dtype, 1, &sizes[s]);
      given[3 * s + k] = sn_empty(ctx, dtype, 1, &sizes[s], &data);
      case_fill(&r, SN_OP_add, k, dtype, CASE_MIXED, sizes[s], data);
    }
  }
  for (int op = 0; op < SN_OP_COUNT; op++) {
    const sn_op_info *info = sn_op_describe((sn_op)op);
    if ((info->kind != SN_CLASS_MAP && info->kind != SN_CLASS_COMPARE) ||
        !case_takes((sn_op)op, dtype))
      continue;
    out[n] = case_apply((sn_op)op, &in[3 * (n % SIZES)], info->arity);
    n++;
  }
  both_ways(ctx, in, given, SIZES * 3, out, n);
  for (size_t i = 0; i < n; i++) sn_release(out[i]);
  for (int i = 0; i < SIZES * 3; i++) sn_release(in[i]), sn_release(given[i]);
  case_context_end(ctx);
}

static void every_op_has_the_bits_of_the_vm(void **state) {
  (void)state;
  for (int dtype = 0; dtype < 4; dtype++) ops_of((sn_dtype)dtype);
}

/* Rows around vectors and strips in length, which end anywhere. */
static void rows_of_any_length(bool deterministic) {
  static const int64_t lengths[] = {1, 2, 7, 8, 9, 10, 16, 31, 33, 40, 255, 256, 257, 300, 1023};
  enum { LENGTHS = sizeof lengths / sizeof *lengths, ROWS = 5, EACH = 6 };
  case_random r = {.state = 23};
  sn_context *ctx = case_context_with(
      (sn_options){.threads = 2, .deterministic = deterministic}, sn_isa_detect());
  sn_tensor *in[2 * LENGTHS], *given[2 * LENGTHS], *out[EACH * LENGTHS];
  size_t n = 0;
  for (int i = 0; i < LENGTHS; i++) {
    const int64_t dims[] = {ROWS, lengths[i]};
    void *data;
    in[2 * i] = sn_placeholder(ctx, SN_F32, 2, dims);
    given[2 * i] = sn_empty(ctx, SN_F32, 2, dims, &data);
    case_fill(&r, SN_OP_exp, 0, SN_F32, CASE_MIXED, ROWS * lengths[i], data);
    in[2 * i + 1] = sn_placeholder(ctx, SN_I32, 1, dims);
    given[2 * i + 1] = sn_empty(ctx, SN_I32, 1, dims, &data);
    for (int row = 0; row < ROWS; row++) ((int32_t *)data)[row] = (int32_t)(row * 7 % lengths[i]);
    out[n++] = sn_softmax(in[2 * i], -1);
    out[n++] = sn_layer_norm(in[2 * i], 1u << 1, NULL, NULL, 1e-5);
    out[n++] = sn_softmax_cross_entropy(in[2 * i], in[2 * i + 1], SN_DEFAULT);
    out[n++] = sn_sum(in[2 * i], 1u << 1, false);
    out[n++] = sn_argmax(in[2 * i], 1, false);
    out[n++] = sn_max(in[2 * i], SN_ALL_AXES, false);
  }
  both_ways(ctx, in, given, 2 * LENGTHS, out, n);
  for (size_t i = 0; i < n; i++) sn_release(out[i]);
  for (int i = 0; i < 2 * LENGTHS; i++) sn_release(in[i]), sn_release(given[i]);
  case_context_end(ctx);
}

static void rows_of_any_length_have_the_bits_of_the_vm(void **state) {
  (void)state;
  rows_of_any_length(false);
  rows_of_any_length(true);
}

/* The largest and smallest of rows in which a zero of either sign, a NaN or infinities decide, and of others. */
static void extremes_of(sn_dtype dtype) {
  static const int64_t lengths[] = {1, 3, 31, 32, 33, 64, 100, 256, 300, 1024, 1055};
  static const double deciding[][2] = {{0, 0},          {-0.0, -0.0},         {NAN, 1},
                                       {1, NAN},        {-INFINITY, INFINITY}, {-INFINITY, -INFINITY},
                                       {INFINITY, NAN}, {-0.0, 0},            {3, -3}};
  enum { LENGTHS = sizeof lengths / sizeof *lengths, ROWS = 3 * sizeof deciding / sizeof *deciding };
  sn_context *ctx = case_context(2, sn_isa_detect());
  sn_tensor *in[LENGTHS], *given[LENGTHS], *out[4 * LENGTHS];
  size_t n = 0;
  for (int i = 0; i < LENGTHS; i++) {
    const int64_t dims[] = {ROWS, lengths[i]};
    void *data;
    in[i] = sn_placeholder(ctx, dtype, 2, dims);
    given[i] = sn_empty(ctx, dtype, 2, dims, &data);
    for (int64_t k = 0; k < ROWS * lengths[i]; k++) {
      const int64_t row = k / lengths[i], at = k % lengths[i];
      const double *x = deciding[row / 3];
      double value = row % 3 == 0 ? -1 - (double)(at % 7) : row % 3 == 1 ? 1 + (double)(at % 5) : x[0];
      if (at == row * 5 % lengths[i]) value = x[0];
      if (at == row * 11 % lengths[i]) value = x[1];
      if (dtype == SN_F64)
        ((double *)data)[k] = value;
      else
        ((float *)data)[k] = (float)value;
    }
    out[n++] = sn_max(in[i], 1u << 1, false);
    out[n++] = sn_min(in[i], 1u << 1, false);
    out[n++] = sn_max(in[i], SN_ALL_AXES, false);
    out[n++] = sn_softmax(in[i], -1);
  }
  both_ways(ctx, in, given, LENGTHS, out, n);
  for (size_t i = 0; i < n; i++) sn_release(out[i]);
  for (int i = 0; i < LENGTHS; i++) sn_release(in[i]), sn_release(given[i]);
  case_context_end(ctx);
}

static void extremes_have_the_bits_of_the_vm(void **state) {
  (void)state;
  extremes_of(SN_F32);
  extremes_of(SN_F64);
}

/* What is stored past the caches: whole, with an odd end, and behind an odd beginning. */
static void large_outputs_have_the_bits_of_the_vm(void **state) {
  (void)state;
  static const int64_t large = (8 << 20) + 3, few = 5;
  case_random r = {.state = 29};
  sn_context *ctx = case_context(2, sn_isa_detect());
  const int64_t *const sizes[] = {&large, &few};
  sn_tensor *in[2], *given[2];
  for (int i = 0; i < 2; i++) {
    void *data;
    in[i] = sn_placeholder(ctx, SN_F32, 1, sizes[i]);
    given[i] = sn_empty(ctx, SN_F32, 1, sizes[i], &data);
    case_fill(&r, SN_OP_exp, i, SN_F32, CASE_MIXED, *sizes[i], data);
  }
  sn_tensor *wide = sn_astype(in[0], SN_F64), *half = sn_relu(in[0]);
  sn_tensor *out[] = {sn_square(in[0]), sn_neg(wide), sn_astype(in[0], SN_I32),
                      sn_concat((sn_tensor *[]){in[1], half}, 2, 0)};
  both_ways(ctx, in, given, 2, out, 4);
  sn_tensor *all[] = {wide, half, out[0], out[1], out[2], out[3], in[0], in[1], given[0], given[1]};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) sn_release(all[i]);
  case_context_end(ctx);
}

/* The list of tests/bits, some of it each time; what comes first is interpreted. */
static void known_computations_keep_their_bits(void **state) {
  (void)state;
  const size_t count = bits_count(), step = case_short() ? 97 : 19;
  size_t differ = 0;
  sn_context *vm, *code[2];
  setenv("SINTER_CC", "off", 1);
  vm = case_context(1, sn_isa_detect());
  setenv("SINTER_CC", TEST_CC, 1);
  setenv("SINTER_CC_WAIT", "1", 1);
  code[0] = case_context(1, sn_isa_detect());
  code[1] = case_context(3, sn_isa_detect());
  for (size_t i = 0; i < count; i += step) {
    char name[BITS_NAME];
    const uint64_t hash = bits_hash(vm, i, name);
    for (int k = 0; k < 2; k++) {
      if (hash == bits_hash(code[k], i, name)) continue;
      print_message("%s has other bits\n", name);
      differ++;
    }
  }
  assert_non_null(strstr(sn_code_state(code[0]), ", 0 failed"));
  case_contexts_end(code, 2);
  case_context_end(vm);
  assert_int_equal(differ, 0);
}

/* Random programs, against the reference interpreter. */
static void random_programs_keep_their_bits(void **state) {
  (void)state;
  setenv("SINTER_CC_WAIT", "1", 1);
  sn_context *ctx = case_context(2, sn_isa_detect());
  for (uint64_t seed = 0; seed < (case_short() ? 4 : 20); seed++) {
    char text[TWIN_TEXT];
    const recipe r = recipe_of(seed);
    if (!recipe_cook(&r, ctx, text, NULL, 0))
      fail_msg("seed %llu: %s", (unsigned long long)seed, text);
  }
  assert_non_null(strstr(sn_code_state(ctx), ", 0 failed"));
  case_context_end(ctx);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup(f, begin)
  const struct CMUnitTest tests[] = {
      TEST(code_comes_from_the_cache_the_second_time),
      TEST(a_damaged_object_is_made_again),
      TEST(what_others_can_write_is_not_loaded),
      TEST(what_was_used_last_stays_in_a_full_cache),
      TEST(work_left_behind_is_removed),
      TEST(without_a_cache_code_is_still_made),
      TEST(without_a_compiler_the_vm_goes_on),
      TEST(a_compiler_that_fails_or_lies_is_told_of),
      TEST(nobody_waits_for_a_compiler),
      TEST(equal_programs_share_their_code),
      TEST(every_op_has_the_bits_of_the_vm),
      TEST(rows_of_any_length_have_the_bits_of_the_vm),
      TEST(extremes_have_the_bits_of_the_vm),
      TEST(large_outputs_have_the_bits_of_the_vm),
      TEST(known_computations_keep_their_bits),
      TEST(random_programs_keep_their_bits),
  };
  return cmocka_run_group_tests(tests, open_root, close_root);
}
