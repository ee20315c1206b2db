/* bench_loops.c - a loop over tiny tensors: prey and predators by the midpoint rule, the product of both at the end and
 * its derivatives by how they began, kernel by kernel and as one function of the machine's compiler.
 *
 *   bench_loops [ROUNDS]     2,000 if not given; one thread; SINTER_CC as docs/native.md has it */
#include <stdio.h>
#include <stdlib.h>

#include "base/host.h"
#include "sinter.h"

enum { CALLS = 200, RESULTS = 3 };

typedef struct animals {
  sn_tensor *prey, *predators;
} animals;

static sn_context *ctx;

static sn_tensor *times(sn_tensor *x, double factor) {
  return sn_mul(x, sn_full(ctx, sn_dtype_of(x), 0, NULL, factor));
}

/* dx/dt = 1.1 x - 0.4 x y, dy/dt = 0.1 x y - 0.4 y */
static animals slope(animals a) {
  sn_tensor *met = sn_mul(a.prey, a.predators);
  return (animals){sn_sub(times(a.prey, 1.1), times(met, 0.4)),
                   sn_sub(times(met, 0.1), times(a.predators, 0.4))};
}

static animals ahead(animals a, animals along, double dt) {
  return (animals){sn_add(a.prey, times(along.prey, dt)),
                   sn_add(a.predators, times(along.predators, dt))};
}

static sn_status write_program(sn_dtype dtype, int64_t rounds, sn_program **out) {
  sn_tensor *given[2], *carried[2], *end[2], *results[RESULTS];
  for (int i = 0; i < 2; i++) {
    given[i] = sn_placeholder(ctx, dtype, 0, NULL);
    carried[i] = sn_placeholder(ctx, dtype, 0, NULL);
  }
  const double dt = 0.01;
  const animals now = {carried[0], carried[1]}, half = ahead(now, slope(now), dt / 2);
  const animals next = ahead(now, slope(half), dt);
  sn_tensor *made[] = {next.prey, next.predators};
  const sn_traced body = {carried, 2, made, 2};
  sn_status status = sn_scan(ctx, &body, 2, given, rounds, false, end);
  if (status) return status;
  results[0] = sn_mul(end[0], end[1]);
  status = sn_gradients(results[0], given, 2, results + 1);
  return status ? status : sn_compile(ctx, given, 2, results, RESULTS, NULL, out);
}

/* The best of many calls, ms. */
static double time_calls(sn_program *program, sn_tensor *const *values) {
  double best = 1e9;
  for (int i = 0; i < CALLS; i++) {
    sn_tensor *results[RESULTS];
    if (sn_scope_begin(ctx)) exit(1);
    const double begin = sn_host_now_ms();
    if (sn_program_run(program, values, results)) exit(1);
    sn_data(results[0]);
    const double ms = sn_host_now_ms() - begin;
    if (ms < best) best = ms;
    sn_scope_end(ctx);
  }
  return best;
}

static void measure(sn_dtype dtype, const char *name, int64_t rounds) {
  const sn_options options = {.threads = 1};
  sn_program *programs[2];
  if (sn_context_create(&options, &ctx) || sn_scope_begin(ctx)) exit(1);
  for (int code = 0; code < 2; code++)
    if (sn_pass_enable(ctx, "jit", code) || write_program(dtype, rounds, &programs[code])) {
      fprintf(stderr, "%s\n", sn_error_message(ctx));
      exit(1);
    }
  sn_tensor *values[] = {sn_full(ctx, dtype, 0, NULL, 10), sn_full(ctx, dtype, 0, NULL, 5)};
  const double kernels = time_calls(programs[0], values);
  sn_code_wait(ctx);
  const double function = time_calls(programs[1], values);
  printf("%-8s %8.4f ms kernel by kernel  %8.4f ms as a function  x %.1f  (%s)\n", name, kernels,
         function, kernels / function, sn_code_state(ctx));
  for (int code = 0; code < 2; code++) sn_program_release(programs[code]);
  sn_scope_end(ctx);
  sn_context_destroy(ctx);
}

int main(int argc, char **argv) {
  const int64_t rounds = argc > 1 ? atoll(argv[1]) : 2000;
  measure(SN_F32, "float32", rounds);
  measure(SN_F64, "float64", rounds);
  return 0;
}
