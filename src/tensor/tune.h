/* tune.h - tunes a program during its first calls: calls run two compiled forms of the same graph by turns, and the slower
 * one is dropped.
 *
 *   COMPILING   the form with the next factor of a knob is compiled, a slice after each call; calls run the best form so far
 *   WARMING     calls run the trial a few times, then the best form until the trial's code has been made
 *   MEASURING   calls run the trial and the best form by turns
 *   CHECKING    at the end calls run the best form and the plain one by turns
 *
 * All forms give the same bits. Calls never wait for tuning and never fail because of it: a form that cannot be compiled
 * is skipped. The result is kept in the context (tuned.h), also as text (sn_tuned). */
#ifndef SN_TENSOR_TUNE_H
#define SN_TENSOR_TUNE_H

#include "base/text.h"
#include "tensor/tensor.h"

typedef struct sn_tuner sn_tuner;

/* *out is a tuner for a compiled graph, which it retains, or NULL if there is nothing to choose, since the device is not the
 * CPU. options: those with which plain was compiled. */
sn_status sn_tuner_new(sn_context *ctx, sn_compiled *plain, const sn_compile_options *options,
                       sn_tuner **out);
void sn_tuner_free(sn_tuner *tuner); /* NULL is ignored */

/* The form that the next call runs. The caller clocks that run. */
sn_compiled *sn_tuner_pick(sn_tuner *tuner);

/* After every call: goes on for some milliseconds, or for one stage of a compile. Returns true when tuning is done. */
bool sn_tuner_advance(sn_tuner *tuner);

/* When it is done: returns the best form, with a reference for the caller. The tuner releases all forms and keeps its
 * report. */
sn_compiled *sn_tuner_end(sn_tuner *tuner);

/* Adds what was tried as JSON: see sn_program_tuning. */
void sn_tuner_json(const sn_tuner *tuner, sn_text *text);

#endif
