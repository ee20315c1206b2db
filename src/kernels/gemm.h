/* gemm.h - matrix product C(m, n) = A(m, k) * B(k, n), in tiles that workers compute on their own.
 *
 * Rows, columns and k of A and B are nests of any strides (fuse/nest.h), so transposes, views and
 * the windows of a convolution are not copied: packing walks them. The plan is made once from sizes
 * alone, never from the number of threads; then each of its tasks is one tile of C over the whole
 * of k, computed by one worker in its private scratch:
 *
 *           n                     for each block of kc along k
 *     +-----------+                 pack A's rows of the tile: mc x kc in panels of MR      (L2)
 *     |   | nc|   |                 for each panel of NR columns
 *   m |---+---+---|                   pack B's kc x NR                                      (L1)
 *     | mc| T |   |                   for each panel of MR rows: micro-kernel, MR x NR of T
 *     +-----------+                 T is written by the first block and added to by the others
 *
 * A left side whose rows lie along k is not packed where it meets few columns: lists of runs
 * (ukr.h) stand in the place of its panels.
 *
 * An operand that several tiles read is packed once, before them all, into memory that the workers
 * share (`shared`): a first stage of the kernel, whose units are a tile's width of a block of k.
 * In the same form B may stay from run to run while its contents do (`kept`).
 *
 * Order of a sum (the same bits on every path, tile, thread count): products are added in order of
 * k inside a sum of `sum` terms from +0, and those sums in order. `sum` depends on k alone; a block
 * of kc has whole ones, which the micro-kernel adds to its part of T one after the other. A product
 * in spans has a task per tile and span, each adding the sums of its span. With kernels that do not
 * fuse (deterministic) the bits are also the same for every instruction set.
 *
 * Narrow results (few columns) are computed as C^T = B^T * A^T, because the right side's panels are
 * the wide ones; "left" and "right" below are the sides after that choice.
 */
#ifndef SN_KERNELS_GEMM_H
#define SN_KERNELS_GEMM_H

#include "fuse/nest.h"
#include "kernels/strip.h"
#include "kernels/ukr/ukr.h"

/* Where element (w, p) of an operand lies: across the rows of A or the columns of B, and along k.
 */
typedef struct sn_gemm_walk {
  sn_nest across, along;
  sn_bounds bounds; /* outside of them it is 0, and a product is packed always */
  /* SN_F32, or the small dtype in which the operand is stored: it is packed always, cast there. */
  sn_dtype small;
  sn_strip_fn *widen;    /* its bits to values of its wide dtype */
  sn_strip_fn *to_float; /* and these to float32, where they are integers; else NULL */
} sn_gemm_walk;

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
  sn_gemm_walk a, b;
  int64_t spans;     /* 0, or about how many parts of k are to be summed apart */
  int64_t sum_limit; /* 0: the usual one; tests shrink it */
  bool always_pack;  /* small sizes too go through the micro-kernel: for tests */
  int64_t whole_m;   /* 0, or rows of the product that this is a block of: it is computed as that
                        would be, by one worker */
  sn_gemm_sharing sharing;

  /* set by sn_gemm_plan */
  int64_t from, to;     /* of the terms that are summed: all, unless a copy is limited */
  int64_t tasks;        /* tiles times spans, span by span; 0 when C is empty */
  size_t scratch_bytes; /* of each worker, 64-byte aligned */
  int64_t pack_units;   /* to run before the tasks: of left and right, or 0 */
  size_t shared_bytes;  /* of what they pack, 64-byte aligned */
  double flops;         /* 2 m n k */
  sn_gemm_side left, right;
  int64_t sum, kc, span; /* terms of a sum, of a block of whole sums, and of a task, whole sums as
                            well; spans is how many of those there are */
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

/* Fills the second half of *g, for this micro-kernel of g->dtype or a smaller one of the same bits:
 * where that reads the left side where it lies, or computes half as much beside C. */
void sn_gemm_plan(sn_gemm *g, const sn_gemm_ukr *ukr);

/* Limits a copy of a plan without spans to the columns in [from, to), and so many before them that
 * panels are whole, or to those terms of its sums. */
void sn_gemm_limit(sn_gemm *g, bool terms, int64_t from, int64_t to);

/* The same with this micro-kernel and no other. */
void sn_gemm_plan_with(sn_gemm *g, const sn_gemm_ukr *ukr);

static inline size_t sn_gemm_bytes(const sn_gemm *g) { return g->dtype == SN_F64 ? 8 : 4; }

static inline sn_gemm_side *sn_gemm_side_b(sn_gemm *g) { return g->swapped ? &g->left : &g->right; }

/* Packs part `unit` (0 .. g->pack_units - 1) of what tiles share. Units may run at the same time.
 */
void sn_gemm_pack(const sn_gemm *g, const void *a, const void *b, int64_t unit, void *shared);

/* Receives the finished tile C(row .. row + rows, col .. col + cols) in the worker's cache, its
 * rows ld elements apart; it may overwrite it. */
typedef void sn_tile_fn(void *user, void *worker_memory, int64_t row, int64_t col, int64_t rows,
                        int64_t cols, void *tile, ptrdiff_t ld);

/* Computes tile `task` (0 .. g->tasks - 1) and hands it to store. Tasks may run in any order, at
 * the same time, each with its own scratch (g->scratch_bytes) and worker_memory (passed through),
 * when all pack units have filled shared (g->shared_bytes). */
void sn_gemm_tile(const sn_gemm *g, const void *a, const void *b, int64_t task, const void *shared,
                  void *scratch, sn_tile_fn *store, void *user, void *worker_memory);

/* As sn_gemm_tile, straight into C with rows rs_c elements apart and columns adjacent. C is written
 * only (its contents before do not matter) and overlaps neither A nor B. */
void sn_gemm_tile_to(const sn_gemm *g, const void *a, const void *b, void *c, ptrdiff_t rs_c,
                     int64_t task, const void *shared, void *scratch);

#endif
