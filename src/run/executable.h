/* executable.h - a program as the CPU runs it: a kernel per step, and the walk over the steps.
 *
 * A run touches the executable and the buffers it is given, and allocates nothing. The last buffer is
 * the workspace, which begins with the arena. Runs that share a workspace must follow each other; its
 * contents do not outlive a run.
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
  bool serial;        /* a loop that is better run as one function (kernels/serial_loop.h) */
  const void *module; /* of that function's code; NULL: the regions' programs run */
  bool (*ready)(const void *module);
  sn_serial_code *const *code; /* where the function is once it is ready */
  void *owner;                 /* the backend's own */
  double unclocked; /* as in sn_run_place, at the step's end */
  /* Goes on from where the step was interrupted, or begins it; false: interrupted again. */
  bool (*run)(struct sn_control_step *step, const sn_run *run, bool begins, double until,
              sn_status *status);
} sn_control_step;

typedef struct sn_executable {
  sn_program_code *program; /* its arena owns this and everything below */
  const struct sn_backend *backend;
  void *code;                     /* the backend's own: code that kernels call */
  sn_kernel *kernels;             /* per step */
  sn_control_step **controls;     /* per step: NULL if it is no control flow */
  struct sn_exchanges *exchanges; /* with other processes; NULL: there are none (exchange.h) */
  size_t n_kernels;
  sn_waves waves;
  void **values; /* per value: its address in the run under way */
  size_t shared_offset, workers_offset, worker_stride;
  uint32_t *profile_rows; /* per kernel, valid in profile_session */
  uint32_t profile_session;
} sn_executable;

size_t sn_executable_workspace_bytes(const sn_executable *exe, int workers);

/* Registers the kernels' rows, before a run with profiling on. */
sn_status sn_executable_register(sn_executable *exe, sn_profiler *profiler);

/* Between runs: if there is plenty of memory, allocates room to keep those operands packed whose
 * arguments have the same version as in the last call. */
void sn_executable_keep(sn_executable *exe, const uint64_t *versions);

/* Between runs: frees that room; false if there was none. */
bool sn_executable_forget(sn_executable *exe);

/* Where an interrupted run goes on; all zero: at its beginning. */
typedef struct sn_run_place {
  size_t kernel;
  int stage;        /* of the kernel, counted from 1; 0: its prologue */
  int64_t unit;     /* of the stage */
  int workers;      /* most workers that the kernel has run on */
  double ms;        /* the time that the kernel has taken */
  double unclocked; /* estimated nanoseconds of work since the clock was last read */
} sn_run_place;

struct sn_run {
  sn_executable *exe;
  void **buffers;     /* of the program, by number */
  uint64_t *versions; /* of the arguments' contents */
  sn_pool *pool;
  const sn_processes *processes; /* with which steps exchange data */
  sn_profiler *profiler;         /* NULL or off: nothing is recorded */
  bool poison;                   /* see poison.h */
  sn_watch *watch;               /* NULL: off */
  int debug;              /* SINTER_DEBUG; from SN_LOG_TIMES on every kernel's time is shown */
  char *shared, *workers; /* memory for both; NULL: where the executable has it in the workspace */
  size_t worker_stride;
  sn_run_place place;
  bool clocked; /* whether ms, the time that the run has taken so far, is wanted */
  double ms;
};

static inline char *sn_run_workspace(const sn_run *run) {
  return run->buffers[sn_arena_buffer(run->exe->program)];
}

/* Runs every kernel in order from run->place on, until the clock of sn_host_now_ms shows `until`:
 * then, between two kernels or two parts of one, it returns false, and the next call goes on. Returns
 * true at the end: *status is SN_OK, or SN_ERR_WORKER when a worker of the pool died, and the outputs
 * are then undefined. No other run may use the workspace or the executable in between. A run that may
 * be interrupted uses only the calling thread. */
bool sn_executable_step(sn_run *run, double until, sn_status *status);

/* Whether a run that may be interrupted has to stop, after about `worth` nanoseconds of further work.
 * Reading the clock costs as much as a small kernel, so it is not read each time. */
bool sn_run_time_over(sn_run_place *place, double until, double worth);

#endif
