/* jit.h - code for the kernels of a program: emitted, registered, and hung into the kernels. */
#ifndef SN_JIT_JIT_H
#define SN_JIT_JIT_H

#include "jit/modules.h"
#include "kernels/kernel.h"
#include "kernels/serial_loop.h"

/* Gives the kernels code where this platform makes any, with functions that are fused or not. *out:
 * the module they share, to be released after their last run; NULL where the VM does everything. */
sn_status sn_jit_kernels(sn_arena *arena, bool fused, sn_kernel *kernels, size_t n,
                         sn_code_module **out);

/* The same for a loop over tiny programs: one function, the module's first. */
sn_status sn_jit_serial(sn_env *env, bool fused, const sn_serial_control *loop, sn_code_module **out);

#endif
