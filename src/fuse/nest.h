/* nest.h - how the positions along one axis of a matrix lie in memory: dims in row-major order with
 * a stride each, so that an axis may be made of several axes of a view.
 *
 *   rows of an image's windows, 2 x 3 of them:  dims (2, 3), strides (step * width, step)
 *   position  0  1     2          3             4 ...
 *   offset    0  step  2 * step   step * width  step * width + step
 *
 * Marks. Positions of a padded view are also coordinates along up to SN_MARKS padded axes, which
 * say whether there is an element. They go along as offsets do: every dim has a second stride, in
 * which each axis has a field of its own, and one comparison of all fields tells (sn_bounds).
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
  int64_t dims[SN_MAX_RANK], strides[SN_MAX_RANK], marks[SN_MAX_RANK];
} sn_nest;

/* A field of a mark has a coordinate below SN_MARK_LIMIT, and room for a guard above it. */
enum { SN_MARKS = 3, SN_MARK_BITS = 21, SN_MARK_LIMIT = 1 << 19, SN_MARK_GUARD = 1 << 20 };

/* Field by field: low + mark has its guard bit set unless mark is too small, high - mark unless it
 * is too large. guards 0: there is an element everywhere. */
typedef struct sn_bounds {
  int64_t low, high, guards;
} sn_bounds;

static inline bool sn_inside(const sn_bounds *b, int64_t mark) {
  return ((b->low + mark) & (b->high - mark) & b->guards) == b->guards;
}

/* n positions, stride apart. */
static inline sn_nest sn_nest_line(int64_t n, int64_t stride) {
  return (sn_nest){.rank = 1, .dims = {n}, .strides = {stride}};
}

/* Adds an innermost dim; false if there is no room. */
bool sn_nest_add_marked(sn_nest *nest, int64_t dim, int64_t stride, int64_t mark);

static inline bool sn_nest_add(sn_nest *nest, int64_t dim, int64_t stride) {
  return sn_nest_add_marked(nest, dim, stride, 0);
}

int64_t sn_nest_size(const sn_nest *nest);

/* Cuts a nest's positions, in their order, into axes of the given sizes, whose product is the
 * nest's size and not 0. False if an axis would begin or end inside a dim that it does not divide,
 * or if the axes have more than SN_MAX_RANK dims together. */
bool sn_nest_split(const sn_nest *nest, const int64_t *sizes, int n, sn_nest *axes);

/* Rows of a batch that all meet the same b are rows of one product: from a and b, batches of the
 * same size, that part goes to the rows of a, across. How many times as many rows there are then:
 * 1 if all stays as it is. */
int64_t sn_nest_join_rows(sn_nest *a, sn_nest *b, sn_nest *across);

/* ---- walking --------------------------------------------------------------------------------- */

typedef struct sn_nest_place {
  int64_t digits[SN_MAX_RANK]; /* the position, a digit per dim */
  int64_t offset, mark;
} sn_nest_place;

/* The same walk over dims with any two lists of strides: a nest's, or those of an operand over its space
 * and of what it looks up beside it. */
static inline sn_nest_place sn_strides_seek(const int64_t *dims, const int64_t *strides,
                                            const int64_t *marks, int rank, int64_t position) {
  sn_nest_place at;
  at.offset = at.mark = 0;
  for (int i = rank - 1; i > 0; i--) { /* no division where there is one dim */
    const int64_t dim = dims[i];
    if (((position | dim) >> 32) == 0) { /* this one takes a third of the time */
      at.digits[i] = (uint32_t)position % (uint32_t)dim;
      position = (uint32_t)position / (uint32_t)dim;
    } else {
      at.digits[i] = position % dim;
      position /= dim;
    }
    at.offset += at.digits[i] * strides[i];
    at.mark += at.digits[i] * marks[i];
  }
  at.digits[0] = position;
  at.offset += position * strides[0];
  at.mark += position * marks[0];
  return at;
}

static inline void sn_strides_advance(const int64_t *dims, const int64_t *strides,
                                      const int64_t *marks, int rank, sn_nest_place *at,
                                      int64_t n) {
  int i = rank - 1;
  at->digits[i] += n;
  at->offset += n * strides[i];
  at->mark += n * marks[i];
  for (; i > 0 && at->digits[i] == dims[i]; i--) {
    at->offset += strides[i - 1] - dims[i] * strides[i];
    at->mark += marks[i - 1] - dims[i] * marks[i];
    at->digits[i] = 0;
    at->digits[i - 1]++;
  }
}

static inline sn_nest_place sn_nest_seek(const sn_nest *nest, int64_t position) {
  return sn_strides_seek(nest->dims, nest->strides, nest->marks, nest->rank, position);
}

/* Evenly spaced positions from here on. */
static inline int64_t sn_nest_run(const sn_nest *nest, const sn_nest_place *at) {
  return nest->dims[nest->rank - 1] - at->digits[nest->rank - 1];
}

/* n more positions, at most a run. */
static inline void sn_nest_advance(const sn_nest *nest, sn_nest_place *at, int64_t n) {
  sn_strides_advance(nest->dims, nest->strides, nest->marks, nest->rank, at, n);
}

/* The stride of the innermost dim. */
static inline int64_t sn_nest_stride(const sn_nest *nest) { return nest->strides[nest->rank - 1]; }

#endif
