/* emit_blocks.h - what the functions for rows of quantised blocks are made of: their locals, the words that they are written
 * in, and the code for the numbers and the scales of blocks. */
#ifndef SN_JIT_EMIT_BLOCKS_H
#define SN_JIT_EMIT_BLOCKS_H

#include "jit/emit.h"
#include "kernels/quant_rows.h"

enum { SN_BLOCKS_FOUR = 4, SN_BLOCKS_HALVES = 2, SN_BLOCKS_VECTOR = 16 };

/* Vector constants. They are kept in locals, since engines build a constant anew at each place where it is written. */
typedef enum sn_blocks_constant {
  ZERO,
  TOP_BIT,   /* bit 7 of each byte */
  LOW_HALF,  /* bits 0 to 3 of each byte */
  UPPER_ONE, /* bit 4 of each byte */
  UPPER_TWO, /* bits 4 and 5 of each byte */
  SIX,       /* bits 0 to 5 of each byte */
  EACH_BIT,  /* bit j % 8 of byte j */
  LOW_WORD,  /* for each of bits 0 to 15 of a word, the place of the byte that has it */
  HIGH_WORD, /* the same for bits 16 to 31 */
  ONES,      /* 1 in 16-bit lanes: the product with it sums adjacent lanes in 32 bits */
  /* in 32-bit lanes: */
  MAGNITUDE, /* the bits of a float16 but its sign, its exponent at the low bits of a float32's exponent */
  SIGN,         /* the sign of a float32 */
  MOST_FINITE,  /* greatest shifted magnitude of a float16 that is finite */
  INFINITE,     /* the exponent of a float32 that is not finite */
  BIAS,         /* what the exponent of a float32 is more than that of the same float16 */
  LEAST_NORMAL, /* 2^-14, the least normal float16 */
  N_CONSTANTS
} sn_blocks_constant;

/* The address of a block: (address in `local`) + offset bytes. */
typedef struct sn_block_place {
  uint32_t local, offset;
} sn_block_place;

typedef struct sn_blocks_body {
  sn_wasm *w;
  sn_block_kind kind;
  const sn_block_layout *layout;
  sn_quant_form form;
  bool twos;     /* products are summed in 16 bits first */
  bool is_large; /* blocks of 256 numbers, which are 8 parts; else a block is one part */
  uint32_t block, q, scales, totals, left; /* positions in the row and in x; parts left */
  /* Addresses of the second and third block behind the last whole four. */
  uint32_t tail[SN_BLOCKS_HALVES];
  uint32_t within; /* mask: the lanes that exist in the last four parts if they are fewer */
  uint32_t sums, dots[SN_BLOCKS_FOUR], numbers;
  /* Of a block: bytes that hold bits of several numbers. */
  uint32_t low[SN_BLOCKS_FOUR], high[SN_BLOCKS_HALVES];
  uint32_t bits, fields, w_scales, w_mins;
  uint32_t small_scales; /* of Q6_K: the scales of eight times 16 numbers, in 16-bit lanes */
  uint32_t constants[N_CONSTANTS];
} sn_blocks_body;

/* ---- words ------------------------------------------------------------------------------------- */

static inline void op(const sn_blocks_body *b, sn_wasm_op code) { sn_emit(b->w, code); }
static inline void get(const sn_blocks_body *b, uint32_t local) { sn_emit_get(b->w, local); }
static inline void set(const sn_blocks_body *b, uint32_t local) { sn_emit_set(b->w, local); }

/* Loads without any alignment: blocks begin at any byte. */
static inline void load(const sn_blocks_body *b, sn_wasm_op code, sn_block_place at,
                        uint32_t more) {
  get(b, at.local);
  sn_emit_unaligned(b->w, code, at.offset + more);
}

static inline void get_constant(const sn_blocks_body *b, sn_blocks_constant c) {
  get(b, b->constants[c]);
}

/* top = code(top, constant), of the stack. */
static inline void with(const sn_blocks_body *b, sn_wasm_op code, sn_blocks_constant c) {
  get_constant(b, c);
  op(b, code);
}

/* Shifts the 32-bit lanes of the top of the stack to the right, or to the left if bits < 0. */
static inline void shift(const sn_blocks_body *b, int bits) {
  if (!bits) return;
  sn_emit_i32(b->w, bits > 0 ? bits : -bits);
  op(b, bits > 0 ? SN_WASM_i32x4_shr_u : SN_WASM_i32x4_shl);
}

/* Takes 32-bit lanes of the two vectors at the top of the stack: 0 to 3 are of the lower one. */
static inline void shuffle(const sn_blocks_body *b, int i, int j, int k, int l) {
  const int lanes[] = {i, j, k, l};
  uint8_t bytes[SN_BLOCKS_VECTOR];
  for (int at = 0; at < SN_BLOCKS_VECTOR; at++) bytes[at] = (uint8_t)(lanes[at / 4] * 4 + at % 4);
  sn_emit_16(b->w, SN_WASM_i8x16_shuffle, bytes);
}

/* ---- blocks ------------------------------------------------------------------------------------ */

/* Makes the locals of the constants. */
void sn_blocks_constants(sn_blocks_body *b);

/* Pushes numbers [16 k, 16 k + 16) of a part as bytes; they are counted from the kind's zero. Some bytes are kept for the
 * numbers behind, so those of a block, or of half a large one, are to be pushed in their order. */
void sn_blocks_numbers(const sn_blocks_body *b, sn_block_place at, int part, int k);

/* w_scales, and w_mins of kinds with mins = the scales and the mins of four small blocks. */
void sn_blocks_scales(const sn_blocks_body *b, const sn_block_place at[SN_BLOCKS_FOUR]);

/* The same of the four parts in one half of a large block; its mins are negated. */
void sn_blocks_scales_of_half(const sn_blocks_body *b, sn_block_place at, bool second);

/* small_scales = the scales of each 16 numbers in one half of a block of Q6_K. */
void sn_blocks_small_scales(const sn_blocks_body *b, sn_block_place at, bool second);

#endif
