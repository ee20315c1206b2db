/* quant_part.h - the 32 numbers of a part as bytes: one vector of 32 bytes, or two of 16. SN_QUANT_VECTOR_BYTES says which.
 *
 * A lane of the integer vectors adds the products of four numbers next to each other. Both widths have the same words, so
 * that quant_rows_bytes.inc is written once. */
#ifndef SN_KERNELS_QUANT_PART_H
#define SN_KERNELS_QUANT_PART_H

#include "graph/quant_blocks.h"
#include "kernels/vec128.h"

enum { PART_VECTORS = SN_PART / SN_QUANT_VECTOR_BYTES };

typedef uint8_t q_bytes __attribute__((vector_size(SN_QUANT_VECTOR_BYTES)));
typedef uint16_t q_words16 __attribute__((vector_size(SN_QUANT_VECTOR_BYTES)));
typedef int32_t q_ints __attribute__((vector_size(SN_QUANT_VECTOR_BYTES)));
typedef uint8_t half_bytes __attribute__((vector_size(16)));

typedef struct part_bytes {
  q_bytes v[PART_VECTORS];
} part_bytes;

/* Vector by vector: a struct would be copied by way of the stack, in halves. */
static inline part_bytes part_at(const uint8_t *p) {
  part_bytes part;
  for (int i = 0; i < PART_VECTORS; i++) {
    q_bytes v;
    memcpy(&v, p + i * SN_QUANT_VECTOR_BYTES, sizeof v);
    part.v[i] = v;
  }
  return part;
}

static inline half_bytes half_at(const void *p) {
  half_bytes half;
  memcpy(&half, p, sizeof half);
  return half;
}

/* (byte >> shift) & mask, for masks of at most 8 - shift bits. */
static inline q_bytes bits_of_bytes(q_bytes v, int shift, uint8_t mask) {
  return (q_bytes)((q_words16)v >> shift) & mask;
}

#if SN_QUANT_VECTOR_BYTES == 16
#define sums_of_lanes sn_sums_of_lanes

/* Numbers 0 to 15 in `first`, the others in `second`. */
static inline part_bytes part_of(half_bytes first, half_bytes second) {
  return (part_bytes){{first, second}};
}

/* Byte j is 255 if bit j of the word is set, else 0. */
static inline part_bytes bytes_of_bits(uint32_t word) {
  const half_bytes all = (half_bytes)((vec_words){0} + word);
  const half_bytes each = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const half_bytes first =
      __builtin_shufflevector(all, all, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  const half_bytes second =
      __builtin_shufflevector(all, all, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  return (part_bytes){
      {(half_bytes)((first & each) == each), (half_bytes)((second & each) == each)}};
}

/* Vector i of the lanes of a part: `first` where its numbers are among the first 16, else `second`. */
static inline q_ints by_half(int i, int32_t first, int32_t second) {
  return (q_ints){0} + (i ? second : first);
}
#else
/* Lane r of the result is the sum of the lanes of v[r]. */
static inline vec_ints sums_of_lanes(const q_ints v[4]) {
  const q_ints a = __builtin_shufflevector(v[0], v[1], 0, 8, 1, 9, 4, 12, 5, 13) +
                   __builtin_shufflevector(v[0], v[1], 2, 10, 3, 11, 6, 14, 7, 15);
  const q_ints b = __builtin_shufflevector(v[2], v[3], 0, 8, 1, 9, 4, 12, 5, 13) +
                   __builtin_shufflevector(v[2], v[3], 2, 10, 3, 11, 6, 14, 7, 15);
  const q_ints c = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
                   __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  return __builtin_shufflevector(c, c, 0, 1, 2, 3) + __builtin_shufflevector(c, c, 4, 5, 6, 7);
}

static inline part_bytes part_of(half_bytes first, half_bytes second) {
  return (part_bytes){
      {__builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                               16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31)}};
}

/* Bytes are taken from the half where they go, which has them too. */
static inline part_bytes bytes_of_bits(uint32_t word) {
  typedef uint32_t q_words __attribute__((vector_size(SN_QUANT_VECTOR_BYTES)));
  const q_bytes all = (q_bytes)((q_words){0} + word);
  const q_bytes each = (q_bytes)((q_words){0x08040201u, 0x80402010u, 0x08040201u, 0x80402010u,
                                           0x08040201u, 0x80402010u, 0x08040201u, 0x80402010u});
  const q_bytes own =
      __builtin_shufflevector(all, all, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 18, 18, 18,
                              18, 18, 18, 18, 18, 19, 19, 19, 19, 19, 19, 19, 19);
  return (part_bytes){{(q_bytes)((own & each) == each)}};
}

static inline q_ints by_half(int i, int32_t first, int32_t second) {
  (void)i;
  return (q_ints){first, first, first, first, second, second, second, second};
}
#endif

#endif
