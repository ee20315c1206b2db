/* csource.h - a compiled graph as readable standalone C11: a backend that prints.
 *
 * There is one function per kernel, written as plain loops from its group, one per region of
 * control flow, and one that calls them in order; every intermediate is a static array. The C
 * library's mathematics stands for the functions of the table, and sums run in plain order, in
 * double for float32. So results agree up to rounding, not bit for bit. */
#ifndef SN_CSOURCE_CSOURCE_H
#define SN_CSOURCE_CSOURCE_H

#include "program/steps.h"

/* name: of the function to call. Its arguments from number n_inputs on were captured, which a
 * comment says. The text lies in arena. SN_ERR_UNSUPPORTED: an op has no C. */
sn_status sn_c_source(const sn_program_code *program, size_t n_inputs, const char *name,
                      sn_arena *arena, const char **out);

#endif
