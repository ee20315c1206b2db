/* vector.h - lane operations: SSA over values of one v128 register, the form between a group's
 * bodies and WebAssembly.
 *
 *   group body -> (expand.h) lane operations -> (write.h) instructions and locals
 *
 * Each node is one instruction on registers (a few pseudo ones are several), made once: equal
 * operations of equal operands are one node. How often a node has to run is its level:
 *
 *   0  once per call   constants, single elements and what is made of them
 *   1  once per run    what is the same along the innermost dimension (or a row)
 *   2  per vector      the rest
 *
 * A section is one innermost loop. Nodes of level 2 are seen in their own section only; those of
 * level 1 from there on in the same run (sections follow one another), those of level 0 everywhere.
 *
 * Rarely needed operations stand between RARE and RARE_END and run only if some lane of RARE's
 * mask is set; nothing outside refers to them but RARE_END, which selects by the mask.
 *
 * The builder's functions never fail; the first failure stays in status. */
#ifndef SN_JIT_VECTOR_H
#define SN_JIT_VECTOR_H

#include "jit/emit.h"

typedef uint32_t sn_vec; /* number of a node */

typedef enum sn_vec_kind {
  SN_VEC_CONST,    /* imm: the bits of a lane; code: 32 or 64, its width */
  SN_VEC_INPUT,    /* imm: number given by who loads it */
  SN_VEC_OP,       /* instruction `code` on args */
  SN_VEC_SHIFT,    /* instruction `code` by imm bits */
  SN_VEC_SHIFTV,   /* i32 instruction `code` lane by lane */
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
  uint32_t region; /* innermost RARE it stands behind, 0: none */
  sn_vec args[3];
  uint64_t imm;
  uint32_t uses; /* by nodes and roots that are wanted; 0: dead */
  bool held;     /* used at a higher level or in a later section than its own */
} sn_vec_node;

/* What the instructions may be and cost. */
typedef struct sn_vec_target {
  bool relaxed;      /* relaxed SIMD may be used, and functions are the fused ones */
  bool split_minmax; /* f32x4.min and .max are many of the processor's instructions, pmin one */
} sn_vec_target;

/* Of the processor that runs this. */
sn_vec_target sn_vec_target_here(bool relaxed);

typedef struct sn_vecs {
  sn_arena *arena;
  sn_status status;
  sn_vec_target target;
  sn_vec_node *nodes;
  size_t n_nodes, cap_nodes;
  sn_vec *table; /* by hash, 0: empty */
  size_t cap_table;
  uint32_t region;
  uint16_t section;
} sn_vecs;

void sn_vecs_init(sn_vecs *l, sn_arena *arena, sn_vec_target target);

/* From here on a new section. */
void sn_vecs_section(sn_vecs *l);

sn_vec sn_vec_const32(sn_vecs *l, uint32_t bits);
sn_vec sn_vec_const64(sn_vecs *l, uint64_t bits);
sn_vec sn_vec_input(sn_vecs *l, int level, uint32_t number);
sn_vec sn_vec_op(sn_vecs *l, sn_wasm_op op, sn_vec a, sn_vec b, sn_vec c); /* unused: 0 */
sn_vec sn_vec_shift(sn_vecs *l, sn_wasm_op op, sn_vec a, uint32_t bits);
sn_vec sn_vec_shiftv(sn_vecs *l, sn_wasm_op op, sn_vec a, sn_vec bits);
sn_vec sn_vec_shuffled(sn_vecs *l, sn_vec_shuffle which, sn_vec a, sn_vec b);

/* a where the mask (lanes of `width` bits, all or none set) is set, else b. */
sn_vec sn_vec_select(sn_vecs *l, uint32_t width, sn_vec mask, sn_vec a, sn_vec b);
/* f32: a b + c, rounded once with relaxed SIMD. */
sn_vec sn_vec_madd(sn_vecs *l, sn_vec a, sn_vec b, sn_vec c);
/* f32: as f32x4.min and .max. */
sn_vec sn_vec_min(sn_vecs *l, sn_vec a, sn_vec b);
sn_vec sn_vec_max(sn_vecs *l, sn_vec a, sn_vec b);
sn_vec sn_vec_and(sn_vecs *l, sn_vec a, sn_vec b);
sn_vec sn_vec_xor(sn_vecs *l, sn_vec a, sn_vec b);
sn_vec sn_vec_not(sn_vecs *l, sn_vec mask);
sn_vec sn_vec_neg(sn_vecs *l, uint32_t width, sn_vec a);
sn_vec sn_vec_rare(sn_vecs *l, sn_vec mask);
sn_vec sn_vec_rare_end(sn_vecs *l, uint32_t width, sn_vec mask, sn_vec a, sn_vec b);

/* Counts a use of node from outside the nodes, in the section under way, per vector. */
void sn_vec_root(sn_vecs *l, sn_vec node);

/* After all roots: counts uses, so that nodes nobody wants have none. */
void sn_vecs_count(sn_vecs *l);

#endif
