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

/* Callers with words for users have looked first (tensor/conv.c). */
sn_status sn_conv_infer(sn_env *env, const int64_t *attrs, size_t n_attrs, const sn_type *x,
                        const sn_type *w, sn_type *y) {
  const int axes = x->rank - 2;
  SN_CHECK(env, axes >= 1 && axes <= SN_CONV_AXES && w->rank == x->rank && y->rank == x->rank &&
                    n_attrs == SN_CONV_ATTRS((size_t)axes) && x->dtype == w->dtype &&
                    x->dtype != SN_BOOL);
  const sn_conv_attrs c = sn_conv_of(attrs, axes);
  const int64_t in = x->dims[axes + 1], q = w->dims[axes + 1];
  int64_t grouped = 0; /* the filter's channels of one group, times groups */
  int64_t depth = in;  /* elements of a window, all channels */
  bool fits = c.groups >= 1 && !sn_int_mul_overflows(w->dims[axes], c.groups, &grouped) &&
              q % c.groups == 0 && in == (c.turned ? q : grouped);
  sn_type padded = *x;
  for (int i = 0; i < axes; i++)
    fits =
        fits && padded_size(&c, i, x->dims[i + 1], w->dims[i], y->dims[i + 1], &padded.dims[i + 1]);
  SN_CHECK(env, fits);
  y->dtype = x->dtype;
  y->dims[0] = x->dims[0];
  sn_type patches = *y; /* as little as padded may its size overflow */
  y->dims[axes + 1] = c.turned ? grouped : q;
  for (int i = 0; i < axes; i++)
    SN_FAIL_IF(env, sn_int_mul_overflows(depth, w->dims[i], &depth), SN_ERR_MEMORY,
               "conv: the windows are too large");
  patches.dims[axes + 1] = depth;
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

/* One convolution under way: the sizes that shapes are made of. */
typedef struct layer {
  sn_build *b;
  sn_conv_attrs conv;
  sn_dtype dtype;
  int64_t n, g, c, f; /* images, groups, and of a group the channels that come in and go out */
  int64_t out[SN_CONV_AXES], window[SN_CONV_AXES];
  bool depthwise;        /* of g channels, each by itself; then c and f are 1 */
  int64_t copies, terms; /* of a depthwise one: see layer_of */
} layer;

/* A group with one channel on one side makes one depthwise channel of each pair of them: its
 * input's channel is there `copies` times, or `terms` of the results are added. So products are
 * walked along channels that lie side by side on both sides, however few a group has. */
static layer layer_of(sn_build *b, const int64_t *attrs, const sn_type *x, const int64_t *window,
                      const sn_type *y) {
  const int axes = x->rank - 2;
  layer l = {.b = b, .conv = sn_conv_of(attrs, axes), .dtype = x->dtype, .n = x->dims[0]};
  l.g = l.conv.groups;
  l.c = x->dims[axes + 1] / l.g;
  l.f = y->dims[axes + 1] / l.g;
  memcpy(l.out, y->dims + 1, sizeof *l.out * (size_t)axes);
  memcpy(l.window, window, sizeof *l.window * (size_t)axes);
  const bool one_to_one = l.conv.turned ? l.f == 1 : l.c == 1;
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

/* A shape, a letter per dim or per kind of dims:
 *   n g c f   as in the layer             1   a single one
 *   o   positions of windows, per axis    p   all of them but the last
 *   k   positions in a window, per axis   i   a 1 per axis
 * and several as one: G g n, P n p.., N n o.., K k.. c */
static sn_type shape(const layer *l, const char *letters) {
  const int axes = l->conv.axes;
  sn_type type = {.dtype = l->dtype};
  for (; *letters; letters++) {
    int64_t dim = 1, ones[SN_CONV_AXES] = {1, 1, 1};
    const int64_t *dims = &dim;
    int n = 1;
    switch (*letters) {
    case 'n': dim = l->n; break;
    case 'g': dim = l->g; break;
    case 'c': dim = l->c; break;
    case 'f': dim = l->f; break;
    case 'G': dim = l->g * l->n; break;
    case 'P': dim = l->n * product(l->out, axes - 1); break;
    case 'N': dim = l->n * product(l->out, axes); break;
    case 'K': dim = l->c * product(l->window, axes); break;
    case 'o': dims = l->out, n = axes; break;
    case 'p': dims = l->out, n = axes - 1; break;
    case 'k': dims = l->window, n = axes; break;
    case 'i': dims = ones, n = axes; break;
    }
    memcpy(type.dims + type.rank, dims, sizeof *dims * (size_t)n);
    type.rank += n;
  }
  return type;
}

static sn_id reshape(const layer *l, sn_id x, const char *letters) {
  const sn_type type = shape(l, letters);
  return sn_build_reshape(l->b, x, &type);
}

static sn_id repeat(const layer *l, sn_id x, const char *letters) {
  const sn_type type = shape(l, letters);
  return sn_build_broadcast(l->b, x, &type);
}

static sn_id move_axis(const layer *l, sn_id x, int from, int to) {
  if (l->b->status) return SN_NONE;
  int64_t perm[SN_MAX_RANK];
  sn_move_axis(sn_build_type(l->b, x)->rank, from, to, perm);
  return sn_build_transpose(l->b, x, perm);
}

/* Spread and padded along the spatial axes, which begin at `first`. */
static sn_id pad(const layer *l, sn_id x, int first) {
  if (l->b->status) return SN_NONE;
  sn_type type = *sn_build_type(l->b, x);
  int64_t attrs[SN_MAX_ATTRS] = {0};
  for (int i = 0; i < type.rank; i++) attrs[type.rank + i] = 1;
  for (int i = 0; i < l->conv.axes; i++) {
    int64_t *dim = &type.dims[first + i];
    attrs[first + i] = l->conv.low[i];
    attrs[type.rank + first + i] = l->conv.spread[i];
    padded_size(&l->conv, i, *dim, l->window[i], l->out[i], dim); /* sn_conv_infer saw that it is */
  }
  if (sn_same_dims(&type, sn_build_type(l->b, x))) return x;
  return sn_build_op(l->b, SN_OP_pad, &x, 1, attrs, 2 * (size_t)type.rank + 1, &type);
}

/* Each channel as often as it is wanted, one copy beside the other. */
static sn_id copy_channels(const layer *l, sn_id x) {
  if (l->b->status || l->copies == 1) return x;
  sn_type type = *sn_build_type(l->b, x), joined = type;
  type.dims[type.rank++] = 1;
  x = sn_build_reshape(l->b, x, &type);
  type.dims[type.rank - 1] = l->copies;
  joined.dims[joined.rank - 1] = l->g;
  return sn_build_reshape(l->b, sn_build_broadcast(l->b, x, &type), &joined);
}

/* What all windows read: (g n, o.., k.., c), of a depthwise one (n, o.., k.., g). Groups are taken
 * apart before padding, whose copy puts each group's channels side by side. */
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

/* (g, k.., c, f) as it is read: turned ones flipped, with c and f exchanged. */
static sn_id grouped_filter(const layer *l, sn_id w) {
  if (l->b->status) return SN_NONE;
  const int axes = l->conv.axes;
  const sn_type type = *sn_build_type(l->b, w);
  if (!l->conv.turned) return move_axis(l, reshape(l, w, "kcgf"), axes + 1, 0);
  int64_t flip[2 * SN_MAX_RANK] = {0};
  for (int i = 0; i < type.rank; i++) {
    flip[i] = i < axes ? type.dims[i] - 1 : 0;
    flip[type.rank + i] = i < axes && type.dims[i] > 1 ? -1 : 1;
  }
  w = sn_build_op(l->b, SN_OP_slice, &w, 1, flip, 2 * (size_t)type.rank, &type);
  return sn_build_swap_last(l->b, move_axis(l, reshape(l, w, "kfgc"), axes + 1, 0));
}

/* Sums of patches times what is left after repeating y (of the given shape), over n axes. */
static sn_id sum_products(const layer *l, sn_id x, sn_id y, const char *letters, int first, int n) {
  y = repeat(l, reshape(l, y, letters), "nokg");
  const sn_id products = sn_build_binary(l->b, SN_OP_mul, patches(l, x), y);
  return sn_build_reduce(l->b, SN_OP_sum, products, (((uint64_t)1 << n) - 1) << first);
}

/* Of channels that are terms of one, the sums. Few terms are added as what they are, each with its
 * own stride: a reduction would begin and end for every few elements. */
static sn_id add_terms(const layer *l, sn_id x, const sn_type *y) {
  enum { FEW = 8 };
  sn_type split = *y;
  x = reshape(l, x, "nog");
  if (l->terms == 1) return sn_build_reshape(l->b, x, y);
  if (l->terms > FEW) {
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

sn_id sn_build_conv(sn_build *b, sn_id x, sn_id w, const int64_t *attrs, const sn_type *y) {
  if (b->status) return SN_NONE;
  const sn_type x_type = *sn_build_type(b, x), w_type = *sn_build_type(b, w);
  const layer l = layer_of(b, attrs, &x_type, w_type.dims, y);
  const int axes = l.conv.axes;
  sn_id filter = grouped_filter(&l, w);
  if (l.depthwise) {
    filter = move_axis(&l, filter, 0, axes);
    return add_terms(&l, sum_products(&l, x, filter, "kg", 1 + axes, axes), y);
  }
  /* The last o is the product's m; its other axes are one batch, in which the filter repeats. */
  filter = reshape(&l, repeat(&l, reshape(&l, filter, "g1kcf"), "gPkcf"), "GpKf");
  const sn_id result = sn_build_matmul(b, reshape(&l, patches(&l, x), "GoK"), filter);
  if (l.g == 1) return result;
  return sn_build_reshape(b, move_axis(&l, reshape(&l, result, "gnof"), 0, axes + 1), y);
}

/* dw (g, k.., c, f) = patches (g, k.., c, N) times dy (g, N, f): a matmul whose m is c. */
static sn_id filter_grad(const layer *l, sn_id x, sn_id dy, const sn_type *w) {
  const int axes = l->conv.axes, lead = l->g > 1;
  if (l->depthwise) {
    const sn_id sums = sum_products(l, x, dy, "noig", 0, 1 + axes);
    return sn_build_reshape(l->b, sums, w);
  }
  x = move_axis(l, reshape(l, patches(l, x), &"gNkc"[!lead]), lead, lead + axes + 1);
  dy = reshape(l, dy, lead ? "Ngf" : "Nf");
  if (lead) dy = move_axis(l, dy, 1, 0);
  dy = repeat(l, reshape(l, dy, &"giNf"[!lead]), &"gkNf"[!lead]);
  const sn_id dw = sn_build_matmul(l->b, x, dy);
  return lead ? sn_build_reshape(l->b, move_axis(l, dw, 0, axes + 1), w) : dw;
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
