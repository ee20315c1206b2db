/* vector.h - lane operations: SSA over values of one v128 register, the intermediate form between a
 * group's bodies and WebAssembly.
 *
 *   group body -> (expand.h) lane operations -> (write.h) instructions and locals
 *
 * Each node is one instruction on registers (a few pseudo instructions are several). Nodes are
 * hash-consed: equal operations on equal operands are one node. A node's level says how often it runs:
 *
 *   0  once per call   constants, single elements and what is computed from them
 *   1  once per run    what is the same along the innermost dimension (or a row)
 *   2  per vector      the rest
 *
 * A section is one innermost loop. Nodes of level 2 are visible in their own section only; those of
 * level 1 also in later sections of the same run; those of level 0 everywhere.
 *
 * Rarely needed operations stand between RARE and RARE_END and run only if some lane of RARE's
 * mask is set. Only RARE_END, which selects by the mask, may refer to them from outside.
 *
 * The builder's functions return no errors; the first failure stays in `status`. */
#ifndef SN_JIT_VECTOR_H
#define SN_JIT_VECTOR_H

#include "jit/emit.h"

typedef uint32_t sn_vec; /* number of a node */

typedef enum sn_vec_kind {
  SN_VEC_CONST,    /* imm: the bits of every lane; code: the width of a lane, 32 or 64 */
  SN_VEC_INPUT,    /* loaded by sn_load_fn (write.h); imm: the number passed to it */
  SN_VEC_OP,       /* instruction `code` on args */
  SN_VEC_SHIFT,    /* shift instruction `code` of args[0] by imm bits */
  SN_VEC_SHIFTV,   /* i32 shift `code` of args[0] by args[1], lane by lane */
  SN_VEC_SHUFFLE,  /* code: sn_vec_shuffle */
  SN_VEC_RARE,     /* args[0]: mask; imm: its RARE_END */
  SN_VEC_RARE_END, /* args: a, b, mask; imm: its RARE; code: width of the mask's lanes */
} sn_vec_kind;

typedef enum sn_vec_shuffle {
  SN_SHUFFLE_HIGH,   /* the upper half of a in both halves */
  SN_SHUFFLE_SECOND, /* 32-bit lane 1 of a in all lanes */
  SN_SHUFFLE_LOWS,   /* lower half of a, lower half of b */
  SN_SHUFFLE_EVEN,   /* 32-bit lanes 0, 2 of a, 0, 2 of b: 64-bit masks to 32-bit ones */
  SN_SHUFFLE_FLIP_32,
  SN_SHUFFLE_FLIP_64,
  SN_SHUFFLE_COUNT
} sn_vec_shuffle;

extern const uint8_t sn_vec_shuffles[SN_SHUFFLE_COUNT][16];

typedef struct sn_vec_node {
  uint8_t kind, level, n_args;
  uint16_t code;
  uint16_t section;
  uint32_t region; /* the innermost open RARE where the node was made; 0: none */
  sn_vec args[3];
  uint64_t imm;
  uint32_t uses; /* uses by live nodes and by roots; 0: dead */
  bool held;     /* used at a higher level or in a later section than its own: its local outlives its pass */
} sn_vec_node;

/* Which instructions may be used, and what they cost. */
typedef struct sn_vec_target {
  bool relaxed;      /* relaxed SIMD may be used, and the functions of math/ are the fused ones */
  bool split_minmax; /* f32x4.min and .max take many of the processor's instructions, pmin one */
} sn_vec_target;

/* The target of the processor that runs this. */
sn_vec_target sn_vec_target_here(bool relaxed);

typedef struct sn_vecs {
  sn_arena *arena;
  sn_status status;
  sn_vec_target target;
  sn_vec_node *nodes;
  size_t n_nodes, cap_nodes;
  sn_vec *table; /* hash table of nodes, open addressing; 0: empty */
  size_t cap_table;
  uint32_t region;
  uint16_t section;
} sn_vecs;

void sn_vecs_init(sn_vecs *l, sn_arena *arena, sn_vec_target target);

/* Ends the section; nodes from here on belong to the next one. */
void sn_vecs_section(sn_vecs *l);

sn_vec sn_vec_const32(sn_vecs *l, uint32_t bits);
sn_vec sn_vec_const64(sn_vecs *l, uint64_t bits);
sn_vec sn_vec_input(sn_vecs *l, int level, uint32_t number);
sn_vec sn_vec_op(sn_vecs *l, sn_wasm_op op, sn_vec a, sn_vec b, sn_vec c); /* 0 for operands it lacks */
sn_vec sn_vec_shift(sn_vecs *l, sn_wasm_op op, sn_vec a, uint32_t bits);
sn_vec sn_vec_shiftv(sn_vecs *l, sn_wasm_op op, sn_vec a, sn_vec bits);
sn_vec sn_vec_shuffled(sn_vecs *l, sn_vec_shuffle which, sn_vec a, sn_vec b);

/* a where the mask is set, else b. The bits of a mask's lane, `width` of them, are equal. */
sn_vec sn_vec_select(sn_vecs *l, uint32_t width, sn_vec mask, sn_vec a, sn_vec b);
/* f32: a b + c; rounded once if the target has relaxed SIMD, else twice. */
sn_vec sn_vec_madd(sn_vecs *l, sn_vec a, sn_vec b, sn_vec c);
/* f32: with the results of f32x4.min and .max. */
sn_vec sn_vec_min(sn_vecs *l, sn_vec a, sn_vec b);
sn_vec sn_vec_max(sn_vecs *l, sn_vec a, sn_vec b);
sn_vec sn_vec_and(sn_vecs *l, sn_vec a, sn_vec b);
sn_vec sn_vec_xor(sn_vecs *l, sn_vec a, sn_vec b);
sn_vec sn_vec_not(sn_vecs *l, sn_vec mask);
sn_vec sn_vec_neg(sn_vecs *l, uint32_t width, sn_vec a);
sn_vec sn_vec_rare(sn_vecs *l, sn_vec mask);
sn_vec sn_vec_rare_end(sn_vecs *l, uint32_t width, sn_vec mask, sn_vec a, sn_vec b);

/* Makes node a root: counts a use at level 2 in the section under way that no node stands for, such as a store. */
void sn_vec_root(sn_vecs *l, sn_vec node);

/* After all roots: counts the uses by live nodes, which leaves dead nodes with none. */
void sn_vecs_count(sn_vecs *l);

#endif
