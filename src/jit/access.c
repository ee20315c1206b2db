/* access.c - moves one vector of four elements between memory and registers: whole, in part or element
 * by element. It accesses no byte of memory outside of these elements. */
#include "jit/access.h"

static int32_t item_bytes(const sn_leaf *leaf) { return (int32_t)sn_dtype_bytes(leaf->dtype); }

static int32_t delta_of(const sn_walk *k, const sn_leaf *leaf, uint32_t lane) {
  return (int32_t)(k->shift + lane) * leaf->step;
}

static bool index_changes(const sn_walk *k, const sn_leaf *leaf) {
  return leaf->lookup.length && k->leaves[leaf->lookup.index].level == 2;
}

/* Whether four lookups are computed in one vector (find_places) before the elements are loaded one by one. */
static bool finds_places(const sn_walk *k, const sn_leaf *leaf) {
  const sn_leaf *index = &k->leaves[leaf->lookup.index];
  return k->copy == SN_COPY_FULL && index_changes(k, leaf) &&
         index->step == (int32_t)sizeof(int32_t) && !index_changes(k, index);
}

/* Pushes the address of lane `lane`'s element, less the offset that it returns as an immediate. */
static uint32_t push_address(const sn_walk *k, const sn_leaf *leaf, uint32_t lane) {
  const int32_t delta = delta_of(k, leaf, lane);
  const bool found = finds_places(k, leaf);
  if (index_changes(k, leaf) && !found) sn_access_find_place(k, leaf, lane);
  sn_emit_get(k->w, k->walkers[leaf->walker].pointer);
  if (found) {
    sn_emit_get(k->w, k->places);
    sn_emit_index(k->w, SN_WASM_i32x4_extract_lane, lane);
  } else if (leaf->lookup.length) {
    sn_emit_get(k->w, index_changes(k, leaf) ? k->place : leaf->lookup.bytes);
  }
  if (leaf->lookup.length) sn_emit(k->w, SN_WASM_i32_add);
  if (delta >= 0) return leaf->offset + (uint32_t)delta;
  sn_emit_i32(k->w, delta);
  sn_emit(k->w, SN_WASM_i32_add);
  return leaf->offset;
}

/* Opens if (place op bound) { */
static void bend(const sn_walk *k, sn_wasm_op op, int32_t bound) {
  sn_emit_get(k->w, k->place);
  sn_emit_i32(k->w, bound);
  sn_emit(k->w, op);
  sn_emit_block(k->w, SN_WASM_if);
}

void sn_access_find_place(const sn_walk *k, const sn_leaf *leaf, uint32_t lane) {
  const sn_lookup *lookup = &leaf->lookup;
  const uint32_t offset = push_address(k, &k->leaves[lookup->index], lane);
  sn_emit_memory(k->w, SN_WASM_i32_load, offset);
  sn_emit_set(k->w, k->place);
  bend(k, SN_WASM_i32_lt_s, 0); /* it counts from the end */
  sn_emit_add(k->w, k->place, lookup->length);
  sn_emit(k->w, SN_WASM_end);
  bend(k, SN_WASM_i32_lt_s, 0);
  sn_emit_i32(k->w, 0);
  sn_emit_set(k->w, k->place);
  sn_emit(k->w, SN_WASM_end);
  bend(k, SN_WASM_i32_gt_s, lookup->length - 1);
  sn_emit_i32(k->w, lookup->length - 1);
  sn_emit_set(k->w, k->place);
  sn_emit(k->w, SN_WASM_end);
  sn_emit_get(k->w, k->place);
  sn_emit_i32(k->w, lookup->stride);
  sn_emit(k->w, SN_WASM_i32_mul);
  sn_emit_set(k->w, k->place);
}

/* In a partial vector, makes the code for this and later lanes conditional on count > lane. Returns the number of blocks
 * opened. */
static int open_lane(const sn_walk *k, uint32_t lane) {
  if (k->copy != SN_COPY_PARTIAL || lane == 0) return 0;
  sn_emit_get(k->w, k->count);
  sn_emit_i32(k->w, (int32_t)lane);
  sn_emit(k->w, SN_WASM_i32_gt_s);
  sn_emit_block(k->w, SN_WASM_if);
  return 1;
}

static void close_lanes(const sn_walk *k, int opened) {
  while (opened--) sn_emit(k->w, SN_WASM_end);
}

static const uint64_t zeros[2], byte_ones[2] = {0x0101010101010101u, 0x0101010101010101u};

/* A shuffle that gathers the low bytes of 32-bit lanes. */
static const uint8_t low_bytes[16] = {0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12};

/* Elements of one or two bytes are 32-bit lanes in registers: bools as masks, all others with the
 * bits that strips have. */
static bool is_narrow(const sn_leaf *leaf) { return item_bytes(leaf) < 4; }

/* ---- loads ----------------------------------------------------------------------------------- */

/* Widens the lowest four narrow elements of the vector on the stack to 32-bit lanes. */
static void spread(sn_wasm *w, const sn_leaf *leaf) {
  const bool sign = sn_dtype_table[leaf->dtype].least < 0;
  if (item_bytes(leaf) == 1)
    sn_emit(w, sign ? SN_WASM_i16x8_extend_low_i8x16_s : SN_WASM_i16x8_extend_low_i8x16_u);
  sn_emit(w, sign ? SN_WASM_i32x4_extend_low_i16x8_s : SN_WASM_i32x4_extend_low_i16x8_u);
  if (leaf->dtype != SN_BOOL) return;
  sn_emit_16(w, SN_WASM_v128_const, zeros);
  sn_emit(w, SN_WASM_i32x4_ne);
}

static void load_splat(const sn_walk *k, const sn_leaf *leaf, uint32_t local) {
  static const sn_wasm_op ops[] = {[1] = SN_WASM_v128_load8_splat,
                                   [2] = SN_WASM_v128_load16_splat,
                                   [4] = SN_WASM_v128_load32_splat,
                                   [8] = SN_WASM_v128_load64_splat};
  const uint32_t offset = push_address(k, leaf, 0);
  sn_emit_memory(k->w, ops[item_bytes(leaf)], offset);
  if (is_narrow(leaf)) spread(k->w, leaf);
  sn_emit_set(k->w, local);
}

static void load_whole(const sn_walk *k, const sn_leaf *leaf, uint32_t half, uint32_t local) {
  static const sn_wasm_op ops[] = {[1] = SN_WASM_v128_load32_zero,
                                   [2] = SN_WASM_i32x4_load16x4_u, /* widens, too */
                                   [4] = SN_WASM_v128_load,
                                   [8] = SN_WASM_v128_load};
  const uint32_t offset = push_address(k, leaf, 2 * half);
  sn_emit_memory(k->w, ops[item_bytes(leaf)], offset);
  if (item_bytes(leaf) == 1) spread(k->w, leaf);
  sn_emit_set(k->w, local);
}

static void load_flipped(const sn_walk *k, const sn_leaf *leaf, uint32_t half, uint32_t local) {
  const bool wide = leaf->dtype == SN_F64;
  const uint32_t lowest = wide ? 2 * half + 1 : 3;
  const uint32_t offset = push_address(k, leaf, lowest);
  sn_emit_memory(k->w, SN_WASM_v128_load, offset);
  sn_emit_index(k->w, SN_WASM_local_tee, local);
  sn_emit_get(k->w, local);
  sn_emit_16(k->w, SN_WASM_i8x16_shuffle,
             sn_vec_shuffles[wide ? SN_SHUFFLE_FLIP_64 : SN_SHUFFLE_FLIP_32]);
  sn_emit_set(k->w, local);
}

static void load_lane(const sn_walk *k, const sn_leaf *leaf, uint32_t lane, uint32_t local) {
  static const sn_wasm_op ops[] = {[1] = SN_WASM_v128_load8_lane,
                                   [2] = SN_WASM_v128_load16_lane,
                                   [4] = SN_WASM_v128_load32_lane,
                                   [8] = SN_WASM_v128_load64_lane};
  const bool wide = leaf->dtype == SN_F64;
  const uint32_t place = wide ? lane % 2 : lane;
  const uint32_t offset = push_address(k, leaf, lane);
  if (place == 0 && !is_narrow(leaf)) {
    sn_emit_memory(k->w, wide ? SN_WASM_v128_load64_zero : SN_WASM_v128_load32_zero, offset);
  } else {
    sn_emit_get(k->w, local);
    sn_emit_lane_memory(k->w, ops[item_bytes(leaf)], offset, place);
  }
  sn_emit_set(k->w, local);
}

static void constant_of(sn_wasm *w, int32_t value) {
  sn_emit_16(w, SN_WASM_v128_const, (const int32_t[4]){value, value, value, value});
}

/* Sets k->places to the bytes that the leaf's lookup adds for each of four contiguous indices. */
static void find_places(const sn_walk *k, const sn_leaf *leaf) {
  const sn_lookup *lookup = &leaf->lookup;
  sn_wasm *w = k->w;
  const uint32_t offset = push_address(k, &k->leaves[lookup->index], 0);
  sn_emit_memory(w, SN_WASM_v128_load, offset);
  sn_emit_index(w, SN_WASM_local_tee, k->places);
  constant_of(w, lookup->length); /* added to negative indices, which count from the end */
  sn_emit_get(w, k->places);
  constant_of(w, 0);
  sn_emit(w, SN_WASM_i32x4_lt_s);
  sn_emit(w, SN_WASM_v128_and);
  sn_emit(w, SN_WASM_i32x4_add);
  constant_of(w, 0);
  sn_emit(w, SN_WASM_i32x4_max_s);
  constant_of(w, lookup->length - 1);
  sn_emit(w, SN_WASM_i32x4_min_s);
  constant_of(w, lookup->stride);
  sn_emit(w, SN_WASM_i32x4_mul);
  sn_emit_set(w, k->places);
}

static void load_lanes(const sn_walk *k, const sn_leaf *leaf, uint32_t half, uint32_t local) {
  const uint32_t first = 2 * half, end = leaf->dtype == SN_F64 ? first + 2 : 4;
  if (finds_places(k, leaf)) find_places(k, leaf);
  if (is_narrow(leaf)) {
    sn_emit_16(k->w, SN_WASM_v128_const, zeros);
    sn_emit_set(k->w, local);
  }
  int opened = 0;
  for (uint32_t lane = first; lane < end; lane++) {
    opened += open_lane(k, lane);
    load_lane(k, leaf, lane, local);
  }
  close_lanes(k, opened);
  if (!is_narrow(leaf)) return;
  sn_emit_get(k->w, local);
  spread(k->w, leaf);
  sn_emit_set(k->w, local);
}

/* Loads the numbers pointer + step * (shift + 0, 1, 2, 3), converted to the leaf's dtype. */
static void load_index(const sn_walk *k, const sn_leaf *leaf, uint32_t half, uint32_t local) {
  sn_wasm *w = k->w;
  const sn_walker *walker = &k->walkers[leaf->walker];
  if (walker->fixed && walker->base.kind == SN_BASE_NUMBER)
    sn_emit_i32(w, walker->offset);
  else
    sn_emit_get(w, walker->pointer);
  sn_emit(w, SN_WASM_i32x4_splat);
  if (leaf->level == 2) {
    int32_t steps[4];
    for (uint32_t lane = 0; lane < 4; lane++) steps[lane] = delta_of(k, leaf, lane + 2 * half);
    sn_emit_16(w, SN_WASM_v128_const, steps);
    sn_emit(w, SN_WASM_i32x4_add);
  }
  if (leaf->dtype == SN_F32) sn_emit(w, SN_WASM_f32x4_convert_i32x4_s);
  if (leaf->dtype == SN_F64) sn_emit(w, SN_WASM_f64x2_convert_low_i32x4_s);
  sn_emit_set(w, local);
}

void sn_access_load(void *user, uint32_t number, uint32_t local) {
  const sn_walk *k = user;
  const sn_leaf *leaf = &k->leaves[number / 2];
  const uint32_t half = number % 2;
  if (leaf->kind == SN_LEAF_REGISTERS) {
    sn_emit_get(k->w,
                leaf->registers + k->copy_number * (uint32_t)sn_vec_halves(leaf->dtype) + half);
    sn_emit_set(k->w, local);
  } else if (leaf->kind == SN_LEAF_INDEX) {
    load_index(k, leaf, half, local);
  } else if (index_changes(k, leaf)) {
    load_lanes(k, leaf, half, local);
  } else if (leaf->step == 0) {
    load_splat(k, leaf, local);
  } else if (k->copy == SN_COPY_FULL && leaf->step == item_bytes(leaf)) {
    load_whole(k, leaf, half, local);
  } else if (k->copy == SN_COPY_FULL && leaf->step == -item_bytes(leaf) && !is_narrow(leaf)) {
    load_flipped(k, leaf, half, local);
  } else {
    load_lanes(k, leaf, half, local);
  }
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* Turns the vector on the stack into what memory holds: the mask of a bool into 0 or 1. */
static void as_stored(sn_walk *k, const sn_leaf *leaf) {
  if (leaf->dtype != SN_BOOL) return;
  sn_emit_16(k->w, SN_WASM_v128_const, byte_ones);
  sn_emit(k->w, SN_WASM_v128_and);
}

static void push_stored(sn_walk *k, const sn_leaf *leaf, sn_vec node) {
  sn_write_peek(&k->writer, node);
  as_stored(k, leaf);
}

static void store_whole(sn_walk *k, const sn_leaf *leaf, uint32_t half, sn_vec node) {
  const bool bytes = item_bytes(leaf) == 1;
  const uint32_t offset = push_address(k, leaf, 2 * half);
  push_stored(k, leaf, node);
  if (is_narrow(leaf)) {
    sn_write_peek(&k->writer, node);
    if (bytes)
      sn_emit_16(k->w, SN_WASM_i8x16_shuffle, low_bytes);
    else
      sn_emit(k->w, SN_WASM_i16x8_narrow_i32x4_u); /* saturates nothing: lanes are below 2^16 */
    sn_emit_lane_memory(k->w, bytes ? SN_WASM_v128_store32_lane : SN_WASM_v128_store64_lane, offset,
                        0);
  } else {
    sn_emit_memory(k->w, SN_WASM_v128_store, offset);
  }
}

/* Stores one lane of the vector on the stack to the address below it. */
static void emit_lane(sn_walk *k, const sn_leaf *leaf, uint32_t lane, uint32_t offset) {
  static const sn_wasm_op ops[] = {[1] = SN_WASM_v128_store8_lane,
                                   [2] = SN_WASM_v128_store16_lane,
                                   [4] = SN_WASM_v128_store32_lane,
                                   [8] = SN_WASM_v128_store64_lane};
  const uint32_t bytes = (uint32_t)item_bytes(leaf);
  sn_emit_lane_memory(k->w, ops[bytes], offset, bytes == 8 ? lane % 2 : 4 / bytes * lane);
}

static void store_lane(sn_walk *k, const sn_leaf *leaf, uint32_t lane, sn_vec node) {
  const uint32_t offset = push_address(k, leaf, lane);
  push_stored(k, leaf, node);
  emit_lane(k, leaf, lane, offset);
}

void sn_access_put(sn_walk *k, uint32_t number, uint32_t local) {
  const sn_leaf *leaf = &k->leaves[number];
  const uint32_t offset = push_address(k, leaf, 0);
  sn_emit_get(k->w, local);
  as_stored(k, leaf);
  emit_lane(k, leaf, 0, offset);
}

static void store_half(sn_walk *k, const sn_leaf *leaf, uint32_t half, sn_vec node) {
  const uint32_t first = 2 * half, end = leaf->dtype == SN_F64 ? first + 2 : 4;
  if (leaf->kind == SN_LEAF_REGISTERS) {
    sn_write_peek(&k->writer, node);
    sn_emit_set(k->w,
                leaf->registers + k->copy_number * (uint32_t)sn_vec_halves(leaf->dtype) + half);
  } else if (k->copy == SN_COPY_ONE) {
    if (half == 0) store_lane(k, leaf, 0, node);
  } else if (k->copy == SN_COPY_FULL && leaf->step == item_bytes(leaf)) {
    store_whole(k, leaf, half, node);
  } else {
    int opened = 0;
    for (uint32_t lane = first; lane < end; lane++) {
      opened += open_lane(k, lane);
      store_lane(k, leaf, lane, node);
    }
    close_lanes(k, opened);
  }
  sn_write_done(&k->writer, node);
}

void sn_access_store(sn_walk *k, const sn_walk_store *store) {
  const sn_leaf *leaf = &k->leaves[store->leaf];
  for (int half = 0; half < sn_vec_halves(leaf->dtype); half++)
    store_half(k, leaf, (uint32_t)half, store->value.half[half]);
}
