/* partition.c - which nodes share a kernel. Linear in nodes and edges.
 *
 * Levels. Every node gets a level: inputs 0; an edge inside one kernel keeps the level, every other
 * edge raises it by at least one. So between two nodes of one level there is no path that leaves
 * their kernel, and any two sets of equal level and shape may be united without ever making a
 * cycle.
 *
 *   matmul(1) -> add(1) -> relu(1)      one set: a head and what follows it in the same index space
 *                  \-> reshape -> mul(2)       read through a view: next level
 *
 * Elementwise nodes whose every user ends in one reduction are computed inside it ("owned").
 */
#include <string.h>

#include "fuse/fuse.h"

#define MAX_SET_NODES 96
#define MAX_SET_INPUTS 48

typedef struct set {
  uint32_t parent; /* union-find */
  uint32_t level;
  sn_id head;
  sn_id first; /* smallest node */
  uint32_t n_nodes, n_inputs;
} set;

typedef struct state {
  const sn_graph *g;
  sn_arena *arena;
  bool fusion;
  const uint8_t *live;
  uint32_t *level;
  uint32_t *set_of;
  sn_id *owner;
  set *sets;
  size_t n_sets;
  uint32_t *reader; /* per node: the last set that loads it in the node's own index space */
  sn_cut_record *cuts;
  size_t n_cuts, cap_cuts;
} state;

static sn_op_class class_of(const state *s, sn_id id) {
  return sn_op_describe(s->g->nodes[id].op)->kind;
}

static bool has_epilogue(sn_op_class kind) {
  return kind == SN_CLASS_REDUCE || kind == SN_CLASS_MATMUL;
}

/* Elementwise nodes that only one reduction needs, seen from the users down. */
static sn_status find_owned(state *s) {
  const sn_graph *g = s->g;
  enum { UNCLAIMED = SN_NONE, SHARED = SN_NONE - 1 };
  sn_id *claim;
  uint32_t *count;
  SN_TRY(sn_arena_alloc(s->arena, g->n_nodes, sizeof *claim, (void **)&claim));
  SN_TRY(sn_arena_alloc(s->arena, g->n_nodes, sizeof *count, (void **)&count));
  for (size_t i = 0; i < g->n_nodes; i++) {
    claim[i] = (sn_id)UNCLAIMED;
    s->owner[i] = SN_NONE;
  }
  for (size_t i = 0; i < g->n_outputs; i++) claim[g->outputs[i]] = (sn_id)SHARED;
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;) {
    if (!s->live[id]) continue;
    sn_id by = (sn_id)SHARED;
    if (s->fusion && class_of(s, id) == SN_CLASS_REDUCE) by = id;
    if (s->fusion && sn_op_is_elementwise(g->nodes[id].op) && claim[id] < (sn_id)SHARED &&
        count[claim[id]] < MAX_SET_NODES) {
      s->owner[id] = by = claim[id];
      count[by]++;
    }
    const sn_id *x = sn_graph_inputs(g, id);
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++)
      claim[x[k]] = claim[x[k]] == (sn_id)UNCLAIMED || claim[x[k]] == by ? by : (sn_id)SHARED;
  }
  return SN_OK;
}

static uint32_t find(state *s, uint32_t i) {
  while (s->sets[i].parent != i) {
    s->sets[i].parent = s->sets[s->sets[i].parent].parent;
    i = s->sets[i].parent;
  }
  return i;
}

static uint32_t new_set(state *s, sn_id id, sn_id head, uint32_t level) {
  const uint32_t i = (uint32_t)s->n_sets++;
  s->sets[i] = (set){.parent = i,
                     .level = level,
                     .head = head,
                     .first = id,
                     .n_nodes = 1,
                     .n_inputs = s->g->nodes[id].n_inputs};
  return i;
}

static uint32_t unite(state *s, uint32_t a, uint32_t b) {
  if (a == b) return a;
  if (s->sets[b].first < s->sets[a].first) {
    const uint32_t t = a;
    a = b;
    b = t;
  }
  set *to = &s->sets[a], *from = &s->sets[b];
  from->parent = a;
  if (to->head == SN_NONE) to->head = from->head;
  to->n_nodes += from->n_nodes;
  to->n_inputs += from->n_inputs;
  return a;
}

static sn_status record_cut(state *s, sn_id from, sn_id to, sn_cut why) {
  SN_TRY(sn_arena_grow(s->arena, (void **)&s->cuts, &s->cap_cuts, s->n_cuts, sizeof *s->cuts));
  s->cuts[s->n_cuts++] = (sn_cut_record){from, to, why};
  return SN_OK;
}

/* Whether an elementwise user may sit in the kernel of node p, reading it without memory. */
static bool joinable(const state *s, sn_id p) {
  if (!s->fusion || s->owner[p] != SN_NONE) return false;
  return sn_op_is_elementwise(s->g->nodes[p].op) || has_epilogue(class_of(s, p));
}

/* Unites the kernels of id's inputs of level `level`; SN_NONE if there are none or they do not fit.
 */
static sn_status join_inputs(state *s, sn_id id, uint32_t level, uint32_t *out) {
  const sn_id *x = sn_graph_inputs(s->g, id);
  const uint32_t n = s->g->nodes[id].n_inputs;
  uint32_t joined[SN_MAX_ARITY], n_joined = 0, nodes = 1, inputs = n;
  sn_id head = SN_NONE;
  *out = SN_NONE;
  for (uint32_t k = 0; k < n; k++) {
    if (!joinable(s, x[k]) || s->level[x[k]] != level) continue;
    const uint32_t i = find(s, s->set_of[x[k]]);
    bool known = false;
    for (uint32_t j = 0; j < n_joined; j++) known = known || joined[j] == i;
    if (known) continue;
    joined[n_joined++] = i;
    nodes += s->sets[i].n_nodes;
    inputs += s->sets[i].n_inputs;
    const bool clash = head != SN_NONE && s->sets[i].head != SN_NONE;
    if (clash) return record_cut(s, x[k], id, SN_CUT_TWO_HEADS);
    if (nodes > MAX_SET_NODES || inputs > MAX_SET_INPUTS)
      return record_cut(s, x[k], id, SN_CUT_LIMIT);
    if (s->sets[i].head != SN_NONE) head = s->sets[i].head;
  }
  if (!n_joined) return SN_OK;
  uint32_t root = joined[0];
  for (uint32_t j = 1; j < n_joined; j++) root = unite(s, root, joined[j]);
  s->sets[root].n_nodes++;
  s->sets[root].n_inputs += n;
  *out = root;
  return SN_OK;
}

/* A map of the same shape and level that reads one of id's inputs already: one pass over that
 * input. */
static uint32_t join_reader(state *s, sn_id id, uint32_t level) {
  const sn_id *x = sn_graph_inputs(s->g, id);
  for (uint32_t k = 0; s->fusion && k < s->g->nodes[id].n_inputs; k++) {
    if (s->reader[x[k]] == SN_NONE) continue;
    const uint32_t i = find(s, s->reader[x[k]]);
    set *t = &s->sets[i];
    if (t->level != level || t->n_nodes >= MAX_SET_NODES ||
        t->n_inputs + s->g->nodes[id].n_inputs > MAX_SET_INPUTS)
      continue;
    t->n_nodes++;
    t->n_inputs += s->g->nodes[id].n_inputs;
    return i;
  }
  return SN_NONE;
}

static sn_status place_elementwise(state *s, sn_id id) {
  const sn_id *x = sn_graph_inputs(s->g, id);
  const uint32_t n = s->g->nodes[id].n_inputs;
  uint32_t level = 1;
  for (uint32_t k = 0; k < n; k++) {
    const uint32_t least = s->level[x[k]] + (joinable(s, x[k]) ? 0 : 1);
    if (least > level) level = least;
    const sn_op_class kind = class_of(s, x[k]);
    if (kind == SN_CLASS_VIEW && s->level[x[k]]) SN_TRY(record_cut(s, x[k], id, SN_CUT_VIEW));
    if (kind == SN_CLASS_PAD || kind == SN_CLASS_CONCAT || sn_op_is_ready(s->g->nodes[x[k]].op))
      SN_TRY(record_cut(s, x[k], id, SN_CUT_KIND));
  }
  bool has_peer = false;
  for (uint32_t k = 0; k < n; k++)
    has_peer = has_peer || (joinable(s, x[k]) && s->level[x[k]] == level);
  uint32_t i;
  SN_TRY(join_inputs(s, id, level, &i));
  if (i == SN_NONE) {
    if (has_peer) level++; /* the peers did not fit: read them from memory */
    i = join_reader(s, id, level);
  }
  if (i == SN_NONE) i = new_set(s, id, SN_NONE, level);
  s->level[id] = level;
  s->set_of[id] = i;
  for (uint32_t k = 0; k < n; k++) s->reader[x[k]] = i;
  return SN_OK;
}

static sn_status place(state *s, sn_id id) {
  const sn_node *node = sn_graph_node(s->g, id);
  const sn_id *x = sn_graph_inputs(s->g, id);
  uint32_t level = 0;
  for (uint32_t k = 0; k < node->n_inputs; k++)
    if (s->level[x[k]] > level) level = s->level[x[k]];
  s->set_of[id] = SN_NONE;
  s->level[id] = level;
  const sn_op_class kind = class_of(s, id);
  if (kind == SN_CLASS_LEAF || kind == SN_CLASS_VIEW || s->owner[id] != SN_NONE) return SN_OK;
  if (sn_op_is_elementwise(node->op)) return place_elementwise(s, id);
  s->level[id] = level + 1;
  s->set_of[id] = new_set(s, id, id, level + 1);
  return SN_OK;
}

/* Sinking. Levels place a node as early as they can, so work on arguments alone would be a kernel
 * of its own long before its result is used. A set that one other set alone reads, element by
 * element, joins that set: it is computed there and needs no memory. Nothing else waits for it, so
 * moving it later makes no cycle. */
static sn_status sink_sets(state *s) {
  enum { NOBODY = SN_NONE, SEVERAL = SN_NONE - 1 };
  const sn_graph *g = s->g;
  uint32_t *user;
  SN_TRY(sn_arena_alloc(s->arena, s->n_sets, sizeof *user, (void **)&user));
  for (uint32_t i = 0; i < s->n_sets; i++) user[i] = (uint32_t)NOBODY;
  for (sn_id id = (sn_id)g->n_nodes;
       id-- > 0;) { /* users have larger ids: seen before what they use */
    if (!s->live[id]) continue;
    const uint32_t mine = s->set_of[id] == SN_NONE ? (uint32_t)SEVERAL : find(s, s->set_of[id]);
    const bool in_step = mine != (uint32_t)SEVERAL && sn_op_is_elementwise(g->nodes[id].op);
    const sn_id *x = sn_graph_inputs(g, id);
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) {
      if (s->set_of[x[k]] == SN_NONE) continue;
      const uint32_t theirs = find(s, s->set_of[x[k]]);
      if (theirs == mine) continue;
      const bool known = user[theirs] == (uint32_t)NOBODY || user[theirs] == mine;
      user[theirs] = in_step && joinable(s, x[k]) && known ? mine : (uint32_t)SEVERAL;
    }
  }
  /* later sets first, so that a chain of sets sinks as a whole */
  for (uint32_t i = (uint32_t)s->n_sets; i-- > 0;) {
    if (find(s, i) != i || user[i] >= (uint32_t)SEVERAL) continue;
    const uint32_t to = find(s, user[i]);
    const set *a = &s->sets[i], *b = &s->sets[to];
    if (to == i || (a->head != SN_NONE && b->head != SN_NONE) ||
        a->n_nodes + b->n_nodes > MAX_SET_NODES || a->n_inputs + b->n_inputs > MAX_SET_INPUTS)
      continue;
    const uint32_t level = b->level, onward = user[to], root = unite(s, i, to);
    s->sets[root].level = level;
    user[root] = onward;
  }
  return SN_OK;
}

/* Numbers the sets by level, then by first node. */
static sn_status number_sets(state *s, sn_partition *out) {
  uint32_t *number, *at, deepest = 0;
  SN_TRY(sn_arena_alloc(s->arena, s->n_sets, sizeof *number, (void **)&number));
  for (uint32_t i = 0; i < s->n_sets; i++)
    if (s->sets[i].level > deepest) deepest = s->sets[i].level;
  SN_TRY(sn_arena_alloc(s->arena, (size_t)deepest + 2, sizeof *at, (void **)&at));
  for (uint32_t i = 0; i < s->n_sets; i++)
    if (find(s, i) == i) at[s->sets[i].level + 1]++;
  for (uint32_t l = 1; l <= deepest + 1; l++) at[l] += at[l - 1];
  out->n_sets = at[deepest + 1];
  SN_TRY(sn_arena_alloc(s->arena, out->n_sets, sizeof *out->head, (void **)&out->head));
  for (sn_id id = 0; id < s->g->n_nodes; id++) { /* ascending ids: first nodes come in order */
    if (s->set_of[id] == SN_NONE) continue;
    const uint32_t i = find(s, s->set_of[id]);
    if (s->sets[i].first == id) {
      number[i] = at[s->sets[i].level]++;
      out->head[number[i]] = s->sets[i].head;
    }
    s->set_of[id] = number[i];
  }
  return SN_OK;
}

sn_status sn_partition_graph(const sn_graph *g, bool fusion, sn_partition *out) {
  state s = {.g = g, .arena = g->arena, .fusion = fusion};
  const size_t n = g->n_nodes;
  uint8_t *live;
  SN_TRY(sn_arena_alloc(g->arena, n, 1, (void **)&live));
  SN_TRY(sn_arena_alloc(g->arena, n, sizeof *s.level, (void **)&s.level));
  SN_TRY(sn_arena_alloc(g->arena, n, sizeof *s.set_of, (void **)&s.set_of));
  SN_TRY(sn_arena_alloc(g->arena, n, sizeof *s.owner, (void **)&s.owner));
  SN_TRY(sn_arena_alloc(g->arena, n, sizeof *s.sets, (void **)&s.sets));
  SN_TRY(sn_arena_alloc(g->arena, n, sizeof *s.reader, (void **)&s.reader));
  sn_graph_live(g, live);
  s.live = live;
  for (size_t i = 0; i < n; i++) s.set_of[i] = s.reader[i] = SN_NONE;
  SN_TRY(find_owned(&s));
  for (sn_id id = 0; id < n; id++)
    if (live[id]) SN_TRY(place(&s, id));
  if (fusion) SN_TRY(sink_sets(&s));
  *out = (sn_partition){.set = s.set_of, .owner = s.owner};
  SN_TRY(number_sets(&s, out));
  out->cuts = s.cuts;
  out->n_cuts = s.n_cuts;
  return SN_OK;
}
