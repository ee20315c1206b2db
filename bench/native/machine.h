/* machine.h - what this machine can do at most, measured on 1 or more threads at once:
 *   fma         multiply-adds of the widest vectors, fused
 *   muladd128   multiplies and adds of 128-bit vectors: the limit of WebAssembly without relaxed SIMD
 *   copy        memcpy of a block of 1M floats, bytes read and written
 *   memory      memcpy of a block that no cache holds, likewise
 * The arithmetic runs in registers only, in enough independent chains to fill the units. */
#ifndef SINTER_BENCH_MACHINE_H
#define SINTER_BENCH_MACHINE_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"

#define MAX_THREADS 64
#define MEASURE_MS 15.0
enum { CHAINS = 12, ROUNDS = 20000, COPY_BYTES = 4 << 20, MEMORY_BYTES = 64 << 20 };

typedef struct peak_thread {
  double (*measure)(void);
  double rate;
} peak_thread;

/* Read at run time: the compiler must not know that the chains compute the same. */
static _Thread_local volatile float start_values[CHAINS];

/* One call: ROUNDS visits of CHAINS accumulators; gives its floating-point operations. */
#define DEFINE_PEAK(name, attributes, vec, multiply_add)                                    \
  attributes static double name##_calls(void) {                                             \
    enum { LANES = sizeof(vec) / sizeof(float) };                                           \
    vec sums[CHAINS], x = {0}, y = {0};                                                     \
    for (int c = 0; c < CHAINS; c++)                                                        \
      for (int i = 0; i < LANES; i++) ((float *)&sums[c])[i] = start_values[c];             \
    for (int i = 0; i < LANES; i++) ((float *)&x)[i] = ((float *)&y)[i] = start_values[0];  \
    for (int i = 0; i < ROUNDS; i++)                                                        \
      _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++)                             \
          sums[c] = multiply_add(sums[c], x, y);                                            \
    for (int c = 0; c < CHAINS; c++) start_values[c] = ((float *)&sums[c])[0];              \
    return 2.0 * ROUNDS * CHAINS * LANES;                                                   \
  }                                                                                         \
  static double name(void) { return rate_of(name##_calls); }

/* The best rate, in 1e9 a second, of calls during MEASURE_MS. */
static double rate_of(double (*call)(void)) {
  const double begin = sn_host_now_ms();
  double best = 0;
  for (double from = begin; from - begin < MEASURE_MS;) {
    const double work = call();
    const double to = sn_host_now_ms();
    if (to > from && work / (to - from) > best) best = work / (to - from);
    from = to;
  }
  return best * 1e-6;
}

typedef float vec128 __attribute__((vector_size(16)));
#define MULTIPLY_ADD(sum, x, y) ((sum) * (x) + (y))
DEFINE_PEAK(muladd128, , vec128, MULTIPLY_ADD)

#if defined(__x86_64__)
#include <immintrin.h>
DEFINE_PEAK(fma_avx2, __attribute__((target("avx2,fma"))), __m256, _mm256_fmadd_ps)
DEFINE_PEAK(fma_avx512, __attribute__((target("avx512f"))), __m512, _mm512_fmadd_ps)

static inline double fma_widest(void) {
  if (__builtin_cpu_supports("avx512f")) return fma_avx512();
  if (__builtin_cpu_supports("fma")) return fma_avx2();
  return muladd128();
}
#else
static inline double fma_widest(void) { return muladd128(); }
#endif

static _Thread_local char *copy_from, *copy_to;
static _Thread_local size_t copy_bytes;

static double copy_once(void) {
  memcpy(copy_to, copy_from, copy_bytes);
  return 2.0 * (double)copy_bytes;
}

static double bandwidth_of(size_t bytes) {
  copy_from = malloc(bytes);
  copy_to = malloc(bytes);
  copy_bytes = bytes;
  double rate = 0;
  if (copy_from && copy_to) {
    memset(copy_from, 1, bytes);
    memset(copy_to, 1, bytes);
    rate = rate_of(copy_once);
  }
  free(copy_from);
  free(copy_to);
  return rate;
}

static void *peak_main(void *arg) {
  peak_thread *t = arg;
  t->rate = t->measure();
  return NULL;
}

static inline double copy_bandwidth(void) { return bandwidth_of(COPY_BYTES); }
static inline double memory_bandwidth(void) { return bandwidth_of(MEMORY_BYTES); }

/* The sum over `threads` threads that measure at the same time. */
static double machine_peak(double (*measure)(void), int threads) {
  pthread_t ids[MAX_THREADS];
  peak_thread states[MAX_THREADS];
  int started = 0;
  for (; started < threads && started < MAX_THREADS; started++) {
    states[started] = (peak_thread){.measure = measure};
    if (pthread_create(&ids[started], NULL, peak_main, &states[started])) break;
  }
  double sum = 0;
  for (int i = 0; i < started; i++) {
    pthread_join(ids[i], NULL);
    sum += states[i].rate;
  }
  return sum;
}

#endif
