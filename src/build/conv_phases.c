#include "build/conv_phases.h"

#include "base/size.h"
#include "build/build_conv.h"
#include "graph/conv_shape.h"

/* One axis. Each phase has `places` results, of which the last may lie beyond the result's end. */
typedef struct axis {
  int64_t spread, window, dilation, low;
  int64_t out, places;
  int64_t phases;         /* the spread; 1 if the window is 1: then only one phase has a tap */
  int64_t before, padded; /* zeros in front of x; size of x with zeros on both sides */
} axis;

typedef struct interleaving {
  sn_build *b;
  sn_conv_attrs conv;
  int axes;
  axis of[SN_CONV_AXES];
  sn_id x, w; /* x is padded for all phases */
  const sn_type *y;
  int64_t few;
} interleaving;

/* The taps of a phase: `count` taps, the first one and every spread-th after it. The phase's first result reads x from
 * `start` on, which may be negative. */
typedef struct taps {
  int64_t first, count, start;
} taps;

static taps taps_of(const axis *a, int64_t phase) {
  const int64_t s = a->spread, first = ((a->low - phase) % s + s) % s;
  const int64_t count = first < a->window ? (a->window - first - 1) / s + 1 : 0;
  return (taps){first, count, (phase + first - a->low) / s};
}

static int64_t phases_of(const sn_conv_attrs *c, int i, int64_t window) {
  return window == 1 ? 1 : c->spread[i];
}

int64_t sn_conv_phases(const int64_t *attrs, const int64_t *window, const sn_type *y) {
  const int axes = y->rank - 2;
  const sn_conv_attrs c = sn_conv_of(attrs, axes);
  int64_t phases = 1;
  bool spreads = false;
  for (int i = 0; i < axes; i++) {
    const bool spread = c.spread[i] > 1;
    if (c.step[i] != 1 || (spread && c.dilation[i] != 1)) return 0;
    spreads = spreads || spread;
    if (sn_int_mul_overflows(phases, phases_of(&c, i, window[i]), &phases)) return 0;
  }
  return spreads && sn_type_size(y) ? phases : 0;
}

/* The sizes along spatial axis i, along which x has n elements. */
static axis axis_of(const sn_conv_attrs *c, int i, int64_t n, int64_t window, int64_t out) {
  axis a = {.spread = c->spread[i], .window = window, .dilation = c->dilation[i], .low = c->low[i]};
  a.out = out;
  a.places = (out - 1) / a.spread + 1;
  a.phases = phases_of(c, i, window);
  int64_t end = n;
  for (int64_t phase = 0; phase < a.phases; phase++) {
    const taps t = taps_of(&a, phase);
    const int64_t last = t.start + a.places - 1 + (t.count - 1) * a.dilation;
    if (t.count && -t.start > a.before) a.before = -t.start;
    if (t.count && last >= end) end = last + 1;
  }
  a.padded = a.before + end;
  return a;
}

static sn_id pad(const interleaving *v, sn_id x) {
  if (v->b->status) return SN_NONE;
  sn_type type = *sn_build_type(v->b, x);
  int64_t attrs[SN_MAX_ATTRS] = {0};
  for (int i = 0; i < type.rank; i++) attrs[type.rank + i] = 1;
  for (int i = 0; i < v->axes; i++) {
    attrs[1 + i] = v->of[i].before;
    type.dims[1 + i] = v->of[i].padded;
  }
  if (sn_same_dims(&type, sn_build_type(v->b, x))) return x;
  return sn_build_op(v->b, SN_OP_pad, &x, 1, attrs, 2 * (size_t)type.rank + 1, &type);
}

/* One phase of the result: phase at[i] along axis i. */
static sn_id make_phase(const interleaving *v, const int64_t *at) {
  if (v->b->status) return SN_NONE;
  const int axes = v->axes, rank = axes + 2;
  sn_type y = *v->y, x = *sn_build_type(v->b, v->x), w = *sn_build_type(v->b, v->w);
  int64_t of_x[2 * SN_MAX_RANK] = {0}, of_w[2 * SN_MAX_RANK] = {0};
  int64_t attrs[SN_CONV_ATTRS(SN_CONV_AXES)] = {0};
  for (int i = 0; i < rank; i++) of_x[rank + i] = of_w[rank + i] = 1;
  int64_t meeting = 1;
  for (int i = 0; i < axes; i++) {
    const axis *a = &v->of[i];
    const taps t = taps_of(a, at[i]);
    meeting *= t.count;
    y.dims[1 + i] = a->places;
    x.dims[1 + i] = a->places + (t.count - 1) * a->dilation;
    of_x[1 + i] = a->before + t.start;
    w.dims[i] = t.count;
    of_w[i] =
        v->conv.transpose_filter ? a->window - 1 - t.first - (t.count - 1) * a->spread : t.first;
    of_w[rank + i] = a->spread;
    attrs[axes + i] = attrs[3 * axes + i] = 1;
    attrs[2 * axes + i] = a->dilation;
  }
  if (!meeting) return sn_build_full(v->b, &y, 0);
  attrs[4 * axes] = v->conv.groups;
  attrs[4 * axes + 1] = v->conv.transpose_filter;
  const sn_id part = sn_build_op(v->b, SN_OP_slice, &v->x, 1, of_x, 2 * (size_t)rank, &x);
  const sn_id filter = sn_build_op(v->b, SN_OP_slice, &v->w, 1, of_w, 2 * (size_t)rank, &w);
  return sn_build_conv(v->b, part, filter, attrs, &y, v->few);
}

/* Interleaves the phases along axis i and drops what lies beyond the result's end. */
static sn_id interleave(const interleaving *v, int i, const sn_id *phases) {
  if (v->b->status) return SN_NONE;
  const axis *a = &v->of[i];
  if (a->spread == 1) return *phases;
  if (a->phases > 1) return sn_build_interleave(v->b, phases, a->phases, 1 + i, a->out);
  sn_type type = *sn_build_type(v->b, *phases);
  type.dims[1 + i] = a->out;
  return sn_build_part(v->b, SN_OP_pad, *phases, 1 + i, 0, a->spread, &type);
}

/* Makes all phases, in an array where the last axis varies fastest, then interleaves them axis by axis from the last. */
static sn_id interleave_all(const interleaving *v) {
  int64_t n = 1, at[SN_CONV_AXES];
  sn_id *phases = NULL;
  for (int i = 0; i < v->axes; i++) n *= v->of[i].phases;
  v->b->status = sn_arena_alloc(v->b->arena, (size_t)n, sizeof *phases, (void **)&phases);
  for (int64_t k = 0; k < n && !v->b->status; k++) {
    int64_t rest = k;
    for (int i = v->axes - 1; i >= 0; rest /= v->of[i--].phases) at[i] = rest % v->of[i].phases;
    phases[k] = make_phase(v, at);
  }
  for (int i = v->axes - 1; i >= 0; i--) {
    n /= v->of[i].phases;
    for (int64_t k = 0; k < n && !v->b->status; k++)
      phases[k] = interleave(v, i, phases + k * v->of[i].phases);
  }
  return v->b->status ? SN_NONE : *phases;
}

sn_id sn_build_conv_phases(sn_build *b, sn_id x, sn_id w, const int64_t *attrs, const sn_type *y,
                           int64_t few) {
  if (b->status) return SN_NONE;
  const sn_type x_type = *sn_build_type(b, x), w_type = *sn_build_type(b, w);
  const int axes = y->rank - 2;
  interleaving v = {b, sn_conv_of(attrs, axes), axes, .w = w, .y = y, .few = few};
  for (int i = 0; i < axes; i++)
    v.of[i] = axis_of(&v.conv, i, x_type.dims[1 + i], w_type.dims[i], y->dims[1 + i]);
  v.x = pad(&v, x);
  return b->status ? SN_NONE : interleave_all(&v);
}
