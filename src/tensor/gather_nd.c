/* gather_nd.c - gather and scatter by indices of several axes at once: the axes are merged into one, and
 * the indices into flat numbers along it. */
#include "tensor/compose.h"

/* x with its first axes merged into one, and the flat numbers along it of indices (..., axes). */
typedef struct numbered {
  sn_tensor *rows, *places;
} numbered;

static sn_status check_indices(const char *what, const sn_tensor *x, const sn_tensor *indices) {
  sn_env *env = &x->ctx->env;
  const sn_type *i = &indices->type;
  SN_TRY(sn_same_context(x, indices, what));
  SN_FAIL_IF(env, !i->rank || i->dims[i->rank - 1] > x->type.rank, SN_ERR_SHAPE, what,
             "indices need (..., axes), at most %d of them: a %*p, indices %*p", x->type.rank,
             x->type.rank, x->type.dims, i->rank, i->dims);
  SN_FAIL_IF(env, sn_dtype_wide(i->dtype) != SN_I32, SN_ERR_DTYPE, what,
             "indices must be int32, not %s", sn_dtype_name(i->dtype));
  return SN_OK;
}

static numbered flatten(sn_tensor *x, sn_tensor *indices) {
  const sn_type *from = &x->type, *i = &indices->type;
  const int axes = (int)i->dims[i->rank - 1];
  int32_t sizes[SN_MAX_RANK], steps[SN_MAX_RANK];
  int64_t size = 1;
  for (int k = axes; k-- > 0; size *= from->dims[k]) {
    sizes[k] = (int32_t)from->dims[k];
    steps[k] = (int32_t)size;
  }
  sn_type rows = {from->dtype, from->rank - axes + 1, {size}};
  for (int k = 1; k < rows.rank; k++) rows.dims[k] = from->dims[axes + k - 1];
  const int64_t count = axes;
  sn_tensor *all = sn_from_data(x->ctx, SN_I32, 1, &count, sizes);
  sn_tensor *step = sn_from_data(x->ctx, SN_I32, 1, &count, steps);
  sn_tensor *from_end = sn_choose(sn_binary_number(SN_OP_less, indices, 0),
                                  sn_binary(SN_OP_add, indices, all), indices);
  sn_tensor *inside = sn_binary(SN_OP_minimum, from_end, sn_binary_number(SN_OP_sub, all, 1));
  inside = sn_binary(SN_OP_mul, sn_binary_number(SN_OP_maximum, inside, 0), step);
  return (numbered){sn_note(sn_as_reshaped(x, &rows)),
                    sn_reduced(SN_OP_sum, inside, 1u << (i->rank - 1), false)};
}

sn_tensor *sn_gather_nd(sn_tensor *x, sn_tensor *indices) {
  static const char what[] = "gatherNd";
  if (!x || !indices) return NULL;
  const sn_status status = check_indices(what, x, indices);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, what);
  const numbered n = flatten(x, indices);
  return sn_finish(&t, sn_take(n.rows, n.places, 0));
}

sn_tensor *sn_scatter_nd(sn_tensor *x, sn_tensor *indices, sn_tensor *updates,
                         sn_scatter_mode mode) {
  static const char what[] = "scatterNd";
  if (!x || !indices || !updates) return NULL;
  const sn_status status = check_indices(what, x, indices);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, what);
  const numbered n = flatten(x, indices);
  sn_tensor *y = sn_scatter(n.rows, n.places, updates, 0, mode);
  return sn_finish(&t, sn_note(sn_as_reshaped(y, &x->type)));
}
