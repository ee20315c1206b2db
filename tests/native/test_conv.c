/* test_conv.c - convolution and pooling against plain loops, over random configurations, with the
 * gradients of every input; what is refused, and with which words. */
#include <math.h>
#include <stdio.h>

#include "api_support.h"

enum { AXES = 3 };

/* One configuration, as the caller writes it. */
typedef struct spec {
  int axes;
  int64_t n, channels, filters, size[AXES], window[AXES];
  int64_t stride[AXES], dilation[AXES], before[AXES], after[AXES];
  sn_window_options options;
  bool transposed;
  /* what it means */
  int64_t low[AXES], out[AXES];
} spec;

static int64_t draw(uint64_t *seed, int64_t most) {
  return 1 + (int64_t)(next_random(seed) % (uint64_t)most);
}

static int64_t span_of(const spec *s, int i) { return (s->window[i] - 1) * s->dilation[i] + 1; }

/* Sizes of the result and where the first window begins; false if there is no window. */
static bool place(spec *s) {
  for (int i = 0; i < s->axes; i++) {
    const int64_t span = span_of(s, i), n = s->size[i], t = s->stride[i];
    const bool same = s->options.padding == SN_PADDING_SAME;
    const bool given = s->options.padding == SN_PADDING_EXPLICIT;
    const int64_t before = given ? s->before[i] : 0, after = given ? s->after[i] : 0;
    if (s->transposed) {
      s->out[i] = same ? n * t : (n - 1) * t + span - before - after;
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

static spec draw_spec(uint64_t *seed) {
  spec s;
  do {
    s = (spec){.axes = (int)draw(seed, AXES), .n = draw(seed, 2)};
    s.transposed = draw(seed, 3) == 1;
    const int64_t groups = draw(seed, 3), c = draw(seed, 3), per = draw(seed, 3);
    s.channels = groups * c;
    s.filters = groups * per;
    s.options = (sn_window_options){.padding = (sn_padding)(draw(seed, 3) - 1),
                                    .groups = groups,
                                    .channels_first = draw(seed, 2) == 1};
    const int64_t largest = s.axes == 3 ? 4 : 7;
    for (int i = 0; i < s.axes; i++) {
      s.size[i] = draw(seed, largest);
      s.window[i] = draw(seed, 3);
      s.stride[i] = draw(seed, 3);
      s.dilation[i] = draw(seed, 2);
      s.before[i] = draw(seed, span_of(&s, i)) - 1;
      s.after[i] = draw(seed, span_of(&s, i)) - 1;
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

static sn_tensor *noise(uint64_t *seed, sn_dtype dtype, int rank, const int64_t *dims,
                        double *values) {
  void *data;
  sn_tensor *t = sn_empty(f.ctx, dtype, rank, dims, &data);
  assert_non_null(t);
  for (int64_t i = 0; i < sn_size(t); i++) {
    values[i] = (double)(next_random(seed) % 64) / 32 - 1; /* float32 holds it */
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

static void check_spec(spec *s, uint64_t *seed, sn_dtype dtype) {
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
static void check(spec *s, uint64_t *seed, sn_dtype dtype, bool passes) {
  for (int i = 0; i < sn_pass_count(); i++)
    assert_int_equal(sn_pass_enable(f.ctx, sn_pass_name(i), passes), SN_OK);
  assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
  check_spec(s, seed, dtype);
  sn_scope_end(f.ctx);
}

static void random_convolutions_are_plain_loops(void **state) {
  (void)state;
  const int n = test_short() ? 60 : 600;
  uint64_t seed = 7;
  for (int i = 0; i < n; i++) {
    const uint64_t start = seed;
    spec s = draw_spec(&seed);
    print_message(i % 100 ? "" : "configuration %d, seed %llu\n", i, (unsigned long long)start);
    check(&s, &seed, i % 4 ? SN_F64 : SN_F32, i % 5 != 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(random_convolutions_are_plain_loops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
