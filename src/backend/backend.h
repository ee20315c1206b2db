/* backend.h - what a kind of device does for the layers above it: it compiles programs, has memory,
 * and runs. A backend is one struct of functions:
 *
 *   sn_cpu_backend    backend_cpu.c    strips and library kernels over the workers of the pool
 *   sn_code_backend   the same kernels, with code that is made at run time hung in:
 *                     backend_jit_wasm.c emits WebAssembly, backend_cc_posix.c has the machine's compiler make it
 *   sn_gpu_backend    backend_gpu.c    shaders, on a device that the host reaches (backend_gpu.h)
 *
 * The first two share the device and its memory; which of them a program has is chosen when it is compiled. All
 * functions are called on the thread of the API. Runs end in the order of their submission. Tickets
 * count up from 1 and wrap around; 0 stands for a run that is over. */
#ifndef SN_BACKEND_BACKEND_H
#define SN_BACKEND_BACKEND_H

#include "run/executable.h"
#include "threads/driver.h"

/* The most runs that can be under way: the results of no more are kept. */
#define SN_MAX_SUBMITTED SN_DRIVER_RING

typedef struct sn_backend sn_backend;

/* A place where programs run. */
typedef struct sn_device {
  const sn_backend *backend; /* whose memory it has */
  sn_env *env;
  sn_pool *pool;
  sn_machine machine;
  sn_gemm_run_time gemm; /* what machine.gemm points at, if it has any */
  void *code;            /* the code backend's own */
} sn_device;

/* How a step runs. */
typedef struct sn_kernel_view {
  const char *engine; /* "vm", "jit", "cc", "ready" or "wgsl" */
  double dispatches;  /* to a device, of one run; a loop that tests counts as one round */
  const char *text;
} sn_kernel_view;

struct sn_backend {
  const char *name;

  /* The program as this backend runs it. *out and all that it has lie in the program's arena,
   * except for what release gives back. */
  sn_status (*compile)(const sn_device *device, sn_program_code *program, sn_executable **out);
  void (*release)(sn_executable *exe);

  /* For who looks at a program: per step how it runs, and the code of step k: WebAssembly text, C or WGSL. */
  sn_status (*views)(sn_arena *arena, const sn_executable *exe, sn_kernel_view *out);
  sn_status (*listing)(sn_arena *arena, const sn_executable *exe, size_t k, const char **out);

  /* Of the code backend, or NULL: what it has of a device; to wait until code under way is ready; one line about
   * it, which lives until the next call; and whether some is still to come. */
  sn_status (*open_code)(sn_device *device);
  void (*close_code)(sn_device *device);
  void (*wait_code)(const sn_device *device);
  const char *(*code_state)(const sn_device *device);
  bool (*code_coming)(const sn_device *device); /* has all of it made; or NULL */

  /* Memory, 64-byte aligned; map: where the host finds it. */
  sn_status (*allocate)(sn_device *device, size_t bytes, void **out);
  void (*deallocate)(sn_device *device, void *memory, size_t bytes);
  void *(*map)(sn_device *device, void *memory); /* NULL: the host cannot look there */
  void (*copy)(sn_device *device, void *to, const void *from, size_t bytes);
  void (*upload)(sn_device *device, void *to, const void *from, size_t bytes);
  void (*download)(sn_device *device, void *to, const void *from, size_t bytes); /* where it can */

  bool runs_whole; /* a run that fails has touched nothing */

  /* Returns the run's status when it is over; the calling thread takes part. No other run may be
   * under way. */
  sn_status (*run)(sn_device *device, sn_run *run);

  /* Whether runs can be submitted, which go on while the caller does other things. A run stays
   * where it is until it is over. */
  bool (*queues)(const sn_device *device);
  sn_status (*submit)(sn_device *device, sn_run *run, uint32_t *ticket);

  /* Whether the run with this ticket is over; then *status, unless status is NULL, is the run's. */
  bool (*poll)(const sn_device *device, uint32_t ticket, sn_status *status);
  void (*wait)(sn_device *device, uint32_t ticket);
};

extern const sn_backend sn_cpu_backend, sn_code_backend;

/* The most workers that a run may have; 0 on a device that has none. */
static inline int sn_device_workers(const sn_device *device) {
  return device->pool ? sn_pool_max_workers(device->pool) : 0;
}

/* The machine that this runs on. It stays where it is. *target is the CPU's: which bits functions
 * have, and what lookups cost, follow from the code that can be made here. threads: 0: as many as
 * there are cores; isa: NULL: the best one. Close it after an error, too. */
sn_status sn_device_open(sn_device *device, sn_env *env, sn_target *target, int threads,
                         const char *isa, bool relaxed_simd);
void sn_device_close(sn_device *device);

#endif
