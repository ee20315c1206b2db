#include "tensor/fixed.h"

#include "build/inline.h"
#include "graph/regions.h"

/* ---- finding --------------------------------------------------------------------------------- */

/* The input of the node of control flow that becomes argument `id` of its region. */
static sn_id outer_input(const sn_fixed *f, sn_id id) {
  const size_t number = (size_t)*sn_graph_attrs(f->graph, id);
  return sn_graph_inputs(f->outer->graph, f->node)[number - f->first + f->first_input];
}

static bool is_fixed(const sn_fixed *f, sn_id id) {
  const sn_graph *g = f->graph;
  const sn_node *node = sn_graph_node(g, id);
  if (node->op == SN_OP_input) {
    if ((size_t)*sn_graph_attrs(g, id) < f->first) return false;
    return !f->outer || f->outer->is_fixed[outer_input(f, id)];
  }
  /* control flow inside of regions is not lifted out */
  if (f->outer && (sn_op_is_control(node->op) || node->op == SN_OP_result)) return false;
  bool fixed = true;
  const size_t n = sn_op_reads(node->op, node->n_inputs);
  for (size_t k = 0; k < n; k++) fixed = fixed && f->is_fixed[sn_graph_inputs(g, id)[k]];
  return fixed;
}

static sn_status find(sn_fixed *f, sn_arena *arena);

/* Looks into the regions of node id, except for a custom function, whose regions have other arguments. */
static sn_status find_regions(sn_fixed *f, sn_id id, sn_arena *arena) {
  if (f->graph->nodes[id].op == SN_OP_custom) return SN_OK;
  const sn_control c = sn_graph_control(f->graph, id);
  sn_fixed *regions;
  bool any = false;
  SN_TRY(sn_arena_alloc(arena, c.n_regions, sizeof *regions, (void **)&regions));
  for (uint32_t r = 0; r < c.n_regions; r++) {
    regions[r] = (sn_fixed){.graph = c.regions[r],
                            .target = f->target,
                            .rule = f->rule,
                            .outer = f,
                            .node = id,
                            .first = c.n_carries + c.n_stacks};
    regions[r].first_input = regions[r].first + sn_control_first(c.op);
    SN_TRY(find(&regions[r], arena));
    any = any || regions[r].any;
  }
  if (!any) return SN_OK;
  f->regions[id] = regions;
  f->any = true;
  return SN_OK;
}

static sn_status find(sn_fixed *f, sn_arena *arena) {
  const sn_graph *g = f->graph;
  SN_TRY(sn_arena_alloc(arena, g->n_nodes, 1, (void **)&f->is_fixed));
  SN_TRY(sn_arena_alloc(arena, g->n_nodes, 1, (void **)&f->needed));
  SN_TRY(sn_arena_alloc(arena, g->n_nodes, sizeof *f->users, (void **)&f->users));
  SN_TRY(sn_arena_alloc(arena, g->n_nodes, sizeof(sn_fixed *), (void **)&f->regions));
  for (size_t i = 0; i < g->n_outputs; i++) f->users[g->outputs[i]]++;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    f->is_fixed[id] = is_fixed(f, id);
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) f->users[sn_graph_inputs(g, id)[k]]++;
    if (sn_op_is_control(g->nodes[id].op)) SN_TRY(find_regions(f, id, arena));
    f->any = f->any || f->rule->applies(f, id);
  }
  return SN_OK;
}

/* Marks the nodes that the rule needs and all that they depend on, from the innermost regions outwards. */
static void mark(sn_fixed *f) {
  const sn_graph *g = f->graph;
  sn_id list[SN_MAX_ARITY];
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;) {
    const sn_node *node = sn_graph_node(g, id);
    for (size_t n = f->rule->needs(f, id, list); n-- > 0;) f->needed[list[n]] = 1;
    for (uint32_t r = 0; f->regions[id] && r < sn_graph_control(g, id).n_regions; r++)
      mark(&f->regions[id][r]);
    if (!f->needed[id]) continue;
    const size_t n = sn_op_reads(node->op, node->n_inputs);
    for (size_t k = 0; k < n; k++) f->needed[sn_graph_inputs(g, id)[k]] = 1;
    if (f->outer && node->op == SN_OP_input) f->outer->needed[outer_input(f, id)] = 1;
  }
}

/* ---- rewriting ------------------------------------------------------------------------------- */

sn_build *sn_fixed_whole(sn_fixed *f) {
  while (f->outer) f = f->outer;
  return &f->r->to;
}

sn_id sn_fixed_lift(const sn_fixed *f, sn_id id) {
  return f->outer ? f->lifted[id] : f->r->map[id];
}

/* Makes the marked nodes of a region in the whole graph. */
static sn_status lift_all(sn_fixed *f, sn_arena *arena) {
  const sn_graph *g = f->graph;
  sn_build *b = sn_fixed_whole(f);
  SN_TRY(sn_arena_alloc(arena, g->n_nodes, sizeof *f->lifted, (void **)&f->lifted));
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = sn_graph_node(g, id);
    const sn_id *x = sn_graph_inputs(g, id);
    sn_id *inputs;
    if (!f->needed[id]) continue;
    if (node->op == SN_OP_input || node->op == SN_OP_barrier) {
      f->lifted[id] =
          node->op == SN_OP_input ? sn_fixed_lift(f->outer, outer_input(f, id)) : f->lifted[x[0]];
      continue;
    }
    SN_TRY(sn_arena_alloc(arena, node->n_inputs, sizeof *inputs, (void **)&inputs));
    for (uint32_t k = 0; k < node->n_inputs; k++) inputs[k] = f->lifted[x[k]];
    f->lifted[id] = sn_build_op(b, node->op, inputs, node->n_inputs, sn_graph_attrs(g, id),
                                node->n_attrs, &node->type);
  }
  return b->status;
}

sn_id sn_fixed_hand_in(sn_fixed *f, sn_id id) {
  sn_fixed *outer = f->outer;
  if (!outer || id == SN_NONE) return id;
  const sn_id from = sn_fixed_hand_in(outer, id);
  sn_build *b = &f->r->to;
  if (b->status || outer->r->to.status) return SN_NONE;
  size_t k = 0;
  while (k < outer->n_handed && outer->handed[k] != from) k++;
  if (k == outer->n_handed) {
    b->status = sn_arena_grow(b->arena, (void **)&outer->handed, &outer->cap_handed,
                              outer->n_handed, sizeof *outer->handed);
    if (b->status) return SN_NONE;
    outer->handed[outer->n_handed++] = from;
  }
  const int64_t number = (int64_t)(f->graph->n_arguments + k);
  return sn_build_op(b, SN_OP_input, NULL, 0, &number, 1, sn_build_type(&outer->r->to, from));
}

static sn_id rewrite(sn_rewrite *r, sn_id id, const sn_id *inputs);

static sn_status rewrite_region(sn_fixed *f, sn_arena *arena, sn_graph *to) {
  SN_TRY(lift_all(f, arena));
  SN_TRY(sn_rewrite_graph(f->graph, to, arena, f->graph->share, NULL, rewrite, f));
  return sn_fixed_whole(f)->status;
}

/* Makes node id of control flow anew, with rewritten regions and what is handed to them as further inputs. */
static sn_id rewrite_control(sn_fixed *f, sn_id id, const sn_id *inputs) {
  sn_build *b = &f->r->to;
  const sn_node *node = sn_graph_node(f->graph, id);
  const uint32_t n_regions = sn_graph_control(f->graph, id).n_regions;
  sn_graph regions[SN_MAX_REGIONS];
  int64_t attrs[SN_MAX_ATTRS];
  sn_id *all = NULL;
  f->n_handed = 0;
  for (uint32_t i = 0; i < n_regions && !b->status; i++)
    b->status = rewrite_region(&f->regions[id][i], b->arena, &regions[i]);
  if (node->n_attrs) memcpy(attrs, sn_graph_attrs(f->graph, id), node->n_attrs * sizeof *attrs);
  for (uint32_t i = 0; i < n_regions && !b->status; i++) {
    regions[i].n_arguments = f->graph->regions[attrs[i]]->n_arguments + f->n_handed;
    b->status = sn_graph_add_region(b->graph, &regions[i], &attrs[i]);
  }
  const size_t n = node->n_inputs + f->n_handed;
  if (!b->status) b->status = sn_arena_alloc(b->arena, n, sizeof *all, (void **)&all);
  if (b->status) return SN_NONE;
  memcpy(all, inputs, node->n_inputs * sizeof *all);
  if (f->n_handed) memcpy(all + node->n_inputs, f->handed, f->n_handed * sizeof *all);
  return sn_build_op(b, node->op, all, n, attrs, node->n_attrs, &node->type);
}

/* Copies other control flow; its regions get new numbers in the new graph. */
static sn_id keep_control(sn_fixed *f, sn_id id, const sn_id *inputs) {
  sn_build *b = &f->r->to;
  const sn_node *node = sn_graph_node(f->graph, id);
  int64_t attrs[SN_MAX_ATTRS];
  b->status = sn_graph_take_regions(b->graph, f->graph, node->op, sn_graph_attrs(f->graph, id),
                                    node->n_attrs, attrs);
  return sn_build_op(b, node->op, inputs, node->n_inputs, attrs, node->n_attrs, &node->type);
}

/* sn_rewrite_fn */
static sn_id rewrite(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  sn_fixed *f = r->user;
  f->r = r;
  if (f->regions[id]) return rewrite_control(f, id, inputs);
  if (sn_op_is_control(f->graph->nodes[id].op)) return keep_control(f, id, inputs);
  return f->rule->applies(f, id) ? f->rule->replace(f, id, inputs) : SN_NONE;
}

sn_status sn_fixed_rewrite(const sn_target *target, const sn_graph *graph, size_t n_inputs,
                           const sn_fixed_rule *rule, sn_arena *arena, sn_graph *out) {
  sn_fixed f = {.graph = graph, .target = target, .rule = rule, .first = n_inputs};
  *out = *graph;
  SN_TRY(find(&f, arena));
  if (!f.any) return SN_OK;
  mark(&f);
  return sn_rewrite_graph(graph, out, arena, graph->share, NULL, rewrite, &f);
}
