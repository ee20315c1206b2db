/* emit_fold.c - sums in the order that kernels/fold.h defines, and the fold role.
 *
 * A round is as many points as a strip has accumulators: 32, or 16 of float64. If the body is short
 * enough to be written once per vector of a round, the accumulators of a strip live in registers during
 * its whole rounds. Else, and for the end of a strip, they live in the scratch at `memory`, which the
 * body's loop walks like any other operand. Several sums have too many accumulators for registers: in a
 * whole strip they take lanes apart. Four lanes of each sum go through all rounds in registers, then
 * the next four (a column of the drawing at a time).
 *
 *   round 0   lanes 0-3  4-7  8-11 ...        32 points
 *   round 1         |     |     |
 *
 * If a row is an even number of whole strips, a column goes on through the next strip in further
 * registers. The lanes of the two strips, which the counter would combine first, are then combined in
 * registers, and the counter counts pairs of strips. */
#include "jit/access.h"
#include "jit/body.h"

#define LANE_VECTORS (SN_FOLD_BYTES / 16)
#define SHORT_BODY 24  /* most nodes, times the number of sums, with all accumulators in registers */
#define MOST_SUMS 8    /* most sums whose lanes are taken apart together */
#define MOST_NODES 160 /* most nodes of all rounds of a strip, which are unrolled when lanes are taken apart */

/* Points of a round: one for each lane. */
static int32_t round_points(sn_dtype dtype) { return sn_fold_order_of(dtype).lanes; }

/* ---- functions that all sums of an op and a dtype share -------------------------------------- */

static sn_vec_value combine(sn_vecs *lanes, const sn_reduction *r, const sn_vec_value *a,
                            const sn_vec_value *b) {
  sn_vec_value out = {{0, 0}};
  for (int h = 0; h < sn_vec_halves(r->dtype); h++)
    out.half[h] = sn_expand_combine(lanes, r->op, r->dtype, a->half[h], b->half[h]);
  return out;
}

/* A shared function under way: its walk goes over one set of accumulators, with leaves at addresses in locals. */
typedef struct helper {
  sn_walk walk;
  const sn_reduction *r;
} helper;

static sn_status helper_begin(sn_jit *j, helper *h, const sn_reduction *r, uint32_t n_params) {
  const int64_t dims = round_points(r->dtype);
  h->r = r;
  sn_wasm_function(j->w, n_params);
  return sn_walk_begin(&h->walk, j->arena, j->w, j->lanes, 1, &dims, NULL);
}

static uint32_t leaf_at(helper *h, uint32_t local, int64_t element) {
  const sn_walk_base base = {.kind = SN_BASE_PARAM, .number = local, .follows = true, .level = 2};
  return sn_walk_leaf(&h->walk, h->r->dtype, base, element, (int64_t[SN_MAX_RANK]){1});
}

static void describe_combine(helper *h, uint32_t first, uint32_t second, uint32_t to) {
  const sn_vec_value a = sn_walk_read(&h->walk, leaf_at(h, first, 0));
  const sn_vec_value b = sn_walk_read(&h->walk, leaf_at(h, second, 0));
  const sn_vec_value c = combine(&h->walk.lanes, h->r, &a, &b);
  sn_walk_write(&h->walk, leaf_at(h, to, 0), &c);
}

static void describe_copy(helper *h, uint32_t from, uint32_t to) {
  const sn_vec_value a = sn_walk_read(&h->walk, leaf_at(h, from, 0));
  sn_walk_write(&h->walk, leaf_at(h, to, 0), &a);
}

static void write_all(helper *h, uint32_t section) {
  sn_walk_point(&h->walk, section);
  for (int32_t i = 0; i < round_points(h->r->dtype) / 4; i++)
    sn_walk_copy(&h->walk, section, SN_COPY_FULL, (uint32_t)i);
}

static void set_sum(sn_wasm *w, uint32_t local, uint32_t from, int32_t bytes) {
  sn_emit_get(w, from);
  sn_emit_i32(w, bytes);
  sn_emit(w, SN_WASM_i32_add);
  sn_emit_set(w, local);
}

static void halve(sn_wasm *w, uint32_t local) {
  sn_emit_get(w, local);
  sn_emit_i32(w, 1);
  sn_emit(w, SN_WASM_i32_shr_u);
  sn_emit_set(w, local);
}

static void low_bit(sn_wasm *w, uint32_t local) {
  sn_emit_get(w, local);
  sn_emit_i32(w, 1);
  sn_emit(w, SN_WASM_i32_and);
}

/* sn_counter_push: while the lowest bit is set, level = level op from; from = level. */
static sn_status write_push(sn_jit *j, const sn_reduction *r, uint32_t *number) {
  enum { LANES, COUNT, N_PARAMS };
  sn_wasm *w = j->w;
  helper h;
  SN_TRY(helper_begin(j, &h, r, N_PARAMS));
  const uint32_t level = sn_wasm_local(w, SN_WASM_TYPE_I32);
  const uint32_t from = sn_wasm_local(w, SN_WASM_TYPE_I32);
  describe_combine(&h, level, from, level);
  sn_vecs_section(&h.walk.lanes);
  describe_copy(&h, from, level);
  SN_TRY(sn_walk_start(&h.walk));
  set_sum(w, level, LANES, SN_FOLD_BYTES);
  set_sum(w, from, LANES, 0);
  sn_emit_block(w, SN_WASM_block);
  sn_emit_block(w, SN_WASM_loop);
  low_bit(w, COUNT);
  sn_emit(w, SN_WASM_i32_eqz);
  sn_emit_index(w, SN_WASM_br_if, 1);
  write_all(&h, 0);
  set_sum(w, from, level, 0);
  sn_emit_add(w, level, SN_FOLD_BYTES);
  halve(w, COUNT);
  sn_emit_index(w, SN_WASM_br, 0);
  sn_emit(w, SN_WASM_end);
  sn_emit(w, SN_WASM_end);
  write_all(&h, 1);
  *number = sn_wasm_function_end(w) + 1;
  return w->status;
}

/* Leaves in `lanes` what sn_counter_push of the lanes and then sn_counter_finish would: the same
 * combinations, but for the one with the identity, which changes nothing as all lanes began with it. */
static void write_finish(helper *h, uint32_t lanes, uint32_t count, uint32_t level) {
  sn_wasm *w = h->walk.w;
  set_sum(w, level, lanes, SN_FOLD_BYTES);
  sn_emit_while(w, count, 1);
  low_bit(w, count);
  sn_emit_block(w, SN_WASM_if);
  write_all(h, 0);
  sn_emit(w, SN_WASM_end);
  sn_emit_add(w, level, SN_FOLD_BYTES);
  halve(w, count);
  sn_emit_repeat(w, count, 1);
}

/* Combines lane j with lane j + half until one is left, and stores it to the item. */
static void describe_collapse(helper *h, uint32_t lanes, uint32_t item) {
  const sn_reduction *r = h->r;
  const bool wide = r->dtype == SN_F64;
  sn_vec v[LANE_VECTORS];
  for (uint32_t i = 0; i < LANE_VECTORS; i += wide ? 2 : 1) {
    const sn_vec_value x = sn_walk_read(&h->walk, leaf_at(h, lanes, wide ? 2 * i : 4 * i));
    v[i] = x.half[0];
    if (wide) v[i + 1] = x.half[1];
  }
  sn_vecs *l = &h->walk.lanes;
  for (uint32_t half = LANE_VECTORS / 2; half; half /= 2)
    for (uint32_t i = 0; i < half; i++)
      v[i] = sn_expand_combine(l, r->op, r->dtype, v[i], v[i + half]);
  const sn_vec upper = sn_vec_shuffled(l, SN_SHUFFLE_HIGH, v[0], v[0]);
  sn_vec last = sn_expand_combine(l, r->op, r->dtype, v[0], upper);
  if (!wide)
    last = sn_expand_combine(l, r->op, r->dtype, last,
                             sn_vec_shuffled(l, SN_SHUFFLE_SECOND, last, last));
  sn_walk_write(&h->walk, leaf_at(h, item, 0), &(sn_vec_value){{last, last}});
}

static sn_status write_end(sn_jit *j, const sn_reduction *r, uint32_t *number) {
  enum { LANES, COUNT, ITEM, N_PARAMS };
  sn_wasm *w = j->w;
  helper h;
  SN_TRY(helper_begin(j, &h, r, N_PARAMS));
  sn_walk *k = &h.walk;
  const uint32_t level = sn_wasm_local(w, SN_WASM_TYPE_I32);
  describe_combine(&h, level, LANES, LANES);
  sn_vecs_section(&k->lanes);
  describe_collapse(&h, LANES, ITEM);
  SN_TRY(sn_walk_start(k));
  write_finish(&h, LANES, COUNT, level);
  sn_walk_point(k, 1);
  k->copy = SN_COPY_FULL;
  k->copy_number = k->shift = 0;
  sn_write_pass(&k->writer, 1, 2);
  k->copy = SN_COPY_ONE;
  sn_access_store(k, &k->stores[k->n_stores - 1]);
  *number = sn_wasm_function_end(w) + 1;
  return w->status;
}

sn_status sn_jit_sum_helpers(sn_jit *j, const sn_reduction *r) {
  uint32_t *push = &j->helpers->push[r->op][r->dtype], *end = &j->helpers->end[r->op][r->dtype];
  if (!*push) SN_TRY(write_push(j, r, push));
  if (!*end) SN_TRY(write_end(j, r, end));
  return SN_OK;
}

/* ---- sums ------------------------------------------------------------------------------------ */

void sn_jit_sum_describe(sn_jit *j, sn_jit_sum *sum) {
  const sn_reduction *r = sum->reduction;
  sn_walk *k = &j->walk;
  int64_t strides[SN_MAX_RANK] = {0};
  sn_jit_reduced_strides(j, strides);
  const sn_walk_base base = {
      .kind = SN_BASE_PARAM, .number = sum->memory, .follows = true, .restarts = true, .level = 2};
  sum->leaf =
      sn_walk_leaf(k, r->dtype, base, (int64_t)(sum->scratch / sn_dtype_bytes(r->dtype)), strides);
  const sn_vec_value before = sn_walk_read(k, sum->leaf);
  const sn_vec_value after = combine(&k->lanes, r, &before, &j->insns[r->insn]);
  sn_walk_write(k, sum->leaf, &after);
}

static void push_address(sn_wasm *w, uint32_t local, uint32_t bytes) {
  sn_emit_get(w, local);
  if (!bytes) return;
  sn_emit_i32(w, (int32_t)bytes);
  sn_emit(w, SN_WASM_i32_add);
}

static void push_identity(sn_wasm *w, const sn_reduction *r) {
  const double value = sn_reduce_identity(r->op, r->dtype);
  union {
    float f32[4];
    double f64[2];
    int32_t i32[4];
  } bits;
  for (int i = 0; i < 4; i++) {
    if (r->dtype == SN_F32) bits.f32[i] = (float)value;
    if (r->dtype == SN_F64) bits.f64[i / 2] = value;
    if (r->dtype == SN_I32) bits.i32[i] = (int32_t)value;
  }
  sn_emit_16(w, SN_WASM_v128_const, &bits);
}

static void set_registers(sn_jit *j, const sn_jit_sum *sum, uint32_t vectors) {
  for (uint32_t i = 0; i < vectors; i++) {
    push_identity(j->w, sum->reduction);
    sn_emit_set(j->w, j->walk.leaves[sum->leaf].registers + i);
  }
}

static void set_identity(sn_jit *j, const sn_jit_sum *sum, bool registers) {
  if (registers) {
    set_registers(j, sum, LANE_VECTORS);
    return;
  }
  for (uint32_t i = 0; i < LANE_VECTORS; i++) {
    sn_emit_get(j->w, sum->memory);
    push_identity(j->w, sum->reduction);
    sn_emit_memory(j->w, SN_WASM_v128_store, sum->scratch + 16 * i);
  }
}

/* Whether every row consists of whole pairs of strips. */
static bool has_pairs(const sn_jit *j, const sn_reduction *r) {
  const sn_walk *k = &j->walk;
  return !j->kernel->group->limited &&
         k->dims[k->rank - 1] % (2 * sn_fold_order_of(r->dtype).strip) == 0;
}

void sn_jit_sum_join(sn_jit *j, sn_jit_sum *sums, uint32_t n) {
  sn_walk *k = &j->walk;
  const int64_t strides[SN_MAX_RANK] = {0};
  if (n < 2 || !has_pairs(j, sums[0].reduction)) return;
  sn_vecs_section(&k->lanes);
  for (uint32_t i = 0; i < n; i++) {
    sn_jit_sum *sum = &sums[i];
    const sn_dtype dtype = sum->reduction->dtype;
    const sn_walk_base base = {.kind = SN_BASE_PARAM, .number = sum->memory, .level = 2};
    sum->joined = sn_walk_leaf(k, dtype, base, 0, strides);
    sum->other = sn_walk_leaf(k, dtype, base, 0, strides);
    const sn_vec_value a = sn_walk_read(k, sum->joined), b = sn_walk_read(k, sum->other);
    const sn_vec_value both = combine(&k->lanes, sum->reduction, &a, &b);
    sn_walk_write(k, sum->joined, &both);
    sum->join = k->lanes.section;
  }
}

static void set_kind(sn_jit *j, const sn_jit_sum *sums, uint32_t n, sn_leaf_kind kind) {
  for (uint32_t i = 0; i < n; i++) j->walk.leaves[sums[i].leaf].kind = kind;
}

/* The whole rounds of the strip, with accumulators in registers, which are then spilled to memory. */
static void write_rounds(sn_jit *j, uint32_t section, const sn_jit_sum *sums, uint32_t n,
                         uint32_t points) {
  sn_walk *k = &j->walk;
  const int32_t round = round_points(sums[0].reduction->dtype);
  set_kind(j, sums, n, SN_LEAF_REGISTERS);
  sn_emit_while(j->w, points, round);
  for (int32_t i = 0; i < round / 4; i++) sn_walk_copy(k, section, SN_COPY_FULL, (uint32_t)i);
  sn_walk_advance(k, section, round);
  sn_emit_add(j->w, points, -round);
  sn_emit_repeat(j->w, points, round);
  set_kind(j, sums, n, SN_LEAF_MEMORY);
  for (uint32_t i = 0; i < n; i++)
    sn_walk_spill(k, sums[i].leaf, LANE_VECTORS, sums[i].memory, sums[i].scratch);
}

/* to = min(from, most); from -= to */
static void take(sn_wasm *w, uint32_t to, uint32_t from, int32_t most) {
  sn_emit_get(w, from);
  sn_emit_set(w, to);
  sn_emit_get(w, from);
  sn_emit_i32(w, most);
  sn_emit(w, SN_WASM_i32_gt_s);
  sn_emit_block(w, SN_WASM_if);
  sn_emit_i32(w, most);
  sn_emit_set(w, to);
  sn_emit(w, SN_WASM_end);
  sn_emit_get(w, from);
  sn_emit_get(w, to);
  sn_emit(w, SN_WASM_i32_sub);
  sn_emit_set(w, from);
}

static void smaller(sn_wasm *w, uint32_t local, uint32_t most) {
  sn_emit_get(w, local);
  sn_emit_get(w, most);
  sn_emit(w, SN_WASM_i32_gt_s);
  sn_emit_block(w, SN_WASM_if);
  sn_emit_get(w, most);
  sn_emit_set(w, local);
  sn_emit(w, SN_WASM_end);
}

/* to = whole - part */
static void set_rest(sn_wasm *w, uint32_t to, int32_t whole, uint32_t part) {
  sn_emit_i32(w, whole);
  sn_emit_get(w, part);
  sn_emit(w, SN_WASM_i32_sub);
  sn_emit_set(w, to);
}

static void add_locals(sn_wasm *w, uint32_t to, uint32_t amount, sn_wasm_op op) {
  sn_emit_get(w, to);
  sn_emit_get(w, amount);
  sn_emit(w, op);
  sn_emit_set(w, to);
}

/* The remaining points of the strip, with accumulators in memory. */
static void write_rest(sn_jit *j, uint32_t section, const sn_jit_sum *sums, uint32_t n,
                       uint32_t points) {
  sn_emit_while(j->w, points, 1);
  take(j->w, j->walk.count, points, round_points(sums[0].reduction->dtype));
  for (uint32_t i = 0; i < n; i++) sn_walk_reset(&j->walk, sums[i].leaf);
  sn_walk_run(&j->walk, section);
  sn_emit_repeat(j->w, points, 1);
}

/* write_rest for reduced points that are several runs: a piece ends where its round or its run ends, so
 * it may begin at any lane. */
static void write_pieces(sn_jit *j, uint32_t section, const sn_jit_sum *sums, uint32_t n,
                         uint32_t points) {
  sn_wasm *w = j->w;
  sn_walk *k = &j->walk;
  const uint32_t lane = sn_wasm_local(w, SN_WASM_TYPE_I32);
  const uint32_t most = sn_wasm_local(w, SN_WASM_TYPE_I32);
  const uint32_t index = k->index[k->rank - 1];
  const int32_t round = round_points(sums[0].reduction->dtype);
  sn_emit_i32(w, 0);
  sn_emit_set(w, lane);
  sn_emit_while(w, points, 1);
  sn_walk_wrap(k, section, j->kernel->group->space_rank);
  set_rest(w, k->count, round, lane);
  set_rest(w, most, (int32_t)k->dims[k->rank - 1], index);
  smaller(w, k->count, most);
  smaller(w, k->count, points);
  add_locals(w, points, k->count, SN_WASM_i32_sub);
  add_locals(w, index, k->count, SN_WASM_i32_add);
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t pointer = k->walkers[k->leaves[sums[i].leaf].walker].pointer;
    sn_walk_reset(k, sums[i].leaf);
    sn_emit_get(w, pointer);
    sn_emit_get(w, lane);
    sn_emit_i32(w, SN_FOLD_BYTES / round);
    sn_emit(w, SN_WASM_i32_mul);
    sn_emit(w, SN_WASM_i32_add);
    sn_emit_set(w, pointer);
  }
  add_locals(w, lane, k->count, SN_WASM_i32_add);
  sn_emit_get(w, lane);
  sn_emit_i32(w, round - 1);
  sn_emit(w, SN_WASM_i32_and);
  sn_emit_set(w, lane);
  sn_walk_run(k, section);
  sn_emit_repeat(w, points, 1);
}

static void store_lanes(sn_jit *j, const sn_jit_sum *sum) {
  const sn_leaf *leaf = &j->walk.leaves[sum->leaf];
  for (uint32_t h = 0; h < (uint32_t)sn_vec_halves(leaf->dtype); h++) {
    sn_emit_get(j->w, j->walk.walkers[leaf->walker].pointer);
    sn_emit_get(j->w, leaf->registers + h);
    sn_emit_memory(j->w, SN_WASM_v128_store, leaf->offset + 16 * h);
  }
}

/* Rounds [from, to) for four lanes of each sum, in registers that begin with the identity. */
static void write_column(sn_jit *j, uint32_t section, const sn_jit_sum *sums, uint32_t n,
                         int32_t from, int32_t to) {
  const int32_t round = round_points(sums[0].reduction->dtype);
  for (uint32_t i = 0; i < n; i++)
    set_registers(j, &sums[i], (uint32_t)sn_vec_halves(sums[i].reduction->dtype));
  for (int32_t r = from; r < to; r++) sn_walk_copy_at(&j->walk, section, (uint32_t)(r * round));
}

/* write_column for the second strip of a pair, in registers of its own; then combines both strips. */
static void join_column(sn_jit *j, uint32_t section, const sn_jit_sum *sums, uint32_t n,
                        int32_t rounds) {
  sn_leaf *leaves = j->walk.leaves;
  for (uint32_t i = 0; i < n; i++) leaves[sums[i].leaf].registers = leaves[sums[i].other].registers;
  write_column(j, section, sums, n, rounds, 2 * rounds);
  for (uint32_t i = 0; i < n; i++)
    leaves[sums[i].leaf].registers = leaves[sums[i].joined].registers;
  sn_walk_copy_at(&j->walk, sums[0].join, 0);
}

/* A strip of `rounds` whole rounds, or a pair of such strips, four lanes at a time. The pointers end behind it. */
static void write_lanes(sn_jit *j, uint32_t section, const sn_jit_sum *sums, uint32_t n,
                        int32_t rounds) {
  sn_walk *k = &j->walk;
  const int32_t round = round_points(sums[0].reduction->dtype);
  const int32_t all = sums[0].join ? 2 * rounds : rounds;
  for (uint32_t i = 0; i < n; i++) sn_walk_reset(k, sums[i].leaf);
  set_kind(j, sums, n, SN_LEAF_REGISTERS);
  sn_emit_i32(j->w, round / 4);
  sn_emit_set(j->w, k->count);
  sn_emit_while(j->w, k->count, 1);
  write_column(j, section, sums, n, 0, rounds);
  if (sums[0].join) join_column(j, section, sums, n, rounds);
  for (uint32_t i = 0; i < n; i++) store_lanes(j, &sums[i]);
  sn_walk_advance(k, section, 4);
  sn_emit_add(j->w, k->count, -1);
  sn_emit_repeat(j->w, k->count, 1);
  sn_walk_advance(k, section, (all - 1) * round);
  set_kind(j, sums, n, SN_LEAF_MEMORY);
}

/* The rounds of a whole strip if its lanes are taken apart; 0 if they are not. */
static int32_t rounds_apart(const sn_jit *j, uint32_t section, const sn_jit_sum *sums, uint32_t n) {
  const sn_walk *k = &j->walk;
  const sn_fold_order order = sn_fold_order_of(sums[0].reduction->dtype);
  const int64_t length = k->dims[k->rank - 1];
  const int32_t points = length < order.strip ? (int32_t)length : order.strip;
  const int32_t rounds = points / order.lanes;
  const bool short_enough = (uint32_t)rounds * sn_walk_length(k, section, true) <= MOST_NODES;
  const bool one_run = k->rank - 1 == j->kernel->group->space_rank;
  return one_run && short_enough && n > 1 && n <= MOST_SUMS && rounds > 1 ? rounds : 0;
}

/* If the strip has exactly the points of the rounds, takes lanes apart and leaves points = 0; else sets the accumulators in
 * memory to the identity for the code behind. */
static void write_whole_strip(sn_jit *j, uint32_t section, const sn_jit_sum *sums, uint32_t n,
                              int32_t rounds, uint32_t points) {
  sn_wasm *w = j->w;
  sn_emit_get(w, points);
  sn_emit_i32(w, rounds * round_points(sums[0].reduction->dtype));
  sn_emit(w, SN_WASM_i32_ne);
  sn_emit_block(w, SN_WASM_if);
  for (uint32_t i = 0; i < n; i++) set_identity(j, &sums[i], false);
  sn_emit(w, SN_WASM_else);
  write_lanes(j, section, sums, n, rounds);
  sn_emit_i32(w, 0);
  sn_emit_set(w, points);
  sn_emit(w, SN_WASM_end);
}

/* Reserves registers for the sums. rounds: for all their lanes at once, else for four lanes (and four of the other strip). */
static void reserve(sn_jit *j, const sn_jit_sum *sums, uint32_t n, bool rounds) {
  sn_walk *k = &j->walk;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t halves = (uint32_t)sn_vec_halves(sums[i].reduction->dtype);
    sn_walk_reserve(k, sums[i].leaf, rounds ? LANE_VECTORS : halves);
    if (rounds || !sums[i].join) continue;
    sn_walk_reserve(k, sums[i].other, halves);
    k->leaves[sums[i].joined].registers = k->leaves[sums[i].leaf].registers;
    k->leaves[sums[i].joined].kind = k->leaves[sums[i].other].kind = SN_LEAF_REGISTERS;
  }
}

/* Folds the next strip, or pair of strips, into the lanes in memory. */
static void write_strip(sn_jit *j, uint32_t section, const sn_jit_sum *sums, uint32_t n,
                        uint32_t left, int32_t apart, bool registers) {
  sn_wasm *w = j->w;
  sn_walk *k = &j->walk;
  const int32_t strip = sn_fold_order_of(sums[0].reduction->dtype).strip;
  if (apart && sums[0].join) {
    write_lanes(j, section, sums, n, apart);
    sn_emit_add(w, left, -2 * strip);
    return;
  }
  const uint32_t points = sn_wasm_local(w, SN_WASM_TYPE_I32);
  const bool one_run = k->rank - 1 == j->kernel->group->space_rank;
  take(w, points, left, strip);
  if (apart) write_whole_strip(j, section, sums, n, apart, points);
  for (uint32_t i = 0; i < n && !apart; i++) set_identity(j, &sums[i], registers);
  if (registers) write_rounds(j, section, sums, n, points);
  (one_run ? write_rest : write_pieces)(j, section, sums, n, points);
}

static void call_push(sn_jit *j, const sn_jit_sum *sum, uint32_t strips) {
  const sn_reduction *r = sum->reduction;
  push_address(j->w, sum->memory, sum->scratch);
  sn_emit_get(j->w, strips);
  sn_emit_index(j->w, SN_WASM_call, j->helpers->push[r->op][r->dtype] - 1);
}

static void call_end(sn_jit *j, const sn_jit_sum *sum, uint32_t strips) {
  const sn_reduction *r = sum->reduction;
  push_address(j->w, sum->memory, sum->scratch);
  sn_emit_get(j->w, strips);
  push_address(j->w, sum->item, sum->item_offset);
  sn_emit_index(j->w, SN_WASM_call, j->helpers->end[r->op][r->dtype] - 1);
}

void sn_jit_sum_run(sn_jit *j, uint32_t section, sn_jit_sum *sums, uint32_t n, uint32_t left) {
  sn_wasm *w = j->w;
  sn_walk *k = &j->walk;
  const int32_t round = round_points(sums[0].reduction->dtype);
  const bool one_run = k->rank - 1 == j->kernel->group->space_rank;
  const bool registers = one_run && n * sn_walk_length(k, section, true) <= SHORT_BODY &&
                         k->dims[k->rank - 1] >= round;
  const int32_t apart = registers ? 0 : rounds_apart(j, section, sums, n);
  if (registers || apart) reserve(j, sums, n, registers);
  const uint32_t strips = sn_wasm_local(w, SN_WASM_TYPE_I32);
  if (registers) k->most_copies = 1; /* the loop over the rest of a strip has less than a round to do */
  sn_emit_i32(w, 0);
  sn_emit_set(w, strips);
  sn_emit_block(w, SN_WASM_block);
  sn_emit_block(w, SN_WASM_loop);
  write_strip(j, section, sums, n, left, apart, registers);
  /* the last strip is not pushed: `end` takes its lanes */
  sn_emit_get(w, left);
  sn_emit(w, SN_WASM_i32_eqz);
  sn_emit_index(w, SN_WASM_br_if, 1);
  for (uint32_t i = 0; i < n; i++) call_push(j, &sums[i], strips);
  sn_emit_add(w, strips, 1);
  sn_emit_index(w, SN_WASM_br, 0);
  sn_emit(w, SN_WASM_end);
  sn_emit(w, SN_WASM_end);
  for (uint32_t i = 0; i < n; i++) call_end(j, &sums[i], strips);
  k->most_copies = SN_WALK_COPIES;
}

/* ---- the role -------------------------------------------------------------------------------- */

sn_status sn_jit_fold(sn_jit *j, uint32_t *number) {
  enum { VALUES, MEMORY, ITEM, FLAT, N, N_PARAMS };
  const sn_group *g = j->kernel->group;
  const sn_phase *phase = &g->row.phases[0];
  sn_walk *k = &j->walk;
  SN_TRY(sn_jit_space_then_reduced(j));
  SN_TRY(sn_jit_body(j, &phase->body, NULL));
  sn_jit_sum sum = {.reduction = &phase->reductions[0], .memory = MEMORY, .item = ITEM};
  sn_jit_sum_describe(j, &sum);
  if (j->unable) return SN_OK;
  SN_TRY(sn_jit_sum_helpers(j, sum.reduction));
  sn_wasm_function(j->w, N_PARAMS);
  k->values = VALUES;
  SN_TRY(sn_walk_start(k));
  sn_walk_locate(k, 0, k->rank, FLAT);
  sn_walk_point(k, 0);
  sn_walk_enter(k, 0);
  sn_jit_sum_run(j, 0, &sum, 1, N);
  *number = sn_wasm_function_end(j->w);
  return SN_OK;
}
