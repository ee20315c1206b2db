/* body.h - a group's bodies described on a walk, and the state of lowering a kernel. */
#ifndef SN_JIT_BODY_H
#define SN_JIT_BODY_H

#include "jit/walk.h"
#include "kernels/kernel.h"

/* Functions of the module that others call, by reduction: their number + 1, 0: not there yet. */
typedef struct sn_jit_helpers {
  uint32_t push[SN_OP_COUNT][SN_DTYPE_COUNT]; /* lanes, count: a strip's lanes into the counter */
  uint32_t end[SN_OP_COUNT][SN_DTYPE_COUNT];  /* lanes of the last strip, count of those before,
                                                 item: the block's end */
  uint32_t blocks[SN_BLOCK_KINDS], tiles[SN_BLOCK_KINDS]; /* of a kind: emit_blocks.c, emit_tiles.c */
} sn_jit_helpers;

/* One role of one kernel under way. */
typedef struct sn_jit {
  sn_arena *arena; /* of what ends with the kernel */
  sn_wasm *w;
  sn_vec_target lanes;
  sn_jit_helpers *helpers;
  sn_walk_bases *bases;
  const sn_kernel *kernel;
  sn_walk walk;
  int pick[SN_MAX_RANK]; /* dim of the nest -> dim of the operands' strides */
  sn_vec_value *totals;  /* per total its value, if there is one to read */
  sn_vec_value *insns;   /* of the body described last */
  bool once_per_run;     /* operands do not walk the reduced dims */
  int ahead;             /* operands are so many places on along the outermost dim */
  /* What a load or a kept value is; NULL: elements where they lie. */
  sn_vec_value (*read)(struct sn_jit *j, const sn_body *body, const sn_insn *insn);
  bool unable; /* something that is not lowered was met */
} sn_jit;

/* One more than the highest value that the group reads or writes. */
size_t sn_jit_count_values(const sn_group *group);

/* Begins a nest: dims[i] is walked by stride pick[i] of operands, whose strides cover (space,
 * reduced). */
sn_status sn_jit_nest(sn_jit *j, int rank, const int *pick, const int64_t *dims);

/* The nest of space, then reduced, of which there is at least one dim; strides of what lies in
 * order along the reduced ones. */
sn_status sn_jit_space_then_reduced(sn_jit *j);
void sn_jit_reduced_strides(const sn_jit *j, int64_t *strides);

/* The space's dims, those that all of post's operands walk as one merged: its rank. */
int sn_jit_merge_space(const sn_group *group, int *pick, int64_t *dims);

uint32_t sn_jit_operand(sn_jit *j, const sn_operand *operand); /* a leaf */

/* Describes a body; its values are then in j->insns. keeps: leaves of kept slots, or NULL. */
sn_status sn_jit_body(sn_jit *j, const sn_body *body, const uint32_t *kept);
void sn_jit_stores(sn_jit *j, const sn_store *stores, uint32_t n);

/* ---- sums (emit_fold.c) ---------------------------------------------------------------------- */

typedef struct sn_jit_sum {
  const sn_reduction *reduction;
  uint32_t leaf;    /* its accumulators */
  uint32_t memory;  /* local: where its scratch and item are */
  uint32_t scratch; /* bytes behind memory */
  uint32_t item;    /* local of an address; bytes behind it: */
  uint32_t item_offset;
  uint32_t joined, other; /* leaves of two strips' lanes, which section `join` combines; 0: none */
  uint32_t join;
} sn_jit_sum;

/* The functions a sum calls; written before the function that has it is begun. */
sn_status sn_jit_sum_helpers(sn_jit *j, const sn_reduction *reduction);

/* After the body: one more point goes into the sum's accumulators. */
void sn_jit_sum_describe(sn_jit *j, sn_jit_sum *sum);

/* After all bodies: in a section of its own lanes of two strips are combined, where that helps. */
void sn_jit_sum_join(sn_jit *j, sn_jit_sum *sums, uint32_t n);

/* The next `left` (a local, changed; at most SN_FOLD_BLOCK) points of the reduced dims, from the
 * index on, folded as fold.h says; sums: all of one width. */
void sn_jit_sum_run(sn_jit *j, uint32_t section, sn_jit_sum *sums, uint32_t n, uint32_t left);

/* Write a role's function (lower_kernel.h). SN_NONE into *number where it cannot be. */
sn_status sn_jit_fold(sn_jit *j, uint32_t *number);
sn_status sn_jit_rows(sn_jit *j, uint32_t *number);
sn_status sn_jit_blocks(sn_jit *j, uint32_t *number);
sn_status sn_jit_tiles(sn_jit *j, uint32_t *number);

#endif
