/* backend_gpu.c - a graphics processor that the host reaches (gpu_host.h). Programs are shaders (wgsl/), memory is buffers that
 * this code cannot look into. A run is over here as soon as it is submitted: the device carries out all later requests after
 * it. */
#include "backend/backend_gpu.h"

#include "backend/gpu_host.h"

static uint32_t number_of(const void *handle) { return (uint32_t)(uintptr_t)handle; }
static void *handle_of(uint32_t number) { return (void *)(uintptr_t)number; }

/* Fails with the host's message. */
static sn_status refused(const sn_device *device, sn_status status) {
  char text[1024] = "";
  sn_gpu_why(text, sizeof text);
  return SN_FAIL(device->env, status, NULL, "%s", text);
}

/* ---- compiling ------------------------------------------------------------------------------- */

static sn_status compile(const sn_device *device, sn_program_code *program, sn_executable **out) {
  sn_executable *exe;
  sn_arena texts;
  sn_device_steps steps;
  SN_TRY(sn_arena_alloc(&program->arena, 1, sizeof *exe, (void **)&exe));
  sn_arena_init(&texts, device->env);
  const sn_status status = sn_wgsl_program(&texts, program, &steps);
  if (!status) {
    *exe = (sn_executable){
        .program = program,
        .backend = device->backend,
        .code = handle_of(sn_gpu_program(steps.gate_words, (uint32_t)program->n_arguments)),
        .workers_offset = program->plan.arena_bytes};
    for (size_t i = 0; i < steps.n; i++) sn_gpu_step(number_of(exe->code), &steps.list[i]);
    *out = exe;
  }
  sn_arena_free(&texts);
  return status;
}

static void release(sn_executable *exe) { sn_gpu_forget(number_of(exe->code)); }

/* Views are rarely asked for, so the steps are not kept but made again. */
static sn_status views(sn_arena *arena, const sn_executable *exe, sn_kernel_view *out) {
  sn_device_steps steps;
  SN_TRY(sn_wgsl_program(arena, exe->program, &steps));
  for (size_t k = 0; k < exe->program->n_steps; k++) {
    const sn_group *group = &exe->program->groups.groups[exe->program->steps[k].group];
    sn_text text = sn_text_in(arena);
    out[k].engine = "wgsl";
    out[k].dispatches = sn_wgsl_dispatches(&steps, k);
    sn_text_add(&text, "k%zu %s: %.0f dispatches\n", k, group->name, out[k].dispatches);
    SN_TRY(text.status);
    out[k].text = text.data;
  }
  return SN_OK;
}

static sn_status listing(sn_arena *arena, const sn_executable *exe, size_t k, const char **out) {
  sn_device_steps steps;
  sn_text text = sn_text_in(arena);
  SN_TRY(sn_wgsl_program(arena, exe->program, &steps));
  sn_wgsl_print(&text, &steps, k);
  *out = text.data;
  return text.status;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static sn_status allocate(sn_device *device, size_t bytes, void **out) {
  const uint32_t buffer = sn_gpu_allocate(bytes);
  if (!buffer) return refused(device, SN_ERR_MEMORY);
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
  const sn_status status =
      (sn_status)sn_gpu_run(number_of(exe->code), r->buffers, exe->program->n_buffers);
  return status ? refused(device, status) : SN_OK;
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
                                   .views = views,
                                   .listing = listing,
                                   .allocate = allocate,
                                   .deallocate = deallocate,
                                   .map = map,
                                   .copy = copy,
                                   .upload = upload,
                                   .runs_whole = true,
                                   .run = run,
                                   .queues = queues,
                                   .poll = poll,
                                   .wait = wait};
