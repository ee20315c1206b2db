#include "kernels/isa.h"

#ifdef __linux__
#include <asm/hwcap.h>
#include <sys/auxv.h>

bool sn_isa_dots_bytes(void) { return getauxval(AT_HWCAP) & HWCAP_ASIMDDP; }
#else
bool sn_isa_dots_bytes(void) { return false; }
#endif

sn_isa_id sn_isa_detect(void) { return SN_ISA_NEON; }
