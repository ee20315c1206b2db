#include "build/build_conv.h"

#include <string.h>

#include "graph/conv_shape.h"

/* One convolution: the sizes that make up shapes. */
typedef struct layer {
  sn_build *b;
  sn_conv_attrs conv;
  sn_dtype dtype;
  int64_t n, g, c, f; /* images, groups, and channels in (c) and out (f) per group */
  int64_t out[SN_CONV_AXES], window[SN_CONV_AXES];
  bool depthwise;        /* g channels, each convolved by itself; then c and f are 1 */
  int64_t copies, terms; /* of a depthwise one: see layer_of */
} layer;

/* If groups have one channel on one side, each pair of a channel in and a channel out of a group
 * becomes one depthwise channel: the input's channel is copied `copies` times, or `terms` of the
 * results are added up. So the kernel walks along adjacent channels on both sides, however few a
 * group has. */
static layer layer_of(sn_build *b, const int64_t *attrs, const sn_type *x, const int64_t *window,
                      const sn_type *y) {
  const int axes = x->rank - 2;
  layer l = {.b = b, .conv = sn_conv_of(attrs, axes), .dtype = x->dtype, .n = x->dims[0]};
  l.g = l.conv.groups;
  l.c = x->dims[axes + 1] / l.g;
  l.f = y->dims[axes + 1] / l.g;
  memcpy(l.out, y->dims + 1, sizeof *l.out * (size_t)axes);
  memcpy(l.window, window, sizeof *l.window * (size_t)axes);
  const bool one_to_one = l.conv.transpose_filter ? l.f == 1 : l.c == 1;
  l.depthwise = l.g > 1 && one_to_one && 2 * axes + 2 <= SN_MAX_RANK;
  if (!l.depthwise) return l;
  l.copies = l.f;
  l.terms = l.c;
  l.g *= l.c * l.f;
  l.c = l.f = 1;
  return l;
}

static int64_t product(const int64_t *sizes, int n) {
  int64_t p = 1;
  for (int i = 0; i < n; i++) p *= sizes[i];
  return p;
}

/* Parts of which shapes are written: one size, or one per spatial axis. */
typedef enum part {
  END,
  ONE,
  IMAGES,
  GROUPS,
  CHANNELS,        /* channels in, per group */
  FILTERS,         /* channels out, per group */
  WINDOW,          /* positions in a window, per axis */
  PLACES,          /* windows, which are the result's positions, per axis */
  OUTER_PLACES,    /* PLACES without the last axis */
  ONES,            /* a 1 per axis */
  GROUPED_IMAGES,  /* groups and images merged */
  IMAGES_OUTER,    /* images and OUTER_PLACES merged */
  IMAGES_PLACES,   /* images and PLACES merged */
  WINDOW_CHANNELS, /* a window and its channels merged */
} part;

#define SHAPE(...) ((const part[]){__VA_ARGS__, END})

static void add_dim(sn_type *type, int64_t size) { type->dims[type->rank++] = size; }

static void add_dims(sn_type *type, const int64_t *sizes, int n) {
  for (int i = 0; i < n; i++) add_dim(type, sizes[i]);
}

static void add_part(sn_type *type, const layer *l, part p) {
  const int64_t ones[SN_CONV_AXES] = {1, 1, 1};
  const int axes = l->conv.axes;
  switch (p) {
  case END: break;
  case ONE: add_dim(type, 1); break;
  case IMAGES: add_dim(type, l->n); break;
  case GROUPS: add_dim(type, l->g); break;
  case CHANNELS: add_dim(type, l->c); break;
  case FILTERS: add_dim(type, l->f); break;
  case WINDOW: add_dims(type, l->window, axes); break;
  case PLACES: add_dims(type, l->out, axes); break;
  case OUTER_PLACES: add_dims(type, l->out, axes - 1); break;
  case ONES: add_dims(type, ones, axes); break;
  case GROUPED_IMAGES: add_dim(type, l->g * l->n); break;
  case IMAGES_OUTER: add_dim(type, l->n * product(l->out, axes - 1)); break;
  case IMAGES_PLACES: add_dim(type, l->n * product(l->out, axes)); break;
  case WINDOW_CHANNELS: add_dim(type, l->c * product(l->window, axes)); break;
  }
}

static sn_type shape(const layer *l, const part *parts) {
  sn_type type = {.dtype = l->dtype};
  while (*parts) add_part(&type, l, *parts++);
  return type;
}

static sn_id reshape(const layer *l, sn_id x, const part *parts) {
  const sn_type type = shape(l, parts);
  return sn_build_reshape(l->b, x, &type);
}

static sn_id repeat(const layer *l, sn_id x, const part *parts) {
  const sn_type type = shape(l, parts);
  return sn_build_broadcast(l->b, x, &type);
}

static sn_id move_axis(const layer *l, sn_id x, int from, int to) {
  if (l->b->status) return SN_NONE;
  int64_t perm[SN_MAX_RANK];
  sn_move_axis(sn_build_type(l->b, x)->rank, from, to, perm);
  return sn_build_transpose(l->b, x, perm);
}

/* x spread and padded along the spatial axes, the first of which is axis `first`. */
static sn_id pad(const layer *l, sn_id x, int first) {
  if (l->b->status) return SN_NONE;
  sn_type type = *sn_build_type(l->b, x);
  int64_t attrs[SN_MAX_ATTRS] = {0};
  for (int i = 0; i < type.rank; i++) attrs[type.rank + i] = 1;
  for (int i = 0; i < l->conv.axes; i++) {
    int64_t *dim = &type.dims[first + i];
    attrs[first + i] = l->conv.low[i];
    attrs[type.rank + first + i] = l->conv.spread[i];
    /* cannot fail: sn_conv_infer has checked it */
    sn_conv_padded_size(&l->conv, i, *dim, l->window[i], l->out[i], dim);
  }
  if (sn_same_dims(&type, sn_build_type(l->b, x))) return x;
  return sn_build_op(l->b, SN_OP_pad, &x, 1, attrs, 2 * (size_t)type.rank + 1, &type);
}

/* x with `copies` adjacent copies of each channel. */
static sn_id copy_channels(const layer *l, sn_id x) {
  if (l->b->status || l->copies == 1) return x;
  sn_type type = *sn_build_type(l->b, x), joined = type;
  type.dims[type.rank++] = 1;
  x = sn_build_reshape(l->b, x, &type);
  type.dims[type.rank - 1] = l->copies;
  joined.dims[joined.rank - 1] = l->g;
  return sn_build_reshape(l->b, sn_build_broadcast(l->b, x, &type), &joined);
}

/* All windows: (g n, o.., k.., c), of a depthwise convolution (n, o.., k.., g). Groups are split
 * before padding, because the pad's copy makes each group's channels contiguous. */
static sn_id patches(const layer *l, sn_id x) {
  const int axes = l->conv.axes;
  if (l->b->status) return SN_NONE;
  if (l->depthwise) {
    x = copy_channels(l, pad(l, x, 1));
  } else if (l->g == 1) {
    x = pad(l, x, 1);
  } else {
    sn_type split = *sn_build_type(l->b, x), joined;
    split.dims[split.rank - 1] = l->g;
    split.dims[split.rank++] = l->c;
    x = pad(l, move_axis(l, sn_build_reshape(l->b, x, &split), axes + 1, 0), 2);
    if (l->b->status) return SN_NONE;
    joined = *sn_build_type(l->b, x);
    joined.rank--;
    joined.dims[0] = l->g * l->n;
    memmove(joined.dims + 1, joined.dims + 2, sizeof *joined.dims * (SN_MAX_RANK - 2));
    x = sn_build_reshape(l->b, x, &joined);
  }
  for (int i = 0; i < axes; i++)
    x = sn_build_windows(l->b, x, 1 + 2 * i, l->out[i], l->window[i], l->conv.step[i],
                         l->conv.dilation[i]);
  for (int i = 1; i < axes; i++) x = move_axis(l, x, 1 + 2 * i, 1 + i);
  return x;
}

/* The filter as (g, k.., c, f): a transposed one is flipped, with c and f exchanged. */
static sn_id grouped_filter(const layer *l, sn_id w) {
  if (l->b->status) return SN_NONE;
  const int axes = l->conv.axes;
  const sn_type type = *sn_build_type(l->b, w);
  if (!l->conv.transpose_filter)
    return move_axis(l, reshape(l, w, SHAPE(WINDOW, CHANNELS, GROUPS, FILTERS)), axes + 1, 0);
  int64_t flip[2 * SN_MAX_RANK] = {0};
  for (int i = 0; i < type.rank; i++) {
    flip[i] = i < axes ? type.dims[i] - 1 : 0;
    flip[type.rank + i] = i < axes && type.dims[i] > 1 ? -1 : 1;
  }
  w = sn_build_op(l->b, SN_OP_slice, &w, 1, flip, 2 * (size_t)type.rank, &type);
  w = reshape(l, w, SHAPE(WINDOW, FILTERS, GROUPS, CHANNELS));
  return sn_build_swap_last(l->b, move_axis(l, w, axes + 1, 0));
}

/* patches(x) times y, which is reshaped to `parts` and broadcast, summed over n axes from `first` on. */
static sn_id sum_products(const layer *l, sn_id x, sn_id y, const part *parts, int first, int n) {
  y = repeat(l, reshape(l, y, parts), SHAPE(IMAGES, PLACES, WINDOW, GROUPS));
  const sn_id products = sn_build_binary(l->b, SN_OP_mul, patches(l, x), y);
  return sn_build_reduce(l->b, SN_OP_sum, products, (((uint64_t)1 << n) - 1) << first);
}

/* Sums each `terms` adjacent channels to one, of type y in all. Up to `few` terms are strided slices
 * that are added one by one. */
static sn_id add_terms(const layer *l, sn_id x, const sn_type *y, int64_t few) {
  sn_type split = *y;
  if (l->terms == 0) return sn_build_full(l->b, y, 0);
  x = reshape(l, x, SHAPE(IMAGES, PLACES, GROUPS));
  if (l->terms == 1) return sn_build_reshape(l->b, x, y);
  if (l->terms > few) {
    split.dims[split.rank++] = l->terms;
    x = sn_build_reshape(l->b, x, &split);
    return sn_build_reduce(l->b, SN_OP_sum, x, (uint64_t)1 << (split.rank - 1));
  }
  sn_id sum = SN_NONE;
  for (int64_t i = 0; i < l->terms; i++) {
    const sn_id term = sn_build_part(l->b, SN_OP_slice, x, split.rank - 1, i, l->terms, y);
    sum = i ? sn_build_binary(l->b, SN_OP_add, sum, term) : term;
  }
  return sum;
}

sn_id sn_build_conv(sn_build *b, sn_id x, sn_id w, const int64_t *attrs, const sn_type *y,
                    int64_t few) {
  if (b->status) return SN_NONE;
  const sn_type x_type = *sn_build_type(b, x), w_type = *sn_build_type(b, w);
  const layer l = layer_of(b, attrs, &x_type, w_type.dims, y);
  const int axes = l.conv.axes;
  sn_id filter = grouped_filter(&l, w);
  if (l.depthwise) {
    filter = move_axis(&l, filter, 0, axes);
    const sn_id products = sum_products(&l, x, filter, SHAPE(WINDOW, GROUPS), 1 + axes, axes);
    return add_terms(&l, products, y, few);
  }
  /* The last axis of PLACES is the product's m. The other axes form the batch, over which the filter
   * is broadcast. */
  filter = reshape(&l, filter, SHAPE(GROUPS, ONE, WINDOW, CHANNELS, FILTERS));
  filter = repeat(&l, filter, SHAPE(GROUPS, IMAGES_OUTER, WINDOW, CHANNELS, FILTERS));
  filter = reshape(&l, filter, SHAPE(GROUPED_IMAGES, OUTER_PLACES, WINDOW_CHANNELS, FILTERS));
  x = reshape(&l, patches(&l, x), SHAPE(GROUPED_IMAGES, PLACES, WINDOW_CHANNELS));
  sn_id result = sn_build_matmul(b, x, filter);
  if (l.g == 1) return result;
  result = reshape(&l, result, SHAPE(GROUPS, IMAGES, PLACES, FILTERS));
  return sn_build_reshape(b, move_axis(&l, result, 0, axes + 1), y);
}

/* dw (g, k.., c, f) = patches (g, k.., c, N) times dy (g, N, f), N images and places: a matmul whose m
 * is c. With a single group there is no axis g. */
static sn_id filter_grad(const layer *l, sn_id x, sn_id dy, const sn_type *w) {
  const int axes = l->conv.axes;
  if (l->depthwise) {
    const sn_id sums = sum_products(l, x, dy, SHAPE(IMAGES, PLACES, ONES, GROUPS), 0, 1 + axes);
    return sn_build_reshape(l->b, sums, w);
  }
  x = patches(l, x);
  if (l->g == 1) {
    x = move_axis(l, reshape(l, x, SHAPE(IMAGES_PLACES, WINDOW, CHANNELS)), 0, axes + 1);
    dy = reshape(l, dy, SHAPE(IMAGES_PLACES, FILTERS));
    dy = reshape(l, dy, SHAPE(ONES, IMAGES_PLACES, FILTERS));
    dy = repeat(l, dy, SHAPE(WINDOW, IMAGES_PLACES, FILTERS));
    return sn_build_matmul(l->b, x, dy);
  }
  x = move_axis(l, reshape(l, x, SHAPE(GROUPS, IMAGES_PLACES, WINDOW, CHANNELS)), 1, axes + 2);
  dy = move_axis(l, reshape(l, dy, SHAPE(IMAGES_PLACES, GROUPS, FILTERS)), 1, 0);
  dy = reshape(l, dy, SHAPE(GROUPS, ONES, IMAGES_PLACES, FILTERS));
  dy = repeat(l, dy, SHAPE(GROUPS, WINDOW, IMAGES_PLACES, FILTERS));
  return sn_build_reshape(l->b, move_axis(l, sn_build_matmul(l->b, x, dy), 0, axes + 1), w);
}

sn_id sn_build_conv_filter_grad(sn_build *b, sn_id x, sn_id dy, const int64_t *attrs,
                                const sn_type *w) {
  if (b->status) return SN_NONE;
  const sn_type in = *sn_build_type(b, x), out = *sn_build_type(b, dy);
  int64_t back[SN_CONV_ATTRS(SN_CONV_AXES)];
  layer l = layer_of(b, attrs, &in, w->dims, &out);
  if (!l.conv.transpose_filter) return filter_grad(&l, x, dy, w);
  /* A convolution with a transposed filter is the transpose of a plain one, which maps dy to x. */
  sn_conv_reverse(attrs, l.conv.axes, l.window, back);
  l = layer_of(b, back, &out, w->dims, &in);
  return filter_grad(&l, dy, x, w);
}
