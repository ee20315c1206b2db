/* creation.c - the public functions that make tensors from numbers. None allocates memory for elements
 * before a value is asked for. */
#include <math.h>

#include "tensor/compose.h"

static sn_status type_of(sn_context *ctx, const char *what, sn_dtype dtype, int rank,
                         const int64_t *dims, sn_type *out) {
  SN_TRY(sn_type_of(ctx, what, dtype, rank, dims, out));
  return sn_type_check(&ctx->env, out, what);
}

sn_tensor *sn_scalar(sn_context *ctx, double value) {
  sn_tensor *t = sn_number(ctx, SN_F32, value);
  if (t) t->weak = true;
  return sn_hand_out(t);
}

static sn_tensor *filled(const char *what, sn_context *ctx, sn_dtype dtype, int rank,
                         const int64_t *dims, double value) {
  sn_type type;
  const sn_status status = type_of(ctx, what, dtype, rank, dims, &type);
  if (status) return sn_refuse(ctx, status);
  temporaries t = sn_begin_in(ctx, what);
  return sn_finish(&t, sn_note(sn_as_dims(sn_note(sn_number(ctx, dtype, value)), &type)));
}

sn_tensor *sn_full(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims, double value) {
  return filled("full", ctx, dtype, rank, dims, value);
}

sn_tensor *sn_zeros(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims) {
  return filled("zeros", ctx, dtype, rank, dims, 0);
}

sn_tensor *sn_ones(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims) {
  return filled("ones", ctx, dtype, rank, dims, 1);
}

sn_tensor *sn_zeros_like(sn_tensor *x) {
  return x ? filled("zerosLike", x->ctx, x->type.dtype, x->type.rank, x->type.dims, 0) : NULL;
}

sn_tensor *sn_ones_like(sn_tensor *x) {
  return x ? filled("onesLike", x->ctx, x->type.dtype, x->type.rank, x->type.dims, 1) : NULL;
}

sn_tensor *sn_iota(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims, int axis) {
  sn_type type;
  sn_status status = type_of(ctx, "iota", dtype, rank, dims, &type);
  if (!status) status = sn_resolve_axis_of(&ctx->env, &type, "iota", &axis);
  if (status) return sn_refuse(ctx, status);
  return sn_hand_out(sn_node_of(ctx, SN_OP_iota, NULL, 0, (int64_t[]){axis}, 1, &type));
}

/* The dtype in which a ramp is computed before it is rounded, once, to its own: small floats in float32,
 * and integers as float64 if start or step is not an integer. */
static sn_dtype ramp_dtype(sn_dtype dtype, double from, double step) {
  if (dtype == SN_BOOL || sn_dtype_is_float(dtype)) return sn_dtype_wide(dtype);
  return from == trunc(from) && step == trunc(step) ? SN_I32 : SN_F64;
}

/* from + step i for i < count. The two are arguments of the program, so other numbers do not compile a new one. */
static sn_tensor *ramp(const sn_type *line, double from, double step, sn_context *ctx) {
  sn_tensor *y = sn_note(sn_node_of(ctx, SN_OP_iota, NULL, 0, (int64_t[]){0}, 1, line));
  if (step != 1) y = sn_binary(SN_OP_mul, y, sn_scalar(ctx, step));
  if (from != 0) y = sn_binary(SN_OP_add, y, sn_scalar(ctx, from));
  return y;
}

/* *line is the type of a ramp before it is rounded. */
static sn_status ramp_type(const char *what, sn_context *ctx, sn_dtype dtype, double from,
                           double step, double count, sn_type *line) {
  if (!(count >= 0 && count <= INT32_MAX))
    return SN_FAIL(&ctx->env, SN_ERR_SHAPE, what, "%g elements, expected 0 to %d", count,
                   INT32_MAX);
  SN_TRY(type_of(ctx, what, dtype, 1, (int64_t[]){(int64_t)count}, line));
  line->dtype = ramp_dtype(dtype, from, step);
  return SN_OK;
}

sn_tensor *sn_arange(sn_context *ctx, sn_dtype dtype, double start, double stop, double step) {
  const double count = ceil((stop - start) / step);
  if (step == 0 || isnan(count) || count == (double)INFINITY)
    return sn_refuse(ctx, SN_FAIL(&ctx->env, SN_ERR_ARGUMENT, "arange",
                                  "from %g to %g in steps of %g never ends", start, stop, step));
  sn_type line;
  const sn_status status =
      ramp_type("arange", ctx, dtype, start, step, count > 0 ? count : 0, &line);
  if (status) return sn_refuse(ctx, status);
  temporaries t = sn_begin_in(ctx, "arange");
  return sn_finish(&t, sn_cast(ramp(&line, start, step, ctx), dtype));
}

/* The last element is set to stop itself, since rounded steps may add up to a little more or less. */
sn_tensor *sn_linspace(sn_context *ctx, sn_dtype dtype, double start, double stop, int64_t count) {
  const double step = count > 1 ? (stop - start) / (double)(count - 1) : 0;
  sn_type line;
  const sn_status status = ramp_type("linspace", ctx, dtype, start, step, (double)count, &line);
  if (status) return sn_refuse(ctx, status);
  temporaries t = sn_begin_in(ctx, "linspace");
  sn_tensor *y = ramp(&line, start, step, ctx);
  if (count > 1) {
    sn_tensor *index = sn_note(sn_index_along(ctx, &line, 0));
    sn_tensor *is_last = sn_binary(SN_OP_equal, index, sn_scalar(ctx, (double)(count - 1)));
    y = sn_choose(is_last, sn_scalar(ctx, stop), y);
  }
  return sn_finish(&t, sn_cast(y, dtype));
}

sn_tensor *sn_eye(sn_context *ctx, sn_dtype dtype, int64_t n) {
  sn_type matrix;
  const sn_status status = type_of(ctx, "eye", dtype, 2, (int64_t[]){n, n}, &matrix);
  if (status) return sn_refuse(ctx, status);
  temporaries t = sn_begin_in(ctx, "eye");
  sn_tensor *row = sn_note(sn_index_along(ctx, &matrix, 0));
  sn_tensor *column = sn_note(sn_index_along(ctx, &matrix, 1));
  sn_tensor *same = sn_binary(SN_OP_equal, row, column);
  return sn_finish(&t, sn_note(sn_as_dtype(same, dtype)));
}
