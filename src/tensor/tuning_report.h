/* tuning_report.h - what tuning has tried for a program: each factor of each knob against the best form at that time, with
 * the times of both. A tuner fills it in (tune.h), and the context keeps it with the tuning (tuned.h). */
#ifndef SN_TENSOR_TUNING_REPORT_H
#define SN_TENSOR_TUNING_REPORT_H

#include "base/text.h"
#include "target/tuning.h"

typedef enum sn_trial_outcome {
  SN_TRIAL_NONE, /* not tried yet */
  SN_TRIAL_SAME, /* its kernels are those of the best form */
  SN_TRIAL_LOST,
  SN_TRIAL_TAKEN,
  SN_TRIAL_REFUSED /* it could not be compiled */
} sn_trial_outcome;

/* The trial of one factor of one knob. */
typedef struct sn_trial {
  uint8_t outcome;
  bool measured;     /* to the end */
  float ms, best_ms; /* means of the quicker half of the runs, in ms; 0 where the clock is too coarse */
} sn_trial;

typedef struct sn_tuning_report {
  bool checked;       /* whether there was a last check */
  float ms, plain_ms; /* its times, tuned and plain, in ms */
  sn_trial trials[SN_KNOBS][SN_MOST_FACTORS];
} sn_tuning_report;

/* Adds the report as JSON: see sn_program_tuning. tuning: what is chosen now. */
void sn_tuning_report_json(const sn_tuning_report *report, const sn_tuning *tuning, bool done,
                           sn_text *text);

#endif
