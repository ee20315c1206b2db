#include "jit/jit.h"

#include "jit/lower_kernel.h"

/* In WebAssembly a C function pointer is a place in the function table. */
static void *function_at(const sn_code_module *module, uint32_t number) {
  return number == SN_NONE ? NULL : (void *)(uintptr_t)(module->first + number);
}

static void hang_in(sn_kernel *kernel, const sn_code_module *module,
                    const sn_jit_functions *functions) {
  kernel->code = (sn_code){
      .module = module,
      .ready = sn_code_is_ready,
      .engine = "jit",
      .strip = (sn_strip_code *)function_at(module, functions->of[SN_JIT_STRIP]),
      .fold = (sn_fold_code *)function_at(module, functions->of[SN_JIT_FOLD]),
      .columns = (sn_columns_code *)function_at(module, functions->of[SN_JIT_COLUMNS]),
      .rows = (sn_rows_code *)function_at(module, functions->of[SN_JIT_ROWS]),
      .blocks = (sn_blocks_code *)function_at(module, functions->of[SN_JIT_BLOCKS]),
      .tiles = (sn_tiles_code *)function_at(module, functions->of[SN_JIT_TILES]),
  };
}

static sn_jit_target target_here(bool fused) {
  return (sn_jit_target){.lanes = sn_vec_target_here(fused),
                         .shared_memory = sn_code_memory_is_shared()};
}

static sn_status make_module(sn_arena *scratch, bool fused, sn_kernel *kernels, size_t n,
                             sn_code_module **out) {
  const sn_jit_target target = target_here(fused);
  sn_jit_module emitted;
  SN_TRY(sn_jit_emit(scratch, &target, kernels, n, &emitted));
  if (!emitted.n_functions) return SN_OK;
  SN_TRY(sn_code_register(scratch->env, emitted.bytes, emitted.n_bytes, emitted.n_functions, out));
  const sn_jit_functions *functions = emitted.functions;
  for (size_t i = 0; *out && i < n; i++) {
    sn_kernel *part;
    for (uint32_t p = 0; (part = sn_kernel_part(&kernels[i], p)); p++)
      hang_in(part, *out, functions++);
  }
  return SN_OK;
}

/* Emitting takes megabytes for a long program. They come from an arena of their own, since the program does not need them
 * afterwards. */
sn_status sn_jit_kernels(sn_arena *arena, bool fused, sn_kernel *kernels, size_t n,
                         sn_code_module **out) {
  *out = NULL;
  if (!sn_code_first_place()) return SN_OK;
  sn_arena scratch;
  sn_arena_init(&scratch, arena->env);
  const sn_status status = make_module(&scratch, fused, kernels, n, out);
  sn_arena_free(&scratch);
  return status;
}

static sn_status make_loop(sn_arena *scratch, bool fused, const sn_serial_control *loop,
                           sn_code_module **out) {
  const sn_jit_target target = target_here(fused);
  const uint8_t *bytes;
  size_t n;
  SN_TRY(sn_jit_emit_serial(scratch, &target, loop, &bytes, &n));
  return n ? sn_code_register(scratch->env, bytes, n, 1, out) : SN_OK;
}

sn_status sn_jit_serial(sn_env *env, bool fused, const sn_serial_control *loop,
                        sn_code_module **out) {
  *out = NULL;
  if (!sn_code_first_place()) return SN_OK;
  sn_arena scratch;
  sn_arena_init(&scratch, env);
  const sn_status status = make_loop(&scratch, fused, loop, out);
  sn_arena_free(&scratch);
  return status;
}
