/* decompose.c - the stage "expand". Some ops stay whole until derivatives have been taken, as these
 * are simpler of the whole. Then convolutions become views and products (build/build_conv.h), and
 * softmax what it is made of. It is no pass that can be switched off: nothing behind it knows these
 * ops. */
#include "build/build_conv.h"
#include "build/rewrite.h"
#include "passes/passes.h"

/* e^z over its sum, z = x - max x: no e^z is infinite. Of nothing nothing, which has no maximum. */
static sn_id expand_softmax(sn_build *b, sn_id x, int64_t axis, const sn_type *type) {
  if (!type->dims[axis]) return x;
  const uint64_t axes = (uint64_t)1 << axis;
  const sn_id top = sn_build_reduce(b, SN_OP_max, x, axes);
  const sn_id z = sn_build_binary(b, SN_OP_sub, x, sn_build_spread(b, top, type, axes));
  const sn_id e = sn_build_unary(b, SN_OP_exp, z), sum = sn_build_reduce(b, SN_OP_sum, e, axes);
  return sn_build_binary(b, SN_OP_div, e, sn_build_spread(b, sum, type, axes));
}

static bool is_whole(const sn_node *node) {
  return node->op == SN_OP_conv || node->op == SN_OP_softmax;
}

static sn_id expand_node(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const sn_node *node = sn_graph_node(r->from, id);
  if (!is_whole(node)) return SN_NONE;
  if (node->op == SN_OP_softmax)
    return expand_softmax(&r->to, *inputs, *sn_graph_attrs(r->from, id), &node->type);
  const int64_t *few = r->user;
  return sn_build_conv(&r->to, inputs[0], inputs[1], sn_graph_attrs(r->from, id), &node->type,
                       *few);
}

bool sn_needs_expanding(const sn_graph *graph) {
  for (size_t i = 0; i < graph->n_nodes; i++)
    if (is_whole(&graph->nodes[i])) return true;
  for (size_t i = 0; i < graph->n_regions; i++)
    if (sn_needs_expanding(graph->regions[i])) return true;
  return false;
}

sn_status sn_expand(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  int64_t few = context->target->costs.added_terms;
  return sn_rewrite_graph(from, to, to->arena, context->share, NULL, expand_node, &few);
}
