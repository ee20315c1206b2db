#include "tensor/tuning_report.h"

static const char *const outcome_names[] = {[SN_TRIAL_NONE] = "untried",
                                            [SN_TRIAL_SAME] = "same",
                                            [SN_TRIAL_LOST] = "lost",
                                            [SN_TRIAL_TAKEN] = "taken",
                                            [SN_TRIAL_REFUSED] = "refused"};

static void add_trial(const sn_trial *trial, const sn_knob *knob, int f, bool chosen, bool *any,
                      sn_text *text) {
  if (trial->outcome == SN_TRIAL_NONE) return;
  sn_text_add(text, "%s{\"knob\":\"%s\",\"what\":\"%s\",\"factor\":%g,\"outcome\":\"%s\",\"chosen\":%s",
              *any ? "," : "", knob->name, knob->what, knob->factors[f],
              outcome_names[trial->outcome], chosen ? "true" : "false");
  if (trial->measured)
    sn_text_add(text, ",\"ms\":%.6g,\"bestMs\":%.6g", (double)trial->ms, (double)trial->best_ms);
  sn_text_add(text, "}");
  *any = true;
}

void sn_tuning_report_json(const sn_tuning_report *report, const sn_tuning *tuning, bool done,
                           sn_text *text) {
  bool any = false;
  sn_text_add(text, "{\"done\":%s", done ? "true" : "false");
  if (report->checked)
    sn_text_add(text, ",\"ms\":%.6g,\"plainMs\":%.6g", (double)report->ms, (double)report->plain_ms);
  sn_text_add(text, ",\"trials\":[");
  for (int k = 0; k < SN_KNOBS; k++)
    for (int f = 0; f < sn_knobs[k].n_factors; f++)
      add_trial(&report->trials[k][f], &sn_knobs[k], f, tuning->factor[k] == f + 1, &any, text);
  sn_text_add(text, "]}");
}
