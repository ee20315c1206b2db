#include "fuse/nest_text.h"

#include "base/format.h"

enum { TERM = 192, MODULO = 40, FIELD = (1 << SN_MARK_BITS) - 1 };

void sn_nest_add_terms(sn_text *text, bool *any, const sn_nest *axis, const int64_t *strides,
                       const char *index) {
  char term[TERM], modulo[MODULO] = "";
  int64_t inner = 1;
  if (axis->rank == 1) {
    sn_text_add_term(text, any, strides[0], index);
    return;
  }
  for (int i = axis->rank - 1; i >= 0; inner *= axis->dims[i--]) {
    if (i) sn_format(modulo, sizeof modulo, " %% %lld", (long long)axis->dims[i]);
    if (inner == 1)
      sn_format(term, sizeof term, "(%s%s)", index, modulo);
    else
      sn_format(term, sizeof term, "(%s / %lld%s)", index, (long long)inner, i ? modulo : "");
    sn_text_add_term(text, any, strides[i], term);
  }
}

void sn_nest_field(const sn_nest *axis, int field, int64_t *strides) {
  for (int i = 0; i < axis->rank; i++) strides[i] = axis->marks[i] >> field * SN_MARK_BITS & FIELD;
}

void sn_bounds_field(const sn_bounds *bounds, int field, int64_t *low, int64_t *high) {
  *low = -((bounds->low >> field * SN_MARK_BITS & FIELD) - SN_MARK_GUARD);
  *high = (bounds->high >> field * SN_MARK_BITS & FIELD) - SN_MARK_GUARD;
}
