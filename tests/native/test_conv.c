/* test_conv.c - convolution and pooling against plain loops, over random configurations, with the
 * gradients of every input; and errors with their texts. */
#include <math.h>
#include <stdio.h>

#include "api_support.h"

enum { AXES = 3 };

/* One configuration, as the caller writes it. */
typedef struct spec {
  int axes;
  int64_t n, channels, filters, size[AXES], window[AXES];
  int64_t stride[AXES], dilation[AXES], before[AXES], after[AXES], more[AXES];
  sn_window_options options;
  bool transposed;
  /* what it means */
  int64_t low[AXES], out[AXES];
} spec;

static int64_t draw(case_random *seed, int64_t most) { return 1 + case_below(seed, most); }

static int64_t span_of(const spec *s, int i) { return (s->window[i] - 1) * s->dilation[i] + 1; }

/* Sizes of the result and where the first window begins; false if there is no window. */
static bool place(spec *s) {
  for (int i = 0; i < s->axes; i++) {
    const int64_t span = span_of(s, i), n = s->size[i], t = s->stride[i];
    const bool same = s->options.padding == SN_PADDING_SAME;
    const bool given = s->options.padding == SN_PADDING_EXPLICIT;
    const int64_t before = given ? s->before[i] : 0, after = given ? s->after[i] : 0;
    if (s->transposed) {
      s->out[i] = (same ? n * t : (n - 1) * t + span - before - after) + s->more[i];
      s->low[i] = same ? (span > t ? (span - t) / 2 : 0) : before;
    } else if (same) {
      s->out[i] = (n + t - 1) / t;
      const int64_t missing = (s->out[i] - 1) * t + span - n;
      s->low[i] = missing > 0 ? missing / 2 : 0;
    } else {
      if (n + before + after < span) return false;
      s->out[i] = (n + before + after - span) / t + 1;
      s->low[i] = before;
    }
    if (s->out[i] < 0) return false;
  }
  return true;
}

static spec draw_spec(case_random *seed) {
  spec s;
  do {
    s = (spec){.axes = (int)draw(seed, AXES), .n = draw(seed, 2)};
    s.transposed = draw(seed, 3) == 1;
    const int64_t groups = draw(seed, 3), many = draw(seed, 4) == 1 ? 64 : 1;
    const int64_t c = draw(seed, 3) * many, per = draw(seed, 3);
    s.channels = groups * c;
    s.filters = groups * per;
    s.options = (sn_window_options){.padding = (sn_padding)(draw(seed, 3) - 1),
                                    .groups = groups,
                                    .channels_first = draw(seed, 2) == 1};
    const int64_t largest = s.axes == 3 ? 4 : 7;
    for (int i = 0; i < s.axes; i++) {
      s.size[i] = draw(seed, largest);
      s.window[i] = draw(seed, 3);
      s.stride[i] = draw(seed, 4);
      s.dilation[i] = draw(seed, 2);
      const int64_t wide = draw(seed, 4) == 1 ? 3 : 0; /* padding beyond the window, at times */
      s.before[i] = draw(seed, span_of(&s, i) + wide) - 1;
      s.after[i] = draw(seed, span_of(&s, i) + wide) - 1;
      s.more[i] = s.transposed ? draw(seed, s.stride[i]) - 1 : 0;
    }
  } while (!place(&s));
  return s;
}

/* The options refer to the spec's arrays. */
static const sn_window_options *options_of(spec *s) {
  s->options.strides = s->stride;
  s->options.dilation = s->dilation;
  s->options.before = s->before;
  s->options.after = s->after;
  s->options.output_padding = s->more;
  return &s->options;
}

/* ---- plain loops ----------------------------------------------------------------------------- */

/* Calls back for every product: element of x, of the filter (-1 in a pool), of the result. */
typedef void product_fn(void *user, int64_t x, int64_t w, int64_t y);

static int64_t element(const spec *s, int64_t n, const int64_t *at, const int64_t *size, int64_t c,
                       int64_t channels) {
  int64_t flat = n;
  if (s->options.channels_first) flat = flat * channels + c;
  for (int i = 0; i < s->axes; i++) flat = flat * size[i] + at[i];
  return s->options.channels_first ? flat : flat * channels + c;
}

/* The digits of flat in the sizes, the last one fastest. */
static void digits(int64_t flat, const int64_t *sizes, int n, int64_t *out) {
  for (int i = n - 1; i >= 0; flat /= sizes[i--]) out[i] = flat % sizes[i];
}

static int64_t product(const int64_t *sizes, int n) {
  int64_t p = 1;
  for (int i = 0; i < n; i++) p *= sizes[i];
  return p;
}

/* Where position k of window o lies: small + window -> large. False if outside. */
static bool meet(const spec *s, const int64_t *small, const int64_t *k, const int64_t *large,
                 int64_t *at) {
  bool inside = true;
  for (int i = 0; i < s->axes; i++) {
    at[i] = small[i] * s->stride[i] + k[i] * s->dilation[i] - s->low[i];
    inside = inside && at[i] >= 0 && at[i] < large[i];
  }
  return inside;
}

static void each_product(const spec *s, product_fn *fn, void *user) {
  const int64_t *small = s->transposed ? s->size : s->out;
  const int64_t *large = s->transposed ? s->out : s->size;
  const int64_t g = s->options.groups, c = s->channels / g, per = s->filters / g;
  for (int64_t n = 0; n < s->n; n++)
    for (int64_t o = 0; o < product(small, s->axes); o++)
      for (int64_t k = 0; k < product(s->window, s->axes); k++) {
        int64_t from[AXES], tap[AXES], to[AXES];
        digits(o, small, s->axes, from);
        digits(k, s->window, s->axes, tap);
        if (!meet(s, from, tap, large, to)) continue;
        for (int64_t i = 0; i < g * c * per; i++) {
          const int64_t in = i / per, out = in / c * per + i % per;
          const int64_t w = s->transposed ? (k * per + i % per) * s->channels + in
                                          : (k * c + in % c) * s->filters + out;
          fn(user, element(s, n, s->transposed ? from : to, s->size, in, s->channels), w,
             element(s, n, s->transposed ? to : from, s->out, out, s->filters));
        }
      }
}

typedef struct sums {
  const double *x, *w, *r;
  double *y, *dx, *dw;
} sums;

static void add_product(void *user, int64_t x, int64_t w, int64_t y) {
  const sums *t = user;
  t->y[y] += t->x[x] * t->w[w];
  t->dx[x] += t->r[y] * t->w[w];
  t->dw[w] += t->r[y] * t->x[x];
}

/* ---- tensors --------------------------------------------------------------------------------- */

static sn_tensor *noise(case_random *seed, sn_dtype dtype, int rank, const int64_t *dims,
                        double *values) {
  void *data;
  sn_tensor *t = sn_empty(f.ctx, dtype, rank, dims, &data);
  assert_non_null(t);
  for (int64_t i = 0; i < sn_size(t); i++) {
    values[i] = (double)case_below(seed, 64) / 32 - 1; /* float32 holds it */
    if (dtype == SN_F64)
      ((double *)data)[i] = values[i];
    else
      ((float *)data)[i] = (float)values[i];
  }
  return t;
}

static void expect_close(const char *what, sn_tensor *t, const double *expected, double bound) {
  assert_non_null(t);
  sn_tensor *wide = sn_astype(t, SN_F64);
  const double *values = sn_data(wide);
  assert_non_null(values);
  for (int64_t i = 0; i < sn_size(t); i++)
    if (!(fabs(values[i] - expected[i]) <= bound))
      fail_msg("%s: element %lld is %.9g, not %.9g", what, (long long)i, values[i], expected[i]);
}

static int shape_of(const spec *s, const int64_t *size, int64_t channels, int64_t *dims) {
  dims[0] = s->n;
  for (int i = 0; i < s->axes; i++) dims[i + 1 + s->options.channels_first] = size[i];
  dims[s->options.channels_first ? 1 : s->axes + 1] = channels;
  return s->axes + 2;
}

static double *zeros(int64_t n) {
  double *block = calloc((size_t)n + 1, sizeof *block);
  assert_non_null(block);
  return block;
}

static void expect_shape(sn_tensor *t, int rank, const int64_t *dims) {
  assert_int_equal(sn_rank(t), rank);
  for (int i = 0; i < rank; i++) assert_int_equal(sn_dims(t)[i], dims[i]);
}

static void check_spec(spec *s, case_random *seed, sn_dtype dtype) {
  int64_t dims[AXES + 2], out[AXES + 2], taps[AXES + 2];
  const int rank = shape_of(s, s->size, s->channels, dims);
  shape_of(s, s->out, s->filters, out);
  memcpy(taps, s->window, sizeof s->window);
  const int64_t per_group = s->transposed ? s->filters : s->channels;
  taps[s->axes] = per_group / s->options.groups;
  taps[s->axes + 1] = s->transposed ? s->channels : s->filters;
  const int64_t nx = product(dims, rank), nw = product(taps, rank), ny = product(out, rank);
  double *x = zeros(nx), *w = zeros(nw), *r = zeros(ny);
  sums t = {x, w, r, zeros(ny), zeros(nx), zeros(nw)};
  sn_tensor *in[] = {sn_variable(noise(seed, dtype, rank, dims, x)),
                     sn_variable(noise(seed, dtype, rank, taps, w))};
  sn_tensor *weight = noise(seed, dtype, rank, out, r), *d[2];
  sn_tensor *y =
      (s->transposed ? sn_conv_transpose : sn_conv)(in[0], in[1], s->axes, options_of(s));
  if (!y) fail_msg("%s", sn_error_message(f.ctx));
  expect_shape(y, rank, out);
  each_product(s, add_product, &t);
  const double bound = dtype == SN_F64 ? 1e-12 : 1e-4;
  assert_int_equal(sn_gradients(sn_sum(sn_mul(y, weight), SN_ALL_AXES, false), in, 2, d), SN_OK);
  expect_close("y", y, t.y, bound);
  expect_close("dx", d[0], t.dx, bound);
  expect_close("dw", d[1], t.dw, bound);
  free(x);
  free(w);
  free(r);
  free(t.y);
  free(t.dx);
  free(t.dw);
}

/* Evaluates check_spec in a scope of its own; passes: whether the compiler's passes run. */
static void check(spec *s, case_random *seed, sn_dtype dtype, bool passes) {
  for (int i = 0; i < sn_pass_count(); i++)
    if (strcmp(sn_pass_name(i), "winograd") != 0)
      assert_int_equal(sn_pass_enable(f.ctx, sn_pass_name(i), passes), SN_OK);
  assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
  check_spec(s, seed, dtype);
  sn_scope_end(f.ctx);
}

static void random_convolutions_are_plain_loops(void **state) {
  (void)state;
  const int n = case_short() ? 60 : 600;
  case_random seed = {7};
  for (int i = 0; i < n; i++) {
    spec s = draw_spec(&seed);
    check(&s, &seed, i % 4 ? SN_F64 : SN_F32, i % 5 != 0);
  }
}

/* Sizes from which a spread input is convolved in phases (build/conv_phases.h): windows that are larger
 * and smaller than strides, or 1, results that end within a round of phases, an axis without a stride
 * beside one with. Of strided ones the gradient is the spread one, of transposed ones the value. */
static void spread_inputs_are_plain_loops(void **state) {
  (void)state;
  static const int64_t around[] = {1, 1}, beyond[] = {4, 0};
  const sn_window_options same = {.padding = SN_PADDING_SAME};
  const sn_window_options given = {.padding = SN_PADDING_EXPLICIT};
#define SPEC(axes_, n_, c, f_, ...) {axes_, n_, c, f_, __VA_ARGS__}
  spec specs[] = {
      SPEC(2, 1, 24, 16, {27, 25}, {3, 3}, {2, 2}, {1, 1}, .options = same),
      SPEC(2, 2, 32, 16, {15, 14}, {4, 4}, {2, 2}, {1, 1}, .options = given, .transposed = true),
      SPEC(2, 1, 16, 24, {13, 12}, {3, 3}, {3, 2}, {1, 1}, .more = {1, 1}, .transposed = true),
      SPEC(2, 2, 32, 32, {24, 23}, {1, 1}, {2, 2}, {1, 1}, .options = same),
      SPEC(2, 1, 32, 32, {12, 13}, {2, 2}, {3, 3}, {1, 1}, .transposed = true),
      SPEC(1, 4, 48, 32, {203}, {5}, {4}, {1}, .options = same),
      SPEC(2, 1, 32, 32, {17, 30}, {3, 3}, {1, 2}, {2, 1}, .options = given),
      SPEC(2, 1, 32, 64, {21, 22}, {3, 2}, {2, 2}, {1, 1}, .options = {.groups = 2}),
      SPEC(3, 1, 16, 16, {9, 10, 11}, {3, 2, 3}, {2, 2, 2}, {1, 1, 1}, .options = same),
      SPEC(2, 1, 48, 48, {54, 55}, {3, 3}, {2, 2}, {1, 1}, .options = {.groups = 48}),
      SPEC(2, 1, 32, 32, {14, 15}, {3, 3}, {2, 2}, {1, 1},
           .options = {.channels_first = true, .padding = SN_PADDING_SAME}, .transposed = true),
  };
#undef SPEC
  case_random seed = {11};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    spec *s = &specs[i];
    if (!s->options.groups) s->options.groups = 1;
    memcpy(s->before, i % 2 ? around : beyond, sizeof around);
    memcpy(s->after, around, sizeof around);
    assert_true(place(s));
    check(s, &seed, i % 2 ? SN_F32 : SN_F64, true);
  }
}

static void use_winograd(bool on) {
  assert_int_equal(sn_pass_enable(f.ctx, "winograd", on), SN_OK);
}

/* Sizes that pay for 16 products, the last one because it does not: sides that tiles of 2 x 2 divide or
 * do not, all paddings, both directions and layouts. Of these numbers all sums are exact. */
static void fewer_products_are_plain_loops(void **state) {
  (void)state;
  const sn_window_options same = {.padding = SN_PADDING_SAME};
  const sn_window_options given = {.padding = SN_PADDING_EXPLICIT};
  const sn_window_options first = {.padding = SN_PADDING_SAME, .channels_first = true};
#define SPEC(n_, c, f_, h, w, ...) \
  {2, n_, c, f_, {h, w}, {3, 3}, {1, 1}, {1, 1}, .after = {2, 1}, __VA_ARGS__}
  spec specs[] = {
      SPEC(2, 40, 48, 16, 14, .options = same),
      SPEC(1, 64, 64, 15, 13),
      SPEC(1, 64, 40, 13, 16, .options = given, .before = {0, 2}),
      SPEC(1, 64, 56, 14, 13, .options = same, .transposed = true),
      SPEC(1, 64, 64, 12, 11, .transposed = true),
      SPEC(3, 64, 64, 9, 8, .options = first),
      SPEC(64, 64, 64, 1, 1, .options = same),
  };
#undef SPEC
  case_random seed = {13};
  use_winograd(true);
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    specs[i].options.groups = 1;
    assert_true(place(&specs[i]));
    check(&specs[i], &seed, SN_F32, true);
  }
  use_winograd(false);
}

/* ---- pooling --------------------------------------------------------------------------------- */

/* One channel's windows: the elements of each are called back in order of the windows. */
typedef struct window_of {
  int64_t y, x[27], n, counted; /* counted: what a mean divides by */
} window_of;

/* Whether a mean counts the position `at`. */
static bool counts(const spec *s, const int64_t *at) {
  bool counted = true;
  for (int i = 0; i < s->axes; i++) {
    const bool given = s->options.padding == SN_PADDING_EXPLICIT;
    const bool same = s->options.padding == SN_PADDING_SAME;
    const bool wide = s->options.count_padding;
    const int64_t low = wide && given ? -s->before[i] : 0, after = wide && given ? s->after[i] : 0;
    counted = counted && ((wide && same) || (at[i] >= low && at[i] < s->size[i] + after));
  }
  return counted;
}

static window_of elements_of(const spec *s, int64_t n, int64_t o, int64_t c) {
  int64_t from[AXES], tap[AXES], at[AXES];
  digits(o, s->out, s->axes, from);
  window_of w = {.y = element(s, n, from, s->out, c, s->channels)};
  for (int64_t k = 0; k < product(s->window, s->axes); k++) {
    digits(k, s->window, s->axes, tap);
    if (meet(s, from, tap, s->size, at)) w.x[w.n++] = element(s, n, at, s->size, c, s->channels);
    w.counted += counts(s, at);
  }
  return w;
}

/* The mean of a window and what each element gets of its cotangent r; of the largest element, which
 * ties share. */
static void pool_window(const window_of *w, bool mean, const double *x, double r, double *y,
                        double *dx) {
  double sum = 0, largest = -INFINITY, ties = 0;
  for (int64_t i = 0; i < w->n; i++) {
    sum += x[w->x[i]];
    ties = x[w->x[i]] > largest ? 1 : ties + (x[w->x[i]] == largest);
    largest = fmax(largest, x[w->x[i]]);
  }
  *y = mean ? sum / (double)w->counted : largest;
  for (int64_t i = 0; i < w->n; i++)
    dx[w->x[i]] += mean ? r / (double)w->counted : x[w->x[i]] == largest ? r / ties : 0;
}

static void check_pool(spec *s, case_random *seed, bool mean) {
  int64_t dims[AXES + 2], out[AXES + 2];
  const int rank = shape_of(s, s->size, s->channels, dims);
  shape_of(s, s->out, s->channels, out);
  const int64_t nx = product(dims, rank), ny = product(out, rank);
  double *x = zeros(nx), *r = zeros(ny), *y = zeros(ny), *dx = zeros(nx);
  sn_tensor *in = sn_variable(noise(seed, SN_F64, rank, dims, x)), *d;
  sn_tensor *weight = noise(seed, SN_F64, rank, out, r);
  sn_tensor *pooled = (mean ? sn_avg_pool : sn_max_pool)(in, s->window, s->axes, options_of(s));
  if (!pooled) fail_msg("%s", sn_error_message(f.ctx));
  expect_shape(pooled, rank, out);
  for (int64_t n = 0; n < s->n; n++)
    for (int64_t o = 0; o < product(s->out, s->axes); o++)
      for (int64_t c = 0; c < s->channels; c++) {
        const window_of w = elements_of(s, n, o, c);
        pool_window(&w, mean, x, r[w.y], &y[w.y], dx);
      }
  expect_close("pooled", pooled, y, 1e-13);
  sn_tensor *loss = sn_sum(sn_mul(pooled, weight), SN_ALL_AXES, false);
  assert_int_equal(sn_gradients(loss, &in, 1, &d), SN_OK);
  expect_close("slope of pooled", d, dx, 1e-13);
  free(x);
  free(r);
  free(y);
  free(dx);
}

/* Every window of a pool has an element: padding is smaller than the window, but dilation can skip
 * over an input that is smaller still. */
static bool has_empty_windows(const spec *s) {
  for (int64_t o = 0; o < product(s->out, s->axes); o++)
    if (!elements_of(s, 0, o, 0).n) return true;
  return false;
}

static bool pads_beyond(const spec *s) {
  bool beyond = false;
  for (int i = 0; i < s->axes; i++)
    beyond = beyond || s->before[i] >= span_of(s, i) || s->after[i] >= span_of(s, i);
  return beyond;
}

/* The number of windows rounded up, without one that begins behind the input. */
static void round_up(spec *s) {
  for (int i = 0; i < s->axes && s->options.ceil && s->options.padding != SN_PADDING_SAME; i++) {
    const bool given = s->options.padding == SN_PADDING_EXPLICIT;
    const int64_t before = given ? s->before[i] : 0, after = given ? s->after[i] : 0;
    const int64_t n = s->size[i], t = s->stride[i];
    const int64_t out = (n + before + after - span_of(s, i) + t - 1) / t + 1;
    s->out[i] = (out - 1) * t >= n + before ? out - 1 : out;
  }
}

static void random_pools_are_plain_loops(void **state) {
  (void)state;
  const int n = case_short() ? 60 : 400;
  case_random seed = {3};
  for (int i = 0; i < n;) {
    spec s = draw_spec(&seed);
    s.options.ceil = draw(&seed, 2) == 1;
    s.options.count_padding = draw(&seed, 2) == 1;
    if (s.transposed || pads_beyond(&s)) continue;
    round_up(&s);
    if (has_empty_windows(&s)) continue;
    assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
    check_pool(&s, &seed, i % 2);
    sn_scope_end(f.ctx);
    i++;
  }
}

static void pools_step_by_their_window(void **state) {
  (void)state;
  sn_tensor *x = ramp(f.ctx, DIMS(1, 5, 1), 1);
  EXPECT(sn_max_pool(x, (int64_t[]){2}, 1, NULL), 2, 4);
  EXPECT(sn_avg_pool(x, (int64_t[]){2}, 1, &(sn_window_options){.padding = SN_PADDING_SAME}), 1.5,
         3.5, 5);
  const int32_t whole[] = {3, -7, 5, 2};
  sn_tensor *i = sn_from_data(f.ctx, SN_I32, DIMS(1, 4, 1), whole);
  const int32_t *largest = sn_data(sn_max_pool(i, (int64_t[]){2}, 1, NULL));
  assert_int_equal(largest[0], 3);
  assert_int_equal(largest[1], 5);
}

/* ---- special values and sizes ---------------------------------------------------------------- */

static void not_a_number_reaches_its_windows_only(void **state) {
  (void)state;
  const float data[] = {1, NAN, 2, 3, INFINITY, 4};
  sn_tensor *x = sn_from_data(f.ctx, SN_F32, DIMS(1, 6, 1), data);
  sn_tensor *w = ramp(f.ctx, DIMS(2, 1, 1), 1);
  const float *y = sn_data(sn_conv(x, w, 1, NULL));
  assert_true(isnan(y[0]) && isnan(y[1]) && y[2] == 8 && y[3] == INFINITY && y[4] == INFINITY);
  const float *m = sn_data(sn_max_pool(x, (int64_t[]){2}, 1, NULL));
  assert_true(isnan(m[0]) && m[1] == 3 && m[2] == INFINITY);
}

/* Results that stand two apart meet the same taps of a window of 2: an infinite one reaches no other,
 * and its products with zeros in between are not there. */
static void an_infinite_tap_reaches_its_results_only(void **state) {
  (void)state;
  enum { SIZE = 24, C = 16 };
  float taps[2][2][C][C] = {{{{0}}}};
  taps[0][1][3][5] = INFINITY; /* to filter 3, of channel 5 */
  sn_tensor *x = sn_full(f.ctx, SN_F32, DIMS(1, SIZE, SIZE, C), 1);
  sn_tensor *w = sn_from_data(f.ctx, SN_F32, DIMS(2, 2, C, C), taps);
  const sn_window_options options = {.strides = (const int64_t[]){2, 2}};
  const float *y = sn_data(sn_conv_transpose(x, w, 2, &options));
  assert_non_null(y);
  for (int i = 0; i < 2 * SIZE; i++)
    for (int j = 0; j < 2 * SIZE; j++)
      for (int k = 0; k < C; k++) {
        const bool meets = i % 2 == 0 && j % 2 == 1 && k == 3;
        assert_true(y[(i * 2 * SIZE + j) * C + k] == (meets ? INFINITY : 0));
      }
}

static void empty_batches_and_channels(void **state) {
  (void)state;
  sn_tensor *none = sn_conv(sn_full(f.ctx, SN_F32, DIMS(0, 4, 4, 2), 0),
                            sn_full(f.ctx, SN_F32, DIMS(3, 3, 2, 5), 0), 2, NULL);
  expect_shape(none, DIMS(0, 2, 2, 5));
  assert_int_equal(sn_eval(&none, 1), SN_OK);
  sn_tensor *zeros_of = sn_conv(sn_full(f.ctx, SN_F32, DIMS(1, 3, 0), 0),
                                sn_full(f.ctx, SN_F32, DIMS(2, 0, 1), 0), 1, NULL);
  EXPECT(zeros_of, 0, 0);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static size_t kernels_of(sn_tensor *const *in, size_t n_in, sn_tensor *y, size_t *arena) {
  sn_program *program;
  sn_program_info info;
  assert_int_equal(sn_compile(f.ctx, in, n_in, &y, 1, NULL, &program), SN_OK);
  sn_program_describe(program, &info);
  sn_program_release(program);
  *arena = info.arena_bytes;
  return info.kernels;
}

/* Packing reads windows, and puts in the zeros around the input. Of the filter's gradient, whose
 * long sums run across the padding, the padded input stands in memory. */
static void windows_are_never_copied(void **state) {
  (void)state;
  enum { SIZE = 16, C = 64, F = 32, PADDED = (SIZE + 2) * (SIZE + 2) };
  size_t arena;
  const sn_window_options same = {.padding = SN_PADDING_SAME};
  sn_tensor *in[] = {sn_placeholder(f.ctx, SN_F32, DIMS(1, SIZE, SIZE, C)),
                     sn_placeholder(f.ctx, SN_F32, DIMS(3, 3, C, F)),
                     sn_placeholder(f.ctx, SN_F32, DIMS(F))};
  sn_tensor *d[2], *y = sn_conv(in[0], in[1], 2, &same);
  sn_tensor *weighted = sn_mul(y, sn_broadcast_to(in[2], DIMS(1, SIZE, SIZE, F)));
  assert_int_equal(kernels_of(in, 3, sn_relu(sn_add(y, in[2])), &arena), 1);
  assert_int_equal(arena, 0);
  assert_int_equal(kernels_of(in, 3, sn_conv(in[0], in[1], 2, NULL), &arena), 1);
  assert_int_equal(arena, 0);
  assert_int_equal(sn_gradients(sn_sum(weighted, SN_ALL_AXES, false), in, 2, d), SN_OK);
  assert_int_equal(kernels_of(in, 3, d[0], &arena), 1);
  assert_int_equal(arena, 0);
  assert_int_equal(kernels_of(in, 3, d[1], &arena), 3);
  assert_int_equal(arena, PADDED * C * sizeof(float));
}

/* Transforms of both sides and of the result, 16 products, and weaving along two axes. */
static void fewer_products_are_asked_for(void **state) {
  (void)state;
  enum { SIZE = 16, C = 64 };
  const sn_window_options same = {.padding = SN_PADDING_SAME};
  sn_tensor *in[] = {sn_placeholder(f.ctx, SN_F32, DIMS(1, SIZE, SIZE, C)),
                     sn_placeholder(f.ctx, SN_F32, DIMS(3, 3, C, C))};
  sn_tensor *y = sn_conv(in[0], in[1], 2, &same);
  size_t arena;
  assert_int_equal(kernels_of(in, 2, y, &arena), 1);
  use_winograd(true);
  assert_in_range(kernels_of(in, 2, y, &arena), 16 + 3, 16 + 12);
  use_winograd(false);
}

/* An infinity is in the windows of 3 x 3 results, and in their tiles' neighbours one place on. */
static void an_infinity_stays_in_its_tiles(void **state) {
  (void)state;
  enum { SIZE = 16, C = 64, AT = 6 };
  static float data[SIZE][SIZE][C];
  data[AT][AT][7] = INFINITY;
  sn_tensor *x = sn_from_data(f.ctx, SN_F32, DIMS(1, SIZE, SIZE, C), data);
  sn_tensor *w = sn_full(f.ctx, SN_F32, DIMS(3, 3, C, C), 1);
  use_winograd(true);
  const float *y = sn_data(sn_conv(x, w, 2, &(sn_window_options){.padding = SN_PADDING_SAME}));
  use_winograd(false);
  assert_non_null(y);
  for (int i = 0; i < SIZE * SIZE * C; i++) {
    const int down = abs(i / (SIZE * C) - AT), right = abs(i / C % SIZE - AT);
    if (down <= 1 && right <= 1) assert_true(!isfinite(y[i]));
    if (down > 2 || right > 2) assert_true(y[i] == 0);
  }
}

/* Of a stride of 2 three quarters of what the gradient would read are zeros. */
static void no_zeros_are_weighed(void **state) {
  (void)state;
  enum { SIZE = 32, C = 32, F = 48 };
  const sn_window_options options = {.strides = (const int64_t[]){2, 2},
                                     .padding = SN_PADDING_SAME};
  sn_tensor *in[] = {sn_placeholder(f.ctx, SN_F32, DIMS(1, SIZE, SIZE, C)),
                     sn_placeholder(f.ctx, SN_F32, DIMS(3, 3, C, F)),
                     sn_placeholder(f.ctx, SN_F32, DIMS(1, SIZE / 2, SIZE / 2, F))};
  sn_tensor *y = sn_conv(in[0], in[1], 2, &options), *d;
  assert_int_equal(sn_gradients(sn_sum(sn_mul(y, in[2]), SN_ALL_AXES, false), in, 1, &d), SN_OK);
  sn_program *program;
  sn_program_info info;
  assert_int_equal(sn_compile(f.ctx, in, 3, &d, 1, NULL, &program), SN_OK);
  sn_program_describe(program, &info);
  sn_program_release(program);
  assert_true(info.flops < 1.01 * 2 * (SIZE / 2) * (SIZE / 2) * 9 * C * F);
}

/* A convolution, its bias, normalisation by given statistics and an activation are one kernel,
 * which begins with the factors of the few channels. */
static void a_normalised_layer_is_one_kernel(void **state) {
  (void)state;
  enum { SIZE = 16, C = 32, F = 24 };
  size_t arena;
  sn_tensor *x = sn_placeholder(f.ctx, SN_F32, DIMS(2, SIZE, SIZE, C));
  sn_tensor *w = sn_placeholder(f.ctx, SN_F32, DIMS(3, 3, C, F)), *v[5];
  for (int i = 0; i < 5; i++) v[i] = sn_placeholder(f.ctx, SN_F32, DIMS(F));
  sn_tensor *in[] = {x, w, v[0], v[1], v[2], v[3], v[4]};
  sn_tensor *y = sn_add(sn_conv(x, w, 2, &(sn_window_options){.padding = SN_PADDING_SAME}), v[0]);
  y = sn_relu(sn_batch_norm(y, 3, v[1], v[2], v[3], v[4], 1e-5));
  assert_int_equal(kernels_of(in, 7, y, &arena), 1);
  assert_in_range(arena, 1, 64 * ((F * sizeof(float) + 63) / 64));
}

enum { BLOCK_IN = 3, BLOCK_INNER = 8, BLOCK_SIZE = 6 };

/* An inverted residual of channels first, as files of ONNX have it; `seen` is told of every value. */
static sn_tensor *inverted_residual(sn_tensor *const *in, void (*seen)(sn_tensor *)) {
  const sn_window_options one = {.channels_first = true};
  const sn_window_options each = {
      .channels_first = true, .padding = SN_PADDING_SAME, .groups = BLOCK_INNER};
  sn_tensor *zero = sn_scalar(f.ctx, 0), *six = sn_scalar(f.ctx, 6), *y = in[0];
  const int perm[] = {2, 3, 1, 0};
  for (int i = 1; i < 6; i += 2) {
    sn_tensor *w = sn_transpose(in[i], perm);
    seen(w);
    seen(y = sn_conv(y, w, 2, i == 3 ? &each : &one));
    seen(y = sn_add(y, in[i + 1]));
    if (i < 5) seen(y = sn_minimum(sn_maximum(y, zero), six));
  }
  return sn_add(sn_mul(y, y), y); /* two readers of one transpose, and two that are alike */
}

static void in_memory(sn_tensor *t) { assert_non_null(sn_data(t)); }
static void not_yet(sn_tensor *t) { assert_non_null(t); }

/* Biases, clips and what follows go with the products, whatever the order of axes; what is padded is
 * written where it goes. Kernels: the filter's channels side by side, the first product, what stands
 * around its result (2), the other two products as a chain, and a copy in the order of axes. */
static void channels_first_is_as_good_as_last(void **state) {
  (void)state;
  const int64_t dims[][4] = {{2, BLOCK_IN, BLOCK_SIZE, BLOCK_SIZE},
                             {BLOCK_INNER, BLOCK_IN, 1, 1},
                             {1, BLOCK_INNER, 1, 1},
                             {BLOCK_INNER, 1, 3, 3},
                             {1, BLOCK_INNER, 1, 1},
                             {BLOCK_IN, BLOCK_INNER, 1, 1},
                             {1, BLOCK_IN, 1, 1}};
  enum { N = 7, POINTS = 2 * BLOCK_IN * BLOCK_SIZE * BLOCK_SIZE };
  sn_tensor *in[N], *given[N];
  size_t arena;
  for (int i = 0; i < N; i++) {
    in[i] = sn_placeholder(f.ctx, SN_F32, 4, dims[i]);
    given[i] = sn_sin(ramp(f.ctx, 4, dims[i], 1));
    in_memory(given[i]);
  }
  assert_int_equal(kernels_of(in, N, inverted_residual(in, not_yet), &arena), 6);
  float fused[POINTS], plain[POINTS];
  assert_int_equal(sn_read(inverted_residual(given, not_yet), fused, sizeof fused), SN_OK);
  assert_int_equal(sn_read(inverted_residual(given, in_memory), plain, sizeof plain), SN_OK);
  assert_memory_equal(fused, plain, sizeof plain);
}

/* A matrix of its own per position of a padded axis: batches begin outside, too. */
static void padded_batches(void **state) {
  (void)state;
  enum { N = 3, M = 2, K = 128, PADDED = N + 2, COLUMNS = 3 };
  float data[PADDED][K][COLUMNS], expected[PADDED][M + 2][COLUMNS] = {0},
                                                       got[PADDED][M + 2][COLUMNS];
  float *flat = &data[0][0][0];
  for (int i = 0; i < PADDED * K * COLUMNS; i++) flat[i] = (float)(i % 7);
  sn_tensor *x = ramp(f.ctx, DIMS(N, M, K), 1);
  sn_tensor *w = sn_from_data(f.ctx, SN_F32, DIMS(PADDED, K, COLUMNS), data);
  const int64_t one[] = {1, 1, 0};
  sn_tensor *y = sn_matmul(sn_pad(x, one, one, SN_PAD_CONSTANT, 0), w);
  for (int n = 0; n < N; n++)
    for (int m = 0; m < M; m++)
      for (int c = 0; c < COLUMNS; c++)
        for (int k = 0; k < K; k++)
          expected[n + 1][m + 1][c] += (float)((n * M + m) * K + k + 1) * data[n + 1][k][c];
  assert_int_equal(sn_read(y, got, sizeof got), SN_OK);
  assert_memory_equal(got, expected, sizeof got);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void what_does_not_fit_is_named(void **state) {
  (void)state;
  sn_tensor *x = sn_full(f.ctx, SN_F32, DIMS(1, 5, 6, 4), 0);
  sn_tensor *w = sn_full(f.ctx, SN_F32, DIMS(3, 3, 4, 8), 0);
  sn_tensor *flat = sn_full(f.ctx, SN_F32, DIMS(3, 4, 8), 0);
#define SPEC "x (1, 5, 6, 4), filter (3, 3, 4, 8), strides "
#define CONV(...) sn_conv(x, w, 2, &(sn_window_options){__VA_ARGS__})
#define PER_AXIS(...) ((const int64_t[]){__VA_ARGS__})
  REFUSED(CONV(.strides = PER_AXIS(0, 1)), SN_ERR_SHAPE,
          "conv2d: strides must be 1 or more: " SPEC
          "(0, 1), dilation (1, 1), padding valid, groups 1");
  REFUSED(CONV(.dilation = PER_AXIS(1, -1)), SN_ERR_SHAPE,
          "conv2d: dilation must be 1 or more: " SPEC
          "(1, 1), dilation (1, -1), padding valid, groups 1");
  REFUSED(CONV(.groups = 3), SN_ERR_SHAPE,
          "conv2d: groups do not divide the channels: " SPEC
          "(1, 1), dilation (1, 1), padding valid, groups 3");
  REFUSED(CONV(.groups = -1), SN_ERR_SHAPE,
          "conv2d: groups must be 1 or more: " SPEC
          "(1, 1), dilation (1, 1), padding valid, groups -1");
  REFUSED(CONV(.groups = 2), SN_ERR_SHAPE,
          "conv2d: channels differ: " SPEC "(1, 1), dilation (1, 1), padding valid, groups 2");
  REFUSED(CONV(.padding = SN_PADDING_EXPLICIT, .before = PER_AXIS(1, INT64_MAX)), SN_ERR_SHAPE,
          "conv2d: the result is too large: " SPEC
          "(1, 1), dilation (1, 1), padding (1, 9223372036854775807) and (0, 0), groups 1");
  REFUSED(CONV(.padding = SN_PADDING_EXPLICIT, .after = PER_AXIS(1, -2)), SN_ERR_SHAPE,
          "conv2d: padding is negative: " SPEC
          "(1, 1), dilation (1, 1), padding (0, 0) and (1, -2), groups 1");
  REFUSED(CONV(.dilation = PER_AXIS(3, 1)), SN_ERR_SHAPE,
          "conv2d: the window is larger than the input: " SPEC
          "(1, 1), dilation (3, 1), padding valid, groups 1");
  REFUSED(CONV(.dilation = PER_AXIS(INT64_MAX, 1), .padding = SN_PADDING_SAME), SN_ERR_SHAPE,
          "conv2d: the window is too large: " SPEC
          "(1, 1), dilation (9223372036854775807, 1), padding same, groups 1");
  REFUSED(sn_conv(x, flat, 2, NULL), SN_ERR_SHAPE,
          "conv2d: ranks do not fit: x (1, 5, 6, 4), filter (3, 4, 8), strides (1, 1), dilation "
          "(1, 1), padding valid, groups 1");
  REFUSED(sn_conv(x, w, 4, NULL), SN_ERR_ARGUMENT, "conv4d: spatial axes must be 1 to 3");
  REFUSED(sn_conv_transpose(x, w, 2, NULL), SN_ERR_SHAPE,
          "convTranspose2d: channels differ: " SPEC
          "(1, 1), dilation (1, 1), padding valid, groups 1");
  REFUSED(sn_max_pool(x, PER_AXIS(2, 0), 2, NULL), SN_ERR_SHAPE,
          "maxPool2d: strides must be 1 or more: x (1, 5, 6, 4), window (2, 0), strides (2, 0), "
          "dilation (1, 1), padding valid");
  REFUSED(sn_avg_pool(x, PER_AXIS(6, 2), 2, NULL), SN_ERR_SHAPE,
          "avgPool2d: the window is larger than the input: x (1, 5, 6, 4), window (6, 2), strides "
          "(6, 2), dilation (1, 1), padding valid");
  REFUSED(sn_avg_pool(x, PER_AXIS(2), 1, NULL), SN_ERR_SHAPE,
          "avgPool1d: ranks do not fit: x (1, 5, 6, 4), window (2,), strides (2,), dilation (1,), "
          "padding valid");
  assert_null(sn_conv(NULL, w, 2, NULL));
  assert_null(sn_max_pool(NULL, PER_AXIS(2), 1, NULL));
}

/* Sizes are refused before anything of theirs is asked for. */
static void sizes_that_overflow_are_refused_at_once(void **state) {
  (void)state;
  const int64_t far = (int64_t)1 << 40;
  sn_tensor *x = sn_full(f.ctx, SN_F32, DIMS(1, 3, 1), 0),
            *w = sn_full(f.ctx, SN_F32, DIMS(2, 1, 1), 0);
  const sn_window_options apart = {.strides = &far};
  f.ledger.largest = 0;
  sn_tensor *wide = sn_broadcast_to(x, DIMS(far, 3, 1));
  assert_null(sn_conv_transpose(wide, w, 1, &apart));
  expect_error(f.ctx, SN_ERR_MEMORY,
               "convTranspose1d: shape (1099511627776, 2199023255555, 1) is too large");
  assert_true(f.ledger.largest < 1 << 20);
}

/* A pad without axes is no frame: packing took it for one and divided by its lack of steps. */
static void scalar_padded_and_multiplied(void **state) {
  (void)state;
  enum { N = 40 };
  float expected[N];
  for (int i = 0; i < N; i++) expected[i] = 3 * (float)(i + 1);
  sn_tensor *x = sn_from_data(f.ctx, SN_F32, 0, NULL, &(float){3});
  sn_tensor *y = sn_reshape(sn_pad(x, NULL, NULL, SN_PAD_CONSTANT, 0), DIMS(1, 1));
  assert_int_equal(sn_pass_enable(f.ctx, "layout", false), SN_OK);   /* it leaves out the pad */
  assert_int_equal(sn_pass_enable(f.ctx, "simplify", false), SN_OK); /* so does it */
  expect_values(sn_matmul(y, ramp(f.ctx, DIMS(1, N), 1)), expected, N);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(random_convolutions_are_plain_loops),
      TEST(random_pools_are_plain_loops),
      TEST(spread_inputs_are_plain_loops),
      TEST(no_zeros_are_weighed),
      TEST(fewer_products_are_plain_loops),
      TEST(fewer_products_are_asked_for),
      TEST(an_infinity_stays_in_its_tiles),
      TEST(an_infinite_tap_reaches_its_results_only),
      TEST(pools_step_by_their_window),
      TEST(not_a_number_reaches_its_windows_only),
      TEST(empty_batches_and_channels),
      TEST(windows_are_never_copied),
      TEST(a_normalised_layer_is_one_kernel),
      TEST(channels_first_is_as_good_as_last),
      TEST(padded_batches),
      TEST(what_does_not_fit_is_named),
      TEST(sizes_that_overflow_are_refused_at_once),
      TEST(scalar_padded_and_multiplied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
