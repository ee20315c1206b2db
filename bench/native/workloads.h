/* workloads.h - the workloads of bench/workloads.mjs in C. A workload is a compiled program with
 * its arguments (or an eager call); its first n_state outputs are the first arguments of the next
 * call.
 *
 * Arguments are filled from a hash of the element's index, as bench/wasm/kinds.mjs does: the
 * values, and so in deterministic mode the results, are the same bits on every side. */
#ifndef SINTER_BENCH_WORKLOADS_H
#define SINTER_BENCH_WORKLOADS_H

#include <math.h>
#include <string.h>

#include "graph/ops.h"
#include "sinter.h"
#include "tensor/apply.h"

enum { MAX_LAYERS = 6, MAX_SIZES = MAX_LAYERS + 2, MAX_TENSORS = 8 * MAX_LAYERS };

typedef struct workload workload;
typedef sn_status run_fn(workload *w, sn_tensor **outputs);

struct workload {
  sn_context *ctx;
  run_fn *run;
  sn_program *program;
  sn_tensor *inputs[MAX_TENSORS], *outputs[MAX_TENSORS];
  size_t n_inputs, n_outputs, n_state;
  sn_tensor *placeholders[MAX_TENSORS]; /* only while it is made */
};

/* ---- arguments ------------------------------------------------------------------------------- */

static uint32_t hash_word(uint32_t index, uint32_t seed) {
  uint32_t h = (index ^ seed * 0x9e3779b1u) * 0x85ebca6bu;
  h = (h ^ h >> 15) * 0xc2b2ae35u;
  return h ^ h >> 13;
}

/* Uniform in [-scale, scale), exact in float32 when scale is a power of 2. */
static float hash_float(uint32_t index, uint32_t seed, float scale) {
  return ((float)(hash_word(index, seed) >> 8) * 0x1p-23f - 1) * scale;
}

static sn_tensor *add_input(workload *w, sn_dtype dtype, int rank, const int64_t *dims,
                            void **data) {
  const size_t i = w->n_inputs++;
  w->inputs[i] = sn_empty(w->ctx, dtype, rank, dims, data);
  return w->placeholders[i] = sn_placeholder(w->ctx, dtype, rank, dims);
}

static sn_tensor *floats(workload *w, int rank, const int64_t *dims, float scale) {
  void *data = NULL;
  const uint32_t seed = (uint32_t)w->n_inputs;
  sn_tensor *x = add_input(w, SN_F32, rank, dims, &data);
  const int64_t size = data ? sn_size(x) : 0;
  for (int64_t i = 0; i < size; i++) ((float *)data)[i] = hash_float((uint32_t)i, seed, scale);
  return x;
}

static sn_tensor *zeros(workload *w, sn_dtype dtype, int rank, const int64_t *dims) {
  void *data = NULL;
  sn_tensor *x = add_input(w, dtype, rank, dims, &data);
  if (data) memset(data, 0, sn_size_bytes(x));
  return x;
}

static sn_tensor *labels(workload *w, int64_t rows, int64_t classes) {
  void *data = NULL;
  const uint32_t seed = (uint32_t)w->n_inputs;
  sn_tensor *x = add_input(w, SN_I32, 1, &rows, &data);
  for (int64_t i = 0; data && i < rows; i++)
    ((int32_t *)data)[i] = (int32_t)(hash_word((uint32_t)i, seed) % (uint32_t)classes);
  return x;
}

/* The dtype a row is measured in: float32 where it takes that. */
static sn_dtype op_dtype(const sn_op_info *info) {
  return info->types & 1 << SN_F32 ? SN_F32 : info->types & 1 << SN_I32 ? SN_I32 : SN_BOOL;
}

/* ---- programs -------------------------------------------------------------------------------- */

static sn_status run_program(workload *w, sn_tensor **outputs) {
  return sn_program_run(w->program, w->inputs, outputs);
}

static sn_status compile(workload *w, sn_tensor *const *outputs, size_t n_outputs,
                         const bool *donate) {
  w->run = run_program;
  w->n_outputs = n_outputs;
  return sn_compile(w->ctx, w->placeholders, w->n_inputs, outputs, n_outputs, donate, &w->program);
}

static sn_status make_matmul(workload *w, const int64_t *sizes) {
  sn_tensor *a = floats(w, 2, (int64_t[]){sizes[0], sizes[1]}, 1);
  sn_tensor *b = floats(w, 2, (int64_t[]){sizes[1], sizes[2]}, 1);
  return compile(w, (sn_tensor *[]){sn_matmul(a, b)}, 1, NULL);
}

static sn_status make_linear_gelu(workload *w, const int64_t *sizes) {
  sn_tensor *x = floats(w, 2, (int64_t[]){sizes[0], sizes[1]}, 1);
  sn_tensor *weight = floats(w, 2, (int64_t[]){sizes[1], sizes[2]}, 0x1p-4f);
  sn_tensor *bias = floats(w, 1, sizes + 2, 1);
  return compile(w, (sn_tensor *[]){sn_gelu(sn_add(sn_matmul(x, weight), bias))}, 1, NULL);
}

static sn_tensor *conv_same(sn_tensor *x, sn_tensor *filter) {
  return sn_conv(x, filter, 2, &(sn_window_options){.padding = SN_PADDING_SAME});
}

/* side, channels: 3x3, as many filters as channels */
static sn_status make_conv(workload *w, const int64_t *sizes) {
  const int64_t side = sizes[0], channels = sizes[1];
  sn_tensor *x = floats(w, 4, (int64_t[]){1, side, side, channels}, 1);
  sn_tensor *filter = floats(w, 4, (int64_t[]){3, 3, channels, channels}, 0x1p-4f);
  return compile(w, (sn_tensor *[]){conv_same(x, filter)}, 1, NULL);
}

/* heads, tokens, size */
static sn_status make_attention(workload *w, const int64_t *sizes) {
  const int64_t dims[] = {1, sizes[0], sizes[1], sizes[2]};
  sn_tensor *q = floats(w, 4, dims, 1), *k = floats(w, 4, dims, 1), *v = floats(w, 4, dims, 1);
  return compile(w, (sn_tensor *[]){sn_attention(q, k, v, false, NULL, NULL, 0.125)}, 1, NULL);
}

static sn_status make_relu(workload *w, const int64_t *sizes) {
  return compile(w, (sn_tensor *[]){sn_relu(floats(w, 1, sizes, 1))}, 1, NULL);
}

static sn_status make_tanh(workload *w, const int64_t *sizes) {
  return compile(w, (sn_tensor *[]){sn_tanh(floats(w, 1, sizes, 4))}, 1, NULL);
}

static sn_status make_add(workload *w, const int64_t *sizes) {
  sn_tensor *x = floats(w, 1, sizes, 1), *y = floats(w, 1, sizes, 1);
  return compile(w, (sn_tensor *[]){sn_add(x, y)}, 1, NULL);
}

static sn_status make_gelu(workload *w, const int64_t *sizes) {
  return compile(w, (sn_tensor *[]){sn_gelu(floats(w, 2, sizes, 4))}, 1, NULL);
}

static sn_status make_softmax(workload *w, const int64_t *sizes) {
  return compile(w, (sn_tensor *[]){sn_softmax(floats(w, 2, sizes, 4), -1)}, 1, NULL);
}

static sn_status make_layer_norm(workload *w, const int64_t *sizes) {
  sn_tensor *y = sn_layer_norm(floats(w, 2, sizes, 1), 1u << 1, NULL, NULL, 1e-5);
  return compile(w, (sn_tensor *[]){y}, 1, NULL);
}

/* sigmoid(x y + z) x - y^2 / 2 */
static sn_status make_fused(workload *w, const int64_t *sizes) {
  sn_tensor *x = floats(w, 1, sizes, 1), *y = floats(w, 1, sizes, 1), *z = floats(w, 1, sizes, 1);
  sn_tensor *gate = sn_mul(sn_sigmoid(sn_add(sn_mul(x, y), z)), x);
  sn_tensor *half = sn_div(sn_square(y), sn_scalar(w->ctx, 2));
  return compile(w, (sn_tensor *[]){sn_sub(gate, half)}, 1, NULL);
}

static sn_status make_sum(workload *w, const int64_t *sizes) {
  sn_tensor *y = sn_sum(floats(w, 1, sizes, 1), SN_ALL_AXES, false);
  return compile(w, (sn_tensor *[]){y}, 1, NULL);
}

static sn_status make_cross_entropy(workload *w, const int64_t *sizes) {
  sn_tensor *logits = floats(w, 2, sizes, 4);
  sn_tensor *y = sn_softmax_cross_entropy(logits, labels(w, sizes[0], sizes[1]), SN_DEFAULT);
  return compile(w, (sn_tensor *[]){y}, 1, NULL);
}

static sn_status run_eager_relu(workload *w, sn_tensor **outputs) {
  outputs[0] = sn_relu(w->inputs[0]);
  return sn_eval(outputs, 1);
}

static sn_status make_eager_relu(workload *w, const int64_t *sizes) {
  floats(w, 1, sizes, 1);
  w->run = run_eager_relu;
  w->n_outputs = 1;
  return sn_error_status(w->ctx);
}

/* Operand `which` of a row of the table: numbers of its test domain; the condition of a
 * selection. */
static sn_tensor *operand(workload *w, sn_op op, int which, int64_t n) {
  const sn_op_info *info = sn_op_describe(op);
  const sn_op_bounds *domain = &sn_op_bounds_table[op];
  const bool condition = info->kind == SN_CLASS_SELECT && which == 0;
  const sn_dtype dtype = condition ? SN_BOOL : op_dtype(info);
  const uint32_t seed = (uint32_t)w->n_inputs;
  void *data = NULL;
  sn_tensor *x = add_input(w, dtype, 1, &n, &data);
  for (int64_t i = 0; data && i < n; i++) {
    const double at = (1 + (double)hash_float((uint32_t)i, seed, 1)) / 2;
    const double value = domain->lo + (domain->hi - domain->lo) * at;
    if (dtype == SN_F32) ((float *)data)[i] = (float)value;
    if (dtype == SN_I32) ((int32_t *)data)[i] = (int32_t)value;
    if (dtype == SN_BOOL) ((uint8_t *)data)[i] = at < 0.5;
  }
  return x;
}

/* sizes: the number of an elementwise op or reduction, elements */
static sn_status make_op(workload *w, const int64_t *sizes) {
  const sn_op op = (sn_op)sizes[0];
  const sn_op_info *info = sn_op_describe(op);
  sn_tensor *x[SN_MAX_ARITY];
  for (int i = 0; i < info->arity; i++) x[i] = operand(w, op, i, sizes[1]);
  sn_tensor *y = info->kind == SN_CLASS_REDUCE ? sn_reduce(op, x[0], SN_ALL_AXES, false)
                                               : sn_elementwise(op, x, info->arity);
  const sn_status status = compile(w, &y, 1, NULL);
  sn_release(y);
  return status;
}

/* ---- a training step: linear layers with relu between, Adam ------------------------------- */

typedef struct network { /* arguments, or results; the state in the order of the package's */
  int layers;
  sn_tensor *count, *means[2 * MAX_LAYERS], *squares[2 * MAX_LAYERS], *parameters[2 * MAX_LAYERS];
  sn_tensor *rate, *x, *labels;
} network;

static void declare(workload *w, const int64_t *sizes, network *n) {
  const int64_t *widths = sizes + 1;
  int last = 1;
  while (widths[last + 1]) last++;
  n->layers = last;
  n->count = zeros(w, SN_I32, 0, NULL);
  for (int slot = 0; slot < 3; slot++) {
    sn_tensor **to = slot == 0 ? n->means : slot == 1 ? n->squares : n->parameters;
    const bool filled = to == n->parameters;
    for (int l = 0; l < n->layers; l++) {
      to[2 * l] = filled ? floats(w, 2, widths + l, 0x1p-4f) : zeros(w, SN_F32, 2, widths + l);
      to[2 * l + 1] = zeros(w, SN_F32, 1, widths + l + 1);
    }
  }
  w->n_state = w->n_inputs;
  void *rate = NULL;
  n->rate = add_input(w, SN_F32, 0, NULL, &rate);
  if (rate) *(float *)rate = 1e-3f;
  n->x = floats(w, 2, sizes, 1);
  n->labels = labels(w, sizes[0], widths[last]);
}

static sn_tensor *loss_of(const network *n, sn_tensor *const *parameters) {
  sn_tensor *h = n->x;
  for (int l = 0; l < n->layers; l++) {
    h = sn_add(sn_matmul(h, parameters[2 * l]), parameters[2 * l + 1]);
    if (l + 1 < n->layers) h = sn_relu(h);
  }
  return sn_mean(sn_softmax_cross_entropy(h, n->labels, SN_DEFAULT), SN_ALL_AXES, false);
}

static sn_tensor *decayed(sn_context *ctx, sn_tensor *mean, double decay, sn_tensor *x) {
  return sn_add(sn_mul(mean, sn_scalar(ctx, decay)), sn_mul(x, sn_scalar(ctx, 1 - decay)));
}

/* 1 - decay^steps, by expm1 as the package computes it: the bits are compared. */
static sn_tensor *correction(sn_context *ctx, double decay, sn_tensor *steps) {
  return sn_neg(sn_expm1(sn_mul(steps, sn_scalar(ctx, log(decay)))));
}

static void adam(sn_context *ctx, const network *n, sn_tensor *const *grads, network *next) {
  next->count = sn_add(n->count, sn_scalar(ctx, 1));
  sn_tensor *steps = sn_astype(next->count, SN_F32);
  /* Node by node in the package's order: so kernels get the same names. */
  for (int i = 0; i < 2 * n->layers; i++) next->means[i] = decayed(ctx, n->means[i], 0.9, grads[i]);
  for (int i = 0; i < 2 * n->layers; i++)
    next->squares[i] = decayed(ctx, n->squares[i], 0.999, sn_square(grads[i]));
  sn_tensor *mean_scale = correction(ctx, 0.9, steps);
  sn_tensor *square_scale = correction(ctx, 0.999, steps);
  for (int i = 0; i < 2 * n->layers; i++) {
    sn_tensor *size = sn_add(sn_sqrt(sn_div(next->squares[i], square_scale)), sn_scalar(ctx, 1e-8));
    sn_tensor *step = sn_div(sn_div(next->means[i], mean_scale), size);
    next->parameters[i] = sn_sub(n->parameters[i], sn_mul(step, n->rate));
  }
}

/* sizes: batch, inputs, hidden ..., classes, 0 */
static sn_status make_mlp(workload *w, const int64_t *sizes) {
  network now, next;
  sn_tensor *variables[2 * MAX_LAYERS], *grads[2 * MAX_LAYERS];
  declare(w, sizes, &now);
  const int n = 2 * now.layers;
  for (int i = 0; i < n; i++) variables[i] = sn_variable(now.parameters[i]);
  sn_tensor *loss = loss_of(&now, variables);
  const sn_status status = sn_gradients(loss, variables, (size_t)n, grads);
  if (status) return status;
  adam(w->ctx, &now, grads, &next);
  sn_tensor *outputs[MAX_TENSORS];
  size_t k = 0;
  outputs[k++] = next.count;
  for (int i = 0; i < n; i++) outputs[k++] = next.means[i];
  for (int i = 0; i < n; i++) outputs[k++] = next.squares[i];
  for (int i = 0; i < n; i++) outputs[k++] = next.parameters[i];
  outputs[k++] = loss;
  bool donate[MAX_TENSORS];
  for (size_t i = 0; i < w->n_inputs; i++) donate[i] = i < w->n_state;
  return compile(w, outputs, k, donate);
}

/* ---- a training step: two convolutions 3x3 with pools behind, a linear layer, descent -------- */

enum { CNN_SIDE = 28, CNN_FIRST = 16, CNN_SECOND = 32, CNN_CLASSES = 10, CNN_PARAMETERS = 6 };

static sn_tensor *pooled_layer(sn_tensor *x, sn_tensor *filter, sn_tensor *bias) {
  sn_tensor *y = sn_relu(sn_add(conv_same(x, filter), bias));
  return sn_max_pool(y, (int64_t[]){2, 2}, 2, NULL);
}

/* batch */
static sn_status make_cnn(workload *w, const int64_t *sizes) {
  const int64_t batch = sizes[0], first = CNN_FIRST, second = CNN_SECOND, classes = CNN_CLASSES;
  const int64_t features = second * (CNN_SIDE / 4) * (CNN_SIDE / 4);
  sn_tensor *now[CNN_PARAMETERS], *v[CNN_PARAMETERS], *grads[CNN_PARAMETERS];
  now[0] = floats(w, 4, (int64_t[]){3, 3, 1, first}, 0x1p-1f);
  now[1] = zeros(w, SN_F32, 1, &first);
  now[2] = floats(w, 4, (int64_t[]){3, 3, first, second}, 0x1p-3f);
  now[3] = zeros(w, SN_F32, 1, &second);
  now[4] = floats(w, 2, (int64_t[]){features, classes}, 0x1p-5f);
  now[5] = zeros(w, SN_F32, 1, &classes);
  w->n_state = CNN_PARAMETERS;
  sn_tensor *x = floats(w, 4, (int64_t[]){batch, CNN_SIDE, CNN_SIDE, 1}, 1);
  sn_tensor *y = labels(w, batch, classes);
  for (int i = 0; i < CNN_PARAMETERS; i++) v[i] = sn_variable(now[i]);
  sn_tensor *h = pooled_layer(pooled_layer(x, v[0], v[1]), v[2], v[3]);
  h = sn_add(sn_matmul(sn_reshape(h, 2, (int64_t[]){batch, features}), v[4]), v[5]);
  sn_tensor *loss = sn_mean(sn_softmax_cross_entropy(h, y, SN_DEFAULT), SN_ALL_AXES, false);
  const sn_status status = sn_gradients(loss, v, CNN_PARAMETERS, grads);
  if (status) return status;
  sn_tensor *outputs[CNN_PARAMETERS + 1];
  bool donate[MAX_TENSORS] = {false};
  for (int i = 0; i < CNN_PARAMETERS; i++) {
    outputs[i] = sn_sub(now[i], sn_mul(grads[i], sn_scalar(w->ctx, 1e-3)));
    donate[i] = true;
  }
  outputs[CNN_PARAMETERS] = loss;
  return compile(w, outputs, CNN_PARAMETERS + 1, donate);
}

/* ---- making, calling, releasing -------------------------------------------------------------- */

typedef struct workload_kind {
  const char *name;
  sn_status (*make)(workload *w, const int64_t *sizes);
} workload_kind;

static const workload_kind kinds[] = {
    {"mlp", make_mlp},
    {"op", make_op},
    {"matmul", make_matmul},
    {"linear_gelu", make_linear_gelu},
    {"conv", make_conv},
    {"cnn", make_cnn},
    {"attention", make_attention},
    {"relu", make_relu},
    {"tanh", make_tanh},
    {"add", make_add},
    {"sum", make_sum},
    {"gelu", make_gelu},
    {"softmax", make_softmax},
    {"layer_norm", make_layer_norm},
    {"fused", make_fused},
    {"cross_entropy", make_cross_entropy},
    {"eager_relu", make_eager_relu},
};

/* sizes ends with 0. */
static inline sn_status workload_make(workload *w, sn_context *ctx, const workload_kind *kind,
                                      const int64_t *sizes) {
  *w = (workload){.ctx = ctx};
  sn_status status = sn_scope_begin(ctx);
  if (status) return status;
  status = kind->make(w, sizes);
  for (size_t i = 0; i < w->n_inputs; i++) sn_keep(w->inputs[i]);
  sn_scope_end(ctx);
  return status ? status : sn_error_status(ctx);
}

/* One call; what it gave stays in w->outputs and, as far as it is state, in w->inputs. */
static sn_status workload_call(workload *w) {
  for (size_t i = w->n_state; i < w->n_outputs; i++) sn_release(w->outputs[i]);
  memset(w->outputs, 0, sizeof w->outputs);
  const sn_status status = w->run(w, w->outputs);
  for (size_t i = 0; i < w->n_state && !status; i++) {
    sn_release(w->inputs[i]);
    w->inputs[i] = w->outputs[i];
  }
  return status;
}

static void workload_release(workload *w) {
  for (size_t i = w->n_state; i < w->n_outputs; i++) sn_release(w->outputs[i]);
  for (size_t i = 0; i < w->n_inputs; i++) sn_release(w->inputs[i]);
  sn_program_release(w->program);
}

#endif
