/* einsum.h - the two stages in front of sn_einsum: what a spec says, and in which order its
 * operands are multiplied. Sets of letters are words of 64 bits, as there are few:
 *
 *   letter   0..25 'A'..'Z'   26..51 'a'..'z'   52..59 the dimensions of an ellipsis, left to right
 *
 * so the order of bits is the order of the implicit output turned by the ellipsis, which leads. */
#ifndef SN_TENSOR_EINSUM_H
#define SN_TENSOR_EINSUM_H

#include "tensor/tensor.h"

enum { SN_NAMED_LETTERS = 52, SN_LETTERS = SN_NAMED_LETTERS + SN_MAX_RANK };

typedef uint64_t sn_letters;

static inline sn_letters sn_letter_bit(int letter) { return (sn_letters)1 << letter; }

typedef struct sn_term { /* an operand, or the output: the letter of each axis */
  int rank;
  uint8_t letter[SN_MAX_RANK];
} sn_term;

typedef struct sn_einsum_spec {
  sn_term *terms;   /* one for each operand */
  sn_letters *sets; /* of each operand: the letters that are not of size 1 there */
  sn_term output;
  int64_t size[SN_LETTERS]; /* of the letters that occur, after broadcasting */
} sn_einsum_spec;

/* Checks text against the operands, which are not NULL. Every message names text and the shapes. */
sn_status sn_einsum_parse(sn_arena *arena, const char *text, sn_tensor *const *operands, size_t n,
                          sn_einsum_spec *out);

/* Two of the operands 0..n-1 and of the results of earlier steps, which are n, n+1, ... */
typedef struct sn_einsum_step {
  size_t left, right;
  sn_letters keep; /* of the result: those of either that the output or the rest needs */
} sn_einsum_step;

/* The n - 1 steps that leave one result: fewest operations for up to
 * SN_EINSUM_OPTIMAL operands; of more, pairs that are cheap for their size are joined until so many
 * are left. */
#define SN_EINSUM_OPTIMAL 6
sn_status sn_einsum_order(sn_arena *arena, const sn_letters *sets, size_t n, sn_letters output,
                          const int64_t size[SN_LETTERS], sn_einsum_step *steps);

#endif
