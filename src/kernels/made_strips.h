/* made_strips.h - strips of the functions of math/ in WebAssembly: emitted when they are first asked for, from the texts
 * that kernels' code is emitted from, so that a page does not download the functions as vectors once more.
 *
 * They are made on the thread of the API, before anything that calls them is run; a thread that runs one compiles it for
 * itself. */
#ifndef SN_KERNELS_MADE_STRIPS_H
#define SN_KERNELS_MADE_STRIPS_H

#include "graph/shape.h"

/* Whether a row's expression, as text, calls a function of math/: X_FN(name)(...). */
#define SN_IS_MADE(text) ((text)[0] == 'X' && (text)[2] == 'F' && (text)[3] == 'N')

/* Makes the strip of an op on a dtype, unless that is compiled or made already. */
sn_status sn_made_strip_prepare(sn_env *env, sn_op op, sn_dtype dtype, bool fused);

/* Runs it: as an sn_strip_fn. */
void sn_made_strip_run(sn_op op, sn_dtype dtype, void *dst, const void *a, const void *b, int64_t n,
                       bool fused);

#endif
