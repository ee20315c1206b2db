/* collectives.c - the public ops between processes. A program is written, and differentiated, for one process: there a
 * shard is the whole tensor, and gathering or reducing over all processes changes nothing. When a step is loaded for
 * several processes, what lies between a shard and the op that joins the blocks is divided (passes/parallel.h). */
#include "tensor/compose.h"

static sn_tensor *collective(sn_op op, sn_tensor *x, int axis, size_t n_attrs) {
  if (!x) return NULL;
  const sn_status status = sn_resolve_axis(x, sn_op_describe(op)->name, &axis);
  if (status) return sn_refuse(x->ctx, status);
  return sn_hand_out(sn_node_of(x->ctx, op, &x, 1, (int64_t[]){axis, 1, 1}, n_attrs, NULL));
}

sn_tensor *sn_shard(sn_tensor *x, int axis) { return collective(SN_OP_shard, x, axis, 1); }

sn_tensor *sn_all_gather(sn_tensor *x, int axis) {
  return collective(SN_OP_all_gather, x, axis, 2);
}

sn_tensor *sn_all_reduce(sn_tensor *x, int axis) {
  if (!x) return NULL;
  temporaries t = sn_begin(x, sn_op_describe(SN_OP_all_reduce)->name);
  const sn_dtype is = x->type.dtype, wide = is == SN_BOOL ? SN_I32 : sn_dtype_wide(is);
  sn_tensor *sum = collective(SN_OP_all_reduce, sn_note(sn_as_dtype(x, wide)), axis, 3);
  return sn_finish(&t, sn_note(sn_as_dtype(sum, sn_dtype_is_float(is) ? is : wide)));
}
