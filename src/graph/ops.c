#include "graph/ops.h"

#include <math.h>

#define ATTR(name, kind) \
  { #name, kind }
#define ARGUMENT(name) ATTR(name, SN_ATTR_ARGUMENT)
#define VALUE(name) ATTR(name, SN_ATTR_VALUE)
#define AXIS(name) ATTR(name, SN_ATTR_AXIS)
#define AXES(name) ATTR(name, SN_ATTR_AXES)
#define PERMUTATION(name) ATTR(name, SN_ATTR_PERMUTATION)
#define PER_AXIS(name) ATTR(name, SN_ATTR_PER_AXIS)
#define STEP_PER_AXIS(name) ATTR(name, SN_ATTR_STEP_PER_AXIS)
#define PER_SPATIAL(name) ATTR(name, SN_ATTR_PER_SPATIAL)
#define COUNT(name) ATTR(name, SN_ATTR_COUNT)
#define FLAG(name) ATTR(name, SN_ATTR_FLAG)
#define NUMBER(name) ATTR(name, SN_ATTR_NUMBER)
#define REGION(name) ATTR(name, SN_ATTR_REGION)
#define ATTRS(...)                     \
  (const sn_attr[]) {                  \
    __VA_ARGS__, { NULL, SN_ATTR_END } \
  }

const sn_op_info sn_op_table[SN_OP_COUNT] = {
#define SN_OP(id, class_, arity_, types_, flags_, cost_, lo_, hi_, ulp_, doc_, ...) \
  [SN_OP_##id] = {.name = #id,                                                      \
                  .kind = SN_CLASS_##class_,                                        \
                  .arity = arity_,                                                  \
                  .types = SN_TYPES_##types_,                                       \
                  .commutative = #flags_[0] == 'C',                                 \
                  .cost = cost_,                                                    \
                  __VA_ARGS__},
#include "graph/ops.def"
};

const sn_op_bounds sn_op_bounds_table[SN_OP_COUNT] = {
#define SN_OP(id, class_, arity_, types_, flags_, cost_, lo_, hi_, ulp_, ...) \
  [SN_OP_##id] = {lo_, hi_, ulp_},
#include "graph/ops.def"
};

double sn_reduce_identity(sn_op op, sn_dtype dtype) {
#define X_C(c) (c)
#define X_IC(c) (c)
  switch ((int)op) {
#define REDUCE(id, f, c, d, idf, idi, xf, xi, ...) \
  case SN_OP_##id:                                 \
    return sn_dtype_is_float(dtype) ? (double)(idf) : (double)(idi);
#define REDUCE_I(id, f, c, d, idi, xi, ...) REDUCE(id, f, c, d, idi, idi, xi, xi)
#include "graph/ops.def"
  default: return NAN;
  }
#undef X_C
#undef X_IC
}
