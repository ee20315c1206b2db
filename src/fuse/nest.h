/* nest.h - how the positions along one axis of a matrix lie in memory: dims in row-major order with
 * a stride each, so that an axis may be made of several axes of a view.
 *
 *   rows of an image's windows, 2 x 3 of them:  dims (2, 3), strides (step * width, step)
 *   position  0  1     2          3             4 ...
 *   offset    0  step  2 * step   step * width  step * width + step
 *
 * Marks. A position of a padded view has coordinates along up to SN_MARKS padded axes, which tell
 * whether there is an element. A mark is these coordinates in one integer, a field per axis. Every
 * dim has a second stride that counts marks, so that a walk updates the mark as it does the offset,
 * and one comparison of all fields tells whether there is an element (sn_bounds).
 *
 * Invariant: nests are merged. A dim of size 1 occurs only alone, and no two neighbouring dims could
 * be walked as one. So a nest has one dim exactly if its positions are evenly spaced, as those of
 * each axis of a plain matrix are. */
#ifndef SN_FUSE_NEST_H
#define SN_FUSE_NEST_H

#include <stdbool.h>
#include <stdint.h>

#include "sinter.h"

typedef struct sn_nest {
  int32_t rank; /* 0 only while it is being built */
  int64_t dims[SN_MAX_RANK], strides[SN_MAX_RANK], marks[SN_MAX_RANK];
} sn_nest;

/* A field of a mark holds a coordinate below SN_MARK_LIMIT, with room for a guard bit above it. */
enum { SN_MARKS = 3, SN_MARK_BITS = 21, SN_MARK_LIMIT = 1 << 19, SN_MARK_GUARD = 1 << 20 };

/* Which marks have an element. Field by field, low + mark has its guard bit set unless the coordinate
 * is too small, and high - mark unless it is too large. guards is 0 if all positions have one. */
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

/* Makes one product of those products of a batch that have the same b: their rows of a are the rows
 * of one larger a. a and b are the batch nests of the two factors, of the same size, and across is
 * the nest of a's rows. The innermost batch dim moves from a and b to across if b has stride 0
 * there. Returns by what factor the rows have grown, 1 if nothing has changed. */
int64_t sn_nest_join_rows(sn_nest *a, sn_nest *b, sn_nest *across);

/* ---- walking --------------------------------------------------------------------------------- */

typedef struct sn_nest_place {
  int64_t digits[SN_MAX_RANK]; /* the position, a digit per dim */
  int64_t offset, mark;
} sn_nest_place;

/* The place of a position among dims with any two lists of strides: a nest's strides and marks, or the
 * strides of an operand and of the indices that it looks up. */
static inline sn_nest_place sn_strides_seek(const int64_t *dims, const int64_t *strides,
                                            const int64_t *marks, int rank, int64_t position) {
  sn_nest_place at;
  at.offset = at.mark = 0;
  for (int i = rank - 1; i > 0; i--) { /* no division where there is one dim */
    const int64_t dim = dims[i];
    if (((position | dim) >> 32) == 0) { /* 32-bit division takes a third of the time */
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

/* How many evenly spaced positions there are from here on: a run. */
static inline int64_t sn_nest_run(const sn_nest *nest, const sn_nest_place *at) {
  return nest->dims[nest->rank - 1] - at->digits[nest->rank - 1];
}

/* Moves on by n positions, at most a run. */
static inline void sn_nest_advance(const sn_nest *nest, sn_nest_place *at, int64_t n) {
  sn_strides_advance(nest->dims, nest->strides, nest->marks, nest->rank, at, n);
}

/* The stride of the innermost dim. */
static inline int64_t sn_nest_stride(const sn_nest *nest) { return nest->strides[nest->rank - 1]; }

#endif
