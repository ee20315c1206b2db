/* gemm_plan.h - how a matrix product is computed: its sides, its tiles, and the places of all parts
 * in memory. The plan is made once, from sizes alone, never from the number of threads; gemm.h
 * executes it. */
#ifndef SN_KERNELS_GEMM_PLAN_H
#define SN_KERNELS_GEMM_PLAN_H

#include "fuse/nest.h"
#include "graph/quant_blocks.h"
#include "kernels/strip.h"
#include "kernels/ukr/ukr.h"
#include "target/target.h"

/* Where element (w, p) of an operand lies: across A's rows or B's columns, and along k. */
typedef struct sn_gemm_walk {
  sn_nest across, along;
  sn_bounds bounds; /* outside of them it is 0; with bounds it is always packed */
  /* SN_F32 (0), or the small dtype in which the operand is stored: it is always packed, and cast then */
  sn_dtype small;
  sn_strip_fn *widen;    /* NULL, or makes packed bits values of its wide dtype */
  sn_strip_fn *to_float; /* NULL, or makes these, which are integers, float32 */
} sn_gemm_walk;

/* Rows of quantised blocks, of `bytes` bytes each; the numbers of one are a row of B. They are unpacked panel by panel, where
 * other operands are packed, and never exist unpacked as a whole. */
typedef struct sn_gemm_blocks {
  const struct sn_quant_kernels *kernels;
  sn_block_kind kind;
  int64_t bytes; /* 0: B has elements */
} sn_gemm_blocks;

/* One operand, as width x k: width is m for A, n for B. */
typedef struct sn_gemm_side {
  int64_t width;
  int64_t first, end; /* range of positions that tiles compute: all, unless sn_gemm_limit */
  sn_gemm_walk walk;
  bool even;        /* both nests are one stride, ws and ks, and there are no bounds */
  ptrdiff_t ws, ks; /* innermost strides across the width and along k */
  int64_t block;    /* width of a tile on this side */
  int64_t blocks;   /* ceil(width / block) */
  int panel;        /* width of a panel: MR or NR */
  int panels;       /* packed together; a part of a quantised block is one row of so many */
  int64_t units;    /* that pack all of it before the tiles; 0: it cannot be packed before */
  size_t bytes;     /* of all of it, packed; a multiple of 64 */
  bool shared;      /* packed before the tiles, at shared_offset */
  size_t shared_offset;
  size_t run_bytes; /* 0, or bytes of a panel's list of runs: then it is not packed (ukr.h) */
  void *kept;       /* NULL, or other memory into which it is packed before; set between runs */
  bool ready;       /* it lies packed in kept already */
} sn_gemm_side;

/* What may be packed before the tasks, for all of them. */
typedef enum sn_gemm_sharing {
  SN_GEMM_SHARES_NOTHING,
  SN_GEMM_SHARES_OPERANDS, /* each operand that more than one tile reads */
  SN_GEMM_SHARES_B         /* B alone, which other blocks of rows read, too */
} sn_gemm_sharing;

typedef struct sn_gemm {
  /* set by the caller */
  sn_dtype dtype; /* SN_F32, SN_F64 or SN_I32 */
  int64_t m, n, k;
  int64_t of_bytes; /* 0, or terms, which are bytes; k then counts elements of several (ukr.h) */
  sn_gemm_walk a, b;
  sn_gemm_blocks blocks; /* if it has bytes, b gives only the lengths of B */
  int64_t segments;      /* 0, or about how many segments of k are to be summed apart */
  int64_t sum_limit;     /* most terms of a sum; 0: the usual number; tests shrink it */
  bool always_pack;      /* small sizes too go through the micro-kernel: for tests */
  int64_t whole_m; /* 0, or rows of the product of which this is a block: it is computed as the
                        whole would be, by one worker */
  sn_gemm_sharing sharing;
  const sn_product_costs *costs; /* NULL: the CPU's */

  /* set by sn_gemm_plan */
  int64_t from, to;     /* range of terms that are summed: all, unless sn_gemm_limit */
  int64_t tasks;        /* tiles times segments, segment by segment; 0 when C is empty */
  size_t scratch_bytes; /* of each worker, a multiple of 64 */
  int64_t pack_units;   /* units that pack left and right before the tasks, or 0 */
  size_t shared_bytes;  /* of what they pack, a multiple of 64 */
  double flops;         /* 2 m n k */
  sn_gemm_side left, right;
  int64_t sum, kc; /* terms of a sum, and of a block of whole sums */
  int64_t segment; /* terms of a task, also whole sums; `segments` is then the exact number */
  const sn_gemm_ukr *ukr;
  bool swapped; /* left is B, right is A */
  bool direct;  /* no packing: a single row, or tiny */
  size_t panel_offset, edge_offset, tile_offset, transposed_offset; /* in scratch, in bytes */
} sn_gemm;

/* Up to so many multiply-adds (about 12 cubed) packing costs more than it saves: such a product is not
 * packed, and does not fuse multiply-adds. */
#define SN_GEMM_TINY 2048

/* The preferred micro-kernel for an instruction set; never NULL. */
const sn_gemm_ukr *sn_gemm_ukr_for(sn_dtype dtype, sn_isa_id isa, bool deterministic);

/* The same for bytes, with two terms in an element; NULL: there is none. */
const sn_gemm_ukr *sn_gemm_ukr_for_bytes(sn_isa_id isa);

/* Whether a kernel with four terms in an element has exact sums: its instruction is exact on some machines only. */
bool sn_gemm_ukr_is_exact(const sn_gemm_ukr *fours);

/* The kernel of four terms that was made at run time, if this worker can call it and it is exact; else NULL. */
const sn_gemm_ukr *sn_gemm_exact_fours(const sn_gemm_run_time *made);

/* Whether that kernel saturates sums of two products of large bytes: then the machine has no sum of four products, and makes
 * it of sums of two in 16 bits. */
bool sn_gemm_sums_twos(const sn_gemm_run_time *made);

/* Fills the second half of *g, for this micro-kernel of g->dtype, or for a smaller one with the same
 * bits if that reads the left side without packing, or computes only half as many points beyond C. */
void sn_gemm_plan(sn_gemm *g, const sn_gemm_ukr *ukr);

/* The same with this micro-kernel and no other. */
void sn_gemm_plan_with(sn_gemm *g, const sn_gemm_ukr *ukr);

/* Limits a copy of a plan without segments to the columns in [from, to), extended to the beginning of
 * a panel; or, if `terms`, to these terms of its sums. */
void sn_gemm_limit(sn_gemm *g, bool terms, int64_t from, int64_t to);

static inline size_t sn_gemm_bytes(const sn_gemm *g) { return g->dtype == SN_F64 ? 8 : 4; }

static inline sn_gemm_side *sn_gemm_side_b(sn_gemm *g) { return g->swapped ? &g->left : &g->right; }

static inline int64_t sn_gemm_least(int64_t x, int64_t y) { return x < y ? x : y; }

/* How many panels a width of this side takes. */
static inline int64_t sn_gemm_panels(const sn_gemm_side *side, int64_t width) {
  return width / side->panel + (width % side->panel != 0);
}

#endif
