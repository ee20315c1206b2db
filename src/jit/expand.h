/* expand.h - instructions of group bodies as vector nodes. The rows of ops.def and the functions of
 * math/expand_f32.inc and expand_f64.inc are compiled here with words that mean "append a node", so
 * calling such a function appends its nodes. The only ops named here are where, astype and bitcast,
 * whose rows have no expression. */
#ifndef SN_JIT_EXPAND_H
#define SN_JIT_EXPAND_H

#include "fuse/group.h"
#include "jit/vector.h"

/* Four elements: one node, or for float64 two nodes with elements 0, 1 and 2, 3. Bools are masks of
 * 32-bit lanes. */
typedef struct sn_vec_value {
  sn_vec half[2];
} sn_vec_value;

static inline int sn_vec_halves(sn_dtype dtype) { return dtype == SN_F64 ? 2 : 1; }

/* Whether there are lane operations for an instruction of kind SN_INSN_OP. */
bool sn_expand_knows(const sn_insn *insn);

/* Appends the nodes of insn. args, dtypes: values and dtypes of its arguments. */
sn_vec_value sn_expand_op(sn_vecs *l, const sn_insn *insn, const sn_vec_value *args,
                          const sn_dtype *dtypes);

/* a, a float32, cast to float16 or bfloat16 and back. */
sn_vec sn_expand_rounded(sn_vecs *l, sn_dtype dtype, sn_vec a);

/* a op b in each lane of one register, for an elementwise op (unary ones ignore b) or a reduction's step. */
sn_vec sn_expand_combine(sn_vecs *l, sn_op op, sn_dtype dtype, sn_vec a, sn_vec b);

/* The value in all lanes, as strips hold it: true is a lane of ones. */
sn_vec sn_expand_const(sn_vecs *l, sn_dtype dtype, double value);

#endif
