/* conv_phases.h - a convolution whose input is spread, without the zeros in between.
 *
 * Along an axis of spread s, results s apart meet the same taps of the window, every s-th of them; the
 * others would weigh nothing but zeros. So each of the s phases of the result is a convolution over the
 * input as it is, and the phases are woven together:
 *
 *   s = 2, low = 1, window 3      x    a   .   b   .   c
 *                                 y0   w1 a            tap 1 alone
 *                                 y1   w0 a + w2 b     taps 0 and 2
 *                                 y2           w1 b    as y0, one place on
 *
 * That is s times less work along each such axis, and no tap weighs an element that it does not meet.
 * Gradients of strided convolutions and transposed convolutions are made so. */
#ifndef SN_BUILD_CONV_PHASES_H
#define SN_BUILD_CONV_PHASES_H

#include "build/build.h"

/* Of how many phases it is made; 0: it is not one of these. */
int64_t sn_conv_phases(const int64_t *attrs, const int64_t *window, const sn_type *y);

/* y in phases; of `few`: build_conv.h. */
sn_id sn_build_conv_phases(sn_build *b, sn_id x, sn_id w, const int64_t *attrs, const sn_type *y,
                           int64_t few);

#endif
