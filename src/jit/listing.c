#include "jit/listing.h"

#include "base/text.h"
#include "jit/emit.h"
#include "jit/lower_kernel.h"
#include "jit/modules.h"

static const char *no_code(const sn_kernel *kernel) {
  if (kernel->group->kind == SN_GROUP_CONTROL)
    return ";; control flow: its regions are programs, with kernels of their own\n";
  if (kernel->group->kind == SN_GROUP_CONTRACTION) return ";; a ready kernel; no map behind it\n";
  return kernel->group->kind == SN_GROUP_CALL
             ? ";; a ready kernel\n"
             : ";; no code: this kernel runs in the strip interpreter\n";
}

sn_status sn_jit_listing(sn_arena *arena, bool fused, const sn_kernel *kernel, const char **out) {
  const sn_jit_target target = {.lanes = sn_vec_target_here(fused),
                                .shared_memory = sn_code_memory_is_shared()};
  sn_jit_module module;
  const char *code;
  *out = no_code(kernel);
  SN_TRY(sn_jit_emit(arena, &target, kernel, 1, &module));
  if (!module.n_functions) return SN_OK;
  SN_TRY(sn_wasm_text(arena, module.bytes, module.n_bytes, &code));
  sn_text t = sn_text_in(arena);
  for (size_t i = 0; i < module.n_parts; i++)
    for (int role = 0; role < SN_JIT_ROLE_COUNT; role++)
      if (module.functions[i].of[role] != SN_NONE)
        sn_text_add(&t, ";; export \"%u\" takes the place of: %s\n", module.functions[i].of[role],
                    sn_jit_role_names[role]);
  if (!sn_kernel_part(kernel, 0)->code.module)
    sn_text_add(&t, ";; not in use here: the strip interpreter runs\n");
  sn_text_add(&t, "%s", code);
  *out = t.data;
  return t.status;
}
