/* statistics.c - reductions that are graphs of the table's reductions. Formulas stand above. */
#include <math.h>

#include "tensor/compose.h"

/* Elements that are reduced to one. */
static double count_of(const sn_tensor *x, uint32_t axes) {
  double count = 1;
  for (int i = 0; i < x->type.rank; i++)
    if (axes == SN_ALL_AXES || axes >> i & 1) count *= (double)x->type.dims[i];
  return count;
}

/* mean x = sum x / n */
sn_tensor *sn_mean(sn_tensor *x, uint32_t axes, bool keepdims) {
  if (!x) return NULL;
  temporaries t = {0};
  sn_tensor *sum = REDUCE(sum, FLOAT(x), axes, keepdims);
  return sn_finish(&t, BINARY(div, sum, NUMBER_LIKE(sum, count_of(x, axes))));
}

/* any x = max x; of nothing: 0 */
static sn_tensor *any_of(temporaries *t, sn_tensor *flags, uint32_t axes, bool keepdims) {
  if (!flags) return NULL;
  const bool empty = count_of(flags, axes) == 0;
  return sn_compose_reduce(t, empty ? SN_OP_sum : SN_OP_max, flags, axes, keepdims);
}

sn_tensor *sn_any(sn_tensor *x, uint32_t axes, bool keepdims) {
  temporaries t = {0};
  sn_tensor *y = any_of(&t, T(sn_as_dtype(x, SN_BOOL)), axes, keepdims);
  return sn_finish(&t, T(sn_as_dtype(y, SN_BOOL)));
}

/* all x = not any (not x) */
sn_tensor *sn_all(sn_tensor *x, uint32_t axes, bool keepdims) {
  temporaries t = {0};
  sn_tensor *not_x = UNARY(logical_not, T(sn_as_dtype(x, SN_BOOL)));
  return sn_finish(&t, UNARY(logical_not, any_of(&t, not_x, axes, keepdims)));
}

/* var x = sum (x - mean x)^2 / max(n - correction, 0) */
static sn_tensor *variance(temporaries *t, sn_tensor *x, uint32_t axes, double correction,
                           bool keepdims) {
  sn_tensor *f = sn_compose_float(t, x);
  if (!f) return NULL;
  const double n = count_of(f, axes), left = n - correction;
  sn_tensor *count = sn_compose_number(t, f, n);
  sn_tensor *share = sn_compose_number(t, f, left > 0 ? left : 0);
  sn_tensor *sum = sn_compose_reduce(t, SN_OP_sum, f, axes, true);
  sn_tensor *mean = sn_compose_binary(t, SN_OP_div, sum, count);
  sn_tensor *centred = sn_compose_binary(t, SN_OP_sub, f, mean);
  sn_tensor *squares = sn_compose_unary(t, SN_OP_square, centred);
  sn_tensor *total = sn_compose_reduce(t, SN_OP_sum, squares, axes, keepdims);
  return sn_compose_binary(t, SN_OP_div, total, share);
}

/* sqrt x, whose derivative at 0 is taken to be 0 and not infinite: of something that is constant in
 * a place, as most users of std and norm need it */
static sn_tensor *root(temporaries *t, sn_tensor *x) {
  sn_tensor *zero = sn_compose_number(t, x, 0);
  sn_tensor *one = sn_compose_number(t, x, 1);
  sn_tensor *flat = sn_compose_binary(t, SN_OP_equal, x, zero);
  sn_tensor *safe = sn_compose_where(t, flat, one, x);
  sn_tensor *y = sn_compose_unary(t, SN_OP_sqrt, safe);
  return sn_compose_where(t, flat, zero, y);
}

sn_tensor *sn_var(sn_tensor *x, uint32_t axes, double correction, bool keepdims) {
  temporaries t = {0};
  return sn_finish(&t, variance(&t, x, axes, correction, keepdims));
}

sn_tensor *sn_std(sn_tensor *x, uint32_t axes, double correction, bool keepdims) {
  temporaries t = {0};
  return sn_finish(&t, root(&t, variance(&t, x, axes, correction, keepdims)));
}

/* logsumexp x = m + log sum e^(x - m) for m = max x, a constant: it cancels; 0 where it is not
 * finite. Of nothing log 0 */
sn_tensor *sn_logsumexp(sn_tensor *x, uint32_t axes, bool keepdims) {
  temporaries t = {0};
  sn_tensor *f = FLOAT(x);
  if (!f) return sn_finish(&t, NULL);
  if (count_of(f, axes) == 0)
    return sn_finish(&t, UNARY(log, REDUCE(sum, UNARY(exp, f), axes, keepdims)));
  sn_tensor *top = UNARY(stop_gradient, REDUCE(max, f, axes, true));
  sn_tensor *shift = WHERE(UNARY(isfinite, top), top, NUMBER_LIKE(f, 0));
  sn_tensor *sum = REDUCE(sum, UNARY(exp, BINARY(sub, f, shift)), axes, keepdims);
  sn_tensor *back = sum && shift ? T(sn_as_reshaped(shift, &sum->type)) : NULL;
  return sn_finish(&t, BINARY(add, UNARY(log, sum), back));
}

/* |x|_p = (sum |x|^p)^(1/p); p = 0 counts what is not 0, p = +-inf is the largest, smallest |x| */
sn_tensor *sn_norm(sn_tensor *x, double order, uint32_t axes, bool keepdims) {
  temporaries t = {0};
  sn_tensor *f = FLOAT(x);
  if (!f) return sn_finish(&t, NULL);
  if (order == 2) return sn_finish(&t, root(&t, REDUCE(sum, UNARY(square, f), axes, keepdims)));
  sn_tensor *size = UNARY(abs, f);
  if (isinf(order))
    return sn_finish(&t, T(sn_reduce(order > 0 ? SN_OP_max : SN_OP_min, size, axes, keepdims)));
  if (order == 1) return sn_finish(&t, REDUCE(sum, size, axes, keepdims));
  if (order == 0) {
    sn_tensor *counted = T(sn_as_dtype(BINARY(not_equal, f, NUMBER_LIKE(f, 0)), f->type.dtype));
    return sn_finish(&t, REDUCE(sum, counted, axes, keepdims));
  }
  sn_tensor *sum = REDUCE(sum, BINARY(pow, size, NUMBER_LIKE(f, order)), axes, keepdims);
  return sn_finish(&t, BINARY(pow, sum, NUMBER_LIKE(f, 1 / order)));
}
