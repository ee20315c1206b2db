/* csource.h - prints a compiled graph as readable standalone C11.
 *
 * There is one function per kernel, written as plain loops from its group, one per region of
 * control flow, and one that calls them in order; every intermediate value is a static array. The
 * functions of C's library replace Sinter's, and sums are added in plain order, in double for
 * float32. So results agree up to rounding, not bit for bit. */
#ifndef SN_CSOURCE_CSOURCE_H
#define SN_CSOURCE_CSOURCE_H

#include "program/steps.h"

/* *out is the text, in arena. name: of the function to call. Its arguments from n_inputs on are the
 * captured tensors, which a comment in the text says. Fails with SN_ERR_UNSUPPORTED if an op or dtype
 * has no C. */
sn_status sn_c_source(const sn_program_code *program, size_t n_inputs, const char *name,
                      sn_arena *arena, const char **out);

#endif
