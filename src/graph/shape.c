#include "graph/shape.h"

#include <string.h>

#include "base/format.h"
#include "base/size.h"

sn_type sn_type_scalar(sn_dtype dtype) { return (sn_type){.dtype = dtype}; }

bool sn_same_dims(const sn_type *a, const sn_type *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

bool sn_type_equal(const sn_type *a, const sn_type *b) {
  return a->dtype == b->dtype && sn_same_dims(a, b);
}

int64_t sn_type_size(const sn_type *type) {
  int64_t size = 1;
  for (int i = 0; i < type->rank; i++) size *= type->dims[i];
  return size;
}

size_t sn_type_bytes(const sn_type *type) {
  return (size_t)sn_type_size(type) * sn_dtype_bytes(type->dtype);
}

sn_status sn_type_check(sn_env *env, const sn_type *type, const char *what) {
  SN_FAIL_IF(env, type->rank < 0 || type->rank > SN_MAX_RANK, SN_ERR_SHAPE, what,
             "rank %d is not in 0..%d", (int)type->rank, SN_MAX_RANK);
  SN_FAIL_IF(env, !sn_dtype_is_known(type->dtype), SN_ERR_DTYPE, what, "unknown dtype %d",
             (int)type->dtype);
  int64_t span = (int64_t)sn_dtype_bytes(type->dtype);
  for (int i = 0; i < type->rank; i++) {
    SN_FAIL_IF(env, type->dims[i] < 0, SN_ERR_SHAPE, what, "negative size in shape %*p", type->rank,
               type->dims);
    /* A size of 0 counts as 1 here, so that no stride of a checked type overflows. */
    const int64_t dim = type->dims[i] ? type->dims[i] : 1;
    SN_FAIL_IF(env, sn_int_mul_overflows(span, dim, &span) || span > PTRDIFF_MAX, SN_ERR_MEMORY,
               what, "shape %*p is too large", type->rank, type->dims);
  }
  return SN_OK;
}

void sn_move_axis(int rank, int from, int to, int64_t *perm) {
  for (int i = 0, next = 0; i < rank; i++) {
    if (next == from) next++;
    perm[i] = i == to ? from : next++;
  }
}

void sn_windows_type(const sn_type *x, int axis, int64_t out, int64_t size, sn_type *type) {
  *type = *x;
  type->rank++;
  for (int i = axis + 2; i < type->rank; i++) type->dims[i] = x->dims[i - 1];
  type->dims[axis] = out;
  type->dims[axis + 1] = size;
}

sn_type sn_type_stacked(const sn_type *slice, int64_t size) {
  sn_type type = {.dtype = slice->dtype, .rank = slice->rank + 1, .dims = {size}};
  memcpy(type.dims + 1, slice->dims, (size_t)slice->rank * sizeof *slice->dims);
  return type;
}

sn_type sn_type_slice(const sn_type *stack) {
  sn_type type = {.dtype = stack->dtype, .rank = stack->rank - 1};
  memcpy(type.dims, stack->dims + 1, (size_t)type.rank * sizeof *type.dims);
  return type;
}

void sn_row_major(const sn_type *type, int64_t strides[SN_MAX_RANK]) {
  int64_t stride = 1;
  for (int i = type->rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= type->dims[i];
  }
}

void sn_unravel(const sn_type *type, int64_t flat, int64_t *index) {
  for (int i = type->rank - 1; i >= 0; i--) {
    index[i] = flat % type->dims[i];
    flat /= type->dims[i];
  }
}

int64_t sn_ravel(const sn_type *type, const int64_t *index) {
  int64_t flat = 0;
  for (int i = 0; i < type->rank; i++) flat = flat * type->dims[i] + index[i];
  return flat;
}

const char *sn_shape_text(const sn_type *type, char buffer[SN_SHAPE_TEXT]) {
  sn_format(buffer, SN_SHAPE_TEXT, "%*p", type->rank, type->dims);
  return buffer;
}

sn_status sn_broadcast_dims(sn_env *env, const char *what, const sn_type *a, const sn_type *b,
                            sn_type *out) {
  const int rank = a->rank > b->rank ? a->rank : b->rank;
  out->rank = rank;
  memset(out->dims, 0, sizeof out->dims);
  for (int i = 0; i < rank; i++) {
    const int ia = i - (rank - a->rank), ib = i - (rank - b->rank);
    const int64_t da = ia < 0 ? 1 : a->dims[ia], db = ib < 0 ? 1 : b->dims[ib];
    SN_FAIL_IF(env, da != db && da != 1 && db != 1, SN_ERR_SHAPE, what,
               "shapes do not broadcast: a %*p, b %*p", a->rank, a->dims, b->rank, b->dims);
    out->dims[i] = da == 1 ? db : da;
  }
  return SN_OK;
}

double sn_attr_double(int64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

int64_t sn_double_attr(double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
