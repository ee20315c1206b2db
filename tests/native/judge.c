#include "judge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/reference.h"

#define UNIT_F32 0x1p-24 /* half a unit in the last place, relative */
#define UNIT_F64 0x1p-53

enum {
  SHAKES = 24,      /* shaken evaluations for a bound */
  SLACK = 4,        /* times that a result may be farther from wide than those */
  MOST_INPUTS = 32, /* of a node */
  LAST_BITS = 2     /* and units in the last place, for nothing is exact below them */
};

typedef struct judge_block {
  struct judge_block *next;
  _Alignas(16) char bytes[];
} judge_block;

static void *take(judge *j, size_t bytes) {
  judge_block *block = malloc(sizeof *block + bytes);
  assert_non_null(block);
  block->next = j->blocks;
  j->blocks = block;
  return block->bytes;
}

/* ---- evaluating ------------------------------------------------------------------------------ */

/* A copy whose float32 nodes, and where smooth halves too, are float64. Constants keep the value
 * that float32 gave them. */
static sn_graph widened(judge *j, const sn_graph *g, bool smooth) {
  sn_graph copy = *g;
  copy.nodes = take(j, g->n_nodes * sizeof *copy.nodes);
  copy.attrs = take(j, g->n_attrs * sizeof *copy.attrs + 1);
  memcpy(copy.nodes, g->nodes, g->n_nodes * sizeof *copy.nodes);
  if (g->n_attrs) memcpy(copy.attrs, g->attrs, g->n_attrs * sizeof *copy.attrs);
  for (size_t i = 0; i < g->n_nodes; i++) {
    sn_node *node = &copy.nodes[i];
    const sn_dtype dtype = node->type.dtype;
    if (dtype != SN_F32 && !(smooth && (dtype == SN_F16 || dtype == SN_BF16))) continue;
    assert_true(node->op != SN_OP_bitcast);
    if (node->op == SN_OP_constant || node->op == SN_OP_pad) {
      int64_t *attr = &copy.attrs[node->first_attr + node->n_attrs - 1];
      *attr = sn_double_attr(sn_ref_convert(dtype, sn_attr_double(*attr)));
    }
    node->type.dtype = SN_F64;
  }
  return copy;
}

/* An argument's elements in the dtype its node has in g. */
static void read_argument(const judge *j, const sn_graph *g, sn_id id, void *out) {
  const sn_type *to = &g->nodes[id].type;
  const sn_dtype from = j->traced->nodes[id].type.dtype;
  const void *data = j->arguments[*sn_graph_attrs(g, id)];
  if (from == to->dtype) {
    if (sn_type_bytes(to)) memcpy(out, data, sn_type_bytes(to));
    return;
  }
  for (int64_t i = 0; i < sn_type_size(to); i++)
    sn_ref_store(to->dtype, out, i, sn_ref_load(from, data, i));
}

/* What one rounding of the node's result may change, relative to it; 0: it does not round. */
static double rounding_of(const judge *j, const sn_graph *g, sn_id id) {
  const sn_node *node = &g->nodes[id];
  const sn_dtype dtype = j->traced->nodes[id].type.dtype;
  const double unit = dtype == SN_F32 ? UNIT_F32 : dtype == SN_F64 ? UNIT_F64 : 0;
  switch (sn_op_describe(node->op)->kind) {
  case SN_CLASS_MAP: {
    static const sn_op rounds[] = {SN_OP_add, SN_OP_sub, SN_OP_mul, SN_OP_div, SN_OP_sqrt};
    double ulps = sn_op_bounds_table[node->op].ulp;
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++)
      if (node->op == rounds[i]) ulps = 1;
    return 2 * ulps * unit;
  }
  case SN_CLASS_MATMUL:
  case SN_CLASS_CONV:
  case SN_CLASS_SOFTMAX:
  case SN_CLASS_SCAN: return 4 * unit;
  case SN_CLASS_CAST: return unit;
  case SN_CLASS_SCATTER: return node->op == SN_OP_scatter_add ? 4 * unit : 0;
  case SN_CLASS_REDUCE: return sn_op_describe(node->op)->picks ? 0 : 4 * unit;
  default: return 0;
  }
}

/* How many terms each sum of the node adds up; 0: it is no sum. */
static int64_t terms_of(const sn_graph *g, sn_id id) {
  const sn_node *node = &g->nodes[id];
  const sn_type *x = &g->nodes[sn_graph_inputs(g, id)[0]].type;
  const int64_t size = sn_type_size(&node->type);
  switch (sn_op_describe(node->op)->kind) {
  case SN_CLASS_MATMUL: return x->dims[x->rank - 1];
  case SN_CLASS_CONV: {
    const sn_type *w = &g->nodes[sn_graph_inputs(g, id)[1]].type;
    return sn_type_size(w) / (w->dims[w->rank - 1] ? w->dims[w->rank - 1] : 1);
  }
  case SN_CLASS_SCAN: return x->dims[*sn_graph_attrs(g, id)];
  case SN_CLASS_SCATTER: return node->op == SN_OP_scatter_add ? sn_type_size(x) : 0;
  case SN_CLASS_REDUCE:
    return sn_op_describe(node->op)->picks || !size ? 0 : sn_type_size(x) / size;
  default: return 0;
  }
}

/* -1 to 1. In every other pair of evaluations equal numbers of a node move alike, as in rounding,
 * which shows what is singular because all of them are equal. In the others each moves by itself,
 * as sums of the same terms in another order do, which shows what depends on ties. */
static double noise(uint64_t seed, sn_id id, double value, int64_t i) {
  const uint64_t place = seed % 4 < 2 ? (uint64_t)sn_double_attr(value) : (uint64_t)i * 0x9e3779b1;
  case_random r = {place ^ seed << 32 ^ (uint64_t)id << 20};
  return case_between(&r, -1, 1);
}

/* Moves each element by at most relative times its size: that of the same sum over absolute values
 * where there is one, for what cancels in it has been rounded, too. Every other time the result is
 * rounded to float32, which makes numbers equal that were close; the first time that is all. */
static void shake(const sn_graph *g, sn_id id, const void **in, double *out, double relative,
                  uint64_t seed) {
  const sn_node *node = &g->nodes[id];
  const int64_t size = sn_type_size(&node->type), terms = terms_of(g, id);
  double *sizes = malloc(sn_type_bytes(&node->type) + 1), *absolute[SN_MAX_ARITY] = {NULL};
  assert_non_null(sizes);
  for (int64_t i = 0; i < size; i++) sizes[i] = fabs(out[i]);
  for (uint32_t k = 0; terms && k < node->n_inputs; k++) {
    const sn_type *type = &g->nodes[sn_graph_inputs(g, id)[k]].type;
    if (type->dtype != SN_F64) continue;
    absolute[k] = malloc(sn_type_bytes(type) + 1);
    assert_non_null(absolute[k]);
    for (int64_t i = 0; i < sn_type_size(type); i++)
      absolute[k][i] = fabs(((const double *)in[k])[i]);
    in[k] = absolute[k];
  }
  if (terms) sn_ref_node(g, false, id, in, sizes);
  relative *= 1 + sqrt((double)terms); /* roundings of many terms: a random walk */
  for (int64_t i = 0; i < size; i++) {
    if (seed > 1) out[i] += relative * sizes[i] * noise(seed, id, out[i], i);
    if (seed % 2 && relative >= UNIT_F32) out[i] = (double)(float)out[i];
  }
  for (uint32_t k = 0; k < SN_MAX_ARITY; k++) free(absolute[k]);
  free(sizes);
}

/* All nodes of g, into values. seed: shaken; 0: not. */
static void evaluate(judge *j, const sn_graph *g, void **values, uint64_t seed) {
  const void *few[MOST_INPUTS];
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = &g->nodes[id];
    const sn_id *inputs = sn_graph_inputs(g, id);
    if (node->op == SN_OP_input) {
      read_argument(j, g, id, values[id]);
      continue;
    }
    assert_true(node->n_inputs <= MOST_INPUTS);
    for (uint32_t k = 0; k < node->n_inputs; k++) few[k] = values[inputs[k]];
    sn_ref_node(g, false, id, few, values[id]);
    const double relative = seed && node->type.dtype == SN_F64 ? rounding_of(j, g, id) : 0;
    if (relative > 0) shake(g, id, few, values[id], relative, seed);
  }
}

static void **places(judge *j, const sn_graph *g) {
  void **values = take(j, g->n_nodes * sizeof *values);
  size_t bytes = 0;
  for (size_t i = 0; i < g->n_nodes; i++) bytes += (sn_type_bytes(&g->nodes[i].type) + 15) & ~15u;
  char *at = take(j, bytes + 16);
  for (size_t i = 0; i < g->n_nodes; i++) {
    values[i] = at;
    at += (sn_type_bytes(&g->nodes[i].type) + 15) & ~15u;
  }
  return values;
}

void judge_open(judge *j, const sn_graph *traced, const void *const *arguments) {
  *j = (judge){.traced = traced, .arguments = arguments};
  j->wide = widened(j, traced, false);
  j->bounds = take(j, traced->n_outputs * sizeof *j->bounds + 1);
  memset(j->bounds, 0, traced->n_outputs * sizeof *j->bounds);
  j->narrow_values = places(j, traced);
  j->wide_values = places(j, &j->wide);
  evaluate(j, traced, j->narrow_values, 0);
  evaluate(j, &j->wide, j->wide_values, 0);
}

void judge_close(judge *j) {
  while (j->blocks) {
    judge_block *next = j->blocks->next;
    free(j->blocks);
    j->blocks = next;
  }
}

const void *judge_narrow(const judge *j, size_t output) {
  return j->narrow_values[j->traced->outputs[output]];
}

static double at_element(const judge *j, void *const *values, size_t output, int64_t i) {
  const sn_id id = j->wide.outputs[output];
  return sn_ref_load(j->wide.nodes[id].type.dtype, values[id], i);
}

double judge_wide_at(const judge *j, size_t output, int64_t i) {
  return at_element(j, j->wide_values, output, i);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* How far shaken evaluations of every output are from wide. */
static void measure(judge *j) {
  void **values = places(j, &j->wide);
  for (size_t k = 0; k < j->wide.n_outputs; k++) {
    const int64_t size = sn_type_size(&j->wide.nodes[j->wide.outputs[k]].type);
    j->bounds[k] = take(j, (size_t)size * sizeof(double) + 1);
    for (int64_t i = 0; i < size; i++) j->bounds[k][i] = 0;
  }
  for (uint64_t seed = 1; seed <= SHAKES; seed++) {
    evaluate(j, &j->wide, values, seed);
    for (size_t k = 0; k < j->wide.n_outputs; k++) {
      const int64_t size = sn_type_size(&j->wide.nodes[j->wide.outputs[k]].type);
      for (int64_t i = 0; i < size; i++) {
        const double off = fabs(at_element(j, values, k, i) - judge_wide_at(j, k, i));
        if (!(off <= j->bounds[k][i])) j->bounds[k][i] = off; /* NaN stays: anything may come */
      }
    }
  }
}

/* A unit in the last place of dtype at value; 0 for whole numbers. */
static double last_place(sn_dtype dtype, double value) {
  static const int digits[] = {[SN_F32] = 24, [SN_F64] = 53, [SN_F16] = 11, [SN_BF16] = 8};
  static const int lowest[] = {[SN_F32] = -149, [SN_F64] = -1074, [SN_F16] = -24, [SN_BF16] = -133};
  if (!sn_dtype_is_float(dtype)) return 0;
  int exponent;
  frexp(value, &exponent);
  return ldexp(1,
               exponent - digits[dtype] > lowest[dtype] ? exponent - digits[dtype] : lowest[dtype]);
}

bool judge_accepts(judge *j, size_t output, const void *got, int64_t *where, double *bound) {
  const sn_type *type = &j->traced->nodes[j->traced->outputs[output]].type;
  const void *narrow = judge_narrow(j, output);
  if (case_same(type->dtype, got, narrow, sn_type_size(type), where)) return true;
  for (int64_t i = *where; i < sn_type_size(type); i++) {
    const double value = sn_ref_load(type->dtype, got, i);
    const double near = sn_ref_load(type->dtype, narrow, i), wide = judge_wide_at(j, output, i);
    if (value == near || !isfinite(near) || !isfinite(wide)) continue;
    *where = i;
    *bound = SLACK * fabs(near - wide) + LAST_BITS * last_place(type->dtype, wide);
    if (fabs(value - wide) <= *bound) continue;
    if (!j->bounds[output]) measure(j);
    if (isnan(j->bounds[output][i])) continue;
    *bound += SLACK * j->bounds[output][i];
    if (!(fabs(value - wide) <= *bound)) return false;
  }
  return true;
}

/* ---- derivatives ----------------------------------------------------------------------------- */

/* Arguments at a place that no rounding chose, moved along a direction from there: where they are
 * as given, maxima may tie, and what is then taken for a derivative is one of many. */
typedef struct along {
  judge *j;
  uint64_t seed;
  const size_t *variables;
  size_t n;
  void **values; /* of smooth */
} along;

/* The number of a variable, or n. */
static size_t which(const along *a, int64_t argument) {
  size_t v = 0;
  while (v < a->n && a->variables[v] != (size_t)argument) v++;
  return v;
}

/* Of element after element of an argument: the same numbers whenever it is asked. */
static case_random directions(const along *a, int64_t argument) {
  return (case_random){a->seed + (uint64_t)argument * 1000003};
}

static void place_argument(const along *a, sn_id id, double step) {
  const sn_graph *g = &a->j->smooth;
  const sn_type *type = &g->nodes[id].type;
  const int64_t argument = *sn_graph_attrs(g, id);
  case_random r = directions(a, argument);
  double *x = a->values[id];
  read_argument(a->j, g, id, x);
  if (type->dtype != SN_F64) return;
  if (which(a, argument) == a->n) step = 0;
  for (int64_t i = 0; i < sn_type_size(type); i++) {
    const double direction = case_between(&r, -1, 1), aside = case_between(&r, -0x1p-6, 0x1p-6);
    x[i] += aside + step * direction;
  }
}

static double value_at(const along *a, size_t value, double step) {
  const sn_graph *g = &a->j->smooth;
  const void *few[MOST_INPUTS];
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_id *inputs = sn_graph_inputs(g, id);
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) few[k] = a->values[inputs[k]];
    if (g->nodes[id].op == SN_OP_input)
      place_argument(a, id, step);
    else
      sn_ref_node(g, false, id, few, a->values[id]);
  }
  return *(const double *)a->values[g->outputs[value]];
}

/* The gradients' slope along the direction, and the sum of its terms' sizes. */
static double slope_of(const along *a, const size_t *gradients, double *terms) {
  const sn_graph *g = &a->j->smooth;
  double slope = 0;
  *terms = 0;
  for (size_t v = 0; v < a->n; v++) {
    const sn_id id = g->outputs[gradients[v]];
    const double *dx = a->values[id];
    case_random r = directions(a, (int64_t)a->variables[v]);
    for (int64_t i = 0; i < sn_type_size(&g->nodes[id].type); i++) {
      const double term = dx[i] * case_between(&r, -1, 1);
      case_bits(&r); /* how far aside */
      slope += term;
      *terms += fabs(term);
    }
  }
  return slope;
}

judge_verdict judge_derivative(judge *j, uint64_t seed, size_t value, const size_t *gradients,
                               const size_t *variables, size_t n, double *slope,
                               double *difference) {
  const double step = 0x1p-18; /* what its square leaves out is below what is asked for */
  j->smooth = widened(j, j->traced, true);
  const along a = {j, seed, variables, n, places(j, &j->smooth)};
  const double ahead = value_at(&a, value, step), behind = value_at(&a, value, -step);
  const double far_ahead = value_at(&a, value, 2 * step);
  const double far_behind = value_at(&a, value, -2 * step), here = value_at(&a, value, 0);
  double terms;
  *slope = slope_of(&a, gradients, &terms);
  *difference = (8 * (ahead - behind) - (far_ahead - far_behind)) / (12 * step);
  if (!isfinite(*slope) || !isfinite(*difference)) return JUDGE_OPEN;
  const double near = (ahead - behind) / (2 * step), far = (far_ahead - far_behind) / (4 * step);
  const double size = terms + fabs(*difference), grain = 64 * UNIT_F64 * (1 + fabs(here)) / step;
  const double sides = fabs(ahead - 2 * here + behind) / step, off = fabs(*slope - *difference);
  if (off <= 1e-6 * size + grain) return JUDGE_RIGHT;
  return off <= 4 * (sides + fabs(near - far)) ? JUDGE_OPEN : JUDGE_WRONG;
}
