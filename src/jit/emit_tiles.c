/* emit_tiles.c - the tiles role (kernels/code.h): four unpacked rows of quantised blocks times rows of x. Each lane of a sum
 * belongs to one row of blocks: a vector holds the next numbers of every row, one row per lane (quant_rows.h), and is
 * multiplied by the same numbers of x. These are four bytes, by the dot product of relaxed SIMD, or two shorts. Rows of x are
 * taken in pairs; if their number is odd, the last one is computed twice.
 *
 * emit_blocks.c tells for which bytes the instruction is exact, and where two products are summed in 16 bits instead. */
#include "jit/body.h"
#include "kernels/quant_rows.h"

enum { NUMBERS, W_SCALES, Q, SCALES, TOTALS, PARTS, N, OUT, STRIDE, N_PARAMS };
enum { PAIR = 2, VECTOR = 16, WORD = 4 };
/* Bytes of the scales and mins of a part of four rows of blocks. */
enum { SCALE_BYTES = 2 * VECTOR };

typedef struct row_of_x { /* locals: addresses; accumulators */
  uint32_t q, scales, totals, out;
  uint32_t dots, twos, scale, sums[SN_PART_SUMS];
} row_of_x;

typedef struct tiles {
  sn_wasm *w;
  const sn_block_layout *layout;
  bool shorts;   /* numbers are shorts, else bytes */
  int zero_bits; /* numbers are stored plus 2^zero_bits; 0: they are stored as they are */
  int narrow; /* steps whose products are summed in 16 bits; 0: they are summed in 32 bits at once */
  uint32_t numbers, w_scales, left; /* position in the rows of blocks; parts left */
  uint32_t step, zero, ones; /* vectors: the next four numbers of each row; 0; 1 in 16-bit lanes */
  row_of_x x[PAIR];
} tiles;

static void op(const tiles *t, sn_wasm_op code) { sn_emit(t->w, code); }
static void get(const tiles *t, uint32_t local) { sn_emit_get(t->w, local); }
static void set(const tiles *t, uint32_t local) { sn_emit_set(t->w, local); }

static void load(const tiles *t, sn_wasm_op code, uint32_t local, int offset) {
  get(t, local);
  sn_emit_memory(t->w, code, (uint32_t)offset);
}

/* Steps of a part: a step takes a word of each row. Bytes of a part of a row of x, and of four rows of blocks. */
static int steps_of_part(const tiles *t) { return SN_PART / (t->shorts ? 2 : 4); }
static int x_bytes(const tiles *t) { return steps_of_part(t) * WORD; }
static int number_bytes(const tiles *t) { return steps_of_part(t) * VECTOR; }

/* ---- a part ------------------------------------------------------------------------------------ */

/* Adds the product at the top of the stack, sums of two, to those of the last steps; with the last step that fits into 16
 * bits they are moved to x's dot products. */
static void add_twos(const tiles *t, const row_of_x *x, int step) {
  if (step % t->narrow) {
    get(t, x->twos);
    op(t, SN_WASM_i16x8_add);
  }
  if ((step + 1) % t->narrow) {
    set(t, x->twos);
    return;
  }
  get(t, t->ones);
  op(t, SN_WASM_i32x4_dot_i16x8_s);
  if (step >= t->narrow) {
    get(t, x->dots);
    op(t, SN_WASM_i32x4_add);
  }
  set(t, x->dots);
}

/* Adds the products of a step of part p to the dot products. */
static void add_step(const tiles *t, int p, int step) {
  load(t, SN_WASM_v128_load, t->numbers, p * number_bytes(t) + step * VECTOR);
  set(t, t->step);
  for (int i = 0; i < PAIR; i++) {
    const row_of_x *x = &t->x[i];
    load(t, SN_WASM_v128_load32_splat, x->q, p * x_bytes(t) + step * WORD);
    get(t, t->step);
    if (t->narrow) {
      op(t, SN_WASM_i16x8_relaxed_dot);
      add_twos(t, x, step);
    } else if (t->shorts) {
      op(t, SN_WASM_i32x4_dot_i16x8_s);
      get(t, step ? x->dots : t->zero);
      op(t, SN_WASM_i32x4_add);
      set(t, x->dots);
    } else {
      get(t, step ? x->dots : t->zero);
      op(t, SN_WASM_i32x4_relaxed_dot_add);
      set(t, x->dots);
    }
  }
}

/* Pushes the total of x's part p, in all lanes. */
static void total_of(const tiles *t, const row_of_x *x, int p) {
  load(t, SN_WASM_v128_load32_splat, x->totals, p * WORD);
}

/* Adds the product of part p to sum p, as sn_part_product does. */
static void add_product(const tiles *t, const row_of_x *x, int p) {
  load(t, SN_WASM_v128_load32_splat, x->scales, p * WORD);
  set(t, x->scale);
  get(t, x->sums[p]);
  get(t, x->dots);
  if (t->zero_bits) {
    total_of(t, x, p);
    sn_emit_i32(t->w, t->zero_bits);
    op(t, SN_WASM_i32x4_shl);
    op(t, SN_WASM_i32x4_sub);
  }
  op(t, SN_WASM_f32x4_convert_i32x4_s);
  load(t, SN_WASM_v128_load, t->w_scales, p * SCALE_BYTES);
  get(t, x->scale);
  op(t, SN_WASM_f32x4_mul);
  op(t, SN_WASM_f32x4_mul);
  if (t->layout->has_min) {
    load(t, SN_WASM_v128_load, t->w_scales, p * SCALE_BYTES + VECTOR);
    get(t, x->scale);
    total_of(t, x, p);
    op(t, SN_WASM_f32x4_convert_i32x4_s);
    op(t, SN_WASM_f32x4_mul);
    op(t, SN_WASM_f32x4_mul);
    op(t, SN_WASM_f32x4_add);
  }
  op(t, SN_WASM_f32x4_add);
  set(t, x->sums[p]);
}

/* Adds the next four parts, or those left, each to a sum of its own. */
static void add_parts(const tiles *t) {
  sn_emit_block(t->w, SN_WASM_block);
  for (int p = 0; p < SN_PART_SUMS; p++) {
    for (int step = 0; step < steps_of_part(t); step++) add_step(t, p, step);
    for (int i = 0; i < PAIR; i++) add_product(t, &t->x[i], p);
    if (p + 1 == SN_PART_SUMS) break;
    get(t, t->left);
    sn_emit_i32(t->w, p + 2);
    op(t, SN_WASM_i32_lt_s);
    sn_emit_index(t->w, SN_WASM_br_if, 0);
  }
  op(t, SN_WASM_end);
}

/* ---- two rows of x ----------------------------------------------------------------------------- */

/* Pushes the bytes from one row of x to the next in the array that the parameter points to. */
static void get_stride(const tiles *t, uint32_t parameter) {
  get(t, parameter == OUT ? STRIDE : PARTS);
  if (parameter == OUT) return;
  sn_emit_i32(t->w, parameter == Q ? x_bytes(t) : WORD);
  op(t, SN_WASM_i32_mul);
}

/* to = the parameter's address for the first of two rows, or for the second, which is the first again if it is the last. */
static void start_at(const tiles *t, uint32_t to, uint32_t parameter, bool second) {
  get(t, parameter);
  if (second) {
    get_stride(t, parameter);
    get(t, N);
    sn_emit_i32(t->w, PAIR);
    op(t, SN_WASM_i32_ge_s);
    op(t, SN_WASM_i32_mul);
    op(t, SN_WASM_i32_add);
  }
  set(t, to);
}

static void start(const tiles *t) {
  for (int i = 0; i < PAIR; i++) {
    const row_of_x *x = &t->x[i];
    start_at(t, x->q, Q, i);
    start_at(t, x->scales, SCALES, i);
    start_at(t, x->totals, TOTALS, i);
    start_at(t, x->out, OUT, i);
    for (int s = 0; s < SN_PART_SUMS; s++) {
      get(t, t->zero);
      set(t, x->sums[s]);
    }
  }
  const uint32_t to[] = {t->numbers, t->w_scales, t->left};
  const uint32_t from[] = {NUMBERS, W_SCALES, PARTS};
  for (int i = 0; i < 3; i++) {
    get(t, from[i]);
    set(t, to[i]);
  }
}

static void next_parts(const tiles *t) {
  sn_emit_add(t->w, t->numbers, SN_PART_SUMS * number_bytes(t));
  sn_emit_add(t->w, t->w_scales, SN_PART_SUMS * SCALE_BYTES);
  for (int i = 0; i < PAIR; i++) {
    sn_emit_add(t->w, t->x[i].q, SN_PART_SUMS * x_bytes(t));
    sn_emit_add(t->w, t->x[i].scales, SN_PART_SUMS * WORD);
    sn_emit_add(t->w, t->x[i].totals, SN_PART_SUMS * WORD);
  }
  sn_emit_add(t->w, t->left, -SN_PART_SUMS);
}

/* (sum 0 + sum 1) + (sum 2 + sum 3) */
static void store_total(const tiles *t, const row_of_x *x) {
  get(t, x->out);
  for (int s = 0; s < SN_PART_SUMS; s += 2) {
    get(t, x->sums[s]);
    get(t, x->sums[s + 1]);
    op(t, SN_WASM_f32x4_add);
  }
  op(t, SN_WASM_f32x4_add);
  sn_emit_memory(t->w, SN_WASM_v128_store, 0);
}

/* Moves the parameters to the next two rows of x. N may become -1. */
static void next_rows(const tiles *t) {
  const uint32_t parameters[] = {Q, SCALES, TOTALS, OUT};
  for (int i = 0; i < 4; i++) {
    get(t, parameters[i]);
    get_stride(t, parameters[i]);
    sn_emit_i32(t->w, PAIR);
    op(t, SN_WASM_i32_mul);
    op(t, SN_WASM_i32_add);
    set(t, parameters[i]);
  }
  sn_emit_add(t->w, N, -PAIR);
}

static void make_locals(tiles *t) {
  uint32_t *numbers[] = {&t->numbers, &t->w_scales, &t->left};
  for (int i = 0; i < 3; i++) *numbers[i] = sn_wasm_local(t->w, SN_WASM_TYPE_I32);
  for (int i = 0; i < PAIR; i++) {
    row_of_x *x = &t->x[i];
    uint32_t *places[] = {&x->q, &x->scales, &x->totals, &x->out};
    for (int k = 0; k < 4; k++) *places[k] = sn_wasm_local(t->w, SN_WASM_TYPE_I32);
  }
  for (int i = 0; i < PAIR; i++) {
    row_of_x *x = &t->x[i];
    x->dots = sn_wasm_local(t->w, SN_WASM_TYPE_V128);
    x->twos = sn_wasm_local(t->w, SN_WASM_TYPE_V128);
    x->scale = sn_wasm_local(t->w, SN_WASM_TYPE_V128);
    for (int s = 0; s < SN_PART_SUMS; s++) x->sums[s] = sn_wasm_local(t->w, SN_WASM_TYPE_V128);
  }
  t->step = sn_wasm_local(t->w, SN_WASM_TYPE_V128);
  t->zero = sn_wasm_local(t->w, SN_WASM_TYPE_V128);
  t->ones = sn_wasm_local(t->w, SN_WASM_TYPE_V128);
  if (!t->narrow) return;
  sn_emit_16(t->w, SN_WASM_v128_const, (const int16_t[]){1, 1, 1, 1, 1, 1, 1, 1});
  set(t, t->ones);
}

/* Steps whose sums of two products fit into 16 bits: 8 of numbers up to 15, 4 of those up to 31, times bytes. */
static int narrow_steps(const sn_block_layout *layout) { return layout->high ? 4 : 8; }

/* All kernels with blocks of a kind share one function. */
sn_status sn_jit_tiles(sn_jit *j, uint32_t *number) {
  const sn_block_kind kind = (sn_block_kind)*j->kernel->group->call.options;
  uint32_t *made = &j->helpers->tiles[kind];
  if (!*made) {
    const sn_blocks_plan *plan = j->kernel->blocks;
    const bool shorts = plan->form == SN_QUANT_SHORTS;
    tiles t = {.w = j->w,
               .layout = sn_block_layout_of(kind),
               .shorts = shorts,
               .zero_bits = shorts ? 0 : sn_quant_zero_bits(kind, SN_QUANT_BYTES),
               .narrow = plan->twos && !shorts ? narrow_steps(sn_block_layout_of(kind)) : 0};
    sn_wasm_function(t.w, N_PARAMS);
    make_locals(&t);
    sn_emit_while(t.w, N, 1);
    start(&t);
    sn_emit_while(t.w, t.left, 1);
    add_parts(&t);
    next_parts(&t);
    sn_emit_repeat(t.w, t.left, 1);
    for (int i = 0; i < PAIR; i++) store_total(&t, &t.x[i]);
    next_rows(&t);
    sn_emit_repeat(t.w, N, 1);
    *made = sn_wasm_function_end(t.w) + 1;
  }
  *number = *made - 1;
  return SN_OK;
}
