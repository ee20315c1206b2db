/* nest.h - how the positions along one axis of a matrix lie in memory: dims in row-major order with
 * a stride each, so that an axis may be made of several axes of a view.
 *
 *   rows of an image's windows, 2 x 3 of them:  dims (2, 3), strides (step * width, step)
 *   position  0  1     2          3             4 ...
 *   offset    0  step  2 * step   step * width  step * width + step
 *
 * Merged: a dim of one position stands only alone, and no dim continues the next one outwards. So
 * one dim means evenly spaced positions, and every axis of a plain matrix has one. */
#ifndef SN_FUSE_NEST_H
#define SN_FUSE_NEST_H

#include <stdbool.h>
#include <stdint.h>

#include "sinter.h"

typedef struct sn_nest {
  int32_t rank; /* 0 only while it is being built */
  int64_t dims[SN_MAX_RANK], strides[SN_MAX_RANK];
} sn_nest;

/* n positions, stride apart. */
static inline sn_nest sn_nest_line(int64_t n, int64_t stride) {
  return (sn_nest){.rank = 1, .dims = {n}, .strides = {stride}};
}

/* Adds an innermost dim; false if there is no room. */
bool sn_nest_add(sn_nest *nest, int64_t dim, int64_t stride);

int64_t sn_nest_size(const sn_nest *nest);

/* Cuts a nest's positions, in their order, into axes of the given sizes, whose product is the
 * nest's size and not 0. False if an axis would begin or end inside a dim that it does not divide,
 * or if the axes have more than SN_MAX_RANK dims together. */
bool sn_nest_split(const sn_nest *nest, const int64_t *sizes, int n, sn_nest *axes);

/* ---- walking --------------------------------------------------------------------------------- */

typedef struct sn_nest_place {
  int64_t digits[SN_MAX_RANK]; /* the position, a digit per dim */
  int64_t offset;
} sn_nest_place;

static inline sn_nest_place sn_nest_seek(const sn_nest *nest, int64_t position) {
  sn_nest_place at;
  at.offset = 0;
  for (int i = nest->rank - 1; i > 0; i--) { /* no division where there is one dim */
    at.digits[i] = position % nest->dims[i];
    at.offset += at.digits[i] * nest->strides[i];
    position /= nest->dims[i];
  }
  at.digits[0] = position;
  at.offset += position * nest->strides[0];
  return at;
}

/* Evenly spaced positions from here on. */
static inline int64_t sn_nest_run(const sn_nest *nest, const sn_nest_place *at) {
  return nest->dims[nest->rank - 1] - at->digits[nest->rank - 1];
}

/* n more positions, at most a run. */
static inline void sn_nest_advance(const sn_nest *nest, sn_nest_place *at, int64_t n) {
  int i = nest->rank - 1;
  at->digits[i] += n;
  at->offset += n * nest->strides[i];
  for (; i > 0 && at->digits[i] == nest->dims[i]; i--) {
    at->offset += nest->strides[i - 1] - nest->dims[i] * nest->strides[i];
    at->digits[i] = 0;
    at->digits[i - 1]++;
  }
}

/* The stride of the innermost dim. */
static inline int64_t sn_nest_stride(const sn_nest *nest) { return nest->strides[nest->rank - 1]; }

#endif
