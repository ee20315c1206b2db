/* machine.h - what kernels are made for: the CPU as a target, with what only kernels/ knows. */
#ifndef SN_KERNELS_MACHINE_H
#define SN_KERNELS_MACHINE_H

#include "kernels/isa.h"
#include "target/target.h"

typedef struct sn_machine {
  const sn_target *target;
  sn_isa_id isa;
  const struct sn_gemm_run_time *gemm; /* micro-kernels made at run time, or NULL */
} sn_machine;

/* cpu_target.c: the CPU that programs are compiled for, in strict mode. One for all instruction
 * sets and WebAssembly, since costs decide the order of some sums. */
extern const sn_target sn_cpu_target;

#endif
