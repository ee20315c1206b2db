/* executable.h - a compiled graph: kernels in order, the plan of their memory, and the walk over
 * them.
 *
 * A run touches the executable, the workspace and the buffers it is given, and allocates nothing.
 * Runs that share a workspace follow each other; the contents of a workspace do not outlive a run.
 *
 *   workspace: [ arena: intermediates | shared: partials | worker 0 | worker 1 | ... ]
 */
#ifndef SN_RUN_EXECUTABLE_H
#define SN_RUN_EXECUTABLE_H

#include "kernels/kernel.h"
#include "plan/plan.h"
#include "run/profiler.h"
#include "threads/pool.h"

typedef struct sn_stage_text {
  const char *stage, *text;
} sn_stage_text;

typedef struct sn_executable {
  sn_arena arena; /* owns everything below */
  sn_graph graph; /* after all passes */
  sn_groups groups;
  sn_plan plan;
  sn_kernel *kernels;
  size_t n_kernels;
  struct sn_code_module *code; /* that the kernels call, or NULL */
  size_t n_arguments;
  void **values; /* base pointers of the run under way */
  size_t shared_offset, workers_offset, worker_stride;
  double flops, bytes;
  sn_stage_text *texts; /* dumps of the stages, when asked for */
  size_t n_texts;
  const char *inspection; /* what the compiler did, as JSON; NULL unless recorded */
  uint32_t *profile_rows; /* per kernel, valid in profile_session */
  uint32_t profile_session;
} sn_executable;

size_t sn_executable_workspace_bytes(const sn_executable *exe, int workers);

/* Before a run with profiling on: the kernels' rows. */
sn_status sn_executable_register(sn_executable *exe, sn_profiler *profiler);

/* Between runs: makes room to keep packed those arguments whose versions were given the last time,
 * too, if there is plenty of memory. */
void sn_executable_keep(sn_executable *exe, const uint64_t *versions);

/* Between runs: gives that room back; false if there was none. */
bool sn_executable_forget(sn_executable *exe);

typedef struct sn_run_args {
  void *const *arguments;   /* per argument of the graph */
  const uint64_t *versions; /* of their contents */
  void *const *fresh;       /* per fresh output of the plan */
  void *workspace;
  sn_pool *pool;
  sn_profiler *profiler; /* NULL or off: nothing is recorded */
  bool poison;           /* see poison.h */
  int debug;             /* SINTER_DEBUG; from SN_LOG_TIMES on every kernel's time is shown */
} sn_run_args;

/* Where an interrupted run goes on; all zero: at its beginning. */
typedef struct sn_run_place {
  size_t kernel;
  int stage;        /* of the kernel, counted from 1; 0: what it runs before */
  int64_t unit;     /* of the stage */
  int workers;      /* most that the kernel has run on */
  double ms;        /* that the kernel has taken */
  double unclocked; /* nanoseconds that the work since the last look at the clock is worth */
} sn_run_place;

/* Every kernel in order from *place on, until the clock of sn_host_now_ms shows `until`: then,
 * between two kernels or two parts of one, it returns false, and the next call goes on. True:
 * *status is SN_OK, or SN_ERR_WORKER when a worker of the pool died: outputs are then undefined. No
 * other run may use the workspace or the executable in between. A run that may be interrupted stays
 * on the caller. */
bool sn_executable_step(sn_executable *exe, const sn_run_args *args, double until,
                        sn_run_place *place, sn_status *status);

/* The same without interruption. */
sn_status sn_executable_run(sn_executable *exe, const sn_run_args *args);

#endif
