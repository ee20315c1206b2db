/* build_conv.h - what a convolution (graph/conv_shape.h) is made of.
 *
 * A convolution is an op until derivatives have been taken, so that these are convolutions too and
 * not sums over windows that overlap. Then, before the passes, it becomes
 *
 *   pad -> windows -> transpose -> reshape -> matmul
 *
 * whose views packing walks: im2col never stands in memory. Depthwise ones (one channel a group)
 * become windows times filter, summed over the window, which the pass "strength" takes apart into
 * one walk along all channels. Where a group has several filters its channel is copied for each.
 *
 * Winograd's F(2x2, 3x3) is not used, though it is faster: written with ops of the graph, for a 3x3
 * filter in WebAssembly on one thread, 1.28x at 56x56 64->64 and 2x at 28x28 128->128 (its three
 * stages alone 1.4x and 1.9x, the product alone 2.1x and 2.3x). It adds inputs of several taps
 * before it weighs them, so its error is not bounded by a sum's own terms. In multiples of
 * (8 + log2 K) 2^-24 sum |terms|, 8x8 64->64: normal numbers 0.11 (this way 0.15), lognormal ones,
 * sigma 3, 2.05 (0.66), an identity filter on normal numbers 85 (exact); F(4x4, 3x3) 1.8, 76 and
 * 493. One infinite element makes NaN of 449 of the 576 sums that should be infinite, and large
 * finite numbers overflow. */
#ifndef SN_BUILD_BUILD_CONV_H
#define SN_BUILD_BUILD_CONV_H

#include "build/build.h"

/* y in terms of other ops; sums of up to `few` terms that lie together are additions. */
sn_id sn_build_conv(sn_build *b, sn_id x, sn_id w, const int64_t *attrs, const sn_type *y,
                    int64_t few);

/* The cotangent of the filter, of type w, for that of y. */
sn_id sn_build_conv_filter_grad(sn_build *b, sn_id x, sn_id dy, const int64_t *attrs,
                                const sn_type *w);

#endif
