/* again.h - what derivatives make again instead of keeping it, for sn_program_inspection: the bodies of checkpoints and the
 * branches of conditions, as far as nodes say so (sn_origin.again). */
#ifndef SN_INSPECT_AGAIN_H
#define SN_INSPECT_AGAIN_H

#include "program/steps.h"

typedef struct sn_again {
  double *kernel_flops; /* per group: what of its flops makes values again */
  double flops;         /* of all, one run */
  size_t
      kept; /* values that this is made of, which were kept for it; arguments of the program do not count */
  double kept_bytes,
      dropped_bytes; /* and of values that were not kept, though derivatives read them */
} sn_again;

sn_status sn_count_again(const sn_program_code *program, sn_arena *arena, sn_again *out);

#endif
