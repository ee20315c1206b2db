/* conv_phases.h - a convolution with a spread input (conv_shape.h), computed without the zeros between
 * its elements.
 *
 * Along an axis of spread s, results that are s apart use the same taps of the window, every s-th one;
 * all other taps would meet zeros. So each of the s phases of the result is a convolution over the input
 * without zeros, and the phases are interleaved:
 *
 *   s = 2, low = 1, window 3      x    a   .   b   .   c
 *                                 y0   w1 a            tap 1 alone
 *                                 y1   w0 a + w2 b     taps 0 and 2
 *                                 y2           w1 b    as y0, one place on
 *
 * That is s times less work along each such axis. Gradients of strided convolutions and transposed
 * convolutions are computed this way. */
#ifndef SN_BUILD_CONV_PHASES_H
#define SN_BUILD_CONV_PHASES_H

#include "build/build.h"

/* The number of phases over all axes; 0 if the convolution cannot be computed in phases. */
int64_t sn_conv_phases(const int64_t *attrs, const int64_t *window, const sn_type *y);

/* The result, of type y, in phases. few: as for sn_build_conv. */
sn_id sn_build_conv_phases(sn_build *b, sn_id x, sn_id w, const int64_t *attrs, const sn_type *y,
                           int64_t few);

#endif
