/* test_target.c - the workloads of the benchmarks and more, compiled for a device that does not exist,
 * with 8 buffers per kernel, 16 kB of local memory, no float64 and no store of a single byte. Every
 * group stays within its limits. The CPU, which runs groups made for any target, gives the same results,
 * also with other costs, which lead to other kernels. */
#include "support.h"

#include <math.h>

#include "../../bench/native/workloads.h"
#include "fuse/chain.h"
#include "fuse/group_visit.h"
#include "kernels/machine.h"
#include "tensor/tensor.h"

enum { BUFFERS = 8, LOCAL_BYTES = 16 * 1024, STORE_BYTES = 4 };

static sn_target strict_cpu(void) {
  sn_target target = sn_cpu_target;
  target.deterministic = true;
  return target;
}

static sn_target device(void) {
  sn_target target = strict_cpu();
  target.name = "device";
  target.limits.dtypes = ~(1u << SN_F64);
  target.limits.buffers = BUFFERS;
  target.limits.local_bytes = LOCAL_BYTES;
  target.limits.store_bytes = STORE_BYTES;
  return target;
}

/* ---- the limits ------------------------------------------------------------------------------ */

typedef struct counted {
  const sn_groups *groups;
  uint32_t values[64], n;
  const char *name;
} counted;

/* Elements that cannot be stored alone are stored row by row from the first to the last. */
static void check_store(const counted *c, const sn_touch *touch) {
  const sn_operand *to = touch->operand;
  int64_t all = 1, reach = 1;
  for (int i = 0; i < touch->rank; i++) {
    all *= touch->dims[i];
    reach += (touch->dims[i] - 1) * to->strides[i];
    if (to->strides[i] < 0) fail_msg("%s: bytes are stored backwards", c->name);
  }
  if (to->offset || reach != all || all != sn_type_size(&c->groups->values[to->value].type))
    fail_msg("%s: bytes are stored in a part of a buffer", c->name);
}

static sn_status meet(void *user, const sn_touch *touch) {
  counted *c = user;
  const uint32_t value = touch->operand->value;
  if (value == SN_NONE) return SN_OK;
  if (c->groups->values[value].type.dtype == SN_F64) fail_msg("%s: float64", c->name);
  if (touch->role == SN_ROLE_STORE && sn_dtype_bytes(touch->operand->dtype) < STORE_BYTES)
    check_store(c, touch);
  for (uint32_t i = 0; i < c->n; i++)
    if (c->values[i] == value) return SN_OK;
  if (c->n == 64) fail_msg("%s: more buffers than can be counted", c->name);
  c->values[c->n++] = value;
  return SN_OK;
}

static void count_group(counted *c, const sn_group *g) {
  int64_t kept = 0;
  sn_group_visit(g, meet, c);
  for (uint32_t i = 0; g->kind == SN_GROUP_ROW && i < g->row.n_kept; i++)
    kept += sn_group_reduced_points(g) * (int64_t)sn_dtype_bytes(g->row.kept[i]);
  if (kept > LOCAL_BYTES) fail_msg("%s: keeps %lld bytes of a row", c->name, (long long)kept);
}

static int chains, groups_of_8; /* met */

static void check_chain(const counted *c, const sn_target *target, const sn_group *g) {
  int64_t bytes = 0;
  const int64_t block = sn_chain_block(target, g->chain);
  for (uint32_t i = 0; i < g->chain->n_locals; i++)
    if (g->chain->locals[i].slot == i) bytes += g->chain->locals[i].row_bytes * block;
  if (!block || bytes > LOCAL_BYTES)
    fail_msg("%s: blocks of %lld rows take %lld bytes", c->name, (long long)block,
             (long long)bytes);
  chains++;
}

static bool is_local(const sn_chain *chain, uint32_t value) {
  for (uint32_t i = 0; i < chain->n_locals; i++)
    if (chain->locals[i].value == value) return true;
  return false;
}

static void check_group(const sn_groups *groups, const sn_group *g) {
  counted c = {.groups = groups, .name = g->name};
  const sn_chain *chain = g->kind == SN_GROUP_CHAIN ? g->chain : NULL;
  if (chain) check_chain(&c, groups->target, g);
  for (uint32_t m = 0; chain && m < chain->n_members; m++) count_group(&c, &chain->members[m]);
  if (!chain) count_group(&c, g);
  uint32_t n = 0;
  for (uint32_t i = 0; i < c.n; i++) n += !chain || !is_local(chain, c.values[i]);
  if (n > BUFFERS) fail_msg("%s: %u buffers", g->name, n);
  groups_of_8 += n == BUFFERS;
}

static const sn_groups *last_groups(const sn_context *ctx) {
  return &ctx->cache[ctx->n_cached - 1]->exe->program->groups;
}

/* ---- more workloads -------------------------------------------------------------------------- */

static sn_status compile_with_gradients(workload *w, sn_tensor *loss, sn_tensor **variables,
                                        size_t n) {
  sn_tensor *outputs[MAX_TENSORS] = {loss};
  const sn_status status = sn_gradients(loss, variables, n, outputs + 1);
  return status ? status : compile(w, outputs, n + 1, NULL);
}

/* batch, heads, tokens, size */
static sn_status make_attention_gradient(workload *w, const int64_t *sizes) {
  sn_tensor *x[3];
  for (int i = 0; i < 3; i++) x[i] = sn_variable(floats(w, 4, sizes, 1));
  sn_tensor *y = sn_attention(x[0], x[1], x[2], true, NULL, NULL, 0.125);
  return compile_with_gradients(w, sn_sum(sn_square(y), SN_ALL_AXES, false), x, 3);
}

/* batch, width, steps: gates i, f, g, o of one product each */
static sn_status make_lstm(workload *w, const int64_t *sizes) {
  const int64_t batch = sizes[0], width = sizes[1], gates = 4 * width;
  sn_tensor *p[] = {sn_variable(floats(w, 2, (int64_t[]){width, gates}, 0x1p-4f)),
                    sn_variable(floats(w, 2, (int64_t[]){width, gates}, 0x1p-4f)),
                    sn_variable(floats(w, 1, &gates, 0x1p-2f))};
  sn_tensor *h = floats(w, 2, (int64_t[]){batch, width}, 1), *c = h;
  for (int64_t t = 0; t < sizes[2]; t++) {
    sn_tensor *x = floats(w, 2, (int64_t[]){batch, width}, 1), *gate[4];
    sn_tensor *all = sn_add(sn_add(sn_matmul(x, p[0]), sn_matmul(h, p[1])), p[2]);
    for (int i = 0; i < 4; i++)
      gate[i] = sn_slice(all, (int64_t[]){0, i * width}, (int64_t[]){batch, width}, NULL);
    c = sn_add(sn_mul(sn_sigmoid(gate[1]), c), sn_mul(sn_sigmoid(gate[0]), sn_tanh(gate[2])));
    h = sn_mul(sn_sigmoid(gate[3]), sn_tanh(c));
  }
  return compile_with_gradients(w, sn_mean(sn_square(h), SN_ALL_AXES, false), p, 3);
}

/* rows, width: layer norm with weights, GELU, and cross entropy behind a product */
static sn_status make_block(workload *w, const int64_t *sizes) {
  const int64_t rows = sizes[0], width = sizes[1];
  sn_tensor *p[] = {sn_variable(floats(w, 1, &width, 1)), sn_variable(floats(w, 1, &width, 1)),
                    sn_variable(floats(w, 2, (int64_t[]){width, width}, 0x1p-3f))};
  sn_tensor *x = floats(w, 2, sizes, 1);
  sn_tensor *y =
      sn_matmul(sn_gelu(sn_layer_norm(x, 1u << (sn_rank(x) - 1), p[0], p[1], 1e-5)), p[2]);
  sn_tensor *loss =
      sn_mean(sn_softmax_cross_entropy(y, labels(w, rows, width), SN_DEFAULT), SN_ALL_AXES, 0);
  return compile_with_gradients(w, loss, p, 3);
}

static sn_status make_einsum(workload *w, const int64_t *sizes) {
  sn_tensor *x[] = {floats(w, 3, sizes, 1), floats(w, 3, sizes, 1),
                    floats(w, 2, (int64_t[]){sizes[2], sizes[0]}, 1)};
  return compile(w, (sn_tensor *[]){sn_einsum("bij,bkj,jb->bik", x, 3)}, 1, NULL);
}

/* A map over more arguments than a kernel may read, with several results. */
static sn_status make_wide(workload *w, const int64_t *sizes) {
  sn_tensor *x[20], *sum = NULL, *product = NULL, *root = NULL;
  for (int i = 0; i < 20; i++) {
    x[i] = floats(w, 1, sizes, 1);
    sum = sum ? sn_add(sum, x[i]) : x[i];
    product = product ? sn_add(sn_mul(product, x[i]), sum) : x[i];
    root = i % 7 == 3 ? sn_tanh(product) : root;
  }
  sn_tensor *mean = sn_mean(sn_exp(sn_sub(product, sn_mul(root, sum))), SN_ALL_AXES, false);
  return compile(w, (sn_tensor *[]){sum, product, root, mean}, 4, NULL);
}

/* Masks: put side by side, padded, turned, and where they choose. */
static sn_status make_masks(workload *w, const int64_t *sizes) {
  sn_tensor *x = floats(w, 2, sizes, 1), *y = floats(w, 2, sizes, 1);
  sn_tensor *m = sn_greater(x, y), *both[] = {m, sn_less(x, sn_scalar(w->ctx, 0.5))};
  sn_tensor *wide = sn_concat(both, 2, 1);
  sn_tensor *turned = sn_transpose(m, NULL);
  sn_tensor *chosen = sn_where(wide, sn_concat((sn_tensor *[]){x, y}, 2, 1), sn_scalar(w->ctx, 3));
  return compile(w, (sn_tensor *[]){wide, turned, chosen}, 3, NULL);
}

/* Of many parts: more than a call may read. */
static sn_status make_parts(workload *w, const int64_t *sizes) {
  sn_tensor *parts[24], *points[12];
  sn_tensor *x = floats(w, 2, sizes, 1);
  for (int i = 0; i < 24; i++)
    parts[i] = i % 2 ? sn_exp(sn_mul(x, sn_scalar(w->ctx, i))) : floats(w, 2, sizes, 1);
  for (int i = 0; i < 12; i++) points[i] = floats(w, 1, (int64_t[]){1}, 1);
  return compile(w, (sn_tensor *[]){sn_concat(parts, 24, 0), sn_concat(points, 12, 0)}, 2, NULL);
}

/* rows, width: reductions of one row that need each other, and many values of it again */
static sn_status make_rows(workload *w, const int64_t *sizes) {
  sn_tensor *x = floats(w, 2, sizes, 1), *y = x;
  for (int i = 0; i < 4; i++) {
    sn_tensor *e = sn_exp(sn_sub(y, sn_max(y, 2, true)));
    y = sn_add(sn_mul(sn_div(e, sn_sum(e, 2, true)), floats(w, 2, sizes, 1)), sn_sin(x));
  }
  return compile(w, (sn_tensor *[]){y, sn_sum(y, 2, false)}, 2, NULL);
}

/* Reductions down the columns of a map over more than a kernel may read. */
static sn_status make_columns(workload *w, const int64_t *sizes) {
  sn_tensor *y = floats(w, 2, sizes, 1);
  for (int i = 0; i < 12; i++) y = sn_mul(y, sn_sin(floats(w, 2, sizes, 1)));
  return compile(w, (sn_tensor *[]){sn_sum(y, 1, false)}, 1, NULL);
}

/* A product that has all buffers it may, and a small map for it of two others. */
static sn_status make_norm(workload *w, const int64_t *sizes) {
  sn_tensor *y = sn_matmul(floats(w, 2, sizes, 1), floats(w, 2, sizes + 1, 1)), *v[5];
  for (int i = 0; i < 5; i++) v[i] = floats(w, 1, sizes + 2, 1);
  sn_tensor *scale = sn_rsqrt(sn_add(sn_square(v[0]), sn_exp(v[1])));
  y = sn_add(sn_mul(sn_mul(sn_sub(y, v[2]), scale), v[3]), v[4]);
  y = sn_add(y, floats(w, 2, (int64_t[]){sizes[0], sizes[2]}, 1));
  return compile(w, (sn_tensor *[]){y}, 1, NULL);
}

/* A sum of a row and a column, cheap to make again, for a kernel that has all buffers it may. */
static sn_status make_again(workload *w, const int64_t *sizes) {
  sn_tensor *z = sn_add(floats(w, 1, sizes + 1, 1), floats(w, 2, (int64_t[]){sizes[0], 1}, 1));
  sn_tensor *total = sn_sum(sn_mul(z, floats(w, 2, sizes, 1)), SN_ALL_AXES, false);
  sn_tensor *y = sn_mul(z, total);
  for (int i = 0; i < 5; i++) y = sn_add(sn_mul(y, floats(w, 2, sizes, 1)), total);
  return compile(w, (sn_tensor *[]){y}, 1, NULL);
}

/* Attention whose chain would read more than a kernel may, though no member does. */
static sn_status make_masked_attention(workload *w, const int64_t *sizes) {
  const int64_t n = sizes[0], size = sizes[1];
  sn_tensor *q = floats(w, 2, (int64_t[]){n, size}, 1), *k = floats(w, 2, (int64_t[]){size, n}, 1);
  sn_tensor *scores = sn_matmul(q, k), *v = floats(w, 2, (int64_t[]){n, size}, 1);
  for (int i = 0; i < 5; i++) scores = sn_add(scores, floats(w, 2, (int64_t[]){n, n}, 1));
  return compile(w, (sn_tensor *[]){sn_matmul(sn_softmax(scores, -1), v)}, 1, NULL);
}

/* rows, width: sums of rows that are looked up in more tables than a kernel may read */
static sn_status make_lookup(workload *w, const int64_t *sizes) {
  sn_tensor *y = floats(w, 2, sizes, 1);
  for (int i = 0; i < 6; i++) {
    sn_tensor *table = floats(w, 2, (int64_t[]){30, sizes[1]}, 1);
    y = sn_add(sn_sin(y), sn_take(table, labels(w, sizes[0], 30), 0));
  }
  return compile(w, (sn_tensor *[]){y, sn_softmax(y, -1)}, 2, NULL);
}

/* A tiny state, that a sum over a stack goes through. */
static sn_status make_tiny(workload *w, const int64_t *sizes) {
  sn_tensor *y = sn_sin(floats(w, 1, sizes, 1));
  y = sn_add(sn_mul(y, sn_sum(y, SN_ALL_AXES, false)), floats(w, 1, sizes, 1));
  return compile(w, (sn_tensor *[]){y}, 1, NULL);
}

/* A factor per row, repeated before a function is taken of it. */
static sn_status make_repeated(workload *w, const int64_t *sizes) {
  sn_tensor *x = sn_broadcast_to(floats(w, 2, (int64_t[]){sizes[0], 1}, 1), 2, sizes);
  return compile(w, (sn_tensor *[]){sn_mul(sn_exp(x), floats(w, 2, sizes, 1))}, 1, NULL);
}

static const workload_kind more[] = {
    {"tiny", make_tiny},
    {"repeated", make_repeated},
    {"lookup", make_lookup},
    {"columns", make_columns},
    {"norm", make_norm},
    {"again", make_again},
    {"masked attention", make_masked_attention},
    {"attention, gradient", make_attention_gradient},
    {"lstm", make_lstm},
    {"block", make_block},
    {"einsum", make_einsum},
    {"wide", make_wide},
    {"masks", make_masks},
    {"parts", make_parts},
    {"rows", make_rows},
};

/* ---- both ways ------------------------------------------------------------------------------- */

typedef struct case_of {
  const char *name;
  int64_t sizes[MAX_SIZES];
} case_of;

static const case_of cases[] = {
    {"mlp", {16, 40, 32, 24, 10}},
    {"cnn", {2}},
    {"matmul", {40, 50, 60}},
    {"linear_gelu", {24, 32, 40}},
    {"conv", {9, 5}},
    {"attention", {2, 96, 16}},
    {"gelu", {40, 50}},
    {"softmax", {30, 200}},
    {"softmax", {4, 6000}},
    {"layer_norm", {30, 200}},
    {"layer_norm", {4, 6000}},
    {"fused", {5000}},
    {"cross_entropy", {40, 30}},
    {"sum", {5000}},
    {"attention, gradient", {2, 2, 128, 16}},
    {"attention, gradient", {1, 1, 1024, 8}},
    {"lstm", {8, 16, 5}},
    {"block", {40, 32}},
    {"block", {600, 96}},
    {"einsum", {6, 7, 8}},
    {"wide", {3000}},
    {"wide", {1}},
    {"masks", {9, 11}},
    {"masks", {1, 1}},
    {"columns", {300, 40}},
    {"lookup", {90, 24}},
    {"norm", {64, 32, 48}},
    {"again", {200, 300}},
    {"masked attention", {128, 16}},
    {"tiny", {5}},
    {"tiny", {12}},
    {"repeated", {30, 40}},
    {"parts", {3, 5}},
    {"rows", {20, 300}},
    {"rows", {4, 5000}},
};

static const workload_kind *kind_of(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i].name, name)) return &kinds[i];
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    if (!strcmp(more[i].name, name)) return &more[i];
  return NULL;
}

static double value_at(sn_dtype dtype, const void *data, int64_t i) {
  return dtype == SN_F32   ? (double)((const float *)data)[i]
         : dtype == SN_I32 ? ((const int32_t *)data)[i]
                           : ((const uint8_t *)data)[i];
}

static void compare(const char *name, size_t output, sn_tensor *a, sn_tensor *b) {
  const int64_t n = sn_size(a);
  const size_t bytes = sn_size_bytes(a);
  void *x = malloc(bytes + 1), *y = malloc(bytes + 1);
  double most = 1;
  assert_int_equal(sn_read(a, x, bytes), SN_OK);
  assert_int_equal(sn_read(b, y, bytes), SN_OK);
  for (int64_t i = 0; i < n; i++)
    if (fabs(value_at(sn_dtype_of(a), x, i)) > most) most = fabs(value_at(sn_dtype_of(a), x, i));
  for (int64_t i = 0; i < n; i++) {
    const double p = value_at(sn_dtype_of(a), x, i), q = value_at(sn_dtype_of(a), y, i);
    if (!(fabs(p - q) <= 1e-5 * most))
      fail_msg("%s: element %lld of output %zu is %g, not %g", name, (long long)i, output, q, p);
  }
  free(x);
  free(y);
}

typedef struct both { /* a workload compiled for two targets */
  fixture f[2];
  workload w[2];
} both;

static void run_both(both *b, const case_of *c, const sn_target *const *targets, bool fusion) {
  fixture *f = b->f;
  workload *w = b->w;
  for (int i = 0; i < 2; i++) {
    fixture_open(&f[i], (sn_options){.threads = 1, .deterministic = true});
    sn_context *ctx = f[i].ctx;
    ctx->options.target = targets[i];
    ctx->options.fusion = fusion;
    if (workload_make(&w[i], ctx, kind_of(c->name), c->sizes) || workload_call(&w[i]))
      fail_msg("%s: %s", c->name, sn_error_message(ctx));
  }
  for (int i = 0; i < 2; i++) assert_ptr_equal(last_groups(f[i].ctx)->target, targets[i]);
  for (size_t i = 0; i < w[0].n_outputs; i++) compare(c->name, i, w[0].outputs[i], w[1].outputs[i]);
}

static void release_both(both *b) {
  for (int i = 0; i < 2; i++) {
    workload_release(&b->w[i]);
    fixture_close(&b->f[i]);
  }
}

static void check_limits(const case_of *c, bool fusion) {
  const sn_target invented = device(), cpu = strict_cpu();
  both b;
  run_both(&b, c, (const sn_target *[]){&cpu, &invented}, fusion);
  const sn_groups *groups = last_groups(b.f[1].ctx);
  for (size_t i = 0; i < groups->n_groups; i++) check_group(groups, &groups->groups[i]);
  release_both(&b);
}

static void groups_keep_the_limits(void **state) {
  (void)state;
  chains = groups_of_8 = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_limits(&cases[i], true);
  assert_true(chains > 0); /* there is room for some */
  assert_true(groups_of_8 > 0);
}

static void single_ops_keep_them_too(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_limits(&cases[i], false);
}

static void a_missing_dtype_is_refused(void **state) {
  (void)state;
  const sn_target invented = device();
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  f.ctx->options.target = &invented;
  assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
  sn_tensor *x = sn_exp(sn_full(f.ctx, SN_F64, DIMS(3), 1));
  assert_int_equal(sn_eval(&x, 1), SN_ERR_UNSUPPORTED);
  expect_error(f.ctx, SN_ERR_UNSUPPORTED, "compile: device has no float64");
  sn_scope_end(f.ctx);
  fixture_close(&f);
}

/* ---- knobs ----------------------------------------------------------------------------------- */

enum { MOST_BYTES = 1 << 20 };

/* Runs the workload and copies its results one after the other; their bytes. */
static size_t results_of(sn_context *ctx, const case_of *c, char *out) {
  workload w;
  size_t at = 0;
  if (workload_make(&w, ctx, kind_of(c->name), c->sizes) || workload_call(&w))
    fail_msg("%s: %s", c->name, sn_error_message(ctx));
  for (size_t i = 0; i < w.n_outputs; i++) {
    const size_t bytes = sn_size_bytes(w.outputs[i]);
    assert_true(at + bytes <= MOST_BYTES);
    assert_int_equal(sn_read(w.outputs[i], out + at, bytes), SN_OK);
    at += bytes;
  }
  workload_release(&w);
  return at;
}

static void compare_tunings(const case_of *c, bool deterministic, int threads) {
  static char plain[MOST_BYTES], tuned[MOST_BYTES];
  fixture f;
  fixture_open(&f, (sn_options){.threads = threads, .deterministic = deterministic});
  const size_t bytes = results_of(f.ctx, c, plain);
  for (int k = 0; k < SN_KNOBS; k++)
    for (int i = 1; i <= sn_knobs[k].n_factors; i++) {
      f.ctx->options.tuning = (sn_tuning){{0}};
      f.ctx->options.tuning.factor[k] = (uint8_t)i;
      assert_int_equal(results_of(f.ctx, c, tuned), bytes);
      if (memcmp(plain, tuned, bytes))
        fail_msg("%s, %s: %s * %g gives other bits", c->name, deterministic ? "strict" : "fast",
                 sn_knobs[k].name, sn_knobs[k].factors[i - 1]);
    }
  fixture_close(&f);
}

static void every_knob_keeps_the_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    compare_tunings(&cases[i], true, 1);
    compare_tunings(&cases[i], false, 3);
  }
}

/* ---- costs ----------------------------------------------------------------------------------- */

static void no_terms(sn_target_costs *c) { c->remade_terms = 0; }
static void nothing_again(sn_target_costs *c) { c->again_flops = 0; }
static void all_kept(sn_target_costs *c) { c->kept_flops = 0; }
static void none_kept(sn_target_costs *c) { c->kept_flops = UINT32_MAX; }
static void slow_loads(sn_target_costs *c) { c->load_flops = UINT32_MAX; }
static void no_scalars(sn_target_costs *c) { c->scalar_elements = 0; }
static void more_scalars(sn_target_costs *c) { c->scalar_elements = INT64_MAX; }

static const struct {
  const char *name;
  void (*change)(sn_target_costs *costs);
} changes[] = {
    {"no terms", no_terms},         {"nothing again", nothing_again}, {"all kept", all_kept},
    {"none kept", none_kept},       {"slow loads", slow_loads},       {"no scalars", no_scalars},
    {"more scalars", more_scalars},
};

static bool have_other_groups(both *b) {
  const char *text[2];
  sn_arena arena;
  sn_arena_init(&arena, &b->f[0].ctx->env);
  for (int i = 0; i < 2; i++)
    assert_int_equal(sn_groups_text(last_groups(b->f[i].ctx), &arena, &text[i]), SN_OK);
  const bool other = strcmp(text[0], text[1]) != 0;
  sn_arena_free(&arena);
  return other;
}

static void costs_make_other_kernels_and_the_same_values(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
    int n = 0;
    sn_target usual = strict_cpu();
    usual.costs.remade_bytes = 4096;
    sn_target other = usual;
    changes[k].change(&other.costs);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      both b;
      run_both(&b, &cases[i], (const sn_target *[]){&usual, &other}, true);
      n += have_other_groups(&b);
      release_both(&b);
    }
    print_message("%s: other kernels in %d cases\n", changes[k].name, n);
    assert_true(n > 0);
  }
}

/* How many nodes the kernels of a transposed convolution have, two of whose channels are terms of one. */
static size_t nodes_of_turned_convolution(int64_t added_terms, float *first) {
  sn_target target = strict_cpu();
  target.costs.added_terms = added_terms;
  fixture f;
  size_t n = 0;
  float x[144], filter[36];
  for (int i = 0; i < 144; i++) x[i] = (float)(i % 7);
  for (int i = 0; i < 36; i++) filter[i] = (float)(i % 5);
  fixture_open(&f, (sn_options){.threads = 1});
  f.ctx->options.target = &target;
  assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
  sn_tensor *y = sn_conv_transpose(sn_from_data(f.ctx, SN_F32, DIMS(1, 6, 6, 4), x),
                                   sn_from_data(f.ctx, SN_F32, DIMS(3, 3, 1, 4), filter), 2,
                                   &(sn_window_options){.groups = 2});
  *first = *(const float *)sn_data(y);
  const sn_groups *groups = last_groups(f.ctx);
  for (size_t i = 0; i < groups->n_groups; i++) n += groups->groups[i].post.n_insns;
  sn_scope_end(f.ctx);
  fixture_close(&f);
  return n;
}

static void few_terms_are_added_one_by_one(void **state) {
  (void)state;
  float apart, reduced;
  assert_true(nodes_of_turned_convolution(2, &apart) > nodes_of_turned_convolution(1, &reduced));
  assert_true(apart == reduced);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void blocks_fit_into_local_memory(void **state) {
  (void)state;
  sn_target target = device();
  for (int64_t row_bytes = 1; row_bytes < 2 * LOCAL_BYTES; row_bytes = row_bytes * 3 / 2 + 1)
    for (int64_t rows = 1; rows < 5000; rows = rows * 2 + 1)
      for (int64_t values = 1; values < 9; values += 7) {
        const int64_t block = sn_target_block_rows(&target, 3, rows, row_bytes, values);
        assert_true(block <= rows && block * row_bytes <= LOCAL_BYTES);
        assert_true(block == rows || block % target.costs.row_unit == 0);
      }
  target.limits.local_bytes = 0;
  assert_int_equal(sn_target_block_rows(&target, 1, 100, 4, 1), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(groups_keep_the_limits),
      cmocka_unit_test(single_ops_keep_them_too),
      cmocka_unit_test(a_missing_dtype_is_refused),
      cmocka_unit_test(every_knob_keeps_the_bits),
      cmocka_unit_test(costs_make_other_kernels_and_the_same_values),
      cmocka_unit_test(few_terms_are_added_one_by_one),
      cmocka_unit_test(blocks_fit_into_local_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
