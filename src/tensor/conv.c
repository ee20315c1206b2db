/* conv.c - convolution and pooling: checks arguments and makes padding explicit. A convolution becomes one
 * node (graph/conv_shape.h), a pool a reduction of windows. */
#include <math.h>
#include <string.h>

#include "base/format.h"
#include "base/size.h"
#include "graph/conv_shape.h"
#include "tensor/compose.h"

enum { MOST = SN_CONV_AXES };

/* One call: x with its `axes` spatial axes, which begin at axis `first`, and a filter or a pool's window. */
typedef struct layer {
  sn_context *ctx;
  char name[24];
  int axes, first;
  const sn_type *x;
  sn_type window; /* type of the filter, or sizes of the pool's window */
  const char *kind;
  sn_window_options options;
  /* low: padding in front that the node does itself; out: positions of the result */
  int64_t size[MOST], stride[MOST], dilation[MOST], low[MOST], out[MOST];
  int64_t beyond[MOST]; /* further padding in front: no window that has an element of x reaches it */
  int64_t groups;
  bool padded;
} layer;

/* The text of one number per axis; 0 if none are given. */
static const char *numbers_text(const layer *l, const int64_t *numbers, char *buffer) {
  sn_type type = {.rank = l->axes};
  if (numbers) memcpy(type.dims, numbers, sizeof *numbers * (size_t)l->axes);
  return sn_shape_text(&type, buffer);
}

/* Every error names all shapes and options of the call. */
static sn_status fail(const layer *l, const char *why) {
  char x[SN_SHAPE_TEXT], s[SN_SHAPE_TEXT], d[SN_SHAPE_TEXT], a[SN_SHAPE_TEXT];
  char padding[2 * SN_SHAPE_TEXT], groups[32] = "";
  sn_format(padding, sizeof padding, "%s",
            l->options.padding == SN_PADDING_SAME ? "same" : "valid");
  if (l->options.padding == SN_PADDING_EXPLICIT)
    sn_format(padding, sizeof padding, "%s and %s", numbers_text(l, l->options.before, x),
              numbers_text(l, l->options.after, a));
  if (l->window.rank > l->axes) /* a filter */
    sn_format(groups, sizeof groups, ", groups %lld", (long long)l->groups);
  return SN_FAIL(&l->ctx->env, SN_ERR_SHAPE, l->name,
                 "%s: x %*p, %s %*p, strides %s, dilation %s, padding %s%s", why, l->x->rank,
                 l->x->dims, l->kind, l->window.rank, l->window.dims, numbers_text(l, l->stride, s),
                 numbers_text(l, l->dilation, d), padding, groups);
}

static sn_status refuse_if(const layer *l, bool condition, const char *why) {
  return condition ? fail(l, why) : SN_OK;
}

static sn_status begin(layer *l, sn_tensor *x, const char *name, int axes,
                       const sn_window_options *options) {
  l->ctx = x->ctx;
  l->x = &x->type;
  l->axes = axes;
  sn_format(l->name, sizeof l->name, "%s%dd", name, axes);
  SN_FAIL_IF(&x->ctx->env, axes < 1 || axes > MOST, SN_ERR_ARGUMENT, l->name,
             "spatial axes must be 1 to %d", MOST);
  if (options) l->options = *options;
  l->first = l->options.channels_first ? 2 : 1;
  l->groups = l->options.groups ? l->options.groups : 1;
  for (int i = 0; i < axes; i++) {
    l->dilation[i] = l->options.dilation ? l->options.dilation[i] : 1;
    l->stride[i] = l->options.strides ? l->options.strides[i] : 1;
  }
  return SN_OK;
}

/* *span is the number of positions that the window spans along axis i. */
static sn_status span_of(const layer *l, int i, int64_t *span) {
  SN_TRY(refuse_if(l, l->stride[i] < 1, "strides must be 1 or more"));
  SN_TRY(refuse_if(l, l->dilation[i] < 1, "dilation must be 1 or more"));
  SN_TRY(refuse_if(l, l->size[i] < 1, "the window has no elements"));
  SN_TRY(refuse_if(
      l, sn_int_mul_overflows(l->size[i] - 1, l->dilation[i], span) || *span > INT64_MAX / 4,
      "the window is too large"));
  ++*span;
  return SN_OK;
}

static sn_status explicit_padding(const layer *l, int i, int64_t *before, int64_t *after) {
  int64_t both;
  *before = l->options.before ? l->options.before[i] : 0;
  *after = l->options.after ? l->options.after[i] : 0;
  SN_TRY(refuse_if(l, *before < 0 || *after < 0, "padding is negative"));
  SN_TRY(refuse_if(l, sn_int_add_overflows(*before, *after, &both), "the result is too large"));
  return SN_OK;
}

/* Splits padding in front: the node's own padding has to be smaller than a window; the rest goes to beyond. */
static void set_low(layer *l, int i, int64_t low, int64_t span) {
  l->beyond[i] = low > span - 1 ? low - (span - 1) : 0;
  l->low[i] = low - l->beyond[i];
}

/* Finds where windows begin along axis i (low, beyond), and how many there are (out). */
static sn_status place(layer *l, int i) {
  const int64_t n = l->x->dims[l->first + i];
  int64_t span = 0, before = 0, after = 0, padded;
  SN_TRY(span_of(l, i, &span));
  if (l->options.padding == SN_PADDING_SAME) {
    l->out[i] = n / l->stride[i] + (n % l->stride[i] != 0);
    const int64_t missing = n ? (l->out[i] - 1) * l->stride[i] + span - n : 0;
    l->low[i] = missing > 0 ? missing / 2 : 0;
    l->padded = l->padded || missing > 0;
    return SN_OK;
  }
  if (l->options.padding == SN_PADDING_EXPLICIT) SN_TRY(explicit_padding(l, i, &before, &after));
  SN_TRY(refuse_if(l, sn_int_add_overflows(n, before + after, &padded), "the result is too large"));
  SN_TRY(refuse_if(l, padded < span, "the window is larger than the input"));
  set_low(l, i, before, span);
  l->out[i] = (padded - span) / l->stride[i] + 1;
  l->padded = l->padded || before || after;
  return SN_OK;
}

/* The same for a transposed convolution: each position of x stands for a window of the result, and
 * padding says what is cut off from the result. */
static sn_status place_back(layer *l, int i) {
  const int64_t n = l->x->dims[l->first + i];
  int64_t span = 0, before = 0, after = 0, out;
  SN_TRY(span_of(l, i, &span));
  const bool same = l->options.padding == SN_PADDING_SAME;
  SN_TRY(refuse_if(l,
                   sn_int_mul_overflows(n - (n > 0 && !same), l->stride[i], &out) ||
                       sn_int_add_overflows(out, same || !n ? 0 : span, &out),
                   "the result is too large"));
  if (l->options.padding == SN_PADDING_EXPLICIT) SN_TRY(explicit_padding(l, i, &before, &after));
  if (same && span > l->stride[i]) before = (span - l->stride[i]) / 2;
  const int64_t more = l->options.output_padding ? l->options.output_padding[i] : 0;
  SN_TRY(refuse_if(l, more < 0 || (more && more >= l->stride[i] && more >= l->dilation[i]),
                   "output padding must be smaller than stride or dilation"));
  SN_TRY(refuse_if(l, sn_int_add_overflows(out, more, &out), "the result is too large"));
  l->out[i] = out - (n ? before * !same + after : 0);
  SN_TRY(refuse_if(l, l->out[i] < 0, "padding is larger than the result"));
  l->beyond[i] = before > span - 1 ? before - (span - 1) : 0;
  l->low[i] = span - 1 - (before - l->beyond[i]);
  return SN_OK;
}

/* ---- convolution ----------------------------------------------------------------------------- */

static sn_status check_filter(layer *l, sn_tensor *x, sn_tensor *filter, bool transposed) {
  const int axes = l->axes, rank = axes + 2;
  l->window = filter->type;
  l->kind = "filter";
  SN_TRY(sn_same_context(x, filter, l->name));
  SN_TRY(refuse_if(l, l->x->rank != rank || l->window.rank != rank, "ranks do not fit"));
  memcpy(l->size, l->window.dims, sizeof *l->size * (size_t)axes);
  const int64_t channels = l->x->dims[l->options.channels_first ? 1 : rank - 1];
  const int64_t p = l->window.dims[axes], q = l->window.dims[axes + 1];
  int64_t grouped;
  SN_TRY(refuse_if(l, l->groups < 1, "groups must be 1 or more"));
  SN_TRY(refuse_if(l, channels % l->groups || q % l->groups, "groups do not divide the channels"));
  SN_TRY(refuse_if(l, sn_int_mul_overflows(p, l->groups, &grouped), "the result is too large"));
  SN_TRY(refuse_if(l, channels != (transposed ? q : grouped), "channels differ"));
  for (int i = 0; i < axes; i++) SN_TRY(transposed ? place_back(l, i) : place(l, i));
  return SN_OK;
}

static sn_tensor *move_axis(sn_tensor *x, int from, int to) {
  int64_t perm[SN_MAX_RANK];
  if (!x) return NULL;
  sn_move_axis(x->type.rank, from, to, perm);
  return sn_node_of(x->ctx, SN_OP_transpose, &x, 1, perm, (size_t)x->type.rank, &x->type);
}

/* x with `beyond` zeros in front along the spatial axes, which begin at 1, or (back) without as many of
 * its first elements. */
static sn_tensor *shift(const layer *l, sn_tensor *x, bool back) {
  int64_t attrs[SN_MAX_ATTRS] = {0}, beyond = 0;
  if (!x) return NULL;
  sn_type type = x->type;
  for (int k = 0; k < type.rank; k++) attrs[type.rank + k] = 1;
  for (int i = 0; i < l->axes; i++) {
    attrs[1 + i] = l->beyond[i];
    type.dims[1 + i] += back ? -l->beyond[i] : l->beyond[i];
    beyond += l->beyond[i];
  }
  if (!beyond) return x;
  return sn_note(sn_node_of(l->ctx, back ? SN_OP_slice : SN_OP_pad, &x, 1, attrs,
                            2 * (size_t)type.rank + !back, &type));
}

static sn_tensor *convolve(const char *name, sn_tensor *x, sn_tensor *filter, int axes,
                           const sn_window_options *options, bool transposed) {
  if (!x || !filter) return NULL;
  layer l = {0};
  sn_status status = begin(&l, x, name, axes, options);
  if (!status) status = check_filter(&l, x, filter, transposed);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, l.name);
  const sn_dtype dtype = sn_product_dtype(sn_promote(x, filter));
  const bool moved = l.options.channels_first;
  sn_tensor *in = sn_note(sn_as_dtype(x, dtype)), *w = sn_note(sn_as_dtype(filter, dtype));
  if (moved) in = sn_note(move_axis(in, 1, axes + 1));
  /* Products with groups read the filter at every position, so its channels have to be contiguous. */
  if (l.groups > 1 && w && w->op == SN_OP_transpose) w = sn_unary(SN_OP_copy, w);
  if (!transposed) in = shift(&l, in, false);
  if (!in || !w) return sn_finish(&t, NULL);
  int64_t attrs[SN_CONV_ATTRS(MOST)];
  sn_type type = in->type;
  for (int i = 0; i < axes; i++) {
    type.dims[i + 1] = l.out[i] + (transposed ? l.beyond[i] : 0);
    attrs[i] = l.low[i];
    attrs[axes + i] = transposed ? 1 : l.stride[i];
    attrs[2 * axes + i] = l.dilation[i];
    attrs[3 * axes + i] = transposed ? l.stride[i] : 1;
  }
  attrs[4 * axes] = l.groups;
  attrs[4 * axes + 1] = transposed;
  sn_tensor *y = sn_note(sn_node_of(x->ctx, SN_OP_conv, (sn_tensor *[]){in, w}, 2, attrs,
                                    SN_CONV_ATTRS((size_t)axes), &type));
  if (transposed) y = shift(&l, y, true);
  return sn_finish(&t, moved ? sn_note(move_axis(y, axes + 1, 1)) : y);
}

sn_tensor *sn_conv(sn_tensor *x, sn_tensor *filter, int axes, const sn_window_options *options) {
  return convolve("conv", x, filter, axes, options, false);
}

sn_tensor *sn_conv_transpose(sn_tensor *x, sn_tensor *filter, int axes,
                             const sn_window_options *options) {
  return convolve("convTranspose", x, filter, axes, options, true);
}

/* ---- pooling --------------------------------------------------------------------------------- */

/* The number of positions that a window spans, once sizes have been checked. */
static int64_t span_at(const layer *l, int i) { return (l->size[i] - 1) * l->dilation[i] + 1; }

static int64_t padding_of(const layer *l, const int64_t *side, int i) {
  return l->options.padding == SN_PADDING_EXPLICIT && side ? side[i] : 0;
}

/* Adds a window if the last one leaves elements over, unless the new one would begin behind x. */
static sn_status round_up(layer *l, int i) {
  const int64_t n = l->x->dims[l->first + i];
  const int64_t before = padding_of(l, l->options.before, i);
  const int64_t end = n + before + padding_of(l, l->options.after, i);
  int64_t next, reach;
  if (l->options.padding == SN_PADDING_SAME) return SN_OK;
  SN_TRY(refuse_if(l,
                   sn_int_mul_overflows(l->out[i], l->stride[i], &next) ||
                       sn_int_add_overflows(next, span_at(l, i), &reach),
                   "the result is too large"));
  const bool covered = next - l->stride[i] + span_at(l, i) >= end;
  if (covered || next >= n + before) return SN_OK;
  l->out[i]++;
  l->padded = true;
  return SN_OK;
}

static sn_status check_pool(layer *l, const int64_t *window) {
  l->kind = "window";
  l->window.rank = l->axes;
  for (int i = 0; i < l->axes; i++) {
    l->size[i] = l->window.dims[i] = window[i];
    if (!l->options.strides) l->stride[i] = window[i];
  }
  SN_TRY(refuse_if(l, l->x->rank != l->axes + 2, "ranks do not fit"));
  for (int i = 0; i < l->axes; i++) {
    SN_TRY(place(l, i));
    SN_TRY(refuse_if(l,
                     padding_of(l, l->options.before, i) >= span_at(l, i) ||
                         padding_of(l, l->options.after, i) >= span_at(l, i),
                     "padding is larger than the window"));
    if (l->options.ceil) SN_TRY(round_up(l, i));
  }
  return SN_OK;
}

/* Makes windows along spatial axis i, which is axis `at` of x; padding is filled with value. */
static sn_tensor *windows(const layer *l, sn_tensor *x, int i, int at, double value) {
  if (!x) return NULL;
  sn_type type = x->type;
  const int64_t n = type.dims[at], span = (l->size[i] - 1) * l->dilation[i];
  const int64_t needed = l->out[i] ? (l->out[i] - 1) * l->stride[i] + span + 1 : 0;
  int64_t attrs[SN_MAX_ATTRS] = {0};
  for (int k = 0; k < type.rank; k++) attrs[type.rank + k] = 1;
  attrs[at] = l->low[i];
  attrs[2 * type.rank] = sn_double_attr(value);
  type.dims[at] = needed > n + l->low[i] ? needed : n + l->low[i];
  if (type.dims[at] != n)
    x = sn_note(sn_node_of(l->ctx, SN_OP_pad, &x, 1, attrs, 2 * (size_t)type.rank + 1, &type));
  if (!x) return NULL;
  sn_windows_type(&x->type, at, l->out[i], l->size[i], &type);
  return sn_note(sn_node_of(l->ctx, SN_OP_windows, &x, 1,
                            (int64_t[]){at, l->stride[i], l->dilation[i]}, 3, &type));
}

/* Reduces all windows of x; padding is filled with value. */
static sn_tensor *reduce_windows(const layer *l, sn_op op, sn_tensor *x, double value) {
  uint32_t axes = 0;
  for (int i = 0; i < l->axes; i++) {
    x = windows(l, x, i, l->first + 2 * i, value);
    axes |= 1u << (l->first + 2 * i + 1);
  }
  return sn_reduced(op, x, axes, false);
}

/* Positions of padding along axis i. What a window added by ceil reaches behind it does not count. */
static int64_t padding_added(const layer *l, int i) {
  const int64_t n = l->x->dims[l->first + i];
  const int64_t needed = l->out[i] ? (l->out[i] - 1) * l->stride[i] + span_at(l, i) : 0;
  if (l->options.padding == SN_PADDING_SAME) return needed > n ? needed - n : 0;
  return padding_of(l, l->options.before, i) + padding_of(l, l->options.after, i);
}

/* How many elements of x, and of its padding if that counts, each window holds: the product of the
 * counts along the axes. */
static sn_tensor *count_elements(const layer *given, sn_dtype dtype) {
  layer copy = *given, *l = &copy;
  sn_tensor *all = NULL;
  for (int i = 0; i < l->axes; i++) {
    sn_type line = {.dtype = dtype, .rank = 1, .dims = {l->x->dims[l->first + i]}};
    if (l->options.count_padding) {
      line.dims[0] += padding_added(l, i);
      l->low[i] = 0;
    }
    sn_type column = {.dtype = dtype, .rank = l->axes - i + !l->options.channels_first};
    for (int k = 1; k < column.rank; k++) column.dims[k] = 1;
    column.dims[0] = l->out[i];
    sn_tensor *ones = sn_note(sn_as_dims(sn_note(sn_number(l->ctx, dtype, 1)), &line));
    sn_tensor *count = sn_reduced(SN_OP_sum, windows(l, ones, i, 0, 0), 2, false);
    count = sn_note(sn_as_reshaped(count, &column));
    all = all ? sn_binary(SN_OP_mul, all, count) : count;
  }
  return all;
}

typedef enum pooling { POOL_MAX, POOL_MEAN, POOL_SUM } pooling;

static sn_tensor *pool(const char *name, sn_tensor *given, const int64_t *window, int axes,
                       const sn_window_options *options, pooling kind) {
  if (!given) return NULL;
  layer l = {0};
  sn_status status = begin(&l, given, name, axes, options);
  if (!status) status = check_pool(&l, window);
  if (status) return sn_refuse(given->ctx, status);
  temporaries t = sn_begin(given, l.name);
  const sn_dtype dtype = given->type.dtype;
  if (kind == POOL_MAX) {
    sn_tensor *x =
        sn_note(sn_as_op_dtype(SN_OP_max, sn_note(sn_as_dtype(given, sn_dtype_wide(dtype)))));
    sn_tensor *y = reduce_windows(&l, SN_OP_max, x, -INFINITY);
    return sn_finish(&t, sn_note(sn_as_dtype(y, dtype)));
  }
  sn_tensor *x = sn_as_float(&t, given), *sum = reduce_windows(&l, SN_OP_sum, x, 0);
  if (kind == POOL_SUM || !x) return sn_finish(&t, sum);
  double elements = 1;
  for (int i = 0; i < axes; i++) elements *= (double)l.size[i];
  sn_tensor *count = l.padded ? count_elements(&l, x->type.dtype) : sn_number_like(x, elements);
  return sn_finish(&t, sn_binary(SN_OP_div, sum, count));
}

sn_tensor *sn_max_pool(sn_tensor *x, const int64_t *window, int axes,
                       const sn_window_options *options) {
  return pool("maxPool", x, window, axes, options, POOL_MAX);
}

sn_tensor *sn_avg_pool(sn_tensor *x, const int64_t *window, int axes,
                       const sn_window_options *options) {
  return pool("avgPool", x, window, axes, options, POOL_MEAN);
}

sn_tensor *sn_sum_pool(sn_tensor *x, const int64_t *window, int axes,
                       const sn_window_options *options) {
  return pool("sumPool", x, window, axes, options, POOL_SUM);
}

/* lpPool x = (sum |x|^p)^(1/p); where that is 0, its derivative is defined as 0. */
sn_tensor *sn_lp_pool(sn_tensor *x, const int64_t *window, int axes,
                      const sn_window_options *options, double norm) {
  if (!x) return NULL;
  sn_context *ctx = x->ctx;
  char what[16];
  sn_format(what, sizeof what, "lpPool%dd", axes);
  if (!(norm > 0) || isinf(norm))
    return sn_refuse(ctx, SN_FAIL(&ctx->env, SN_ERR_ARGUMENT, what,
                                  "no norm %g, expected a number above 0", norm));
  temporaries t = sn_begin(x, what);
  sn_tensor *p = sn_scalar(ctx, norm), *root = sn_scalar(ctx, 1 / norm);
  sn_tensor *zero = sn_scalar(ctx, 0), *one = sn_scalar(ctx, 1);
  sn_tensor *powers =
      norm == 2 ? sn_unary(SN_OP_square, x) : sn_binary(SN_OP_pow, sn_unary(SN_OP_abs, x), p);
  sn_tensor *sums = pool("lpPool", powers, window, axes, options, POOL_SUM);
  sn_tensor *flat = sn_binary(SN_OP_equal, sums, zero), *safe = sn_choose(flat, one, sums);
  return sn_finish(
      &t, sn_choose(flat, zero,
                    norm == 2 ? sn_unary(SN_OP_sqrt, safe) : sn_binary(SN_OP_pow, safe, root)));
}
