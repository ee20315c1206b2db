/* case_support.h - a context of one lane and a random stream, for tests that draw many cases. */
#ifndef SN_TESTS_CASE_SUPPORT_H
#define SN_TESTS_CASE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "op_cases.h"

static sn_context *ctx;
static case_random rng;

static int open_cases(void **state) {
  (void)state;
  ctx = case_context(1, sn_isa_detect());
  rng.state = case_seed();
  print_message("seed %llu\n", (unsigned long long)case_seed());
  return 0;
}

static int close_cases(void **state) {
  (void)state;
  case_context_end(ctx);
  return 0;
}

#endif
