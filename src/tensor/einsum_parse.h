/* einsum_parse.h - parses the text of an einsum. There are so few letters that a set of them is a word of
 * 64 bits:
 *
 *   letter   0..25 'A'..'Z'   26..51 'a'..'z'   52..59 the dimensions of an ellipsis, left to right
 *
 * The order of bits is the order of the implicit output, except that there the ellipsis comes first. */
#ifndef SN_TENSOR_EINSUM_PARSE_H
#define SN_TENSOR_EINSUM_PARSE_H

#include "tensor/tensor.h"

enum { SN_NAMED_LETTERS = 52, SN_LETTERS = SN_NAMED_LETTERS + SN_MAX_RANK };

typedef uint64_t sn_letters;

static inline sn_letters sn_letter_bit(int letter) { return (sn_letters)1 << letter; }

typedef struct sn_term { /* the letter of each axis of an operand or of the output */
  int rank;
  uint8_t letter[SN_MAX_RANK];
} sn_term;

typedef struct sn_einsum_spec {
  sn_term *terms;   /* one for each operand */
  sn_letters *sets; /* per operand the letters whose size is not 1 there */
  sn_term output;
  int64_t size[SN_LETTERS]; /* size of each letter after broadcasting; -1: it does not occur */
} sn_einsum_spec;

/* Parses text and checks it against the operands, which are not NULL. Errors name the text and the shapes. */
sn_status sn_einsum_parse(sn_arena *arena, const char *text, sn_tensor *const *operands, size_t n,
                          sn_einsum_spec *out);

#endif
