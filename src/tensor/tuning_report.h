/* tuning_report.h - what tuning has tried for a program: each factor of each knob against the best form of then, with the
 * times of both. A tuner fills it in (tune.h), and the context keeps it with what was found (tuned.h). */
#ifndef SN_TENSOR_TUNING_REPORT_H
#define SN_TENSOR_TUNING_REPORT_H

#include "base/text.h"
#include "target/tuning.h"

typedef enum sn_trial_outcome {
  SN_TRIAL_NONE, /* not tried so far */
  SN_TRIAL_SAME, /* its kernels are those of the best form */
  SN_TRIAL_LOST,
  SN_TRIAL_TAKEN,
  SN_TRIAL_REFUSED /* it could not be compiled */
} sn_trial_outcome;

/* Of one factor of one knob. */
typedef struct sn_trial {
  uint8_t outcome;
  float ms, best_ms; /* means of the quicker half of some runs; 0: it was not run to the end */
} sn_trial;

typedef struct sn_tuning_report {
  float ms, plain_ms; /* of the last check, as tuned and as it was; 0: there was none */
  sn_trial trials[SN_KNOBS][SN_MOST_FACTORS];
} sn_tuning_report;

/* As JSON: see sn_program_tuning. tuning: what is chosen now. */
void sn_tuning_report_json(const sn_tuning_report *report, const sn_tuning *tuning, bool done,
                           sn_text *text);

#endif
