/* executable.h - a program as the CPU runs it: a kernel per step, and the walk over the steps.
 *
 * A run touches the executable and the buffers it is given, and allocates nothing. The last buffer
 * is the workspace, the arena at its beginning. Runs that share one follow each other; its contents
 * do not outlive a run.
 *
 *   workspace: [ arena: intermediates | shared: partials | worker 0 | worker 1 | ... ] */
#ifndef SN_RUN_EXECUTABLE_H
#define SN_RUN_EXECUTABLE_H

#include "kernels/kernel.h"
#include "kernels/serial_loop.h"
#include "program/steps.h"
#include "run/profiler.h"
#include "run/watch.h"
#include "run/waves.h"
#include "threads/pool.h"

typedef struct sn_run sn_run;

/* A step of control flow, as rounds.c makes and runs it. */
typedef struct sn_control_step {
  struct sn_executable *regions[SN_MAX_REGIONS];
  uint32_t n_regions;
  size_t shared_bytes, worker_bytes;
  sn_serial_control described;
  bool serial;        /* a loop that is better one piece of code (kernels/serial_loop.h) */
  const void *module; /* of that; NULL: the regions' programs run */
  bool (*ready)(const void *module);
  sn_serial_code *const *code; /* where it stands once it is ready */
  void *owner;                 /* the backend's own */
  double unclocked; /* as in sn_run_place, when it ended */
  /* From where it was interrupted, or from its beginning; false: interrupted again. */
  bool (*run)(struct sn_control_step *step, const sn_run *run, bool begins, double until,
              sn_status *status);
} sn_control_step;

typedef struct sn_executable {
  sn_program_code *program; /* its arena owns this and everything below */
  const struct sn_backend *backend;
  void *code;                     /* the backend's own: what kernels call */
  sn_kernel *kernels;             /* per step */
  sn_control_step **controls;     /* per step: of control flow, or NULL */
  struct sn_exchanges *exchanges; /* with other processes; NULL: there are none (exchange.h) */
  size_t n_kernels;
  sn_waves waves;
  void **values; /* base pointers of the run under way */
  size_t shared_offset, workers_offset, worker_stride;
  uint32_t *profile_rows; /* per kernel, valid in profile_session */
  uint32_t profile_session;
} sn_executable;

size_t sn_executable_workspace_bytes(const sn_executable *exe, int workers);

/* Before a run with profiling on: registers the kernels' rows. */
sn_status sn_executable_register(sn_executable *exe, sn_profiler *profiler);

/* Between runs: makes room to keep packed those arguments whose versions were given the last time,
 * too, if there is plenty of memory. */
void sn_executable_keep(sn_executable *exe, const uint64_t *versions);

/* Between runs: gives that room back; false if there was none. */
bool sn_executable_forget(sn_executable *exe);

/* Where an interrupted run goes on; all zero: at its beginning. */
typedef struct sn_run_place {
  size_t kernel;
  int stage;        /* of the kernel, counted from 1; 0: what it runs before */
  int64_t unit;     /* of the stage */
  int workers;      /* most that the kernel has run on */
  double ms;        /* that the kernel has taken */
  double unclocked; /* nanoseconds that the work since the last look at the clock is worth */
} sn_run_place;

struct sn_run {
  sn_executable *exe;
  void **buffers;     /* of the program, by number */
  uint64_t *versions; /* of the arguments' contents */
  sn_pool *pool;
  const sn_processes *processes; /* that exchanges are with */
  sn_profiler *profiler;         /* NULL or off: nothing is recorded */
  bool poison;                   /* see poison.h */
  sn_watch *watch;               /* NULL: off */
  int debug;              /* SINTER_DEBUG; from SN_LOG_TIMES on every kernel's time is shown */
  char *shared, *workers; /* their memory; NULL: where the executable has it */
  size_t worker_stride;
  sn_run_place place;
  bool clocked; /* whether ms is wanted: what the run has taken so far */
  double ms;
};

static inline char *sn_run_workspace(const sn_run *run) {
  return run->buffers[sn_arena_buffer(run->exe->program)];
}

/* Every kernel in order from run->place on, until the clock of sn_host_now_ms shows `until`: then,
 * between two kernels or two parts of one, it returns false, and the next call goes on. True:
 * *status is SN_OK, or SN_ERR_WORKER when a worker of the pool died: outputs are then undefined. No
 * other run may use the workspace or the executable in between. A run that may be interrupted stays
 * on the caller. */
bool sn_executable_step(sn_run *run, double until, sn_status *status);

/* Whether a run that may be interrupted has to stop, after work worth so many nanoseconds more. The
 * clock costs as much as a small kernel, so that it is not looked at each time. */
bool sn_run_time_over(sn_run_place *place, double until, double worth);

#endif
