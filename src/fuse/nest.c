#include "fuse/nest.h"

bool sn_nest_add_marked(sn_nest *nest, int64_t dim, int64_t stride, int64_t mark) {
  const int last = nest->rank - 1;
  if (last >= 0 && dim == 1) return true;
  if (last == 0 && nest->dims[0] == 1) {
    *nest = sn_nest_line(dim, stride);
    nest->marks[0] = mark;
    return true;
  }
  if (last >= 0 && nest->strides[last] == stride * dim && nest->marks[last] == mark * dim) {
    nest->dims[last] *= dim;
    nest->strides[last] = stride;
    nest->marks[last] = mark;
    return true;
  }
  if (nest->rank == SN_MAX_RANK) return false;
  nest->dims[nest->rank] = dim;
  nest->marks[nest->rank] = mark;
  nest->strides[nest->rank++] = stride;
  return true;
}

int64_t sn_nest_size(const sn_nest *nest) {
  int64_t size = 1;
  for (int i = 0; i < nest->rank; i++) size *= nest->dims[i];
  return size;
}

/* Moves the innermost `size` positions of the nest to *axis; the nest keeps the others. */
static bool take_axis(sn_nest *nest, int64_t size, sn_nest *axis) {
  sn_nest reversed = {.rank = 0}; /* innermost dim first */
  while (size > 1) {
    const int last = nest->rank - 1;
    const int64_t dim = nest->dims[last], stride = nest->strides[last];
    const int64_t mark = nest->marks[last];
    const int64_t part = dim < size ? dim : size;
    if (size % part || dim % part) return false;
    reversed.dims[reversed.rank] = part;
    reversed.marks[reversed.rank] = mark;
    reversed.strides[reversed.rank++] = stride;
    size /= part;
    nest->dims[last] = dim / part;
    nest->strides[last] = stride * part;
    nest->marks[last] = mark * part;
    if (part == dim) nest->rank--;
  }
  *axis = reversed.rank ? (sn_nest){.rank = 0} : sn_nest_line(1, 0);
  for (int i = reversed.rank - 1; i >= 0; i--)
    sn_nest_add_marked(axis, reversed.dims[i], reversed.strides[i], reversed.marks[i]);
  return true;
}

bool sn_nest_split(const sn_nest *nest, const int64_t *sizes, int n, sn_nest *axes) {
  sn_nest left = *nest;
  int dims = 0;
  for (int i = n - 1; i >= 0; i--) {
    if (!take_axis(&left, sizes[i], &axes[i])) return false;
    dims += sizes[i] > 1 ? axes[i].rank : 0;
  }
  return dims <= SN_MAX_RANK;
}

int64_t sn_nest_join_rows(sn_nest *a, sn_nest *b, sn_nest *across) {
  const int64_t same = b->dims[b->rank - 1], others = sn_nest_size(b) / (same ? same : 1);
  sn_nest parts[2], joined;
  if (sn_nest_stride(b) || same <= 1 || !sn_nest_size(b)) return 1;
  if (!sn_nest_split(a, (int64_t[]){others, same}, 2, parts)) return 1;
  joined = parts[1];
  for (int i = 0; i < across->rank; i++)
    if (!sn_nest_add_marked(&joined, across->dims[i], across->strides[i], across->marks[i]))
      return 1;
  *across = joined;
  *a = parts[0];
  if (b->rank == 1)
    *b = sn_nest_line(1, 0);
  else
    b->rank--;
  return same;
}
