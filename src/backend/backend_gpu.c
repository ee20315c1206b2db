/* backend_gpu.c - a graphics processor behind the host (gpu_host.h). Programs are shaders (wgsl/), memory is buffers that the host
 * cannot look into. Submitting a run is all of it here: what follows on the device, follows it in time. */
#include "backend/backend_gpu.h"

#include "backend/gpu_host.h"

static uint32_t number_of(const void *handle) { return (uint32_t)(uintptr_t)handle; }
static void *handle_of(uint32_t number) { return (void *)(uintptr_t)number; }

/* ---- compiling ------------------------------------------------------------------------------- */

/* sn_take_dispatch */
static sn_status add_dispatch(void *executable, const sn_dispatch *dispatch) {
  const sn_executable *exe = executable;
  sn_gpu_dispatch(number_of(exe->code), dispatch);
  return SN_OK;
}

static sn_status compile(const sn_device *device, sn_program_code *program, sn_executable **out) {
  sn_executable *exe;
  sn_arena texts;
  SN_TRY(sn_arena_alloc(&program->arena, 1, sizeof *exe, (void **)&exe));
  *exe = (sn_executable){.program = program,
                         .backend = device->backend,
                         .code = handle_of(sn_gpu_program()),
                         .workers_offset = program->plan.arena_bytes};
  sn_arena_init(&texts, device->env);
  const sn_status status = sn_wgsl_program(program, &texts, add_dispatch, exe);
  sn_arena_free(&texts);
  if (status) {
    sn_gpu_forget(number_of(exe->code));
    return status;
  }
  *out = exe;
  return SN_OK;
}

static void release(sn_executable *exe) { sn_gpu_forget(number_of(exe->code)); }

/* ---- memory ---------------------------------------------------------------------------------- */

static sn_status allocate(sn_device *device, size_t bytes, void **out) {
  const uint32_t buffer = sn_gpu_allocate(bytes);
  SN_FAIL_IF(device->env, !buffer, SN_ERR_MEMORY, NULL, "the device has no memory for %zu bytes",
             bytes);
  *out = handle_of(buffer);
  return SN_OK;
}

static void deallocate(sn_device *device, void *memory, size_t bytes) {
  (void)device;
  (void)bytes;
  if (memory) sn_gpu_release(number_of(memory));
}

static void *map(sn_device *device, void *memory) {
  (void)device;
  (void)memory;
  return NULL;
}

static void copy(sn_device *device, void *to, const void *from, size_t bytes) {
  (void)device;
  if (bytes) sn_gpu_copy(number_of(to), number_of(from), bytes);
}

static void upload(sn_device *device, void *to, const void *from, size_t bytes) {
  (void)device;
  if (bytes) sn_gpu_upload(number_of(to), from, bytes);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static sn_status run(sn_device *device, sn_run *r) {
  const sn_executable *exe = r->exe;
  SN_FAIL_IF(device->env, sn_gpu_run(number_of(exe->code), r->buffers, exe->program->n_buffers),
             SN_ERR_WORKER, NULL, "the device was lost; what lay there has no value");
  return SN_OK;
}

static bool queues(const sn_device *device) {
  (void)device;
  return false;
}

static bool poll(const sn_device *device, uint32_t ticket, sn_status *status) {
  (void)device;
  (void)ticket;
  if (status) *status = SN_OK;
  return true;
}

static void wait(sn_device *device, uint32_t ticket) {
  (void)device;
  (void)ticket;
}

const sn_backend sn_gpu_backend = {.name = "webgpu",
                                   .compile = compile,
                                   .release = release,
                                   .allocate = allocate,
                                   .deallocate = deallocate,
                                   .map = map,
                                   .copy = copy,
                                   .upload = upload,
                                   .run = run,
                                   .queues = queues,
                                   .poll = poll,
                                   .wait = wait};
