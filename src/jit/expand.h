/* expand.h - bodies of groups as vector nodes. The rows of ops.def and the functions of
 * math/expand_f32.inc and expand_f64.inc are compiled here with words that mean "append a node":
 * what calls of them leave behind is the function, node by node. No op is named here but where,
 * astype and bitcast, which have no row with an expression. */
#ifndef SN_JIT_EXPAND_H
#define SN_JIT_EXPAND_H

#include "fuse/group.h"
#include "jit/vector.h"

/* Four elements: one node; of float64 two, with elements 0, 1 and 2, 3. Bools are masks of 32-bit
 * lanes. */
typedef struct sn_vec_value {
  sn_vec half[2];
} sn_vec_value;

static inline int sn_vec_halves(sn_dtype dtype) { return dtype == SN_F64 ? 2 : 1; }

/* Whether there are lane operations for an instruction of kind SN_INSN_OP. */
bool sn_expand_knows(const sn_insn *insn);

/* args: values of insn's arguments. */
sn_vec_value sn_expand_op(sn_vecs *l, const sn_insn *insn, const sn_vec_value *args,
                          const sn_dtype *dtypes);

/* float32 cast to float16 or bfloat16 and back. */
sn_vec sn_expand_rounded(sn_vecs *l, sn_dtype dtype, sn_vec a);

/* One reduction step: a op b, lane by lane of one register. */
sn_vec sn_expand_combine(sn_vecs *l, sn_op op, sn_dtype dtype, sn_vec a, sn_vec b);

/* value in all lanes, as strips hold it. */
sn_vec sn_expand_const(sn_vecs *l, sn_dtype dtype, double value);

#endif
