/* sharding.h - turns a loaded training step into the form for one of several processes (passes/parallel.h). */
#ifndef SN_TENSOR_SHARDING_H
#define SN_TENSOR_SHARDING_H

#include "program/saved.h"
#include "tensor/tensor.h"

/* Replaces the whole step by that of this process, if it is one of several. */
sn_status sn_shard_step(sn_context *ctx, sn_arena *arena, sn_saved *saved);

/* The part of input i that this process holds. */
typedef struct sn_own {
  sn_type type;
  int parts;     /* number of equal parts that the input is split into */
  size_t offset; /* bytes of the whole input before the part */
} sn_own;

sn_own sn_own_part(const sn_context *ctx, const sn_saved *saved, size_t i);

#endif
