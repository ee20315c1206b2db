/* tune.h - a program that finds out by its first calls which tuning suits it: each call runs one of two compiled forms of
 * the same graph, by turns, and the slower one goes.
 *
 *   COMPILING   the next knob's next factor is compiled, a slice after each call; calls run the best form so far
 *   WARMING     calls run the trial, until its code is there and quick
 *   MEASURING   calls run the trial and the best form by turns
 *   CHECKING    at the end the same, with the best form and the plain one
 *
 * Forms have the same bits, so calls never wait for it and never fail because of it: a form that cannot be compiled is
 * none. What a program has found is kept in the context (tuned.h) and as text (sn_tuned). */
#ifndef SN_TENSOR_TUNE_H
#define SN_TENSOR_TUNE_H

#include "base/text.h"
#include "tensor/tensor.h"

typedef struct sn_tuner sn_tuner;

/* For a compiled graph, which it retains; options: those that it was compiled with. NULL in *out where there is nothing
 * to choose: on a device beside the CPU. */
sn_status sn_tuner_new(sn_context *ctx, sn_compiled *plain, const sn_compile_options *options,
                       sn_tuner **out);
void sn_tuner_free(sn_tuner *tuner); /* NULL is ignored */

/* The form that the next call runs; its run is to be clocked. */
sn_compiled *sn_tuner_pick(sn_tuner *tuner);

/* Behind every call: goes on, for some milliseconds at most but for one stage of a compile. True: it is done. */
bool sn_tuner_advance(sn_tuner *tuner);

/* When it is done: the best form, with a reference for the caller. The tuner lets go of all forms and keeps its report. */
sn_compiled *sn_tuner_end(sn_tuner *tuner);

/* What was tried, as JSON: see sn_program_tuning. */
void sn_tuner_json(const sn_tuner *tuner, sn_text *text);

#endif
