/* recomputed.c - counts over the graph after all passes. A view counts as the value that it views.
 *
 *   kept      computed once, read by what is recomputed; in a loop also a slice of a stack that an earlier loop wrote
 *   dropped   recomputed, read by what is not
 *
 * If a loop recomputes a value in each round, the bytes of all rounds count: otherwise all of them would be stacked. */
#include "inspect/recomputed.h"

/* The counting of a program, or of a region's program, which a node of control flow runs `rounds` times. */
typedef struct count {
  const sn_program_code *p;
  const sn_control *run; /* the control flow that runs the region; NULL for the whole program */
  double rounds;
  sn_arena *arena;
  sn_recomputed *out;
  sn_id *source; /* per node: itself, or the value that it views */
  uint8_t *kept, *dropped;
} count;

static bool is_view(const count *c, sn_id id) {
  const sn_node *node = sn_graph_node(&c->p->graph, id);
  return node->n_inputs && node->op != SN_OP_result && c->p->groups.kernel_of[id] == SN_NONE;
}

static bool is_recomputed(const count *c, sn_id id) {
  const sn_node *node = sn_graph_node(&c->p->graph, id);
  return node->op == SN_OP_result ? is_recomputed(c, *sn_graph_inputs(&c->p->graph, id))
                                  : node->origin.recomputed;
}

/* Whether the node is an argument of a loop's body that is a slice of a stack. */
static bool is_slice(const count *c, sn_id id) {
  const sn_graph *g = &c->p->graph;
  if (!c->run || g->nodes[id].op != SN_OP_input) return false;
  const size_t k = (size_t)*sn_graph_attrs(g, id);
  return k >= c->run->n_carries && k < c->run->n_carries + c->run->n_stacks;
}

static void keep(count *c, sn_id id) {
  const sn_node *node = sn_graph_node(&c->p->graph, id);
  const bool slice = is_slice(c, id);
  if (c->kept[id] || (!node->n_inputs && !slice)) return;
  c->kept[id] = 1;
  c->out->kept++;
  c->out->kept_bytes += (double)sn_type_bytes(&node->type) * (slice ? c->rounds : 1);
}

static void drop(count *c, sn_id id) {
  if (c->dropped[id]) return;
  c->dropped[id] = 1;
  c->out->dropped_bytes += (double)sn_type_bytes(&c->p->graph.nodes[id].type) * c->rounds;
}

static void count_values(count *c) {
  const sn_graph *g = &c->p->graph;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = sn_graph_node(g, id);
    const sn_id *inputs = sn_graph_inputs(g, id);
    c->source[id] = is_view(c, id) ? c->source[inputs[0]] : id;
    if (c->source[id] != id || node->op == SN_OP_result) continue;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
      const sn_id x = c->source[inputs[k]];
      if (node->origin.recomputed && !is_recomputed(c, x)) keep(c, x);
      if (!node->origin.recomputed && is_recomputed(c, x)) drop(c, x);
    }
  }
}

/* A rough measure of a node's work, by which the flops of its kernel are divided among its nodes. */
static double work_of(const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  double points = (double)sn_type_size(&node->type);
  for (uint32_t k = 0; k < node->n_inputs; k++) {
    const double read = (double)sn_type_size(&g->nodes[sn_graph_inputs(g, id)[k]].type);
    if (read > points) points = read;
  }
  if (node->op == SN_OP_matmul) {
    const sn_type *x = &g->nodes[*sn_graph_inputs(g, id)].type;
    return 2 * (double)sn_type_size(&node->type) * (double)x->dims[x->rank - 1];
  }
  const uint8_t cost = sn_op_describe(node->op)->cost;
  return points * (cost ? cost : 1);
}

static sn_status count_program(count *c);

/* Adds what the regions recompute, in all rounds. */
static sn_status count_regions(count *c, const sn_step *step, double *flops) {
  const sn_control control =
      sn_graph_control(&c->p->graph, c->p->groups.groups[step->group].control.node);
  const double rounds = control.op == SN_OP_scan ? (double)control.length : 1;
  for (uint32_t r = 0; r < control.n_regions; r++) {
    sn_recomputed inside = {0};
    count region = {.p = step->regions[r],
                    .run = &control,
                    .rounds = c->rounds * rounds,
                    .arena = c->arena,
                    .out = &inside};
    SN_TRY(count_program(&region));
    *flops += rounds * inside.flops;
    c->out->kept += inside.kept;
    c->out->kept_bytes += inside.kept_bytes;
    c->out->dropped_bytes += inside.dropped_bytes;
  }
  return SN_OK;
}

static sn_status count_kernels(count *c) {
  const sn_groups *groups = &c->p->groups;
  const sn_graph *g = &c->p->graph;
  double *recomputed, *all, *flops;
  SN_TRY(sn_arena_alloc(c->arena, groups->n_groups, sizeof *recomputed, (void **)&recomputed));
  SN_TRY(sn_arena_alloc(c->arena, groups->n_groups, sizeof *all, (void **)&all));
  SN_TRY(sn_arena_alloc(c->arena, groups->n_groups, sizeof *flops, (void **)&flops));
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const uint32_t k = groups->kernel_of[id];
    if (k == SN_NONE) continue;
    const double work = work_of(g, id);
    all[k] += work;
    if (is_recomputed(c, id)) recomputed[k] += work;
  }
  for (uint32_t i = 0; i < c->p->n_steps; i++) {
    const sn_step *step = &c->p->steps[i];
    const uint32_t repeated = groups->repeats ? groups->repeats[i] : SN_NONE;
    const uint32_t k = repeated == SN_NONE ? i : repeated;
    if (step->kind == SN_STEP_CONTROL &&
        !g->nodes[groups->groups[i].control.node].origin.recomputed)
      SN_TRY(count_regions(c, step, &flops[i]));
    else if (all[k] > 0)
      flops[i] = groups->groups[i].flops * recomputed[k] / all[k];
    c->out->flops += flops[i];
  }
  c->out->kernel_flops = flops;
  return SN_OK;
}

/* Recursion is at most SN_MAX_NESTING deep. */
static sn_status count_program(count *c) {
  const size_t n = c->p->graph.n_nodes;
  SN_TRY(sn_arena_alloc(c->arena, n, sizeof *c->source, (void **)&c->source));
  SN_TRY(sn_arena_alloc(c->arena, n, 1, (void **)&c->kept));
  SN_TRY(sn_arena_alloc(c->arena, n, 1, (void **)&c->dropped));
  count_values(c);
  return count_kernels(c);
}

sn_status sn_count_recomputed(const sn_program_code *program, sn_arena *arena, sn_recomputed *out) {
  *out = (sn_recomputed){0};
  return count_program(&(count){.p = program, .rounds = 1, .arena = arena, .out = out});
}
