/* backend_jit.c - the CPU's kernels with code hung in that is emitted for them: their schedule
 * stays, only what happens to the points of a range is taken over (kernels/code.h). */
#include "backend/backend_cpu.h"
#include "jit/jit.h"

static sn_status compile(const sn_device *device, sn_program_code *program, sn_executable **out) {
  sn_executable *exe;
  sn_code_module *module;
  SN_TRY(sn_cpu_compile(device, program, &exe));
  SN_TRY(sn_jit_kernels(&program->arena, device->machine.target->fused, exe->kernels,
                        exe->n_kernels, &module));
  exe->backend = &sn_jit_backend;
  exe->code = module;
  *out = exe;
  return SN_OK;
}

static void release(sn_executable *exe) {
  sn_code_release(exe->code);
  sn_cpu_release(exe);
}

const sn_backend sn_jit_backend = {
    .name = "jit", .compile = compile, .release = release, SN_CPU_MEMORY_AND_RUNS};
