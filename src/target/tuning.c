#include "target/tuning.h"

#define KNOB(name, shown, stored, field, what, ...)                           \
  static void scale_##name(sn_tunable *t, double factor) {                   \
    t->field = (__typeof__(t->field))((double)t->field * factor);            \
  }
#include "target/knobs.def"

#define COUNT(...) (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double))
#define KNOB(name, shown, stored, field, what, ...) \
  {#name, what, shown, stored, COUNT(__VA_ARGS__), {__VA_ARGS__}, scale_##name},
const sn_knob sn_knobs[SN_KNOBS] = {
#include "target/knobs.def"
};

void sn_tuning_apply(const sn_tuning *tuning, bool excess, sn_tunable *t) {
  for (int k = 0; k < SN_KNOBS; k++)
    if (tuning->factor[k] && !(excess && sn_knobs[k].stored))
      sn_knobs[k].scale(t, sn_knobs[k].factors[tuning->factor[k] - 1]);
}

bool sn_tuning_is_plain(const sn_tuning *tuning) {
  return sn_tuning_equal(tuning, &(sn_tuning){{0}});
}

bool sn_tuning_equal(const sn_tuning *a, const sn_tuning *b) {
  for (int k = 0; k < SN_KNOBS; k++)
    if (a->factor[k] != b->factor[k]) return false;
  return true;
}
