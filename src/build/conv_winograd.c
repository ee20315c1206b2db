#include "build/conv_winograd.h"

#include <string.h>

#include "graph/conv_shape.h"

enum { WINDOW = 3, TILE = 4, RESULTS = 2, PLACES = TILE * TILE };

typedef struct layer {
  sn_build *b;
  sn_conv_attrs conv;
  const sn_type *y;
  int64_t channels, filters;
  int64_t tiles[2]; /* along each axis */
} layer;

/* Makes y, a row or column of a tile's transform, from x. Their lengths depend on the function. */
typedef void transform_fn(sn_build *b, const sn_id *x, sn_id *y);

static sn_id plus(sn_build *b, sn_id x, sn_id y) { return sn_build_binary(b, SN_OP_add, x, y); }
static sn_id minus(sn_build *b, sn_id x, sn_id y) { return sn_build_binary(b, SN_OP_sub, x, y); }
static sn_id half(sn_build *b, sn_id x) {
  return sn_build_binary(b, SN_OP_mul, x, sn_build_like(b, x, 0.5));
}

static void transform_input(sn_build *b, const sn_id *d, sn_id *v) {
  v[0] = minus(b, d[0], d[2]);
  v[1] = plus(b, d[1], d[2]);
  v[2] = minus(b, d[2], d[1]);
  v[3] = minus(b, d[1], d[3]);
}

static void transform_filter(sn_build *b, const sn_id *g, sn_id *u) {
  const sn_id outer = half(b, plus(b, g[0], g[2])), inner = half(b, g[1]);
  u[0] = g[0];
  u[1] = plus(b, outer, inner);
  u[2] = minus(b, outer, inner);
  u[3] = g[2];
}

static void transform_output(sn_build *b, const sn_id *m, sn_id *y) {
  y[0] = plus(b, plus(b, m[0], m[1]), m[2]);
  y[1] = minus(b, minus(b, m[1], m[2]), m[3]);
}

/* Applies a transform along columns, then along rows: x is n x n nodes, y is m x m. */
static void transform(sn_build *b, transform_fn *along, const sn_id *x, int n, sn_id *y, int m) {
  sn_id columns[PLACES], line[TILE], made[TILE];
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) line[i] = x[i * n + j];
    along(b, line, made);
    for (int i = 0; i < m; i++) columns[i * n + j] = made[i];
  }
  for (int i = 0; i < m; i++) along(b, columns + i * n, y + i * m);
}

static sn_id padded(const layer *l, sn_id x) {
  if (l->b->status) return SN_NONE;
  sn_type type = *sn_build_type(l->b, x);
  int64_t attrs[SN_MAX_ATTRS] = {0};
  for (int i = 0; i < type.rank; i++) attrs[type.rank + i] = 1;
  for (int i = 0; i < 2; i++) {
    const int64_t needed = RESULTS * (l->tiles[i] + 1), size = type.dims[1 + i] + l->conv.low[i];
    attrs[1 + i] = l->conv.low[i];
    type.dims[1 + i] = size > needed ? size : needed;
  }
  if (sn_same_dims(&type, sn_build_type(l->b, x))) return x;
  return sn_build_op(l->b, SN_OP_pad, &x, 1, attrs, 2 * (size_t)type.rank + 1, &type);
}

/* Element i, j of each tile, for all tiles: (n, tiles.., c). */
static sn_id of_tiles(const layer *l, sn_id x, int i, int j) {
  const int64_t attrs[] = {0, i, j, 0, 1, RESULTS, RESULTS, 1};
  sn_type type = *l->y;
  memcpy(type.dims + 1, l->tiles, sizeof l->tiles);
  type.dims[3] = l->channels;
  return sn_build_op(l->b, SN_OP_slice, &x, 1, attrs, 8, &type);
}

/* Tap i, j of the filter as the convolution uses it: a matrix (c, f), or (f, c) if transposed. */
static sn_id tap(const layer *l, sn_id w, int i, int j) {
  if (l->b->status) return SN_NONE;
  const bool flips = l->conv.transpose_filter;
  const int64_t attrs[] = {
      flips ? WINDOW - 1 - i : i, flips ? WINDOW - 1 - j : j, 0, 0, 1, 1, 1, 1};
  sn_type type = *sn_build_type(l->b, w), matrix = type;
  type.dims[0] = type.dims[1] = 1;
  matrix.rank = 2;
  memcpy(matrix.dims, type.dims + 2, 2 * sizeof *type.dims);
  return sn_build_reshape(l->b, sn_build_op(l->b, SN_OP_slice, &w, 1, attrs, 8, &type), &matrix);
}

/* The product for one element of all tiles: (n, tiles.., f). */
static sn_id multiply(const layer *l, sn_id v, sn_id u) {
  sn_type rows = {.dtype = l->y->dtype, .rank = 2}, type = *l->y;
  rows.dims[0] = l->y->dims[0] * l->tiles[0] * l->tiles[1];
  rows.dims[1] = l->channels;
  memcpy(type.dims + 1, l->tiles, sizeof l->tiles);
  v = sn_build_reshape(l->b, v, &rows);
  if (l->conv.transpose_filter) u = sn_build_swap_last(l->b, u);
  return sn_build_reshape(l->b, sn_build_matmul(l->b, v, u), &type);
}

static sn_id make(const layer *l, sn_id x, sn_id w) {
  sn_id d[PLACES], g[WINDOW * WINDOW], v[PLACES], u[PLACES], y[RESULTS * RESULTS], lines[RESULTS];
  x = padded(l, x);
  for (int k = 0; k < PLACES; k++) d[k] = of_tiles(l, x, k / TILE, k % TILE);
  for (int k = 0; k < WINDOW * WINDOW; k++) g[k] = tap(l, w, k / WINDOW, k % WINDOW);
  transform(l->b, transform_input, d, TILE, v, TILE);
  transform(l->b, transform_filter, g, WINDOW, u, TILE);
  for (int k = 0; k < PLACES; k++) v[k] = multiply(l, v[k], u[k]);
  transform(l->b, transform_output, v, TILE, y, RESULTS);
  for (int i = 0; i < RESULTS; i++)
    lines[i] = sn_build_interleave(l->b, y + i * RESULTS, RESULTS, 2, l->y->dims[2]);
  return sn_build_interleave(l->b, lines, RESULTS, 1, l->y->dims[1]);
}

static layer layer_of(const int64_t *attrs, const sn_type *w, const sn_type *y) {
  layer l = {.conv = sn_conv_of(attrs, 2), .y = y, .filters = y->dims[3]};
  l.channels = w->dims[l.conv.transpose_filter ? 3 : 2];
  for (int i = 0; i < 2; i++) l.tiles[i] = (y->dims[1 + i] + RESULTS - 1) / RESULTS;
  return l;
}

bool sn_conv_is_winograd(const int64_t *attrs, const sn_type *w, const sn_type *y,
                         sn_conv_winograd_work *out) {
  if (y->rank != 4 || y->dtype != SN_F32 || sn_type_size(y) == 0) return false;
  const layer l = layer_of(attrs, w, y);
  bool is = l.conv.groups == 1;
  for (int i = 0; i < 2; i++)
    is = is && w->dims[i] == WINDOW && l.conv.step[i] == 1 && l.conv.dilation[i] == 1 &&
         l.conv.spread[i] == 1;
  const double c = (double)l.channels, f = (double)l.filters, n = (double)y->dims[0];
  const double results = n * (double)y->dims[1] * (double)y->dims[2];
  const double tiles = n * (double)l.tiles[0] * (double)l.tiles[1];
  /* V and M are moved, and y twice: it is interleaved along two axes */
  out->moved = tiles * (PLACES * c + (PLACES + 2 * RESULTS * RESULTS) * f);
  out->spared = (WINDOW * WINDOW * results - PLACES * tiles) * c * f;
  out->products = PLACES;
  return is;
}

sn_id sn_build_conv_winograd(sn_build *b, sn_id x, sn_id w, const int64_t *attrs,
                             const sn_type *y) {
  if (b->status) return SN_NONE;
  layer l = layer_of(attrs, sn_build_type(b, w), y);
  l.b = b;
  return make(&l, x, w);
}
