#include "graph/dtypes.h"

/* Row n of the table must be the dtype with number n in sinter.h. */
#define DTYPE(id, ...) \
  _Static_assert((int)SN_DTYPE_NUMBER_##id == (int)SN_##id, "order of sn_dtype");
#include "graph/dtypes.def"

#define IS_SIGNED(T) ((T)-1 < (T)1)
#define MOST(T) ((1 << (8 * (sizeof(T) <= 2 ? (int)sizeof(T) : 2) - IS_SIGNED(T))) - 1)

const sn_dtype_info sn_dtype_table[SN_DTYPES] = {
#define DTYPE(id, name_, short_, T, kind_, wide_, order_, array_) \
  [SN_##id] = {.name = #name_,                                    \
               .c_type = #T,                                      \
               .bytes = sizeof(T),                                \
               .order = order_,                                   \
               .least = IS_SIGNED(T) ? -MOST(T) - 1 : 0,          \
               .most = MOST(T),                                   \
               .kind = SN_KIND_##kind_,                           \
               .wide = SN_##wide_},
#include "graph/dtypes.def"
};

size_t sn_dtype_bytes(sn_dtype dtype) {
  return sn_dtype_is_known(dtype) ? sn_dtype_table[dtype].bytes : 0;
}
