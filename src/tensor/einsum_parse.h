/* einsum_parse.h - what the text of an einsum says. Sets of letters are words of 64 bits, as there
 * are few:
 *
 *   letter   0..25 'A'..'Z'   26..51 'a'..'z'   52..59 the dimensions of an ellipsis, left to right
 *
 * so the order of bits is the order of the implicit output turned by the ellipsis, which leads. */
#ifndef SN_TENSOR_EINSUM_PARSE_H
#define SN_TENSOR_EINSUM_PARSE_H

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

#endif
