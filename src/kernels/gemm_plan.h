/* gemm_plan.h - a matrix product as it is computed: its sides, its tiles, and where all of it
 * lies. The plan is made once from sizes alone, never from the number of threads; gemm.h says what
 * is done with it. */
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
  sn_bounds bounds; /* outside of them it is 0, and a product is packed always */
  /* SN_F32, or the small dtype in which the operand is stored: it is packed always, cast there. */
  sn_dtype small;
  sn_strip_fn *widen;    /* bits that were packed to values of its wide dtype; else NULL */
  sn_strip_fn *to_float; /* and these to float32, where they are integers; else NULL */
} sn_gemm_walk;

/* Rows of quantised blocks, of which B's rows are the numbers; a row has `bytes`. They are unpacked where others are
 * packed, panel by panel, and never there as a whole. */
typedef struct sn_gemm_blocks {
  const struct sn_quant_kernels *kernels;
  sn_block_kind kind;
  int64_t bytes; /* 0: B has elements */
} sn_gemm_blocks;

/* One operand, as width x k: width is m for A, n for B. */
typedef struct sn_gemm_side {
  int64_t width;
  int64_t first, end; /* of the positions that tiles compute: all, unless a copy is limited */
  sn_gemm_walk walk;
  bool even;        /* one stride each, ws and ks */
  ptrdiff_t ws, ks; /* innermost strides across the width and along k */
  int64_t block;    /* width of a tile on this side */
  int64_t blocks;   /* ceil(width / block) */
  int panel;        /* MR or NR */
  int panels;       /* that are packed together; a part of a quantised block is a row of them */
  int64_t units;    /* of packing all of it before the tiles; 0: not possible */
  size_t bytes;     /* all of it, packed; 64-byte aligned */
  bool shared;      /* packed before the tiles, at shared_offset */
  size_t shared_offset;
  size_t run_bytes; /* 0, or of a panel's runs: it is not packed (ukr.h) */
  void *kept;       /* where else it is packed before the tiles, or NULL; set between runs */
  bool ready;       /* it lies there already */
} sn_gemm_side;

/* What pack units, run before the tasks, may pack for all of them. */
typedef enum sn_gemm_sharing {
  SN_GEMM_SHARES_NOTHING,
  SN_GEMM_SHARES_OPERANDS, /* each that more than one tile reads */
  SN_GEMM_SHARES_B         /* B alone: other blocks of rows read it, too */
} sn_gemm_sharing;

typedef struct sn_gemm {
  /* set by the caller */
  sn_dtype dtype; /* SN_F32, SN_F64 or SN_I32 */
  int64_t m, n, k;
  int64_t of_bytes; /* 0, or how many terms of bytes: k follows, of several in an element (ukr.h) */
  sn_gemm_walk a, b;
  sn_gemm_blocks blocks; /* then b says how long its rows are, and no more */
  int64_t segments;      /* 0, or about how many parts of k are to be summed apart */
  int64_t sum_limit;     /* 0: the usual one; tests shrink it */
  bool always_pack;      /* small sizes too go through the micro-kernel: for tests */
  int64_t whole_m; /* 0, or rows of the product that this is a block of: it is computed as that
                        would be, by one worker */
  sn_gemm_sharing sharing;
  const sn_product_costs *costs; /* NULL: the CPU's */

  /* set by sn_gemm_plan */
  int64_t from, to;     /* of the terms that are summed: all, unless a copy is limited */
  int64_t tasks;        /* tiles times segments, segment by segment; 0 when C is empty */
  size_t scratch_bytes; /* of each worker, 64-byte aligned */
  int64_t pack_units;   /* to run before the tasks: of left and right, or 0 */
  size_t shared_bytes;  /* of what they pack, 64-byte aligned */
  double flops;         /* 2 m n k */
  sn_gemm_side left, right;
  int64_t sum, kc; /* terms of a sum, and of a block of whole sums */
  int64_t segment; /* terms of a task, whole sums as well; segments: how many of those there are */
  const sn_gemm_ukr *ukr;
  bool swapped; /* left is B, right is A */
  bool direct;  /* no packing: a single row, or tiny */
  size_t panel_offset, edge_offset, tile_offset, turned_offset; /* in scratch, in bytes */
} sn_gemm;

/* Up to so many multiply-adds (about 12 cubed) two panels cost more to pack than they save: such a
 * product is not packed, and does not fuse multiply-adds. */
#define SN_GEMM_TINY 2048

/* The preferred micro-kernel for an instruction set; never NULL. */
const sn_gemm_ukr *sn_gemm_ukr_for(sn_dtype dtype, sn_isa_id isa, bool deterministic);

/* The same for bytes, two terms in an element; NULL: there is none. */
const sn_gemm_ukr *sn_gemm_ukr_for_bytes(sn_isa_id isa);

/* Whether a kernel of four terms has their exact sums: the instruction that it is made of does on some machines. */
bool sn_gemm_ukr_is_exact(const sn_gemm_ukr *fours);

/* The one made at run time, if there is one that this worker can call and that is exact; else NULL. */
const sn_gemm_ukr *sn_gemm_exact_fours(const sn_gemm_run_time *made);

/* Fills the second half of *g, for this micro-kernel of g->dtype or a smaller one of the same bits:
 * where that reads the left side where it lies, or computes half as much beside C. */
void sn_gemm_plan(sn_gemm *g, const sn_gemm_ukr *ukr);

/* The same with this micro-kernel and no other. */
void sn_gemm_plan_with(sn_gemm *g, const sn_gemm_ukr *ukr);

/* Limits a copy of a plan without segments to the columns in [from, to), and so many before them
 * that panels are whole, or to those terms of its sums. */
void sn_gemm_limit(sn_gemm *g, bool terms, int64_t from, int64_t to);

static inline size_t sn_gemm_bytes(const sn_gemm *g) { return g->dtype == SN_F64 ? 8 : 4; }

static inline sn_gemm_side *sn_gemm_side_b(sn_gemm *g) { return g->swapped ? &g->left : &g->right; }

static inline int64_t sn_gemm_least(int64_t x, int64_t y) { return x < y ? x : y; }

/* Panels that a width of this side takes. */
static inline int64_t sn_gemm_panels(const sn_gemm_side *side, int64_t width) {
  return width / side->panel + (width % side->panel != 0);
}

#endif
