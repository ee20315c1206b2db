/* pack.h - copies a strided matrix into the panels that the GEMM micro-kernels read.
 *
 *   source: width x k, elements ws apart across          panel: k rows of `panel` elements
 *           and ks apart along k (any sign)                 +------ panel ------+
 *             k ->                                          | p = 0: width | 0 0|
 *          +---------+                                      | p = 1: width | 0 0|
 *    width |         |                             ->       |  ...         | 0 0|
 *          +---------+                                      +--------------+----+
 *
 * The left operand's panels run over its rows (ws = row stride), the right operand's over its
 * columns (ws = column stride); both are one function. A larger width goes into panels one behind
 * the other. Elements beyond width are zero, because the micro-kernel may compute with them. 1 <=
 * width; source and panels do not overlap. */
#ifndef SN_KERNELS_PACK_H
#define SN_KERNELS_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "fuse/nest.h"
#include "graph/shape.h"

/* If elements across are adjacent, rows of up to so many panels are read at once, and as many streams written. */
#define SN_PACK_TOGETHER 8

/* Whether panels of float16 and bfloat16 get values. If not, they get bits, as panels of other small dtypes do. */
extern const bool sn_pack_widens;

/* offsets: of each position across; NULL: they are ws apart. Panels are ld elements apart. Panels of a
 * small dtype get its bits, in 32 each, or its values. */
void sn_pack_panels(sn_dtype dtype, void *panels, const void *source, const ptrdiff_t *offsets,
                    int64_t width, int64_t k, ptrdiff_t ws, ptrdiff_t ks, int panel, int64_t ld);

/* The same from nests: positions w .. w + width across and p .. p + k along. It calls sn_pack_panels
 * for each run of evenly spaced positions along k, with an offset per position across. One panel, or
 * several if all positions across are adjacent and there are no bounds; at most SN_PACK_MOST
 * positions. The panels lie one behind the other. */
#define SN_PACK_MOST 64
void sn_pack_nests(sn_dtype dtype, void *panel_out, const void *source, const sn_nest *across,
                   int64_t w, int64_t width, const sn_nest *along, int64_t p, int64_t k,
                   const sn_bounds *bounds, int panel);

/* Lists the same positions, unpacked, as runs of a micro-kernel's rows (ukr/ukr.h); ks = 1. Where a
 * position has no element, its run is zeros; rows beyond width repeat the first row. */
#define SN_PACK_LONGEST_RUN 160
void sn_pack_runs(sn_dtype dtype, ptrdiff_t *runs, const void *source, const sn_nest *across,
                  int64_t w, int64_t width, const sn_nest *along, int64_t p, int64_t k,
                  const sn_bounds *bounds, int panel);

#endif
