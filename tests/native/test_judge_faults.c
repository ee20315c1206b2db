/* test_judge_faults.c - tests the judge of random programs: it has to see faults that are planted into programs, and wrong
 * derivative rules. The programs and the judge are those of test_judge.c. */
#include "planted.h"
#include "tensor/tensor.h"
#include "written.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static sn_context *ctx;     /* of one thread */
static written_trial trial; /* its text is long */

typedef struct fault_wish {
  planted_fault fault;
  size_t skip;
} fault_wish;

static bool plant(sn_executable *exe, void *user) {
  const fault_wish *wish = user;
  return planted_in(exe, &ctx->device.machine, wish->fault, wish->skip);
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
      trial = (written_trial){.ctx = ctx, .fault = plant, .fault_user = &wish};
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
          .ctx = ctx, .differences = true, .rule = swaps[i][0], .rule_as = swaps[i][1]};
      try_fault(seed, &count);
    }
    print_message("rule %zu: %zu of %zu seen\n", i, count.seen, count.changed);
    assert_true(count.changed >= 30 && count.seen * 10 >= count.changed * 8);
  }
}

static int setup(void **state) {
  (void)state;
  case_poisoned_contexts(&ctx, 1);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  case_contexts_end(&ctx, 1);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_accesses_and_lost_stores_are_seen),
      cmocka_unit_test(wrong_rules_are_seen),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
