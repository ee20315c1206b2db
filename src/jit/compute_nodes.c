/* compute_nodes.c - computes a function of math/ over a strip by interpreting its vector nodes instead
 * of emitting them. This is the only strip that WebAssembly has of these functions: otherwise a page
 * would download them twice, as code that appends nodes and as vector code. It runs when a kernel has
 * no emitted code: none was asked for, the engine refused it, or is still compiling it.
 *
 *   nodes:    input   x * c   round   ...   result      each over a piece of the strip, in whole vectors
 *   places:     0       1       1             0         buffers; one is reused after its last reader
 *
 * Nothing is allocated: arrays have constant bounds, which a test compares with the needs of every row
 * of ops.def. */
#include "jit/expand.h"
#include "jit/lane_words.h"
#include "kernels/simd.h"
#include "kernels/strip.h"

enum {
  MOST_NODES = 640,
  TABLE = 2048, /* more than twice MOST_NODES, so that the hash table never grows */
  MOST_PLACES = 40,
  PIECE = 32, /* vectors per piece */
  PIECE_BYTES = PIECE * SN_SIMD_BYTES
};

typedef struct function {
  sn_vecs list;
  sn_vec result;
  sn_vec_node nodes[MOST_NODES];
  sn_vec table[TABLE];
  uint8_t place[MOST_NODES];
} function;

/* ---- the nodes and their places -------------------------------------------------------------- */

static bool has_place(const sn_vec_node *node) {
  return node->uses && node->kind != SN_VEC_CONST && node->kind != SN_VEC_RARE;
}

/* last[x] = the last node that reads x. The result is read at the end. */
static void find_readers(const function *f, sn_vec *last) {
  for (sn_vec i = 1; i < f->list.n_nodes; i++)
    for (uint32_t k = 0; f->nodes[i].uses && k < f->nodes[i].n_args; k++)
      last[f->nodes[i].args[k]] = i;
  last[f->result] = MOST_NODES;
}

/* Gives nodes their places. A node may take the place of an argument, since it reads each vector before it writes it. */
static void find_places(function *f) {
  sn_vec last[MOST_NODES] = {0};
  uint8_t free_places[MOST_PLACES], n_free = 0;
  find_readers(f, last);
  while (n_free < MOST_PLACES) free_places[n_free] = n_free, n_free++;
  for (sn_vec i = 1; i < f->list.n_nodes; i++) {
    const sn_vec_node *node = &f->nodes[i];
    for (uint32_t k = 0; node->uses && k < node->n_args; k++) {
      const sn_vec x = node->args[k];
      if (last[x] != i || !has_place(&f->nodes[x])) continue;
      last[x] = 0; /* so that its place is freed once, even if the node reads it twice */
      free_places[n_free++] = f->place[x];
    }
    if (has_place(node)) f->place[i] = free_places[--n_free];
  }
}

static void make(function *f, sn_op op, sn_dtype dtype, bool fused) {
  memset(f->table, 0, sizeof f->table);
  f->nodes[0] = (sn_vec_node){.kind = SN_VEC_CONST}; /* stands for arguments that a node does not have */
  f->list = (sn_vecs){.target = {.relaxed = fused, .split_minmax = true},
                      .nodes = f->nodes,
                      .n_nodes = 1,
                      .cap_nodes = MOST_NODES,
                      .table = f->table,
                      .cap_table = TABLE};
  const sn_vec a = sn_vec_input(&f->list, 2, 0), b = sn_vec_input(&f->list, 2, 1);
  f->result = sn_expand_combine(&f->list, op, dtype, a, b);
  sn_vec_root(&f->list, f->result);
  sn_vecs_count(&f->list);
  find_places(f);
}

/* ---- one node -------------------------------------------------------------------------------- */

/* Up to three arguments of a node; one with step 0 is a constant, the same vector for the whole piece. */
typedef struct operands {
  const vu32 *at[3];
  int step[3];
  vu32 constants[3];
} operands;

/* a, b, c: the lanes as floats; i, j: the first two as bits. */
#define ROW(id, expr)                                                                 \
  case SN_WASM_##id:                                                                  \
    for (int v = 0; v < n; v++) {                                                     \
      const X_F a = (X_F)x->at[0][v * x->step[0]], b = (X_F)x->at[1][v * x->step[1]]; \
      const X_F c = (X_F)x->at[2][v * x->step[2]];                                    \
      const X_I i = X_BITS(a), j = X_BITS(b);                                         \
      (void)c, (void)i, (void)j;                                                      \
      to[v] = (vu32)(expr);                                                           \
    }                                                                                 \
    break;
#define ROWS(floats, ints) SN_LANE_WORDS(ROW, ROW, ROW, floats, ints)

#define SN_WORDS_VF64
#include "math/words.h"
static void compute_64(uint32_t code, uint32_t bits, const operands *x, vu32 *to, int n) {
  switch (code) {
    ROWS(f64x2, i64x2)
  default: break;
  }
}

#define SN_WORDS_VF32
#include "math/words.h"
static void compute(uint32_t code, uint32_t bits, const operands *x, vu32 *to, int n) {
  switch (code) {
    ROWS(f32x4, i32x4)
    ROW(i32x4_mul, X_IMUL(i, j))
    ROW(f32x4_relaxed_madd, sn_vf32_fused_madd(a, b, c))
    ROW(i32x4_trunc_sat_f32x4_s, sn_vi32_from_vf32(a))
    ROW(f32x4_convert_i32x4_s, X_TOF(i))
    ROW(v128_not, ~i)
    ROW(v128_and, i & j)
    ROW(v128_andnot, i & ~j)
    ROW(v128_or, i | j)
    ROW(v128_xor, i ^ j)
  case SN_WASM_i32x4_relaxed_laneselect:
  case SN_WASM_i64x2_relaxed_laneselect: ROW(v128_bitselect, X_SEL((vi32)c, a, b))
  default: compute_64(code, bits, x, to, n);
  }
}
#include "math/words.h"

/* ---- all nodes, piece by piece --------------------------------------------------------------- */

typedef struct places {
  vu32 of[MOST_PLACES][PIECE];
} places;

static void find_operand(const function *f, const places *p, sn_vec number, operands *x, int k) {
  const sn_vec_node *node = &f->nodes[number];
  const bool wide = node->code == 64;
  x->constants[k] = wide ? (vu32)sn_vu64_splat(node->imm) : sn_vu32_splat((uint32_t)node->imm);
  x->step[k] = node->kind != SN_VEC_CONST;
  x->at[k] = x->step[k] ? p->of[f->place[number]] : &x->constants[k];
}

static bool is_empty(const vu32 *mask, int n) {
  for (int v = 0; v < n; v++)
    if (sn_vi32_any((vi32)mask[v])) return false;
  return true;
}

/* Computes all nodes for a piece of n vectors; inputs are in their places already. A region whose mask is empty is skipped:
 * its RARE_END is then its argument b. */
static void compute_all(const function *f, places *p, int n) {
  for (sn_vec i = 1; i < f->list.n_nodes; i++) {
    const sn_vec_node *node = &f->nodes[i];
    if (!node->uses || node->kind == SN_VEC_CONST || node->kind == SN_VEC_INPUT) continue;
    if (node->kind == SN_VEC_RARE && !is_empty(p->of[f->place[node->args[0]]], n)) continue;
    const bool left_out = node->kind == SN_VEC_RARE;
    if (left_out) node = &f->nodes[i = (sn_vec)node->imm];
    operands x;
    for (int k = 0; k < 3; k++) find_operand(f, p, node->args[left_out ? 1 : k], &x, k);
    const bool end = node->kind == SN_VEC_RARE_END;
    compute(end ? SN_WASM_v128_bitselect : node->code, (uint32_t)node->imm, &x, p->of[f->place[i]],
            n);
  }
}

void sn_strip_computed(sn_op op, sn_dtype dtype, void *dst, const void *a, const void *b, int64_t n,
                       bool fused) {
  function f;
  places p;
  make(&f, op, dtype, fused);
  const size_t bytes = (size_t)n * sn_strip_bytes(dtype);
  for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
    const size_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
    const size_t vectors = (piece + SN_SIMD_BYTES - 1) / SN_SIMD_BYTES;
    for (sn_vec input = 1; input <= 2; input++) {
      char *place = (char *)p.of[f.place[input]];
      if (!f.nodes[input].uses) continue;
      memset(place + piece, 0, vectors * SN_SIMD_BYTES - piece);
      memcpy(place, (const char *)(input == 1 ? a : b) + at, piece);
    }
    compute_all(&f, &p, (int)vectors);
    memcpy((char *)dst + at, p.of[f.place[f.result]], piece);
  }
}
