/* parts.h - the cotangents of a tensor's slices, which are parts of its own.
 *
 *   x    |------------------|        dx = [ dy0 | 0 | dy1 | dy2 ]
 *   y0   |----|                         + [ 0   | dy3 | 0       ]
 *   y3        |------|
 *
 * Each laid among zeros would be as large as x, and a loop of T steps that each read a slice would
 * add T of these: T^2. So they wait until all are there, and those that do not overlap are laid
 * side by side. */
#ifndef SN_AUTODIFF_PARTS_H
#define SN_AUTODIFF_PARTS_H

#include "build/build.h"

/* Whether the slice takes neighbours, in their order, along every axis, and is not empty. */
bool sn_is_part(const sn_build *b, sn_id slice);

typedef struct sn_part {
  sn_id slice, dy;
} sn_part;

/* The cotangent of what n > 0 such slices are of, from theirs. Parts are sorted on the way. n log n,
 * and linear in the number of axes. */
sn_id sn_join_parts(sn_build *b, sn_part *parts, size_t n);

#endif
