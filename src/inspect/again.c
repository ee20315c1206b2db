/* again.c - counts over the graph behind all passes. A view stands for the value it looks at.
 *
 *   kept      made once, read by what is made again; in a loop also a slice of a stack that earlier rounds left
 *   dropped   made again, read by what is not
 *
 * Of what a loop makes again in each round, the bytes of all rounds count: without it, all of them would be stacked. */
#include "inspect/again.h"

/* A program, or that of a region: run by a node of control flow, so many times. */
typedef struct count {
  const sn_program_code *p;
  const sn_control *run; /* NULL of a program */
  double rounds;
  sn_arena *arena;
  sn_again *out;
  sn_id *source; /* per node: itself, or what a view looks at */
  uint8_t *kept, *dropped;
} count;

static bool is_view(const count *c, sn_id id) {
  const sn_node *node = sn_graph_node(&c->p->graph, id);
  return node->n_inputs && node->op != SN_OP_result && c->p->groups.kernel_of[id] == SN_NONE;
}

static bool is_again(const count *c, sn_id id) {
  const sn_node *node = sn_graph_node(&c->p->graph, id);
  return node->op == SN_OP_result ? is_again(c, *sn_graph_inputs(&c->p->graph, id))
                                  : node->origin.again;
}

/* A slice of a stack: argument number k of a loop's body. */
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
      if (node->origin.again && !is_again(c, x)) keep(c, x);
      if (!node->origin.again && is_again(c, x)) drop(c, x);
    }
  }
}

/* A measure of a node's work, to share out that of its kernel. */
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

/* What the regions make again, in all rounds. */
static sn_status count_regions(count *c, const sn_step *step, double *flops) {
  const sn_control control =
      sn_graph_control(&c->p->graph, c->p->groups.groups[step->group].control.node);
  const double rounds = control.op == SN_OP_scan ? (double)control.length : 1;
  for (uint32_t r = 0; r < control.n_regions; r++) {
    sn_again inside = {0};
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
  double *again, *all, *flops;
  SN_TRY(sn_arena_alloc(c->arena, groups->n_groups, sizeof *again, (void **)&again));
  SN_TRY(sn_arena_alloc(c->arena, groups->n_groups, sizeof *all, (void **)&all));
  SN_TRY(sn_arena_alloc(c->arena, groups->n_groups, sizeof *flops, (void **)&flops));
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const uint32_t k = groups->kernel_of[id];
    if (k == SN_NONE) continue;
    const double work = work_of(g, id);
    all[k] += work;
    if (is_again(c, id)) again[k] += work;
  }
  for (uint32_t i = 0; i < c->p->n_steps; i++) {
    const sn_step *step = &c->p->steps[i];
    const uint32_t repeated = groups->again ? groups->again[i] : SN_NONE;
    const uint32_t k = repeated == SN_NONE ? i : repeated;
    if (step->kind == SN_STEP_CONTROL && !g->nodes[groups->groups[i].control.node].origin.again)
      SN_TRY(count_regions(c, step, &flops[i]));
    else if (all[k] > 0)
      flops[i] = groups->groups[i].flops * again[k] / all[k];
    c->out->flops += flops[i];
  }
  c->out->kernel_flops = flops;
  return SN_OK;
}

/* Regions nest as deep as SN_MAX_NESTING. */
static sn_status count_program(count *c) {
  const size_t n = c->p->graph.n_nodes;
  SN_TRY(sn_arena_alloc(c->arena, n, sizeof *c->source, (void **)&c->source));
  SN_TRY(sn_arena_alloc(c->arena, n, 1, (void **)&c->kept));
  SN_TRY(sn_arena_alloc(c->arena, n, 1, (void **)&c->dropped));
  count_values(c);
  return count_kernels(c);
}

sn_status sn_count_again(const sn_program_code *program, sn_arena *arena, sn_again *out) {
  *out = (sn_again){0};
  return count_program(&(count){.p = program, .rounds = 1, .arena = arena, .out = out});
}
