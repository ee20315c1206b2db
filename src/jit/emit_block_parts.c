/* emit_block_parts.c - the code for the numbers and the scales of quantised blocks (graph/quant_blocks.h). */
#include "jit/emit_blocks.h"

enum { FOUR = SN_BLOCKS_FOUR, VECTOR = SN_BLOCKS_VECTOR };

/* The low 8 bytes of each. The high 8 are the same, but for places of bytes the next ones. */
#define BYTES_OF(byte) ((byte)*0x0101010101010101u)
#define WORDS_OF(word) ((word)*0x100000001u)
static const uint64_t constants[N_CONSTANTS] = {
    [TOP_BIT] = BYTES_OF(128),
    [LOW_HALF] = BYTES_OF(15),
    [UPPER_ONE] = BYTES_OF(16),
    [UPPER_TWO] = BYTES_OF(48),
    [SIX] = BYTES_OF(63),
    [EACH_BIT] = 0x8040201008040201,
    [LOW_WORD] = BYTES_OF(0),
    [HIGH_WORD] = BYTES_OF(2),
    [ONES] = 0x0001000100010001,
    [MAGNITUDE] = WORDS_OF(0x7fff << 13),
    [SIGN] = WORDS_OF(0x80000000u),
    [MOST_FINITE] = WORDS_OF((0x7c00 << 13) - 1),
    [INFINITE] = WORDS_OF(255u << 23),
    [BIAS] = WORDS_OF(112 << 23),
    [LEAST_NORMAL] = WORDS_OF(113 << 23),
};

void sn_blocks_constants(sn_blocks_body *b) {
  for (int i = 0; i < N_CONSTANTS; i++) {
    const uint64_t next = i == LOW_WORD || i == HIGH_WORD ? BYTES_OF(1) : 0;
    b->constants[i] = sn_wasm_local(b->w, SN_WASM_TYPE_V128);
    sn_emit_16(b->w, SN_WASM_v128_const, (const uint64_t[]){constants[i], constants[i] + next});
    set(b, b->constants[i]);
  }
}

/* ---- whole numbers ----------------------------------------------------------------------------- */

/* Pushes bit 16 k + j of the 32 bits at that place as bit 4 of byte j. */
static void fifth_bits(const sn_blocks_body *b, sn_block_place at, uint32_t more, int k) {
  load(b, SN_WASM_v128_load32_splat, at, more);
  with(b, SN_WASM_i8x16_swizzle, k ? HIGH_WORD : LOW_WORD);
  with(b, SN_WASM_v128_and, EACH_BIT);
  with(b, SN_WASM_i8x16_eq, EACH_BIT);
  with(b, SN_WASM_v128_and, UPPER_ONE);
}

/* Pushes 16 bytes, which are loaded if they are needed for the first time. */
static void push_bytes(const sn_blocks_body *b, uint32_t local, bool first, sn_block_place at,
                       int more) {
  if (first) {
    load(b, SN_WASM_v128_load, at, (uint32_t)more);
    set(b, local);
  }
  get(b, local);
}

/* A byte holds a number of 4 bits in each half: in small blocks numbers j and j + 16, in large ones those of two parts. */
static void low_bits(const sn_blocks_body *b, sn_block_place at, int part, int k) {
  const int half = part / FOUR, i = part % FOUR, low = b->layout->low;
  if (!b->is_large) {
    push_bytes(b, b->low[0], k == 0, at, low);
    shift(b, k * 4);
  } else {
    const bool six = b->kind == SN_BLOCK_Q6_K;
    const int pair = six ? i & 1 : i >> 1, upper = six ? i >> 1 : i & 1;
    push_bytes(b, b->low[six ? pair * 2 + k : k], !upper, at,
               low + half * 64 + pair * SN_PART + k * VECTOR);
    shift(b, upper * 4);
  }
  with(b, SN_WASM_v128_and, LOW_HALF);
}

/* Pushes the bits of the numbers of a large block from bit 4 on: two of Q6_K, one of Q5_K. */
static void high_bits(const sn_blocks_body *b, sn_block_place at, int part, int k) {
  const bool six = b->kind == SN_BLOCK_Q6_K;
  const int half = part / FOUR, i = part % FOUR;
  push_bytes(b, b->high[k], i == 0, at, b->layout->high + (six ? half * SN_PART : 0) + k * VECTOR);
  shift(b, (six ? i * 2 : part) - 4);
  with(b, SN_WASM_v128_and, six ? UPPER_TWO : UPPER_ONE);
}

void sn_blocks_numbers(const sn_blocks_body *b, sn_block_place at, int part, int k) {
  const sn_block_layout *l = b->layout;
  if (b->kind == SN_BLOCK_Q8_0) {
    load(b, SN_WASM_v128_load, at, l->low + (uint32_t)k * VECTOR);
    if (b->form == SN_QUANT_BYTES) with(b, SN_WASM_v128_xor, TOP_BIT);
    return;
  }
  low_bits(b, at, part, k);
  if (!l->high) return;
  if (b->is_large)
    high_bits(b, at, part, k);
  else
    fifth_bits(b, at, l->high, k);
  op(b, SN_WASM_v128_or);
}

/* ---- scales ------------------------------------------------------------------------------------ */

/* Converts the float16 in the upper half of each word at the top of the stack to float32, whatever the lower half holds. Two
 * candidates are computed: one is right for subnormal float16 and is a difference of normal floats, since processors are slow
 * with subnormal ones; the other is right for normal float16. The right one is never the larger one, so pmin chooses it. */
static void widen_f16(const sn_blocks_body *b) {
  sn_emit_i32(b->w, 3);
  op(b, SN_WASM_i32x4_shr_s);
  sn_emit_index(b->w, SN_WASM_local_tee, b->bits);
  with(b, SN_WASM_v128_and, MAGNITUDE);
  sn_emit_index(b->w, SN_WASM_local_tee, b->fields);
  with(b, SN_WASM_i32x4_add, LEAST_NORMAL);
  with(b, SN_WASM_f32x4_sub, LEAST_NORMAL);
  get(b, b->fields);
  with(b, SN_WASM_i32x4_add, BIAS);
  op(b, SN_WASM_f32x4_pmin);
  get_constant(b, MOST_FINITE); /* less than: one instruction, and at least would be two */
  get(b, b->fields);
  op(b, SN_WASM_i32x4_lt_s);
  with(b, SN_WASM_v128_and, INFINITE);
  op(b, SN_WASM_v128_or);
  get(b, b->bits);
  with(b, SN_WASM_v128_and, SIGN);
  op(b, SN_WASM_v128_or);
}

/* Interleaves the low halves of the two vectors at the top of the stack, 16 bits of each in turn. */
static void interleave_shorts(const sn_blocks_body *b) {
  static const uint8_t each[VECTOR] = {0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23};
  sn_emit_16(b->w, SN_WASM_i8x16_shuffle, each);
}

/* out = the float16 `more` bytes behind each of four places. Each is loaded with what lies behind it in its block, as the
 * first of a vector's 16 bits: loads of a lane take two instructions. */
static void widen_f16_at(const sn_blocks_body *b, const sn_block_place at[FOUR], uint32_t more,
                         uint32_t out) {
  get_constant(b, ZERO);
  for (int i = 0; i < FOUR; i += 2) {
    load(b, SN_WASM_v128_load, at[i], more);
    load(b, SN_WASM_v128_load, at[i + 1], more);
    interleave_shorts(b);
  }
  shuffle(b, 0, 4, 1, 5);
  interleave_shorts(b);
  widen_f16(b);
  set(b, out);
}

void sn_blocks_scales(const sn_blocks_body *b, const sn_block_place at[FOUR]) {
  widen_f16_at(b, at, 0, b->w_scales);
  if (b->layout->has_min) widen_f16_at(b, at, 2, b->w_mins);
}

/* Pushes the four bytes in lane `lane` of b->numbers as floats, times lane `lane` - 1 of b->w_mins. */
static void six_bits(const sn_blocks_body *b, int lane) {
  get(b, b->numbers);
  get(b, b->numbers);
  shuffle(b, lane, lane, lane, lane);
  op(b, SN_WASM_i16x8_extend_low_i8x16_u);
  op(b, SN_WASM_i32x4_extend_low_i16x8_u);
  op(b, SN_WASM_f32x4_convert_i32x4_s);
  get(b, b->w_mins);
  get(b, b->w_mins);
  shuffle(b, lane - 1, lane - 1, lane - 1, lane - 1);
  op(b, SN_WASM_f32x4_mul);
}

/* A block with mins begins with two float16; 12 bytes behind them hold for each of 8 parts a scale and a min of 6 bits, which
 * the float16 multiply. As 32-bit words: words 1 and 2 hold scales and mins of the first four parts in bits 0 to 5 of their
 * bytes. Word 3 holds the low four bits of those of the second four parts, whose upper two bits are bits 6 and 7 in words 1
 * and 2. Q6_K has one scale for the whole block. */
void sn_blocks_scales_of_half(const sn_blocks_body *b, sn_block_place at, bool second) {
  if (!b->layout->has_min) {
    load(b, SN_WASM_v128_load16_splat, at, 208);
    widen_f16(b);
    set(b, b->w_scales);
    return;
  }
  load(b, SN_WASM_v128_load, at, 0);
  set(b, b->numbers);
  get(b, b->numbers);
  shift(b, -16);
  get(b, b->numbers);
  shuffle(b, 0, 4, 0, 4);
  widen_f16(b);
  set(b, b->w_mins);
  if (second) {
    get(b, b->numbers);
    get(b, b->numbers);
    shift(b, 4);
    shuffle(b, 3, 3, 7, 7);
    with(b, SN_WASM_v128_and, LOW_HALF);
    get(b, b->numbers);
    shift(b, 2);
    with(b, SN_WASM_v128_and, UPPER_TWO);
    op(b, SN_WASM_v128_or);
  } else {
    get(b, b->numbers);
    with(b, SN_WASM_v128_and, SIX);
  }
  set(b, b->numbers);
  six_bits(b, 1);
  set(b, b->w_scales);
  six_bits(b, 2);
  op(b, SN_WASM_f32x4_neg);
  set(b, b->w_mins);
}

void sn_blocks_small_scales(const sn_blocks_body *b, sn_block_place at, bool second) {
  load(b, SN_WASM_v128_load64_zero, at, 192 + (second ? 8 : 0));
  op(b, SN_WASM_i16x8_extend_low_i8x16_s);
  set(b, b->small_scales);
}
