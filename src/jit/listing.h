/* listing.h - the code of one kernel as WebAssembly text: for sn_program_wat and SINTER_DEBUG=4. */
#ifndef SN_JIT_LISTING_H
#define SN_JIT_LISTING_H

#include "kernels/kernel.h"

/* What is emitted for the kernel on its own; in a program it shares a module with the others. A
 * comment where there is none. The text is arena's. */
sn_status sn_jit_listing(sn_arena *arena, bool fused, const sn_kernel *kernel, const char **out);

#endif
