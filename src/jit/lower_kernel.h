/* lower_kernel.h - kernels to one WebAssembly module: functions that take the place of the strip VM
 * in the kernels' inner loops, bit for bit.
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
 * values: the buffers' addresses. memory: of the running worker; fold overwrites its first
 * SN_FOLD_SCRATCH_BYTES, rows what the kernel's row plan says. A role that cannot be lowered has no
 * function: the VM does it. */
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

typedef struct sn_jit_functions { /* of a kernel: numbers in the module, or SN_NONE */
  uint32_t of[SN_JIT_ROLE_COUNT];
} sn_jit_functions;

typedef struct sn_jit_module {
  const uint8_t *bytes; /* exports are the functions' numbers in decimal */
  size_t n_bytes;
  uint32_t n_functions;        /* 0: nothing could be lowered */
  sn_jit_functions *functions; /* per kernel, or per member of it */
  size_t n_parts;              /* of these */
} sn_jit_module;

sn_status sn_jit_emit(sn_arena *arena, const sn_jit_target *target, const sn_kernel *kernels,
                      size_t n, sn_jit_module *out);

/* A loop over tiny programs as a module of one function (emit_serial.c): table, n as sn_serial_code. *n: 0 if it cannot
 * be. */
sn_status sn_jit_emit_serial(sn_arena *arena, const sn_jit_target *target,
                             const sn_serial_control *serial, const uint8_t **bytes, size_t *n);

#endif
