/* recompute.c - cheap values that other kernels make again instead of reading them: a mask x > 0 of
 * a forward pass, say, whose x is in memory anyway.
 *
 *   kernel 1:  m = x > 0, y = where(m, x, 0)             instead of storing m for kernel 2
 *   kernel 2:  g' = where(m, g, 0)                       m = x > 0 again, from x
 *
 * A value is made again when that moves fewer bytes: it is not written, and each reader reads those
 * of its inputs that it does not read already. It must be cheap, its inputs must be in memory or
 * constant, and every reader must take it element by element. */
#include "fuse/lowering.h"

#define CHEAP 2 /* flops per element */

typedef struct again_state {
  const sn_lowering *l;
  const uint8_t *stored;
  double *saved; /* per candidate: bytes not moved less bytes moved instead; 0: none */
} again_state;

static bool in_memory(const again_state *s, sn_id x) {
  const sn_id base = s->l->views[x].base;
  const sn_op op = s->l->g->nodes[base].op;
  return s->stored[base] || op == SN_OP_input || op == SN_OP_constant || op == SN_OP_iota;
}

static bool is_candidate(const again_state *s, sn_id id) {
  const sn_node *node = sn_graph_node(s->l->g, id);
  if (s->stored[id] != 1 || !sn_op_is_elementwise(node->op) ||
      sn_op_describe(node->op)->cost > CHEAP)
    return false;
  bool all = true;
  for (uint32_t k = 0; k < node->n_inputs; k++)
    all = all && in_memory(s, sn_graph_inputs(s->l->g, id)[k]);
  return all;
}

static uint32_t kernel_of(const sn_lowering *l, sn_id id) {
  return l->p->set[l->p->owner[id] == SN_NONE ? id : l->p->owner[id]];
}

/* Whether the user takes x element by element, in a body. */
static bool takes_elements(const sn_lowering *l, sn_id user) {
  return sn_op_is_elementwise(l->g->nodes[user].op) ||
         sn_op_describe(l->g->nodes[user].op)->kind == SN_CLASS_REDUCE;
}

static bool kernel_reads(const sn_lowering *l, uint32_t set, sn_id x) {
  size_t n;
  const sn_id *nodes = sn_lower_members(l, set, &n);
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < l->g->nodes[nodes[i]].n_inputs; k++)
      if (sn_graph_inputs(l->g, nodes[i])[k] == x) return true;
  return false;
}

/* Bytes that kernel `set` would read beyond what it reads now, to make id again. */
static double more_bytes(const again_state *s, uint32_t set, sn_id id) {
  const sn_lowering *l = s->l;
  double bytes = 0;
  for (uint32_t k = 0; k < l->g->nodes[id].n_inputs; k++) {
    const sn_id x = sn_graph_inputs(l->g, id)[k];
    if (s->stored[l->views[x].base] || l->g->nodes[l->views[x].base].op == SN_OP_input)
      if (!kernel_reads(l, set, x)) bytes += (double)sn_type_bytes(&l->g->nodes[x].type);
  }
  return bytes;
}

/* Counts what user's reading of x means for x. A kernel that reads x twice counts twice: only the
 * first matters, but then too little is expected, never too much. */
static void count_reader(again_state *s, sn_id user, sn_id x) {
  const sn_lowering *l = s->l;
  const sn_id base = l->views[x].base;
  if (s->saved[base] == 0 || kernel_of(l, user) == kernel_of(l, base)) return;
  if (x != base || !takes_elements(l, user)) {
    s->saved[base] = 0;
    return;
  }
  const double more = more_bytes(s, kernel_of(l, user), base);
  s->saved[base] += (double)sn_type_bytes(&l->g->nodes[base].type) - more;
}

sn_status sn_lower_recompute(const sn_lowering *l, uint8_t *stored, uint8_t *again) {
  again_state s = {.l = l, .stored = stored};
  const sn_graph *g = l->g;
  SN_TRY(sn_arena_alloc(l->arena, g->n_nodes, sizeof *s.saved, (void **)&s.saved));
  bool any = false;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    if (!l->live[id] || !is_candidate(&s, id)) continue;
    s.saved[id] = (double)sn_type_bytes(&g->nodes[id].type); /* is not written */
    any = true;
  }
  if (!any) return SN_OK;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    if (!l->live[id] || sn_op_describe(g->nodes[id].op)->kind == SN_CLASS_VIEW) continue;
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++)
      count_reader(&s, id, sn_graph_inputs(g, id)[k]);
  }
  /* ascending: a value whose input is made again itself is stored */
  for (sn_id id = 0; id < g->n_nodes; id++) {
    if (!(s.saved[id] > 0) || !is_candidate(&s, id)) continue;
    again[id] = 1;
    stored[id] = 0;
  }
  return SN_OK;
}
