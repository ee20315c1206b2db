/* excess.c - excess precision: in the epilogue of a product, while its tile is in registers, casts to a float of 16 bits and
 * back are left out.
 *
 *   y = x w        : float32
 *   h = astype y   : float16    left out: only the next line reads it
 *   z = astype h   : float32    is y
 *
 * A value is rounded as the graph says if it lies in memory (other kernels read it, or it is an output), or if it has other
 * readers than casts back. So all readers of a value see the same one. The result is no less precise, but which values are
 * rounded depends on what is fused: deterministic programs round all of them. Kernels that are no products round, too: they
 * are bound by memory, so casts cost them no time, and the check that gradients are finite has to see the values that the
 * optimizer takes. */
#include "fuse/lowering.h"

static bool is_behind_product(const sn_lowering *l, sn_id id) {
  const uint32_t set = l->p->set[id];
  if (set == SN_NONE || l->p->anchor[set] == SN_NONE) return false;
  return sn_op_describe(l->g->nodes[l->p->anchor[set]].op)->kind == SN_CLASS_MATMUL;
}

/* Whether the node is a cast from float32 to 16 bits, behind a product, that is not stored. */
static bool may_stay_wide(const sn_lowering *l, sn_id id) {
  const sn_graph *g = l->g;
  const bool half = sn_dtype_table[g->nodes[id].type.dtype].kind == SN_KIND_HALF;
  return l->live[id] && half && g->nodes[id].op == SN_OP_astype && l->value_of[id] == SN_NONE &&
         g->nodes[*sn_graph_inputs(g, id)].type.dtype == SN_F32 && is_behind_product(l, id);
}

static bool is_cast_back(const sn_graph *g, sn_id id) {
  return g->nodes[id].op == SN_OP_astype && g->nodes[id].type.dtype == SN_F32;
}

sn_status sn_lower_excess(sn_lowering *l) {
  const sn_graph *g = l->g;
  SN_TRY(sn_arena_alloc(l->scratch, g->n_nodes, sizeof *l->excess, (void **)&l->excess));
  for (sn_id id = 0; id < g->n_nodes; id++) {
    l->excess[id] = may_stay_wide(l, id);
    if (!l->live[id] || is_cast_back(g, id)) continue;
    const sn_id *x = sn_graph_inputs(g, id);
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) l->excess[x[k]] = false;
  }
  return SN_OK;
}

bool sn_lower_keeps_value(const sn_lowering *l, sn_id id) {
  if (!l->excess) return false;
  return l->excess[id] || (is_cast_back(l->g, id) && l->excess[*sn_graph_inputs(l->g, id)]);
}
