/* bits_ops.c - the cases of ops that are not elementwise: reductions, products, convolutions,
 * norms, indices, order. Sizes are odd, around vectors and strips, and long enough to be cut in
 * pieces. */
#include "bits/bits.h"

#include <math.h>

#define NEITHER SN_ALL_AXES, false

/* ---- reductions ------------------------------------------------------------------------------ */

static const struct {
  sn_dtype dtype;
  uint32_t axes;
  bool keepdims, transposed;
  int rank;
  int64_t dims[4];
} spaces[] = {
    {SN_F32, SN_ALL_AXES, false, false, 1, {1}},
    {SN_F32, SN_ALL_AXES, false, false, 1, {1037}},
    {SN_F32, SN_ALL_AXES, false, false, 1, {300007}},
    {SN_F64, SN_ALL_AXES, false, false, 1, {70001}},
    {SN_I32, SN_ALL_AXES, true, false, 2, {67, 129}},
    {SN_F32, 1, false, false, 2, {1031, 67}},
    {SN_F32, 2, true, false, 2, {67, 4099}},
    {SN_F32, 2, false, true, 2, {513, 255}},
    {SN_F32, 5, false, false, 3, {33, 17, 65}},
    {SN_F64, 10, false, false, 4, {3, 31, 5, 33}},
    {SN_BF16, 2, false, false, 2, {5, 777}},
    {SN_BOOL, 1, false, false, 2, {257, 9}},
};
enum { SPACES = sizeof spaces / sizeof *spaces };

static sn_tensor *space(bits_run *r, int i, bits_values values) {
  sn_tensor *x = bits_input(r, spaces[i].dtype, values, spaces[i].rank, spaces[i].dims);
  return spaces[i].transposed ? sn_transpose(x, NULL) : x;
}

static void sums(bits_run *r, int i) {
  sn_tensor *x = space(r, i, BITS_UNIT);
  bits_result(r, sn_sum(x, spaces[i].axes, spaces[i].keepdims));
  bits_result(r, sn_mean(sn_mul(x, x), spaces[i].axes, spaces[i].keepdims));
  bits_result(r, sn_var(x, spaces[i].axes, spaces[i].keepdims, 1));
}

static void extremes(bits_run *r, int i) {
  sn_tensor *x = space(r, i, BITS_WIDE);
  bits_result(r, sn_max(x, spaces[i].axes, spaces[i].keepdims));
  bits_result(r, sn_min(x, spaces[i].axes, spaces[i].keepdims));
  bits_result(r, sn_any(x, spaces[i].axes, spaces[i].keepdims));
  bits_result(r, sn_all(x, spaces[i].axes, spaces[i].keepdims));
  bits_result(r, sn_argmax(x, -1, spaces[i].keepdims));
  bits_result(r, sn_argmin(x, 0, spaces[i].keepdims));
}

static void lengths(bits_run *r, int i) {
  sn_tensor *x = space(r, i, BITS_SURE);
  bits_result(r, sn_prod(x, spaces[i].axes, spaces[i].keepdims));
  bits_result(r, sn_std(x, spaces[i].axes, spaces[i].keepdims, 0));
  bits_result(r, sn_logsumexp(x, spaces[i].axes, spaces[i].keepdims));
  bits_result(r, sn_norm(x, spaces[i].axes, spaces[i].keepdims, 2));
  bits_result(r, sn_norm(x, spaces[i].axes, spaces[i].keepdims, 3));
  bits_result(r, sn_norm(x, spaces[i].axes, spaces[i].keepdims, INFINITY));
}

/* ---- matrix products ------------------------------------------------------------------------- */

static const struct {
  sn_dtype dtype;
  int64_t batch, m, k, n;
  bool a_turned, b_turned;
} products[] = {
    {SN_F32, 0, 1, 1, 1, false, false},      {SN_F32, 0, 3, 5, 7, false, false},
    {SN_F32, 0, 1, 129, 65, false, false},   {SN_F32, 0, 65, 129, 1, false, false},
    {SN_F32, 0, 17, 33, 49, true, false},    {SN_F32, 0, 64, 64, 64, false, true},
    {SN_F32, 0, 129, 257, 65, true, true},   {SN_F32, 0, 253, 1031, 127, false, false},
    {SN_F32, 0, 31, 2500, 33, false, false}, {SN_F32, 0, 6, 0, 4, false, false},
    {SN_F64, 0, 37, 65, 29, false, false},   {SN_F64, 0, 100, 600, 50, true, false},
    {SN_I32, 0, 33, 70, 41, false, false},   {SN_BOOL, 0, 9, 20, 5, false, true},
    {SN_F16, 0, 40, 50, 60, false, false},   {SN_BF16, 0, 33, 65, 17, false, true},
    {SN_F32, 5, 3, 4, 5, false, false},      {SN_F32, 9, 33, 31, 35, true, false},
    {SN_F32, 300, 2, 2, 2, false, false},    {SN_F64, 4, 20, 30, 10, false, true},
};
enum { PRODUCTS = sizeof products / sizeof *products };

static sn_tensor *matrix(bits_run *r, sn_dtype dtype, int64_t batch, int64_t rows, int64_t cols,
                         bool turned) {
  const int64_t dims[] = {batch, turned ? cols : rows, turned ? rows : cols};
  sn_tensor *x = bits_input(r, dtype, BITS_UNIT, batch ? 3 : 2, batch ? dims : dims + 1);
  return turned ? sn_transpose(x, batch ? (int[]){0, 2, 1} : (int[]){1, 0}) : x;
}

static void product(bits_run *r, int i) {
  sn_tensor *a = matrix(r, products[i].dtype, products[i].batch, products[i].m, products[i].k,
                        products[i].a_turned);
  sn_tensor *b =
      matrix(r, products[i].dtype, 0, products[i].k, products[i].n, products[i].b_turned);
  bits_result(r, sn_matmul(a, b));
  if (products[i].batch) {
    sn_tensor *each = matrix(r, products[i].dtype, products[i].batch, products[i].k, products[i].n,
                             products[i].b_turned);
    bits_result(r, sn_matmul(a, each));
  }
}

/* What is fused into packing and into the tile. */
static void dense(bits_run *r, int i) {
  const int64_t m = i ? 130 : 7, k = i ? 300 : 12, n = i ? 70 : 9;
  sn_tensor *x = BITS_F32(r, m, k), *w = BITS_F32(r, k, n), *b = BITS_F32(r, n);
  sn_tensor *y = sn_relu(sn_add(sn_matmul(sn_tanh(x), w), b));
  bits_result(r, y);
  bits_result(r, sn_sum(y, 1, false));
  bits_result(r, sn_gelu(sn_matmul(x, sn_mul(w, sn_exp(w)))));
}

/* Bytes whose float16 are finite. */
static sn_tensor *some_blocks(bits_run *r, int64_t rows, int64_t bytes) {
  sn_tensor *x = BITS_F32(r, rows, bytes), *sixty = sn_scalar(r->ctx, 60);
  return sn_astype(sn_add(sn_mul(x, sixty), sixty), SN_U8);
}

/* Number k is kind k. */
static void blocks(bits_run *r, int kind) {
  static const int64_t bytes[] = {18, 20, 22, 24, 34, 144, 176, 210};
  const int64_t k = kind < 5 ? 96 : 768;
  sn_tensor *rows = some_blocks(r, 37, 3 * bytes[kind]);
  bits_result(r, sn_dequantize_blocks(rows, (sn_block_kind)kind));
  bits_result(r, sn_matmul_blocks(BITS_F32(r, k), rows, (sn_block_kind)kind));
  bits_result(r, sn_matmul_blocks(BITS_F32(r, 3, 5, k), rows, (sn_block_kind)kind));
  bits_result(r, sn_matmul_dequantized(BITS_F32(r, 7, 37), rows, (sn_block_kind)kind));
}

static void einsums(bits_run *r, int number) {
  static const char *const specs[] = {"ij,jk->ik",      "bij,bkj->bik",    "ii->i",
                                      "ijk,kl,lm->ijm", "bhid,bhjd->bhij", "i,j,k->ijk",
                                      "ab,bc,cd,de->ae"};
  sn_tensor *m = BITS_F32(r, 13, 13), *t = BITS_F32(r, 4, 13, 13), *h = BITS_F32(r, 2, 3, 9, 17),
            *v = BITS_F32(r, 11);
  sn_tensor *const operands[][4] = {{m, m}, {t, t},    {m},         {t, m, m},
                                    {h, h}, {v, v, v}, {m, m, m, m}};
  static const size_t counts[] = {2, 2, 1, 3, 2, 3, 4};
  bits_result(r, sn_einsum(specs[number], operands[number], counts[number]));
}

/* ---- windows --------------------------------------------------------------------------------- */

static const struct {
  int axes;
  int64_t x[5], filter[5];
  int64_t strides[3], dilation[3], groups;
  sn_padding padding;
  bool channels_first;
} convolutions[] = {
    {1, {2, 50, 3}, {5, 3, 8}, {1}, {1}, 1, SN_PADDING_SAME, false},
    {1, {1, 301, 4}, {9, 4, 5}, {3}, {2}, 1, SN_PADDING_VALID, false},
    {2, {2, 14, 13, 3}, {3, 3, 3, 8}, {1, 1}, {1, 1}, 1, SN_PADDING_SAME, false},
    {2, {2, 15, 17, 16}, {3, 3, 16, 24}, {2, 2}, {1, 1}, 1, SN_PADDING_SAME, false},
    {2, {1, 28, 28, 32}, {5, 5, 32, 16}, {1, 1}, {1, 1}, 1, SN_PADDING_VALID, false},
    {2, {2, 12, 12, 8}, {3, 3, 1, 8}, {1, 1}, {1, 1}, 8, SN_PADDING_SAME, false},
    {2, {1, 11, 9, 6}, {3, 2, 3, 4}, {1, 2}, {2, 1}, 2, SN_PADDING_VALID, false},
    {2, {2, 5, 10, 12}, {1, 1, 5, 7}, {1, 1}, {1, 1}, 1, SN_PADDING_VALID, true},
    {3, {1, 5, 6, 7, 2}, {3, 2, 3, 2, 4}, {1, 1, 2}, {1, 1, 1}, 1, SN_PADDING_SAME, false},
};
enum { CONVOLUTIONS = sizeof convolutions / sizeof *convolutions };

static sn_window_options windows_of(int i) {
  return (sn_window_options){.strides = convolutions[i].strides,
                             .dilation = convolutions[i].dilation,
                             .padding = convolutions[i].padding,
                             .groups = convolutions[i].groups,
                             .channels_first = convolutions[i].channels_first};
}

static void convolution(bits_run *r, int i) {
  const sn_window_options options = windows_of(i);
  const int axes = convolutions[i].axes;
  sn_tensor *x = sn_variable(bits_input(r, SN_F32, BITS_UNIT, axes + 2, convolutions[i].x));
  sn_tensor *w = sn_variable(bits_input(r, SN_F32, BITS_UNIT, axes + 2, convolutions[i].filter));
  sn_tensor *y = sn_conv(x, w, axes, &options), *slopes[2] = {NULL};
  (void)sn_gradients(sn_sum(sn_mul(y, sn_sin(y)), NEITHER), (sn_tensor *[]){x, w}, 2, slopes);
  bits_result(r, y);
  bits_result(r, slopes[0]);
  bits_result(r, slopes[1]);
}

/* With fewer products, and its gradients: sides that tiles divide and do not. */
static void winograd_convolution(bits_run *r, int i) {
  const sn_window_options options = {.padding = i ? SN_PADDING_VALID : SN_PADDING_SAME};
  sn_tensor *x = sn_variable(bits_input(r, SN_F32, BITS_UNIT, BITS_DIMS(2, 14 + i, 13, 48)));
  sn_tensor *w = sn_variable(bits_input(r, SN_F32, BITS_UNIT, BITS_DIMS(3, 3, 48, 40)));
  sn_tensor *y = sn_conv(x, w, 2, &options), *slopes[2] = {NULL};
  (void)sn_gradients(sn_sum(sn_mul(y, sn_sin(y)), NEITHER), (sn_tensor *[]){x, w}, 2, slopes);
  (void)sn_pass_enable(r->ctx, "winograd", true);
  bits_result(r, y);
  bits_result(r, slopes[0]);
  bits_result(r, slopes[1]);
  (void)sn_pass_enable(r->ctx, "winograd", false);
}

/* The transpose: the filter's two last axes are in the other order. */
static void transposed_convolution(bits_run *r, int i) {
  const int64_t steps[] = {i + 1, i + 1};
  const sn_window_options options = {.strides = steps,
                                     .padding = i ? SN_PADDING_SAME : SN_PADDING_VALID};
  sn_tensor *x = sn_variable(BITS_F32(r, 2, 7, 6, 5)), *w = sn_variable(BITS_F32(r, 3, 3, 4, 5));
  sn_tensor *y = sn_conv_transpose(x, w, 2, &options), *slopes[2] = {NULL};
  (void)sn_gradients(sn_sum(sn_square(y), NEITHER), (sn_tensor *[]){x, w}, 2, slopes);
  bits_result(r, y);
  bits_result(r, slopes[0]);
  bits_result(r, slopes[1]);
}

static void pools(bits_run *r, int i) {
  static const int64_t windows[][2] = {{2, 2}, {3, 3}, {3, 2}}, steps[] = {2, 1};
  const sn_window_options options = {.strides = i == 2 ? steps : NULL,
                                     .padding = i == 1 ? SN_PADDING_SAME : SN_PADDING_VALID};
  sn_tensor *x = sn_variable(BITS_F32(r, 2, 13, 16, 5)), *slope = NULL;
  sn_tensor *top = sn_max_pool(x, windows[i], 2, &options);
  sn_tensor *mean = sn_avg_pool(x, windows[i], 2, &options);
  (void)sn_gradients(sn_sum(sn_mul(top, mean), NEITHER), &x, 1, &slope);
  bits_result(r, top);
  bits_result(r, mean);
  bits_result(r, sn_sum_pool(x, windows[i], 2, &options));
  bits_result(r, slope);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct {
  sn_dtype dtype;
  int64_t rows, cols;
  int axis;
} rows[] = {{SN_F32, 5, 1, -1},    {SN_F32, 300, 10, -1}, {SN_F32, 33, 257, -1},
            {SN_F32, 9, 4099, -1}, {SN_F32, 130, 65, 0},  {SN_F64, 17, 100, -1}};
enum { ROWS = sizeof rows / sizeof *rows };

static void softmaxes(bits_run *r, int i) {
  sn_tensor *x = bits_input(r, rows[i].dtype, BITS_WIDE, BITS_DIMS(rows[i].rows, rows[i].cols));
  bits_result(r, sn_softmax(x, rows[i].axis));
  sn_tensor *u =
      sn_variable(bits_input(r, rows[i].dtype, BITS_UNIT, BITS_DIMS(rows[i].rows, rows[i].cols)));
  sn_tensor *y = sn_log_softmax(sn_mul(u, sn_scalar(r->ctx, 5)), rows[i].axis), *slope = NULL;
  (void)sn_gradients(sn_sum(sn_mul(y, sn_softmax(u, rows[i].axis)), NEITHER), &u, 1, &slope);
  bits_result(r, y);
  bits_result(r, slope);
}

static void norms(bits_run *r, int i) {
  const int64_t n = rows[i].cols;
  sn_tensor *x = sn_variable(bits_input(r, rows[i].dtype, BITS_UNIT, BITS_DIMS(rows[i].rows, n)));
  sn_tensor *w = bits_input(r, rows[i].dtype, BITS_SURE, BITS_DIMS(n)),
            *b = bits_input(r, rows[i].dtype, BITS_UNIT, BITS_DIMS(n));
  sn_tensor *layer = sn_layer_norm(x, 1u << (sn_rank(x) - 1), w, b, 1e-5),
            *rms = sn_rms_norm(x, w, 1e-6), *slope = NULL;
  sn_tensor *batch = sn_batch_norm(x, -1, NULL, NULL, w, b, 1e-5);
  sn_tensor *loss = sn_sum(sn_mul(layer, sn_add(rms, batch)), NEITHER);
  (void)sn_gradients(loss, &x, 1, &slope);
  bits_result(r, layer);
  bits_result(r, rms);
  bits_result(r, batch);
  bits_result(r, slope);
}

static void cross_entropy(bits_run *r, int i) {
  const int64_t classes = i ? 1003 : 10;
  sn_tensor *x = sn_variable(BITS_F32(r, 65, classes)), *slope = NULL;
  sn_tensor *labels = bits_input(r, SN_I32, BITS_PLACE, BITS_DIMS(65));
  sn_tensor *loss = sn_softmax_cross_entropy(sn_mul(x, sn_scalar(r->ctx, 4)), labels, SN_DEFAULT);
  (void)sn_gradients(sn_mean(loss, NEITHER), &x, 1, &slope);
  bits_result(r, loss);
  bits_result(r, slope);
  bits_result(r, sn_softmax_cross_entropy(x, sn_softmax(BITS_F32(r, 65, classes), -1), SN_DEFAULT));
}

static const struct {
  int64_t heads, shared, tokens, sources, size;
  bool causal, masked;
} attentions[] = {{1, 1, 1, 1, 4, false, false},
                  {2, 2, 17, 17, 8, true, false},
                  {4, 2, 33, 65, 16, false, true},
                  {3, 1, 130, 130, 32, true, false},
                  {2, 2, 257, 300, 24, false, false}};
enum { ATTENTIONS = sizeof attentions / sizeof *attentions };

static void attention(bits_run *r, int i) {
  const int64_t t = attentions[i].tokens, s = attentions[i].sources, d = attentions[i].size;
  sn_tensor *q = sn_variable(BITS_F32(r, 2, attentions[i].heads, t, d)),
            *k = sn_variable(BITS_F32(r, 2, attentions[i].shared, s, d)),
            *v = sn_variable(BITS_F32(r, 2, attentions[i].shared, s, d + 3)),
            *mask = attentions[i].masked ? BITS_F32(r, t, s) : NULL, *slopes[3] = {NULL};
  sn_tensor *y = sn_attention(q, k, v, attentions[i].causal, NULL, mask, (double)NAN);
  (void)sn_gradients(sn_sum(sn_mul(y, y), NEITHER), (sn_tensor *[]){q, k, v}, 3, slopes);
  bits_result(r, y);
  for (int n = 0; n < 3; n++) bits_result(r, slopes[n]);
}

/* ---- along an axis --------------------------------------------------------------------------- */

static void orders(bits_run *r, int number) {
  static const sn_dtype dtypes[] = {SN_F32, SN_I32, SN_F64, SN_BOOL};
  sn_tensor *x = bits_input(r, dtypes[number], BITS_WIDE, BITS_DIMS(7, 301));
  for (int axis = 0; axis < 2; axis++) {
    bits_result(r, sn_sort(x, axis, axis == 0));
    bits_result(r, sn_argsort(x, axis, axis == 1));
  }
}

static void scans(bits_run *r, int number) {
  const sn_dtype dtype = number == 0 ? SN_F32 : number == 1 ? SN_I32 : SN_F64;
  sn_tensor *x = bits_input(r, dtype, BITS_SURE, BITS_DIMS(5, 403));
  for (int i = 0; i < 8; i++) {
    bits_result(r, sn_cumsum(x, i & 1, i & 2, i & 4));
    bits_result(r, sn_cumprod(x, i & 1, i & 2, i & 4));
  }
}

static void takes(bits_run *r, int axis) {
  sn_tensor *x = sn_variable(BITS_F32(r, 11, 9, 13)), *slope = NULL;
  sn_tensor *places = bits_input(r, SN_I32, BITS_PLACE, BITS_DIMS(3, 50));
  sn_tensor *y = sn_take(x, places, axis);
  (void)sn_gradients(sn_sum(sn_mul(y, y), NEITHER), &x, 1, &slope);
  bits_result(r, y);
  bits_result(r, slope);
  sn_tensor *along = bits_input(r, SN_I32, BITS_PLACE, BITS_DIMS(11, 9, 13));
  bits_result(r, sn_take_along_axis(x, along, axis));
  bits_result(r, sn_one_hot(places, 9, SN_F32));
}

static void scatters(bits_run *r, int number) {
  static const sn_scatter_mode modes[] = {SN_SCATTER_ADD, SN_SCATTER_SET, SN_SCATTER_MUL,
                                          SN_SCATTER_MAX, SN_SCATTER_MIN};
  for (int axis = 0; axis < 2; axis++) {
    sn_tensor *x = sn_variable(BITS_F32(r, 12, 12)), *slopes[2] = {NULL};
    sn_tensor *places = bits_input(r, SN_I32, BITS_PLACE, BITS_DIMS(70));
    sn_tensor *updates = sn_variable(axis ? BITS_F32(r, 12, 70) : BITS_F32(r, 70, 12));
    sn_tensor *y = sn_scatter(x, places, updates, axis, modes[number]);
    (void)sn_gradients(sn_sum(sn_mul(y, y), NEITHER), (sn_tensor *[]){x, updates}, 2, slopes);
    bits_result(r, y);
    bits_result(r, slopes[0]);
    bits_result(r, slopes[1]);
  }
}

/* ---- structure ------------------------------------------------------------------------------- */

static void structure(bits_run *r, int number) {
  static const sn_dtype dtypes[] = {SN_F32, SN_F64, SN_I32, SN_BOOL, SN_F16, SN_U8};
  const sn_dtype dtype = dtypes[number];
  sn_tensor *x = bits_input(r, dtype, BITS_WIDE, BITS_DIMS(6, 7, 10)),
            *y = bits_input(r, dtype, BITS_WIDE, BITS_DIMS(6, 5, 10));
  sn_tensor *both = sn_concat((sn_tensor *[]){x, y, x}, 3, 1);
  bits_result(r, both);
  bits_result(r, sn_reshape(sn_transpose(both, (int[]){2, 0, 1}), BITS_DIMS(57, 20)));
  bits_result(r, sn_pad(x, (int64_t[]){1, 0, 2}, (int64_t[]){0, 3, 1}, SN_PAD_CONSTANT, 1));
  bits_result(r,
              sn_slice(both, (int64_t[]){5, 18, 1}, (int64_t[]){3, 10, 4}, (int64_t[]){-2, -1, 2}));
  for (int to = SN_F32; to <= SN_U8; to++) bits_result(r, sn_astype(x, (sn_dtype)to));
  sn_tensor *u = bits_input(r, dtype, BITS_UNIT, BITS_DIMS(67)); /* no NaN, which has many bits */
  bits_result(r, sn_bitcast(u, dtype == SN_F32 ? SN_I32 : SN_F32));
  bits_result(r, sn_clip(x, sn_scalar(r->ctx, -1), sn_scalar(r->ctx, 2)));
  bits_result(r, sn_iota(r->ctx, dtype, BITS_DIMS(3, 70), 1));
  bits_result(r, sn_full(r->ctx, dtype, BITS_DIMS(31), 2.5));
}

static void activations(bits_run *r, int number) {
  sn_tensor *x = bits_input(r, number ? SN_F64 : SN_F32, BITS_WIDE, BITS_DIMS(1001));
  bits_result(r, sn_leaky_relu(x, 0.01));
  bits_result(r, sn_elu(x, 1.5));
  bits_result(r, sn_selu(x));
  bits_result(r, sn_hardswish(x));
  bits_result(r, sn_gelu_tanh(x));
}

/* ---- the list -------------------------------------------------------------------------------- */

const bits_family bits_ops[] = {
    {"sums", sums, SPACES},
    {"extremes", extremes, SPACES},
    {"lengths", lengths, SPACES},
    {"matmul", product, PRODUCTS},
    {"dense", dense, 2},
    {"blocks", blocks, SN_BLOCK_Q6_K + 1},
    {"einsum", einsums, 7},
    {"conv", convolution, CONVOLUTIONS},
    {"conv_transpose", transposed_convolution, 2},
    {"conv_winograd", winograd_convolution, 2},
    {"pools", pools, 3},
    {"softmax", softmaxes, ROWS},
    {"norms", norms, ROWS},
    {"cross_entropy", cross_entropy, 2},
    {"attention", attention, ATTENTIONS},
    {"sort", orders, 4},
    {"scans", scans, 3},
    {"take", takes, 3},
    {"scatter", scatters, 5},
    {"structure", structure, 6},
    {"activations", activations, 2},
};
const size_t bits_ops_count = sizeof bits_ops / sizeof *bits_ops;
