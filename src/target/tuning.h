/* tuning.h - choices that replace the target's when a program is compiled: for each row of knobs.def one of its factors, or
 * none. They decide speed alone: every tuning gives the same bits. */
#ifndef SN_TARGET_TUNING_H
#define SN_TARGET_TUNING_H

#include "target/target.h"

enum {
#define KNOB(name, shown, stored, field, what, ...) SN_KNOB_##name,
#include "target/knobs.def"
  SN_KNOBS
};

#define SN_MOST_FACTORS 3

/* Per knob: 0, or the number of one of its factors, counted from 1. All zero: the target's own numbers. */
typedef struct sn_tuning {
  uint8_t factor[SN_KNOBS];
} sn_tuning;

/* What a tuning changes. */
typedef struct sn_tunable {
  sn_target_costs costs;
  double fusion, code; /* 1, or 0: off */
} sn_tunable;

typedef struct sn_knob {
  const char *name, *what;
  bool shown, stored; /* see knobs.def */
  int n_factors;
  double factors[SN_MOST_FACTORS];
  void (*scale)(sn_tunable *t, double factor);
} sn_knob;

extern const sn_knob sn_knobs[SN_KNOBS];

/* excess: whether values are rounded under excess precision; knobs that decide which values lie in memory are then ignored. */
void sn_tuning_apply(const sn_tuning *tuning, bool excess, sn_tunable *t);
bool sn_tuning_is_plain(const sn_tuning *tuning);
bool sn_tuning_equal(const sn_tuning *a, const sn_tuning *b);

#endif
