/* lanes.h - lane operations: SSA over values of one v128 register, the form between a group's
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
#ifndef SN_JIT_LANES_H
#define SN_JIT_LANES_H

#include "jit/emit.h"

typedef uint32_t sn_lane; /* number of a node */

typedef enum sn_lane_kind {
  SN_LANE_CONST,    /* imm: the bits of a lane; code: 32 or 64, its width */
  SN_LANE_INPUT,    /* imm: number given by who loads it */
  SN_LANE_OP,       /* instruction `code` on args */
  SN_LANE_SHIFT,    /* instruction `code` by imm bits */
  SN_LANE_SHIFTV,   /* i32 instruction `code` lane by lane */
  SN_LANE_SHUFFLE,  /* code: sn_lane_shuffle */
  SN_LANE_RARE,     /* args[0]: mask; imm: its RARE_END */
  SN_LANE_RARE_END, /* args: a, b, mask; imm: its RARE; code: width of the mask's lanes */
} sn_lane_kind;

typedef enum sn_lane_shuffle {
  SN_SHUFFLE_HIGH,   /* the upper half of a in both halves */
  SN_SHUFFLE_SECOND, /* 32-bit lane 1 of a in all lanes */
  SN_SHUFFLE_LOWS,   /* lower half of a, lower half of b */
  SN_SHUFFLE_EVEN,   /* 32-bit lanes 0, 2 of a, 0, 2 of b: 64-bit masks to 32-bit ones */
  SN_SHUFFLE_FLIP_32,
  SN_SHUFFLE_FLIP_64,
  SN_SHUFFLE_COUNT
} sn_lane_shuffle;

extern const uint8_t sn_lane_shuffles[SN_SHUFFLE_COUNT][16];

typedef struct sn_lane_node {
  uint8_t kind, level, n_args;
  uint16_t code;
  uint16_t section;
  uint32_t region; /* innermost RARE it stands behind, 0: none */
  sn_lane args[3];
  uint64_t imm;
  uint32_t uses; /* by nodes and roots that are wanted; 0: dead */
  bool held;     /* used at a higher level or in a later section than its own */
} sn_lane_node;

/* What the instructions may be and cost. */
typedef struct sn_lane_target {
  bool relaxed;      /* relaxed SIMD may be used, and functions are the fused ones */
  bool split_minmax; /* f32x4.min and .max are many of the processor's instructions, pmin one */
} sn_lane_target;

/* Of the processor that runs this. */
sn_lane_target sn_lane_target_here(bool relaxed);

typedef struct sn_lanes {
  sn_arena *arena;
  sn_status status;
  sn_lane_target target;
  sn_lane_node *nodes;
  size_t n_nodes, cap_nodes;
  sn_lane *table; /* by hash, 0: empty */
  size_t cap_table;
  uint32_t region;
  uint16_t section;
} sn_lanes;

void sn_lanes_init(sn_lanes *l, sn_arena *arena, sn_lane_target target);

/* From here on a new section. */
void sn_lanes_section(sn_lanes *l);

sn_lane sn_lane_const32(sn_lanes *l, uint32_t bits);
sn_lane sn_lane_const64(sn_lanes *l, uint64_t bits);
sn_lane sn_lane_input(sn_lanes *l, int level, uint32_t number);
sn_lane sn_lane_op(sn_lanes *l, sn_wasm_op op, sn_lane a, sn_lane b, sn_lane c); /* unused: 0 */
sn_lane sn_lane_shift(sn_lanes *l, sn_wasm_op op, sn_lane a, uint32_t bits);
sn_lane sn_lane_shiftv(sn_lanes *l, sn_wasm_op op, sn_lane a, sn_lane bits);
sn_lane sn_lane_shuffled(sn_lanes *l, sn_lane_shuffle which, sn_lane a, sn_lane b);

/* a where the mask (lanes of `width` bits, all or none set) is set, else b. */
sn_lane sn_lane_select(sn_lanes *l, uint32_t width, sn_lane mask, sn_lane a, sn_lane b);
/* f32: a b + c, rounded once with relaxed SIMD. */
sn_lane sn_lane_madd(sn_lanes *l, sn_lane a, sn_lane b, sn_lane c);
/* f32: as f32x4.min and .max. */
sn_lane sn_lane_min(sn_lanes *l, sn_lane a, sn_lane b);
sn_lane sn_lane_max(sn_lanes *l, sn_lane a, sn_lane b);
sn_lane sn_lane_not(sn_lanes *l, sn_lane mask);
sn_lane sn_lane_neg(sn_lanes *l, uint32_t width, sn_lane a);
sn_lane sn_lane_rare(sn_lanes *l, sn_lane mask);
sn_lane sn_lane_rare_end(sn_lanes *l, uint32_t width, sn_lane mask, sn_lane a, sn_lane b);

/* Counts a use of node from outside the nodes, in the section under way, per vector. */
void sn_lane_root(sn_lanes *l, sn_lane node);

/* After all roots: counts uses, so that nodes nobody wants have none. */
void sn_lanes_count(sn_lanes *l);

static inline int sn_lane_level(const sn_lanes *l, sn_lane node) { return l->nodes[node].level; }

#endif
