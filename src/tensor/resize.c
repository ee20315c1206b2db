/* resize.c - each element of the result is a weighted sum of elements near its place in x, one axis
 * after the other. An axis of n elements becomes one of m. Element i of the result has its centre at
 *
 *   half pixels    (i + 1/2) n / m - 1/2      both axes as wholes, from edge to edge
 *   align_corners  i (n - 1) / (m - 1)        first and last elements on each other; 0 for m = 1
 *
 * and what lies outside of x counts as the element at the edge. */
#include "tensor/compose.h"

typedef struct resizing {
  sn_resize_mode mode;
  bool align_corners;
  double a; /* the parameter of cubic */
} resizing;

/* Where the m elements of a resized axis of n lie in it, in float64. */
static sn_tensor *centres(sn_context *ctx, int64_t n, int64_t m, bool align_corners) {
  sn_tensor *i = sn_iota(ctx, SN_F64, 1, &m, 0);
  if (align_corners) return sn_with(SN_OP_mul, i, m > 1 ? (double)(n - 1) / (double)(m - 1) : 0);
  i = sn_with(SN_OP_mul, sn_with(SN_OP_add, i, 0.5), (double)n / (double)m);
  return sn_with(SN_OP_sub, i, 0.5);
}

/* a |d|^3 - 5 a |d|^2 + 8 a |d| - 4 a, for 1 < |d| < 2 */
static sn_tensor *far_weight(sn_tensor *d, double a) {
  sn_tensor *y = sn_with(SN_OP_sub, sn_with(SN_OP_mul, d, a), 5 * a);
  y = sn_with(SN_OP_add, sn_binary(SN_OP_mul, y, d), 8 * a);
  return sn_with(SN_OP_sub, sn_binary(SN_OP_mul, y, d), 4 * a);
}

/* (a + 2) |d|^3 - (a + 3) |d|^2 + 1, for |d| < 1 */
static sn_tensor *near_weight(sn_tensor *d, double a) {
  sn_tensor *y = sn_with(SN_OP_sub, sn_with(SN_OP_mul, d, a + 2), a + 3);
  return sn_with(SN_OP_add, sn_binary(SN_OP_mul, sn_binary(SN_OP_mul, y, d), d), 1);
}

/* The weight of the element `offset` behind the one before the place, which lies d behind that. */
static sn_tensor *weight(const resizing *r, int offset, sn_tensor *d) {
  const bool behind = offset > 0;
  sn_tensor *distance = behind ? sn_binary(SN_OP_sub, sn_number_like(d, offset), d)
                               : (offset ? sn_with(SN_OP_add, d, 1) : d);
  if (r->mode == SN_RESIZE_CUBIC)
    return offset == 0 || offset == 1 ? near_weight(distance, r->a) : far_weight(distance, r->a);
  return behind ? d : sn_binary(SN_OP_sub, sn_number_like(d, 1), d);
}

static sn_tensor *resize_axis(const resizing *r, sn_tensor *x, int axis, int64_t m) {
  if (!x) return NULL;
  const int64_t n = x->type.dims[axis];
  sn_type column = {SN_F64, x->type.rank, {0}};
  for (int i = 0; i < column.rank; i++) column.dims[i] = i == axis ? m : 1;
  sn_tensor *at = centres(x->ctx, n, m, r->align_corners), *sum = NULL;
  sn_tensor *before =
      sn_unary(SN_OP_floor, r->mode == SN_RESIZE_NEAREST ? sn_with(SN_OP_add, at, 0.5) : at);
  sn_tensor *d = sn_binary(SN_OP_sub, at, before);
  const int first = r->mode == SN_RESIZE_CUBIC ? -1 : 0, last = (int)r->mode;
  for (int k = first; k <= last; k++) {
    sn_tensor *place = sn_with(SN_OP_maximum, sn_with(SN_OP_add, before, k), 0);
    place = sn_cast(sn_with(SN_OP_minimum, place, (double)(n - 1)), SN_I32);
    sn_tensor *y = sn_take(x, place, axis);
    if (r->mode != SN_RESIZE_NEAREST) {
      sn_tensor *w = sn_note(sn_as_reshaped(weight(r, k, d), &column));
      y = sn_binary(SN_OP_mul, y, sn_cast(w, x->type.dtype));
    }
    sum = k == first ? y : sn_binary(SN_OP_add, sum, y);
  }
  return sum;
}

static sn_status check_resize(const sn_tensor *x, const sn_type *type, sn_resize_mode mode) {
  sn_env *env = &x->ctx->env;
  SN_TRY(sn_type_check(env, type, "resize"));
  SN_FAIL_IF(env, (unsigned)mode > SN_RESIZE_CUBIC, SN_ERR_ARGUMENT, "resize", "no mode %d",
             (int)mode);
  bool fits = type->rank == x->type.rank;
  for (int i = 0; fits && i < type->rank; i++) fits = !type->dims[i] || x->type.dims[i];
  SN_FAIL_IF(env, !fits, SN_ERR_SHAPE, "resize", "cannot become %*p: a %*p", type->rank, type->dims,
             x->type.rank, x->type.dims);
  return SN_OK;
}

sn_tensor *sn_resize(sn_tensor *x, int rank, const int64_t *dims, sn_resize_mode mode,
                     bool align_corners, double coefficient) {
  if (!x) return NULL;
  sn_type type;
  sn_status status = sn_type_of(x->ctx, "resize", x->type.dtype, rank, dims, &type);
  if (!status) status = check_resize(x, &type, mode);
  if (status) return sn_refuse(x->ctx, status);
  const resizing r = {mode, align_corners, coefficient};
  temporaries t = sn_begin(x, "resize");
  sn_tensor *y = mode == SN_RESIZE_NEAREST ? x : sn_as_float(&t, x);
  for (int i = 0; i < rank; i++)
    if (dims[i] != x->type.dims[i]) y = resize_axis(&r, y, i, dims[i]);
  return sn_finish(&t, y);
}
