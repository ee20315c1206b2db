/* emit_blocks.c - the blocks role (kernels/code.h): rows of quantised blocks times a row of x, by the dot product of relaxed
 * SIMD. Rows are computed one after the other: two at a time need fewer loads of x, but processors fetch two runs of memory
 * at a lower speed than one.
 *
 * That instruction multiplies signed bytes by bytes of 7 bits; with these every engine is exact. Numbers of blocks without a
 * sign are the operand of 7 bits. Numbers of Q8_0 have one and are the signed operand: then x is the one of 7 bits, without
 * its sign. The sign lies apart and is applied to the number w by w ^ -1 = -w - 1, which cannot overflow as -w can; for the
 * -1 the total of x's negative numbers is subtracted (SN_QUANT_SIGNS). On engines that are exact for 8 bits, too, numbers of
 * Q8_0 are taken as 128 more, without a sign (SN_QUANT_BYTES). Without relaxed SIMD numbers are widened to 16 bits
 * (SN_QUANT_SHORTS). Sums of 32 products are integers, so their order is free; everything after them is done in the order of
 * quant_blocks.h, with four parts of a row in the four lanes.
 *
 * The instruction sums four products in 32 bits. On processors without one of that kind engines make it of five others, of
 * which the first sums two products in 16 bits (call.h: twos). There that one alone is taken: two products of a byte and of
 * 7 bits fit into 16 bits, and eight of a byte and of 5 bits. */
#include "jit/emit_blocks.h"

#include "jit/body.h"

enum { ROWS, BYTES, N, Q, SCALES, TOTALS, PARTS, OUT, N_PARAMS };
enum { FOUR = SN_BLOCKS_FOUR, HALVES = SN_BLOCKS_HALVES, VECTOR = SN_BLOCKS_VECTOR };
enum { Q6_ZERO_BITS = 5 };

/* ---- sums of a part ---------------------------------------------------------------------------- */

/* Whether every 16 numbers have a scale. Then totals of x are two of 16 bits each (quant_rows.h). */
static bool has_small_scales(const sn_blocks_body *b) { return b->kind == SN_BLOCK_Q6_K; }

/* Whether the sums of a part stay in 16 bits: those of numbers of 5 bits do. */
static bool is_narrow(const sn_blocks_body *b) {
  return b->twos && b->form == SN_QUANT_BYTES && !has_small_scales(b);
}

/* Bytes of a part of x. */
static int x_bytes(const sn_blocks_body *b) { return (int)sn_quant_bytes(b->form, SN_PART); }

/* Pushes a vector of x: numbers [16 k, 16 k + 16) of part p of the next four, or of two vectors the second one. */
static void push_x(const sn_blocks_body *b, int p, int k, bool second) {
  const int next = b->form == SN_QUANT_SIGNS ? SN_PART : VECTOR;
  const int first = k * VECTOR * (b->form == SN_QUANT_SHORTS ? HALVES : 1);
  get(b, b->q);
  sn_emit_memory(b->w, SN_WASM_v128_load, (uint32_t)(p * x_bytes(b) + first + (second ? next : 0)));
}

/* SN_QUANT_SHORTS: pushes the numbers at the top of the stack at even places times the first eight of x, plus those at odd
 * places times the other eight. */
static void multiply_shorts(const sn_blocks_body *b, int p, int k) {
  set(b, b->numbers);
  for (int odd = 0; odd < HALVES; odd++) {
    get(b, b->numbers);
    for (int left = odd; left < HALVES; left++) {
      sn_emit_i32(b->w, 8);
      op(b, left ? SN_WASM_i16x8_shr_s : SN_WASM_i16x8_shl);
    }
    push_x(b, p, k, odd);
    op(b, SN_WASM_i32x4_dot_i16x8_s);
  }
  op(b, SN_WASM_i32x4_add);
}

/* Pushes numbers [16 k, 16 k + 16) of a part and those of x, the operand of 7 bits last. */
static void push_operands(const sn_blocks_body *b, sn_block_place at, int part, int p, int k) {
  if (b->form == SN_QUANT_BYTES) push_x(b, p, k, false);
  sn_blocks_numbers(b, at, part, k);
  if (b->form != SN_QUANT_SIGNS) return;
  push_x(b, p, k, true);
  op(b, SN_WASM_v128_xor);
  push_x(b, p, k, false);
}

/* Multiplies the sums at the top of the stack by small scale i: sums of two in 16 bits, or of four. */
static void scale_sums(const sn_blocks_body *b, int i) {
  uint8_t bytes[VECTOR];
  for (int at = 0; at < VECTOR; at++) bytes[at] = (uint8_t)(i * 2 + at % 2);
  get(b, b->small_scales);
  get(b, b->small_scales);
  sn_emit_16(b->w, SN_WASM_i8x16_shuffle, bytes);
  if (!b->twos) {
    sn_emit_i32(b->w, 16);
    op(b, SN_WASM_i32x4_shr_s);
  }
  op(b, b->twos ? SN_WASM_i32x4_dot_i16x8_s : SN_WASM_i32x4_mul);
}

/* Adds the products of numbers [16 k, 16 k + 16) of a part and of x's part p to dots[p], or sets it if k is 0. */
static void add_products_of_16(const sn_blocks_body *b, sn_block_place at, int part, int p, int k) {
  const bool scaled = has_small_scales(b), shorts = b->form == SN_QUANT_SHORTS;
  if (shorts) {
    sn_blocks_numbers(b, at, part, k);
    multiply_shorts(b, p, k);
  } else {
    push_operands(b, at, part, p, k);
    if (!b->twos) get(b, k && !scaled ? b->dots[p] : b->constants[ZERO]);
    op(b, b->twos ? SN_WASM_i16x8_relaxed_dot : SN_WASM_i32x4_relaxed_dot_add);
  }
  if (scaled)
    scale_sums(b, p * HALVES + k);
  else if (b->twos && !is_narrow(b))
    with(b, SN_WASM_i32x4_dot_i16x8_s, ONES);
  if (k && (scaled || shorts || b->twos)) {
    get(b, b->dots[p]);
    op(b, is_narrow(b) ? SN_WASM_i16x8_add : SN_WASM_i32x4_add);
  }
  set(b, b->dots[p]);
}

/* Joins the dots of parts p and p + 1: lanes 0 and 2 of dots[p / 2] get what adds up to the first, 1 and 3 to the second. */
static void join_two(const sn_blocks_body *b, int p) {
  for (int odd = 0; odd < HALVES; odd++) {
    get(b, b->dots[p]);
    get(b, b->dots[p + 1]);
    shuffle(b, 2 * odd, 2 * odd + 4, 2 * odd + 1, 2 * odd + 5);
  }
  op(b, is_narrow(b) ? SN_WASM_i16x8_add : SN_WASM_i32x4_add);
  if (is_narrow(b)) with(b, SN_WASM_i32x4_dot_i16x8_s, ONES);
  set(b, b->dots[p / 2]);
}

/* Multiplies the next four parts of x by those of four small blocks, or from part `first` on by those of a large one. */
static void dots_of_four(const sn_blocks_body *b, const sn_block_place at[FOUR], int first) {
  for (int p = 0; p < FOUR; p++) {
    for (int k = 0; k < HALVES; k++)
      add_products_of_16(b, at[p], b->is_large ? first + p : 0, p, k);
    if (p % 2) join_two(b, p - 1);
  }
}

/* Pushes a vector whose lane p is the sum of part p. */
static void push_sums(const sn_blocks_body *b) {
  for (int odd = 0; odd < HALVES; odd++) {
    get(b, b->dots[0]);
    get(b, b->dots[1]);
    shuffle(b, 2 * odd, 2 * odd + 1, 2 * odd + 4, 2 * odd + 5);
  }
  op(b, SN_WASM_i32x4_add);
}

/* ---- four parts -------------------------------------------------------------------------------- */

static void scales_of_x(const sn_blocks_body *b, bool last) {
  get(b, b->scales);
  sn_emit_memory(b->w, SN_WASM_v128_load, 0);
  if (!last) return;
  get(b, b->within);
  op(b, SN_WASM_v128_and);
}

static void totals_of_x(const sn_blocks_body *b) {
  get(b, b->totals);
  sn_emit_memory(b->w, SN_WASM_v128_load, 0);
}

/* Subtracts from the sums at the top of the stack what the zeros of the numbers have added. */
static void subtract_zeros(const sn_blocks_body *b) {
  const int zero_bits = has_small_scales(b) ? Q6_ZERO_BITS : sn_quant_zero_bits(b->kind, b->form);
  if (!zero_bits && b->form != SN_QUANT_SIGNS) return;
  totals_of_x(b);
  if (has_small_scales(b)) {
    get(b, b->small_scales);
    op(b, SN_WASM_i32x4_dot_i16x8_s);
  }
  shift(b, -zero_bits);
  op(b, SN_WASM_i32x4_sub);
}

/* Adds the products of four parts to the sums, as sn_part_product does; last: only the parts within the row. */
static void add_products(const sn_blocks_body *b, bool last) {
  push_sums(b);
  subtract_zeros(b);
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

static void four_blocks(const sn_blocks_body *b, const sn_block_place at[FOUR], bool last) {
  dots_of_four(b, at, 0);
  sn_blocks_scales(b, at);
  add_products(b, last);
}

static void half_block(const sn_blocks_body *b, sn_block_place at, bool second) {
  if (has_small_scales(b)) sn_blocks_small_scales(b, at, second);
  dots_of_four(b, (const sn_block_place[]){at, at, at, at}, second ? FOUR : 0);
  sn_blocks_scales_of_half(b, at, second);
  add_products(b, false);
}

static void next_four(const sn_blocks_body *b) {
  sn_emit_add(b->w, b->q, FOUR * x_bytes(b));
  sn_emit_add(b->w, b->scales, FOUR * 4);
  sn_emit_add(b->w, b->totals, FOUR * 4);
  sn_emit_add(b->w, b->left, -FOUR);
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void large_row(const sn_blocks_body *b) {
  sn_emit_while(b->w, b->left, 1);
  for (int half = 0; half < HALVES; half++) {
    half_block(b, (sn_block_place){b->block, 0}, half);
    next_four(b);
  }
  sn_emit_add(b->w, b->block, (int32_t)b->layout->bytes);
  sn_emit_repeat(b->w, b->left, 1);
}

/* tail = left >= least ? place + a block : place. */
static void step_if(const sn_blocks_body *b, uint32_t tail, uint32_t place, int least) {
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
static void last_blocks(const sn_blocks_body *b) {
  step_if(b, b->tail[0], b->block, 2);
  step_if(b, b->tail[1], b->tail[0], 3);
  const sn_block_place at[] = {{b->block, 0}, {b->tail[0], 0}, {b->tail[1], 0}, {b->tail[1], 0}};
  four_blocks(b, at, true);
}

static void small_row(const sn_blocks_body *b) {
  const uint32_t bytes = b->layout->bytes, at = b->block;
  const sn_block_place four[] = {{at, 0}, {at, bytes}, {at, 2 * bytes}, {at, 3 * bytes}};
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
static void store_total(const sn_blocks_body *b) {
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

static void start_row(const sn_blocks_body *b) {
  const uint32_t to[] = {b->block, b->q, b->scales, b->totals, b->left};
  const uint32_t from[] = {ROWS, Q, SCALES, TOTALS, PARTS};
  for (int i = 0; i < 5; i++) {
    get(b, from[i]);
    set(b, to[i]);
  }
  get_constant(b, ZERO);
  set(b, b->sums);
}

static void all_rows(const sn_blocks_body *b) {
  sn_emit_while(b->w, N, 1);
  start_row(b);
  if (b->is_large)
    large_row(b);
  else
    small_row(b);
  store_total(b);
  sn_emit_add(b->w, OUT, 4);
  get(b, ROWS);
  get(b, BYTES);
  op(b, SN_WASM_i32_add);
  set(b, ROWS);
  sn_emit_add(b->w, N, -1);
  sn_emit_repeat(b->w, N, 1);
}

static void make_locals(sn_blocks_body *b) {
  uint32_t *numbers[] = {&b->block, &b->q,       &b->scales, &b->totals,
                         &b->left,  &b->tail[0], &b->tail[1]};
  uint32_t *vectors[] = {&b->within,   &b->sums,    &b->dots[0],     &b->dots[1], &b->dots[2],
                         &b->dots[3],  &b->numbers, &b->low[0],      &b->low[1],  &b->low[2],
                         &b->low[3],   &b->high[0], &b->high[1],     &b->bits,    &b->fields,
                         &b->w_scales, &b->w_mins,  &b->small_scales};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    *numbers[i] = sn_wasm_local(b->w, SN_WASM_TYPE_I32);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    *vectors[i] = sn_wasm_local(b->w, SN_WASM_TYPE_V128);
}

static void make_within(const sn_blocks_body *b) {
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
    sn_blocks_body b = {.w = j->w,
                        .kind = kind,
                        .layout = sn_block_layout_of(kind),
                        .is_large = sn_block_layout_of(kind)->numbers > SN_PART,
                        .form = j->kernel->blocks->form,
                        .twos = j->kernel->blocks->twos};
    sn_wasm_function(b.w, N_PARAMS);
    make_locals(&b);
    sn_blocks_constants(&b);
    make_within(&b);
    all_rows(&b);
    *made = sn_wasm_function_end(b.w) + 1;
  }
  *number = *made - 1;
  return SN_OK;
}
