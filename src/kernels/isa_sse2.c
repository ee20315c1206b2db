#include <stdbool.h>

#include "kernels/isa.h"

/* The builtins also ask whether the operating system saves the wide registers. */
sn_isa_id sn_isa_detect(void) {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (avx2 && avx512) return SN_ISA_AVX512;
  return avx2 ? SN_ISA_AVX2 : SN_ISA_SSE2;
}

bool sn_isa_dots_bytes(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni");
}
