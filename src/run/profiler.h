/* profiler.h - where the time of programs goes: sums per kernel, and spans per worker.
 *
 * Everything is allocated at start and at registration, on the API thread. While programs run, each
 * worker appends to its own spans; only the thread that drives a run updates the sums and the spans of
 * runs, and only the API thread those of compiles. So no two threads write the same data. */
#ifndef SN_RUN_PROFILER_H
#define SN_RUN_PROFILER_H

#include "base/alloc.h"

typedef struct sn_worker_spans {
  sn_span *spans;
  size_t used, lost;
  uint64_t dispatch; /* of the newest span: spans of one dispatch on one worker become one */
} sn_worker_spans;

typedef struct sn_profiler {
  bool on;
  uint32_t session; /* counts starts: registrations of older sessions are void */
  sn_arena arena;
  sn_kernel_profile *kernels;
  size_t n_kernels, cap_kernels;
  sn_worker_spans *workers; /* n_workers, then one for runs and one for compiles */
  int n_workers;
  size_t spans_per_worker;
  uint64_t dispatch;
  sn_span *merged; /* all workers' spans, once stopped */
  size_t n_merged, lost;
} sn_profiler;

sn_status sn_profiler_start(sn_profiler *p, sn_env *env, int workers, size_t max_spans);
void sn_profiler_stop(sn_profiler *p);
void sn_profiler_free(sn_profiler *p);

/* The row of sums of the kernel with this name and kind; adds it if it is new. */
sn_status sn_profiler_register(sn_profiler *p, const char *name, const char *kind, uint32_t *row);

/* A run (SN_SPAN_RUN) or a compile (SN_SPAN_COMPILE) took from begin to end. */
void sn_profiler_interval(sn_profiler *p, uint32_t what, double begin, double end);

/* A worker was busy with kernel row, number step of its program, from begin to end, as part of the current dispatch. */
void sn_profiler_span(sn_profiler *p, int worker, uint32_t row, uint32_t step, double begin,
                      double end);

#endif
