#include "kernels/isa.h"

static const char *const names[] = {
    [SN_ISA_GENERIC] = "generic", [SN_ISA_SSE2] = "sse2",       [SN_ISA_AVX2] = "avx2",
    [SN_ISA_AVX512] = "avx512",   [SN_ISA_SIMD128] = "simd128",
    [SN_ISA_NEON] = "neon",
};

const char *sn_isa_name(sn_isa_id isa) { return names[isa]; }

bool sn_isa_fuses(sn_isa_id isa) {
  return isa == SN_ISA_AVX2 || isa == SN_ISA_AVX512 || isa == SN_ISA_NEON;
}
