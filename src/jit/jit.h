/* jit.h - makes WebAssembly for the kernels of a program: emits it, registers the module, and puts the functions into
 * sn_kernel.code. */
#ifndef SN_JIT_JIT_H
#define SN_JIT_JIT_H

#include "jit/modules.h"
#include "kernels/kernel.h"
#include "kernels/serial_loop.h"

/* Gives the kernels code if this platform makes any. fused: whether the functions of math/ use fused multiply-adds. *out is
 * the module that the kernels share, to be released after their last run; NULL if the VM does everything. */
sn_status sn_jit_kernels(sn_arena *arena, bool fused, sn_kernel *kernels, size_t n,
                         sn_code_module **out);

/* Makes the code of a loop over tiny programs: a module with one function. */
sn_status sn_jit_serial(sn_env *env, bool fused, const sn_serial_control *loop, sn_code_module **out);

#endif
