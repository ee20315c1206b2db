/* decompose.c - the stage "expand". Convolution and softmax stay whole until derivatives have been
 * taken, because the derivatives of the whole ops are simpler. Here convolutions become views and
 * products (build/build_conv.h), and softmax becomes its formula. This is no pass that can be
 * switched off: no later stage knows these ops. */
#include "build/build_conv.h"
#include "build/conv_phases.h"
#include "build/conv_winograd.h"
#include "build/rewrite.h"
#include "passes/passes.h"

/* e^z / sum e^z with z = x - max x, so no e^z overflows. An empty axis has no maximum: x is returned
 * as it is, since it has no elements. */
static sn_id expand_softmax(sn_build *b, sn_id x, int64_t axis, const sn_type *type) {
  if (!type->dims[axis]) return x;
  const uint64_t axes = (uint64_t)1 << axis;
  const sn_id top = sn_build_reduce(b, SN_OP_max, x, axes);
  const sn_id z = sn_build_binary(b, SN_OP_sub, x, sn_build_broadcast_back(b, top, type, axes));
  const sn_id e = sn_build_unary(b, SN_OP_exp, z), sum = sn_build_reduce(b, SN_OP_sum, e, axes);
  return sn_build_binary(b, SN_OP_div, e, sn_build_broadcast_back(b, sum, type, axes));
}

/* Whether this stage expands the op. */
static bool is_whole(const sn_node *node) {
  return node->op == SN_OP_conv || node->op == SN_OP_softmax;
}

/* Whether the products with inserted zeros that phases avoid outweigh the cost of more kernels. */
static bool suits_phases(const sn_target_costs *costs, int64_t phases, const sn_type *w,
                         const sn_type *y) {
  const double filters = (double)y->dims[y->rank - 1];
  const double terms = (double)sn_type_size(w) * (double)sn_type_size(y) / filters;
  return phases > 0 && phases <= costs->copies &&
         terms >= (double)(phases - 1) * costs->product_terms;
}

/* Whether the multiply-adds that Winograd saves outweigh its additional products and its additional
 * traffic to memory and back. */
static bool suits_winograd(const sn_target_costs *costs, const int64_t *attrs, const sn_type *w,
                           const sn_type *y) {
  sn_conv_winograd_work work;
  if (!sn_conv_is_winograd(attrs, w, y, &work)) return false;
  const double bytes = 2 * (double)sn_dtype_bytes(y->dtype) * work.moved;
  return work.spared >= work.products * costs->product_terms &&
         2 * work.spared >= costs->byte_flops * bytes;
}

static sn_id expand_conv(sn_build *b, const sn_pass_context *context, const sn_id *inputs,
                         const int64_t *attrs, const sn_type *y) {
  if (b->status) return SN_NONE;
  const sn_target_costs *costs = &context->target->costs;
  const sn_type w = *sn_build_type(b, inputs[1]);
  if (context->winograd && suits_winograd(costs, attrs, &w, y))
    return sn_build_conv_winograd(b, inputs[0], inputs[1], attrs, y);
  const int64_t phases = sn_conv_phases(attrs, w.dims, y);
  return (suits_phases(costs, phases, &w, y) ? sn_build_conv_phases : sn_build_conv)(
      b, inputs[0], inputs[1], attrs, y, costs->added_terms);
}

static sn_id expand_node(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const sn_node *node = sn_graph_node(r->from, id);
  if (!is_whole(node)) return SN_NONE;
  if (node->op == SN_OP_softmax)
    return expand_softmax(&r->to, *inputs, *sn_graph_attrs(r->from, id), &node->type);
  return expand_conv(&r->to, r->user, inputs, sn_graph_attrs(r->from, id), &node->type);
}

bool sn_needs_expanding(const sn_graph *graph) {
  for (size_t i = 0; i < graph->n_nodes; i++)
    if (is_whole(&graph->nodes[i])) return true;
  for (size_t i = 0; i < graph->n_regions; i++)
    if (sn_needs_expanding(graph->regions[i])) return true;
  return false;
}

sn_status sn_expand(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  sn_pass_context copy = *context; /* the walk's `user` pointer is not const */
  return sn_rewrite_graph(from, to, to->arena, context->share, NULL, expand_node, &copy);
}
