/* bench_blas.c - matrix products beside those of another BLAS, in turns in one process. Its library
 * is opened at run time, so that nothing here depends on it.
 *
 *   bench_blas LIBRARY [THREADS [ROUNDS [FILTER]]]     e.g. libopenblas.so.0
 *
 * With one thread the times are the thread's own CPU time, which holds on a busy machine too; with
 * more they are wall time. A product with an epilogue is relu(A B + bias), to which the BLAS adds a
 * plain loop over C. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine.h"
#include "workloads.h"

typedef void gemm_fn(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                     const float *a, int lda, const float *b, int ldb, float beta, float *c,
                     int ldc);
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, MAX_ROUNDS = 1000, SETTLE_MS = 60 };

typedef struct product {
  const char *name;
  int m, n, k;
  bool trans_a, trans_b, epilogue;
} product;

static const product products[] = {
    {"16 x 16 x 16", 16, 16, 16, 0, 0, 0},
    {"64 x 64 x 64", 64, 64, 64, 0, 0, 0},
    {"256", 256, 256, 256, 0, 0, 0},
    {"512", 512, 512, 512, 0, 0, 0},
    {"1000", 1000, 1000, 1000, 0, 0, 0},
    {"1024", 1024, 1024, 1024, 0, 0, 0},
    {"2048", 2048, 2048, 2048, 0, 0, 0},
    {"128 x 784 x 512", 128, 512, 784, 0, 0, 0},
    {"512, A^T", 512, 512, 512, 1, 0, 0},
    {"512, B^T", 512, 512, 512, 0, 1, 0},
    {"1000, A^T", 1000, 1000, 1000, 1, 0, 0},
    {"1000, B^T", 1000, 1000, 1000, 0, 1, 0},
    {"256, epilogue", 256, 256, 256, 0, 0, 1},
    {"512, epilogue", 512, 512, 512, 0, 0, 1},
    {"1000, epilogue", 1000, 1000, 1000, 0, 0, 1},
    {"128 x 784 x 512, epilogue", 128, 512, 784, 0, 0, 1},
    {"512 x 1024 x 2048, epilogue", 512, 2048, 1024, 0, 0, 1},
};

typedef struct bench {
  gemm_fn *gemm;
  sn_context *ctx;
  int threads, rounds;
} bench;

static double now_ms(const bench *b) {
  struct timespec t;
  if (b->threads > 1) return sn_host_now_ms();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Whoever computed before lets its threads spin for a while. */
static void settle(const bench *b) {
  const struct timespec pause = {.tv_nsec = SETTLE_MS * 1000000L};
  if (b->threads > 1) nanosleep(&pause, NULL);
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double median(double *ms, int n) {
  qsort(ms, (size_t)n, sizeof *ms, by_size);
  return ms[n / 2];
}

static sn_status make(const product *p, workload *w) {
  sn_tensor *a = floats(w, 2, p->trans_a ? (int64_t[]){p->k, p->m} : (int64_t[]){p->m, p->k}, 1);
  sn_tensor *b = floats(w, 2, p->trans_b ? (int64_t[]){p->n, p->k} : (int64_t[]){p->k, p->n}, 1);
  sn_tensor *bias = p->epilogue ? floats(w, 1, (int64_t[]){p->n}, 1) : NULL;
  const int swap[] = {1, 0};
  if (p->trans_a) a = sn_transpose(a, swap);
  if (p->trans_b) b = sn_transpose(b, swap);
  sn_tensor *c = sn_matmul(a, b);
  if (bias) c = sn_relu(sn_add(c, bias));
  return compile(w, &c, 1, NULL);
}

static void blas(const bench *b, const product *p, float *const *x, float *c) {
  b->gemm(ROW_MAJOR, p->trans_a ? TRANS : NO_TRANS, p->trans_b ? TRANS : NO_TRANS, p->m, p->n, p->k,
          1, x[0], p->trans_a ? p->m : p->k, x[1], p->trans_b ? p->k : p->n, 0, c, p->n);
  for (int i = 0; p->epilogue && i < p->m; i++)
    for (int j = 0; j < p->n; j++) {
      const float y = c[i * p->n + j] + x[2][j];
      c[i * p->n + j] = y > 0 ? y : 0;
    }
}

static int compare(const bench *b, const product *p) {
  static double ours[MAX_ROUNDS], theirs[MAX_ROUNDS], peaks[MAX_ROUNDS];
  workload w = {.ctx = b->ctx};
  if (make(p, &w)) return 1;
  float *x[3] = {0}, *c = malloc(sizeof(float) * (size_t)p->m * (size_t)p->n);
  for (size_t i = 0; i < w.n_inputs; i++) x[i] = (float *)(uintptr_t)sn_data(w.inputs[i]);
  const double flops = 2.0 * p->m * p->n * p->k;
  const int calls = flops > 2e7 ? 1 : (int)(2e7 / flops) + 1;
  for (int r = 0; r < b->rounds; r++) {
    settle(b);
    blas(b, p, x, c);
    double from = now_ms(b);
    for (int i = 0; i < calls; i++) blas(b, p, x, c);
    theirs[r] = (now_ms(b) - from) / calls;
    settle(b);
    if (workload_call(&w)) return 1;
    from = now_ms(b);
    for (int i = 0; i < calls; i++)
      if (workload_call(&w)) return 1;
    ours[r] = (now_ms(b) - from) / calls;
    peaks[r] = machine_peak(fma_widest, b->threads);
  }
  double error = 0;
  const float *mine = sn_data(w.outputs[0]);
  for (int64_t i = 0; i < (int64_t)p->m * p->n; i++)
    error = fmax(error, fabs((double)mine[i] - (double)c[i]));
  const double peak = (median(peaks, b->rounds), peaks[b->rounds - 1]);
  const double m = median(ours, b->rounds), n = median(theirs, b->rounds);
  printf("%-28s median %9.4f / %9.4f ms = %5.2f x   least %9.4f / %9.4f ms = %5.2f x   %6.1f "
         "GFLOP/s, %3.0f %% of "
         "%.0f   apart %.1e\n",
         p->name, m, n, n / m, ours[0], theirs[0], theirs[0] / ours[0], flops / ours[0] * 1e-6,
         flops / ours[0] * 1e-4 / peak, peak, error);
  workload_release(&w);
  free(c);
  return 0;
}

int main(int argc, char **argv) {
  bench b = {.threads = argc > 2 ? atoi(argv[2]) : 1, .rounds = argc > 3 ? atoi(argv[3]) : 10};
  /* OpenBLAS's threads would spin on the cores of whoever is next, for longer than settle. */
  setenv("OPENBLAS_THREAD_TIMEOUT", "4", 0);
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (!library || b.rounds < 1 || b.rounds > MAX_ROUNDS)
    return fprintf(stderr, "bench_blas LIBRARY [THREADS [ROUNDS [FILTER]]]\n"), 1;
  void (*set_threads)(int);
  *(void **)&b.gemm = dlsym(library, "cblas_sgemm");
  *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
  const sn_options options = {.threads = b.threads};
  if (!b.gemm || sn_context_create(&options, &b.ctx)) return 1;
  if (set_threads) set_threads(b.threads);
  printf("%s against %s, %d threads: times ours / theirs\n", sn_isa(b.ctx), argv[1], b.threads);
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    if (argc < 5 || strstr(products[i].name, argv[4]))
      if (compare(&b, &products[i])) return 1;
  sn_context_destroy(b.ctx);
  return 0;
}
