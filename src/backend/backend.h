/* backend.h - what a kind of device does for the layers above it: it compiles programs, has memory,
 * and runs. A backend is one struct of functions:
 *
 *   sn_cpu_backend    backend_cpu.c    strips and library kernels over the workers of the pool
 *   sn_code_backend   the same kernels, which call code that is made at run time:
 *                     backend_jit_wasm.c emits WebAssembly, backend_cc_posix.c has the machine's compiler make it
 *   sn_gpu_backend    backend_gpu.c    shaders, on a device that the host reaches (backend_gpu.h)
 *
 * The first two share the device and its memory; which of them a program uses is chosen when it is compiled. All
 * functions are called on the thread of the API. Runs end in the order of their submission. Tickets
 * count up from 1 and wrap around; 0 stands for a run that is over. */
#ifndef SN_BACKEND_BACKEND_H
#define SN_BACKEND_BACKEND_H

#include "run/executable.h"
#include "threads/driver.h"

/* Most runs that can be under way, as the driver keeps the results of no more. */
#define SN_MAX_SUBMITTED SN_DRIVER_RING

typedef struct sn_backend sn_backend;

/* A place where programs run. */
typedef struct sn_device {
  const sn_backend *backend; /* that allocates its memory */
  sn_env *env;
  sn_pool *pool;
  sn_machine machine;
  sn_gemm_run_time gemm; /* machine.gemm points at it, or is NULL */
  void *code;            /* the code backend's own */
} sn_device;

/* How a step runs. */
typedef struct sn_kernel_view {
  const char *engine; /* "vm", "jit", "cc", "ready" or "wgsl" */
  double dispatches;  /* to a device, in one run; a while_loop counts as one round */
  const char *text;
} sn_kernel_view;

struct sn_backend {
  const char *name;

  /* Makes the program as this backend runs it. *out and all that it has lie in the program's arena,
   * except for what release gives back. */
  sn_status (*compile)(const sn_device *device, sn_program_code *program, sn_executable **out);
  void (*release)(sn_executable *exe);

  /* To inspect a program: per step how it runs; and the code of step k as WebAssembly text, C or WGSL. */
  sn_status (*views)(sn_arena *arena, const sn_executable *exe, sn_kernel_view *out);
  sn_status (*listing)(sn_arena *arena, const sn_executable *exe, size_t k, const char **out);

  /* The code backend's, or NULL. open_code, close_code: its state of a device, device->code. wait_code waits until code
   * under way is ready. code_state is one line about that code, which lives until the next call. */
  sn_status (*open_code)(sn_device *device);
  void (*close_code)(sn_device *device);
  void (*wait_code)(const sn_device *device);
  const char *(*code_state)(const sn_device *device);
  bool (*code_coming)(
      const sn_device *device); /* whether some is still to come; has all of it made */

  /* Memory, 64-byte aligned. map: the address at which the host finds it. */
  sn_status (*allocate)(sn_device *device, size_t bytes, void **out);
  void (*deallocate)(sn_device *device, void *memory, size_t bytes);
  void *(*map)(sn_device *device, void *memory); /* NULL: the host cannot look there */
  void (*copy)(sn_device *device, void *to, const void *from, size_t bytes);
  void (*upload)(sn_device *device, void *to, const void *from, size_t bytes);
  void (*download)(sn_device *device, void *to, const void *from, size_t bytes); /* or NULL */

  bool runs_whole; /* a run that fails has changed no memory */

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

/* Opens the machine that this runs on. The device must not be moved afterwards. *target is the CPU's;
 * it is told which bits functions have and what lookups cost, which depends on the code that can be
 * made here. threads: 0 for as many as there are cores; isa: NULL for the best one. Close the device
 * after an error, too. */
sn_status sn_device_open(sn_device *device, sn_env *env, sn_target *target, int threads,
                         const char *isa, bool relaxed_simd);
void sn_device_close(sn_device *device);

#endif
