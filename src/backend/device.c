/* device.c - the machine that this runs on, as a device: its instruction set, the micro-kernels
 * that are made for it, its workers. */
#include "backend/backend.h"

#include <string.h>

#include "jit/emit_gemm.h"

/* Makes the micro-kernels that exist only at run time (WebAssembly), whether or not other code is made
 * then. If the engine takes micro-kernels with fused multiply-adds, functions are fused, too; so the
 * kernels have to be ready before any of that is chosen. */
static sn_status make_micro_kernels(sn_device *device, sn_target *target, bool relaxed_simd) {
  sn_gemm_run_time *gemm = &device->gemm;
  bool fused = relaxed_simd && !target->deterministic;
  SN_TRY(sn_jit_gemm_make(device->env, fused, gemm));
  if (fused && !(gemm->module && gemm->ready(gemm->module))) {
    sn_jit_gemm_free(gemm);
    fused = false;
    SN_TRY(sn_jit_gemm_make(device->env, fused, gemm));
  }
  target->fused = fused || (sn_isa_fuses(device->machine.isa) && !target->deterministic);
  if (!gemm->module) return SN_OK;
  device->machine.gemm = gemm;
  target->costs.lookup_row = 1; /* lookups are fast in emitted code */
  return SN_OK;
}

/* Whether a machine with the instruction set `best` also has this one. x86-64 without AVX has no micro-kernels of its own. */
static bool has_isa(sn_isa_id best, sn_isa_id isa) {
  if (isa == best || (isa == SN_ISA_SSE2 && best <= SN_ISA_AVX512)) return true;
  for (size_t i = 0; i < sn_gemm_ukr_count; i++)
    if (sn_gemm_ukrs[i].isa == isa) return true;
  return false;
}

/* The instruction set of this name, which the machine must have; NULL: the best one. */
static sn_status isa_of(sn_env *env, const char *name, sn_isa_id *out) {
  const sn_isa_id best = *out = sn_isa_detect();
  if (!name) return SN_OK;
  for (sn_isa_id isa = SN_ISA_GENERIC; isa <= best; isa++)
    if (has_isa(best, isa) && !strcmp(sn_isa_name(isa), name)) {
      *out = isa;
      return SN_OK;
    }
  return SN_FAIL(env, SN_ERR_ARGUMENT, "context", "this machine has no instruction set %s, but %s",
                 name, sn_isa_name(*out));
}

sn_status sn_device_open(sn_device *device, sn_env *env, sn_target *target, int threads,
                         const char *isa, bool relaxed_simd) {
  const int wanted = threads > 0 ? threads : sn_pool_cores();
  *device = (sn_device){.backend = &sn_cpu_backend, .env = env, .machine = {.target = target}};
  SN_TRY(isa_of(env, isa, &device->machine.isa));
  SN_TRY(make_micro_kernels(device, target, relaxed_simd));
  if (sn_code_backend.open_code) SN_TRY(sn_code_backend.open_code(device));
  return sn_pool_create(env, wanted < SN_POOL_MAX_WORKERS ? wanted : SN_POOL_MAX_WORKERS,
                        &device->pool);
}

void sn_device_close(sn_device *device) {
  if (device->pool) sn_pool_destroy(device->env, device->pool);
  if (sn_code_backend.close_code) sn_code_backend.close_code(device);
  sn_jit_gemm_free(&device->gemm);
}
