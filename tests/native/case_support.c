#include "case_support.h"

sn_context *ctx;
case_random rng;

int open_cases(void **state) {
  (void)state;
  ctx = case_context(1, sn_isa_detect());
  rng.state = case_seed();
  print_message("seed %llu\n", (unsigned long long)case_seed());
  return 0;
}

int close_cases(void **state) {
  (void)state;
  case_context_end(ctx);
  return 0;
}
