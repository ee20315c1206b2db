/* parts.h - assembles the cotangent of a tensor from the cotangents of its slices.
 *
 *   x    |------------------|        dx = [ dy0 | 0 | dy1 | dy2 ]
 *   y0   |----|                         + [ 0   | dy3 | 0       ]
 *   y3        |------|
 *
 * Padded with zeros, each would be as large as x, and T unrolled steps that each read a slice of x
 * would add T of these, which is work T^2. So cotangents of slices wait until all are there, and those
 * that do not overlap are concatenated. */
#ifndef SN_AUTODIFF_PARTS_H
#define SN_AUTODIFF_PARTS_H

#include "build/build.h"

/* Whether the slice has stride 1 along every axis and is not empty: then sn_join_parts can take it. */
bool sn_is_part(const sn_build *b, sn_id slice);

typedef struct sn_part {
  sn_id slice, dy;
} sn_part;

/* Returns the cotangent of the tensor of which all n > 0 parts are slices. Reorders the parts. Takes time
 * n log n, times the number of axes. */
sn_id sn_join_parts(sn_build *b, sn_part *parts, size_t n);

#endif
