/* arrange.c - the public functions that add, drop and exchange axes, flip, repeat and join elements,
 * or keep a triangle of a matrix: views and concatenations. */
#include "base/size.h"
#include "tensor/compose.h"

#define REFUSE(ctx, status, ...) sn_refuse((ctx), SN_FAIL(&(ctx)->env, (status), __VA_ARGS__))

/* ---- axes ------------------------------------------------------------------------------------ */

static sn_tensor *permuted(sn_tensor *x, const int64_t *perm) {
  const size_t rank = (size_t)x->type.rank;
  return sn_hand_out(sn_node_of(x->ctx, SN_OP_transpose, &x, 1, perm, rank, &x->type));
}

sn_tensor *sn_swapaxes(sn_tensor *x, int a, int b) {
  int64_t perm[SN_MAX_RANK];
  if (!x) return NULL;
  sn_status status = sn_resolve_axis(x, "swapaxes", &a);
  if (!status) status = sn_resolve_axis(x, "swapaxes", &b);
  if (status) return sn_refuse(x->ctx, status);
  for (int i = 0; i < x->type.rank; i++) perm[i] = i == a ? b : i == b ? a : i;
  return permuted(x, perm);
}

sn_tensor *sn_moveaxis(sn_tensor *x, int from, int to) {
  int64_t perm[SN_MAX_RANK];
  if (!x) return NULL;
  sn_status status = sn_resolve_axis(x, "moveaxis", &from);
  if (!status) status = sn_resolve_axis(x, "moveaxis", &to);
  if (status) return sn_refuse(x->ctx, status);
  sn_move_axis(x->type.rank, from, to, perm);
  return permuted(x, perm);
}

/* axes: bits, numbered as in the result. */
sn_tensor *sn_expand_dims(sn_tensor *x, uint32_t axes) {
  if (!x) return NULL;
  int rank = x->type.rank;
  for (uint32_t left = axes; left; left &= left - 1) rank++;
  sn_type type = {x->type.dtype, rank, {0}};
  if (rank > SN_MAX_RANK || axes >> rank)
    return REFUSE(x->ctx, SN_ERR_SHAPE, "expandDims", "the result has rank %d, at most %d: axes %x",
                  rank, SN_MAX_RANK, axes);
  for (int i = 0, from = 0; i < rank; i++) type.dims[i] = axes >> i & 1 ? 1 : x->type.dims[from++];
  return sn_reshape(x, rank, type.dims);
}

sn_tensor *sn_squeeze(sn_tensor *x, uint32_t axes) {
  if (!sn_has_axes(x, "squeeze", axes)) return NULL;
  sn_type type = {.dtype = x->type.dtype};
  for (int i = 0; i < x->type.rank; i++) {
    const bool is_one = x->type.dims[i] == 1, is_named = axes >> i & 1;
    if (axes != SN_ALL_AXES && is_named && !is_one)
      return REFUSE(x->ctx, SN_ERR_SHAPE, "squeeze", "axis %d is not of size 1: a %*p", i,
                    x->type.rank, x->type.dims);
    if (!is_named || !is_one) type.dims[type.rank++] = x->type.dims[i];
  }
  return sn_reshape(x, type.rank, type.dims);
}

sn_tensor *sn_flip(sn_tensor *x, uint32_t axes) {
  if (!sn_has_axes(x, "flip", axes)) return NULL;
  int64_t begin[SN_MAX_RANK], strides[SN_MAX_RANK];
  for (int i = 0; i < x->type.rank; i++) {
    const bool flips = axes >> i & 1 && x->type.dims[i] > 0;
    begin[i] = flips ? x->type.dims[i] - 1 : 0;
    strides[i] = flips ? -1 : 1;
  }
  return sn_slice(x, begin, x->type.dims, strides);
}

/* ---- joined and repeated --------------------------------------------------------------------- */

sn_tensor *sn_stack(sn_tensor *const *list, size_t count, int axis) {
  for (size_t i = 0; i < count; i++)
    if (!list[i]) return NULL;
  if (!count) return NULL;
  sn_context *ctx = list[0]->ctx;
  const sn_type *first = &list[0]->type;
  const int rank = first->rank, at = axis < 0 ? axis + rank + 1 : axis;
  if (at < 0 || at > rank)
    return REFUSE(ctx, SN_ERR_SHAPE, "stack",
                  "axis %d is out of range: a %*p of rank %d, axes are %d to %d", axis, first->rank,
                  first->dims, rank, -rank - 1, rank);
  for (size_t i = 1; i < count; i++)
    if (!sn_same_dims(&list[i]->type, first))
      return REFUSE(ctx, SN_ERR_SHAPE, "stack", "shapes differ: a %*p, b %*p", first->rank,
                    first->dims, list[i]->type.rank, list[i]->type.dims);
  sn_tensor **layers;
  const sn_status status = sn_alloc_zeroed(&ctx->env, count, sizeof *layers, (void **)&layers);
  if (status) return sn_refuse(ctx, status);
  temporaries t = sn_begin_in(ctx, "stack");
  for (size_t i = 0; i < count; i++) layers[i] = sn_expand_dims(list[i], 1u << at);
  sn_tensor *y = sn_concat(layers, count, at);
  sn_free(&ctx->env, layers, count * sizeof *layers);
  return sn_finish(&t, y);
}

/* x with the axis repeated count times: as a whole, or each of its elements (inner). */
static sn_tensor *multiply(sn_tensor *x, int axis, int64_t count, bool inner, const char *what) {
  if (!x) return NULL;
  const int64_t n = x->type.dims[axis];
  sn_type apart = {x->type.dtype, 4, {1, inner ? n : 1, inner ? 1 : n, 1}}, type = x->type;
  for (int i = 0; i < type.rank; i++)
    if (i != axis) apart.dims[i < axis ? 0 : 3] *= type.dims[i];
  if (sn_int_mul_overflows(n, count, &type.dims[axis]))
    return REFUSE(x->ctx, SN_ERR_MEMORY, what, "result is too large");
  sn_type laid = apart;
  laid.dims[inner ? 2 : 1] = count;
  sn_tensor *copies = sn_note(sn_as_dims(sn_note(sn_as_reshaped(x, &apart)), &laid));
  return sn_note(sn_as_reshaped(copies, &type));
}

sn_tensor *sn_repeat(sn_tensor *x, int64_t count, int axis) {
  temporaries t = sn_begin(x, "repeat");
  sn_tensor *along = sn_note(sn_along(x, &axis));
  if (!along) return sn_finish(&t, NULL);
  const sn_status status = sn_resolve_axis(along, "repeat", &axis);
  if (status) return sn_finish(&t, sn_refuse(x->ctx, status));
  if (count < 0)
    return sn_finish(&t,
                     REFUSE(x->ctx, SN_ERR_ARGUMENT, "repeat",
                            "count is %lld, expected a whole number from 0 on", (long long)count));
  return sn_finish(&t, multiply(along, axis, count, true, "repeat"));
}

sn_tensor *sn_windows(sn_tensor *x, int axis, int64_t size, int64_t step, int64_t dilation) {
  if (!x) return NULL;
  const sn_status status = sn_resolve_axis(x, "windows", &axis);
  if (status) return sn_refuse(x->ctx, status);
  if (size < 1 || step < 1 || dilation < 1)
    return REFUSE(x->ctx, SN_ERR_ARGUMENT, "windows",
                  "size %lld, step %lld, dilation %lld: all are at least 1", (long long)size,
                  (long long)step, (long long)dilation);
  if (x->type.rank == SN_MAX_RANK)
    return REFUSE(x->ctx, SN_ERR_SHAPE, "windows", "the result has more than %d dimensions: a %*p",
                  SN_MAX_RANK, x->type.rank, x->type.dims);
  const int64_t n = x->type.dims[axis];
  const bool fits = n > 0 && (size - 1) <= (n - 1) / dilation;
  const int64_t count = fits ? (n - 1 - (size - 1) * dilation) / step + 1 : 0;
  sn_type type;
  sn_windows_type(&x->type, axis, count, size, &type);
  return sn_hand_out(
      sn_node_of(x->ctx, SN_OP_windows, &x, 1, (int64_t[]){axis, step, dilation}, 3, &type));
}

sn_tensor *sn_tile(sn_tensor *x, const int64_t *reps, int count) {
  if (!x) return NULL;
  const int own = x->type.rank, rank = own > count ? own : count;
  sn_type type = {x->type.dtype, rank, {0}};
  for (int i = 0; i < count; i++)
    if (reps[i] < 0)
      return REFUSE(x->ctx, SN_ERR_ARGUMENT, "tile",
                    "reps[%d] is %lld, expected a whole number from 0 on", i, (long long)reps[i]);
  if (count < 0 || rank > SN_MAX_RANK)
    return REFUSE(x->ctx, SN_ERR_SHAPE, "tile", "%d reps, at most %d", count, SN_MAX_RANK);
  for (int i = 0; i < rank; i++) type.dims[i] = i < rank - own ? 1 : x->type.dims[i - (rank - own)];
  temporaries t = sn_begin(x, "tile");
  sn_tensor *y = sn_note(sn_as_reshaped(x, &type));
  for (int i = 0; i < count; i++)
    if (reps[i] != 1) y = multiply(y, rank - count + i, reps[i], false, "tile");
  return sn_finish(&t, y);
}

/* Shifts x along one axis; elements that leave at one end come in at the other. */
static sn_tensor *roll_axis(sn_tensor *x, int axis, int64_t shift) {
  const int64_t n = x->type.dims[axis], by = n ? (shift % n + n) % n : 0;
  if (!by) return x;
  sn_tensor *ends[] = {sn_part(x, axis, n - by, by), sn_part(x, axis, 0, n - by)};
  return sn_concat(ends, 2, axis);
}

sn_tensor *sn_roll(sn_tensor *x, const int64_t *shifts, const int *axes, size_t count) {
  if (!x) return NULL;
  temporaries t = sn_begin(x, "roll");
  sn_tensor *y = x;
  for (size_t i = 0; i < count && y; i++) {
    int axis = axes ? axes[i] : SN_FLAT;
    y = sn_note(sn_along(y, &axis));
    if (!y) break;
    const sn_status status = sn_resolve_axis(y, "roll", &axis);
    y = status ? sn_refuse(x->ctx, status) : roll_axis(y, axis, shifts[i]);
  }
  return sn_finish(&t, sn_note(sn_as_reshaped(y, &x->type)));
}

/* Whether n divides into count parts of these sizes (NULL: equal ones). *equal is the size of equal parts. */
static bool parts_fit(int64_t n, const int64_t *sizes, size_t count, int64_t *equal) {
  int64_t left = n;
  *equal = count ? n / (int64_t)count : 0;
  if (!sizes) return count && n % (int64_t)count == 0;
  for (size_t i = 0; i < count; i++) {
    if (sizes[i] < 0 || sizes[i] > left) return false;
    left -= sizes[i];
  }
  return !left;
}

sn_status sn_split(sn_tensor *x, const int64_t *sizes, size_t count, int axis, sn_tensor **parts) {
  if (!x) return SN_ERR_ARGUMENT;
  int64_t equal, begin = 0;
  sn_status status = sn_resolve_axis(x, "split", &axis);
  if (!status && !parts_fit(x->type.dims[axis], sizes, count, &equal))
    status = SN_FAIL(
        &x->ctx->env, SN_ERR_SHAPE, "split", "axis %d does not divide into %zu %s: a %*p", axis,
        count, sizes ? "parts of the given sizes" : "equal parts", x->type.rank, x->type.dims);
  if (status) return sn_context_report(x->ctx, status);
  temporaries t = sn_begin(x, "split");
  for (size_t i = 0; i < count; i++) {
    const int64_t size = sizes ? sizes[i] : equal;
    parts[i] = sn_part(x, axis, begin, size);
    begin += size;
  }
  return sn_finish_all(&t, parts, count);
}

/* ---- triangles ------------------------------------------------------------------------------- */

/* x where row + k >= column (lower), or column >= row + k; 0 elsewhere */
static sn_tensor *triangle(const char *what, sn_tensor *x, int64_t k, bool lower) {
  if (!x) return NULL;
  sn_context *ctx = x->ctx;
  if (x->type.rank < 2)
    return REFUSE(ctx, SN_ERR_SHAPE, what, "needs two axes: a %*p", x->type.rank, x->type.dims);
  const int64_t *last = &x->type.dims[x->type.rank - 2];
  const sn_type matrix = {SN_I32, 2, {last[0], last[1]}};
  temporaries t = sn_begin(x, what);
  sn_tensor *zero = sn_note(sn_number(ctx, x->type.dtype, 0));
  sn_tensor *shift = sn_scalar(ctx, (double)k);
  sn_tensor *row = sn_note(sn_index_along(ctx, &matrix, 0));
  row = sn_binary(SN_OP_add, row, shift);
  sn_tensor *column = sn_note(sn_index_along(ctx, &matrix, 1));
  sn_tensor *inside = sn_binary(SN_OP_greater_equal, lower ? row : column, lower ? column : row);
  return sn_finish(&t, sn_choose(inside, x, zero));
}

sn_tensor *sn_tril(sn_tensor *x, int64_t k) { return triangle("tril", x, k, true); }
sn_tensor *sn_triu(sn_tensor *x, int64_t k) { return triangle("triu", x, k, false); }
