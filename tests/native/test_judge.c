/* test_judge.c - random programs as users write them, values and gradients, against the judge.
 *
 *   SINTER_TEST_SEED=<printed on failure> test_judge    that program first
 *   SINTER_TEST_PROGRAMS=1000000 test_judge             as many programs; npm test -- million */
#include "planted.h"
#include "tensor/tensor.h"
#include "written.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CONTEXTS = 4 };

static sn_context *contexts[CONTEXTS]; /* of 1, 2, 3, 4 threads */
static written_trial trial;            /* its text is long */

/* Which program runs where, and what is looked at beside its values. */
static void prepare(uint64_t seed) {
  trial = (written_trial){.ctx = contexts[seed % CONTEXTS]};
  trial.differences = seed % 4 == 0;
  if (seed % 16 == 1) trial.other = contexts[(seed + 2) % CONTEXTS];
}

static void random_programs(void **state) {
  (void)state;
  const char *count_text = getenv("SINTER_TEST_PROGRAMS");
  const uint64_t count = count_text ? strtoull(count_text, NULL, 0) : case_short() ? 300 : 15000;
  const uint64_t first = case_seed();
  size_t slopes = 0, open = 0;
  print_message("seeds %llu to %llu\n", (unsigned long long)first,
                (unsigned long long)(first + count - 1));
  for (uint64_t seed = first; seed < first + count; seed++) {
    written program = written_of(seed);
    prepare(seed);
    if ((seed - first) % 100000 == 99999) fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    if (written_try(&program, &trial)) {
      slopes += trial.has_slope && trial.differences;
      open += trial.has_slope && trial.differences && trial.slope == JUDGE_OPEN;
      continue;
    }
    const size_t left = written_shrink(&program, &trial);
    fputs(trial.text, stderr); /* longer than a message may be */
    fail_msg("SINTER_TEST_SEED=%llu, shrunk to %zu steps", (unsigned long long)seed, left);
  }
  print_message("%zu of %zu gradients beside differences, %zu without one there\n", slopes - open,
                slopes, open);
  assert_true(open * 5 <= slopes);
}

/* ---- the judge itself ------------------------------------------------------------------------ */

typedef struct fault_wish {
  planted_fault fault;
  size_t skip;
} fault_wish;

static bool plant(sn_executable *exe, void *user) {
  const fault_wish *wish = user;
  return planted_in(exe, &contexts[0]->device.machine, wish->fault, wish->skip);
}

/* Of the faults that change a bit, how many the judge has seen. */
typedef struct tally {
  size_t planted, changed, seen;
} tally;

static void try_fault(uint64_t seed, tally *count) {
  const written program = written_of(seed);
  written_trial *sound = calloc(1, sizeof *sound);
  assert_non_null(sound);
  *sound = trial;
  sound->fault = NULL;
  if (trial.rule != trial.rule_as) sound->rule = sound->rule_as = SN_OP_marker;
  const bool right = written_try(&program, &trial);
  if (trial.broken) {
    count->planted++;
    assert_true(written_try(&program, sound));
    if (trial.bits != sound->bits) {
      count->changed++;
      count->seen += !right;
    }
  }
  free(sound);
}

/* Not all: what a softmax takes away before e^x may be any number. */
static void wrong_accesses_and_lost_stores_are_seen(void **state) {
  (void)state;
  static const planted_fault faults[] = {PLANTED_STILL, PLANTED_FOREIGN, PLANTED_UNSTORED};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    tally count = {0};
    for (uint64_t seed = 1; count.planted < 200; seed++) {
      fault_wish wish = {faults[i], seed % 3};
      trial = (written_trial){.ctx = contexts[0], .fault = plant, .fault_user = &wish};
      try_fault(seed, &count);
    }
    print_message("fault %zu: %zu of %zu seen\n", i, count.seen, count.changed);
    assert_true(count.changed >= 140 && count.seen * 10 >= count.changed * 9);
  }
}

/* A kink beside may hide one. */
static void wrong_rules_are_seen(void **state) {
  (void)state;
  static const sn_op swaps[][2] = {{SN_OP_mul, SN_OP_add},
                                   {SN_OP_cos, SN_OP_sin},
                                   {SN_OP_sub, SN_OP_add},
                                   {SN_OP_neg, SN_OP_marker}};
  for (size_t i = 0; i < sizeof swaps / sizeof *swaps; i++) {
    tally count = {0};
    for (uint64_t seed = 1; count.planted < 60; seed++) {
      trial = (written_trial){
          .ctx = contexts[0], .differences = true, .rule = swaps[i][0], .rule_as = swaps[i][1]};
      try_fault(seed, &count);
    }
    print_message("rule %zu: %zu of %zu seen\n", i, count.seen, count.changed);
    assert_true(count.changed >= 30 && count.seen * 10 >= count.changed * 8);
  }
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
      cmocka_unit_test(wrong_accesses_and_lost_stores_are_seen),
      cmocka_unit_test(wrong_rules_are_seen),
      cmocka_unit_test(random_programs),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
