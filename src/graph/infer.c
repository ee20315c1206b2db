/* infer.c - the grammar of the IR: checks a node's attributes and dtypes by its op's row, and its shape by the rule of
 * the op's class. The verifier and every builder use these same rules. */
#include <string.h>

#include "base/size.h"
#include "graph/attributes.h"
#include "graph/conv_shape.h"
#include "graph/quant_blocks.h"

typedef struct site { /* one application of an op, for the rules below */
  sn_env *env;
  sn_op op;
  const char *name;
  const sn_type *const *in;
  size_t n_in;
  const int64_t *attrs;
  size_t n_attrs;
} site;

static sn_status fail_shapes(const site *s, const sn_type *a, const sn_type *b, const char *why) {
  return SN_FAIL(s->env, SN_ERR_SHAPE, s->name, "%s: a %*p, b %*p", why, a->rank, a->dims, b->rank,
                 b->dims);
}

static sn_status check_dtype(const site *s, sn_dtype dtype) {
  SN_FAIL_IF(s->env, !sn_op_takes(s->op, dtype), SN_ERR_DTYPE, s->name, "not defined for %s",
             sn_dtype_name(dtype));
  return SN_OK;
}

static sn_status check_same_dtype(const site *s, const sn_type *a, const sn_type *b) {
  SN_FAIL_IF(s->env, a->dtype != b->dtype, SN_ERR_DTYPE, s->name, "dtypes differ: a %s, b %s",
             sn_dtype_name(a->dtype), sn_dtype_name(b->dtype));
  return SN_OK;
}

static sn_status infer_elementwise(const site *s, sn_type *type) {
  /* the first input of a select is its condition, no value */
  const size_t first = sn_op_describe(s->op)->kind == SN_CLASS_SELECT ? 1 : 0;
  const sn_type *a = s->in[first];
  SN_FAIL_IF(s->env, first && s->in[0]->dtype != SN_BOOL, SN_ERR_DTYPE, s->name,
             "the condition must be bool, not %s", sn_dtype_name(s->in[0]->dtype));
  for (size_t i = 0; i < s->n_in; i++) {
    if (!sn_same_dims(a, s->in[i])) return fail_shapes(s, a, s->in[i], "shapes differ");
    if (i >= first) SN_TRY(check_same_dtype(s, a, s->in[i]));
  }
  *type = *a;
  return SN_OK;
}

static sn_status infer_reduce(const site *s, sn_type *type) {
  const sn_type *a = s->in[0];
  const uint64_t mask = (uint64_t)s->attrs[0];
  *type = sn_type_scalar(a->dtype);
  for (int i = 0; i < a->rank; i++) {
    if (!(mask >> i & 1)) {
      type->dims[type->rank++] = a->dims[i];
      continue;
    }
    SN_FAIL_IF(s->env, a->dims[i] == 0 && sn_op_describe(s->op)->picks, SN_ERR_SHAPE, s->name,
               "no elements along axis %d of %*p", i, a->rank, a->dims);
  }
  return SN_OK;
}

/* The dtype as which a product reads an operand (fuse/prepare.c). Of storage dtypes it is float32, but int32 if both
 * operands are small integers. */
static sn_dtype read_as(sn_dtype dtype, sn_dtype other) {
  if (!sn_dtype_is_small(dtype)) return dtype;
  const bool whole = sn_dtype_wide(dtype) == SN_I32 && sn_dtype_is_small(other);
  return whole && sn_dtype_wide(other) == SN_I32 ? SN_I32 : SN_F32;
}

static sn_status infer_matmul(const site *s, sn_type *type) {
  const sn_type *a = s->in[0], *b = s->in[1];
  const sn_dtype left = read_as(a->dtype, b->dtype), right = read_as(b->dtype, a->dtype);
  SN_FAIL_IF(s->env, left != right || !sn_op_takes(s->op, left), SN_ERR_DTYPE, "matmul",
             "needs numbers of one dtype: a %s, b %s", sn_dtype_name(a->dtype),
             sn_dtype_name(b->dtype));
  const int r = a->rank;
  if (r < 2 || b->rank != r) return fail_shapes(s, a, b, "ranks do not fit");
  if (a->dims[r - 1] != b->dims[r - 2]) return fail_shapes(s, a, b, "inner dimensions differ");
  for (int i = 0; i < r - 2; i++)
    if (a->dims[i] != b->dims[i]) return fail_shapes(s, a, b, "batch dimensions differ");
  *type = *a;
  type->dtype = left;
  type->dims[r - 1] = b->dims[r - 1];
  return SN_OK;
}

static sn_status infer_concat(const site *s, sn_type *type) {
  const int64_t axis = s->attrs[0];
  *type = *s->in[0];
  for (size_t i = 1; i < s->n_in; i++) {
    const sn_type *b = s->in[i];
    SN_TRY(check_same_dtype(s, type, b));
    bool fits = b->rank == type->rank;
    for (int d = 0; fits && d < type->rank; d++) fits = d == axis || b->dims[d] == type->dims[d];
    if (!fits) return fail_shapes(s, s->in[0], b, "inputs differ outside the axis");
    SN_FAIL_IF(s->env, sn_int_add_overflows(type->dims[axis], b->dims[axis], &type->dims[axis]),
               SN_ERR_MEMORY, s->name, "result is too large");
  }
  return SN_OK;
}

static sn_status check_broadcast(const site *s, const sn_type *type) {
  const sn_type *a = s->in[0];
  bool fits = a->rank <= type->rank;
  for (int i = 0; fits && i < a->rank; i++) {
    const int64_t from = a->dims[i], to = type->dims[type->rank - a->rank + i];
    fits = from == to || from == 1;
  }
  return fits ? SN_OK : fail_shapes(s, a, type, "shape does not broadcast");
}

static void permute(const site *s, sn_type *type) {
  const sn_type *a = s->in[0];
  for (int i = 0; i < a->rank; i++) type->dims[i] = a->dims[s->attrs[i]];
  type->rank = a->rank;
}

static sn_status check_slice(const site *s, const sn_type *type) {
  const sn_type *a = s->in[0];
  SN_CHECK(s->env, type->rank == a->rank);
  for (int i = 0; i < a->rank; i++) {
    const int64_t begin = s->attrs[i], stride = s->attrs[a->rank + i], n = type->dims[i];
    SN_FAIL_IF(s->env, stride == 0, SN_ERR_ARGUMENT, "slice", "stride 0 on axis %d", i);
    int64_t last = begin;
    const bool overflow = n > 0 && (sn_int_mul_overflows(n - 1, stride, &last) ||
                                    sn_int_add_overflows(last, begin, &last));
    const bool outside =
        n > 0 && (begin < 0 || begin >= a->dims[i] || overflow || last < 0 || last >= a->dims[i]);
    SN_FAIL_IF(s->env, outside, SN_ERR_SHAPE, "slice",
               "axis %d: %lld elements from %lld in steps of %lld leave shape %*p", i, (long long)n,
               (long long)begin, (long long)stride, a->rank, a->dims);
  }
  return SN_OK;
}

static sn_status check_windows(const site *s, const sn_type *type) {
  const sn_type *a = s->in[0];
  const int64_t axis = s->attrs[0], step = s->attrs[1], dilation = s->attrs[2];
  SN_CHECK(s->env, type->rank == a->rank + 1);
  sn_type expected;
  const int64_t out = type->dims[axis], size = type->dims[axis + 1];
  sn_windows_type(a, (int)axis, out, size, &expected);
  int64_t last = 0, reach = 0;
  const bool overflow = out > 0 && (sn_int_mul_overflows(out - 1, step, &last) ||
                                    sn_int_mul_overflows(size - 1, dilation, &reach) ||
                                    sn_int_add_overflows(last, reach, &last));
  if (size < 1 || overflow || (out > 0 && last >= a->dims[axis]) || !sn_same_dims(&expected, type))
    return fail_shapes(s, a, type, "windows leave the input");
  return SN_OK;
}

static sn_status check_pad(const site *s, const sn_type *type) {
  const sn_type *a = s->in[0];
  SN_CHECK(s->env, type->rank == a->rank);
  for (int i = 0; i < a->rank; i++) {
    const int64_t low = s->attrs[i], step = s->attrs[a->rank + i], n = a->dims[i];
    int64_t last = low;
    const bool overflow = n > 0 && (sn_int_mul_overflows(n - 1, step, &last) ||
                                    sn_int_add_overflows(last, low, &last));
    if (low < 0 || step < 1 || overflow || (n > 0 && last >= type->dims[i]))
      return fail_shapes(s, a, type, "input does not fit into the result");
  }
  return SN_OK;
}

static sn_status check_view(const site *s, sn_type *type) {
  const sn_type *a = s->in[0];
  switch (s->op) {
  case SN_OP_broadcast: return check_broadcast(s, type);
  case SN_OP_transpose: permute(s, type); return SN_OK;
  case SN_OP_slice: return check_slice(s, type);
  case SN_OP_windows: return check_windows(s, type);
  case SN_OP_named:
  case SN_OP_barrier: *type = *a; return SN_OK;
  default:
    if (sn_type_size(a) != sn_type_size(type))
      return fail_shapes(s, a, type, "number of elements differs");
    return SN_OK;
  }
}

static sn_status check_cast(const site *s, sn_type *type) {
  const sn_type *a = s->in[0];
  const sn_dtype to = type->dtype;
  SN_FAIL_IF(s->env, !sn_dtype_is_known(to), SN_ERR_DTYPE, s->name, "unknown dtype %d", (int)to);
  *type = *a;
  type->dtype = to;
  if (s->op == SN_OP_astype) return SN_OK;
  const bool pair = (a->dtype == SN_F32 && to == SN_I32) || (a->dtype == SN_I32 && to == SN_F32);
  SN_FAIL_IF(s->env, !pair, SN_ERR_DTYPE, "bitcast", "only float32 <-> int32, not %s -> %s",
             sn_dtype_name(a->dtype), sn_dtype_name(to));
  return SN_OK;
}

/* ---- along one axis -------------------------------------------------------------------------- */

/* There is one index per element that is moved: the shapes of x and index differ only along the axis. */
static sn_status check_indices(const site *s) {
  const sn_type *x = s->in[0], *index = s->in[1];
  const int64_t axis = s->attrs[0];
  SN_FAIL_IF(s->env, index->dtype != SN_I32, SN_ERR_DTYPE, s->name, "indices must be int32, not %s",
             sn_dtype_name(index->dtype));
  bool fits = index->rank == x->rank;
  for (int d = 0; fits && d < x->rank; d++) fits = d == axis || index->dims[d] == x->dims[d];
  if (!fits) return fail_shapes(s, x, index, "indices differ outside the axis");
  if (x->dims[axis] == 0 && sn_type_size(index) != 0)
    return fail_shapes(s, x, index, "no elements to index");
  return SN_OK;
}

static sn_status infer_gather(const site *s, sn_type *type) {
  SN_TRY(check_indices(s));
  *type = *s->in[0];
  type->dims[s->attrs[0]] = s->in[1]->dims[s->attrs[0]];
  return SN_OK;
}

static sn_status infer_scatter(const site *s, sn_type *type) {
  const sn_type *x = s->in[0], *updates = s->in[2];
  SN_TRY(check_indices(s));
  SN_TRY(check_same_dtype(s, x, updates));
  if (!sn_same_dims(s->in[1], updates))
    return fail_shapes(s, s->in[1], updates, "indices and updates differ");
  *type = *x;
  return SN_OK;
}

static sn_status infer_sort(const site *s, sn_type *type) {
  const sn_type *x = s->in[0];
  SN_FAIL_IF(s->env, x->dims[s->attrs[0]] > INT32_MAX, SN_ERR_UNSUPPORTED, s->name,
             "more than 2^31 - 1 elements: a %*p", x->rank, x->dims);
  *type = *x;
  return SN_OK;
}

static sn_status infer_scan(const site *s, sn_type *type) {
  if (s->n_in > 1 && !sn_type_equal(s->in[0], s->in[1]))
    return fail_shapes(s, s->in[0], s->in[1], "inputs differ");
  SN_CHECK(s->env, s->op != SN_OP_recurrence || !s->attrs[2]);
  *type = *s->in[0];
  return SN_OK;
}

/* Inputs are the rows x and, for each bag of rows, the row behind its last. A group's space needs one dim more than x
 * (bags, and the rows of a bag), so x may not have SN_MAX_RANK dims. */
static sn_status infer_ragged(const site *s, sn_type *type) {
  const sn_type *x = s->in[0], *ends = s->in[1];
  SN_FAIL_IF(s->env, ends->dtype != SN_I32, SN_ERR_DTYPE, s->name, "ends must be int32, not %s",
             sn_dtype_name(ends->dtype));
  if (x->rank < 1 || x->rank == SN_MAX_RANK || ends->rank != 1)
    return fail_shapes(s, x, ends, "needs rows and where bags of them end");
  *type = *x;
  type->dims[0] = ends->dims[0];
  return SN_OK;
}

/* ---- between processes ------------------------------------------------------------------------ */

static sn_status infer_collective(const site *s, sn_type *type) {
  const sn_type *x = s->in[0];
  const int axis = (int)s->attrs[0];
  *type = *x;
  if (s->op == SN_OP_all_reduce) {
    type->rank--;
    for (int i = axis; i < type->rank; i++) type->dims[i] = x->dims[i + 1];
    if (s->attrs[2] > 1) type->dims[0] /= s->attrs[2];
  }
  if (s->op != SN_OP_all_gather) return SN_OK;
  size_t all;
  SN_FAIL_IF(s->env,
             sn_size_mul_overflows((size_t)x->dims[axis], (size_t)s->attrs[1], &all) ||
                 all > INT32_MAX,
             SN_ERR_SHAPE, s->name, "too many blocks: a %*p", x->rank, x->dims);
  type->dims[axis] = (int64_t)all;
  return SN_OK;
}

/* ---- quantised blocks ------------------------------------------------------------------------- */

static sn_status check_product_of_blocks(const site *s, const sn_block_layout *layout) {
  const sn_type *x = s->in[0], *rows = s->in[1];
  SN_FAIL_IF(s->env, x->dtype != SN_F32, SN_ERR_DTYPE, s->name, "x must be float32, not %s",
             sn_dtype_name(x->dtype));
  if (x->rank < rows->rank - 1 || rows->rank < 2)
    return fail_shapes(s, x, rows, "needs x (..., k) and rows (n, bytes)");
  bool fits = true;
  for (int i = 0; i < rows->rank - 2; i++) fits = fits && x->dims[i] == rows->dims[i];
  if (!fits) return fail_shapes(s, x, rows, "batch dimensions differ");
  const int64_t blocks = rows->dims[rows->rank - 1] / layout->bytes, k = x->dims[x->rank - 1];
  if (s->op == SN_OP_matmul_dequantized)
    return k == rows->dims[rows->rank - 2] ? SN_OK
                                           : fail_shapes(s, x, rows, "needs x (..., n) for n rows");
  SN_FAIL_IF(s->env, k != blocks * layout->numbers, SN_ERR_SHAPE, s->name,
             "rows of %lld numbers of kind %s, and x has %lld: x %*p, rows %*p",
             (long long)(blocks * layout->numbers), layout->name, (long long)k, x->rank, x->dims,
             rows->rank, rows->dims);
  return SN_OK;
}

static sn_status infer_blocks(const site *s, sn_type *type) {
  const bool product = s->op != SN_OP_dequantize_blocks;
  const sn_type *rows = s->in[product];
  const sn_block_layout *layout = sn_block_layout_of(s->attrs[0]);
  SN_FAIL_IF(s->env, !layout, SN_ERR_ARGUMENT, s->name, "no kind of blocks has the number %lld",
             (long long)s->attrs[0]);
  SN_FAIL_IF(s->env, rows->dtype != SN_U8, SN_ERR_DTYPE, s->name, "rows must be uint8, not %s",
             sn_dtype_name(rows->dtype));
  const int64_t bytes = rows->rank ? rows->dims[rows->rank - 1] : 1;
  SN_FAIL_IF(s->env, bytes % layout->bytes, SN_ERR_SHAPE, s->name,
             "rows are no whole blocks of kind %s, which have %d bytes: rows %*p", layout->name,
             (int)layout->bytes, rows->rank, rows->dims);
  if (product) SN_TRY(check_product_of_blocks(s, layout));
  *type = *s->in[0];
  type->dtype = SN_F32;
  type->dims[type->rank - 1] = s->op == SN_OP_matmul_blocks
                                   ? rows->dims[rows->rank - 2]
                                   : bytes / layout->bytes * layout->numbers;
  return SN_OK;
}

static sn_status infer_by_class(const site *s, sn_type *type) {
  switch (sn_op_describe(s->op)->kind) {
  case SN_CLASS_CONTROL: /* checked against its regions by sn_control_verify */
  case SN_CLASS_RESULT:
  case SN_CLASS_LEAF: return SN_OK;
  case SN_CLASS_VIEW: return check_view(s, type);
  case SN_CLASS_PAD: return check_pad(s, type);
  case SN_CLASS_CAST: return check_cast(s, type);
  case SN_CLASS_CONCAT: return infer_concat(s, type);
  case SN_CLASS_MATMUL: return infer_matmul(s, type);
  case SN_CLASS_CONV: return sn_conv_infer(s->env, s->attrs, s->in[0], s->in[1], type);
  case SN_CLASS_REDUCE: return infer_reduce(s, type);
  case SN_CLASS_GATHER: return infer_gather(s, type);
  case SN_CLASS_SCATTER: return infer_scatter(s, type);
  case SN_CLASS_SORT: return infer_sort(s, type);
  case SN_CLASS_RAGGED: return infer_ragged(s, type);
  case SN_CLASS_BLOCKS: return infer_blocks(s, type);
  case SN_CLASS_COLLECTIVE: return infer_collective(s, type);
  case SN_CLASS_SOFTMAX:
  case SN_CLASS_SCAN: return infer_scan(s, type);
  case SN_CLASS_MAP:
  case SN_CLASS_COMPARE:
  case SN_CLASS_SELECT:
  case SN_CLASS_MARKER: return infer_elementwise(s, type);
  }
  return SN_OK;
}

static bool has_proposed_shape(sn_op_class kind) {
  return kind == SN_CLASS_LEAF || kind == SN_CLASS_VIEW || kind == SN_CLASS_PAD ||
         kind == SN_CLASS_CONTROL || kind == SN_CLASS_RESULT;
}

/* The dtype for which the op's row must have a bit: that of the op's values. An op that only moves values takes a storage
 * dtype if it takes the wide one; an op that computes does not. Products and casts have rules of their own, so they are
 * asked about float32, which all of them take. */
static sn_dtype dtype_of_values(const site *s, sn_op_class kind, const sn_type *type) {
  if (kind == SN_CLASS_MATMUL || kind == SN_CLASS_CAST) return SN_F32;
  const sn_dtype dtype = s->n_in ? s->in[kind == SN_CLASS_SELECT]->dtype : type->dtype;
  const bool reduces = kind == SN_CLASS_REDUCE || kind == SN_CLASS_RAGGED;
  const bool computes = reduces || sn_op_is_elementwise(s->op);
  return computes ? dtype : sn_dtype_wide(dtype);
}

sn_status sn_infer(sn_env *env, sn_op op, const sn_type *const *in, size_t n_in,
                   const int64_t *attrs, size_t n_attrs, sn_type *type) {
  const sn_op_info *info = sn_op_describe(op);
  const site s = {env, op, info->name, in, n_in, attrs, n_attrs};
  const bool proposed = has_proposed_shape(info->kind);
  const bool any_number = info->kind == SN_CLASS_CONCAT || info->kind == SN_CLASS_CONTROL;
  SN_CHECK(env, any_number || n_in == info->arity);
  SN_FAIL_IF(env, n_in == 0 && info->kind == SN_CLASS_CONCAT, SN_ERR_ARGUMENT, info->name,
             "needs at least one input");
  if (proposed && info->result == SN_RESULT_SAME) type->dtype = in[0]->dtype;
  if (proposed) SN_TRY(sn_type_check(env, type, info->name));
  SN_TRY(sn_attrs_check(env, op, attrs, n_attrs, n_in ? in[0] : type));
  SN_TRY(check_dtype(&s, dtype_of_values(&s, info->kind, type)));
  SN_TRY(infer_by_class(&s, type));
  if (info->result == SN_RESULT_BOOL) type->dtype = SN_BOOL;
  if (info->result == SN_RESULT_I32) type->dtype = SN_I32;
  return proposed || sn_op_is_elementwise(op) ? SN_OK : sn_type_check(env, type, info->name);
}
