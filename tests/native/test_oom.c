/* test_oom.c - every single allocation fails, once or from then on, through the public API and when
 * compiling in slices.
 *
 * A scenario makes tensors, asks for values, and releases everything, whether it succeeds or not.
 * It runs with allocation k failing, k = 0, 1, 2 ... until it succeeds untouched, on a fresh
 * context and on one that has run it before. After every failure: the error is SN_ERR_MEMORY, no
 * tensor is left, not a byte more is in use than before, and the same scenario then gives the same
 * bits. */
#include <math.h>

#include "support.h"
#include "tensor/program.h"

enum { MAX_HELD = 64, MAX_VALUES = 256 };

typedef struct run { /* one run of a scenario */
  sn_context *ctx;
  sn_tensor *held[MAX_HELD];
  size_t n_held;
  float values[MAX_VALUES];
  size_t n_values;
  sn_program *program;
} run;

typedef void scenario(run *r);

/* Released when the run ends. */
static sn_tensor *hold(run *r, sn_tensor *t) {
  assert_true(r->n_held < MAX_HELD);
  return r->held[r->n_held++] = t;
}
#define H(x) hold(r, (x))

static void let_go(run *r, sn_tensor *t) {
  for (size_t i = 0; i < r->n_held; i++)
    if (r->held[i] == t) r->held[i] = NULL;
  sn_release(t);
}

/* Its values are part of the result. */
static void note_values(run *r, sn_tensor *t) {
  if (!t) return;
  const size_t n = (sn_size_bytes(t) + 3) / 4;
  assert_true(r->n_values + n <= MAX_VALUES);
  if (!sn_read(t, r->values + r->n_values, sn_size_bytes(t))) r->n_values += n;
}

static sn_tensor *data(run *r, int rank, const int64_t *dims, float scale) {
  return H(ramp(r->ctx, rank, dims, scale));
}

/* ---- scenarios ------------------------------------------------------------------------------- */

static void creation(run *r) {
  sn_context *ctx = r->ctx;
  const float d[6] = {1, 2, 3, 4, 5, 6};
  sn_tensor *a = H(sn_from_data(ctx, SN_F32, DIMS(2, 3), d));
  sn_tensor *b = H(sn_full(ctx, SN_F32, DIMS(2, 3), 7));
  sn_tensor *c = H(sn_iota(ctx, SN_F32, DIMS(2, 3), 1));
  sn_tensor *s = H(sn_scalar(ctx, 0.3));
  H(sn_retain(a));
  note_values(r, a);
  note_values(r, b);
  note_values(r, c);
  note_values(r, s);
}

static void elementwise(run *r) {
  sn_tensor *x = data(r, DIMS(3, 4), 0.1f), *y = data(r, DIMS(4), 0.2f);
  sn_tensor *i = H(sn_iota(r->ctx, SN_I32, DIMS(3, 1), 0));
  sn_tensor *a = H(sn_add(H(sn_tanh(x)), H(sn_mul(y, H(sn_scalar(r->ctx, 0.7))))));
  sn_tensor *c = H(sn_less(a, y));
  note_values(r, H(sn_where(c, H(sn_pow(x, y)), i)));
  note_values(r, H(sn_astype(c, SN_F32)));
}

static void reductions(run *r) {
  sn_tensor *x = data(r, DIMS(3, 4, 2), 0.1f);
  note_values(r, H(sn_sum(x, SN_ALL_AXES, false)));
  note_values(r, H(sn_mean(x, 2, true)));
  note_values(r, H(sn_max(x, 5, false)));
  note_values(r, H(sn_min(x, 1, false)));
  note_values(r, H(sn_argmax(x, -1, true)));
  note_values(r, H(sn_argmin(x, 0, false)));
}

static void products(run *r) {
  sn_tensor *x = data(r, DIMS(3, 4), 0.1f), *w = data(r, DIMS(4, 2), 0.2f);
  sn_tensor *v = data(r, DIMS(4), 0.3f), *batch = data(r, DIMS(2, 3, 4), 0.4f);
  sn_tensor *many = data(r, DIMS(5, 1, 4, 2), 0.5f);
  note_values(r, H(sn_matmul(x, w)));
  note_values(r, H(sn_matmul(v, w)));
  note_values(r, H(sn_matmul(x, v)));
  note_values(r, H(sn_matmul(v, v)));
  note_values(r, H(sn_matmul(batch, w)));
  note_values(r, H(sn_matmul(batch, many)));
}

static void shapes(run *r) {
  sn_tensor *x = data(r, DIMS(3, 4), 0.1f), *lazy = H(sn_exp(x));
  const int64_t begin[] = {2, 0}, size[] = {2, 4}, strides[] = {-1, 1}, one[] = {1, 1},
                two[] = {0, 2};
  sn_tensor *parts[] = {lazy, x, H(sn_slice(lazy, begin, size, strides)), lazy, x};
  note_values(r, H(sn_concat(parts, 5, 0)));
  note_values(r, H(sn_reshape(lazy, DIMS(2, -1))));
  note_values(r, H(sn_reshape(x, DIMS(12))));
  note_values(r, H(sn_transpose(lazy, NULL)));
  note_values(r, H(sn_pad(lazy, one, two, SN_PAD_CONSTANT, 9)));
  note_values(r, H(sn_broadcast_to(x, DIMS(2, 3, 4))));
  note_values(r, H(sn_bitcast(lazy, SN_I32)));
}

static void along_axes(run *r) {
  sn_tensor *x = data(r, DIMS(3, 4), 0.1f), *i = H(sn_iota(r->ctx, SN_I32, DIMS(2, 2), 0));
  sn_tensor *v = H(sn_variable(x)), *u = H(sn_take(v, i, 1)), *g;
  note_values(r, H(sn_scatter_add(x, i, u, 1)));
  note_values(r, H(sn_scatter(x, i, H(sn_scalar(r->ctx, 2)), 1, SN_SCATTER_SET)));
  note_values(r, H(sn_one_hot(i, 3, SN_F32)));
  note_values(r, H(sn_argsort(x, 0, true)));
  sn_tensor *sums = H(sn_cumsum(H(sn_sort(u, 0, false)), 1, false, false));
  sn_tensor *y =
      H(sn_add(H(sn_prod(v, SN_ALL_AXES, false)), H(sn_norm(sums, SN_ALL_AXES, false, 2))));
  if (sn_gradients(y, &v, 1, &g)) return;
  note_values(r, H(g));
}

/* Scores are made again in a hostile build, and go through chains. */
static void attention(run *r) {
  sn_tensor *x = data(r, DIMS(1, 1, 36, 3), 0.1f), *q = H(sn_variable(x)), *k = H(sn_variable(x));
  sn_tensor *y = H(sn_tanh(H(sn_attention(q, k, x, true, NULL, NULL, NAN)))), *slopes[2];
  sn_tensor *loss = H(sn_sum(y, SN_ALL_AXES, false));
  if (sn_gradients(loss, (sn_tensor *[]){q, k}, 2, slopes)) return;
  note_values(r, H(slopes[0]));
  note_values(r, H(slopes[1]));
}

static void norms(run *r) {
  sn_tensor *x = data(r, DIMS(3, 4), 0.1f), *w = data(r, DIMS(4), 0.2f);
  note_values(r, H(sn_layer_norm(x, 1u << 1, w, w, 1e-5)));
  note_values(r, H(sn_rms_norm(x, w, 1e-5)));
  note_values(r, H(sn_batch_norm(x, 1, NULL, NULL, w, w, 1e-5)));
  note_values(r, H(sn_log_softmax(x, 0)));
  note_values(r, H(sn_logsumexp(x, 2, true)));
  note_values(r, H(sn_std(x, 1, false, 1)));
  note_values(r, H(sn_all(x, 1, false)));
}

static void convolutions(run *r) {
  const sn_window_options same = {.padding = SN_PADDING_SAME, .channels_first = true};
  sn_tensor *x = H(sn_variable(data(r, DIMS(1, 2, 4), 0.1f))), *g;
  sn_tensor *y = H(sn_conv(x, data(r, DIMS(3, 2, 4), 0.2f), 1, &same));
  note_values(r, H(sn_conv_transpose(y, data(r, DIMS(2, 1, 4), 0.3f), 1, &same)));
  sn_tensor *p = H(sn_max_pool(H(sn_avg_pool(y, (const int64_t[]){3}, 1, &same)),
                               (const int64_t[]){2}, 1, NULL));
  if (sn_gradients(H(sn_sum(p, SN_ALL_AXES, false)), &x, 1, &g)) return;
  note_values(r, H(g));
}

static void loss(run *r) {
  sn_tensor *x = data(r, DIMS(3, 4), 0.1f), *classes = H(sn_iota(r->ctx, SN_I32, DIMS(3), 0));
  note_values(r, H(sn_softmax_cross_entropy(x, classes, SN_DEFAULT)));
  note_values(r, H(sn_softmax_cross_entropy(x, x, SN_DEFAULT)));
}

static void derivatives(run *r) {
  sn_tensor *x = data(r, DIMS(3, 4), 0.1f);
  sn_tensor *wrt[2] = {H(sn_variable(data(r, DIMS(4, 2), 0.2f))),
                       H(sn_variable(data(r, DIMS(2), 0.3f)))};
  sn_tensor *y = H(sn_add(H(sn_matmul(x, wrt[0])), wrt[1]));
  sn_tensor *l = H(sn_mean(H(sn_square(H(sn_tanh(y)))), SN_ALL_AXES, false)), *g[2], *h[2];
  if (sn_gradients(l, wrt, 2, g)) return;
  sn_tensor *norm = H(sn_sum(H(sn_square(H(g[0]))), SN_ALL_AXES, false));
  note_values(r, H(g[1]));
  if (sn_gradients(norm, wrt, 2, h)) return;
  note_values(r, H(h[0]));
  note_values(r, H(h[1]));
  sn_tensor *p[2];
  if (sn_vjp(r->ctx, (sn_tensor *[]){y, l}, 2, (sn_tensor *[]){H(sn_square(y)), l}, wrt, 2, p))
    return;
  note_values(r, H(p[0]));
  note_values(r, H(p[1]));
}

/* w, m -> w - 0.1 (m + x) ..., with x captured */
static void make_program(run *r, bool donate) {
  sn_context *ctx = r->ctx;
  sn_tensor *in[] = {H(sn_placeholder(ctx, SN_F32, DIMS(4, 5))),
                     H(sn_placeholder(ctx, SN_F32, DIMS(4, 5)))};
  sn_tensor *m = H(sn_add(H(sn_mul(in[1], H(sn_scalar(ctx, 0.9)))), data(r, DIMS(5), 0.1f)));
  sn_tensor *out[] = {H(sn_sub(in[0], H(sn_mul(m, H(sn_scalar(ctx, 0.1)))))), m,
                      H(sn_sum(H(sn_square(m)), SN_ALL_AXES, false))};
  sn_program *p = NULL;
  const bool both[] = {donate, donate};
  if (!sn_compile(ctx, in, 2, out, 3, both, &p)) r->program = p;
}

/* x w w, with w captured: w w is computed once, at the first call. */
static void captured_product(run *r) {
  sn_context *ctx = r->ctx;
  sn_tensor *w = H(sn_exp(data(r, DIMS(16, 16), 0.01f))),
            *in = H(sn_placeholder(ctx, SN_F32, DIMS(4, 16)));
  if (!w || sn_eval(&w, 1)) return;
  sn_tensor *out = H(sn_matmul(in, H(sn_matmul(w, w)))), *x = data(r, DIMS(4, 16), 0.1f);
  if (sn_compile(ctx, &in, 1, &out, 1, NULL, &r->program)) return;
  for (int call = 0; call < 2; call++) {
    sn_tensor *y;
    if (!x || sn_program_run(r->program, &x, &y)) return;
    note_values(r, H(y));
  }
}

static void compile_and_run(run *r) {
  make_program(r, false);
  sn_tensor *in[] = {data(r, DIMS(4, 5), 0.1f), H(sn_exp(data(r, DIMS(4, 5), 0.2f)))}, *out[3];
  if (!r->program || !in[0] || !in[1] || sn_program_run(r->program, in, out)) return;
  for (int i = 0; i < 3; i++) note_values(r, H(out[i]));
}

/* The state of a training loop: a step that fails leaves it as it was, and can be taken again. */
static void donated_steps(run *r) {
  make_program(r, true);
  sn_tensor *in[] = {data(r, DIMS(4, 5), 0.1f), data(r, DIMS(4, 5), 0.2f)}, *out[3];
  if (!r->program || !in[0] || !in[1]) return;
  for (int step = 0; step < 4; step++) {
    sn_status status = sn_program_run(r->program, in, out);
    if (status) status = sn_program_run(r->program, in, out);
    if (status) return;
    for (int i = 0; i < 2; i++) {
      let_go(r, in[i]);
      in[i] = H(out[i]);
    }
    H(out[2]);
  }
  for (int i = 0; i < 3; i++) note_values(r, out[i]);
}

/* Weights that stay packed where memory can be had. */
static void weights_met_again(run *r) {
  sn_tensor *in[] = {H(sn_placeholder(r->ctx, SN_F32, DIMS(4, 200))),
                     H(sn_placeholder(r->ctx, SN_F32, DIMS(200, 12)))};
  sn_tensor *y = H(sn_matmul(in[0], in[1]));
  if (!y || sn_compile(r->ctx, in, 2, &y, 1, NULL, &r->program)) return;
  sn_tensor *w = data(r, DIMS(200, 12), 0.1f);
  for (int n = 1; n < 5; n++) {
    sn_tensor *x[] = {data(r, DIMS(4, 200), 0.01f * (float)n), w};
    if (!x[0] || !w || sn_program_run(r->program, x, &y)) return;
    note_values(r, H(y));
  }
}

/* ---- control flow: a choice in a scan, doubled in a while ---- */

static sn_tensor *chosen(run *r, sn_tensor *x) {
  sn_tensor *in[2], *y;
  for (int k = 0; k < 2; k++) in[k] = H(sn_placeholder(r->ctx, SN_F32, DIMS(4)));
  sn_tensor *a = H(sn_sin(in[0])), *b = H(sn_neg(in[1]));
  sn_tensor *test = H(sn_greater(H(sn_sum(x, SN_ALL_AXES, false)), H(sn_scalar(r->ctx, 0.7))));
  const sn_traced on_true = {&in[0], 1, &a, 1}, on_false = {&in[1], 1, &b, 1};
  return sn_cond(test, &on_true, &on_false, &x, &y) ? NULL : H(y);
}

/* c' = chosen(c w) + row, stacked as well: a number, differentiable. */
static sn_tensor *scanned(run *r, sn_tensor *c, sn_tensor *w, sn_tensor *rows) {
  sn_tensor *in[2], *inputs[2] = {c, rows}, *out[2];
  for (int k = 0; k < 2; k++) in[k] = H(sn_placeholder(r->ctx, SN_F32, DIMS(4)));
  sn_tensor *next = H(sn_add(chosen(r, H(sn_mul(in[0], w))), in[1])), *made[2] = {next, next};
  const sn_traced body = {in, 2, made, 2};
  if (sn_scan(r->ctx, &body, 1, inputs, 3, true, out)) return NULL;
  sn_tensor *last = H(out[0]), *stack = H(out[1]);
  return H(sn_add(H(sn_sum(last, SN_ALL_AXES, false)), H(sn_sum(stack, SN_ALL_AXES, false))));
}

static sn_tensor *doubled(run *r, sn_tensor *x) {
  sn_tensor *in[2], *y;
  for (int k = 0; k < 2; k++) in[k] = H(sn_placeholder(r->ctx, SN_F32, 0, NULL));
  sn_tensor *more = H(sn_less(in[0], H(sn_scalar(r->ctx, 30)))), *next = H(sn_add(in[1], in[1]));
  const sn_traced test = {&in[0], 1, &more, 1}, body = {&in[1], 1, &next, 1};
  return sn_while(r->ctx, &test, &body, &x, &y) ? NULL : H(y);
}

static void control_flow(run *r) {
  sn_tensor *c = data(r, DIMS(4), 0.1f), *w = data(r, DIMS(4), 0.2f);
  note_values(r, doubled(r, scanned(r, c, w, data(r, DIMS(3, 4), 0.3f))));
}

static void compiled_control_flow(run *r) {
  sn_tensor *in[] = {H(sn_placeholder(r->ctx, SN_F32, DIMS(4))),
                     H(sn_placeholder(r->ctx, SN_F32, DIMS(3, 4)))};
  sn_tensor *w = data(r, DIMS(4), 0.2f), *y = doubled(r, scanned(r, in[0], w, in[1])), *out;
  if (!y || sn_compile(r->ctx, in, 2, &y, 1, NULL, &r->program)) return;
  sn_tensor *x[] = {data(r, DIMS(4), 0.1f), data(r, DIMS(3, 4), 0.3f)};
  if (x[0] && x[1] && !sn_program_run(r->program, x, &out)) note_values(r, H(out));
}

static void derivatives_of_control_flow(run *r) {
  sn_tensor *x[] = {H(sn_variable(data(r, DIMS(4), 0.1f))), H(sn_variable(data(r, DIMS(4), 0.2f))),
                    H(sn_variable(data(r, DIMS(3, 4), 0.3f)))};
  sn_tensor *loss = scanned(r, x[0], x[1], x[2]), *dx[3], *dy;
  if (!loss || sn_gradients(loss, x, 3, dx)) return;
  for (int k = 0; k < 3; k++) H(dx[k]);
  for (int k = 0; k < 3; k++) note_values(r, dx[k]);
  sn_tensor *tangents[] = {x[1], x[0], NULL}, *y = doubled(r, loss);
  if (y && !sn_jvp(r->ctx, &y, 1, x, tangents, 3, &dy)) note_values(r, H(dy));
}

/* The scan's choice is an example's own; the while goes on as long as one needs it. */
static void examples_of_control_flow(run *r) {
  const int axis = 0;
  sn_tensor *one = H(sn_placeholder(r->ctx, SN_F32, DIMS(4))), *w = data(r, DIMS(4), 0.2f), *out;
  sn_tensor *y = doubled(r, scanned(r, one, w, data(r, DIMS(3, 4), 0.3f)));
  sn_tensor *all = data(r, DIMS(2, 4), 0.1f);
  if (!y || !all || sn_vmap(r->ctx, &y, &axis, 1, &one, &all, &axis, 1, &out)) return;
  note_values(r, H(out));
}

static void several_at_once(run *r) {
  sn_tensor *x = data(r, DIMS(3, 4), 0.1f), *e = H(sn_exp(x));
  sn_tensor *all[] = {e, H(sn_sum(e, 1, false)), H(sn_scalar(r->ctx, 0.3)), H(sn_sub(x, e)), x, e};
  for (int i = 0; i < 6; i++)
    if (!all[i]) return;
  if (sn_eval(all, 6)) return;
  for (int i = 0; i < 4; i++) note_values(r, all[i]);
}

static void in_the_background(run *r) {
  sn_tensor *x = data(r, DIMS(3, 4), 0.1f);
  uint32_t ticket;
  for (int i = 0; i < 3; i++) {
    sn_tensor *y = H(sn_add(H(sn_exp(x)), H(sn_scalar(r->ctx, i + 3.5))));
    if (!y || sn_eval_async(&y, 1, &ticket)) break;
    x = y;
  }
  sn_synchronize(r->ctx);
  note_values(r, x);
}

static void recorded(run *r) {
  sn_context *ctx = r->ctx;
  sn_tensor *p = H(sn_placeholder(ctx, SN_F32, DIMS(4, 5)));
  sn_tensor *y = H(sn_sum(H(sn_exp(H(sn_matmul(p, data(r, DIMS(5, 2), 0.1f))))), 1, false));
  const char *text;
  if (!p || sn_compile_with(ctx, &p, 1, &y, 1, &(sn_program_options){.record = true}, &r->program))
    return;
  if (sn_program_c_source(r->program, "f", &text) || sn_program_wat(r->program, 0, &text)) return;
  if (sn_program_graph(r->program, &text)) return;
  assert_non_null(sn_program_inspection(r->program));
  sn_tensor *x = data(r, DIMS(4, 5), 0.1f), *out;
  if (x && !sn_program_run(r->program, &x, &out)) note_values(r, H(out));
}

/* What else happens between the slices is not in the way, in either direction. */
static void compiled_in_slices(run *r) {
  sn_context *ctx = r->ctx;
  sn_tensor *p = H(sn_placeholder(ctx, SN_F32, DIMS(4, 5))), *w = data(r, DIMS(5, 2), 0.1f);
  sn_tensor *y = H(sn_sum(H(sn_exp(H(sn_matmul(p, H(sn_tanh(w)))))), 1, false));
  bool done = false;
  note_values(r, w); /* has its value: all slices compute the same graph */
  if (!p || sn_program_begin_compile(ctx, &p, 1, &y, 1, NULL, &r->program)) return;
  for (int slice = 0; !done; slice++) {
    sn_tensor *other = H(sn_add(w, H(sn_scalar(ctx, slice + 3.5))));
    if (!other || sn_eval(&other, 1)) return;
    if (sn_program_continue_compile(r->program, 0, &done)) return;
  }
  sn_tensor *x = data(r, DIMS(4, 5), 0.1f), *out;
  if (x && !sn_program_run(r->program, &x, &out)) note_values(r, H(out));
}

static void profiles(run *r) {
  if (sn_profile_start(r->ctx, 100)) return;
  sn_tensor *x = data(r, DIMS(3, 4), 0.1f);
  note_values(r, H(sn_sum(H(sn_exp(x)), 1, false)));
  note_values(r, H(sn_matmul(x, H(sn_transpose(x, NULL)))));
  sn_profile_stop(r->ctx);
}

static void in_scopes(run *r) {
  sn_context *ctx = r->ctx;
  sn_tensor *kept = NULL, *g[1] = {NULL}, *out[3] = {NULL};
  make_program(r, true);
  if (sn_scope_begin(ctx)) return;
  if (!sn_scope_begin(ctx)) {
    sn_tensor *x = ramp(ctx, DIMS(3, 4), 0.1f);
    for (int i = 0; i < 20; i++)
      x = sn_add(x, sn_scalar(ctx, i + 3.0)); /* the list of notes grows */
    kept = sn_keep(sn_sum(x, SN_ALL_AXES, false));
    sn_scope_end(ctx);
  }
  sn_tensor *v = sn_variable(ramp(ctx, DIMS(3), 0.2f));
  sn_tensor *y = sn_sum(sn_square(v), SN_ALL_AXES, false);
  if (y && !sn_gradients(y, &v, 1, g)) {
    assert_non_null(g[0]);
    note_values(r, g[0]);
  }
  sn_tensor *in[] = {ramp(ctx, DIMS(4, 5), 0.1f), ramp(ctx, DIMS(4, 5), 0.2f)};
  if (r->program && in[0] && in[1] && !sn_program_run(r->program, in, out)) {
    for (int i = 0; i < 3; i++) assert_non_null(out[i]);
    note_values(r, out[2]);
  }
  sn_scope_end(ctx);
  note_values(r, kept);
  sn_release(kept);
}

static void a_loop_that_never_reads(run *r) {
  sn_tensor *x = ramp(r->ctx, DIMS(3), 0.1f), *c = data(r, DIMS(3), 0.01f);
  for (int i = 0; i < 2100 && x; i++) {
    sn_tensor *next = sn_sub(x, c);
    sn_release(x);
    x = next;
  }
  note_values(r, x);
  sn_release(x);
}

static void without_passes(run *r) {
  for (int i = 0; i < sn_pass_count(); i++) sn_pass_enable(r->ctx, sn_pass_name(i), false);
  elementwise(r);
  loss(r);
  for (int i = 0; i < sn_pass_count(); i++) sn_pass_enable(r->ctx, sn_pass_name(i), true);
}

/* ---- the walk over all allocations ----------------------------------------------------------- */

static sn_status perform(sn_context *ctx, scenario *play, run *r) {
  *r = (run){.ctx = ctx};
  play(r);
  release_all(r->held, r->n_held);
  sn_program_release(r->program);
  sn_synchronize(ctx);
  return sn_error_status(ctx);
}

static void expect_same(const run *a, const run *b) {
  assert_int_equal(a->n_values, b->n_values);
  assert_memory_equal(a->values, b->values, a->n_values * sizeof(float));
}

static void expect_out_of_memory(sn_context *ctx) {
  assert_int_equal(sn_error_status(ctx), SN_ERR_MEMORY);
  assert_memory_equal(sn_error_message(ctx), "out of memory: ", 15);
  sn_error_clear(ctx);
}

/* Fails allocation k of the scenario; whether there was one. */
static bool fail_at(fixture *f, scenario *play, int64_t k, bool forever, const run *expected) {
  run r;
  sn_memory_info before, after;
  sn_memory(f->ctx, &before);
  f->ledger.countdown = k;
  f->ledger.forever = forever;
  const sn_status status = perform(f->ctx, play, &r);
  const bool failed = forever ? f->ledger.countdown == 0 : f->ledger.countdown == -1;
  f->ledger.countdown = -1;
  if (status)
    expect_out_of_memory(f->ctx);
  else
    expect_same(&r, expected); /* nothing failed, or it could be made good */
  sn_profile_stop(f->ctx);
  sn_memory(f->ctx, &after);
  assert_int_equal(after.tensors, before.tensors);
  assert_int_equal(after.tensor_bytes, before.tensor_bytes);
  return failed;
}

static run expected_of(scenario *play) {
  fixture f;
  run r;
  fixture_open(&f, (sn_options){.threads = 1});
  assert_int_equal(perform(f.ctx, play, &r), SN_OK);
  assert_true(r.n_values > 0);
  fixture_close(&f);
  return r;
}

/* Without what a profile recorded. */
static size_t bytes_in_use(sn_context *ctx) {
  sn_memory_info memory;
  assert_int_equal(sn_profile_start(ctx, 1), SN_OK);
  sn_profile_stop(ctx);
  sn_memory(ctx, &memory);
  return memory.bytes_in_use;
}

/* How far the failures that are tried are from each other. ThreadSanitizer has one thread before it, but in one scenario. */
static int64_t step_between_failures(void) {
#ifdef __SANITIZE_THREAD__
  return 41;
#else
  return case_short() ? 3 : 1;
#endif
}

static void walk(scenario *play, int64_t step, bool forever) {
  const run expected = expected_of(play);
  bool failed = true;
  for (int64_t k = 0; failed; k += step) {
    fixture f;
    run again;
    fixture_open(&f, (sn_options){.threads = 1});
    failed = fail_at(&f, play, k, forever, &expected);
    assert_int_equal(perform(f.ctx, play, &again), SN_OK);
    expect_same(&again, &expected);
    fixture_close(&f);
  }
  /* once all is warm: a failure leaves no byte more, and the next run exactly as many as the
   * last */
  fixture f;
  run warm;
  fixture_open(&f, (sn_options){.threads = 1});
  for (int i = 0; i < 2; i++) assert_int_equal(perform(f.ctx, play, &warm), SN_OK);
  const size_t settled = bytes_in_use(f.ctx);
  failed = true;
  for (int64_t k = 0; failed; k += step) {
    failed = fail_at(&f, play, k, forever, &expected);
    assert_true(bytes_in_use(f.ctx) <= settled);
    assert_int_equal(perform(f.ctx, play, &warm), SN_OK);
    expect_same(&warm, &expected);
    assert_int_equal(bytes_in_use(f.ctx), settled);
  }
  fixture_close(&f);
}

static void play_scenario(void **state) {
  scenario *play = *(scenario **)*state;
  const int64_t step = play == a_loop_that_never_reads ? (case_short() ? 211 : 37)
                                                       : step_between_failures();
  walk(play, step, false);
  walk(play, step, true);
}

static void contexts(void **state) {
  (void)state;
  for (int forever = 0; forever < 2; forever++) {
    for (int64_t k = 0;; k++) {
      ledger l = {.countdown = k, .forever = forever};
      const sn_allocator allocator = ledger_allocator(&l);
      const sn_options options = {.allocator = &allocator, .threads = 3};
      sn_context *ctx = NULL;
      const sn_status status = sn_context_create(&options, &ctx);
      if (status) {
        assert_int_equal(status, SN_ERR_MEMORY);
        assert_null(ctx);
        assert_int_equal(l.live_blocks, 0);
        continue;
      }
      sn_context_destroy(ctx);
      assert_int_equal(l.live_blocks, 0);
      break;
    }
  }
}

/* Where the open scope has no room left for the notes of all results, none of them is lost. */
static void notes_of_several_results(void **state) {
  (void)state;
  for (int fill = 0; fill < 18; fill++) {
    for (int forever = 0; forever < 2; forever++) {
      bool failed = true;
      for (int64_t k = 0; failed; k += step_between_failures()) {
        fixture f;
        run r;
        fixture_open(&f, (sn_options){.threads = 1});
        r = (run){.ctx = f.ctx};
        make_program(&r, true);
        sn_tensor *v[2] = {hold(&r, sn_variable(data(&r, DIMS(3), 1))), NULL}, *g[2], *out[3];
        v[1] = hold(&r, sn_variable(v[0]));
        sn_tensor *y = hold(&r, sn_sum(v[1], SN_ALL_AXES, false));
        sn_tensor *in[] = {data(&r, DIMS(4, 5), 0.1f), data(&r, DIMS(4, 5), 0.2f)};
        assert_int_equal(sn_error_status(f.ctx), SN_OK);
        assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
        for (int i = 0; i < fill; i++) sn_scalar(f.ctx, i);
        f.ledger.countdown = k;
        f.ledger.forever = forever;
        if (fill % 2) {
          if (!sn_gradients(y, v, 2, g))
            for (int i = 0; i < 2; i++) assert_non_null(g[i]);
        } else if (!sn_program_run(r.program, in, out)) {
          for (int i = 0; i < 3; i++) assert_non_null(out[i]);
        } else {
          assert_non_null(sn_data(in[0])); /* a run that failed has used up nothing */
        }
        failed = forever ? f.ledger.countdown == 0 : f.ledger.countdown == -1;
        f.ledger.countdown = -1;
        sn_scope_end(f.ctx);
        release_all(r.held, r.n_held);
        sn_program_release(r.program);
        fixture_close(&f);
      }
    }
  }
}

/* A limit is like a lack of memory, but blocks kept for later are given up first. */
static void the_limit_counts_only_what_is_needed(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1, .memory_limit_bytes = 1 << 20});
  for (int i = 0; i < 60; i++) { /* each size leaves a block behind */
    sn_tensor *x = ramp(f.ctx, 1, (int64_t[]){20000 + 100 * i}, 1), *y = sn_exp(x);
    assert_int_equal(sn_eval(&y, 1), SN_OK);
    sn_release(x);
    sn_release(y);
  }
  /* small blocks, which are not kept, find room as well */
  sn_tensor *many[2000];
  for (int i = 0; i < 2000; i++) {
    many[i] = ramp(f.ctx, DIMS(8), 1);
    if (!many[i]) fail_msg("%d: %s", i, sn_error_message(f.ctx));
  }
  release_all(many, 2000);
  assert_null(ramp(f.ctx, DIMS(1 << 19), 1));
  expect_out_of_memory(f.ctx);
  sn_memory_info memory;
  sn_memory(f.ctx, &memory);
  assert_true(memory.bytes_peak <= 1 << 20);
  fixture_close(&f);
}

#define SCENARIO(name)                                       \
  {                                                          \
#name, play_scenario, NULL, NULL, &(scenario *) { name } \
  }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contexts),
      SCENARIO(creation),
      SCENARIO(elementwise),
      SCENARIO(reductions),
      SCENARIO(products),
      SCENARIO(shapes),
      SCENARIO(along_axes),
      SCENARIO(norms),
      SCENARIO(attention),
      SCENARIO(convolutions),
      SCENARIO(loss),
      SCENARIO(derivatives),
      SCENARIO(captured_product),
      SCENARIO(compile_and_run),
      SCENARIO(donated_steps),
      SCENARIO(weights_met_again),
      SCENARIO(control_flow),
      SCENARIO(compiled_control_flow),
      SCENARIO(derivatives_of_control_flow),
      SCENARIO(examples_of_control_flow),
      SCENARIO(several_at_once),
      SCENARIO(in_the_background),
      SCENARIO(recorded),
      SCENARIO(compiled_in_slices),
      SCENARIO(profiles),
      SCENARIO(in_scopes),
      SCENARIO(without_passes),
      SCENARIO(a_loop_that_never_reads),
      cmocka_unit_test(notes_of_several_results),
      cmocka_unit_test(the_limit_counts_only_what_is_needed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
