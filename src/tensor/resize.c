/* resize.c - resizes one axis after the other. Each element of the result is a weighted sum of elements
 * near its position in x. If an axis of n elements becomes one of m, element i of the result has its centre at
 *
 *   half pixels    (i + 1/2) n / m - 1/2      the axes coincide from edge to edge
 *   align_corners  i (n - 1) / (m - 1)        the first elements coincide, and the last; 0 for m = 1
 *
 * Elements outside of x equal the element at the edge. */
#include <math.h>

#include "graph/reference.h"
#include "tensor/compose.h"

typedef struct resizing {
  sn_resize_mode mode;
  bool align_corners;
  double a;     /* the parameter of cubic */
  int64_t n, m; /* the axis's elements before and after */
} resizing;

/* The position in x of element i of the result. */
static double centre(const resizing *r, int64_t i) {
  if (r->align_corners) return r->m > 1 ? (double)i * (double)(r->n - 1) / (double)(r->m - 1) : 0;
  return ((double)i + 0.5) * (double)r->n / (double)r->m - 0.5;
}

/* The element of x before the position, or (nearest) the nearest one. */
static double element_before(const resizing *r, double at) {
  return floor(r->mode == SN_RESIZE_NEAREST ? at + 0.5 : at);
}

/* The element k behind element_before, clamped to the edges. */
static double place(const resizing *r, int k, double at) {
  const double i = element_before(r, at) + k, last = (double)(r->n - 1);
  return i < 0 ? 0 : i > last ? last : i;
}

/* The weight of that element, by its distance from the position. */
static double weight(const resizing *r, int k, double at) {
  const double d = fabs(at - element_before(r, at) - k), a = r->a;
  if (r->mode == SN_RESIZE_LINEAR) return 1 - d;
  if (k == 0 || k == 1) return ((a + 2) * d - (a + 3)) * d * d + 1; /* d <= 1 */
  return a * (((d - 5) * d + 8) * d - 4);                           /* 1 <= d <= 2 */
}

typedef double number_of(const resizing *r, int k, double at);

/* A tensor with f for each element of the resized axis, in the shape of `type`. It is computed here, not
 * in the program: once, and in float64, which not every device has. */
static sn_tensor *numbers(sn_context *ctx, const resizing *r, number_of *f, int k,
                          const sn_type *type) {
  void *data;
  const size_t bytes = sn_type_bytes(type);
  const sn_status status = sn_alloc(&ctx->env, bytes, &data);
  if (status) return sn_refuse(ctx, status);
  for (int64_t i = 0; i < r->m; i++) sn_ref_store(type->dtype, data, i, f(r, k, centre(r, i)));
  sn_tensor *t = sn_from_data(ctx, type->dtype, type->rank, type->dims, data);
  sn_free(&ctx->env, data, bytes);
  return t;
}

static sn_tensor *resize_axis(const resizing *r, sn_tensor *x, int axis) {
  if (!x) return NULL;
  const sn_type line = {SN_I32, 1, {r->m}};
  sn_type column = {x->type.dtype, x->type.rank, {0}};
  for (int i = 0; i < column.rank; i++) column.dims[i] = i == axis ? r->m : 1;
  sn_tensor *sum = NULL;
  const int first = r->mode == SN_RESIZE_CUBIC ? -1 : 0, last = (int)r->mode;
  for (int k = first; k <= last; k++) {
    sn_tensor *y = sn_take(x, numbers(x->ctx, r, place, k, &line), axis);
    if (r->mode != SN_RESIZE_NEAREST)
      y = sn_binary(SN_OP_mul, y, numbers(x->ctx, r, weight, k, &column));
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
  temporaries t = sn_begin(x, "resize");
  sn_tensor *y = mode == SN_RESIZE_NEAREST ? x : sn_as_float(&t, x);
  for (int i = 0; i < rank; i++) {
    const resizing r = {mode, align_corners, coefficient, x->type.dims[i], dims[i]};
    if (r.m != r.n) y = resize_axis(&r, y, i);
  }
  return sn_finish(&t, y);
}
