/* einsum_order.h - finds the order in which the operands of an einsum are multiplied. */
#ifndef SN_TENSOR_EINSUM_ORDER_H
#define SN_TENSOR_EINSUM_ORDER_H

#include "tensor/einsum_parse.h"

/* A product of two factors. Factors 0..n-1 are the operands, n, n+1, ... the results of earlier steps. */
typedef struct sn_einsum_step {
  size_t left, right;
  sn_letters keep; /* letters of the result: those that the output or a remaining factor needs */
} sn_einsum_step;

/* Finds the n - 1 steps that leave one result, with the fewest operations for up to SN_EINSUM_OPTIMAL
 * operands. Of more operands, pairs that are cheap for their size are joined until so many are left. */
#define SN_EINSUM_OPTIMAL 6
sn_status sn_einsum_order(sn_arena *arena, const sn_letters *sets, size_t n, sn_letters output,
                          const int64_t size[SN_LETTERS], sn_einsum_step *steps);

#endif
