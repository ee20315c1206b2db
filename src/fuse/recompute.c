/* recompute.c - which values other kernels compute again instead of reading them from memory: casts
 * from a small dtype, of which the narrow input is stored instead, and cheap values.
 *
 *   kernel 1:  n = astype16(y), v = astype32(n)          stores n, not v: half the bytes
 *   kernel 2:  ... v ...                                 v = astype32(n) again
 *
 * A cheap value is, say, the mask x > 0 of a forward pass, whose x is in memory anyway.
 *
 *   kernel 1:  m = x > 0, y = where(m, x, 0)             instead of storing m for kernel 2
 *   kernel 2:  g' = where(m, g, 0)                       m = x > 0 again, from x
 *
 * A value is made again when that moves fewer bytes: it is not written, and each reader reads those
 * of its inputs that it does not read already. The value must be cheap. Its inputs must be in memory
 * or constant, or made from such values in the same kernel (the comparison in astype(x == y)). Every
 * reader must take it element by element; where the target limits buffers, none may read one more
 * buffer for it. */
#include "fuse/lowering.h"

#define MAX_SOURCES 8 /* most inputs of a value that is made again: bounds the compiler's work */

typedef struct again_state {
  const sn_lowering *l;
  const uint8_t *stored;
  double *saved; /* per node: bytes not moved less bytes moved instead */
  /* per node: 2 + the last kernel of which it is counted that it reads the node; 1: none yet; 0: no candidate */
  uint32_t *counted;
} again_state;

static bool in_memory(const again_state *s, sn_id x) {
  const sn_id base = s->l->views[x].base;
  const sn_op op = s->l->g->nodes[base].op;
  return s->stored[base] || op == SN_OP_input || op == SN_OP_constant || op == SN_OP_iota;
}

static bool is_cheap_map(const again_state *s, sn_id id, uint32_t *cost) {
  const sn_op op = s->l->g->nodes[id].op;
  *cost += sn_op_describe(op)->cost;
  return sn_op_is_elementwise(op) && *cost <= s->l->p->target->costs.again_flops;
}

/* Whether x is made in id's kernel and is not in memory. */
static bool is_inner(const again_state *s, sn_id id, sn_id x) {
  const sn_partition *p = s->l->p;
  return p->set[x] != SN_NONE && p->set[x] == p->set[id] && !s->stored[x];
}

/* The values in memory, or constants, from which a node can be made, through one more op if need be. */
typedef struct sources {
  sn_id x[MAX_SOURCES];
  uint32_t n;
} sources;

static bool add_sources(const again_state *s, sn_id id, sources *out, uint32_t *cost, bool inner) {
  const sn_graph *g = s->l->g;
  if (!is_cheap_map(s, id, cost)) return false;
  for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) {
    const sn_id x = sn_graph_inputs(g, id)[k];
    if (in_memory(s, x) && out->n < MAX_SOURCES)
      out->x[out->n++] = x;
    else if (inner || !is_inner(s, id, x) || !add_sources(s, x, out, cost, true))
      return false;
  }
  return true;
}

static bool is_candidate(const again_state *s, sn_id id, sources *out) {
  uint32_t cost = 0;
  out->n = 0;
  return s->stored[id] == SN_STORED_VALUE && add_sources(s, id, out, &cost, false);
}

static uint32_t kernel_of(const sn_lowering *l, sn_id id) {
  return l->p->set[l->p->owner[id] == SN_NONE ? id : l->p->owner[id]];
}

/* Whether the user takes x element by element, in a body. */
static bool takes_elements(const sn_lowering *l, sn_id user) {
  return sn_op_is_elementwise(l->g->nodes[user].op) ||
         sn_op_describe(l->g->nodes[user].op)->kind == SN_CLASS_REDUCE;
}

static bool is_view_of(const sn_lowering *l, sn_id x, sn_id whole) {
  return l->views[x].base == whole &&
         sn_type_size(&l->g->nodes[x].type) >= sn_type_size(&l->g->nodes[whole].type);
}

/* Whether the kernel reads x, or all of its elements in another shape. */
static bool kernel_reads(const sn_lowering *l, uint32_t set, sn_id x) {
  size_t n;
  const sn_id *nodes = sn_lower_members(l, set, &n);
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < l->g->nodes[nodes[i]].n_inputs; k++) {
      const sn_id read = sn_graph_inputs(l->g, nodes[i])[k];
      if (read == x || is_view_of(l, read, x)) return true;
    }
  return false;
}

/* Bytes that kernel `set` would read beyond what it reads now, to make id again. */
static double more_bytes(const again_state *s, uint32_t set, sn_id id) {
  const sn_lowering *l = s->l;
  sources from;
  double bytes = 0;
  is_candidate(s, id, &from);
  for (uint32_t k = 0; k < from.n; k++) {
    const sn_id base = l->views[from.x[k]].base;
    if (!s->stored[base] && l->g->nodes[base].op != SN_OP_input) continue;
    const double shown = (double)sn_type_bytes(&l->g->nodes[from.x[k]].type);
    const double there = (double)sn_type_bytes(&l->g->nodes[base].type); /* fewer if repeated */
    if (!kernel_reads(l, set, from.x[k])) bytes += shown < there ? shown : there;
  }
  return bytes;
}

/* Adds to saved[x] what it means that `user` reads x: once for each kernel, which reads x once for all of its nodes. */
static void count_reader(again_state *s, sn_id user, sn_id x) {
  const sn_lowering *l = s->l;
  const sn_id base = l->views[x].base;
  const uint32_t kernel = kernel_of(l, user);
  if (!s->counted[base] || kernel == kernel_of(l, base)) return;
  const bool takes = x == base && takes_elements(l, user);
  if (takes && s->counted[base] == kernel + 2) return;
  const double more = takes ? more_bytes(s, kernel, base) : 0;
  if (!takes || (more > 0 && l->p->target->limits.buffers != SN_NO_LIMIT)) {
    s->counted[base] = 0;
    s->saved[base] = 0;
    return;
  }
  s->counted[base] = kernel + 2;
  s->saved[base] += (double)sn_type_bytes(&l->g->nodes[base].type) - more;
}

static void count_inputs(again_state *s, sn_id user) {
  const sn_graph *g = s->l->g;
  for (uint32_t k = 0; k < g->nodes[user].n_inputs; k++)
    count_reader(s, user, sn_graph_inputs(g, user)[k]);
}

/* Counts all readers, kernel by kernel, and before them those in no kernel: a gather that loads become. */
static void count_readers(again_state *s) {
  const sn_lowering *l = s->l;
  for (sn_id id = 0; id < l->g->n_nodes; id++) {
    const bool is_view = sn_op_describe(l->g->nodes[id].op)->kind == SN_CLASS_VIEW;
    if (l->live[id] && !is_view && kernel_of(l, id) == SN_NONE) count_inputs(s, id);
  }
  for (size_t set = 0; set < l->p->n_sets; set++) {
    size_t n;
    const sn_id *nodes = sn_lower_members(l, set, &n);
    for (size_t i = 0; i < n; i++) count_inputs(s, nodes[i]);
  }
}

/* ---- casts ----------------------------------------------------------------------------------- */

/* Whether id is in memory for others, and a cast of a whole value of a small dtype. */
static bool is_stored_cast(const again_state *s, sn_id id) {
  const sn_lowering *l = s->l;
  if (s->stored[id] != SN_STORED_VALUE || l->g->nodes[id].op != SN_OP_astype) return false;
  const sn_id from = *sn_graph_inputs(l->g, id);
  const sn_op op = l->g->nodes[from].op;
  const bool made = l->p->set[from] != SN_NONE && op != SN_OP_constant && op != SN_OP_iota;
  const bool there = made || op == SN_OP_input;
  return sn_dtype_is_small(l->g->nodes[from].type.dtype) && l->views[from].base == from && there;
}

/* Stores the input of a cast instead of the cast, if all readers can cast it themselves. */
static sn_status store_before_casts(const again_state *s, uint8_t *stored, uint8_t *recomputed) {
  const sn_lowering *l = s->l;
  const sn_graph *g = l->g;
  uint8_t *fixed; /* per node: whether a reader does not take it element by element */
  SN_TRY(sn_arena_alloc(l->scratch, g->n_nodes, 1, (void **)&fixed));
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const bool is_view = sn_op_describe(g->nodes[id].op)->kind == SN_CLASS_VIEW;
    if (!l->live[id] || is_view || takes_elements(l, id)) continue;
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++)
      fixed[l->views[sn_graph_inputs(g, id)[k]].base] = 1;
  }
  for (sn_id id = 0; id < g->n_nodes; id++) {
    if (!l->live[id] || fixed[id] || !is_stored_cast(s, id)) continue;
    const sn_id from = *sn_graph_inputs(g, id);
    recomputed[id] = 1;
    stored[id] = 0;
    if (l->p->set[from] != SN_NONE && stored[from] != SN_STORED_OUTPUT)
      stored[from] = SN_STORED_CAST;
  }
  return SN_OK;
}

sn_status sn_lower_recompute(const sn_lowering *l, uint8_t *stored, uint8_t *recomputed) {
  again_state s = {.l = l, .stored = stored};
  const sn_graph *g = l->g;
  SN_TRY(store_before_casts(&s, stored, recomputed));
  SN_TRY(sn_arena_alloc(l->scratch, g->n_nodes, sizeof *s.saved, (void **)&s.saved));
  SN_TRY(sn_arena_alloc(l->scratch, g->n_nodes, sizeof *s.counted, (void **)&s.counted));
  bool any = false;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    if (!l->live[id] || !is_candidate(&s, id, &(sources){0})) continue;
    s.saved[id] = (double)sn_type_bytes(&g->nodes[id].type); /* is not written */
    s.counted[id] = 1;
    any = true;
  }
  if (!any) return SN_OK;
  count_readers(&s);
  /* ascending ids: a value one of whose inputs is made again is no candidate any more, and is stored */
  for (sn_id id = 0; id < g->n_nodes; id++) {
    if (!(s.saved[id] > 0) || !is_candidate(&s, id, &(sources){0})) continue;
    recomputed[id] = 1;
    stored[id] = 0;
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++)
      if (is_inner(&s, id, sn_graph_inputs(g, id)[k])) recomputed[sn_graph_inputs(g, id)[k]] = 1;
  }
  return SN_OK;
}
