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
 * Other ways: of an input with zeros in between conv_phases.h, of 3 x 3 with fewer products
 * conv_winograd.h. */
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
