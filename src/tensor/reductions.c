/* reductions.c - the public reductions: those of ops.def, and graphs of them with the formula in the
 * comment. */
#include <math.h>

#include "tensor/compose.h"

/* The bits of axes; SN_ALL_AXES becomes those of all axes of x. */
static uint64_t axes_of(const sn_tensor *x, uint32_t axes) {
  return axes == SN_ALL_AXES ? (1u << x->type.rank) - 1 : axes;
}

static sn_tensor *keep_dims(sn_tensor *y, const sn_type *x, uint64_t axes, bool keep) {
  if (!y || !keep) return y;
  sn_type type = *x;
  for (int i = 0; i < x->rank; i++)
    if (axes >> i & 1) type.dims[i] = 1;
  sn_tensor *kept = sn_as_reshaped(y, &type);
  sn_release(y);
  return kept;
}

sn_tensor *sn_reduce(sn_op op, sn_tensor *given, uint32_t axes, bool keepdims) {
  sn_tensor *x = sn_as_op_dtype(op, given);
  if (!x) return NULL;
  const int64_t mask = (int64_t)axes_of(x, axes);
  sn_tensor *y = mask ? sn_node_of(x->ctx, op, &x, 1, &mask, 1, NULL) : sn_retain(x);
  y = keep_dims(y, &x->type, (uint64_t)mask, keepdims);
  sn_release(x);
  return sn_op_describe(op)->picks && given->type.dtype == SN_BOOL ? sn_recast(y, SN_BOOL) : y;
}

/* The public function of a reduction. */
static sn_tensor *reduction(sn_op op, sn_tensor *x, uint32_t axes, bool keepdims) {
  if (!sn_has_axes(x, sn_op_describe(op)->name, axes)) return NULL;
  return sn_hand_out(sn_reduce(op, x, axes, keepdims));
}

sn_tensor *sn_sum(sn_tensor *x, uint32_t axes, bool keepdims) {
  return reduction(SN_OP_sum, x, axes, keepdims);
}

sn_tensor *sn_max(sn_tensor *x, uint32_t axes, bool keepdims) {
  return reduction(SN_OP_max, x, axes, keepdims);
}

sn_tensor *sn_min(sn_tensor *x, uint32_t axes, bool keepdims) {
  return reduction(SN_OP_min, x, axes, keepdims);
}

sn_tensor *sn_prod(sn_tensor *x, uint32_t axes, bool keepdims) {
  return reduction(SN_OP_prod, x, axes, keepdims);
}

/* How many elements of x are reduced to one. */
static double count_of(const sn_tensor *x, uint32_t axes) {
  double count = 1;
  for (int i = 0; i < x->type.rank; i++)
    if (axes == SN_ALL_AXES || axes >> i & 1) count *= (double)x->type.dims[i];
  return count;
}

sn_tensor *sn_bitwise_or_reduce(sn_tensor *x, uint32_t axes, bool keepdims) {
  if (x && x->type.dtype == SN_BOOL) return sn_any(x, axes, keepdims);
  return reduction(SN_OP_bitwise_or_reduce, x, axes, keepdims);
}

/* mean x = sum x / n */
sn_tensor *sn_mean(sn_tensor *x, uint32_t axes, bool keepdims) {
  if (!sn_has_axes(x, "mean", axes)) return NULL;
  temporaries t = sn_begin(x, "mean");
  sn_tensor *sum = sn_reduced(SN_OP_sum, sn_as_terms(&t, x), axes, keepdims);
  return sn_finish(&t, sn_binary(SN_OP_div, sum, sn_number_like(sum, count_of(x, axes))));
}

/* any x = max x; of no elements: 0 */
static sn_tensor *any_of(sn_tensor *flags, uint32_t axes, bool keepdims) {
  if (!flags) return NULL;
  const bool empty = count_of(flags, axes) == 0;
  return sn_reduced(empty ? SN_OP_sum : SN_OP_max, flags, axes, keepdims);
}

sn_tensor *sn_any(sn_tensor *x, uint32_t axes, bool keepdims) {
  if (!sn_has_axes(x, "any", axes)) return NULL;
  temporaries t = sn_begin(x, "any");
  sn_tensor *y = any_of(sn_note(sn_as_dtype(x, SN_BOOL)), axes, keepdims);
  return sn_finish(&t, sn_note(sn_as_dtype(y, SN_BOOL)));
}

/* all x = not any (not x) */
sn_tensor *sn_all(sn_tensor *x, uint32_t axes, bool keepdims) {
  if (!sn_has_axes(x, "all", axes)) return NULL;
  temporaries t = sn_begin(x, "all");
  sn_tensor *not_x = sn_unary(SN_OP_logical_not, sn_note(sn_as_dtype(x, SN_BOOL)));
  return sn_finish(&t, sn_unary(SN_OP_logical_not, any_of(not_x, axes, keepdims)));
}

/* var x = sum (x - mean x)^2 / max(n - correction, 0) */
static sn_tensor *variance(temporaries *t, sn_tensor *x, uint32_t axes, double correction,
                           bool keepdims) {
  sn_tensor *f = sn_as_terms(t, x);
  if (!f) return NULL;
  const double n = count_of(f, axes), left = n - correction;
  sn_tensor *count = sn_number_like(f, n);
  sn_tensor *share = sn_number_like(f, left > 0 ? left : 0);
  sn_tensor *sum = sn_reduced(SN_OP_sum, f, axes, true);
  sn_tensor *mean = sn_binary(SN_OP_div, sum, count);
  sn_tensor *centred = sn_binary(SN_OP_sub, f, mean);
  sn_tensor *squares = sn_unary(SN_OP_square, centred);
  sn_tensor *total = sn_reduced(SN_OP_sum, squares, axes, keepdims);
  return sn_binary(SN_OP_div, total, share);
}

/* sqrt x; its derivative at 0 is defined as 0, not infinite. Users of std and norm need that where the
 * argument is constant. */
static sn_tensor *root(sn_tensor *x) {
  sn_tensor *zero = sn_number_like(x, 0);
  sn_tensor *one = sn_number_like(x, 1);
  sn_tensor *flat = sn_binary(SN_OP_equal, x, zero);
  sn_tensor *safe = sn_choose(flat, one, x);
  sn_tensor *y = sn_unary(SN_OP_sqrt, safe);
  return sn_choose(flat, zero, y);
}

sn_tensor *sn_var(sn_tensor *x, uint32_t axes, bool keepdims, double correction) {
  if (!sn_has_axes(x, "var", axes)) return NULL;
  temporaries t = sn_begin(x, "var");
  return sn_finish(&t, variance(&t, x, axes, correction, keepdims));
}

sn_tensor *sn_std(sn_tensor *x, uint32_t axes, bool keepdims, double correction) {
  if (!sn_has_axes(x, "std", axes)) return NULL;
  temporaries t = sn_begin(x, "std");
  return sn_finish(&t, root(variance(&t, x, axes, correction, keepdims)));
}

/* logsumexp x = m + log sum e^(x - m), where m = max x, or 0 if that is not finite. In derivatives m counts
 * as a constant, since it cancels. Of no elements: log 0 */
sn_tensor *sn_logsumexp(sn_tensor *x, uint32_t axes, bool keepdims) {
  if (!sn_has_axes(x, "logsumexp", axes)) return NULL;
  temporaries t = sn_begin(x, "logsumexp");
  sn_tensor *f = sn_as_terms(&t, x);
  if (!f) return sn_finish(&t, NULL);
  if (count_of(f, axes) == 0)
    return sn_finish(
        &t, sn_unary(SN_OP_log, sn_reduced(SN_OP_sum, sn_unary(SN_OP_exp, f), axes, keepdims)));
  sn_tensor *top = sn_unary(SN_OP_stop_gradient, sn_reduced(SN_OP_max, f, axes, true));
  sn_tensor *shift = sn_choose(sn_unary(SN_OP_isfinite, top), top, sn_number_like(f, 0));
  sn_tensor *sum =
      sn_reduced(SN_OP_sum, sn_unary(SN_OP_exp, sn_binary(SN_OP_sub, f, shift)), axes, keepdims);
  sn_tensor *back = sum && shift ? sn_note(sn_as_reshaped(shift, &sum->type)) : NULL;
  return sn_finish(&t, sn_binary(SN_OP_add, sn_unary(SN_OP_log, sum), back));
}

/* |x|_p = (sum |x|^p)^(1/p); p = 0 counts the elements that are not 0, p = inf and -inf give the largest
 * and the smallest |x| */
sn_tensor *sn_norm(sn_tensor *x, uint32_t axes, bool keepdims, double ord) {
  if (!sn_has_axes(x, "norm", axes)) return NULL;
  temporaries t = sn_begin(x, "norm");
  sn_tensor *f = sn_as_terms(&t, x);
  if (!f) return sn_finish(&t, NULL);
  if (ord == 2)
    return sn_finish(&t, root(sn_reduced(SN_OP_sum, sn_unary(SN_OP_square, f), axes, keepdims)));
  sn_tensor *size = sn_unary(SN_OP_abs, f);
  if (isinf(ord))
    return sn_finish(&t, sn_note(sn_reduce(ord > 0 ? SN_OP_max : SN_OP_min, size, axes, keepdims)));
  if (ord == 1) return sn_finish(&t, sn_reduced(SN_OP_sum, size, axes, keepdims));
  if (ord == 0) {
    sn_tensor *counted =
        sn_note(sn_as_dtype(sn_binary(SN_OP_not_equal, f, sn_number_like(f, 0)), f->type.dtype));
    return sn_finish(&t, sn_reduced(SN_OP_sum, counted, axes, keepdims));
  }
  sn_tensor *sum =
      sn_reduced(SN_OP_sum, sn_binary(SN_OP_pow, size, sn_number_like(f, ord)), axes, keepdims);
  return sn_finish(&t, sn_binary(SN_OP_pow, sum, sn_number_like(f, 1 / ord)));
}

/* argmax x = min { i : x_i = max x or x_i is NaN }: the first of the largest elements, or the first NaN */
static sn_tensor *arg_extremum(const char *what, sn_op op, sn_tensor *x, int axis, bool keepdims) {
  if (!x) return NULL;
  temporaries t = sn_begin(x, what);
  int at = axis;
  sn_tensor *line = sn_note(sn_along(x, &at));
  if (!line) return sn_finish(&t, NULL);
  const sn_status status = sn_resolve_axis(line, what, &at);
  if (status) return sn_finish(&t, sn_refuse(x->ctx, status));
  sn_tensor *v = sn_note(sn_as_op_dtype(op, line));
  sn_tensor *best = sn_note(sn_reduce(op, v, 1u << at, true));
  sn_tensor *hit = sn_binary(SN_OP_equal, v, best);
  if (v && sn_dtype_is_float(v->type.dtype))
    hit = sn_binary(SN_OP_logical_or, hit, sn_unary(SN_OP_isnan, v));
  sn_tensor *index = sn_note(sn_index_along(x->ctx, &line->type, at));
  sn_tensor *none = sn_note(sn_number(x->ctx, SN_I32, (double)INT32_MAX));
  sn_tensor *y =
      sn_reduced(SN_OP_min, sn_choose(hit, index, none), 1u << at, keepdims && axis != SN_FLAT);
  if (axis != SN_FLAT || !keepdims || !y) return sn_finish(&t, y);
  sn_type one = {y->type.dtype, x->type.rank, {0}};
  for (int i = 0; i < one.rank; i++) one.dims[i] = 1;
  return sn_finish(&t, sn_note(sn_as_reshaped(y, &one)));
}

sn_tensor *sn_argmax(sn_tensor *x, int axis, bool keepdims) {
  return arg_extremum("argmax", SN_OP_max, x, axis, keepdims);
}

sn_tensor *sn_argmin(sn_tensor *x, int axis, bool keepdims) {
  return arg_extremum("argmin", SN_OP_min, x, axis, keepdims);
}
