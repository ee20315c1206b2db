/* test_bits.c - the computations of tests/bits have the bits that its files record, for any number of
 * threads and on every instruction set of this machine.
 *
 *   test_bits plain    prints a new plain.txt, and `fused` a new fused.txt: see bits/bits.h
 *
 * A hostile build cuts sums into other pieces, so it only compares several threads with one. If few cases are asked for, the
 * machine's own instruction set runs every computation, and each of the others a share of them. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bits/bits.h"
#include "kernels/gemm.h"
#include "op_cases.h"

#ifdef SINTER_TEST
static const bool hostile = true;
#else
static const bool hostile = false;
#endif

enum { MOST_LINES = 1024 };

typedef struct known {
  char name[BITS_NAME];
  uint64_t hash;
} known;

static known lines[MOST_LINES];

static size_t read_lines(const char *kind) {
  char path[64];
  snprintf(path, sizeof path, "tests/bits/%s.txt", kind);
  FILE *file = fopen(path, "r");
  if (!file) fail_msg("no %s: tests run where the sources lie", path);
  size_t n = 0;
  while (n < MOST_LINES && fscanf(file, "%63s %" SCNx64, lines[n].name, &lines[n].hash) == 2) n++;
  fclose(file);
  return n;
}

static sn_context *context_of(int threads, sn_isa_id isa, bool deterministic) {
  return case_context_with((sn_options){.threads = threads, .deterministic = deterministic}, isa);
}

/* The computations that are compared: number `first` and every step-th from there. */
typedef struct share {
  size_t first, step;
} share;

static const share all_of_them = {0, 1};

/* Of the instruction set that is number `turn` of several. */
static share share_of(int turn, int several) {
  return case_short() ? (share){(size_t)turn, (size_t)several} : all_of_them;
}

/* Every line has its case. A case without a line, such as a new op's, is asked for by nobody
 * yet. */
static void compare(const char *kind, int threads, sn_isa_id isa, share these) {
  sn_context *one = hostile ? context_of(1, isa, strcmp(kind, "plain") == 0) : NULL;
  const size_t n = read_lines(kind), count = bits_count();
  size_t found = 0, differ = 0;
  sn_context *ctx = context_of(threads, isa, strcmp(kind, "plain") == 0);
  for (size_t i = these.first; i < count; i += these.step) {
    char name[BITS_NAME];
    const uint64_t hash = bits_hash(ctx, i, name);
    size_t at = 0;
    while (at < n && strcmp(lines[at].name, name) != 0) at++;
    if (at == n) continue;
    found++;
    if (hash == (hostile ? bits_hash(one, i, name) : lines[at].hash)) continue;
    print_message("%s, %s, %d threads: %s has other bits\n", kind, sn_isa_name(isa), threads, name);
    differ++;
  }
  case_context_end(ctx);
  if (one) case_context_end(one);
  assert_true(n >= 200);
  if (these.step == 1) assert_int_equal(found, n);
  assert_int_equal(differ, 0);
}

static void plain_bits_for_one_to_four_threads(void **state) {
  (void)state;
  for (int threads = hostile ? 2 : 1; threads <= (case_short() ? 2 : 4); threads++)
    compare("plain", threads, sn_isa_detect(), all_of_them);
}

static void plain_bits_on_every_instruction_set(void **state) {
  (void)state;
  const int others = (int)sn_isa_detect();
  for (int isa = 0; isa < others; isa++)
    compare("plain", 2, (sn_isa_id)isa, share_of(isa, others));
}

static void fused_bits_where_the_machine_fuses(void **state) {
  (void)state;
  int fusing = 0, turn = 0;
  for (int isa = 0; isa <= (int)sn_isa_detect(); isa++) fusing += sn_isa_fuses((sn_isa_id)isa);
  for (int isa = 0; isa <= (int)sn_isa_detect(); isa++)
    if (sn_isa_fuses((sn_isa_id)isa))
      compare("fused", 3, (sn_isa_id)isa, share_of(turn++, fusing));
}

static int print(const char *kind) {
  sn_context *ctx = context_of(1, sn_isa_detect(), strcmp(kind, "plain") == 0);
  for (size_t i = 0; i < bits_count(); i++) {
    char name[BITS_NAME];
    const uint64_t hash = bits_hash(ctx, i, name);
    printf("%s %016" PRIx64 "\n", name, hash);
  }
  case_context_end(ctx);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2) return print(argv[1]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_bits_for_one_to_four_threads),
      cmocka_unit_test(plain_bits_on_every_instruction_set),
      cmocka_unit_test(fused_bits_where_the_machine_fuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
