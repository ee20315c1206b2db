#include "graph/attributes.h"

uint32_t sn_attr_length(sn_attr_kind kind, int rank) {
  switch (kind) {
  case SN_ATTR_END: return 0;
  case SN_ATTR_PERMUTATION:
  case SN_ATTR_PER_AXIS:
  case SN_ATTR_STEP_PER_AXIS: return (uint32_t)rank;
  case SN_ATTR_PER_SPATIAL: return rank > 2 ? (uint32_t)rank - 2 : 0;
  default: return 1;
  }
}

uint32_t sn_op_attrs_length(sn_op op, int rank) {
  uint32_t n = 0;
  const sn_attr *attr = sn_op_describe(op)->attrs;
  for (; attr && attr->kind; attr++) n += sn_attr_length(attr->kind, rank);
  return n;
}

static sn_status check_permutation(sn_env *env, const char *name, const int64_t *perm, int rank) {
  uint32_t seen = 0;
  for (int i = 0; i < rank; i++) {
    const bool fits = perm[i] >= 0 && perm[i] < rank && !(seen >> perm[i] & 1);
    SN_FAIL_IF(env, !fits, SN_ERR_SHAPE, name, "not a permutation of %d axes", rank);
    seen |= 1u << perm[i];
  }
  return SN_OK;
}

static sn_status check_attr(sn_env *env, const char *name, const sn_attr *attr,
                            const int64_t *values, const sn_type *of) {
  const int64_t value = *values;
  switch (attr->kind) {
  case SN_ATTR_AXIS:
    SN_FAIL_IF(env, value < 0 || value >= of->rank, SN_ERR_SHAPE, name,
               "%s %lld is out of range: a %*p", attr->name, (long long)value, of->rank, of->dims);
    return SN_OK;
  case SN_ATTR_AXES:
    SN_FAIL_IF(env, (uint64_t)value >> of->rank, SN_ERR_SHAPE, name,
               "axis out of range for rank %d", (int)of->rank);
    return SN_OK;
  case SN_ATTR_PERMUTATION: return check_permutation(env, name, values, of->rank);
  case SN_ATTR_COUNT:
    SN_FAIL_IF(env, value < 1, SN_ERR_ARGUMENT, name, "%s %lld is not at least 1", attr->name,
               (long long)value);
    return SN_OK;
  case SN_ATTR_NUMBER:
    SN_FAIL_IF(env, value < 0, SN_ERR_ARGUMENT, name, "%s %lld is negative", attr->name,
               (long long)value);
    return SN_OK;
  case SN_ATTR_FLAG: SN_CHECK(env, value == 0 || value == 1); return SN_OK;
  default: return SN_OK;
  }
}

sn_status sn_attrs_check(sn_env *env, sn_op op, const int64_t *attrs, size_t n_attrs,
                         const sn_type *of) {
  const sn_op_info *info = sn_op_describe(op);
  SN_CHECK(env, n_attrs == sn_op_attrs_length(op, of->rank));
  for (const sn_attr *attr = info->attrs; attr && attr->kind; attr++) {
    const uint32_t length = sn_attr_length(attr->kind, of->rank);
    if (length) SN_TRY(check_attr(env, info->name, attr, attrs, of));
    attrs += length;
  }
  return SN_OK;
}

size_t sn_attrs_behind_axis(sn_op op, const int64_t *attrs, int rank, int64_t *out) {
  const int64_t *first = out;
  for (const sn_attr *attr = sn_op_describe(op)->attrs; attr && attr->kind; attr++) {
    const uint32_t length = sn_attr_length(attr->kind, rank);
    const int64_t behind = attr->kind == SN_ATTR_AXIS || attr->kind == SN_ATTR_PERMUTATION;
    if (length < sn_attr_length(attr->kind, rank + 1)) *out++ = attr->kind == SN_ATTR_STEP_PER_AXIS;
    for (uint32_t i = 0; i < length; i++)
      *out++ = attr->kind == SN_ATTR_AXES ? attrs[i] << 1 : attrs[i] + behind;
    attrs += length;
  }
  return (size_t)(out - first);
}
