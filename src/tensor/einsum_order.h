/* einsum_order.h - in which order the operands of an einsum are multiplied. */
#ifndef SN_TENSOR_EINSUM_ORDER_H
#define SN_TENSOR_EINSUM_ORDER_H

#include "tensor/einsum_parse.h"

/* Two of the operands 0..n-1 and of the results of earlier steps, which are n, n+1, ... */
typedef struct sn_einsum_step {
  size_t left, right;
  sn_letters keep; /* of the result: those of either that the output or the rest needs */
} sn_einsum_step;

/* The n - 1 steps that leave one result: fewest operations for up to SN_EINSUM_OPTIMAL operands; of
 * more, pairs that are cheap for their size are joined until so many are left. */
#define SN_EINSUM_OPTIMAL 6
sn_status sn_einsum_order(sn_arena *arena, const sn_letters *sets, size_t n, sn_letters output,
                          const int64_t size[SN_LETTERS], sn_einsum_step *steps);

#endif
