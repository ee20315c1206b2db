#include "passes/parallel.h"

#include <string.h>

#include "build/inline.h"
#include "passes/split.h"

/* This process's m blocks of a value of n blocks: either blocks first .. first + m - 1 of `whole`, or, if whole is
 * SN_NONE, the blocks of `but_last` and then `last`. */
typedef struct blocks {
  int64_t own;    /* m */
  int64_t first;  /* index in `whole` of the first one */
  sn_id whole;    /* the value that has them along its first axis, or SN_NONE */
  sn_id but_last; /* all but the last one along the first axis; SN_NONE if m is 1 */
  sn_id last;     /* the last one, without that axis */
} blocks;

typedef struct walk {
  const sn_graph *from;
  sn_build b;
  int64_t ranks, rank;
  sn_state_split split;
  sn_id *map;      /* per node: its whole value, or SN_NONE if only own blocks or a part exist */
  sn_id *part;     /* per node: this process's part of it, or SN_NONE */
  blocks *of;      /* per node: its own blocks */
  sn_id **results; /* per shared scan: the values that its last round returns */
  sn_id *scans;    /* per shared scan: the new scan of the rounds before the last, or SN_NONE */
  sn_id last_made; /* a value of the last round, see find_last_made; SN_NONE: there was none yet */
} walk;

static sn_status refuse(const walk *w, sn_id id) {
  return SN_FAIL(w->from->env, SN_ERR_UNSUPPORTED, NULL,
                 "%s of blocks that processes share: between shard and allReduce or allGather "
                 "there may be loops without a carry, and elementwise ops",
                 sn_op_describe(w->from->nodes[id].op)->name);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Blocks first .. first + count - 1 of x. */
static sn_id part(walk *w, sn_id x, int64_t first, int64_t count) {
  sn_type type = *sn_build_type(&w->b, x);
  type.dims[0] = count;
  return sn_build_part(&w->b, SN_OP_slice, x, 0, first, 1, &type);
}

static sn_id without_axis(walk *w, sn_id x) {
  if (w->b.status) return SN_NONE;
  sn_type type = *sn_build_type(&w->b, x);
  type.rank--;
  memmove(type.dims, type.dims + 1, sizeof *type.dims * (size_t)type.rank);
  return sn_build_reshape(&w->b, x, &type);
}

static sn_id with_axis(walk *w, sn_id x) {
  if (w->b.status) return SN_NONE;
  const sn_type type = sn_type_stacked(sn_build_type(&w->b, x), 1);
  return sn_build_reshape(&w->b, x, &type);
}

/* Block i of the own ones, without the axis of blocks. */
static sn_id block(walk *w, const blocks *p, int64_t i) {
  if (w->b.status) return SN_NONE;
  if (p->whole == SN_NONE && i == p->own - 1) return p->last;
  const sn_id x = p->whole == SN_NONE ? p->but_last : p->whole;
  return without_axis(w, part(w, x, p->whole == SN_NONE ? i : p->first + i, 1));
}

/* All own blocks but the last. */
static sn_id but_last(walk *w, const blocks *p) {
  return p->whole == SN_NONE ? p->but_last : part(w, p->whole, p->first, p->own - 1);
}

static sn_status check_count(const walk *w, int64_t n) {
  const int64_t own = n / w->ranks;
  const bool fits = n % w->ranks == 0 && own > 0 && (own & (own - 1)) == 0;
  SN_FAIL_IF(w->from->env, !fits, SN_ERR_UNSUPPORTED, NULL,
             "%lld blocks cannot be shared by %lld processes, with 1, 2, 4, 8, ... blocks each",
             (long long)n, (long long)w->ranks);
  return SN_OK;
}

/* Meets a shard of x. Nodes that are not shared read it as x itself, through the map. */
static sn_status meet_shard(walk *w, sn_id id, sn_id x) {
  sn_type type = w->from->nodes[id].type;
  if (w->split.blocks[x]) return refuse(w, id);
  const int64_t own = type.dims[0] / w->ranks;
  const bool parted = w->map[x] == SN_NONE;
  type.dims[0] = own;
  w->map[id] = w->map[x];
  w->of[id] = (blocks){.own = own,
                       .first = parted ? 0 : w->rank * own,
                       .whole = parted ? sn_build_reshape(&w->b, w->part[x], &type) : w->map[x]};
  return w->b.status;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* The own blocks of input k of a scan, which may be a stack that all processes have. */
static blocks stack_of(const walk *w, sn_id id, size_t k, int64_t own) {
  const sn_id x = sn_graph_inputs(w->from, id)[k];
  if (w->split.blocks[x]) return w->of[x];
  return (blocks){.own = own, .first = w->rank * own, .whole = w->map[x]};
}

/* Sets w->last_made to the deepest of the n values that the last round returns. It is taken to be ready last. */
static sn_status find_last_made(walk *w, const sn_id *results, size_t n) {
  const sn_graph *g = w->b.graph;
  uint32_t *depth;
  SN_TRY(sn_arena_alloc(w->from->arena, g->n_nodes, sizeof *depth, (void **)&depth));
  for (sn_id id = 0; id < g->n_nodes; id++)
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) {
      const uint32_t before = depth[sn_graph_inputs(g, id)[k]] + 1;
      if (before > depth[id]) depth[id] = before;
    }
  w->last_made = *results;
  for (size_t k = 1; k < n; k++)
    if (depth[results[k]] > depth[w->last_made]) w->last_made = results[k];
  return SN_OK;
}

/* Makes a scan over all own blocks but the last, and the body for the last one inline behind it. */
static sn_status share_scan(walk *w, sn_id id, const sn_control *c, int64_t own) {
  const sn_node *node = sn_graph_node(w->from, id);
  const sn_graph *body = c->regions[0];
  sn_id *inputs, *last, *map;
  SN_TRY(sn_arena_alloc(w->from->arena, node->n_inputs, sizeof *inputs, (void **)&inputs));
  SN_TRY(sn_arena_alloc(w->from->arena, node->n_inputs, sizeof *last, (void **)&last));
  SN_TRY(sn_arena_alloc(w->from->arena, body->n_nodes, sizeof *map, (void **)&map));
  SN_TRY(
      sn_arena_alloc(w->from->arena, c->n_results, sizeof **w->results, (void **)&w->results[id]));
  for (size_t k = 0; k < node->n_inputs; k++) {
    if (k >= c->n_stacks) {
      inputs[k] = last[k] = w->map[sn_graph_inputs(w->from, id)[k]];
      if (last[k] == SN_NONE) return refuse(w, id);
      continue;
    }
    const blocks p = stack_of(w, id, k, own);
    inputs[k] = own > 1 ? but_last(w, &p) : SN_NONE;
    last[k] = block(w, &p, own - 1);
  }
  int64_t attrs[SN_MAX_ATTRS];
  memcpy(attrs, sn_graph_attrs(w->from, id), node->n_attrs * sizeof *attrs);
  attrs[3] = own - 1;
  const sn_type type = node->type;
  w->scans[id] =
      own > 1 ? sn_build_op(&w->b, node->op, inputs, node->n_inputs, attrs, node->n_attrs, &type)
              : SN_NONE;
  SN_TRY(w->b.status);
  SN_TRY(sn_build_inline(&w->b, body, last, map));
  for (size_t k = 0; k < c->n_results; k++) w->results[id][k] = map[body->outputs[k]];
  return find_last_made(w, w->results[id], c->n_results);
}

static sn_status meet_scan(walk *w, sn_id id) {
  const sn_control c = sn_graph_control(w->from, id);
  SN_TRY(check_count(w, c.length));
  return share_scan(w, id, &c, c.length / w->ranks);
}

static sn_status meet_result(walk *w, sn_id id, sn_id scan) {
  const int64_t k = *sn_graph_attrs(w->from, id);
  sn_type type = w->from->nodes[id].type;
  blocks *p = &w->of[id];
  *p = (blocks){.own = type.dims[0] / w->ranks, .whole = SN_NONE, .but_last = SN_NONE};
  p->last = w->results[scan][k];
  if (w->scans[scan] == SN_NONE) return SN_OK;
  type.dims[0] = p->own - 1;
  p->but_last = sn_build_result(&w->b, w->scans[scan], (size_t)k, &type);
  return w->b.status;
}

/* ---- elementwise ops ------------------------------------------------------------------------- */

static sn_status share_elementwise(walk *w, sn_id id) {
  const sn_node *node = sn_graph_node(w->from, id);
  sn_type type = node->type;
  blocks of[SN_MAX_ARITY], *made = &w->of[id];
  sn_id x[SN_MAX_ARITY];
  SN_TRY(check_count(w, type.dims[0]));
  *made = (blocks){.own = type.dims[0] / w->ranks, .whole = SN_NONE, .but_last = SN_NONE};
  for (uint32_t k = 0; k < node->n_inputs; k++) {
    of[k] = stack_of(w, id, k, made->own);
    if (of[k].own != made->own) return refuse(w, id);
    x[k] = block(w, &of[k], made->own - 1);
  }
  const sn_type one = sn_type_slice(&type);
  const int64_t *attrs = sn_graph_attrs(w->from, id);
  made->last = sn_build_op(&w->b, node->op, x, node->n_inputs, attrs, node->n_attrs, &one);
  if (made->own == 1) return w->b.status;
  for (uint32_t k = 0; k < node->n_inputs; k++) x[k] = but_last(w, &of[k]);
  type.dims[0] = made->own - 1;
  made->but_last = sn_build_op(&w->b, node->op, x, node->n_inputs, attrs, node->n_attrs, &type);
  return w->b.status;
}

/* ---- exchanges ------------------------------------------------------------------------------- */

/* The sum of the own blocks, with an axis of one block in front. */
static sn_id sum_own(walk *w, const blocks *p) {
  sn_id *own = NULL;
  w->b.status = sn_arena_alloc(w->b.arena, (size_t)p->own, sizeof *own, (void **)&own);
  for (int64_t i = 0; i < p->own && !w->b.status; i++) own[i] = block(w, p, i);
  return w->b.status ? SN_NONE : with_axis(w, sn_build_sum_pairs(&w->b, own, p->own));
}

/* The own blocks as one value. */
static sn_id all_own(walk *w, const blocks *p) {
  if (p->whole != SN_NONE) return part(w, p->whole, p->first, p->own);
  const sn_id parts[] = {p->but_last, with_axis(w, p->last)};
  if (p->but_last == SN_NONE) return parts[1];
  return sn_build_op(&w->b, SN_OP_concat, parts, 2, (int64_t[]){0}, 1, NULL);
}

/* The result of an exchange, to be read only when the last round has ended: the exchange runs meanwhile. */
static sn_id read_later(walk *w, sn_id made) {
  if (w->last_made == SN_NONE) return made;
  return sn_build_binary(&w->b, SN_OP_barrier, made, w->last_made);
}

static sn_id gather(walk *w, sn_id own) {
  return sn_build_op(&w->b, SN_OP_all_gather, &own, 1, (int64_t[]){0, w->ranks}, 2, NULL);
}

static sn_id reduce(walk *w, sn_id own, int64_t parts) {
  return sn_build_op(&w->b, SN_OP_all_reduce, &own, 1, (int64_t[]){0, w->ranks, parts}, 3, NULL);
}

static sn_status exchange(walk *w, sn_id id, sn_id x) {
  const blocks *p = &w->of[x];
  const bool sums = w->from->nodes[id].op == SN_OP_all_reduce;
  if (*sn_graph_attrs(w->from, id) != 0) return refuse(w, id);
  SN_TRY(check_count(w, w->from->nodes[x].type.dims[0]));
  w->map[id] = read_later(w, sums ? reduce(w, sum_own(w, p), 1) : gather(w, all_own(w, p)));
  return w->b.status;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static sn_id reshaped(walk *w, sn_id x, int64_t rank, const int64_t *dims) {
  if (w->b.status) return SN_NONE;
  sn_type type = {.dtype = sn_build_type(&w->b, x)->dtype, .rank = (int)rank};
  for (int64_t i = 0; i < rank; i++) type.dims[i] = dims[i];
  return sn_build_reshape(&w->b, x, &type);
}

/* This process's part of node id, whose value is there whole: a slice, or a broadcast if it is one number everywhere. */
static sn_id cut_out(walk *w, sn_id id) {
  const sn_node *node = sn_graph_node(w->from, id);
  const sn_type type = sn_part_type(&node->type, w->ranks);
  const int64_t n = type.dims[0], all = n * w->ranks;
  const sn_id x = node->n_inputs ? *sn_graph_inputs(w->from, id) : SN_NONE;
  if (node->op == SN_OP_broadcast && sn_type_size(&w->from->nodes[x].type) == 1)
    return sn_build_broadcast(&w->b, reshaped(w, w->map[x], 0, NULL), &type);
  return part(w, reshaped(w, w->map[id], 1, &all), w->rank * n, n);
}

static sn_id part_of(walk *w, sn_id id) {
  if (w->part[id] == SN_NONE) w->part[id] = cut_out(w, id);
  return w->part[id];
}

/* This process's part of the result of exchange id, whose input has own blocks p. Of an all_gather the part is just the
 * own blocks. */
static sn_id part_of_exchange(walk *w, sn_id id, const blocks *p) {
  const sn_node *node = sn_graph_node(w->from, id);
  const int64_t all[] = {1, sn_type_size(&node->type)}, own = all[1] / w->ranks;
  if (node->op == SN_OP_all_gather) return reshaped(w, all_own(w, p), 1, &own);
  return read_later(w, reduce(w, reshaped(w, sum_own(w, p), 2, all), w->ranks));
}

static sn_status make_elementwise_part(walk *w, sn_id id) {
  const sn_node *node = sn_graph_node(w->from, id);
  const sn_type type = sn_part_type(&node->type, w->ranks);
  sn_id inputs[SN_MAX_ARITY];
  for (uint32_t k = 0; k < node->n_inputs; k++)
    inputs[k] = part_of(w, sn_graph_inputs(w->from, id)[k]);
  SN_TRY(w->b.status);
  return sn_graph_append(w->b.graph, node->op, inputs, node->n_inputs, sn_graph_attrs(w->from, id),
                         node->n_attrs, &type, &w->part[id]);
}

/* Makes this process's part of node id, and gathers the whole value if somebody reads it. */
static sn_status meet_part(walk *w, sn_id id) {
  const sn_node *node = sn_graph_node(w->from, id);
  const sn_id x = node->n_inputs ? *sn_graph_inputs(w->from, id) : SN_NONE;
  if (x != SN_NONE && w->split.blocks[x])
    w->part[id] = part_of_exchange(w, id, &w->of[x]);
  else if (node->op == SN_OP_reshape)
    w->part[id] = part_of(w, x);
  else
    SN_TRY(make_elementwise_part(w, id));
  if (w->split.whole[id])
    w->map[id] = reshaped(w, gather(w, w->part[id]), node->type.rank, node->type.dims);
  return w->b.status;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static sn_status copy_node(walk *w, sn_id id) {
  const sn_node *node = sn_graph_node(w->from, id);
  const sn_id *x = sn_graph_inputs(w->from, id);
  sn_id *inputs;
  SN_TRY(sn_arena_alloc(w->from->arena, node->n_inputs, sizeof *inputs, (void **)&inputs));
  for (uint32_t k = 0; k < node->n_inputs; k++) {
    inputs[k] = w->map[x[k]];
    if (inputs[k] == SN_NONE) return refuse(w, id);
  }
  return sn_graph_append(w->b.graph, node->op, inputs, node->n_inputs, sn_graph_attrs(w->from, id),
                         node->n_attrs, &node->type, &w->map[id]);
}

static bool is_exchange(const sn_node *node) {
  return node->op == SN_OP_all_reduce || node->op == SN_OP_all_gather;
}

static sn_status meet(walk *w, sn_id id) {
  const sn_node *node = sn_graph_node(w->from, id);
  const sn_id x = node->n_inputs ? *sn_graph_inputs(w->from, id) : SN_NONE;
  w->map[id] = w->part[id] = SN_NONE;
  w->b.origin = w->b.graph->origin = node->origin;
  if (w->split.own[id]) return meet_part(w, id);
  if (node->op == SN_OP_shard && w->split.blocks[id]) return meet_shard(w, id, x);
  if (is_exchange(node) && w->split.blocks[x]) return exchange(w, id, x);
  if (!w->split.blocks[id]) return copy_node(w, id);
  if (node->op == SN_OP_scan) return meet_scan(w, id);
  return node->op == SN_OP_result ? meet_result(w, id, x) : share_elementwise(w, id);
}

/* Node i of the new graph's outputs: of split state, the part. */
static sn_id result(const walk *w, const sn_share *share, size_t i) {
  const size_t state = w->from->n_outputs - share->n_state;
  const bool split = i >= state && share->split[i - state];
  return (split ? w->part : w->map)[w->from->outputs[i]];
}

static sn_status check_whole(const walk *w) {
  const sn_graph *g = w->from;
  bool any = false;
  for (sn_id id = 0; id < g->n_nodes; id++)
    any = any || (g->nodes[id].op == SN_OP_scan && w->split.blocks[id]);
  SN_FAIL_IF(w->from->env, !any, SN_ERR_UNSUPPORTED, NULL,
             "it was made for one process" SN_HINT
             "trainStep(loss, optimizer, { blocks: %lld }) makes a step that %lld processes share; "
             "so do modules of sinter/parallel that are in no loop",
             (long long)w->ranks, (long long)w->ranks);
  for (size_t i = 0; i < g->n_outputs; i++)
    if (w->map[g->outputs[i]] == SN_NONE && w->part[g->outputs[i]] == SN_NONE)
      return refuse(w, g->outputs[i]);
  return SN_OK;
}

sn_status sn_parallel_form(const sn_graph *from, const sn_share *share, sn_arena *arena,
                           sn_graph *to) {
  walk w = {.from = from, .ranks = share->ranks, .rank = share->rank, .last_made = SN_NONE};
  sn_graph_init(to, arena, true);
  SN_TRY(sn_graph_reserve(to, from));
  SN_TRY(sn_graph_keep_regions(to, from));
  to->n_arguments = from->n_arguments;
  w.b = sn_build_in(to);
  SN_TRY(sn_arena_alloc(from->arena, from->n_nodes, sizeof *w.map, (void **)&w.map));
  SN_TRY(sn_arena_alloc(from->arena, from->n_nodes, sizeof *w.part, (void **)&w.part));
  SN_TRY(sn_arena_alloc(from->arena, from->n_nodes, sizeof *w.of, (void **)&w.of));
  SN_TRY(sn_arena_alloc(from->arena, from->n_nodes, sizeof *w.results, (void **)&w.results));
  SN_TRY(sn_arena_alloc(from->arena, from->n_nodes, sizeof *w.scans, (void **)&w.scans));
  SN_TRY(sn_state_split_find(from, share, from->arena, &w.split));
  for (sn_id id = 0; id < from->n_nodes; id++) {
    SN_TRY(meet(&w, id));
    SN_TRY(w.b.status);
  }
  SN_TRY(check_whole(&w));
  SN_TRY(sn_arena_alloc(arena, from->n_outputs, sizeof *to->outputs, (void **)&to->outputs));
  to->n_outputs = from->n_outputs;
  for (size_t i = 0; i < from->n_outputs; i++) to->outputs[i] = result(&w, share, i);
  return SN_OK;
}

sn_type sn_part_type(const sn_type *whole, int64_t ranks) {
  return (sn_type){.dtype = whole->dtype, .rank = 1, .dims = {sn_type_size(whole) / ranks}};
}
