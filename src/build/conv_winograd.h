/* conv_winograd.h - a 3 x 3 convolution with fewer multiplications, F(2 x 2, 3 x 3) (Winograd 1980; Lavin and
 * Gray 2016): 16 in the place of 36 for 2 x 2 results.
 *
 *   x    d: tiles of 4 x 4, two apart     V = B d B^T, 16 maps over (tiles, c)
 *   w    g: 3 x 3                         U = G g G^T, 16 maps over (c, f)
 *                                         M = V U per place in a tile: products (tiles, c) (c, f)
 *   y    2 x 2 results of each tile       y = A M A^T
 *
 * Only where it is asked for: it adds elements of x before it weighs them, so that an error is bounded
 * by the largest terms around, not by a sum's own (docs/accuracy.md). The 16 products are nodes of
 * their own, as one buffer for the factors of all takes a fifth longer. On one thread of WebAssembly it
 * is 1.9 times as fast as the direct way at 56 x 56 64->64, 28 x 28 128->128 and 8 x 8 64->64, 1.5 times
 * at 16 x 16 32->32, 1.06 times at 32 x 32 16->16. F(4 x 4, 3 x 3) is faster at the first of them alone,
 * by a quarter, with ten times the error. */
#ifndef SN_BUILD_CONV_WINOGRAD_H
#define SN_BUILD_CONV_WINOGRAD_H

#include "build/build.h"

/* What it is worth: multiply-adds that it spares, products that it takes, and elements that it moves to
 * memory and back. */
typedef struct sn_conv_winograd_work {
  double spared, products, moved;
} sn_conv_winograd_work;

/* False: it is none of 3 x 3 over two axes, without strides, dilation, spread or groups, of float32. */
bool sn_conv_is_winograd(const int64_t *attrs, const sn_type *w, const sn_type *y,
                         sn_conv_winograd_work *out);

sn_id sn_build_conv_winograd(sn_build *b, sn_id x, sn_id w, const int64_t *attrs, const sn_type *y);

#endif
