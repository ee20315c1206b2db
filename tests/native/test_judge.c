/* test_judge.c - random programs as users write them, values and gradients, against the judge.
 * test_judge_faults.c tests the judge.
 *
 *   SINTER_TEST_SEED=<printed on failure> test_judge    that program first
 *   SINTER_TEST_PROGRAMS=1000000 test_judge             as many programs; npm test -- million */
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
      cmocka_unit_test(random_programs),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
