/* conv_winograd.h - a 3 x 3 convolution with fewer multiplications, F(2 x 2, 3 x 3) (Winograd 1980; Lavin and
 * Gray 2016): 16 instead of 36 for 2 x 2 results.
 *
 *   x    d: tiles of 4 x 4, two apart     V = B d B^T, 16 maps over (tiles, c)
 *   w    g: 3 x 3                         U = G g G^T, 16 maps over (c, f)
 *                                         M = V U per place in a tile: products (tiles, c) (c, f)
 *   y    2 x 2 results of each tile       y = A M A^T
 *
 * It is off by default: elements of x are added before they are multiplied by weights, so the error of a
 * result is bounded by the largest terms near it, not by its own terms (docs/accuracy.md). The 16 products
 * are separate nodes, as one buffer for the factors of all takes a fifth longer. On one thread of
 * WebAssembly it is 1.9 times as fast as the direct way at 56 x 56 64->64, 28 x 28 128->128 and 8 x 8
 * 64->64, 1.5 times at 16 x 16 32->32, 1.06 times at 32 x 32 16->16. F(4 x 4, 3 x 3) is faster only at
 * the first of these, by a quarter, with ten times the error. */
#ifndef SN_BUILD_CONV_WINOGRAD_H
#define SN_BUILD_CONV_WINOGRAD_H

#include "build/build.h"

/* Gain and cost: multiply-adds that are saved, number of matrix products, and elements that are moved to
 * memory and back. */
typedef struct sn_conv_winograd_work {
  double spared, products, moved;
} sn_conv_winograd_work;

/* Whether the convolution is 3 x 3 over two axes, in float32, without steps, dilation, spread or groups. Sets
 * *out if it has two axes, is in float32 and is not empty. */
bool sn_conv_is_winograd(const int64_t *attrs, const sn_type *w, const sn_type *y,
                         sn_conv_winograd_work *out);

sn_id sn_build_conv_winograd(sn_build *b, sn_id x, sn_id w, const int64_t *attrs, const sn_type *y);

#endif
