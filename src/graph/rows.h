/* rows.h - the elementwise rows of ops.def over arrays, word by word from their data (functions.h):
 * for WebAssembly, where each row as code would be downloaded, and the emitter makes faster code
 * than any. */
#ifndef SN_GRAPH_ROWS_H
#define SN_GRAPH_ROWS_H

#include "graph/ops.h"

/* dst[i] = a[i] op b[i], i < n; dst may be an input. Bools and the results of comparisons are int32
 * masks, 0 or -1, as in strips. b: of ops that have it, readable in any case. fused: of float32,
 * see expand_f32.inc. astype: of values of the wide dtype, to the small one that dtype is. */
void sn_rows_apply(sn_op op, sn_dtype dtype, bool fused, void *dst, const void *a, const void *b,
                   int64_t n);

/* Functions of expand_small.inc that packing asks for: b and c are not read; n as above. */
typedef void sn_rows_cast(void *dst, const void *a, const void *b, const void *c, int64_t n);
sn_rows_cast sn_rows_widen_f16, sn_rows_widen_bf16, sn_rows_narrow_i8;

#endif
