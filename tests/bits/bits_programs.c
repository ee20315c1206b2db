/* bits_programs.c - whole programs: networks and their training steps, compiled and run as users
 * do, derivatives of derivatives, and programs over scalars. */
#include "bits/bits.h"

#define SUM_ALL(x) sn_sum(x, SN_ALL_AXES, false)

static sn_tensor *number(bits_run *r, double value) { return sn_scalar(r->ctx, value); }

/* ---- training steps -------------------------------------------------------------------------- */

enum { MOST_PARAMETERS = 8 };

typedef struct network {
  size_t count; /* of parameters; then come the inputs x and labels */
  int64_t dims[MOST_PARAMETERS][4];
  int ranks[MOST_PARAMETERS];
  int x_rank;
  int64_t x_dims[4];
  sn_tensor *(*loss)(bits_run *r, sn_tensor **p, sn_tensor *x, sn_tensor *labels);
} network;

static sn_tensor *dense_loss(bits_run *r, sn_tensor **p, sn_tensor *x, sn_tensor *labels) {
  (void)r;
  sn_tensor *hidden = sn_relu(sn_add(sn_matmul(x, p[0]), p[1]));
  sn_tensor *again = sn_tanh(sn_add(sn_matmul(hidden, p[2]), p[3]));
  sn_tensor *logits = sn_add(sn_matmul(again, p[4]), p[5]);
  return sn_mean(sn_softmax_cross_entropy(logits, labels, SN_DEFAULT), SN_ALL_AXES, false);
}

static sn_tensor *conv_loss(bits_run *r, sn_tensor **p, sn_tensor *x, sn_tensor *labels) {
  (void)r;
  static const int64_t window[] = {2, 2};
  const sn_window_options same = {.padding = SN_PADDING_SAME};
  sn_tensor *a = sn_max_pool(sn_relu(sn_conv(x, p[0], 2, &same)), window, 2, NULL);
  sn_tensor *b = sn_max_pool(sn_relu(sn_conv(a, p[1], 2, &same)), window, 2, NULL);
  sn_tensor *flat = sn_reshape(b, BITS_DIMS(sn_dims(b)[0], -1));
  sn_tensor *logits = sn_add(sn_matmul(flat, p[2]), p[3]);
  return sn_mean(sn_softmax_cross_entropy(logits, labels, SN_DEFAULT), SN_ALL_AXES, false);
}

/* One block of a transformer over (batch, tokens, width), pooled over the tokens. */
static sn_tensor *transformer_loss(bits_run *r, sn_tensor **p, sn_tensor *x, sn_tensor *labels) {
  (void)r;
  const int64_t n = sn_dims(x)[0], t = sn_dims(x)[1], width = sn_dims(x)[2];
  sn_tensor *heads[3], *norm = sn_layer_norm(x, 1u << (sn_rank(x) - 1), p[0], p[1], 1e-5);
  for (int i = 0; i < 3; i++)
    heads[i] = sn_transpose(sn_reshape(sn_matmul(norm, p[2 + i]), BITS_DIMS(n, t, 4, width / 4)),
                            (int[]){0, 2, 1, 3});
  sn_tensor *seen = sn_attention(heads[0], heads[1], heads[2], true, NULL, NULL, 0.25);
  sn_tensor *y = sn_reshape(sn_transpose(seen, (int[]){0, 2, 1, 3}), BITS_DIMS(n, t, width));
  sn_tensor *z = sn_add(x, sn_matmul(y, p[5]));
  sn_tensor *out = sn_add(z, sn_gelu(sn_matmul(sn_rms_norm(z, NULL, 1e-6), p[6])));
  sn_tensor *logits = sn_matmul(sn_mean(out, 2, false), p[7]);
  return sn_mean(sn_softmax_cross_entropy(logits, labels, SN_DEFAULT), SN_ALL_AXES, false);
}

static const network networks[] = {
    {6,
     {{33, 64}, {64}, {64, 40}, {40}, {40, 10}, {10}},
     {2, 1, 2, 1, 2, 1},
     2,
     {128, 33},
     dense_loss},
    {4,
     {{3, 3, 1, 8}, {3, 3, 8, 12}, {588, 10}, {10}},
     {4, 4, 2, 1},
     4,
     {16, 28, 28, 1},
     conv_loss},
    {8,
     {{32}, {32}, {32, 32}, {32, 32}, {32, 32}, {32, 32}, {32, 32}, {32, 10}},
     {1, 1, 2, 2, 2, 2, 2, 2},
     3,
     {6, 37, 32},
     transformer_loss},
};
enum { NETWORKS = sizeof networks / sizeof *networks };

/* p' = p - rate (g + g / sqrt(g^2 + 1)), as one compiled program that may overwrite p. Three
 * steps. */
static void training(bits_run *r, int which) {
  const network *net = &networks[which];
  const size_t n = net->count;
  sn_tensor *args[MOST_PARAMETERS + 2], *values[MOST_PARAMETERS + 2], *outs[MOST_PARAMETERS + 1],
      *slopes[MOST_PARAMETERS] = {NULL};
  bool donate[MOST_PARAMETERS + 2] = {false};
  for (size_t i = 0; i < n; i++) {
    args[i] = sn_placeholder(r->ctx, SN_F32, net->ranks[i], net->dims[i]);
    values[i] =
        sn_mul(bits_input(r, SN_F32, BITS_UNIT, net->ranks[i], net->dims[i]), number(r, 0.25));
    donate[i] = true;
  }
  args[n] = sn_placeholder(r->ctx, SN_F32, net->x_rank, net->x_dims);
  args[n + 1] = sn_placeholder(r->ctx, SN_I32, 1, net->x_dims);
  values[n] = bits_input(r, SN_F32, BITS_UNIT, net->x_rank, net->x_dims);
  values[n + 1] = bits_input(r, SN_I32, BITS_PLACE, 1, net->x_dims);
  sn_tensor *loss = outs[n] = net->loss(r, args, args[n], args[n + 1]);
  (void)sn_gradients(loss, args, n, slopes);
  for (size_t i = 0; i < n; i++) {
    sn_tensor *g = slopes[i], *root = sn_rsqrt(sn_add(sn_square(g), number(r, 1)));
    outs[i] = sn_sub(args[i], sn_mul(sn_add(g, sn_mul(g, root)), number(r, 0.05)));
  }
  sn_program *program = NULL;
  if (sn_compile(r->ctx, args, n + 2, outs, n + 1, donate, &program)) {
    bits_result(r, NULL);
    return;
  }
  for (int step = 0; step < 3; step++) {
    sn_tensor *made[MOST_PARAMETERS + 1] = {NULL};
    if (sn_program_run(program, values, made)) break;
    for (size_t i = 0; i < n; i++) values[i] = made[i];
    bits_result(r, made[n]);
  }
  for (size_t i = 0; i < n; i++) bits_result(r, values[i]);
  sn_program_release(program);
}

/* ---- programs written out -------------------------------------------------------------------- */

/* An LSTM over `steps` tokens, and the gradients of its weights. */
static void lstm(bits_run *r, int which) {
  const int64_t batch = which ? 33 : 1, width = which ? 24 : 5;
  const int steps = which ? 9 : 20;
  sn_tensor *w = sn_variable(BITS_F32(r, width, 4 * width)),
            *u = sn_variable(BITS_F32(r, width, 4 * width)),
            *b = sn_variable(BITS_F32(r, 4 * width));
  const int64_t zeros[] = {0, 0}, size[] = {batch, width}, ones[] = {1, 1};
  sn_tensor *h = sn_full(r->ctx, SN_F32, 2, size, 0), *c = h, *wrt[] = {w, u, b},
            *slopes[3] = {NULL};
  sn_tensor *x = BITS_F32(r, steps, batch, width);
  for (int t = 0; t < steps; t++) {
    sn_tensor *token = sn_reshape(
        sn_slice(x, (int64_t[]){t, 0, 0}, (int64_t[]){1, batch, width}, (int64_t[]){1, 1, 1}), 2,
        size);
    sn_tensor *all = sn_add(sn_add(sn_matmul(token, w), sn_matmul(h, u)), b), *gates[4];
    for (int i = 0; i < 4; i++)
      gates[i] = sn_slice(all, (int64_t[]){zeros[0], i * width}, size, ones);
    c = sn_add(sn_mul(sn_sigmoid(gates[0]), c), sn_mul(sn_sigmoid(gates[1]), sn_tanh(gates[2])));
    h = sn_mul(sn_sigmoid(gates[3]), sn_tanh(c));
  }
  (void)sn_gradients(SUM_ALL(sn_square(h)), wrt, 3, slopes);
  bits_result(r, h);
  bits_result(r, c);
  for (int i = 0; i < 3; i++) bits_result(r, slopes[i]);
}

/* Twenty steps of a cooling body with a controller, all of scalars, and the gradient by its
 * gains. */
static void simulation(bits_run *r, int which) {
  const sn_dtype dtype = which ? SN_F64 : SN_F32;
  sn_tensor *gains = sn_variable(bits_input(r, dtype, BITS_SURE, BITS_DIMS(3))), *g[3],
            *slope = NULL;
  for (int i = 0; i < 3; i++)
    g[i] = sn_reshape(sn_slice(gains, (int64_t[]){i}, (int64_t[]){1}, (int64_t[]){1}), 0, NULL);
  sn_tensor *heat = number(r, 12), *sum = number(r, 0), *cost = number(r, 0);
  for (int t = 0; t < 20; t++) {
    sn_tensor *error = sn_sub(number(r, 20 + t % 3), heat);
    sum = sn_add(sum, sn_mul(error, number(r, 0.1)));
    sn_tensor *wanted = sn_add(sn_mul(g[0], error), sn_mul(g[1], sum));
    sn_tensor *power = sn_minimum(sn_maximum(wanted, number(r, 0)), number(r, 5));
    sn_tensor *loss = sn_mul(g[2], sn_sub(heat, number(r, 5)));
    heat = sn_add(heat, sn_mul(sn_sub(power, sn_mul(loss, number(r, 0.05))), number(r, 0.2)));
    cost = sn_add(cost, sn_add(sn_square(error), sn_mul(sn_exp(sn_neg(power)), number(r, 0.1))));
  }
  (void)sn_gradients(cost, &gains, 1, &slope);
  bits_result(r, cost);
  bits_result(r, heat);
  bits_result(r, slope);
}

/* The gradient of the length of a gradient. */
static void second_derivatives(bits_run *r, int which) {
  sn_tensor *x = sn_variable(BITS_F32(r, 21, 13)), *w = sn_variable(BITS_F32(r, 13, 13));
  sn_tensor *y = sn_matmul(x, w);
  if (which == 0) y = sn_tanh(y);
  if (which == 1) y = sn_softmax(y, -1);
  if (which == 2) y = sn_layer_norm(sn_sin(y), 1u << (sn_rank(y) - 1), NULL, NULL, 1e-3);
  sn_tensor *wrt[] = {x, w}, *first[2] = {NULL}, *second[2] = {NULL};
  (void)sn_gradients(SUM_ALL(sn_mul(y, sn_square(y))), wrt, 2, first);
  (void)sn_gradients(sn_add(SUM_ALL(sn_square(first[0])), SUM_ALL(sn_square(first[1]))), wrt, 2,
                     second);
  for (int i = 0; i < 2; i++) {
    bits_result(r, first[i]);
    bits_result(r, second[i]);
  }
}

/* Maps, reductions and rows that read each other's values in several shapes. */
static void mixtures(bits_run *r, int which) {
  sn_tensor *x = BITS_F32(r, 37, 129), *y = BITS_F32(r, 129), *z = BITS_F32(r, 37, 1);
  sn_tensor *a = sn_mul(sn_sub(x, sn_mean(x, 2, true)), sn_exp(y));
  sn_tensor *b = sn_add(sn_max(a, 1, true), sn_log1p(sn_abs(sn_mul(a, z))));
  if (which == 0) {
    bits_result(r, sn_sum(sn_where(sn_less(a, b), a, sn_sqrt(sn_abs(b))), 2, false));
    bits_result(r, sn_argmax(b, 1, false));
  } else if (which == 1) {
    sn_tensor *t = sn_transpose(b, NULL);
    bits_result(r, sn_matmul(sn_softmax(a, -1), sn_add(t, number(r, 1))));
    bits_result(r, sn_cumsum(sn_sum(t, 2, false), 0, false, true));
  } else {
    sn_tensor *half = sn_astype(b, SN_F16), *rows = sn_concat((sn_tensor *[]){a, b}, 2, 0);
    bits_result(r, sn_mul(half, sn_astype(y, SN_F16)));
    bits_result(r, sn_logsumexp(rows, 2, false));
    bits_result(r, sn_std(rows, 1, false, 1));
  }
}

const bits_family bits_programs[] = {
    {"training", training, NETWORKS},  {"lstm", lstm, 2},        {"simulation", simulation, 2},
    {"second", second_derivatives, 3}, {"mixture", mixtures, 3},
};
const size_t bits_programs_count = sizeof bits_programs / sizeof *bits_programs;
