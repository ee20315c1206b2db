#include "standalone/standalone.h"

#include <math.h>
#include <string.h>

#include "api.h"
#include "base/apart.h"
#include "base/host.h"
#include "jit/modules.h"
#include "kernels/kernel.h"
#include "program/saved.h"
#include "tensor/program.h"

extern char __heap_base; /* set by the linker: behind the data */

static sn_run run; /* what JS follows pointers from */
static sn_program *program;

/* ---- blocks ---------------------------------------------------------------------------------- */

/* What became of the heap, in order: a block that came, or with 0 bytes one that went. */
typedef struct event {
  const void *block;
  size_t bytes;
} event;

static event *events;
static size_t n_events, room_for_events;

/* False: there is no memory to note it. */
static bool note(const void *block, size_t bytes) {
  if (n_events == room_for_events) {
    const size_t room = room_for_events ? room_for_events * 2 : 4096;
    event *grown = sn_host_allocate(room * sizeof *grown);
    if (!grown) return false;
    if (events) {
      memcpy(grown, events, n_events * sizeof *grown);
      sn_host_release(events, room_for_events * sizeof *events);
    }
    events = grown;
    room_for_events = room;
  }
  events[n_events++] = (event){block, bytes};
  return true;
}

static void *allocate(void *user, size_t bytes, size_t alignment) {
  (void)user;
  (void)alignment; /* the host's are aligned to more */
  void *block = sn_host_allocate(bytes);
  if (!block || note(block, bytes)) return block;
  sn_host_release(block, bytes);
  return NULL;
}

/* Without a note the block stays, and counts as one that is there. */
static void release(void *user, void *block, size_t bytes) {
  (void)user;
  if (note(block, 0)) sn_host_release(block, bytes);
}

static const sn_allocator telling = {.allocate = allocate, .release = release};

/* What kernels point at of a context: apart from it, so that they do not lead to all that it has. */
typedef struct pointed_at {
  sn_target target;
  sn_gemm_run_time gemm;
} pointed_at;

sn_status sinter_standalone_create(bool relaxed_simd) {
  const sn_options options = {.allocator = &telling,
                              .threads = 1,
                              .deterministic = !relaxed_simd,
                              .relaxed_simd = relaxed_simd};
  SN_TRY(sn_context_create(&options, &sinter_contexts[0]));
  sn_context *context = sinter_contexts[0];
  sn_arena_apart = true;
  pointed_at *own;
  SN_TRY(sn_alloc(&context->env, sizeof *own, (void **)&own));
  *own = (pointed_at){.target = context->target, .gemm = context->device.gemm};
  context->options.target = &own->target;
  if (context->device.machine.gemm) context->device.machine.gemm = &own->gemm;
  return SN_OK;
}

void *sinter_standalone_take(uint32_t bytes) { return sn_host_allocate(bytes); }

/* ---- loading --------------------------------------------------------------------------------- */

/* Nobody compiles it again. What a run follows is left as it is. */
static void forget_compiling(sn_executable *exe) {
  sn_program_code *code = exe->program;
  exe->backend = NULL;
  code->arena = (sn_arena){0};
  code->graph = (sn_graph){0};
  code->texts = NULL;
  code->groups.graph = NULL;
  code->groups.cuts = NULL;
  code->groups.kernel_of = NULL;
}

/* The code of a module is JS's to put where it is called. */
static void forget_bytes(const void *made) {
  sn_code_module *module = (sn_code_module *)(uintptr_t)made;
  if (!module || !module->bytes) return;
  sn_code_is_ready(module);
  module->bytes = NULL;
  module->env = NULL;
}

static void forget(sn_executable *exe) {
  forget_bytes(exe->code);
  for (size_t i = 0; i < exe->n_kernels; i++) {
    sn_control_step *control = exe->controls[i];
    if (control) forget_bytes(control->module);
    for (uint32_t r = 0; control && r < control->n_regions; r++) forget(control->regions[r]);
  }
  forget_compiling(exe);
}

sn_status sinter_standalone_load(const void *bytes, uint32_t size) {
  sn_context *context = sinter_contexts[0];
  SN_TRY(sn_program_load(context, bytes, size, &program));
  sn_executable *exe = program->compiled->exe;
  const sn_program_code *code = exe->program;
  run = (sn_run){.exe = exe, .pool = context->device.pool};
  SN_TRY(
      sn_alloc_zeroed(&context->env, code->n_buffers, sizeof *run.buffers, (void **)&run.buffers));
  SN_TRY(sn_alloc_zeroed(&context->env, code->n_arguments, sizeof *run.versions,
                         (void **)&run.versions));
  forget(exe);
  forget_bytes(context->device.gemm.module);
  const sn_step_info *step = sn_step_describe(program);
  int32_t *out = sinter_scratch(10);
  out[0] = (int32_t)code->n_arguments;
  out[1] = (int32_t)program->n_inputs;
  out[2] = step ? (int32_t)step->n_state : -1;
  out[3] = step ? (int32_t)step->n_rates : 0;
  out[4] = (int32_t)program->n_outputs;
  out[5] = (int32_t)(uintptr_t)&run;
  out[6] = sizeof run / sizeof(int32_t);
  out[7] = (int32_t)(uintptr_t)&__heap_base;
  out[8] = (int32_t)(uintptr_t)events;
  out[9] = (int32_t)n_events;
  return SN_OK;
}

const char *sinter_standalone_note(void) { return sn_program_note(program); }

const char *sinter_standalone_path(uint32_t i) {
  const sn_step_info *step = sn_step_describe(program);
  return step && i < program->n_inputs ? step->inputs[i].path : NULL;
}

/* A step's values go first among its inputs; captured ones behind all inputs. */
const void *sinter_standalone_value(uint32_t i) {
  const sn_storage_pool *pool = &sinter_contexts[0]->storages;
  const sn_step_info *step = sn_step_describe(program);
  if (i >= program->n_inputs)
    return sn_storage_map(pool, program->captured[i - program->n_inputs]->storage);
  if (!step || i >= step->n_state + step->n_rates) return NULL;
  return sn_step_value(program, i);
}

/* ---- places ---------------------------------------------------------------------------------- */

enum { PAGE = 65536, PLACE_WORDS = 3 + SN_MAX_RANK };

static size_t end; /* of what was given out */

static bool reach(size_t bytes) {
  const size_t has = __builtin_wasm_memory_size(0) * (size_t)PAGE;
  return bytes <= has || __builtin_wasm_memory_grow(0, (bytes - has + PAGE - 1) / PAGE) != SIZE_MAX;
}

static void *lay(size_t bytes) {
  void *place = (void *)end;
  end += sn_align64(bytes ? bytes : 1);
  return place;
}

/* Buffers for a run of the program, as large as what lies in them; arguments too. */
static void lay_buffers(const sn_executable *exe, void **buffers) {
  const sn_program_code *code = exe->program;
  for (size_t b = 0; b < sn_arena_buffer(code); b++) {
    size_t bytes = 0;
    for (size_t v = 0; v < code->plan.n_values; v++) {
      const sn_handle *handle = &code->handles[v];
      if (handle->buffer == b && handle->offset + handle->bytes > bytes)
        bytes = handle->offset + handle->bytes;
    }
    buffers[b] = lay(bytes);
  }
  buffers[sn_arena_buffer(code)] = lay(sn_executable_workspace_bytes(exe, 1));
}

static int32_t *describe(int32_t *out, const void *address, const sn_type *type) {
  out[0] = (int32_t)(uintptr_t)address;
  out[1] = (int32_t)type->dtype;
  out[2] = type->rank;
  for (int i = 0; i < type->rank; i++) out[3 + i] = (int32_t)type->dims[i];
  return out + PLACE_WORDS;
}

sn_status sinter_standalone_place(uint32_t address) {
  const sn_executable *exe = run.exe;
  const sn_groups *groups = &exe->program->groups;
  end = address;
  lay_buffers(exe, run.buffers);
  if (!reach(end)) return SN_ERR_MEMORY;
  const size_t n = exe->program->n_arguments;
  int32_t *out = sinter_scratch((uint32_t)(1 + (n + program->n_outputs) * PLACE_WORDS));
  if (!out) return SN_ERR_MEMORY;
  *out++ = (int32_t)end;
  for (size_t i = 0; i < n; i++) {
    const sn_type *type = i < program->n_inputs ? &program->types[i]
                                                : &program->captured[i - program->n_inputs]->type;
    out = describe(out, run.buffers[i], type);
  }
  for (size_t i = 0; i < program->n_outputs; i++) {
    const sn_handle *handle = &exe->program->handles[groups->outputs[i]];
    out = describe(out, (char *)run.buffers[handle->buffer] + handle->offset,
                   &groups->values[groups->outputs[i]].type);
  }
  return SN_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

sn_status sinter_standalone_run(void) {
  sn_status status;
  run.place = (sn_run_place){0};
  sn_executable_step(&run, INFINITY, &status);
  return status;
}

/* By the pool, as a run does: then its call by a pointer is seen, too. */
static sn_status dry_run_stage(const sn_executable *exe, const sn_kernel *kernel, int stage,
                               char *workspace) {
  sn_kernel_run of = {.kernel = kernel,
                      .stage = stage,
                      .values = exe->values,
                      .shared = workspace + exe->shared_offset,
                      .workers = workspace + exe->workers_offset,
                      .worker_stride = exe->worker_stride};
  const int64_t units = kernel->stages[stage].units;
  return units ? sn_pool_run(run.pool, sn_kernel_units, &of, units, units, 1) : SN_OK;
}

/* What runs control flow, if there is any: one function for all of it. */
static bool (*control_runner)(sn_control_step *, const sn_run *, bool, double, sn_status *);

static void dry_run_control(const sn_control_step *control) {
  control_runner = control->run;
  if (control->module) control->ready(control->module);
}

/* On buffers of its own. Loops are not run: who knows whether they end. */
static sn_status dry_run(sn_executable *exe) {
  const sn_program_code *code = exe->program;
  void **buffers = lay(code->n_buffers * sizeof *buffers);
  if (!reach(end)) return SN_ERR_MEMORY;
  lay_buffers(exe, buffers);
  if (!reach(end)) return SN_ERR_MEMORY;
  for (size_t v = 0; v < code->plan.n_values; v++) {
    const sn_handle *handle = &code->handles[v];
    exe->values[v] =
        handle->buffer == SN_NONE ? NULL : (char *)buffers[handle->buffer] + handle->offset;
  }
  for (size_t k = 0; k < exe->n_kernels; k++) {
    const sn_kernel *kernel = &exe->kernels[k];
    const sn_control_step *control = exe->controls[k];
    char *workspace = buffers[sn_arena_buffer(code)];
    if (!control && kernel->prologue) SN_TRY(dry_run_stage(exe, kernel->prologue, 0, workspace));
    for (int s = 0; !control && s < kernel->n_stages; s++)
      SN_TRY(dry_run_stage(exe, kernel, s, workspace));
    if (control) dry_run_control(control);
    for (uint32_t r = 0; control && r < control->n_regions; r++)
      SN_TRY(dry_run(control->regions[r]));
  }
  return SN_OK;
}

sn_status sinter_standalone_dry_run(void) {
  SN_TRY(dry_run(run.exe));
  *sinter_scratch(1) = (int32_t)(uintptr_t)control_runner;
  return SN_OK;
}
