/* pad.c - padding: with a value, which is an op of ops.def, or with the tensor's own elements, which are
 * taken by index along one axis after the other. */
#include "base/size.h"
#include "tensor/compose.h"

#define REFUSE(ctx, status, ...) sn_refuse((ctx), SN_FAIL(&(ctx)->env, (status), __VA_ARGS__))

static sn_tensor *pad_with(sn_tensor *x, const sn_type *type, const int64_t *before, double value) {
  const int rank = type->rank;
  int64_t attrs[SN_MAX_ATTRS];
  for (int i = 0; i < rank; i++) {
    attrs[i] = before[i];
    attrs[rank + i] = 1;
  }
  attrs[2 * rank] = sn_double_attr(value);
  return sn_node_of(x->ctx, SN_OP_pad, &x, 1, attrs, 2 * (size_t)rank + 1, type);
}

/* Which of n elements comes to position i, counted from the first element (so negative in front), as in NumPy. */
static sn_tensor *places(sn_tensor *i, double n, sn_pad_mode mode) {
  if (mode == SN_PAD_EDGE)
    return sn_binary_number(SN_OP_minimum, sn_binary_number(SN_OP_maximum, i, 0), n - 1);
  if (mode == SN_PAD_REFLECT) {
    if (n == 1) return sn_binary_number(SN_OP_mul, i, 0);
    sn_tensor *from_last =
        sn_binary_number(SN_OP_sub, sn_binary_number(SN_OP_mod, i, 2 * n - 2), n - 1);
    return sn_binary(SN_OP_sub, sn_number_like(i, n - 1), sn_unary(SN_OP_abs, from_last));
  }
  sn_tensor *in_period = sn_binary_number(SN_OP_mod, i, 2 * n);
  return sn_binary(SN_OP_minimum, in_period,
                   sn_binary(SN_OP_sub, sn_number_like(i, 2 * n - 1), in_period));
}

sn_tensor *sn_pad(sn_tensor *x, const int64_t *before, const int64_t *after, sn_pad_mode mode,
                  double value) {
  if (!x) return NULL;
  sn_type type = x->type;
  if ((unsigned)mode > SN_PAD_SYMMETRIC)
    return REFUSE(x->ctx, SN_ERR_ARGUMENT, "pad", "no mode %d", (int)mode);
  for (int i = 0; i < type.rank; i++) {
    if (before[i] < 0 || after[i] < 0)
      return REFUSE(x->ctx, SN_ERR_ARGUMENT, "pad", "negative amount on axis %d", i);
    if (mode != SN_PAD_CONSTANT && !type.dims[i] && (before[i] || after[i]))
      return REFUSE(x->ctx, SN_ERR_SHAPE, "pad", "nothing to repeat along axis %d: a %*p", i,
                    x->type.rank, x->type.dims);
    if (sn_int_add_overflows(type.dims[i], before[i], &type.dims[i]) ||
        sn_int_add_overflows(type.dims[i], after[i], &type.dims[i]))
      return REFUSE(x->ctx, SN_ERR_MEMORY, "pad", "result is too large");
  }
  temporaries t = sn_begin(x, "pad");
  sn_tensor *y = x;
  if (mode == SN_PAD_CONSTANT) return sn_finish(&t, sn_note(pad_with(x, &type, before, value)));
  for (int i = 0; i < type.rank; i++) {
    if (type.dims[i] == x->type.dims[i]) continue;
    sn_tensor *at = sn_iota(x->ctx, SN_I32, 1, &type.dims[i], 0);
    at = sn_binary_number(SN_OP_sub, at, (double)before[i]);
    y = sn_take(y, places(at, (double)x->type.dims[i], mode), i);
  }
  return sn_finish(&t, y);
}
