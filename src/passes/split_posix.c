#include "passes/split.h"

#include <string.h>

#include "graph/regions.h"

typedef struct search {
  const sn_graph *g;
  const sn_share *share;
  uint8_t *can;    /* per node: it could be made in parts */
  uint8_t *shared; /* per node: it can, and is made from an all_gather of own blocks */
  /* Per node: a node needs it whole, directly or behind nodes that keep parts; results do not count. */
  uint8_t *leaks;
  uint8_t *parted; /* per node: it must be made in parts, as it depends on split state */
  uint8_t *wanted; /* per node: somebody reads its part */
  sn_state_split *out;
} search;

static const sn_id *inputs_of(const search *s, sn_id id) { return sn_graph_inputs(s->g, id); }

/* The number of the state's value that node id is as an input; -1 if it is none. */
static int64_t state_of(const search *s, sn_id id) {
  const int64_t k = s->g->nodes[id].op == SN_OP_input ? *sn_graph_attrs(s->g, id) : -1;
  return k < (int64_t)s->share->n_state ? k : -1;
}

/* The number of the result that is the next value of state k. */
static size_t next_of(const search *s, int64_t k) {
  return s->g->n_outputs - s->share->n_state + (size_t)k;
}

static bool any_input(const search *s, sn_id id, const uint8_t *of) {
  bool any = false;
  for (uint32_t k = 0; k < s->g->nodes[id].n_inputs; k++) any = any || of[inputs_of(s, id)[k]];
  return any;
}

/* Whether each element of the result depends on the same element of each input only, in row-major order. */
static bool keeps_parts(const search *s, sn_id id) {
  const sn_op op = s->g->nodes[id].op;
  return (sn_op_is_elementwise(op) || op == SN_OP_reshape) && !s->out->blocks[id];
}

/* ---- from inputs to results ------------------------------------------------------------------ */

/* Only a shard along the first axis makes blocks. */
static bool is_shard(const search *s, sn_id id) {
  return s->g->nodes[id].op == SN_OP_shard && *sn_graph_attrs(s->g, id) == 0;
}

static bool is_stack(const search *s, sn_id id, uint32_t k) {
  const sn_control c = sn_graph_control(s->g, id);
  return !c.n_carries && k < c.n_stacks;
}

/* A loop is shared if it has no carry and a stack of blocks. */
static bool is_shared_loop(const search *s, sn_id id) {
  bool any = false;
  for (uint32_t k = 0; k < s->g->nodes[id].n_inputs; k++)
    any = any || (is_stack(s, id, k) && s->out->blocks[inputs_of(s, id)[k]]);
  return any;
}

static bool is_blocks(const search *s, sn_id id) {
  const sn_op op = s->g->nodes[id].op;
  if (op == SN_OP_shard) return is_shard(s, id);
  if (op == SN_OP_scan) return is_shared_loop(s, id);
  return (op == SN_OP_result || sn_op_is_elementwise(op)) && any_input(s, id, s->out->blocks);
}

/* Whether input k has blocks of which the node reads this process's own only. */
static bool reads_blocks(const search *s, sn_id id, uint32_t k) {
  const sn_op op = s->g->nodes[id].op;
  if (!s->out->blocks[inputs_of(s, id)[k]]) return false;
  if (op == SN_OP_all_gather || op == SN_OP_all_reduce) return true;
  return s->out->blocks[id] && (op != SN_OP_scan || is_stack(s, id, k));
}

/* Whether node id could be made in parts. */
static bool can_be_parted(const search *s, sn_id id) {
  const sn_op op = s->g->nodes[id].op;
  const int64_t size = sn_type_size(&s->g->nodes[id].type);
  if (size == 0 || size % s->share->ranks) return false;
  if (state_of(s, id) >= 0) return true;
  if (op == SN_OP_all_gather || op == SN_OP_all_reduce)
    return any_input(s, id, s->out->blocks) && (op == SN_OP_all_gather || s->share->split_state);
  return keeps_parts(s, id) && any_input(s, id, s->can);
}

static void find_possible(search *s) {
  for (sn_id id = 0; id < s->g->n_nodes; id++) {
    s->out->blocks[id] = is_blocks(s, id);
    s->can[id] = can_be_parted(s, id);
    s->shared[id] = s->can[id] && (s->g->nodes[id].op == SN_OP_all_gather ||
                                   (keeps_parts(s, id) && any_input(s, id, s->shared)));
  }
}

/* ---- the state ------------------------------------------------------------------------------- */

/* Backward: a node leaks if a reader needs it whole, or keeps parts but leaks itself. */
static void find_leaks(search *s) {
  const sn_graph *g = s->g;
  for (size_t j = 0; j < g->n_outputs; j++) {
    const int64_t k = state_of(s, g->outputs[j]);
    if (k >= 0 && j != next_of(s, k)) s->leaks[g->outputs[j]] = 1;
  }
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;)
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) {
      const sn_id x = inputs_of(s, id)[k];
      const bool passes = is_shard(s, id) && state_of(s, x) >= 0 &&
                          g->nodes[id].type.dims[0] % s->share->ranks == 0;
      const bool keeps = passes || (s->can[id] && keeps_parts(s, id));
      if (!reads_blocks(s, id, k) && !(keeps && !s->leaks[id])) s->leaks[x] = 1;
    }
}

static bool is_split(const search *s, sn_id id, int64_t k) {
  const sn_id next = s->g->outputs[next_of(s, k)];
  const bool asked = s->share->split_state || s->shared[next];
  return asked && s->can[id] && s->can[next] && !s->leaks[id];
}

static void find_parted(search *s) {
  for (sn_id id = 0; id < s->g->n_nodes; id++) {
    const int64_t k = state_of(s, id);
    s->parted[id] = k >= 0 ? is_split(s, id, k)
                           : s->can[id] && keeps_parts(s, id) && any_input(s, id, s->parted);
    if (k >= 0) s->share->split[k] = s->parted[id];
  }
}

/* ---- from results to inputs ------------------------------------------------------------------ */

/* Marks which inputs of node id are read in parts and which whole. Inputs of which it reads own blocks are neither. */
static void ask(const search *s, sn_id id) {
  for (uint32_t k = 0; k < s->g->nodes[id].n_inputs; k++) {
    const sn_id x = inputs_of(s, id)[k];
    const bool reads_own = is_shard(s, id) && s->parted[x];
    if (reads_blocks(s, id, k) || reads_own) continue;
    if (s->out->own[id] && s->can[x])
      s->wanted[x] = 1;
    else
      s->out->whole[x] = 1;
  }
}

static void find_own(search *s) {
  const sn_graph *g = s->g;
  for (size_t j = 0; j < g->n_outputs; j++) {
    const bool state = j >= next_of(s, 0), split = state && s->share->split[j - next_of(s, 0)];
    (split ? s->wanted : s->out->whole)[g->outputs[j]] = 1;
  }
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;) {
    const bool may = s->can[id] && g->nodes[id].op != SN_OP_input;
    s->out->own[id] = s->parted[id] || (may && s->wanted[id] && !s->out->whole[id]);
    ask(s, id);
  }
}

static sn_status marks(const search *s, sn_arena *arena, uint8_t **out) {
  SN_TRY(sn_arena_alloc(arena, s->g->n_nodes, 1, (void **)out));
  memset(*out, 0, s->g->n_nodes);
  return SN_OK;
}

sn_status sn_state_split_find(const sn_graph *g, const sn_share *share, sn_arena *arena,
                              sn_state_split *out) {
  search s = {.g = g, .share = share, .out = out};
  uint8_t **const of[] = {&out->blocks, &out->own, &out->whole, &s.can,
                          &s.shared,    &s.leaks,  &s.parted,   &s.wanted};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) SN_TRY(marks(&s, arena, of[i]));
  memset(share->split, 0, share->n_state * sizeof *share->split);
  find_possible(&s);
  find_leaks(&s);
  find_parted(&s);
  find_own(&s);
  return SN_OK;
}
