#include "jit/vector.h"

#include <math.h>

const uint8_t sn_vec_shuffles[SN_SHUFFLE_COUNT][16] = {
    [SN_SHUFFLE_HIGH] = {8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15},
    [SN_SHUFFLE_SECOND] = {4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7},
    [SN_SHUFFLE_LOWS] = {0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23},
    [SN_SHUFFLE_EVEN] = {0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27},
    [SN_SHUFFLE_FLIP_32] = {12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3},
    [SN_SHUFFLE_FLIP_64] = {8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7},
};

/* Detects x86 by 0 / 0, which gives a negative NaN on no other processor. The min and max instructions of x86 do not treat
 * NaN and -0 as f32x4.min and .max do, so engines emit many instructions for these. */
sn_vec_target sn_vec_target_here(bool relaxed) {
  const volatile float zero = 0;
  const float nan = zero / zero;
  return (sn_vec_target){.relaxed = relaxed, .split_minmax = signbit(nan)};
}

/* Node 0 is no value: it stands for an empty place of the table and for an argument that is not used. */
void sn_vecs_init(sn_vecs *l, sn_arena *arena, sn_vec_target target) {
  *l = (sn_vecs){.arena = arena, .target = target};
  l->status = sn_arena_grow(arena, (void **)&l->nodes, &l->cap_nodes, 0, sizeof *l->nodes);
  l->n_nodes = 1;
}

void sn_vecs_section(sn_vecs *l) { l->section++; }

/* ---- equal nodes are one --------------------------------------------------------------------- */

static size_t hash_of(const sn_vec_node *n) {
  uint64_t h = 14695981039346656037u;
  const uint64_t words[] = {n->kind, n->code, n->args[0], n->args[1], n->args[2], n->imm};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) h = (h ^ words[i]) * 1099511628211u;
  return (size_t)(h ^ h >> 29);
}

static bool same(const sn_vec_node *a, const sn_vec_node *b) {
  return a->kind == b->kind && a->code == b->code && a->args[0] == b->args[0] &&
         a->args[1] == b->args[1] && a->args[2] == b->args[2] && a->imm == b->imm;
}

/* Whether a node made now may refer to n. Regions nest: code can refer to n if it lies inside n's region. */
static bool visible(const sn_vecs *l, const sn_vec_node *n) {
  if (n->level == 2 && n->section != l->section) return false;
  uint32_t r = l->region;
  while (r > n->region) r = l->nodes[r].region;
  return r == n->region;
}

static void enter(sn_vecs *l, sn_vec number) {
  size_t at = hash_of(&l->nodes[number]) & (l->cap_table - 1);
  while (l->table[at] && !same(&l->nodes[l->table[at]], &l->nodes[number]))
    at = (at + 1) & (l->cap_table - 1);
  l->table[at] = number;
}

static void grow_table(sn_vecs *l) {
  if (l->status || 2 * l->n_nodes < l->cap_table) return;
  const size_t capacity = l->cap_table ? 4 * l->cap_table : 256;
  sn_vec *table;
  l->status = sn_arena_alloc(l->arena, capacity, sizeof *table, (void **)&table);
  if (l->status) return;
  l->table = table;
  l->cap_table = capacity;
  for (sn_vec i = 1; i < l->n_nodes; i++) enter(l, i);
}

static sn_vec add(sn_vecs *l, sn_vec_node node) {
  if (l->status) return 0; /* the array of nodes may not exist */
  for (uint32_t i = 0; i < node.n_args; i++)
    if (l->nodes[node.args[i]].level > node.level) node.level = l->nodes[node.args[i]].level;
  node.section = l->section;
  node.region = l->region;
  grow_table(l);
  if (l->status) return 0;
  size_t at = hash_of(&node) & (l->cap_table - 1);
  while (l->table[at] && !same(&l->nodes[l->table[at]], &node)) at = (at + 1) & (l->cap_table - 1);
  if (l->table[at] && visible(l, &l->nodes[l->table[at]])) return l->table[at];
  l->status = sn_arena_grow(l->arena, (void **)&l->nodes, &l->cap_nodes, l->n_nodes, sizeof node);
  if (l->status) return 0;
  l->nodes[l->n_nodes] = node;
  l->table[at] = (sn_vec)l->n_nodes;
  return (sn_vec)l->n_nodes++;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static sn_vec add_const(sn_vecs *l, uint16_t width, uint64_t bits) {
  const uint32_t region = l->region;
  l->region = 0; /* so that it is visible from everywhere */
  const sn_vec c = add(l, (sn_vec_node){.kind = SN_VEC_CONST, .code = width, .imm = bits});
  l->region = region;
  return c;
}

sn_vec sn_vec_const32(sn_vecs *l, uint32_t bits) { return add_const(l, 32, bits); }

sn_vec sn_vec_const64(sn_vecs *l, uint64_t bits) {
  if ((uint32_t)bits == (uint32_t)(bits >> 32)) return add_const(l, 32, (uint32_t)bits);
  return add_const(l, 64, bits);
}

sn_vec sn_vec_input(sn_vecs *l, int level, uint32_t number) {
  return add(l, (sn_vec_node){.kind = SN_VEC_INPUT, .level = (uint8_t)level, .imm = number});
}

static bool is_const32(const sn_vecs *l, sn_vec node) {
  return l->nodes[node].kind == SN_VEC_CONST && l->nodes[node].code == 32;
}

/* Folds `and` and `eq` of two constants. The expressions of ops.def use these to test a constant operand, such as whether a
 * shift by it is in range. */
static bool fold(const sn_vecs *l, sn_wasm_op op, sn_vec a, sn_vec b, uint32_t *bits) {
  const uint32_t x = (uint32_t)l->nodes[a].imm, y = (uint32_t)l->nodes[b].imm;
  if (!is_const32(l, a) || !is_const32(l, b)) return false;
  *bits = op == SN_WASM_v128_and ? x & y : x == y ? UINT32_MAX : 0;
  return op == SN_WASM_v128_and || op == SN_WASM_i32x4_eq;
}

sn_vec sn_vec_op(sn_vecs *l, sn_wasm_op op, sn_vec a, sn_vec b, sn_vec c) {
  uint32_t bits;
  if (!l->status && fold(l, op, a, b, &bits)) return sn_vec_const32(l, bits);
  const uint8_t n_args = (uint8_t)strlen(sn_wasm_rows[op].pops);
  return add(l, (sn_vec_node){
                    .kind = SN_VEC_OP, .code = (uint16_t)op, .n_args = n_args, .args = {a, b, c}});
}

sn_vec sn_vec_shift(sn_vecs *l, sn_wasm_op op, sn_vec a, uint32_t bits) {
  return add(
      l, (sn_vec_node){
             .kind = SN_VEC_SHIFT, .code = (uint16_t)op, .n_args = 1, .args = {a}, .imm = bits});
}

sn_vec sn_vec_shiftv(sn_vecs *l, sn_wasm_op op, sn_vec a, sn_vec bits) {
  const sn_vec_node *n = &l->nodes[bits];
  if (is_const32(l, bits))
    return sn_vec_shift(l,
                        op == SN_WASM_i32_shl     ? SN_WASM_i32x4_shl
                        : op == SN_WASM_i32_shr_s ? SN_WASM_i32x4_shr_s
                                                  : SN_WASM_i32x4_shr_u,
                        a, (uint32_t)n->imm & 31);
  return add(l, (sn_vec_node){
                    .kind = SN_VEC_SHIFTV, .code = (uint16_t)op, .n_args = 2, .args = {a, bits}});
}

sn_vec sn_vec_shuffled(sn_vecs *l, sn_vec_shuffle which, sn_vec a, sn_vec b) {
  return add(l, (sn_vec_node){
                    .kind = SN_VEC_SHUFFLE, .code = (uint16_t)which, .n_args = 2, .args = {a, b}});
}

/* ---- small strength reductions, all exact ---------------------------------------------------- */

static bool is_op(const sn_vecs *l, sn_vec node, sn_wasm_op op) {
  return l->nodes[node].kind == SN_VEC_OP && l->nodes[node].code == (uint16_t)op;
}

static bool is_zero(const sn_vecs *l, sn_vec node) {
  return l->nodes[node].kind == SN_VEC_CONST && l->nodes[node].imm == 0;
}

/* pmin(a, b) and pmin(b, a) differ only where an operand is NaN, which one of them then returns, and for zeros of both signs.
 * The `or` of their bits is NaN, or the right -0. The same holds for pmax, except that the `or` of the zeros is -0 where max
 * is +0: subtracting the xor of the two corrects that. */
sn_vec sn_vec_min(sn_vecs *l, sn_vec a, sn_vec b) {
  if (!l->target.split_minmax) return sn_vec_op(l, SN_WASM_f32x4_min, a, b, 0);
  const sn_vec p = sn_vec_op(l, SN_WASM_f32x4_pmin, a, b, 0);
  const sn_vec q = sn_vec_op(l, SN_WASM_f32x4_pmin, b, a, 0);
  return sn_vec_op(l, SN_WASM_v128_or, p, q, 0);
}

sn_vec sn_vec_max(sn_vecs *l, sn_vec a, sn_vec b) {
  if (!l->target.split_minmax) return sn_vec_op(l, SN_WASM_f32x4_max, a, b, 0);
  const sn_vec p = sn_vec_op(l, SN_WASM_f32x4_pmax, a, b, 0);
  const sn_vec q = sn_vec_op(l, SN_WASM_f32x4_pmax, b, a, 0);
  const sn_vec both = sn_vec_op(l, SN_WASM_v128_or, p, q, 0);
  return sn_vec_op(l, SN_WASM_f32x4_sub, both, sn_vec_op(l, SN_WASM_v128_xor, p, q, 0), 0);
}

sn_vec sn_vec_madd(sn_vecs *l, sn_vec a, sn_vec b, sn_vec c) {
  if (l->target.relaxed) return sn_vec_op(l, SN_WASM_f32x4_relaxed_madd, a, b, c);
  return sn_vec_op(l, SN_WASM_f32x4_add, sn_vec_op(l, SN_WASM_f32x4_mul, a, b, 0), c, 0);
}

sn_vec sn_vec_select(sn_vecs *l, uint32_t width, sn_vec mask, sn_vec a, sn_vec b) {
  if (a == b) return a;
  if (is_const32(l, mask) && l->nodes[mask].imm == UINT32_MAX) return a;
  if (is_const32(l, mask) && l->nodes[mask].imm == 0) return b;
  if (is_op(l, mask, SN_WASM_v128_not)) {
    const sn_vec swap = a;
    mask = l->nodes[mask].args[0];
    a = b;
    b = swap;
  }
  if (is_zero(l, a)) return sn_vec_op(l, SN_WASM_v128_andnot, b, mask, 0);
  if (is_zero(l, b)) return sn_vec_op(l, SN_WASM_v128_and, a, mask, 0);
  const sn_wasm_op relaxed =
      width == 64 ? SN_WASM_i64x2_relaxed_laneselect : SN_WASM_i32x4_relaxed_laneselect;
  return sn_vec_op(l, l->target.relaxed ? relaxed : SN_WASM_v128_bitselect, a, b, mask);
}

sn_vec sn_vec_not(sn_vecs *l, sn_vec mask) {
  static const sn_wasm_op opposites[][2] = {
      {SN_WASM_f32x4_eq, SN_WASM_f32x4_ne},     {SN_WASM_f64x2_eq, SN_WASM_f64x2_ne},
      {SN_WASM_i32x4_eq, SN_WASM_i32x4_ne},     {SN_WASM_i64x2_eq, SN_WASM_i64x2_ne},
      {SN_WASM_i32x4_lt_s, SN_WASM_i32x4_ge_s}, {SN_WASM_i64x2_lt_s, SN_WASM_i64x2_ge_s}};
  const sn_vec a = l->nodes[mask].args[0], b = l->nodes[mask].args[1];
  if (is_op(l, mask, SN_WASM_v128_not)) return a;
  for (size_t i = 0; i < sizeof opposites / sizeof *opposites; i++)
    if (is_op(l, mask, opposites[i][0])) return sn_vec_op(l, opposites[i][1], a, b, 0);
  return sn_vec_op(l, SN_WASM_v128_not, mask, 0, 0);
}

sn_vec sn_vec_and(sn_vecs *l, sn_vec a, sn_vec b) {
  if (is_op(l, a, SN_WASM_v128_not)) {
    const sn_vec swap = a;
    a = b;
    b = swap;
  }
  if (!is_op(l, b, SN_WASM_v128_not)) return sn_vec_op(l, SN_WASM_v128_and, a, b, 0);
  return sn_vec_op(l, SN_WASM_v128_andnot, a, l->nodes[b].args[0], 0);
}

sn_vec sn_vec_xor(sn_vecs *l, sn_vec a, sn_vec b) {
  if (is_const32(l, b) && l->nodes[b].imm == UINT32_MAX) return sn_vec_not(l, a);
  return sn_vec_op(l, SN_WASM_v128_xor, a, b, 0);
}

/* -a; -floor(-b), as math/ writes it, becomes ceil(b). */
sn_vec sn_vec_neg(sn_vecs *l, uint32_t width, sn_vec a) {
  const sn_wasm_op neg = width == 64 ? SN_WASM_f64x2_neg : SN_WASM_f32x4_neg;
  const sn_wasm_op floor = width == 64 ? SN_WASM_f64x2_floor : SN_WASM_f32x4_floor;
  const sn_vec inner = l->nodes[a].args[0];
  if (is_op(l, a, floor) && is_op(l, inner, neg))
    return sn_vec_op(l, width == 64 ? SN_WASM_f64x2_ceil : SN_WASM_f32x4_ceil,
                     l->nodes[inner].args[0], 0, 0);
  return sn_vec_op(l, neg, a, 0, 0);
}

/* ---- regions --------------------------------------------------------------------------------- */

/* Opens a region. imm, unique per marker, keeps hash-consing from merging it with another one. */
sn_vec sn_vec_rare(sn_vecs *l, sn_vec mask) {
  const sn_vec rare =
      add(l, (sn_vec_node){.kind = SN_VEC_RARE, .n_args = 1, .args = {mask}, .imm = l->n_nodes});
  l->region = rare;
  return rare;
}

/* Closes the region. The marker gets the level of the end, since both must be written in the same pass. */
sn_vec sn_vec_rare_end(sn_vecs *l, uint32_t width, sn_vec mask, sn_vec a, sn_vec b) {
  const sn_vec rare = l->region;
  if (l->status || rare == 0) return 0;
  l->region = l->nodes[rare].region;
  const sn_vec end = add(l, (sn_vec_node){.kind = SN_VEC_RARE_END,
                                          .code = (uint16_t)width,
                                          .n_args = 3,
                                          .args = {a, b, mask},
                                          .imm = rare});
  if (l->status) return 0;
  l->nodes[rare].level = l->nodes[end].level;
  l->nodes[rare].imm = end;
  return end;
}

/* ---- uses ------------------------------------------------------------------------------------ */

/* Counts a use. A constant that only operations inside a RARE use is not held but written inline
 * there: a loop that seldom gets to it then keeps no register for it. */
static void use(sn_vecs *l, sn_vec node, int level, uint16_t section, bool rarely) {
  sn_vec_node *n = &l->nodes[node];
  n->uses++;
  if (n->kind == SN_VEC_CONST && rarely) return;
  if (n->level < level || (n->level == 1 && n->section != section)) n->held = true;
}

void sn_vec_root(sn_vecs *l, sn_vec node) {
  if (!l->status) use(l, node, 2, l->section, false);
}

void sn_vecs_count(sn_vecs *l) {
  if (l->status) return;
  for (sn_vec i = (sn_vec)l->n_nodes - 1; i > 0; i--) {
    const sn_vec_node *n = &l->nodes[i];
    if (!n->uses) continue;
    for (uint32_t k = 0; k < n->n_args; k++) use(l, n->args[k], n->level, n->section, n->region);
    if (n->kind == SN_VEC_RARE_END) l->nodes[n->imm].uses++;
  }
}
