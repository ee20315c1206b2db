/* emit_blocks.c - the blocks role (kernels/code.h): rows of quantised blocks times a row of x, by the dot product of relaxed
 * SIMD.
 *
 * That instruction multiplies signed bytes by bytes of 7 bits; with these every engine is exact. Numbers of blocks without a
 * sign are the operand of 7 bits. Numbers with a sign are the signed operand: then x is the one of 7 bits, with its positive
 * and its negative numbers apart (SN_QUANT_APART). On engines that are exact for 8 bits, too, numbers of Q8_0 are taken
 * as 128 more, without a sign (SN_QUANT_BYTES). Without relaxed SIMD numbers are widened to 16 bits (SN_QUANT_SHORTS). Sums
 * of 32 products are integers, so their order is free; everything after them is done in the order of quant_blocks.h, with
 * four parts of a row in the four lanes.
 *
 * The instruction sums four products in 32 bits. On processors without one of that kind engines make it of five others, of
 * which the first sums two products in 16 bits (call.h: twos). There that one alone is taken: two products of a byte and of
 * 7 bits fit into 16 bits, and eight of a byte and of 5 bits. */
#include "jit/body.h"
#include "kernels/quant_rows.h"

enum { ROWS, BYTES, N, Q, SCALES, TOTALS, PARTS, OUT, N_PARAMS };
enum { FOUR = 4, HALVES = 2, VECTOR = 16 };

/* Vector constants. They are kept in locals, since engines build a constant anew at each place where it is written. */
typedef enum constant {
  ZERO,
  TOP_BIT,   /* bit 7 of each byte */
  LOW_HALF,  /* bits 0 to 3 of each byte */
  UPPER_ONE, /* bit 4 of each byte */
  UPPER_TWO, /* bits 4 and 5 of each byte */
  SIX,       /* bits 0 to 5 of each byte */
  THIRTY_TWO,
  EACH_BIT,     /* bit j % 8 of byte j */
  ONES,         /* 1 in 16-bit lanes: the product with it sums adjacent lanes in 32 bits */
  /* in 32-bit lanes: */
  MAGNITUDE,    /* the bits of a float16 but its sign, its exponent at the low bits of a float32's exponent */
  SIGN,         /* the sign of a float32 */
  SPECIAL,      /* least shifted magnitude of a float16 that is not finite */
  INFINITE,     /* the exponent of a float32 that is not finite */
  BIAS,         /* what the exponent of a float32 is more than that of the same float16 */
  LEAST_NORMAL, /* 2^-14, the least normal float16 */
  N_CONSTANTS
} constant;

/* The low 8 bytes of each; the high 8 are the same. */
#define BYTES_OF(byte) ((byte)*0x0101010101010101u)
#define WORDS_OF(word) ((word)*0x100000001u)
static const uint64_t constants[N_CONSTANTS] = {
    [TOP_BIT] = BYTES_OF(128),
    [LOW_HALF] = BYTES_OF(15),
    [UPPER_ONE] = BYTES_OF(16),
    [UPPER_TWO] = BYTES_OF(48),
    [SIX] = BYTES_OF(63),
    [THIRTY_TWO] = BYTES_OF(32),
    [EACH_BIT] = 0x8040201008040201,
    [ONES] = 0x0001000100010001,
    [MAGNITUDE] = WORDS_OF(0x7fff << 13),
    [SIGN] = WORDS_OF(0x80000000u),
    [SPECIAL] = WORDS_OF(0x7c00 << 13),
    [INFINITE] = WORDS_OF(255u << 23),
    [BIAS] = WORDS_OF(112 << 23),
    [LEAST_NORMAL] = WORDS_OF(113 << 23),
};

/* The address of a block: (address in `local`) + offset bytes. */
typedef struct block_place {
  uint32_t local, offset;
} block_place;

typedef struct blocks {
  sn_wasm *w;
  sn_block_kind kind;
  const sn_block_layout *layout;
  sn_quant_form form;
  bool twos;                               /* products are summed in 16 bits first */
  bool is_large;                           /* blocks of 256 numbers, which are 8 parts; else a block is one part */
  uint32_t block, q, scales, totals, left; /* positions in the row and in x; parts left */
  uint32_t tail[HALVES]; /* addresses of the second and third block behind the last whole four */
  uint32_t within;       /* mask: the lanes that exist in the last four parts if they are fewer */
  uint32_t sums, dots[FOUR], numbers, of_sign[HALVES];
  uint32_t bits, w_scales, w_mins, fields;
  uint32_t constants[N_CONSTANTS];
} blocks;

/* ---- words ------------------------------------------------------------------------------------- */

static void op(const blocks *b, sn_wasm_op code) { sn_emit(b->w, code); }
static void get(const blocks *b, uint32_t local) { sn_emit_get(b->w, local); }
static void set(const blocks *b, uint32_t local) { sn_emit_set(b->w, local); }

/* Loads without any alignment: blocks begin at any byte. */
static void load(const blocks *b, sn_wasm_op code, block_place at, uint32_t more) {
  get(b, at.local);
  sn_emit_unaligned(b->w, code, at.offset + more);
}

static void get_constant(const blocks *b, constant c) { get(b, b->constants[c]); }

/* top = code(top, constant), of the stack. */
static void with(const blocks *b, sn_wasm_op code, constant c) {
  get_constant(b, c);
  op(b, code);
}

/* Shifts the 32-bit lanes of the top of the stack to the right, or to the left if bits < 0. */
static void shift(const blocks *b, int bits) {
  if (!bits) return;
  sn_emit_i32(b->w, bits > 0 ? bits : -bits);
  op(b, bits > 0 ? SN_WASM_i32x4_shr_u : SN_WASM_i32x4_shl);
}

/* Takes 32-bit lanes of the two vectors at the top of the stack: 0 to 3 are of the lower one. */
static void shuffle(const blocks *b, int i, int j, int k, int l) {
  const int lanes[] = {i, j, k, l};
  uint8_t bytes[VECTOR];
  for (int at = 0; at < VECTOR; at++) bytes[at] = (uint8_t)(lanes[at / 4] * 4 + at % 4);
  sn_emit_16(b->w, SN_WASM_i8x16_shuffle, bytes);
}

/* Bytes of a part of x. */
static int x_bytes(const blocks *b) { return (int)sn_quant_bytes(b->form, SN_PART); }

/* ---- whole numbers ----------------------------------------------------------------------------- */

/* Moves bit j of the 16 bits at that place to bit 4 of byte j. */
static void fifth_bits(const blocks *b, block_place at, uint32_t more) {
  static const uint8_t each[VECTOR] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  load(b, SN_WASM_v128_load16_splat, at, more);
  sn_emit_index(b->w, SN_WASM_local_tee, b->bits);
  get(b, b->bits);
  sn_emit_16(b->w, SN_WASM_i8x16_shuffle, each);
  with(b, SN_WASM_v128_and, EACH_BIT);
  with(b, SN_WASM_i8x16_eq, EACH_BIT);
  with(b, SN_WASM_v128_and, UPPER_ONE);
}

/* Loads 16 bytes and moves the bits of each from `first` on to bit 4 on; mask says how many there are. */
static void upper_bits(const blocks *b, block_place at, uint32_t more, int first, constant mask) {
  load(b, SN_WASM_v128_load, at, more);
  shift(b, first - 4);
  with(b, SN_WASM_v128_and, mask);
}

/* Pushes numbers [16 k, 16 k + 16) of a part as bytes; they are counted from the kind's zero. */
static void numbers(const blocks *b, block_place at, int part, int k) {
  const sn_block_layout *l = b->layout;
  const int half = part / FOUR, i = part % FOUR;
  const bool six = b->kind == SN_BLOCK_Q6_K;
  if (b->kind == SN_BLOCK_Q8_0) {
    load(b, SN_WASM_v128_load, at, l->low + (uint32_t)k * VECTOR);
    if (b->form == SN_QUANT_BYTES) with(b, SN_WASM_v128_xor, TOP_BIT);
    return;
  }
  const int pair = six ? i & 1 : i >> 1; /* which 32 bytes hold the part's low bits, */
  const int upper = !b->is_large ? k : six ? i >> 1 : i & 1; /* and whether in their upper halves */
  const int low = b->is_large ? half * 64 + pair * SN_PART + k * VECTOR : 0;
  load(b, SN_WASM_v128_load, at, l->low + (uint32_t)low);
  shift(b, upper * 4);
  with(b, SN_WASM_v128_and, LOW_HALF);
  if (!l->high) return;
  if (!b->is_large)
    fifth_bits(b, at, l->high + (uint32_t)k * 2);
  else
    upper_bits(b, at, l->high + (uint32_t)(six ? half * SN_PART : 0) + (uint32_t)k * VECTOR,
               six ? i * 2 : part, six ? UPPER_TWO : UPPER_ONE);
  op(b, SN_WASM_v128_or);
  if (six) with(b, SN_WASM_i8x16_sub, THIRTY_TWO);
}

/* ---- sums of a part ---------------------------------------------------------------------------- */

/* Pushes a vector of x: `more` bytes behind the begin of part p of four. */
static void of_x(const blocks *b, int p, int more) {
  get(b, b->q);
  sn_emit_memory(b->w, SN_WASM_v128_load, (uint32_t)(p * x_bytes(b) + more));
}

/* sum += the dot product of the two vectors at the top of the stack, of which the upper one has 7 bits; first: sum = it. */
static void dot_into(const blocks *b, uint32_t sum, bool first) {
  get(b, first ? b->constants[ZERO] : sum);
  op(b, SN_WASM_i32x4_relaxed_dot_add);
  set(b, sum);
}

/* SN_QUANT_SHORTS: multiplies the numbers in b->numbers at even places by the first eight of x, those at odd places by the
 * other eight. */
static void dot_shorts(const blocks *b, int p, int k, bool first) {
  for (int odd = 0; odd < HALVES; odd++) {
    get(b, b->numbers);
    for (int left = odd; left < HALVES; left++) {
      sn_emit_i32(b->w, 8);
      op(b, left ? SN_WASM_i16x8_shr_s : SN_WASM_i16x8_shl);
    }
    of_x(b, p, (k * HALVES + odd) * VECTOR);
    op(b, SN_WASM_i32x4_dot_i16x8_s);
    if (!first || odd) {
      get(b, b->of_sign[0]);
      op(b, SN_WASM_i32x4_add);
    }
    set(b, b->of_sign[0]);
  }
}

/* Adds numbers [16 k, 16 k + 16) of a part times those of x to b->of_sign; first: sets it. */
static void dot_of_16(const blocks *b, block_place at, int part, int p, int k, bool first) {
  if (b->form == SN_QUANT_BYTES) {
    of_x(b, p, k * VECTOR);
    numbers(b, at, part, k);
    dot_into(b, b->of_sign[0], first);
    return;
  }
  numbers(b, at, part, k);
  set(b, b->numbers);
  if (b->form == SN_QUANT_SHORTS) {
    dot_shorts(b, p, k, first);
    return;
  }
  for (int sign = 0; sign < HALVES; sign++) {
    get(b, b->numbers);
    of_x(b, p, sign * SN_PART + k * VECTOR);
    dot_into(b, b->of_sign[sign], first);
  }
}

static void get_sums(const blocks *b) {
  get(b, b->of_sign[0]);
  if (b->form != SN_QUANT_APART) return;
  get(b, b->of_sign[1]);
  op(b, SN_WASM_i32x4_sub);
}

/* Pushes the products of numbers [16 k, 16 k + 16) of a part and of x, as sums of two in 16-bit lanes. */
static void push_twos(const blocks *b, block_place at, int part, int p, int k) {
  if (b->form == SN_QUANT_BYTES) {
    of_x(b, p, k * VECTOR);
    numbers(b, at, part, k);
    op(b, SN_WASM_i16x8_relaxed_dot);
    return;
  }
  numbers(b, at, part, k);
  set(b, b->numbers);
  for (int sign = 0; sign < HALVES; sign++) {
    get(b, b->numbers);
    of_x(b, p, sign * SN_PART + k * VECTOR);
    op(b, SN_WASM_i16x8_relaxed_dot);
  }
  op(b, SN_WASM_i16x8_sub);
}

/* Whether the sums of a part stay in 16 bits: those of numbers of 5 bits do. */
static bool is_narrow(const blocks *b) { return b->twos && b->form == SN_QUANT_BYTES; }

/* b->dots[p] = part `part` of a block times part p of the four parts of x, as sums in 4 lanes, or in 8 if they are narrow. In
 * Q6_K every 16 numbers have a scale of 8 bits, which is multiplied in here. */
static void dot(const blocks *b, block_place at, int part, int p) {
  const bool scaled = b->kind == SN_BLOCK_Q6_K, narrow = is_narrow(b);
  for (int k = 0; k < HALVES; k++) {
    if (b->twos)
      push_twos(b, at, part, p, k);
    else
      dot_of_16(b, at, part, p, k, scaled || k == 0);
    if (b->twos && !narrow) with(b, SN_WASM_i32x4_dot_i16x8_s, ONES);
    if (!scaled) continue;
    if (!b->twos) get_sums(b);
    load(b, SN_WASM_i32_load8_s, at, 192 + (uint32_t)(part * HALVES + k));
    op(b, SN_WASM_i32x4_splat);
    op(b, SN_WASM_i32x4_mul);
  }
  if (b->twos || scaled)
    op(b, narrow ? SN_WASM_i16x8_add : SN_WASM_i32x4_add);
  else
    get_sums(b);
  set(b, b->dots[p]);
}

/* Pushes a vector whose lane p is the sum of the lanes of b->dots[p]. */
static void sums_of_dots(const blocks *b) {
  for (int i = 0; i < FOUR; i += 2) {
    for (int odd = 0; odd < HALVES; odd++) {
      get(b, b->dots[i]);
      get(b, b->dots[i + 1]);
      shuffle(b, 2 * odd, 2 * odd + 4, 2 * odd + 1, 2 * odd + 5);
    }
    op(b, is_narrow(b) ? SN_WASM_i16x8_add : SN_WASM_i32x4_add);
    if (is_narrow(b)) with(b, SN_WASM_i32x4_dot_i16x8_s, ONES);
    set(b, b->dots[i / 2]);
  }
  for (int odd = 0; odd < HALVES; odd++) {
    get(b, b->dots[0]);
    get(b, b->dots[1]);
    shuffle(b, 2 * odd, 2 * odd + 1, 2 * odd + 4, 2 * odd + 5);
  }
  op(b, SN_WASM_i32x4_add);
}

/* ---- scales ------------------------------------------------------------------------------------ */

/* Converts the float16 in the upper half of each word at the top of the stack to float32, whatever the lower half holds. Two
 * candidates are computed: one is right for subnormal float16 and is a difference of normal floats, since processors are slow
 * with subnormal ones; the other is right for normal float16. The right one is never the larger one, so pmin chooses it. */
static void widen_f16(const blocks *b) {
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
  get(b, b->fields);
  with(b, SN_WASM_i32x4_ge_s, SPECIAL);
  with(b, SN_WASM_v128_and, INFINITE);
  op(b, SN_WASM_v128_or);
  get(b, b->bits);
  with(b, SN_WASM_v128_and, SIGN);
  op(b, SN_WASM_v128_or);
}

/* out = the float16 `more` bytes behind each of four places. */
static void widen_f16_at(const blocks *b, const block_place at[FOUR], uint32_t more, uint32_t out) {
  get_constant(b, ZERO);
  set(b, b->bits);
  for (uint32_t i = 0; i < FOUR; i++) {
    get(b, at[i].local);
    get(b, b->bits);
    sn_emit_lane_unaligned(b->w, SN_WASM_v128_load16_lane, at[i].offset + more, 2 * i + 1);
    set(b, b->bits);
  }
  get(b, b->bits);
  widen_f16(b);
  set(b, out);
}

static void scales_of_blocks(const blocks *b, const block_place at[FOUR]) {
  widen_f16_at(b, at, 0, b->w_scales);
  if (b->layout->has_min) widen_f16_at(b, at, 2, b->w_mins);
}

/* Pushes the four bytes in lane `lane` of b->numbers as floats, times lane `lane` - 1 of b->w_mins. */
static void six_bits(const blocks *b, int lane) {
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

/* w_scales, w_mins = scales and negated mins of the four parts in one half of a large block. A block begins with two float16;
 * 12 bytes behind them hold for each of 8 parts a scale and a min of 6 bits, which the float16 multiply. As 32-bit words:
 * words 1 and 2 hold scales and mins of the first four parts in bits 0 to 5 of their bytes. Word 3 holds the low four bits
 * of those of the second four parts, whose upper two bits are bits 6 and 7 in words 1 and 2. */
static void scales_of_half(const blocks *b, block_place at, bool second) {
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

/* Q6_K has one scale for the whole block. */
static void scale_of_block(const blocks *b, block_place at) {
  load(b, SN_WASM_v128_load16_splat, at, 208);
  widen_f16(b);
  set(b, b->w_scales);
}

/* ---- four parts -------------------------------------------------------------------------------- */

static void scales_of_x(const blocks *b, bool last) {
  get(b, b->scales);
  sn_emit_memory(b->w, SN_WASM_v128_load, 0);
  if (!last) return;
  get(b, b->within);
  op(b, SN_WASM_v128_and);
}

static void totals_of_x(const blocks *b) {
  get(b, b->totals);
  sn_emit_memory(b->w, SN_WASM_v128_load, 0);
}

/* Adds the products of four parts to the sums, as sn_part_product does; last: only the parts within the row. */
static void add_products(const blocks *b, bool last) {
  sums_of_dots(b);
  const int zero_bits = sn_quant_zero_bits(b->kind, b->form);
  if (zero_bits) {
    totals_of_x(b);
    shift(b, -zero_bits);
    op(b, SN_WASM_i32x4_sub);
  }
  op(b, SN_WASM_f32x4_convert_i32x4_s);
  get(b, b->w_scales);
  scales_of_x(b, last);
  op(b, SN_WASM_f32x4_mul);
  op(b, SN_WASM_f32x4_mul);
  if (b->layout->has_min) {
    get(b, b->w_mins);
    scales_of_x(b, last);
    totals_of_x(b);
    op(b, SN_WASM_f32x4_convert_i32x4_s);
    op(b, SN_WASM_f32x4_mul);
    op(b, SN_WASM_f32x4_mul);
    op(b, SN_WASM_f32x4_add);
  }
  if (last) {
    get(b, b->within);
    op(b, SN_WASM_v128_and);
  }
  get(b, b->sums);
  op(b, SN_WASM_f32x4_add);
  set(b, b->sums);
}

static void four_blocks(const blocks *b, const block_place at[FOUR], bool last) {
  for (int p = 0; p < FOUR; p++) dot(b, at[p], 0, p);
  scales_of_blocks(b, at);
  add_products(b, last);
}

static void four_parts(const blocks *b, block_place at, bool second) {
  for (int p = 0; p < FOUR; p++) dot(b, at, p + (second ? FOUR : 0), p);
  if (b->layout->has_min)
    scales_of_half(b, at, second);
  else
    scale_of_block(b, at);
  add_products(b, false);
}

static void next_four(const blocks *b) {
  sn_emit_add(b->w, b->q, FOUR * x_bytes(b));
  sn_emit_add(b->w, b->scales, FOUR * 4);
  sn_emit_add(b->w, b->totals, FOUR * 4);
  sn_emit_add(b->w, b->left, -FOUR);
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void large_row(const blocks *b) {
  const block_place at = {b->block, 0};
  sn_emit_while(b->w, b->left, 1);
  for (int half = 0; half < HALVES; half++) {
    four_parts(b, at, half);
    next_four(b);
  }
  sn_emit_add(b->w, b->block, b->layout->bytes);
  sn_emit_repeat(b->w, b->left, 1);
}

/* tail = left >= least ? place + a block : place. */
static void step_if(const blocks *b, uint32_t tail, uint32_t place, int least) {
  get(b, place);
  get(b, b->left);
  sn_emit_i32(b->w, least);
  op(b, SN_WASM_i32_ge_s);
  sn_emit_i32(b->w, b->layout->bytes);
  op(b, SN_WASM_i32_mul);
  op(b, SN_WASM_i32_add);
  set(b, tail);
}

/* Adds the last one to three parts. The last block stands in for those that are missing, since the code loads four. */
static void last_blocks(const blocks *b) {
  step_if(b, b->tail[0], b->block, 2);
  step_if(b, b->tail[1], b->tail[0], 3);
  const block_place at[] = {{b->block, 0}, {b->tail[0], 0}, {b->tail[1], 0}, {b->tail[1], 0}};
  four_blocks(b, at, true);
}

static void small_row(const blocks *b) {
  const uint32_t bytes = b->layout->bytes, at = b->block;
  const block_place four[] = {{at, 0}, {at, bytes}, {at, 2 * bytes}, {at, 3 * bytes}};
  sn_emit_while(b->w, b->left, FOUR);
  four_blocks(b, four, false);
  next_four(b);
  sn_emit_add(b->w, b->block, FOUR * (int32_t)bytes);
  sn_emit_repeat(b->w, b->left, FOUR);
  get(b, b->left);
  sn_emit_block(b->w, SN_WASM_if);
  last_blocks(b);
  op(b, SN_WASM_end);
}

/* (sum 0 + sum 1) + (sum 2 + sum 3) */
static void store_total(const blocks *b) {
  get(b, OUT);
  for (int step = 1; step <= 2; step++) {
    get(b, b->sums);
    get(b, b->sums);
    get(b, b->sums);
    shuffle(b, step, 1, step == 1 ? 3 : 2, 3);
    op(b, SN_WASM_f32x4_add);
    set(b, b->sums);
  }
  get(b, b->sums);
  sn_emit_index(b->w, SN_WASM_f32x4_extract_lane, 0);
  sn_emit_memory(b->w, SN_WASM_f32_store, 0);
}

static void start_row(const blocks *b) {
  const uint32_t to[] = {b->block, b->q, b->scales, b->totals, b->left};
  const uint32_t from[] = {ROWS, Q, SCALES, TOTALS, PARTS};
  for (int i = 0; i < 5; i++) {
    get(b, from[i]);
    set(b, to[i]);
  }
  get_constant(b, ZERO);
  set(b, b->sums);
}

static void make_locals(blocks *b) {
  uint32_t *numbers[] = {&b->block, &b->q,       &b->scales, &b->totals,
                         &b->left,  &b->tail[0], &b->tail[1]};
  uint32_t *vectors[] = {&b->within,   &b->sums,    &b->dots[0],    &b->dots[1],    &b->dots[2],
                         &b->dots[3],  &b->numbers, &b->of_sign[0], &b->of_sign[1], &b->bits,
                         &b->w_scales, &b->w_mins,  &b->fields};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    *numbers[i] = sn_wasm_local(b->w, SN_WASM_TYPE_I32);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    *vectors[i] = sn_wasm_local(b->w, SN_WASM_TYPE_V128);
}

static void make_constants(blocks *b) {
  for (int i = 0; i < N_CONSTANTS; i++) {
    b->constants[i] = sn_wasm_local(b->w, SN_WASM_TYPE_V128);
    sn_emit_16(b->w, SN_WASM_v128_const, (const uint64_t[]){constants[i], constants[i]});
    set(b, b->constants[i]);
  }
}

static void make_within(const blocks *b) {
  sn_emit_16(b->w, SN_WASM_v128_const, (const int32_t[]){0, 1, 2, 3});
  get(b, PARTS);
  sn_emit_i32(b->w, FOUR - 1);
  op(b, SN_WASM_i32_and);
  op(b, SN_WASM_i32x4_splat);
  op(b, SN_WASM_i32x4_lt_s);
  set(b, b->within);
}

/* All kernels with blocks of a kind share one function. */
sn_status sn_jit_blocks(sn_jit *j, uint32_t *number) {
  const sn_block_kind kind = (sn_block_kind)*j->kernel->group->call.options;
  uint32_t *made = &j->helpers->blocks[kind];
  if (!*made) {
    blocks b = {.w = j->w,
                .kind = kind,
                .layout = sn_block_layout_of(kind),
                .is_large = sn_block_layout_of(kind)->numbers > SN_PART,
                .form = j->kernel->blocks->form,
                .twos = j->kernel->blocks->twos};
    sn_wasm_function(b.w, N_PARAMS);
    make_locals(&b);
    make_constants(&b);
    make_within(&b);
    sn_emit_while(b.w, N, 1);
    start_row(&b);
    if (b.is_large)
      large_row(&b);
    else
      small_row(&b);
    store_total(&b);
    sn_emit_add(b.w, OUT, 4);
    get(&b, ROWS);
    get(&b, BYTES);
    op(&b, SN_WASM_i32_add);
    set(&b, ROWS);
    sn_emit_add(b.w, N, -1);
    sn_emit_repeat(b.w, N, 1);
    *made = sn_wasm_function_end(b.w) + 1;
  }
  *number = *made - 1;
  return SN_OK;
}
