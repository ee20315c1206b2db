/* listing.h - the code of one kernel as WebAssembly text: for sn_program_wat and SINTER_DEBUG=4. */
#ifndef SN_JIT_LISTING_H
#define SN_JIT_LISTING_H

#include "kernels/kernel.h"

/* *out is the code of a module with this kernel alone (in a program it shares one with the others), or
 * a comment if the kernel has no code. The text lives in the arena. */
sn_status sn_jit_listing(sn_arena *arena, bool fused, const sn_kernel *kernel, const char **out);

#endif
