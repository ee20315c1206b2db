/* rows.h - the elementwise rows of ops.def over arrays, word by word from their data (functions.h):
 * for WebAssembly, where each row as code would be downloaded, and the emitter makes faster code
 * than any. */
#ifndef SN_GRAPH_ROWS_H
#define SN_GRAPH_ROWS_H

#include "graph/ops.h"

/* dst[i] = a[i] op b[i], i < n; dst may be an input. Bools and the results of comparisons are int32
 * masks, 0 or -1, as in strips. b: of ops that have it, readable in any case. fused: of float32,
 * see expand_f32.inc. */
void sn_rows_apply(sn_op op, sn_dtype dtype, bool fused, void *dst, const void *a, const void *b,
                   int64_t n);

#endif
