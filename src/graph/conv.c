#include "graph/conv.h"

#include <string.h>

#include "base/size.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Positions a window spans: (size - 1) dilation + 1; false if they cannot be counted. */
static bool span_of(int64_t size, int64_t dilation, int64_t *out) {
  return size >= 1 && dilation >= 1 && !sn_int_mul_overflows(size - 1, dilation, out) &&
         !sn_int_add_overflows(*out, 1, out);
}

/* The axis' size once it is spread and padded, so that all windows of y lie inside. */
static bool padded_size(const sn_conv_attrs *c, int i, int64_t n, int64_t window, int64_t out,
                        int64_t *size) {
  int64_t span, extent, needed;
  if (out < 0 || c->low[i] < 0 || c->step[i] < 1 || c->spread[i] < 1) return false;
  if (!span_of(window, c->dilation[i], &span) || c->low[i] >= span) return false;
  if (!span_of(n ? n : 1, c->spread[i], &extent)) return false;
  if (!span_of(out ? out : 1, c->step[i], &needed)) return false;
  if (sn_int_add_overflows(n ? extent : 0, c->low[i], &extent)) return false;
  if (sn_int_add_overflows(needed, span - 1, &needed)) return false;
  *size = needed > extent ? needed : extent;
  return true;
}

sn_status sn_conv_infer(sn_env *env, const int64_t *attrs, size_t n_attrs, const sn_type *x,
                        const sn_type *w, sn_type *y) {
  const int axes = x->rank - 2;
  char tx[SN_SHAPE_TEXT], tw[SN_SHAPE_TEXT];
  sn_shape_text(x, tx);
  sn_shape_text(w, tw);
  SN_FAIL_IF(env, axes < 1 || axes > SN_CONV_AXES || w->rank != x->rank, SN_ERR_SHAPE,
             "conv: ranks do not fit: x %s, filter %s", tx, tw);
  SN_CHECK(env, n_attrs == SN_CONV_ATTRS((size_t)axes));
  const sn_conv_attrs c = sn_conv_of(attrs, axes);
  SN_FAIL_IF(env, x->dtype != w->dtype || !sn_dtype_is_float(x->dtype), SN_ERR_DTYPE,
             "conv: needs two floats of one dtype: x %s, filter %s", sn_dtype_name(x->dtype),
             sn_dtype_name(w->dtype));
  SN_CHECK(env, y->rank == x->rank);
  const int64_t in = x->dims[axes + 1], g = c.groups, p = w->dims[axes], q = w->dims[axes + 1];
  int64_t grouped = 0; /* the filter's channels of one group, times groups */
  const bool fits = g >= 1 && !sn_int_mul_overflows(p, g, &grouped) && q % g == 0 &&
                    in == (c.turned ? q : grouped);
  SN_FAIL_IF(env, !fits, SN_ERR_SHAPE, "conv: channels do not fit: x %s, filter %s, %lld groups",
             tx, tw, (long long)g);
  y->dtype = x->dtype;
  y->dims[0] = x->dims[0];
  y->dims[axes + 1] = c.turned ? grouped : q;
  sn_type padded = *x, patches = *y; /* what no size of may overflow */
  patches.dims[axes + 1] = in;
  for (int i = 0; i < axes; i++) {
    SN_FAIL_IF(
        env,
        !padded_size(&c, i, x->dims[i + 1], w->dims[i], y->dims[i + 1], &padded.dims[i + 1]) ||
            sn_int_mul_overflows(patches.dims[axes + 1], w->dims[i], &patches.dims[axes + 1]),
        SN_ERR_SHAPE, "conv: windows do not fit along axis %d: x %s, filter %s", i + 1, tx, tw);
  }
  SN_TRY(sn_type_check(env, &padded, "conv"));
  return sn_type_check(env, &patches, "conv");
}

void sn_conv_reverse(const int64_t *attrs, int axes, const int64_t *window, int64_t *out) {
  const sn_conv_attrs c = sn_conv_of(attrs, axes);
  for (int i = 0; i < axes; i++) {
    out[i] = (window[i] - 1) * c.dilation[i] - c.low[i];
    out[axes + i] = c.spread[i];
    out[2 * axes + i] = c.dilation[i];
    out[3 * axes + i] = c.step[i];
  }
  out[4 * axes] = c.groups;
  out[4 * axes + 1] = !c.turned;
}

/* ---- building -------------------------------------------------------------------------------- */

/* One convolution under way. Names of dims: g groups, n images, o.. positions of windows, k..
 * positions in one, c channels of a group that come in, f that go out. */
typedef struct layer {
  sn_build *b;
  sn_conv_attrs conv;
  int64_t n, g, c, f, windows; /* windows: all o together */
  int64_t out[SN_CONV_AXES], window[SN_CONV_AXES];
  bool depthwise;
} layer;

static layer layer_of(sn_build *b, const int64_t *attrs, const sn_type *x, const int64_t *window,
                      const sn_type *y) {
  const int axes = x->rank - 2;
  layer l = {.b = b, .conv = sn_conv_of(attrs, axes), .n = x->dims[0], .windows = 1};
  l.g = l.conv.groups;
  l.c = x->dims[axes + 1] / l.g;
  l.f = y->dims[axes + 1] / l.g;
  for (int i = 0; i < axes; i++) {
    l.out[i] = y->dims[i + 1];
    l.windows *= l.out[i];
    l.window[i] = window[i];
  }
  l.depthwise = l.g > 1 && l.c == 1 && 2 * axes + 2 + (l.f > 1) <= SN_MAX_RANK;
  return l;
}

static void add_dim(sn_type *type, int64_t dim) { type->dims[type->rank++] = dim; }

static void add_dims(sn_type *type, const int64_t *dims, int n) {
  for (int i = 0; i < n; i++) add_dim(type, dims[i]);
}

/* Moves axis `from` to place `to`, the others in their order. */
static sn_id move_axis(sn_build *b, sn_id x, int from, int to) {
  if (b->status) return SN_NONE;
  int64_t perm[SN_MAX_RANK];
  const int rank = sn_build_type(b, x)->rank;
  for (int i = 0, next = 0; i < rank; i++) {
    if (next == from) next++;
    perm[i] = i == to ? from : next++;
  }
  return sn_build_transpose(b, x, perm);
}

/* Spread and padded along the spatial axes, which begin at `first`. */
static sn_id pad(const layer *l, sn_id x, int first) {
  if (l->b->status) return SN_NONE;
  sn_type type = *sn_build_type(l->b, x);
  int64_t attrs[SN_MAX_ATTRS] = {0};
  for (int i = 0; i < type.rank; i++) attrs[type.rank + i] = 1;
  for (int i = 0; i < l->conv.axes; i++) {
    attrs[first + i] = l->conv.low[i];
    attrs[type.rank + first + i] = l->conv.spread[i];
    if (!padded_size(&l->conv, i, type.dims[first + i], l->window[i], l->out[i],
                     &type.dims[first + i]))
      return SN_NONE; /* sn_conv_infer has seen to it */
  }
  if (sn_same_dims(&type, sn_build_type(l->b, x))) return x;
  attrs[2 * type.rank] = sn_double_attr(0);
  return sn_build_op(l->b, SN_OP_pad, &x, 1, attrs, 2 * (size_t)type.rank + 1, &type);
}

/* (n, spatial.., c) -> (n, o.., k.., c) */
static sn_id cut(const layer *l, sn_id x) {
  const int axes = l->conv.axes;
  for (int i = 0; i < axes; i++)
    x = sn_build_windows(l->b, x, 1 + 2 * i, l->out[i], l->window[i], l->conv.step[i],
                         l->conv.dilation[i]);
  for (int i = 1; i < axes; i++) x = move_axis(l->b, x, 1 + 2 * i, 1 + i);
  return x;
}

/* (g n, o.., k.., c); of a depthwise one (n, o.., k.., g). Groups are taken apart before padding,
 * whose copy puts each group's channels side by side. */
static sn_id patches(const layer *l, sn_id x) {
  if (l->g == 1 || l->depthwise) return cut(l, pad(l, x, 1));
  if (l->b->status) return SN_NONE;
  sn_type split = *sn_build_type(l->b, x);
  split.dims[split.rank - 1] = l->g;
  add_dim(&split, l->c);
  x = pad(l, move_axis(l->b, sn_build_reshape(l->b, x, &split), split.rank - 2, 0), 2);
  if (l->b->status) return SN_NONE;
  sn_type joined = *sn_build_type(l->b, x);
  memmove(joined.dims + 1, joined.dims + 2, sizeof *joined.dims * (SN_MAX_RANK - 2));
  joined.dims[0] = l->g * l->n;
  joined.dims[--joined.rank] = 0;
  return cut(l, sn_build_reshape(l->b, x, &joined));
}

/* (g, k.., c, f) as it is read: turned ones flipped, with c and f exchanged. */
static sn_id grouped_filter(const layer *l, sn_id w) {
  if (l->b->status) return SN_NONE;
  const int axes = l->conv.axes;
  const sn_type type = *sn_build_type(l->b, w);
  if (l->conv.turned) {
    int64_t flip[2 * SN_MAX_RANK] = {0};
    for (int i = 0; i < type.rank; i++) {
      flip[i] = i < axes ? type.dims[i] - 1 : 0;
      flip[type.rank + i] = i < axes && type.dims[i] > 1 ? -1 : 1;
    }
    w = sn_build_op(l->b, SN_OP_slice, &w, 1, flip, 2 * (size_t)type.rank, &type);
  }
  sn_type split = type;
  split.dims[axes + 1] = l->g;
  add_dim(&split, l->conv.turned ? l->c : l->f);
  w = move_axis(l->b, sn_build_reshape(l->b, w, &split), axes + 1, 0);
  return l->conv.turned ? sn_build_swap_last(l->b, w) : w;
}

/* (..., g) -> (..., g, f), each channel once per filter of its group; nothing to do for one. */
static sn_id per_filter(const layer *l, sn_id x) {
  if (l->b->status || l->f == 1) return l->b->status ? SN_NONE : x;
  sn_type type = *sn_build_type(l->b, x);
  add_dim(&type, 1);
  x = sn_build_reshape(l->b, x, &type);
  type.dims[type.rank - 1] = l->f;
  return sn_build_broadcast(l->b, x, &type);
}

static sn_id multiply(const layer *l, sn_id x, sn_id y) {
  if (l->b->status) return SN_NONE;
  const sn_type type = *sn_build_type(l->b, x);
  return sn_build_binary(l->b, SN_OP_mul, x, sn_build_broadcast(l->b, y, &type));
}

static uint64_t axes_mask(int first, int n) { return (((uint64_t)1 << n) - 1) << first; }

/* y = sum over k of patches (n, o.., k.., g, f) times filter (k.., g, f) */
static sn_id depthwise(const layer *l, sn_id x, sn_id w, const sn_type *y) {
  const int axes = l->conv.axes;
  const sn_id p = per_filter(l, patches(l, x));
  sn_type type = {.dtype = y->dtype};
  add_dims(&type, l->window, axes);
  add_dim(&type, l->g);
  if (l->f > 1) add_dim(&type, l->f);
  const sn_id by_window = move_axis(l->b, grouped_filter(l, w), 0, axes);
  const sn_id product = multiply(l, p, sn_build_reshape(l->b, by_window, &type));
  const sn_id sum = sn_build_reduce(l->b, SN_OP_sum, product, axes_mask(1 + axes, axes));
  return sn_build_reshape(l->b, sum, y);
}

sn_id sn_build_conv(sn_build *b, sn_id x, sn_id w, const int64_t *attrs, const sn_type *y) {
  if (b->status) return SN_NONE;
  const sn_type x_type = *sn_build_type(b, x), w_type = *sn_build_type(b, w);
  const layer l = layer_of(b, attrs, &x_type, w_type.dims, y);
  const int axes = l.conv.axes, rows = axes - 1; /* the last o is the product's m */
  if (l.depthwise) return depthwise(&l, x, w, y);
  int64_t depth = l.c;
  for (int i = 0; i < axes; i++) depth *= l.window[i];
  sn_type a = {.dtype = y->dtype}, one = a, many, right = a;
  add_dim(&a, l.g * l.n); /* (g n, o.., k.. c) */
  add_dims(&a, l.out, axes);
  add_dim(&a, depth);
  const sn_id left = sn_build_reshape(b, patches(&l, x), &a);
  add_dim(&one, l.g); /* (g, 1, k.., c, f), then repeated for all n and o.. but the last */
  add_dim(&one, 1);
  add_dims(&one, l.window, axes);
  add_dim(&one, l.c);
  add_dim(&one, l.f);
  many = one;
  many.dims[1] = l.n;
  for (int i = 0; i < rows; i++) many.dims[1] *= l.out[i];
  add_dims(&right, a.dims, 1 + rows); /* (g n, o.., k.. c, f) */
  add_dim(&right, depth);
  add_dim(&right, l.f);
  const sn_id filter = sn_build_reshape(b, grouped_filter(&l, w), &one);
  const sn_id repeated = sn_build_reshape(b, sn_build_broadcast(b, filter, &many), &right);
  const sn_id product = sn_build_matmul(b, left, repeated);
  if (l.g == 1) return product;
  sn_type apart = {.dtype = y->dtype}; /* (g, n, o.., f) */
  add_dim(&apart, l.g);
  add_dim(&apart, l.n);
  add_dims(&apart, l.out, axes);
  add_dim(&apart, l.f);
  const sn_id beside = move_axis(b, sn_build_reshape(b, product, &apart), 0, axes + 1);
  return sn_build_reshape(b, beside, y);
}

/* dw (k.., g, f) = sum over n, o.. of patches (n, o.., k.., g, f) times dy (n, o.., 1.., g, f) */
static sn_id depthwise_filter_grad(const layer *l, sn_id x, sn_id dy, const sn_type *w) {
  const int axes = l->conv.axes;
  const sn_id p = per_filter(l, patches(l, x));
  sn_type type = {.dtype = w->dtype};
  add_dim(&type, l->n);
  add_dims(&type, l->out, axes);
  for (int i = 0; i < axes; i++) add_dim(&type, 1);
  add_dim(&type, l->g);
  if (l->f > 1) add_dim(&type, l->f);
  const sn_id product = multiply(l, p, sn_build_reshape(l->b, dy, &type));
  const sn_id sum = sn_build_reduce(l->b, SN_OP_sum, product, axes_mask(0, 1 + axes));
  return sn_build_reshape(l->b, sum, w);
}

/* dw (g, k.., c, f) = patches (g, k.., c, n o..) times dy (g, n o.., f): a matmul whose m is k and
 * c. */
static sn_id filter_grad(const layer *l, sn_id x, sn_id dy, const sn_type *w) {
  sn_build *b = l->b;
  const int axes = l->conv.axes, lead = l->g > 1;
  if (l->depthwise) return depthwise_filter_grad(l, x, dy, w);
  const int64_t count = l->n * l->windows;
  sn_type a = {.dtype = w->dtype}, by_group = a, one = a, right = a;
  if (lead) add_dim(&a, l->g);
  add_dim(&a, count);
  add_dims(&a, l->window, axes);
  add_dim(&a, l->c);
  const sn_id left = move_axis(b, sn_build_reshape(b, patches(l, x), &a), lead, a.rank - 1);
  add_dim(&by_group, count);
  if (lead) add_dim(&by_group, l->g);
  add_dim(&by_group, l->f);
  sn_id rows = sn_build_reshape(b, dy, &by_group);
  if (lead) rows = move_axis(b, rows, 1, 0);
  if (lead) {
    add_dim(&one, l->g);
    add_dim(&right, l->g);
  }
  for (int i = 0; i < axes; i++) add_dim(&one, 1);
  add_dims(&right, l->window, axes);
  add_dim(&one, count);
  add_dim(&right, count);
  add_dim(&one, l->f);
  add_dim(&right, l->f);
  const sn_id repeated = sn_build_broadcast(b, sn_build_reshape(b, rows, &one), &right);
  const sn_id product = sn_build_matmul(b, left, repeated);
  return lead ? sn_build_reshape(b, move_axis(b, product, 0, axes + 1), w) : product;
}

sn_id sn_build_conv_filter_grad(sn_build *b, sn_id x, sn_id dy, const int64_t *attrs,
                                const sn_type *w) {
  if (b->status) return SN_NONE;
  const sn_type in = *sn_build_type(b, x), out = *sn_build_type(b, dy);
  int64_t back[SN_CONV_ATTRS(SN_CONV_AXES)];
  layer l = layer_of(b, attrs, &in, w->dims, &out);
  if (!l.conv.turned) return filter_grad(&l, x, dy, w);
  /* The turned one is the transpose of a plain one, which takes dy to x. */
  sn_conv_reverse(attrs, l.conv.axes, l.window, back);
  l = layer_of(b, back, &out, w->dims, &in);
  return filter_grad(&l, dy, x, w);
}
