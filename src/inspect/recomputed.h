/* recomputed.h - counts what derivatives recompute instead of keeping it, for sn_program_inspection: bodies of checkpoints and
 * branches of conditions, as far as nodes say so (sn_origin.recomputed). */
#ifndef SN_INSPECT_RECOMPUTED_H
#define SN_INSPECT_RECOMPUTED_H

#include "program/steps.h"

typedef struct sn_recomputed {
  double *kernel_flops; /* per group: its flops that recompute values */
  double flops;         /* their sum over all groups, for one run */
  size_t
      kept; /* number of values kept as inputs of what is recomputed; arguments of the program do not count */
  double kept_bytes,
      dropped_bytes; /* bytes of these, and of values that derivatives read but that were not kept */
} sn_recomputed;

sn_status sn_count_recomputed(const sn_program_code *program, sn_arena *arena, sn_recomputed *out);

#endif
