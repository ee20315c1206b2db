/* fold.c - constant folding: an elementwise op whose inputs are each one value everywhere becomes
 * that one value, computed by the reference kernel, so folding cannot change a bit of the result.
 */
#include "graph/reference.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

static sn_id fold(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const sn_node *node = sn_graph_node(r->from, id);
  if (!sn_op_is_elementwise(node->op) || node->n_inputs == 0 || node->op == SN_OP_bitcast)
    return SN_NONE;
  double values[SN_MAX_ARITY];
  sn_dtype last = node->type.dtype;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (!sn_graph_uniform(r->to.graph, inputs[i], &values[i])) return SN_NONE;
    last = sn_build_type(&r->to, inputs[i])->dtype;
  }
  const double result = sn_ref_scalar(node->op, last, values, node->type.dtype);
  return sn_build_full(&r->to, &node->type, result);
}

sn_status sn_pass_fold(const sn_graph *from, sn_graph *to, bool share) {
  return sn_rewrite_graph(from, to, from->arena, share, NULL, fold, NULL);
}
