/* rematerialize.c - a matrix far larger than its operands, such as the scores of attention (a wide
 * matrix), is computed again for a use that cannot share one walk over blocks of rows (fuse/chain.h)
 * with the first use:
 *
 *   s = q k^T,  p = e^(s - m) / l,  o = p v
 *   later       ds = p (do v^T - d)  waits for o, which is made of p: gets p of another q k^T
 *   transposed  dv = p^T do          walks over columns of p: gets p^T of k q^T, row by row
 *
 * Then fusion keeps only blocks of each of them, in a worker's own memory. Products with short sums
 * and elementwise ops are computed again; their other inputs are in memory anyway. A barrier holds a
 * copy back until its user's other inputs are there. The bits are the same: a transposed product adds
 * the same products in the same order. One exception: a transposed use with few columns may have had
 * its long sum in segments (sn_target_sum_segments) while it had few rows, and now has it whole. */
#include "build/rewrite.h"
#include "passes/passes.h"

/* "Far larger": rows and columns of the matrix are at least so many times the number of terms k of
 * its sums. Forward and backward together take about 1.6 times as long with the matrix computed
 * again, so the target also demands that it is large (remade_bytes) and k small (remade_terms). */
enum { SIDES_TO_TERMS = 4 };

/* The two kinds of copies: for a later use, and for a transposed use. */
typedef enum kind { LATER, TRANSPOSED, KINDS } kind;

/* All arrays are per old node. */
typedef struct copies {
  sn_id *user; /* the first node that uses the node's copy; SN_NONE: it has no copy */
  /* A list, in order of ids: the nodes whose copies this node is the first to use, and the next one in it. */
  sn_id *first, *next;
  sn_id *made; /* the copy in the new graph */
} copies;

typedef struct remaker { /* all arrays are per old node */
  const sn_target *target;
  uint8_t *live;
  uint8_t *wide;   /* a wide matrix: a wide product, or elementwise of one */
  uint32_t *stage; /* the most products on a path to the node that consume a wide matrix */
  /* among its inputs that are not wide, and the gates of the wide ones, one of its stage */
  sn_id *gate;
  copies of[KINDS];
} remaker;

/* A product that consumes a wide matrix, row by row, or column by column if transposed. */
typedef struct wide_use {
  int side; /* which operand it is, behind a transpose or not */
  sn_id x;  /* the wide matrix */
  bool transposed;
} wide_use;

static bool swaps_last(const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  const int last = node->type.rank - 1;
  if (node->op != SN_OP_transpose) return false;
  for (int i = 0; i < last - 1; i++)
    if (sn_graph_attrs(g, id)[i] != i) return false;
  return last > 0 && sn_graph_attrs(g, id)[last] == last - 1;
}

static bool is_wide_product(const sn_target *target, const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  if (node->op != SN_OP_matmul || sn_type_bytes(&node->type) < target->costs.remade_bytes)
    return false;
  const int last = node->type.rank - 1;
  const int64_t k = g->nodes[*sn_graph_inputs(g, id)].type.dims[last];
  const int64_t rows = node->type.dims[last - 1], columns = node->type.dims[last];
  /* Tested per matrix of a batch. Turning a product may change whether the batch joins its rows, and
   * tiny products have other bits. */
  return k <= target->costs.remade_terms && rows >= SIDES_TO_TERMS * k &&
         columns >= SIDES_TO_TERMS * k && columns > target->costs.tiny_product / rows;
}

/* Whether node id is a product with a wide operand that is not wide itself; fills *use. */
static bool uses_wide(const remaker *m, const sn_graph *g, sn_id id, wide_use *use) {
  if (g->nodes[id].op != SN_OP_matmul || m->wide[id]) return false;
  for (int side = 0; side < 2; side++) {
    const sn_id x = sn_graph_inputs(g, id)[side];
    const bool swapped = swaps_last(g, x);
    *use = (wide_use){side, swapped ? *sn_graph_inputs(g, x) : x, swapped != (side == 1)};
    if (m->wide[use->x]) return true;
  }
  return false;
}

/* ---- which copies ---------------------------------------------------------------------------- */

/* Whether the op can join a walk over rows of its inputs: an elementwise op or a reduction. */
static bool is_in_step(const sn_graph *g, sn_id id) {
  const sn_op op = g->nodes[id].op;
  return sn_op_is_elementwise(op) || sn_op_describe(op)->kind == SN_CLASS_REDUCE;
}

/* Sets wide, stage and gate of node id. Its inputs have theirs. */
static void look_at(remaker *m, const sn_graph *g, sn_id id) {
  const sn_id *x = sn_graph_inputs(g, id);
  bool wide = is_wide_product(m->target, g, id);
  for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) {
    wide_use use;
    const uint32_t after = m->stage[x[k]] + uses_wide(m, g, x[k], &use);
    if (m->gate[id] == SN_NONE || after > m->stage[id])
      m->gate[id] = m->wide[x[k]] ? m->gate[x[k]] : x[k];
    if (after > m->stage[id]) m->stage[id] = after;
    wide = wide || (m->wide[x[k]] && sn_op_is_elementwise(g->nodes[id].op));
  }
  m->wide[id] = wide;
}

/* Whether node id uses the wide matrix x in a later stage than x is made in, so it needs a copy. */
static bool is_later(const remaker *m, sn_id id, sn_id x) {
  return m->wide[x] && m->stage[id] > m->stage[x];
}

static void want(copies *c, sn_id x, sn_id user) {
  if (user < c->user[x]) c->user[x] = user; /* SN_NONE is the largest */
}

/* Marks the copies that node id needs. Called from the last node to the first, so the copies of node
 * id itself are known, and their inputs are copied with them. */
static void find_copies(remaker *m, const sn_graph *g, sn_id id) {
  wide_use use;
  if (uses_wide(m, g, id, &use)) {
    if (use.transposed || is_later(m, id, use.x))
      want(&m->of[use.transposed ? TRANSPOSED : LATER], use.x, id);
    return;
  }
  for (uint32_t k = 0; k < g->nodes[id].n_inputs && is_in_step(g, id); k++) {
    const sn_id x = sn_graph_inputs(g, id)[k];
    if (is_later(m, id, x)) want(&m->of[LATER], x, id);
    if (m->wide[x]) want(&m->of[LATER], x, m->of[LATER].user[id]);
    if (m->wide[x] || sn_op_is_elementwise(g->nodes[x].op))
      want(&m->of[TRANSPOSED], x, m->of[TRANSPOSED].user[id]);
  }
}

/* ---- the new graph --------------------------------------------------------------------------- */

/* x with its last two axes swapped. */
static sn_id transpose(sn_build *b, sn_id x) {
  if (b->status) return SN_NONE;
  return swaps_last(b->graph, x) ? *sn_graph_inputs(b->graph, x) : sn_build_swap_last(b, x);
}

/* What a copy reads for input x of the original: the copy of x if there is one, else x itself. */
static sn_id input_of(sn_rewrite *r, kind which, sn_id x) {
  const remaker *m = r->user;
  if (m->of[which].user[x] != SN_NONE) return m->of[which].made[x];
  return which == TRANSPOSED ? transpose(&r->to, r->map[x]) : r->map[x];
}

static sn_id copy_product(sn_rewrite *r, kind which, sn_id id) {
  const remaker *m = r->user;
  const sn_id *x = sn_graph_inputs(r->from, id);
  const sn_id held[] = {r->map[x[0]], r->map[m->gate[m->of[which].user[id]]]}, b = r->map[x[1]];
  const sn_id a = sn_build_op(&r->to, SN_OP_barrier, held, 2, NULL, 0, NULL);
  return which == LATER ? sn_build_matmul(&r->to, a, b)
                        : sn_build_matmul(&r->to, transpose(&r->to, b), transpose(&r->to, a));
}

static sn_id copy_node(sn_rewrite *r, kind which, sn_id id) {
  const sn_node *node = sn_graph_node(r->from, id);
  if (node->op == SN_OP_matmul) return copy_product(r, which, id);
  const int last = node->type.rank - 1;
  sn_id in[SN_MAX_ARITY];
  sn_type type = node->type;
  for (uint32_t k = 0; k < node->n_inputs; k++)
    in[k] = input_of(r, which, sn_graph_inputs(r->from, id)[k]);
  if (which == TRANSPOSED) {
    type.dims[last] = node->type.dims[last - 1];
    type.dims[last - 1] = node->type.dims[last];
  }
  return sn_build_op(&r->to, node->op, in, node->n_inputs, sn_graph_attrs(r->from, id),
                     node->n_attrs, &type);
}

static sn_id rewrite_use(sn_rewrite *r, sn_id id, const sn_id *inputs, const wide_use *use) {
  const remaker *m = r->user;
  const sn_id x = use->transposed           ? m->of[TRANSPOSED].made[use->x]
                  : is_later(m, id, use->x) ? m->of[LATER].made[use->x]
                                            : r->map[use->x];
  if (use->side == 0) return sn_build_matmul(&r->to, x, inputs[1]);
  return transpose(&r->to, sn_build_matmul(&r->to, x, transpose(&r->to, inputs[0])));
}

static sn_id rewrite_node(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const remaker *m = r->user;
  const sn_node *node = sn_graph_node(r->from, id);
  const sn_id *x = sn_graph_inputs(r->from, id);
  sn_id in[SN_MAX_ARITY];
  wide_use use;
  for (kind which = 0; which < KINDS; which++)
    for (sn_id i = m->of[which].first[id]; i != SN_NONE; i = m->of[which].next[i])
      m->of[which].made[i] = copy_node(r, which, i);
  if (uses_wide(m, r->from, id, &use)) return rewrite_use(r, id, inputs, &use);
  if (swaps_last(r->from, id)) return transpose(&r->to, inputs[0]);
  if (!is_in_step(r->from, id)) return SN_NONE;
  for (uint32_t k = 0; k < node->n_inputs; k++)
    in[k] = is_later(m, id, x[k]) ? m->of[LATER].made[x[k]] : inputs[k];
  return sn_build_op(&r->to, node->op, in, node->n_inputs, sn_graph_attrs(r->from, id),
                     node->n_attrs, &node->type);
}

static sn_status new_list(const sn_graph *g, sn_id **list) {
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, sizeof **list, (void **)list));
  for (size_t i = 0; i < g->n_nodes; i++) (*list)[i] = SN_NONE;
  return SN_OK;
}

static void list_by_user(copies *c, size_t n) {
  for (sn_id id = (sn_id)n; id-- > 0;) {
    if (c->user[id] == SN_NONE) continue;
    c->next[id] = c->first[c->user[id]];
    c->first[c->user[id]] = id;
  }
}

sn_status sn_pass_rematerialize(const sn_pass_context *context, const sn_graph *g, sn_graph *to) {
  remaker m = {.target = context->target};
  const size_t n = g->n_nodes;
  SN_TRY(sn_arena_alloc(g->arena, n, 1, (void **)&m.live));
  SN_TRY(sn_arena_alloc(g->arena, n, 1, (void **)&m.wide));
  SN_TRY(sn_arena_alloc(g->arena, n, sizeof *m.stage, (void **)&m.stage));
  SN_TRY(new_list(g, &m.gate));
  for (copies *c = m.of; c < m.of + KINDS; c++) {
    SN_TRY(new_list(g, &c->user));
    SN_TRY(new_list(g, &c->first));
    SN_TRY(new_list(g, &c->next));
    SN_TRY(new_list(g, &c->made));
  }
  sn_graph_live(g, m.live);
  for (sn_id id = 0; id < n; id++) look_at(&m, g, id);
  for (sn_id id = (sn_id)n; id-- > 0;)
    if (m.live[id]) find_copies(&m, g, id);
  for (kind which = 0; which < KINDS; which++) list_by_user(&m.of[which], n);
  return sn_rewrite_graph(g, to, to->arena, context->share, m.live, rewrite_node, &m);
}
