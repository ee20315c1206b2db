/* bench_gemm.c - GFLOP/s of matrix products on one thread, beside the measured peak of
 * multiply-adds in registers. The fastest of the repeats counts.
 *
 *   bench_gemm [deterministic] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "kernels/gemm.h"

typedef struct workload {
  const char *name;
  int64_t m, n, k;
  bool transposed_a, transposed_b;
} workload;

static const workload workloads[] = {
    {"256 x 256 x 256", 256, 256, 256, false, false},
    {"512 x 512 x 512", 512, 512, 512, false, false},
    {"1000 x 1000 x 1000", 1000, 1000, 1000, false, false},
    {"2048 x 2048 x 2048", 2048, 2048, 2048, false, false},
    {"1000 x 1000 x 1000, B^T", 1000, 1000, 1000, false, true},
    {"128 x 256 x 784, layer forward", 128, 256, 784, false, false},
    {"784 x 256 x 128, A^T, weight gradient", 784, 256, 128, true, false},
    {"128 x 784 x 256, B^T, input gradient", 128, 784, 256, false, true},
    {"128 x 10 x 128, last layer", 128, 10, 128, false, false},
    {"1 x 784 x 784, row", 1, 784, 784, false, false},
    {"784 x 1 x 784, column", 784, 1, 784, false, false},
    {"8 x 8 x 8", 8, 8, 8, false, false},
    {"16 x 16 x 16", 16, 16, 16, false, false},
    {"32 x 32 x 32", 32, 32, 32, false, false},
};

static void *buffer(size_t bytes) {
  bytes = (bytes + 127) / 64 * 64;
  void *block = aligned_alloc(64, bytes);
  if (!block) exit(1);
  memset(block, 0, bytes);
  return block;
}

/* The micro-kernel alone on panels in the first-level cache: as close to the units' peak as it
 * gets, since all but a few of its instructions are multiply-adds. Sampled between the repeats of
 * each workload, because a shared machine's clock is not constant. */
static double sample_peak(const sn_gemm_ukr *ukr) {
  enum { K = 64, CALLS = 1000 };
  static _Alignas(64) double a[K * 32], b[K * 64], c[32 * 64];
  const double begin = sn_host_now_ms();
  for (int i = 0; i < CALLS; i++) ukr->run(K, a, b, c, ukr->nr, true, ukr->mr);
  return 2.0 * K * CALLS * ukr->mr * ukr->nr / (sn_host_now_ms() - begin) / 1e6;
}

static double run_once(const sn_gemm *g, const void *a, const void *b, void *c, void *shared,
                       void *scratch, int calls) {
  const double begin = sn_host_now_ms();
  for (int i = 0; i < calls; i++) {
    for (int64_t u = 0; u < g->pack_units; u++) sn_gemm_pack(g, a, b, u, shared);
    for (int64_t t = 0; t < g->tasks; t++) sn_gemm_tile_to(g, a, b, c, g->n, t, shared, scratch);
  }
  return (sn_host_now_ms() - begin) / calls;
}

static void run_workload(const workload *w, sn_dtype dtype, bool deterministic) {
  sn_gemm g = {.dtype = dtype,
               .m = w->m,
               .n = w->n,
               .k = w->k,
               .a = {sn_nest_line(w->m, w->transposed_a ? 1 : w->k),
                     sn_nest_line(w->k, w->transposed_a ? w->m : 1)},
               .b = {sn_nest_line(w->n, w->transposed_b ? w->k : 1),
                     sn_nest_line(w->k, w->transposed_b ? 1 : w->n)},
               .sharing = SN_GEMM_SHARES_OPERANDS};
  sn_gemm_plan(&g, sn_gemm_ukr_for(g.dtype, sn_isa_detect(), deterministic));
  const size_t bytes = dtype == SN_F64 ? 8 : 4;
  void *a = buffer((size_t)(w->m * w->k) * bytes), *b = buffer((size_t)(w->k * w->n) * bytes);
  void *c = buffer((size_t)(w->m * w->n) * bytes), *scratch = buffer(g.scratch_bytes);
  void *shared = buffer(g.shared_bytes);
  const int calls = g.flops > 2e7 ? 1 : (int)(2e7 / g.flops);
  double best = run_once(&g, a, b, c, shared, scratch, calls);
  double spent = best * calls, peak = sample_peak(g.ukr);
  for (int repeat = 0; repeat < 5 || spent < 300; repeat++) {
    const double ms = run_once(&g, a, b, c, shared, scratch, calls);
    spent += ms * calls;
    const double sample = sample_peak(g.ukr);
    if (ms < best) best = ms;
    if (sample > peak) peak = sample;
  }
  const double rate = g.flops / best / 1e6;
  printf("  %-40s %3d tasks %10.4f ms %8.1f GFLOP/s %5.1f%% of %.1f\n", w->name, (int)g.tasks, best,
         rate, 100 * rate / peak, peak);
  free(a);
  free(b);
  free(c);
  free(scratch);
  free(shared);
}

int main(int argc, char **argv) {
  const bool deterministic = argc > 1 && strcmp(argv[1], "deterministic") == 0;
  for (sn_dtype dtype = SN_F32; dtype <= SN_F64; dtype++) {
    const sn_gemm_ukr *ukr = sn_gemm_ukr_for(dtype, sn_isa_detect(), deterministic);
    printf("%s float%d %d x %d, one thread\n", sn_isa_name(ukr->isa), dtype == SN_F64 ? 64 : 32,
           ukr->mr, ukr->nr);
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
      run_workload(&workloads[i], dtype, deterministic);
  }
  return 0;
}
