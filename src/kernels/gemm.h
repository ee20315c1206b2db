/* gemm.h - matrix product C(m, n) = A(m, k) * B(k, n), in tiles that workers compute independently.
 *
 * Rows, columns and k of A and B are nests of any strides (fuse/nest.h), so transposes, views and
 * the windows of a convolution are not copied: packing walks them. The plan (gemm_plan.h) is made
 * once; then each of its tasks is one tile of C over the whole of k, computed by one worker in its
 * private scratch:
 *
 *           n                     for each block of kc along k
 *     +-----------+                 pack A's rows of the tile: mc x kc in panels of MR      (L2)
 *     |   | nc|   |                 for each panel of NR columns
 *   m |---+---+---|                   pack B's kc x NR                                      (L1)
 *     | mc| T |   |                   for each panel of MR rows: micro-kernel, MR x NR of T
 *     +-----------+                 T is written by the first block and added to by the others
 *
 * A left side whose rows are contiguous along k is not packed if the product has few columns: lists
 * of runs (ukr.h) replace its panels.
 *
 * An operand that several tiles read is packed once, before them all, into memory that the workers
 * share (`shared`). This is a first stage of the kernel; its units are a tile's width of a block of
 * k. In the same form B may stay packed from run to run while its contents do not change (`kept`).
 *
 * Order of a sum (the same bits on every path, tile, thread count): products are added in order of
 * k within a sum of `sum` terms, from +0 on, and these sums are added in order. `sum` depends on k
 * alone; a block of kc terms is several whole sums, which the micro-kernel adds to its part of T one
 * after the other. A product in segments has a task per tile and segment, which adds the sums of its
 * segment. With kernels that do not fuse (deterministic) the bits are also the same for every
 * instruction set.
 *
 * Narrow results (few columns) are computed as C^T = B^T * A^T, because the right side's panels are
 * the wide ones; "left" and "right" below are the sides after that choice. */
#ifndef SN_KERNELS_GEMM_H
#define SN_KERNELS_GEMM_H

#include "kernels/gemm_plan.h"

/* Packs part `unit` (0 .. g->pack_units - 1) of the shared operands. Units may run side by side. */
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

/* As sn_gemm_tile, straight into C with rows rs_c elements apart and columns adjacent. C is only
 * written (its contents before do not matter) and overlaps neither A nor B. */
void sn_gemm_tile_to(const sn_gemm *g, const void *a, const void *b, void *c, ptrdiff_t rs_c,
                     int64_t task, const void *shared, void *scratch);

#endif
