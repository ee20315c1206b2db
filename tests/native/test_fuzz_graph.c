/* test_fuzz_graph.c - random recipes on contexts of several instruction sets and thread counts.
 *
 *   SINTER_TEST_SEED=<printed on failure> test_fuzz_graph        that recipe first
 *   SINTER_TEST_GRAPHS=1000000 test_fuzz_graph                   as many recipes */
#include "recipes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CONTEXTS = 4, SHOWN = 16384 };

static sn_context *contexts[CONTEXTS];

static void random_graphs(void **state) {
  (void)state;
  const char *count_text = getenv("SINTER_TEST_GRAPHS");
  const uint64_t count = count_text ? strtoull(count_text, NULL, 0) : case_short() ? 500 : 20000;
  const uint64_t first = case_seed();
  print_message("seeds %llu to %llu\n", (unsigned long long)first,
                (unsigned long long)(first + count - 1));
  for (uint64_t seed = first; seed < first + count; seed++) {
    recipe tried = recipe_of(seed);
    char text[TWIN_TEXT];
    static char shown[SHOWN];
    sn_context *ctx = contexts[seed % CONTEXTS];
    if (recipe_cook(&tried, ctx, text, NULL, 0)) continue;
    const size_t left = recipe_shrink(&tried, ctx);
    recipe_cook(&tried, ctx, text, shown, sizeof shown);
    fputs(shown, stderr); /* longer than a message may be */
    fail_msg("SINTER_TEST_SEED=%llu, shrunk to %zu steps: %s", (unsigned long long)seed, left,
             text);
  }
  print_message("%zu within a memory budget\n", recipe_budgets_met);
}

/* A wrong op somewhere in the program: recipes that need the right one fail, and shrink to little
 * more than it. */
static void planted_faults_are_found_and_shrunk(void **state) {
  (void)state;
  static const sn_op swaps[][2] = {{SN_OP_add, SN_OP_sub}, {SN_OP_cumsum, SN_OP_cumprod}};
  for (size_t i = 0; i < sizeof swaps / sizeof *swaps; i++) {
    size_t found = 0;
    for (uint64_t seed = 2000; seed < 3000 && found < 5; seed++) {
      recipe tried = recipe_of(seed);
      tried.planted = swaps[i][0];
      tried.planted_as = swaps[i][1];
      char text[TWIN_TEXT];
      if (recipe_cook(&tried, contexts[0], text, NULL, 0)) continue;
      assert_true(recipe_shrink(&tried, contexts[0]) <= 3);
      found++;
    }
    assert_int_equal(found, 5);
  }
}

static int setup(void **state) {
  (void)state;
  const int best = (int)sn_isa_detect();
  for (int i = 0; i < CONTEXTS; i++) {
    const int isa = best - i > SN_ISA_SSE2 ? best - i : i ? SN_ISA_SSE2 : best;
    contexts[i] = case_context(1 + i % 3, isa < best ? (sn_isa_id)isa : (sn_isa_id)best);
  }
  return 0;
}

static int teardown(void **state) {
  (void)state;
  case_contexts_end(contexts, CONTEXTS);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planted_faults_are_found_and_shrunk),
      cmocka_unit_test(random_graphs),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
