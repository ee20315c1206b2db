/* explain.c - why a value goes through memory, for every edge of the graph: what partition.c noted
 * where it had a choice, and the rule where it had none. */
#include "fuse/fuse.h"
#include "graph/regions.h"

typedef struct explainer {
  const sn_groups *groups;
  const sn_graph *g;
  sn_id *base;     /* per node: itself, or what it is a view of */
  uint8_t *stored; /* per node: whether it has a buffer */
  uint8_t *framed; /* per node: whether it is a pad or a gather that is never made */
} explainer;

static bool has_totals(const explainer *e, sn_id id) {
  const sn_group_kind kind = e->groups->groups[e->groups->kernel_of[id]].kind;
  return kind != SN_GROUP_MAP && kind != SN_GROUP_CALL && kind != SN_GROUP_CONTROL;
}

/* Why the kernel of `to` does not compute `from`, which is no view, itself, if no cut was noted. */
static const char *rule(const explainer *e, sn_id from, sn_id to) {
  const sn_op_class kind = sn_op_describe(e->g->nodes[to].op)->kind;
  if (!e->groups->made.fusion) return "fusion is off";
  if (!e->stored[from]) return "computed again, which moves fewer bytes";
  if (kind == SN_CLASS_MATMUL) return "a contraction reads from memory";
  if (kind == SN_CLASS_PAD || kind == SN_CLASS_CONCAT) return "copied into a part of the result";
  if (has_totals(e, from) && has_totals(e, to)) return "both kernels reduce or contract";
  if (kind == SN_CLASS_RAGGED) return "rows are read where they lie";
  if (kind == SN_CLASS_REDUCE) return "others need it too, in another space";
  if (sn_op_is_elementwise(e->g->nodes[to].op)) return "other kernels come between";
  if (sn_op_is_control(e->g->nodes[to].op)) return "control flow reads from memory";
  return "a call reads from memory";
}

static sn_edge_note explain(const explainer *e, sn_id x, sn_id to, const sn_cut_record *cut) {
  const sn_id from = e->base[x];
  if (sn_op_describe(e->g->nodes[to].op)->kind == SN_CLASS_VIEW)
    return (sn_edge_note){"a view moves nothing", false};
  if (e->framed[to] && e->g->nodes[to].op == SN_OP_pad)
    return (sn_edge_note){"packing pads what it reads", false};
  if (e->framed[to]) return (sn_edge_note){"its readers look it up", false};
  if (e->groups->kernel_of[to] == SN_NONE) return (sn_edge_note){"no result needs it", false};
  switch (e->g->nodes[from].op) {
  case SN_OP_input: return (sn_edge_note){"an argument", false};
  case SN_OP_constant: return (sn_edge_note){"a constant", false};
  case SN_OP_iota: return (sn_edge_note){"counted, not stored", false};
  default: break;
  }
  if (e->groups->kernel_of[to] == e->groups->kernel_of[from]) return (sn_edge_note){"fused", false};
  return (sn_edge_note){cut ? sn_cut_reason(cut->why) : rule(e, from, to), e->stored[from]};
}

/* The record of a cut of edge x -> to, or NULL. Records are in the order of `to`; *next is the first
 * that has not been passed. */
static const sn_cut_record *find_cut(const sn_groups *groups, size_t *next, sn_id x, sn_id to) {
  while (*next < groups->n_cuts && groups->cuts[*next].to < to) ++*next;
  for (size_t i = *next; i < groups->n_cuts && groups->cuts[i].to == to; i++)
    if (groups->cuts[i].from == x) return &groups->cuts[i];
  return NULL;
}

sn_status sn_explain_edges(const sn_groups *groups, sn_arena *arena, const sn_edge_note **out) {
  const sn_graph *g = groups->graph;
  explainer e = {.groups = groups, .g = g};
  sn_edge_note *notes;
  SN_TRY(sn_arena_alloc(arena, g->n_edges, sizeof *notes, (void **)&notes));
  SN_TRY(sn_arena_alloc(arena, g->n_nodes, sizeof *e.base, (void **)&e.base));
  SN_TRY(sn_arena_alloc(arena, g->n_nodes, 1, (void **)&e.stored));
  SN_TRY(sn_arena_alloc(arena, g->n_nodes, 1, (void **)&e.framed));
  for (size_t v = 0; v < groups->n_values; v++) e.stored[groups->values[v].node] = 1;
  size_t next = 0;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = sn_graph_node(g, id);
    const sn_id *x = sn_graph_inputs(g, id);
    const bool moves = node->op == SN_OP_pad || node->op == SN_OP_gather;
    e.framed[id] = moves && groups->made.fusion && groups->kernel_of[id] == SN_NONE;
    const bool is_view = e.framed[id] || sn_op_describe(node->op)->kind == SN_CLASS_VIEW;
    e.base[id] = is_view ? e.base[x[0]] : id;
    for (uint32_t k = 0; k < node->n_inputs; k++)
      notes[node->first_input + k] = explain(&e, x[k], id, find_cut(groups, &next, x[k], id));
  }
  *out = notes;
  return SN_OK;
}
