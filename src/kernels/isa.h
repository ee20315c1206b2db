/* isa.h - the instruction sets that kernels are written for, and the one this machine has.
 *
 * Ordered per platform: a machine with one of them runs every kernel of a smaller number that its
 * build contains. Kernel tables hold one row per instruction set and take the last row that fits.
 *
 *   isa_sse2.c  x86-64: asked from the CPU     isa_wasm.c     fixed when the module is built
 *   isa_neon.c  AArch64: each one has NEON     isa_generic.c  other machines: compiler vectors */
#ifndef SN_KERNELS_ISA_H
#define SN_KERNELS_ISA_H

#include <stdbool.h>

typedef enum sn_isa_id {
  SN_ISA_GENERIC, /* portable C */
  SN_ISA_SSE2,
  SN_ISA_AVX2, /* with FMA */
  SN_ISA_AVX512,
  SN_ISA_SIMD128, /* WebAssembly */
  SN_ISA_NEON     /* AArch64 */
} sn_isa_id;

/* The best instruction set of this machine. The environment is not asked; callers cache nothing. */
sn_isa_id sn_isa_detect(void);

const char *sn_isa_name(sn_isa_id isa); /* "avx2" ... */

/* Whether this machine adds four products of bytes in a lane by one instruction: VNNI beside AVX-512, dotprod beside NEON. Only
 * of those two families of processors. */
bool sn_isa_dots_bytes(void);

/* Whether its strips and compiled kernels compute the fused bits of math/expand_f32.inc at full speed. In WebAssembly this
 * depends on the engine (backend/device.c), not on the instruction set. */
bool sn_isa_fuses(sn_isa_id isa);

#endif
