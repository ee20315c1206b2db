#include "case_support.h"

#include <stdlib.h>

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

sn_tensor *must(const char *what, sn_tensor *t) {
  if (!t) fail_msg("%s: %s", what, sn_error_message(ctx));
  return t;
}

void succeed(const char *what, sn_status status) {
  if (status) fail_msg("%s: %s", what, sn_error_message(ctx));
}

sn_tensor *random_like(sn_tensor *t, uint64_t seed) {
  case_random r = {seed};
  const int64_t n = sn_size(t);
  double *v = calloc((size_t)n + 1, sizeof *v);
  for (int64_t i = 0; i < n; i++) v[i] = case_between(&r, 0.5, 1.5) * (i % 2 ? -1 : 1);
  sn_tensor *like = sn_from_data(ctx, SN_F64, sn_rank(t), sn_dims(t), v);
  free(v);
  return like;
}
