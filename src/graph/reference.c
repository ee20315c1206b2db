#include "graph/reference.h"

#include <math.h>
#include <string.h>

#include "graph/conv_shape.h"
#include "graph/convert.h"
#include "graph/scalar.h"

/* Per kind of dtype (dtypes.def): from an element in memory to its value, and from a value to the element. */
#define VALUE_FLOAT(dtype, T, x) (double)(x)
#define VALUE_INT(dtype, T, x) (double)(x)
#define VALUE_FLAG(dtype, T, x) ((x) != 0)
#define VALUE_HALF(dtype, T, x) (double)sn_half_value(dtype, x)
#define VALUE_SMALL(dtype, T, x) (double)(x)
#define HELD_FLOAT(dtype, T, x) (T)(x)
#define HELD_INT(dtype, T, x) sn_i32_from_f64(x)
#define HELD_FLAG(dtype, T, x) ((x) != 0)
#define HELD_HALF(dtype, T, x) sn_half_bits(dtype, (float)(x))
#define HELD_SMALL(dtype, T, x) \
  (T) sn_within(x, sn_dtype_table[dtype].least, sn_dtype_table[dtype].most)

double sn_ref_load(sn_dtype dtype, const void *buffer, int64_t i) {
  double value = 0;
  switch (dtype) {
#define DTYPE(id, name, short_, T, kind, ...)                 \
  case SN_##id:                                               \
    value = VALUE_##kind(SN_##id, T, ((const T *)buffer)[i]); \
    break;
#include "graph/dtypes.def"
  }
  return value;
}

void sn_ref_store(sn_dtype dtype, void *buffer, int64_t i, double value) {
  switch (dtype) {
#define DTYPE(id, name, short_, T, kind, ...)          \
  case SN_##id:                                        \
    ((T *)buffer)[i] = HELD_##kind(SN_##id, T, value); \
    break;
#include "graph/dtypes.def"
  }
}

double sn_ref_convert(sn_dtype dtype, double value) {
  double slot = 0;
  sn_ref_store(dtype, &slot, 0, value);
  return sn_ref_load(dtype, &slot, 0);
}

bool sn_graph_uniform(const sn_graph *g, sn_id id, double *value) {
  while (sn_op_describe(g->nodes[id].op)->kind == SN_CLASS_VIEW) id = *sn_graph_inputs(g, id);
  if (g->nodes[id].op != SN_OP_constant) return false;
  *value = sn_ref_convert(g->nodes[id].type.dtype, sn_attr_double(*sn_graph_attrs(g, id)));
  return true;
}

/* An int32 wrapped to a small integer dtype. */
static double wrapped(const sn_dtype_info *dtype, double value) {
  const int32_t bits = (int32_t)value & (dtype->most - dtype->least);
  return bits > dtype->most ? bits - (dtype->most - dtype->least + 1) : bits;
}

double sn_ref_scalar(bool fused, sn_op op, sn_dtype in_dtype, const double *in, sn_dtype dtype) {
  if (op == SN_OP_astype) {
    if (sn_dtype_wide(in_dtype) == SN_I32 && sn_dtype_table[dtype].kind == SN_KIND_SMALL)
      return wrapped(&sn_dtype_table[dtype], in[0]);
    return sn_ref_convert(dtype, in[0]);
  }
  if (op == SN_OP_where) return in[0] != 0 ? in[1] : in[2];
  if (sn_op_describe(op)->kind == SN_CLASS_MARKER) return in[0];
  const double a = sn_ref_convert(in_dtype, in[0]);
  const double b = sn_op_describe(op)->arity > 1 || sn_op_describe(op)->kind == SN_CLASS_REDUCE
                       ? sn_ref_convert(in_dtype, in[1])
                       : 0;
  return sn_op_scalar(op, in_dtype, fused, a, b);
}

/* ---- structured ops: index arithmetic over the output ---------------------------------------- */

static void copy_element(sn_dtype dtype, void *out, int64_t to, const void *in, int64_t from) {
  const size_t bytes = sn_dtype_bytes(dtype);
  memcpy((char *)out + (size_t)to * bytes, (const char *)in + (size_t)from * bytes, bytes);
}

int64_t sn_ref_view_source(const sn_graph *g, sn_id id, int64_t flat) {
  const sn_node *node = sn_graph_node(g, id);
  const sn_type *x = &g->nodes[*sn_graph_inputs(g, id)].type;
  const int64_t *attrs = sn_graph_attrs(g, id);
  int64_t at[SN_MAX_RANK], from[SN_MAX_RANK] = {0};
  if (node->op == SN_OP_reshape || node->op == SN_OP_barrier || node->op == SN_OP_named)
    return flat;
  sn_unravel(&node->type, flat, at);
  if (node->op == SN_OP_windows) {
    const int64_t axis = attrs[0];
    memcpy(from, at, sizeof *at * (size_t)axis);
    from[axis] = at[axis] * attrs[1] + at[axis + 1] * attrs[2];
    memcpy(from + axis + 1, at + axis + 2, sizeof *at * (size_t)(x->rank - axis - 1));
    return sn_ravel(x, from);
  }
  for (int i = 0; i < x->rank; i++) {
    if (node->op == SN_OP_transpose) from[attrs[i]] = at[i];
    if (node->op == SN_OP_slice) from[i] = attrs[i] + at[i] * attrs[x->rank + i];
    if (node->op == SN_OP_broadcast)
      from[i] = x->dims[i] == 1 ? 0 : at[node->type.rank - x->rank + i];
  }
  return sn_ravel(x, from);
}

static void ref_reduce(const sn_graph *g, bool fused, sn_id id, const void *in, void *out) {
  const sn_node *node = sn_graph_node(g, id);
  const sn_type *x = &g->nodes[*sn_graph_inputs(g, id)].type, *y = &node->type;
  const uint64_t mask = (uint64_t)*sn_graph_attrs(g, id);
  const double start = sn_reduce_identity(node->op, y->dtype);
  for (int64_t i = 0; i < sn_type_size(y); i++) sn_ref_store(y->dtype, out, i, start);
  for (int64_t i = 0; i < sn_type_size(x); i++) {
    int64_t at[SN_MAX_RANK], kept[SN_MAX_RANK] = {0};
    sn_unravel(x, i, at);
    int rank = 0;
    for (int d = 0; d < x->rank; d++)
      if (!(mask >> d & 1)) kept[rank++] = at[d];
    const int64_t to = sn_ravel(y, kept);
    const double pair[SN_MAX_ARITY] = {sn_ref_load(y->dtype, out, to),
                                       sn_ref_load(x->dtype, in, i)};
    sn_ref_store(y->dtype, out, to, sn_ref_scalar(fused, node->op, x->dtype, pair, y->dtype));
  }
}

/* sum + a b; for integers modulo 2^32, as an int32. */
static double add_product(sn_dtype dtype, double sum, double a, double b) {
  if (dtype != SN_I32) return sum + a * b;
  return (int32_t)((uint32_t)(int32_t)sum + (uint32_t)(int32_t)a * (uint32_t)(int32_t)b);
}

static void ref_matmul(const sn_graph *g, sn_id id, const void *const *in, void *out) {
  const sn_type *a = &g->nodes[sn_graph_inputs(g, id)[0]].type, *c = &g->nodes[id].type;
  const int64_t m = c->dims[c->rank - 2], n = c->dims[c->rank - 1], k = a->dims[a->rank - 1];
  for (int64_t i = 0; i < sn_type_size(c); i++) {
    const int64_t col = i % n, row = i / n % m, batch = i / n / m;
    double sum = 0;
    for (int64_t p = 0; p < k; p++)
      sum = add_product(c->dtype, sum, sn_ref_load(a->dtype, in[0], (batch * m + row) * k + p),
                        sn_ref_load(a->dtype, in[1], (batch * k + p) * n + col));
    sn_ref_store(c->dtype, out, i, sum);
  }
}

/* The index along spatial axis i of x that position k of window o reads; -1 if it reads no element,
 * and its term is 0. */
static int64_t meets(const sn_conv_attrs *c, int i, int64_t o, int64_t k, int64_t n) {
  const int64_t at = o * c->step[i] + k * c->dilation[i] - c->low[i];
  return at >= 0 && at % c->spread[i] == 0 && at / c->spread[i] < n ? at / c->spread[i] : -1;
}

static void ref_conv(const sn_graph *g, sn_id id, const void *const *in, void *out) {
  const sn_type *x = &g->nodes[sn_graph_inputs(g, id)[0]].type, *y = &g->nodes[id].type;
  const sn_type *w = &g->nodes[sn_graph_inputs(g, id)[1]].type;
  const int last = x->rank - 1, axes = last - 1;
  const sn_conv_attrs c = sn_conv_of(sn_graph_attrs(g, id), axes);
  const int64_t inputs = x->dims[last] / c.groups, outputs = y->dims[last] / c.groups;
  sn_type terms = *w; /* (k.., c) */
  terms.dims[axes] = inputs;
  terms.dims[--terms.rank] = 0;
  for (int64_t i = 0; i < sn_type_size(y); i++) {
    int64_t o[SN_MAX_RANK], k[SN_MAX_RANK], from[SN_MAX_RANK], tap[SN_MAX_RANK];
    double sum = 0;
    sn_unravel(y, i, o);
    const int64_t group = o[last] / outputs;
    from[0] = o[0];
    for (int64_t t = 0; t < sn_type_size(&terms); t++) {
      bool inside = true;
      sn_unravel(&terms, t, k);
      from[last] = group * inputs + k[axes];
      for (int a = 0; a < axes; a++) {
        from[a + 1] = meets(&c, a, o[a + 1], k[a], x->dims[a + 1]);
        inside = inside && from[a + 1] >= 0;
        tap[a] = c.transpose_filter ? w->dims[a] - 1 - k[a] : k[a];
      }
      tap[axes] = c.transpose_filter ? o[last] % outputs : k[axes];
      tap[last] = c.transpose_filter ? from[last] : o[last];
      if (inside)
        sum = add_product(y->dtype, sum, sn_ref_load(x->dtype, in[0], sn_ravel(x, from)),
                          sn_ref_load(w->dtype, in[1], sn_ravel(w, tap)));
    }
    sn_ref_store(y->dtype, out, i, sum);
  }
}

static void ref_softmax(const sn_graph *g, bool fused, sn_id id, const void *in, void *out) {
  const sn_type *x = &g->nodes[id].type;
  const int64_t axis = *sn_graph_attrs(g, id), length = x->dims[axis];
  int64_t step = 1;
  for (int i = x->rank - 1; i > axis; i--) step *= x->dims[i];
  for (int64_t i = 0; i < sn_type_size(x); i++) {
    const int64_t first = i - i / step % length * step;
    double top = -INFINITY, sum = 0, e = 0;
    for (int64_t k = 0; k < length; k++) {
      const double value = sn_ref_load(x->dtype, in, first + k * step);
      if (top == top && !(value <= top)) top = value; /* NaN stays */
    }
    for (int64_t k = 0; k < length; k++) {
      const int64_t at = first + k * step;
      const double z[SN_MAX_ARITY] = {sn_ref_load(x->dtype, in, at) - top};
      const double term = sn_ref_scalar(fused, SN_OP_exp, x->dtype, z, x->dtype);
      if (at == i) e = term;
      sum += term;
    }
    sn_ref_store(x->dtype, out, i, e / sum);
  }
}

static int64_t bag_end(const void *ends, int64_t i, int64_t rows) {
  const int64_t end = i < 0 ? 0 : (int64_t)sn_ref_load(SN_I32, ends, i);
  return end < 0 ? 0 : end > rows ? rows : end;
}

static void ref_ragged(const sn_graph *g, sn_id id, const void *const *in, void *out) {
  const sn_node *node = sn_graph_node(g, id);
  const sn_type *x = &g->nodes[*sn_graph_inputs(g, id)].type, *y = &node->type;
  const sn_op step = sn_op_describe(node->op)->step;
  const int64_t rows = x->dims[0], size = sn_type_size(y), row = y->dims[0] ? size / y->dims[0] : 0;
  for (int64_t i = 0; i < size; i++) {
    const int64_t end = bag_end(in[1], i / row, rows);
    double pair[SN_MAX_ARITY] = {0};
    for (int64_t e = bag_end(in[1], i / row - 1, rows); e < end; e++) {
      pair[1] = sn_ref_load(x->dtype, in[0], e * row + i % row);
      pair[0] = sn_ref_scalar(false, step, x->dtype, pair, x->dtype);
    }
    sn_ref_store(y->dtype, out, i, pair[0]);
  }
}

static void ref_pad(const sn_graph *g, sn_id id, const void *in, void *out) {
  const sn_type *x = &g->nodes[*sn_graph_inputs(g, id)].type, *y = &g->nodes[id].type;
  const int64_t *attrs = sn_graph_attrs(g, id);
  for (int64_t i = 0; i < sn_type_size(y); i++)
    sn_ref_store(y->dtype, out, i, sn_attr_double(attrs[2 * y->rank]));
  for (int64_t i = 0; i < sn_type_size(x); i++) {
    int64_t at[SN_MAX_RANK];
    sn_unravel(x, i, at);
    for (int d = 0; d < x->rank; d++) at[d] = attrs[d] + at[d] * attrs[x->rank + d];
    copy_element(y->dtype, out, sn_ravel(y, at), in, i);
  }
}

static void ref_concat(const sn_graph *g, sn_id id, const void *const *in, void *out) {
  const sn_type *y = &g->nodes[id].type;
  const int64_t axis = *sn_graph_attrs(g, id);
  int64_t shift = 0;
  for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) {
    const sn_type *x = &g->nodes[sn_graph_inputs(g, id)[k]].type;
    for (int64_t i = 0; i < sn_type_size(x); i++) {
      int64_t at[SN_MAX_RANK];
      sn_unravel(x, i, at);
      at[axis] += shift;
      copy_element(y->dtype, out, sn_ravel(y, at), in[k], i);
    }
    shift += x->dims[axis];
  }
}

static void ref_elementwise(const sn_graph *g, bool fused, sn_id id, const void *const *in,
                            void *out) {
  const sn_node *node = sn_graph_node(g, id);
  const sn_id *x = sn_graph_inputs(g, id);
  const int64_t size = sn_type_size(&node->type);
  if (node->op == SN_OP_bitcast) {
    memcpy(out, in[0], (size_t)size * 4);
    return;
  }
  const sn_dtype last = g->nodes[x[node->n_inputs - 1]].type.dtype;
  for (int64_t i = 0; i < size; i++) {
    double values[SN_MAX_ARITY];
    for (uint32_t k = 0; k < node->n_inputs; k++)
      values[k] = sn_ref_load(g->nodes[x[k]].type.dtype, in[k], i);
    sn_ref_store(node->type.dtype, out, i,
                 sn_ref_scalar(fused, node->op, last, values, node->type.dtype));
  }
}

static void ref_leaf(const sn_graph *g, sn_id id, void *out) {
  const sn_node *node = sn_graph_node(g, id);
  const int64_t attr = *sn_graph_attrs(g, id);
  for (int64_t i = 0; i < sn_type_size(&node->type); i++) {
    int64_t at[SN_MAX_RANK];
    sn_unravel(&node->type, i, at);
    const double value = node->op == SN_OP_iota ? (double)at[attr] : sn_attr_double(attr);
    sn_ref_store(node->type.dtype, out, i, value);
  }
}

/* Adds pairs of neighbours, then pairs of their sums ..., as a binary counter: sums[i] is a sum of 2^i blocks while bit i
 * of `have`, the number of blocks so far, is set. An odd one out is added at the end. */
static double sum_in_pairs(sn_dtype dtype, const void *in, int64_t first, int64_t step, int64_t n) {
  double sums[64], sum;
  int64_t have = 0;
  for (int64_t k = 0; k < n; k++, have++) {
    sum = sn_ref_load(dtype, in, first + k * step);
    int i = 0;
    for (; have >> i & 1; i++) sum = sn_op_scalar(SN_OP_add, dtype, false, sums[i], sum);
    sums[i] = sum;
  }
  bool any = false;
  sum = 0;
  for (int i = 0; have >> i; i++) {
    if (!(have >> i & 1)) continue;
    sum = any ? sn_op_scalar(SN_OP_add, dtype, false, sums[i], sum) : sums[i];
    any = true;
  }
  return sum;
}

/* As with one process, which has all blocks. */
static void ref_collective(const sn_graph *g, sn_id id, const void *in, void *out) {
  const sn_node *node = sn_graph_node(g, id);
  const sn_type *x = &g->nodes[*sn_graph_inputs(g, id)].type, *y = &node->type;
  const int64_t axis = *sn_graph_attrs(g, id), n = x->dims[axis];
  int64_t step = 1;
  for (int i = (int)axis + 1; i < x->rank; i++) step *= x->dims[i];
  for (int64_t i = 0; i < sn_type_size(y); i++)
    if (node->op == SN_OP_all_reduce)
      sn_ref_store(y->dtype, out, i,
                   sum_in_pairs(x->dtype, in, i / step * step * n + i % step, step, n));
    else
      copy_element(y->dtype, out, i, in, i);
}

void sn_ref_node(const sn_graph *g, bool fused, sn_id id, const void *const *in, void *out) {
  const sn_node *node = sn_graph_node(g, id);
  switch (sn_op_describe(node->op)->kind) {
  case SN_CLASS_LEAF: ref_leaf(g, id, out); break;
  case SN_CLASS_VIEW:
    for (int64_t i = 0; i < sn_type_size(&node->type); i++)
      copy_element(node->type.dtype, out, i, in[0], sn_ref_view_source(g, id, i));
    break;
  case SN_CLASS_PAD: ref_pad(g, id, in[0], out); break;
  case SN_CLASS_CONCAT: ref_concat(g, id, in, out); break;
  case SN_CLASS_MATMUL: ref_matmul(g, id, in, out); break;
  case SN_CLASS_SOFTMAX: ref_softmax(g, fused, id, in[0], out); break;
  case SN_CLASS_CONV: ref_conv(g, id, in, out); break;
  case SN_CLASS_REDUCE: ref_reduce(g, fused, id, in[0], out); break;
  case SN_CLASS_RAGGED: ref_ragged(g, id, in, out); break;
  case SN_CLASS_GATHER:
  case SN_CLASS_SCATTER:
  case SN_CLASS_SORT:
  case SN_CLASS_SCAN: sn_ref_along_axis(g, id, in, out); break;
  case SN_CLASS_BLOCKS: sn_ref_blocks(g, id, in, out); break;
  case SN_CLASS_COLLECTIVE: ref_collective(g, id, in[0], out); break;
  case SN_CLASS_CAST:
  case SN_CLASS_MAP:
  case SN_CLASS_COMPARE:
  case SN_CLASS_SELECT:
  case SN_CLASS_MARKER: ref_elementwise(g, fused, id, in, out); break;
  case SN_CLASS_CONTROL: /* defined by its unrolled form: graph/regions.h */
  case SN_CLASS_RESULT: break;
  }
}
