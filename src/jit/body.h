/* body.h - describes the bodies of a group on a walk, and holds the state of lowering a kernel. */
#ifndef SN_JIT_BODY_H
#define SN_JIT_BODY_H

#include "jit/walk.h"
#include "kernels/kernel.h"

/* Functions that several kernels of the module share: function number + 1; 0: not emitted yet. */
typedef struct sn_jit_helpers {
  uint32_t push[SN_OP_COUNT][SN_DTYPE_COUNT]; /* (lanes, count): pushes a strip's lanes into the block's counter */
  uint32_t end[SN_OP_COUNT][SN_DTYPE_COUNT];  /* (lanes of the last strip, count of strips before it, item): ends
                                                 the block and stores its item */
  uint32_t blocks[SN_BLOCK_KINDS], tiles[SN_BLOCK_KINDS]; /* emit_blocks.c, emit_tiles.c */
} sn_jit_helpers;

/* The state while one role of one kernel is lowered. */
typedef struct sn_jit {
  sn_arena *arena; /* freed when the role's function has been written */
  sn_wasm *w;
  sn_vec_target lanes;
  sn_jit_helpers *helpers;
  sn_walk_bases *bases;
  const sn_kernel *kernel;
  sn_walk walk;
  int pick[SN_MAX_RANK]; /* dim of the nest -> dim of the operands' strides */
  sn_vec_value *totals;  /* value of each total that the body may read */
  sn_vec_value *insns;   /* values of the body described last, by instruction */
  bool once_per_run;     /* operands have stride 0 along the reduced dims */
  int ahead;             /* operands are read this many positions further along the outermost dim */
  /* Gives the value of a load or of a kept value; NULL: it is read from memory by a leaf. */
  sn_vec_value (*read)(struct sn_jit *j, const sn_body *body, const sn_insn *insn);
  bool unable; /* set at anything that cannot be lowered: the role then has no function */
} sn_jit;

/* One more than the highest number of a value that the group reads or writes. */
size_t sn_jit_count_values(const sn_group *group);

/* Begins a nest. Dim i of the nest, of dims[i] points, uses stride pick[i] of operands, whose strides
 * cover (space, reduced). */
sn_status sn_jit_nest(sn_jit *j, int rank, const int *pick, const int64_t *dims);

/* Begins the nest of the space's dims, then the reduced ones, or one of size 1 if there are none. */
sn_status sn_jit_space_then_reduced(sn_jit *j);
/* Strides of an array that is row-major over the reduced dims, 0 along the space. */
void sn_jit_reduced_strides(const sn_jit *j, int64_t *strides);

/* The nest of a group's space for post: merges neighbouring dims that all operands of post walk as one. Returns its rank. */
int sn_jit_merge_space(const sn_group *group, int *pick, int64_t *dims);

uint32_t sn_jit_operand(sn_jit *j, const sn_operand *operand); /* adds a leaf */

/* Describes a body; its values are then in j->insns. kept: the leaves of kept slots, or NULL. */
sn_status sn_jit_body(sn_jit *j, const sn_body *body, const uint32_t *kept);
void sn_jit_stores(sn_jit *j, const sn_store *stores, uint32_t n);

/* ---- sums (emit_fold.c) ---------------------------------------------------------------------- */

typedef struct sn_jit_sum {
  const sn_reduction *reduction;
  uint32_t leaf;        /* its accumulators: the lanes of the strip under way */
  uint32_t memory;      /* local with an address; the scratch lies `scratch` bytes behind it */
  uint32_t scratch;
  uint32_t item;        /* local with an address; the item goes `item_offset` bytes behind it */
  uint32_t item_offset;
  uint32_t joined, other; /* leaves of the lanes of two strips, which section `join` combines; 0: none */
  uint32_t join;
} sn_jit_sum;

/* Emits the functions that a sum calls. Call it before the function with the sum is begun. */
sn_status sn_jit_sum_helpers(sn_jit *j, const sn_reduction *reduction);

/* After the body: describes how one more point goes into the sum's accumulators. */
void sn_jit_sum_describe(sn_jit *j, sn_jit_sum *sum);

/* After all bodies: describes, in a section of its own, how the lanes of two strips are combined, if that helps. */
void sn_jit_sum_join(sn_jit *j, sn_jit_sum *sums, uint32_t n);

/* Writes the folding, as fold.h says, of the next `left` (a local, changed; at most SN_FOLD_BLOCK)
 * points of the reduced dims, from the index on. All sums have elements of one width. */
void sn_jit_sum_run(sn_jit *j, uint32_t section, sn_jit_sum *sums, uint32_t n, uint32_t left);

/* Each writes a role's function (lower_kernel.h). *number stays SN_NONE if it cannot be lowered. */
sn_status sn_jit_fold(sn_jit *j, uint32_t *number);
sn_status sn_jit_rows(sn_jit *j, uint32_t *number);
sn_status sn_jit_blocks(sn_jit *j, uint32_t *number);
sn_status sn_jit_tiles(sn_jit *j, uint32_t *number);

#endif
