/* backend_jit_wasm.c - the CPU's kernels, with code that is emitted for them. The kernels keep their
 * schedule; the code takes over only what happens to the points of a range (kernels/code.h). */
#include "backend/backend_cpu.h"
#include "jit/jit.h"

/* Emits a loop over tiny programs as one function. */
static sn_status emit_serial(const sn_device *device, sn_arena *arena, sn_control_step *step) {
  sn_code_module *module;
  sn_serial_code **code;
  SN_TRY(sn_jit_serial(device->env, device->machine.target->fused, &step->described, &module));
  if (!module) return SN_OK;
  step->module = step->owner = module;
  step->ready = sn_code_is_ready;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *code, (void **)&code));
  *code = (sn_serial_code *)(uintptr_t)module->first;
  step->code = code;
  return SN_OK;
}

/* Emits a module for a program, and one for each of its regions. */
static sn_status emit(const sn_device *device, sn_executable *exe) {
  sn_code_module *module;
  SN_TRY(sn_jit_kernels(&exe->program->arena, device->machine.target->fused, exe->kernels,
                        exe->n_kernels, &module));
  exe->backend = &sn_code_backend;
  exe->code = module;
  for (size_t i = 0; i < exe->n_kernels; i++) {
    sn_control_step *step = exe->controls[i];
    if (step && step->serial) SN_TRY(emit_serial(device, &exe->program->arena, step));
    for (uint32_t r = 0; step && !step->module && r < step->n_regions; r++)
      SN_TRY(emit(device, step->regions[r]));
  }
  return SN_OK;
}

static void drop(sn_executable *exe) {
  for (size_t i = 0; i < exe->n_kernels; i++) {
    const sn_control_step *step = exe->controls[i];
    for (uint32_t r = 0; step && r < step->n_regions; r++) drop(step->regions[r]);
    if (step) sn_code_release(step->owner);
  }
  if (exe->code) sn_code_release(exe->code);
}

static sn_status compile(const sn_device *device, sn_program_code *program, sn_executable **out) {
  return sn_cpu_compile_with(device, program, emit, drop, out);
}

static void release(sn_executable *exe) {
  drop(exe);
  sn_cpu_release(exe);
}

const sn_backend sn_code_backend = {.name = "jit",
                                    .compile = compile,
                                    .release = release,
                                    .listing = sn_cpu_listing,
                                    SN_CPU_ALL_BUT_CODE};
