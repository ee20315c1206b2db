/* build_conv.h - expands a convolution (graph/conv_shape.h) into simpler ops.
 *
 * A convolution stays one op until derivatives have been taken, so that these are convolutions, too,
 * and not sums over overlapping windows. Then, before the passes, it becomes
 *
 *   pad -> windows -> transpose -> reshape -> matmul
 *
 * Packing reads through these views, so the im2col matrix never lies in memory. A depthwise
 * convolution (one channel per group) becomes windows times filter, summed over the window; the pass
 * "strength" turns that into one walk along all channels. If a group has several filters, its channel
 * is copied for each.
 *
 * Other ways: conv_phases.h for a spread input (zeros between elements), conv_winograd.h for 3 x 3
 * with fewer multiplications. */
#ifndef SN_BUILD_BUILD_CONV_H
#define SN_BUILD_BUILD_CONV_H

#include "build/build.h"

/* The convolution's result, of type y, from other ops. A sum over up to `few` adjacent channels is
 * written as additions. */
sn_id sn_build_conv(sn_build *b, sn_id x, sn_id w, const int64_t *attrs, const sn_type *y,
                    int64_t few);

/* The cotangent of the filter, of type w, from dy, the cotangent of the result. */
sn_id sn_build_conv_filter_grad(sn_build *b, sn_id x, sn_id dy, const int64_t *attrs,
                                const sn_type *w);

#endif
