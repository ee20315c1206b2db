/* sharing.h - a step that was read, as this one of several processes has it (passes/parallel.h). */
#ifndef SN_TENSOR_SHARING_H
#define SN_TENSOR_SHARING_H

#include "program/saved.h"
#include "tensor/tensor.h"

/* Makes of the whole step that of this process, where it is one of several. */
sn_status sn_share_step(sn_context *ctx, sn_arena *arena, sn_saved *saved);

/* What a process has of an input. */
typedef struct sn_own {
  sn_type type;
  int parts;     /* it is one of so many */
  size_t offset; /* bytes of the whole before it */
} sn_own;

sn_own sn_own_part(const sn_context *ctx, const sn_saved *saved, size_t i);

#endif
