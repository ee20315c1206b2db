/* reference_axis.c - the definition of the ops along one axis. Buffers are row-major, so they are
 * seen as (outer, axis, inner), and element i of line (o, k) lies at (o * n + i) * inner + k.
 *
 * An index i < 0 counts from the end; one that is still outside is clamped, as a compiled program
 * has no way to report it.
 * A scan of floats keeps its running value in float64 and rounds only what it stores as an element,
 * so a long sum of float32 loses little. Integers wrap. */
#include <math.h>
#include <string.h>

#include "graph/reference.h"

typedef struct line { /* one line of a buffer along the axis */
  const void *data;
  sn_dtype dtype;
  int64_t first, step, n;
} line;

static double load(const line *l, int64_t i) {
  return sn_ref_load(l->dtype, l->data, l->first + i * l->step);
}

static void store(const line *l, int64_t i, double value) {
  sn_ref_store(l->dtype, (void *)(uintptr_t)l->data, l->first + i * l->step, value);
}

static int64_t index_at(const line *indices, int64_t i, int64_t n) {
  const int64_t at = (int64_t)load(indices, i), wrapped = at < 0 ? at + n : at;
  return wrapped < 0 ? 0 : wrapped >= n ? n - 1 : wrapped;
}

/* int32 sums and products wrap; both are exact in 64 bits */
static double wrap_i32(int64_t value) { return (double)(int32_t)(uint32_t)(uint64_t)value; }

static double sum_of(sn_dtype dtype, double a, double b) {
  return dtype == SN_I32 ? wrap_i32((int64_t)a + (int64_t)b) : a + b;
}

static double product_of(sn_dtype dtype, double a, double b) {
  return dtype == SN_I32 ? wrap_i32((int64_t)a * (int64_t)b) : a * b;
}

static void ref_gather(const line *x, const line *indices, const line *y) {
  for (int64_t i = 0; i < y->n; i++) store(y, i, load(x, index_at(indices, i, x->n)));
}

/* The new value of an element `old` that a scatter gives an update. */
static double updated(sn_op op, sn_dtype dtype, double old, double update) {
  const sn_op step = sn_op_describe(op)->step;
  const double pair[SN_MAX_ARITY] = {old, update};
  return step ? sn_ref_scalar(false, step, dtype, pair, dtype) : update;
}

static void ref_scatter(sn_op op, const line *in, const line *y) {
  for (int64_t i = 0; i < y->n; i++) store(y, i, load(&in[0], i));
  for (int64_t i = 0; i < in[1].n; i++) {
    const int64_t at = index_at(&in[1], i, y->n);
    store(y, at, updated(op, y->dtype, load(y, at), load(&in[2], i)));
  }
}

/* Whether a sorts before b. NaN comes last, also in descending order. */
static bool precedes(double a, double b, bool descending) {
  if (isnan(a) || isnan(b)) return !isnan(a);
  return descending ? a > b : a < b;
}

/* The place of an element is the number of elements before it; equal ones keep their order. */
static void ref_sort(sn_op op, bool descending, const line *x, const line *y) {
  for (int64_t i = 0; i < x->n; i++) {
    int64_t rank = 0;
    const double value = load(x, i);
    for (int64_t j = 0; j < x->n; j++) {
      const double other = load(x, j);
      const bool tie = !precedes(value, other, descending) && !precedes(other, value, descending);
      const bool both_nan = isnan(value) && isnan(other);
      if ((tie || both_nan) ? j < i : precedes(other, value, descending)) rank++;
    }
    store(y, rank, op == SN_OP_argsort ? (double)i : value);
  }
}

static void ref_scan(sn_op op, bool reverse, bool exclusive, const line *in, const line *y) {
  const sn_dtype dtype = y->dtype;
  double state = op == SN_OP_cumprod ? 1 : 0;
  for (int64_t k = 0; k < y->n; k++) {
    const int64_t i = reverse ? y->n - 1 - k : k;
    const double before = state, x = load(&in[0], i);
    if (op == SN_OP_cumsum) state = sum_of(dtype, state, x);
    if (op == SN_OP_cumprod) state = product_of(dtype, state, x);
    if (op == SN_OP_recurrence) state = sum_of(dtype, product_of(dtype, x, state), load(&in[1], i));
    store(y, i, exclusive ? before : state);
  }
}

void sn_ref_along_axis(const sn_graph *g, sn_id id, const void *const *in, void *out) {
  const sn_node *node = sn_graph_node(g, id);
  const int64_t *attrs = sn_graph_attrs(g, id), axis = attrs[0];
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < axis; d++) outer *= node->type.dims[d];
  for (int d = (int)axis + 1; d < node->type.rank; d++) inner *= node->type.dims[d];
  line x[SN_MAX_ARITY], y = {out, node->type.dtype, 0, inner, node->type.dims[axis]};
  for (uint32_t k = 0; k < node->n_inputs; k++) {
    const sn_type *type = &g->nodes[sn_graph_inputs(g, id)[k]].type;
    x[k] = (line){in[k], type->dtype, 0, inner, type->dims[axis]};
  }
  for (int64_t l = 0; l < outer * inner; l++) {
    y.first = l / inner * y.n * inner + l % inner;
    for (uint32_t k = 0; k < node->n_inputs; k++)
      x[k].first = l / inner * x[k].n * inner + l % inner;
    switch (sn_op_describe(node->op)->kind) {
    case SN_CLASS_GATHER: ref_gather(&x[0], &x[1], &y); break;
    case SN_CLASS_SCATTER: ref_scatter(node->op, x, &y); break;
    case SN_CLASS_SORT: ref_sort(node->op, attrs[1], &x[0], &y); break;
    default: ref_scan(node->op, attrs[1], attrs[2], x, &y); break;
    }
  }
}
