#include "fuse/space.h"

#include <string.h>

static int skip_ones(const sn_type *t, int i) {
  while (i < t->rank && t->dims[i] == 1) i++;
  return i;
}

bool sn_space_refine(sn_type *space, const sn_type *type) {
  sn_type out = {.dtype = space->dtype};
  if (sn_same_dims(space, type)) return true;
  if (sn_type_size(space) != sn_type_size(type) || !sn_type_size(space)) return false;
  int i = skip_ones(space, 0), j = skip_ones(type, 0);
  /* the rest of the current dim of each, whose outer part has been cut off */
  int64_t left = 1, right = 1;
  while (left > 1 || right > 1 || i < space->rank || j < type->rank) {
    if (left == 1) {
      left = space->dims[i];
      i = skip_ones(space, i + 1);
    }
    if (right == 1) {
      right = type->dims[j];
      j = skip_ones(type, j + 1);
    }
    const int64_t part = left < right ? left : right;
    if (left % part || right % part || out.rank == SN_MAX_RANK) return false;
    out.dims[out.rank++] = part;
    left /= part;
    right /= part;
  }
  *space = out;
  return true;
}

bool sn_space_strides(const sn_type *space, const sn_type *type, const int64_t *strides,
                      int64_t out[SN_MAX_RANK]) {
  memcpy(out, strides, sizeof *out * SN_MAX_RANK);
  if (sn_same_dims(space, type)) return true;
  if (!sn_type_size(space)) return false;
  int j = type->rank;
  int64_t within = 1; /* product of the space's dims that lie in dim j so far */
  for (int i = space->rank - 1; i >= 0; i--) {
    out[i] = 0;
    if (space->dims[i] == 1) continue;
    while (j == type->rank || within == type->dims[j]) {
      if (j == 0) return false;
      j--;
      within = 1;
    }
    out[i] = strides[j] * within;
    within *= space->dims[i];
    if (type->dims[j] % within) return false;
  }
  return true;
}
