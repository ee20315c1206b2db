/* rules.c - the derivatives of all ops. Above each rule is its formula: y = f(x), dy the cotangent of
 * y, dx that of x. The graph is canonical (equal shapes, explicit broadcasts), so only the rule of
 * broadcast itself deals with broadcasting. Masks compare with y if this avoids keeping x for the
 * backward pass. */
#include "autodiff/rules.h"

#include <string.h>

#include "build/build_conv.h"
#include "graph/conv_shape.h"
#include "graph/quant_blocks.h"

/* Short names for the parts of formulas. They refer to s, the context, which GRAD names in each rule's
 * parameters. */
#define X (s->x[0])
#define X1 (s->x[1])
#define X2 (s->x[2])
#define Y (s->y)
#define DY (s->dy)
#define ADD(p, q) sn_build_binary(s->b, SN_OP_add, (p), (q))
#define SUB(p, q) sn_build_binary(s->b, SN_OP_sub, (p), (q))
#define MUL(p, q) sn_build_binary(s->b, SN_OP_mul, (p), (q))
#define DIV(p, q) sn_build_binary(s->b, SN_OP_div, (p), (q))
#define UNARY(op, p) sn_build_unary(s->b, SN_OP_##op, (p))
#define BINARY(op, p, q) sn_build_binary(s->b, SN_OP_##op, (p), (q))
#define NUM(v) sn_build_like(s->b, DY, (v))
#define WHERE(c, p, q) sn_build_where(s->b, (c), (p), (q))
#define GRAD(op) static void grad_##op(const sn_vjp_context *s)

/* In mixed precision, rounds x of float32 to it, as values in memory and results of products are rounded.
 * Only for derivatives that are in its range whenever the values are. */
static sn_id rounded(const sn_vjp_context *s, sn_id x) {
  const sn_dtype to = s->b->precision;
  if (!to || sn_build_type(s->b, x)->dtype != SN_F32) return x;
  return sn_build_cast(s->b, SN_OP_astype, sn_build_cast(s->b, SN_OP_astype, x, to), SN_F32);
}

/* No derivative: leaves, and functions that are constant almost everywhere or not real-valued. */
static void grad_none(const sn_vjp_context *s) { (void)s; }

#define grad_input grad_none
#define grad_constant grad_none
#define grad_iota grad_none
#define grad_stop_gradient grad_none
#define grad_sign grad_none
#define grad_floor grad_none
#define grad_ceil grad_none
#define grad_trunc grad_none
#define grad_round grad_none
#define grad_bitcast grad_none
#define grad_isnan grad_none
#define grad_isfinite grad_none
#define grad_equal grad_none
#define grad_not_equal grad_none
#define grad_less grad_none
#define grad_less_equal grad_none
#define grad_greater grad_none
#define grad_greater_equal grad_none
#define grad_logical_not grad_none
#define grad_logical_and grad_none
#define grad_logical_or grad_none
#define grad_logical_xor grad_none
#define grad_bitwise_and grad_none
#define grad_bitwise_or grad_none
#define grad_bitwise_xor grad_none
#define grad_bitwise_invert grad_none
#define grad_bitwise_left_shift grad_none
#define grad_bitwise_right_shift grad_none
#define grad_bitwise_or_reduce grad_none
#define grad_scatter_or grad_none
#define grad_ragged_or grad_none
#define grad_shift_left grad_none
#define grad_shift_right_logical grad_none
#define grad_argsort grad_none
#define grad_scan grad_none
#define grad_while_loop grad_none
#define grad_cond grad_none
#define grad_checkpoint grad_none
#define grad_custom grad_none
#define grad_result grad_none

/* -- views and structure: each is linear, dx is its transpose applied to dy -------------------- */

/* y = x, which may wait for another value: dx = dy */
GRAD(barrier) { s->dx[0] = DY; }
GRAD(named) { s->dx[0] = DY; }

/* y[i] = x[i] in another shape: dx = dy in the old shape */
GRAD(reshape) { s->dx[0] = sn_build_reshape(s->b, DY, sn_build_type(s->b, X)); }

/* y = the blocks of x that this process has: dx = dy, gathered from all processes */
GRAD(shard) {
  s->dx[0] = sn_build_along(s->b, SN_OP_all_gather, ((int64_t[]){s->attrs[0], 1}), DY);
}

/* y = x, gathered from all processes: dx = the blocks of dy that this process has */
GRAD(all_gather) { s->dx[0] = sn_build_along(s->b, SN_OP_shard, ((int64_t[]){s->attrs[0]}), DY); }

/* y = sum over the blocks of x: dx = dy for each of them */
GRAD(all_reduce) {
  const sn_type x = *sn_build_type(s->b, X);
  s->dx[0] = sn_build_broadcast_back(s->b, DY, &x, (uint64_t)1 << s->attrs[0]);
}

/* y = permute(x, p): dx = permute(dy, p^-1) */
GRAD(transpose) {
  int64_t inverse[SN_MAX_RANK];
  for (int i = 0; i < sn_build_type(s->b, X)->rank; i++) inverse[s->attrs[i]] = i;
  s->dx[0] = sn_build_transpose(s->b, DY, inverse);
}

/* y repeats x: dx = sum of dy over the repeated axes */
GRAD(broadcast) {
  const sn_type x = *sn_build_type(s->b, X), y = *sn_build_type(s->b, Y);
  const int lead = y.rank - x.rank;
  uint64_t axes = 0;
  for (int i = 0; i < y.rank; i++)
    if (i < lead || x.dims[i - lead] != y.dims[i]) axes |= 1u << i;
  s->dx[0] = sn_build_reshape(s->b, sn_build_reduce(s->b, SN_OP_sum, DY, axes), &x);
}

/* y[i] = x[begin + i stride]: dx = zeros with dy at these places. A negative stride is undone on dy
 * first. */
GRAD(slice) {
  const sn_type x = *sn_build_type(s->b, X), y = *sn_build_type(s->b, Y);
  const int rank = x.rank;
  int64_t flip[2 * SN_MAX_RANK], pad[SN_MAX_ATTRS];
  for (int i = 0; i < rank; i++) {
    const int64_t begin = s->attrs[i], stride = s->attrs[rank + i], last = y.dims[i] - 1;
    const bool down = stride < 0 && last >= 0;
    flip[i] = down ? last : 0;
    flip[rank + i] = down ? -1 : 1;
    pad[i] = down ? begin + last * stride : (last < 0 ? 0 : begin);
    pad[rank + i] = stride < 0 ? -stride : stride;
  }
  pad[2 * rank] = sn_double_attr(0);
  sn_id dy = DY;
  for (int i = 0; i < rank; i++)
    if (flip[rank + i] < 0) {
      dy = sn_build_op(s->b, SN_OP_slice, &dy, 1, flip, 2 * (size_t)rank, &y);
      break;
    }
  s->dx[0] = sn_build_op(s->b, SN_OP_pad, &dy, 1, pad, 2 * (size_t)rank + 1, &x);
}

/* Puts columns k .. k + n - 1 of windows dy back onto the axis of x: those of the first window from `at`
 * on, those of each further window `step` behind; zeros elsewhere. n <= step. */
static sn_id put_back(sn_build *b, sn_id dy, const sn_type *x, int axis, int64_t k, int64_t n,
                      int64_t step, int64_t at) {
  if (b->status) return SN_NONE;
  sn_type part = *sn_build_type(b, dy), flat = *x;
  const int64_t out = part.dims[axis], room = x->dims[axis] - at;
  part.dims[axis + 1] = n;
  sn_id v = sn_build_part(b, SN_OP_slice, dy, axis + 1, k, 1, &part);
  if (n > 1) { /* pad each window's columns to `step`: then the windows in a row are the axis */
    part.dims[axis + 1] = step;
    v = sn_build_part(b, SN_OP_pad, v, axis + 1, 0, 1, &part);
  }
  flat.dims[axis] = n > 1 ? out * step : out;
  v = sn_build_reshape(b, v, &flat);
  if (flat.dims[axis] > room) { /* the last window's padding exceeds the axis */
    flat.dims[axis] = room;
    v = sn_build_part(b, SN_OP_slice, v, axis, 0, 1, &flat);
  }
  return sn_build_part(b, SN_OP_pad, v, axis, at, n > 1 ? 1 : step, x);
}

/* y[o, k] = x[o step + k dilation]: dx = the sum over k of dy[., k], put back to its places. Columns
 * that cannot overlap, up to `step` of them, are put back together. */
GRAD(windows) {
  const sn_type x = *sn_build_type(s->b, X), y = *sn_build_type(s->b, Y);
  const int axis = (int)s->attrs[0];
  const int64_t step = s->attrs[1], dilation = s->attrs[2], size = y.dims[axis + 1];
  const int64_t together = dilation > 1 ? 1 : step < size ? step : size;
  for (int64_t k = 0; k < size; k += together) {
    const int64_t n = k + together < size ? together : size - k;
    const sn_id part = put_back(s->b, DY, &x, axis, k, n, step, k * dilation);
    s->dx[0] = k ? ADD(s->dx[0], part) : part;
  }
}

/* y[low + i step] = x[i], a constant elsewhere: dx = dy at these places */
GRAD(pad) {
  const sn_type x = *sn_build_type(s->b, X);
  s->dx[0] = sn_build_op(s->b, SN_OP_slice, &s->dy, 1, s->attrs, 2 * (size_t)x.rank, &x);
}

/* y = [x0 | x1 | ...]: each dx is its slice of dy */
GRAD(concat) {
  const int64_t axis = s->attrs[0];
  int64_t at = 0;
  for (size_t i = 0; i < s->n; i++) {
    const sn_type x = *sn_build_type(s->b, s->x[i]);
    if (s->wanted[i]) s->dx[i] = sn_build_part(s->b, SN_OP_slice, DY, axis, at, 1, &x);
    at += x.dims[axis];
  }
}

/* C = A B: dA = dC B^T, dB = A^T dC */
GRAD(matmul) {
  if (s->wanted[0]) s->dx[0] = rounded(s, sn_build_matmul(s->b, DY, sn_build_swap_last(s->b, X1)));
  if (s->wanted[1]) s->dx[1] = rounded(s, sn_build_matmul(s->b, sn_build_swap_last(s->b, X), DY));
}

/* dx is the reverse convolution (sn_conv_reverse) of dy. */
GRAD(conv) {
  const sn_type x = *sn_build_type(s->b, X), w = *sn_build_type(s->b, X1);
  int64_t back[SN_CONV_ATTRS(SN_CONV_AXES)];
  const int axes = x.rank - 2;
  sn_conv_reverse(s->attrs, axes, w.dims, back);
  if (s->wanted[0])
    s->dx[0] = rounded(s, sn_build_op(s->b, SN_OP_conv, (sn_id[]){DY, X1}, 2, back,
                                      SN_CONV_ATTRS((size_t)axes), &x));
  if (s->wanted[1]) s->dx[1] = rounded(s, sn_build_conv_filter_grad(s->b, X, DY, s->attrs, &w));
}

/* y = x q^T for rows q of quantised blocks: dx = dy q, as if x were not quantised. The blocks themselves
 * have no derivative. */
GRAD(matmul_blocks) {
  s->dx[0] =
      sn_build_op(s->b, SN_OP_matmul_dequantized, (sn_id[]){DY, X1}, 2, s->attrs, 1, NULL);
}

/* y = x q: dx = dy q^T, with q dequantised. */
GRAD(matmul_dequantized) {
  const sn_type x = *sn_build_type(s->b, X), bytes = *sn_build_type(s->b, X1);
  const sn_blocks_shape shape = sn_blocks_shape_of((sn_block_kind)s->attrs[0], &x, &bytes);
  const sn_id q = sn_build_op(s->b, SN_OP_dequantize_blocks, &X1, 1, s->attrs, 1, NULL);
  const sn_type rows = {SN_F32, 3, {shape.batch, shape.rows, shape.k}};
  const sn_type matrices = {SN_F32, 3, {shape.batch, shape.n, shape.k}};
  const sn_id dy = sn_build_reshape(s->b, DY, &rows), w = sn_build_reshape(s->b, q, &matrices);
  const sn_id dx = sn_build_matmul(s->b, dy, sn_build_swap_last(s->b, w));
  s->dx[0] = sn_build_reshape(s->b, dx, &x);
}
#define grad_dequantize_blocks grad_none

/* y = e^x / sum e^x: dx = y (dy - sum y dy) */
GRAD(softmax) {
  const sn_type x = *sn_build_type(s->b, X);
  const uint64_t axis = (uint64_t)1 << s->attrs[0];
  const sn_id y = rounded(s, Y);
  const sn_id mean = sn_build_reduce(s->b, SN_OP_sum, MUL(y, DY), axis);
  s->dx[0] = MUL(y, SUB(DY, sn_build_broadcast_back(s->b, mean, &x, axis)));
}

/* y = x in another float dtype: dx = dy cast to the wide dtype of x's; in mixed precision dy is rounded
 * first, as y is */
GRAD(astype) {
  const sn_dtype from = sn_build_type(s->b, X)->dtype, to = sn_build_type(s->b, Y)->dtype;
  if (!sn_dtype_is_float(from) || !sn_dtype_is_float(to)) return;
  const sn_id dy = sn_dtype_is_small(to) ? rounded(s, DY) : DY;
  s->dx[0] = sn_build_cast(s->b, SN_OP_astype, dy, sn_dtype_wide(from));
}

/* -- along one axis ---------------------------------------------------------------------------- */

/* y[i] = x[index[i]]: dx = 0 with dy[i] added at index[i] */
GRAD(gather) {
  const int64_t axis[] = {s->attrs[0]};
  sn_type type = *sn_build_type(s->b, X);
  type.dtype = sn_dtype_wide(type.dtype);
  const sn_id none = sn_build_full(s->b, &type, 0);
  s->dx[0] = sn_build_along(s->b, SN_OP_scatter_add, axis, none, X1, DY);
}

/* y = x with u[i] added at index[i]: dx = dy, du[i] = dy[index[i]] */
GRAD(scatter_add) {
  const int64_t axis[] = {s->attrs[0]};
  s->dx[0] = DY;
  if (s->wanted[2]) s->dx[2] = sn_build_along(s->b, SN_OP_gather, axis, DY, X1);
}

/* y = x with u[i] set at index[i]: dx = dy with 0 set there; du[i] = dy[index[i]] if i is the last to be
 * set there, else 0. Setting all numbers i the same way leaves the number of the last one */
GRAD(scatter_set) {
  const int64_t axis[] = {s->attrs[0]};
  if (s->wanted[0]) {
    const sn_id none = sn_build_like(s->b, X2, 0);
    s->dx[0] = sn_build_along(s->b, SN_OP_scatter_set, axis, DY, X1, none);
  }
  if (!s->wanted[2] || s->b->status) return;
  sn_type places = *sn_build_type(s->b, X), numbers = *sn_build_type(s->b, X1);
  places.dtype = SN_I32;
  const sn_id mine = sn_build_op(s->b, SN_OP_iota, NULL, 0, axis, 1, &numbers);
  const sn_id start = sn_build_full(s->b, &places, -1);
  const sn_id last = sn_build_along(s->b, SN_OP_scatter_set, axis, start, X1, mine);
  const sn_id stays = BINARY(equal, sn_build_along(s->b, SN_OP_gather, axis, last, X1), mine);
  const sn_id du = sn_build_along(s->b, SN_OP_gather, axis, DY, X1);
  s->dx[2] = WHERE(stays, du, sn_build_like(s->b, du, 0));
}

/* y = x times all u[i] with index[i] there: dx = dy times these u. du[i] = dy x times the other u: 0 if
 * another one is 0, else the product of all u that are not 0, divided by u[i] unless that is 0 */
GRAD(scatter_mul) {
  const int64_t axis[] = {s->attrs[0]};
  if (s->b->status) return;
  const sn_type type = *sn_build_type(s->b, X);
  const sn_id one = sn_build_full(s->b, &type, 1), none = sn_build_full(s->b, &type, 0);
  if (s->wanted[0]) s->dx[0] = MUL(DY, sn_build_along(s->b, SN_OP_scatter_mul, axis, one, X1, X2));
  if (!s->wanted[2]) return;
  const sn_id nought = sn_build_like(s->b, X2, 0), unit = sn_build_like(s->b, X2, 1);
  const sn_id is_zero = BINARY(equal, X2, nought), whole = WHERE(is_zero, unit, X2);
  const sn_id zeros =
      sn_build_along(s->b, SN_OP_scatter_add, axis, none, X1, WHERE(is_zero, unit, nought));
  const sn_id product = sn_build_along(s->b, SN_OP_scatter_mul, axis, X, X1, whole);
  const sn_id all = sn_build_along(s->b, SN_OP_gather, axis, MUL(DY, product), X1);
  const sn_id others = SUB(sn_build_along(s->b, SN_OP_gather, axis, zeros, X1),
                           WHERE(is_zero, unit, nought)); /* how many of the other u are 0 */
  s->dx[2] = WHERE(BINARY(equal, others, nought), DIV(all, whole), nought);
}

/* y = the largest of x and all u[i] with index[i] there: dy is shared equally among those that equal y */
GRAD(scatter_max) {
  const int64_t axis[] = {s->attrs[0]};
  if (s->b->status) return;
  const sn_dtype dtype = sn_build_type(s->b, X)->dtype;
  const sn_id x_hit = sn_build_cast(s->b, SN_OP_astype, BINARY(equal, X, Y), dtype);
  const sn_id there = sn_build_along(s->b, SN_OP_gather, axis, Y, X1);
  const sn_id u_hit = sn_build_cast(s->b, SN_OP_astype, BINARY(equal, X2, there), dtype);
  const sn_id ties = sn_build_along(s->b, SN_OP_scatter_add, axis, x_hit, X1, u_hit);
  const sn_id share = DIV(DY, ties);
  s->dx[0] = MUL(share, x_hit);
  s->dx[2] = MUL(sn_build_along(s->b, SN_OP_gather, axis, share, X1), u_hit);
}
#define grad_scatter_min grad_scatter_max

/* y[i] = sum of x[j] for j in bag i: dx[j] = dy[i] for the bag i that has j; 0 behind the last bag. The
 * ends are sorted, so i is the number of bags that end at j or before. */
GRAD(ragged_sum) {
  const int64_t axis[] = {0}, sums[] = {0, 0, 0};
  if (s->b->status) return;
  const sn_type type = *sn_build_type(s->b, X), ends = *sn_build_type(s->b, X1);
  const sn_type places = {SN_I32, 1, {type.dims[0] + 1}}, flat = {SN_I32, 1, {type.dims[0]}};
  sn_type spread = type, column = {SN_I32, type.rank, {type.dims[0]}};
  spread.dtype = SN_I32;
  for (int i = 1; i < type.rank; i++) column.dims[i] = 1;
  const sn_id none = sn_build_full(s->b, &places, 0), one = sn_build_full(s->b, &ends, 1);
  const sn_id ended = sn_build_along(s->b, SN_OP_scatter_add, axis, none, X1, one);
  const sn_id before = sn_build_along(s->b, SN_OP_cumsum, sums, ended);
  const sn_id part = sn_build_part(s->b, SN_OP_slice, before, 0, 0, 1, &flat);
  const sn_id all = sn_build_broadcast(s->b, sn_build_reshape(s->b, part, &column), &spread);
  const sn_id within = BINARY(less, all, sn_build_full(s->b, &spread, (double)ends.dims[0]));
  const sn_id dx = sn_build_along(s->b, SN_OP_gather, axis, DY, all);
  s->dx[0] = WHERE(within, dx, sn_build_like(s->b, dx, 0));
}

/* y[i] = x[p[i]] for p = argsort x: dx[p[i]] = dy[i] */
GRAD(sort) {
  const int64_t order[] = {s->attrs[0], s->attrs[1]}, axis[] = {s->attrs[0]};
  const sn_id p = sn_build_along(s->b, SN_OP_argsort, order, X);
  s->dx[0] = sn_build_along(s->b, SN_OP_scatter_add, axis, sn_build_like(s->b, X, 0), p, DY);
}

/* v shifted along an axis: element i is v[i + 1] (by = 1) or v[i - 1] (by = -1), or 0 beyond the end */
static sn_id shift(sn_build *b, sn_id v, int64_t axis, int by) {
  if (b->status) return SN_NONE;
  const sn_type full = *sn_build_type(b, v);
  sn_type part = full;
  if (!full.dims[axis]) return v;
  part.dims[axis]--;
  v = sn_build_part(b, SN_OP_slice, v, axis, by > 0 && part.dims[axis], 1, &part);
  return sn_build_part(b, SN_OP_pad, v, axis, by < 0, 1, &full);
}

/* y[i] = sum of x[j], j <= i (exclusive: j < i): dx[j] = sum of dy[i], i >= j (i > j) */
GRAD(cumsum) {
  const int64_t back[] = {s->attrs[0], !s->attrs[1], s->attrs[2]};
  s->dx[0] = sn_build_along(s->b, SN_OP_cumsum, back, DY);
}

/* y[i] = product of x[j], j <= i: dx[k] = before[k] t[k] with before[k] = product of x[j], j < k,
 * and t[k] = sum over i >= k of dy[i] x[k + 1] ... x[i] = dy[k] + x[k + 1] t[k + 1]. There is no
 * division, so zeros are exact. exclusive: t[k] = dy[k + 1] + x[k + 1] t[k + 1] */
GRAD(cumprod) {
  const int64_t axis = s->attrs[0], reverse = s->attrs[1], exclusive = s->attrs[2];
  const int64_t so_far[] = {axis, reverse, 1}, back[] = {axis, !reverse, 0};
  const int on = reverse ? -1 : 1;
  const sn_id before = sn_build_along(s->b, SN_OP_cumprod, so_far, X);
  const sn_id dy = exclusive ? shift(s->b, DY, axis, on) : DY;
  const sn_id t = sn_build_along(s->b, SN_OP_recurrence, back, shift(s->b, X, axis, on), dy);
  s->dx[0] = MUL(before, t);
}

/* y[i] = a[i] y[i - 1] + b[i]: db[i] = dy[i] + a[i + 1] db[i + 1], da[i] = db[i] y[i - 1] */
GRAD(recurrence) {
  const int64_t axis = s->attrs[0], reverse = s->attrs[1], back[] = {axis, !reverse, 0};
  const int on = reverse ? -1 : 1;
  s->dx[1] = sn_build_along(s->b, SN_OP_recurrence, back, shift(s->b, X, axis, on), DY);
  if (s->wanted[0]) s->dx[0] = MUL(s->dx[1], shift(s->b, Y, axis, -on));
}

/* -- reductions -------------------------------------------------------------------------------- */

/* y = sum x: dx = dy everywhere */
GRAD(sum) {
  const sn_type x = *sn_build_type(s->b, X);
  s->dx[0] = sn_build_broadcast_back(s->b, DY, &x, (uint64_t)s->attrs[0]);
}

/* y = max x: dx = dy where x = y, shared equally among ties (as JAX does) */
GRAD(max) {
  const sn_type x = *sn_build_type(s->b, X);
  const uint64_t axes = (uint64_t)s->attrs[0];
  const sn_id hit = BINARY(equal, X, sn_build_broadcast_back(s->b, Y, &x, axes));
  const sn_id ones = sn_build_cast(s->b, SN_OP_astype, hit, x.dtype);
  const sn_id share = DIV(DY, sn_build_reduce(s->b, SN_OP_sum, ones, axes));
  s->dx[0] = MUL(sn_build_broadcast_back(s->b, share, &x, axes), ones);
}
#define grad_min grad_max

/* y = product of x: dx[k] = dy times the product of all before x[k] times that of all behind it. There
 * is no division, so zeros are exact */
GRAD(prod) {
  const sn_type x = *sn_build_type(s->b, X);
  const uint64_t axes = (uint64_t)s->attrs[0];
  int64_t perm[SN_MAX_RANK], inverse[SN_MAX_RANK];
  sn_type flat = {.dtype = x.dtype}, order = x; /* kept axes, then the reduced ones merged */
  int at = 0;
  for (int i = 0; i < x.rank; i++)
    if (!(axes >> i & 1)) flat.dims[flat.rank++] = x.dims[perm[at++] = i];
  const int64_t last = flat.rank++;
  flat.dims[last] = 1;
  for (int i = 0; i < x.rank; i++)
    if (axes >> i & 1) flat.dims[last] *= x.dims[perm[at++] = i];
  for (int i = 0; i < x.rank; i++) {
    inverse[perm[i]] = i;
    order.dims[i] = x.dims[perm[i]];
  }
  const int64_t ahead[] = {last, 0, 1}, behind[] = {last, 1, 1};
  const sn_id line = sn_build_reshape(s->b, sn_build_transpose(s->b, X, perm), &flat);
  const sn_id others = MUL(sn_build_along(s->b, SN_OP_cumprod, ahead, line),
                           sn_build_along(s->b, SN_OP_cumprod, behind, line));
  const sn_id placed = sn_build_transpose(s->b, sn_build_reshape(s->b, others, &order), inverse);
  s->dx[0] = MUL(placed, sn_build_broadcast_back(s->b, DY, &x, axes));
}

/* -- elementwise, one input -------------------------------------------------------------------- */

/* y = x: dx = dy */
GRAD(marker) { s->dx[0] = DY; }
GRAD(copy) { s->dx[0] = DY; }

/* y = -x: dx = -dy */
GRAD(neg) { s->dx[0] = UNARY(neg, DY); }

/* y = |x|: dx = sign(x) dy */
GRAD(abs) { s->dx[0] = MUL(UNARY(sign, X), DY); }

/* y = sqrt x: dx = dy / (2 y) */
GRAD(sqrt) { s->dx[0] = DIV(MUL(NUM(0.5), DY), Y); }

/* y = x^(-1/2): dx = -dy y / (2 x) */
GRAD(rsqrt) { s->dx[0] = DIV(MUL(MUL(NUM(-0.5), DY), Y), X); }

/* y = x^2: dx = 2 x dy */
GRAD(square) { s->dx[0] = MUL(MUL(NUM(2), X), DY); }

/* y = 1/x: dx = -y^2 dy */
GRAD(reciprocal) { s->dx[0] = MUL(UNARY(neg, UNARY(square, Y)), DY); }

/* y = e^x: dx = y dy */
GRAD(exp) { s->dx[0] = MUL(Y, DY); }

/* y = ln x: dx = dy / x */
GRAD(log) { s->dx[0] = DIV(DY, X); }

/* y = ln(1 + x): dx = dy / (1 + x) */
GRAD(log1p) { s->dx[0] = DIV(DY, ADD(NUM(1), X)); }

/* y = sin x: dx = cos x dy */
GRAD(sin) { s->dx[0] = MUL(UNARY(cos, X), DY); }

/* y = cos x: dx = -sin x dy */
GRAD(cos) { s->dx[0] = MUL(UNARY(neg, UNARY(sin, X)), DY); }

/* y = tanh x: dx = (1 - y^2) dy */
GRAD(tanh) { s->dx[0] = MUL(SUB(NUM(1), UNARY(square, Y)), DY); }

/* y = sigmoid x: dx = y (1 - y) dy */
GRAD(sigmoid) { s->dx[0] = MUL(MUL(Y, SUB(NUM(1), Y)), DY); }

/* y = erf x: dx = 2/sqrt(pi) e^(-x^2) dy */
GRAD(erf) {
  s->dx[0] = MUL(MUL(NUM(1.1283791670955126), UNARY(exp, UNARY(neg, UNARY(square, X)))), DY);
}

/* y = 2^x: dx = ln 2 y dy */
GRAD(exp2) { s->dx[0] = MUL(MUL(NUM(0.6931471805599453), Y), DY); }

/* y = e^x - 1: dx = (y + 1) dy */
GRAD(expm1) { s->dx[0] = MUL(ADD(Y, NUM(1)), DY); }

/* y = log2 x: dx = dy / (ln 2 x) */
GRAD(log2) { s->dx[0] = DIV(MUL(NUM(1.4426950408889634), DY), X); }

/* y = tan x: dx = (1 + y^2) dy */
GRAD(tan) { s->dx[0] = MUL(ADD(NUM(1), UNARY(square, Y)), DY); }

/* 1 - x^2, without cancellation near 1 */
static sn_id one_minus_square(const sn_vjp_context *s) {
  return MUL(SUB(NUM(1), X), ADD(NUM(1), X));
}

/* y = asin x: dx = dy / sqrt(1 - x^2) */
GRAD(asin) { s->dx[0] = DIV(DY, UNARY(sqrt, one_minus_square(s))); }

/* y = acos x: dx = -dy / sqrt(1 - x^2) */
GRAD(acos) { s->dx[0] = DIV(UNARY(neg, DY), UNARY(sqrt, one_minus_square(s))); }

/* y = atan x: dx = dy / (1 + x^2) */
GRAD(atan) { s->dx[0] = DIV(DY, ADD(NUM(1), UNARY(square, X))); }

/* y = sinh x: dx = cosh x dy */
GRAD(sinh) { s->dx[0] = MUL(UNARY(cosh, X), DY); }

/* y = cosh x: dx = sinh x dy */
GRAD(cosh) { s->dx[0] = MUL(UNARY(sinh, X), DY); }

/* y = asinh x: dx = dy / sqrt(x^2 + 1) */
GRAD(asinh) { s->dx[0] = DIV(DY, UNARY(sqrt, ADD(UNARY(square, X), NUM(1)))); }

/* y = acosh x: dx = dy / sqrt((x - 1) (x + 1)) */
GRAD(acosh) { s->dx[0] = DIV(DY, UNARY(sqrt, MUL(SUB(X, NUM(1)), ADD(X, NUM(1))))); }

/* y = atanh x: dx = dy / (1 - x^2) */
GRAD(atanh) { s->dx[0] = DIV(DY, one_minus_square(s)); }

/* y = x s with s = sigmoid x: dx = (s + y (1 - s)) dy */
GRAD(silu) {
  const sn_id sigmoid = UNARY(sigmoid, X);
  s->dx[0] = MUL(ADD(sigmoid, MUL(Y, SUB(NUM(1), sigmoid))), DY);
}

/* y = ln(1 + e^x): dx = sigmoid x dy */
GRAD(softplus) { s->dx[0] = MUL(UNARY(sigmoid, X), DY); }

/* y = x Phi(x): dx = (Phi(x) + x phi(x)) dy, phi(x) = e^(-x^2/2) / sqrt(2 pi), Phi(x) = (1 + erf(x
 * / sqrt 2)) / 2 */
GRAD(gelu) {
  const sn_id phi = MUL(NUM(0.3989422804014327), UNARY(exp, MUL(NUM(-0.5), UNARY(square, X))));
  const sn_id twice = ADD(NUM(1), UNARY(erf, MUL(NUM(0.7071067811865476), X)));
  s->dx[0] = MUL(rounded(s, ADD(MUL(NUM(0.5), twice), MUL(X, phi))), DY);
}

/* y = x t with t = tanh(softplus x): dx = (t + x (1 - t^2) sigmoid x) dy */
GRAD(mish) {
  const sn_id t = UNARY(tanh, UNARY(softplus, X));
  const sn_id slope = MUL(SUB(NUM(1), UNARY(square, t)), UNARY(sigmoid, X));
  s->dx[0] = MUL(ADD(t, MUL(X, slope)), DY);
}

/* y = max(x, 0): dx = dy where y > 0 */
GRAD(relu) { s->dx[0] = WHERE(BINARY(greater, Y, NUM(0)), DY, NUM(0)); }

/* -- elementwise, two inputs ------------------------------------------------------------------- */

GRAD(add) { s->dx[0] = s->dx[1] = DY; }

GRAD(sub) {
  s->dx[0] = DY;
  if (s->wanted[1]) s->dx[1] = UNARY(neg, DY);
}

/* y = u v: du = v dy, dv = u dy */
GRAD(mul) {
  if (s->wanted[0]) s->dx[0] = MUL(X1, DY);
  if (s->wanted[1]) s->dx[1] = MUL(X, DY);
}

/* y = u / v: du = dy / v, dv = -y dy / v */
GRAD(div) {
  const sn_id du = DIV(DY, X1);
  s->dx[0] = du;
  if (s->wanted[1]) s->dx[1] = MUL(UNARY(neg, Y), du);
}

/* y = u^v: du = v u^(v-1) dy (0 where v = 0), dv = ln(u) y dy (0 where u = 0) */
GRAD(pow) {
  if (s->wanted[0]) {
    const sn_id slope = MUL(X1, BINARY(pow, X, SUB(X1, NUM(1))));
    s->dx[0] = MUL(WHERE(BINARY(equal, X1, NUM(0)), NUM(0), slope), DY);
  }
  if (s->wanted[1]) {
    const sn_id zero = BINARY(equal, X, NUM(0));
    s->dx[1] = MUL(MUL(UNARY(log, WHERE(zero, NUM(1), X)), Y), DY);
  }
}

/* y = u - n v with whole n: du = dy, dv = -n dy */
GRAD(mod) {
  s->dx[0] = DY;
  if (s->wanted[1]) s->dx[1] = MUL(UNARY(round, DIV(SUB(Y, X), X1)), DY);
}

/* y = atan2(u, v): du = v dy / (u^2 + v^2), dv = -u dy / (u^2 + v^2) */
GRAD(atan2) {
  const sn_id share = DIV(DY, ADD(UNARY(square, X), UNARY(square, X1)));
  if (s->wanted[0]) s->dx[0] = MUL(X1, share);
  if (s->wanted[1]) s->dx[1] = MUL(UNARY(neg, X), share);
}

/* y = max(u, v): the larger one gets dy; a tie is shared half and half (as JAX and PyTorch do) */
static void grad_extremum(const sn_vjp_context *s, sn_op wins) {
  const sn_id tie = BINARY(equal, X, X1), half = MUL(NUM(0.5), DY), none = NUM(0);
  if (s->wanted[0])
    s->dx[0] = WHERE(sn_build_binary(s->b, wins, X, X1), DY, WHERE(tie, half, none));
  if (s->wanted[1])
    s->dx[1] = WHERE(sn_build_binary(s->b, wins, X1, X), DY, WHERE(tie, half, none));
}
GRAD(maximum) { grad_extremum(s, SN_OP_greater); }
GRAD(minimum) { grad_extremum(s, SN_OP_less); }

/* y = c ? u : v: du = dy where c, dv = dy elsewhere */
GRAD(where) {
  if (s->wanted[1]) s->dx[1] = WHERE(X, DY, NUM(0));
  if (s->wanted[2]) s->dx[2] = WHERE(X, NUM(0), DY);
}

sn_vjp_rule *const sn_vjp_rules[SN_OP_COUNT] = {
#define SN_OP(id, ...) [SN_OP_##id] = grad_##id,
#include "graph/ops.def"
};
