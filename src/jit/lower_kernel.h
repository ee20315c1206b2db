/* lower_kernel.h - lowers kernels to one WebAssembly module, with functions that replace the strip VM
 * in the kernels' inner loops and give the same bits.
 *
 *   role     parameters, all int32                        does
 *   strip    values, memory, total, flat, n                 `post` at points [flat, flat + n) of the
 *                                                         space; total: n values of total 0, or 0
 *   fold     values, memory, item, flat, n                  points [flat, flat + n) of (space,
 *                                                         reduced), of one output, n <=
 *                                                         SN_FOLD_BLOCK, into *item as fold.h says
 *   columns  values, memory, acc, first, n, from, to        acc[0..n): reduced points from .. to - 1
 *                                                         of the strip of outputs from first on,
 *                                                         one after the other, at least one; of a
 *                                                         ragged reduction the strip is a part of a row
 *   rows     values, memory, first, n                       all phases and `post` of rows [first, ..)
 *   blocks   rows, bytes, n, q, scales, totals, parts,      out[i] = row i of blocks, at rows + i * bytes,
 *            out                                          times a row of x, for i < n
 *   tiles    numbers, scales of four rows, q, scales,       out[i] = four unpacked rows of blocks times row i of x,
 *            totals, parts, n, out, stride                at out + i * stride, for i < n
 *
 * values: the buffers' addresses. memory: scratch of the running worker; fold overwrites its first
 * SN_FOLD_SCRATCH_BYTES, rows the part that the kernel's row plan lays out. A role that cannot be
 * lowered has no function, and the VM does it. kernels/code.h has the contract in full. */
#ifndef SN_JIT_LOWER_KERNEL_H
#define SN_JIT_LOWER_KERNEL_H

#include "jit/vector.h"
#include "kernels/kernel.h"
#include "kernels/serial_loop.h"

typedef struct sn_jit_target {
  sn_vec_target lanes;
  bool shared_memory; /* the memory is shared */
} sn_jit_target;

typedef enum sn_jit_role {
  SN_JIT_STRIP,
  SN_JIT_FOLD,
  SN_JIT_COLUMNS,
  SN_JIT_ROWS,
  SN_JIT_BLOCKS,
  SN_JIT_TILES,
  SN_JIT_ROLE_COUNT
} sn_jit_role;

extern const char *const sn_jit_role_names[SN_JIT_ROLE_COUNT];

typedef struct sn_jit_functions { /* per role of a kernel its function's number in the module, or SN_NONE */
  uint32_t of[SN_JIT_ROLE_COUNT];
} sn_jit_functions;

typedef struct sn_jit_module {
  const uint8_t *bytes; /* exports are the functions' numbers in decimal */
  size_t n_bytes;
  uint32_t n_functions;        /* 0: nothing could be lowered */
  sn_jit_functions *functions; /* per part of a kernel (sn_kernel_part), in their order */
  size_t n_parts;              /* entries of functions */
} sn_jit_module;

sn_status sn_jit_emit(sn_arena *arena, const sn_jit_target *target, const sn_kernel *kernels,
                      size_t n, sn_jit_module *out);

/* Emits a loop over tiny programs as a module with one function, an sn_serial_code (emit_serial.c). *n, the bytes of the
 * module, is 0 if the loop cannot be lowered. */
sn_status sn_jit_emit_serial(sn_arena *arena, const sn_jit_target *target,
                             const sn_serial_control *serial, const uint8_t **bytes, size_t *n);

#endif
