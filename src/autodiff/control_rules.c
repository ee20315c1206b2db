/* control_rules.c - derivatives of loops and conditions, which are loops and conditions again.
 *
 *   scan     vjp: a scan with the rounds in reverse order. It carries the cotangents of the carries and adds up those of
 *                 the consts. What it needs of the forward rounds, a copy of the forward loop stacks as further results:
 *                 carries and costly values. All other values are computed again from these.
 *            jvp: tangents are carried and stacked beside the values
 *   cond     vjp, jvp: of both branches; a branch of the vjp computes again the forward values that it needs
 *   while    jvp: like a scan's. There is no vjp, because the number of rounds is not known */
#include <string.h>

#include "autodiff/control_site.h"
#include "autodiff/jvp.h"
#include "autodiff/rules.h"
#include "autodiff/vjp.h"
#include "build/rewrite.h"

/* ---- what depends on what -------------------------------------------------------------------- */

/* Sets active: per argument of the body, whether its value depends on an input that is marked in `given`. A carry may
 * depend on it only through earlier rounds, so this repeats until no further one is found. */
static sn_status find_active(const sn_site *s, const bool *given, uint8_t **active) {
  const sn_graph *body = s->c.regions[0];
  uint8_t *marks;
  SN_TRY(sn_arena_alloc(s->b->arena, s->n, 1, (void **)active));
  SN_TRY(sn_arena_alloc(s->b->arena, body->n_nodes, 1, (void **)&marks));
  for (size_t k = 0; k < sn_site_arguments(s); k++)
    (*active)[k] = given[k + sn_control_first(s->c.op)];
  for (bool found = true; found;) {
    found = false;
    sn_region_flow(body, *active, true, marks);
    for (size_t k = 0; k < s->c.n_carries; k++) {
      if ((*active)[k] || !marks[body->outputs[k]]) continue;
      (*active)[k] = 1;
      found = true;
    }
  }
  return SN_OK;
}

/* ---- vjp of scan ----------------------------------------------------------------------------- */

/* How a const's cotangent is summed over rounds: carried by the loop, or behind it from values that the rounds stack. The
 * sum over t of products a[t] b[t] is one product, of all a side by side and all b below each other; sums make one sum. */
typedef struct late_sum {
  sn_op op;         /* matmul or sum, behind the loop; SN_OP_NONE: it is carried */
  size_t stacks[2]; /* indices in scan_vjp.stacked of the operands */
  bool transposed[2]; /* the operand is the transpose of the stacked value */
  uint64_t axes;    /* of a sum */
  sn_type type;     /* of a sum's result */
} late_sum;

typedef struct scan_vjp {
  sn_site s;
  const sn_id *dy;
  const bool *wanted;
  sn_id *dx;
  uint8_t *active;
  size_t n_forward; /* nodes of the maker below this are copies of the forward body's */
  /* arguments of sn_vjp_nodes, which is called for all results of the body at once; nodes of the maker */
  sn_id *y, *dy_inside, *wrt, *dwrt;
  size_t n_y, n_wrt;
  late_sum *late; /* per argument */
  sn_id *stacked; /* nodes of the maker that the backward loop stacks for late sums */
  size_t n_stacked;
  /* the copy of the forward loop */
  sn_id *extras; /* nodes of its body that are further results */
  size_t n_extras;
  sn_id forward; /* its node */
} scan_vjp;

static bool is_float(const sn_build *b, sn_id x) {
  return sn_dtype_is_float(sn_build_type(b, x)->dtype);
}

static sn_id zeros(sn_build *b, const sn_type *type) { return sn_build_full(b, type, 0); }

/* Adds a cotangent that the backward loop carries. It begins as `start`, or as zeros if that is SN_NONE. */
static sn_id carried(scan_vjp *v, sn_id start, const sn_type *type) {
  if (start == SN_NONE) start = zeros(v->s.b, type);
  return sn_body_argument(&v->s.m, SN_ARGUMENT_CARRY, SN_GIVEN_NODE, start, type);
}

/* Clears active for arguments that no result with a cotangent depends on, even through later rounds. These have no
 * cotangent at all, rather than zeros, because zero times an infinite derivative is NaN. */
static sn_status drop_unread(scan_vjp *v) {
  const sn_graph *body = v->s.c.regions[0];
  uint8_t *reads, *read;
  SN_TRY(sn_arena_alloc(v->s.b->arena, body->n_nodes, 1, (void **)&reads));
  SN_TRY(sn_arena_alloc(v->s.b->arena, v->s.n, 1, (void **)&read));
  for (size_t k = 0; k < v->s.c.n_results; k++) {
    if (v->dy[k] == SN_NONE) continue;
    reads[body->outputs[k]] = 1;
    if (k < v->s.c.n_carries) read[k] = 1; /* the result is the carry after the last round */
  }
  for (bool found = true; found;) {
    found = false;
    for (sn_id id = (sn_id)body->n_nodes; id-- > 0;) {
      const sn_node *node = &body->nodes[id];
      if (!reads[id]) continue;
      if (node->op == SN_OP_input) read[sn_graph_attrs(body, id)[0]] = 1;
      for (uint32_t k = 0; k < node->n_inputs; k++) reads[sn_graph_inputs(body, id)[k]] = 1;
    }
    for (size_t k = 0; k < v->s.c.n_carries; k++) {
      if (!read[k] || reads[body->outputs[k]]) continue;
      reads[body->outputs[k]] = 1;
      found = true;
    }
  }
  for (size_t k = 0; k < sn_site_arguments(&v->s); k++) v->active[k] = v->active[k] && read[k];
  return SN_OK;
}

static bool is_wanted(const scan_vjp *v, size_t k) {
  return v->active[k] && (k >= v->s.c.n_carries || is_float(v->s.b, v->s.x[k]));
}

/* Adds the cotangents of the body's results: a carry's comes from the later rounds, a slice's from the stack outside. */
static void give_cotangents(scan_vjp *v) {
  sn_site *s = &v->s;
  const sn_graph *body = s->c.regions[0];
  for (size_t k = 0; k < s->c.n_results && !s->m.b.status && !s->b->status; k++) {
    const bool carry = k < s->c.n_carries;
    if (carry ? !is_wanted(v, k) : v->dy[k] == SN_NONE) continue;
    const sn_type type = sn_wide_type(sn_output_type(body, k));
    v->y[v->n_y] = s->map[body->outputs[k]];
    v->dy_inside[v->n_y++] =
        carry ? carried(v, v->dy[k], &type)
              : sn_body_argument(&s->m, SN_ARGUMENT_SLICE, SN_GIVEN_NODE, v->dy[k], &type);
  }
}

static size_t stack_of(scan_vjp *v, sn_id node) {
  size_t i = 0;
  while (i < v->n_stacked && v->stacked[i] != node) i++;
  if (i == v->n_stacked) v->stacked[v->n_stacked++] = node;
  return i;
}

static bool is_stacked(const scan_vjp *v, sn_id node) {
  bool is = false;
  for (size_t i = 0; i < v->n_stacked; i++) is = is || v->stacked[i] == node;
  return is;
}

/* If d is a product that has at least as many elements as its factors have on average, plans to sum it late. */
static bool product_late(scan_vjp *v, sn_id d, late_sum *late) {
  const sn_graph *g = &v->s.m.graph;
  if (g->nodes[d].op != SN_OP_matmul || g->nodes[d].type.rank != 2) return false;
  int64_t moved = 0;
  for (int side = 0; side < 2; side++) {
    const sn_id x = sn_graph_inputs(g, d)[side];
    if (g->nodes[x].type.rank != 2) return false;
    moved += sn_type_size(&g->nodes[x].type);
  }
  if (moved > 2 * sn_type_size(&g->nodes[d].type)) return false;
  *late = (late_sum){.op = SN_OP_matmul};
  for (int side = 0; side < 2; side++) {
    sn_id x = sn_graph_inputs(g, d)[side];
    late->transposed[side] = g->nodes[x].op == SN_OP_transpose && sn_graph_attrs(g, x)[0] == 1;
    if (late->transposed[side]) x = *sn_graph_inputs(g, x);
    late->stacks[side] = stack_of(v, x);
  }
  return true;
}

/* If d is a sum of a value that is stacked anyway, plans to sum it late. */
static bool reduction_late(scan_vjp *v, sn_id d, late_sum *late) {
  const sn_graph *g = &v->s.m.graph;
  const sn_type type = g->nodes[d].type;
  if (g->nodes[d].op == SN_OP_reshape) d = *sn_graph_inputs(g, d);
  if (g->nodes[d].op != SN_OP_sum || !is_stacked(v, *sn_graph_inputs(g, d))) return false;
  *late = (late_sum){.op = SN_OP_sum, .axes = (uint64_t)*sn_graph_attrs(g, d), .type = type};
  late->stacks[0] = stack_of(v, *sn_graph_inputs(g, d));
  return true;
}

/* Chooses the consts whose cotangents are summed late: products first, as sums may then use what these stack. */
static void choose_late(scan_vjp *v) {
  const size_t n = sn_site_arguments(&v->s), consts = v->s.c.n_carries + v->s.c.n_stacks;
  for (int products = 1; products >= 0; products--) {
    size_t at = 0;
    for (size_t k = 0; k < n; k++) {
      if (!is_wanted(v, k)) continue;
      const sn_id d = v->dwrt[at++];
      if (k < consts || v->late[k].op) continue;
      if (products)
        product_late(v, d, &v->late[k]);
      else
        reduction_late(v, d, &v->late[k]);
    }
  }
}

/* Makes the outputs of the backward body: cotangents of carries, sums for consts, those of slices, stacks for late sums. */
static void make_backward(scan_vjp *v) {
  sn_site *s = &v->s;
  sn_build *b = &s->m.b;
  const size_t n = sn_site_arguments(s), consts = s->c.n_carries + s->c.n_stacks;
  for (size_t k = 0; k < n; k++)
    if (is_wanted(v, k)) v->wrt[v->n_wrt++] = s->args[k];
  if (!b->status)
    b->status = sn_vjp_nodes(b, v->y, v->dy_inside, v->n_y, v->wrt, v->n_wrt, v->dwrt);
  if (!b->status) choose_late(v);
  for (int pass = 0; pass < 3; pass++) {
    const sn_argument_kind kinds[] = {SN_ARGUMENT_CARRY, SN_ARGUMENT_CONST, SN_ARGUMENT_SLICE};
    size_t at = 0;
    for (size_t k = 0; k < n && !b->status && !s->b->status; k++) {
      if (!is_wanted(v, k)) continue;
      sn_id d = v->dwrt[at++];
      if (sn_argument_kind_of(&s->c, k) != kinds[pass] || v->late[k].op) continue;
      if (k >= consts) {
        const sn_type type = *sn_build_type(b, d);
        d = sn_build_binary(b, SN_OP_add, carried(v, SN_NONE, &type), d);
      }
      sn_body_output(&s->m, d);
    }
  }
  for (size_t i = 0; i < v->n_stacked; i++) sn_body_output(&s->m, v->stacked[i]);
}

/* Whether a forward value is stacked rather than computed again: it is costly and may differ between rounds. */
static bool is_worth_saving(const sn_build *b, sn_id id, const uint8_t *varies) {
  const sn_graph *g = b->graph;
  const sn_op_info *op = sn_op_describe(g->nodes[id].op);
  if (op->kind == SN_CLASS_LEAF || op->kind == SN_CLASS_VIEW || !varies[id]) return false;
  return !sn_op_is_elementwise(g->nodes[id].op) || op->cost >= b->load_flops;
}

static sn_status choose_saved(const scan_vjp *v, uint8_t **saved) {
  const sn_body_maker *m = &v->s.m;
  const sn_graph *g = &m->graph;
  uint8_t *need, *varies;
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, 1, (void **)&need));
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, 1, (void **)&varies));
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, 1, (void **)saved));
  for (sn_id id = 0; id < v->n_forward; id++) {
    const sn_node *node = sn_graph_node(g, id);
    if (node->op == SN_OP_input)
      varies[id] = m->arguments[sn_graph_attrs(g, id)[0]].kind != SN_ARGUMENT_CONST;
    for (uint32_t k = 0; k < node->n_inputs; k++)
      varies[id] = varies[id] || varies[sn_graph_inputs(g, id)[k]];
  }
  for (size_t i = 0; i < m->n_outputs; i++) need[m->outputs[i]] = 1;
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;) {
    if (!need[id]) continue;
    if (id < v->n_forward && is_worth_saving(&m->b, id, varies)) {
      (*saved)[id] = 1;
      continue;
    }
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) need[sn_graph_inputs(g, id)[k]] = 1;
  }
  return SN_OK;
}

/* Per forward node of the maker: the node of the old body that it is a copy of. */
static sn_status find_origins(const scan_vjp *v, sn_id **out) {
  const sn_graph *body = v->s.c.regions[0];
  SN_TRY(sn_arena_alloc(v->s.b->arena, v->n_forward, sizeof **out, (void **)out));
  for (sn_id id = (sn_id)body->n_nodes; id-- > 0;) (*out)[v->s.map[id]] = id;
  return SN_OK;
}

/* Makes the copy of the forward loop, which has what the backward loop needs as further results. */
static sn_status extend_forward(scan_vjp *v, const sn_argument *arguments, size_t n) {
  sn_site *s = &v->s;
  sn_arena *arena = s->b->arena;
  const size_t old = s->c.n_results;
  sn_graph body = *s->c.regions[0];
  int64_t attrs[SN_MAX_ATTRS];
  sn_id *origins;
  SN_TRY(find_origins(v, &origins));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *v->extras, (void **)&v->extras));
  for (size_t i = 0; i < n; i++) {
    const sn_argument *a = &arguments[i];
    if (a->given == SN_GIVEN_NODE) continue;
    v->extras[v->n_extras++] = origins[a->given == SN_GIVEN_CARRY ? s->args[a->from] : a->from];
  }
  if (!v->n_extras) return SN_OK;
  sn_id *outputs;
  SN_TRY(sn_arena_alloc(arena, old + v->n_extras, sizeof *outputs, (void **)&outputs));
  memcpy(outputs, body.outputs, old * sizeof *outputs);
  memcpy(outputs + old, v->extras, v->n_extras * sizeof *outputs);
  body.outputs = outputs;
  body.n_outputs += v->n_extras;
  memcpy(attrs, s->attrs, sizeof attrs);
  SN_TRY(sn_site_put_region(s, 0, &body));
  const sn_origin outside = s->b->origin;
  s->b->origin = s->origin;
  v->forward = sn_site_make_node(s, s->x, s->n);
  s->b->origin = outside;
  memcpy(s->attrs, attrs, sizeof attrs);
  return s->b->status;
}

/* The backward loop's inputs in the order of its arguments: nodes outside, and stacks that the forward copy makes. */
static sn_status backward_inputs(scan_vjp *v, const sn_argument *arguments, size_t n,
                                 sn_id **inputs) {
  sn_site *s = &v->s;
  size_t extra = 0;
  SN_TRY(sn_arena_alloc(s->b->arena, n, sizeof **inputs, (void **)inputs));
  for (size_t i = 0; i < n; i++) {
    (*inputs)[i] = arguments[i].from;
    if (arguments[i].given == SN_GIVEN_NODE) continue;
    const sn_type type =
        sn_type_stacked(&s->c.regions[0]->nodes[v->extras[extra]].type, s->c.length);
    (*inputs)[i] = sn_build_result(s->b, v->forward, s->c.n_results + extra, &type);
    extra++;
  }
  return s->b->status;
}

/* The stack (T, m, n) with axes i and j exchanged, as a matrix with `rows` rows. */
static sn_id as_matrix(sn_build *b, sn_id stack, int i, int j, int64_t rows) {
  if (b->status) return SN_NONE;
  int64_t perm[3] = {0, 1, 2};
  perm[i] = j;
  perm[j] = i;
  if (i != j) stack = sn_build_transpose(b, stack, perm);
  if (b->status) return SN_NONE;
  sn_type type = *sn_build_type(b, stack);
  const int64_t all = sn_type_size(&type), columns = rows ? all / rows : 0;
  type = (sn_type){.dtype = type.dtype, .rank = 2, .dims = {rows, columns}};
  return sn_build_reshape(b, stack, &type);
}

/* The late sum of products, as one product of (m, T k) and (T k, n). */
static sn_id product_of_stacks(sn_build *b, const late_sum *late, const sn_id *stacks) {
  const sn_type a = *sn_build_type(b, stacks[0]), c = *sn_build_type(b, stacks[1]);
  const int64_t m = a.dims[late->transposed[0] ? 2 : 1], k = a.dims[late->transposed[0] ? 1 : 2];
  const int64_t terms = c.dims[0] * k;
  sn_id left =
      late->transposed[0] ? as_matrix(b, stacks[0], 0, 0, terms) : as_matrix(b, stacks[0], 0, 1, m);
  if (late->transposed[0]) left = sn_build_swap_last(b, left);
  const sn_id right = late->transposed[1] ? as_matrix(b, stacks[1], 1, 2, terms)
                                          : as_matrix(b, stacks[1], 0, 0, terms);
  return sn_build_matmul(b, left, right);
}

/* Makes the late sums. first: the number of their first stack among the results of the backward loop, `node`. */
static void hand_out_late(scan_vjp *v, sn_id node, size_t first) {
  sn_build *b = v->s.b;
  for (size_t k = 0; k < sn_site_arguments(&v->s) && !b->status; k++) {
    const late_sum *late = &v->late[k];
    sn_id stacks[2];
    if (!late->op) continue;
    for (int i = 0; i < (late->op == SN_OP_matmul ? 2 : 1); i++) {
      const sn_id from = v->stacked[late->stacks[i]];
      const sn_type type = sn_type_stacked(&v->s.m.graph.nodes[from].type, v->s.c.length);
      stacks[i] = sn_build_result(b, node, first + late->stacks[i], &type);
    }
    if (b->status) return;
    if (late->op == SN_OP_matmul)
      v->dx[k] = product_of_stacks(b, late, stacks);
    else
      v->dx[k] = sn_build_reshape(b, sn_build_reduce(b, SN_OP_sum, stacks[0], late->axes << 1 | 1),
                                  &late->type);
  }
}

/* Sets dx to the results of the backward loop, in the order of make_backward. */
static void hand_out(scan_vjp *v, sn_id node) {
  sn_site *s = &v->s;
  const size_t n = sn_site_arguments(s);
  size_t result = 0;
  for (int pass = 0; pass < 3; pass++) {
    const sn_argument_kind kinds[] = {SN_ARGUMENT_CARRY, SN_ARGUMENT_CONST, SN_ARGUMENT_SLICE};
    for (size_t k = 0; k < n; k++) {
      if (!is_wanted(v, k) || sn_argument_kind_of(&s->c, k) != kinds[pass] || v->late[k].op)
        continue;
      const sn_type type = sn_wide_type(sn_build_type(s->b, s->x[k]));
      const size_t number = result++;
      if (v->wanted[k]) v->dx[k] = sn_build_result(s->b, node, number, &type);
      if (s->b->status) return;
    }
  }
  hand_out_late(v, node, result);
}

/* Puts the forward body into the maker. Its carries become slices, which the forward copy stacks. */
static sn_status make_arguments(scan_vjp *v) {
  sn_site *s = &v->s;
  const size_t n = sn_site_arguments(s);
  for (size_t k = 0; k < n; k++) {
    const sn_type type = sn_site_argument_type(s, k);
    s->args[k] = k < s->c.n_carries ? sn_body_argument(&s->m, SN_ARGUMENT_SLICE, SN_GIVEN_CARRY,
                                                       (uint32_t)k, &type)
                                    : sn_site_same_argument(s, k);
  }
  sn_site_inline(s, s->c.regions[0]);
  v->n_forward = s->m.graph.n_nodes;
  return s->m.b.status;
}

/* Adds `result` nodes to the body for the values that its checkpoints keep, so that these can be stacked. */
static sn_status name_kept(sn_site *s) {
  const sn_graph *old = s->c.regions[0];
  sn_graph *body;
  sn_id id;
  size_t n = 0;
  for (sn_id at = 0; at < old->n_nodes; at++)
    if (old->nodes[at].op == SN_OP_checkpoint) n += sn_graph_control(old, at).n_kept;
  if (!n) return SN_OK;
  SN_TRY(sn_arena_alloc(s->b->arena, 1, sizeof *body, (void **)&body));
  SN_TRY(sn_rewrite_graph(old, body, s->b->arena, false, NULL, NULL, NULL));
  SN_TRY(sn_graph_keep_regions(body, old));
  for (sn_id at = 0; at < old->n_nodes; at++) {
    if (old->nodes[at].op != SN_OP_checkpoint) continue;
    const sn_control c = sn_graph_control(old, at);
    for (size_t k = c.n_results - c.n_kept; k < c.n_results; k++) {
      const int64_t number = (int64_t)k;
      SN_TRY(sn_graph_append(body, SN_OP_result, &at, 1, &number, 1,
                             sn_output_type(c.regions[0], k), &id));
    }
  }
  s->c.regions[0] = body;
  return SN_OK;
}

static sn_status vjp_of_scan(scan_vjp *v) {
  sn_site *s = &v->s;
  sn_arena *arena = s->b->arena;
  sn_argument *arguments;
  size_t n;
  uint8_t *saved;
  sn_id *inputs;
  sn_graph body;
  SN_TRY(name_kept(s));
  SN_TRY(find_active(s, v->wanted, &v->active));
  SN_TRY(drop_unread(v));
  SN_TRY(sn_arena_alloc(arena, s->c.n_results, sizeof *v->y, (void **)&v->y));
  SN_TRY(sn_arena_alloc(arena, s->c.n_results, sizeof *v->y, (void **)&v->dy_inside));
  SN_TRY(sn_arena_alloc(arena, s->n, sizeof *v->wrt, (void **)&v->wrt));
  SN_TRY(sn_arena_alloc(arena, s->n, sizeof *v->wrt, (void **)&v->dwrt));
  SN_TRY(sn_arena_alloc(arena, s->n, sizeof *v->late, (void **)&v->late));
  SN_TRY(sn_arena_alloc(arena, s->n, 2 * sizeof *v->stacked, (void **)&v->stacked));
  sn_body_begin(&s->m, s->b, arena);
  SN_TRY(make_arguments(v));
  give_cotangents(v);
  make_backward(v);
  SN_TRY(s->b->status);
  SN_TRY(s->m.b.status);
  SN_TRY(choose_saved(v, &saved));
  SN_TRY(sn_body_close(&s->m, saved, true, &body, &arguments, &n));
  SN_TRY(extend_forward(v, arguments, n));
  SN_TRY(backward_inputs(v, arguments, n, &inputs));
  int64_t n_carries = 0, n_stacks = 0;
  for (size_t i = 0; i < n; i++) {
    n_carries += arguments[i].kind == SN_ARGUMENT_CARRY;
    n_stacks += arguments[i].kind == SN_ARGUMENT_SLICE;
  }
  SN_TRY(sn_site_put_region(s, 0, &body));
  s->attrs[1] = n_carries;
  s->attrs[2] = n_stacks;
  s->attrs[4] = !s->c.reverse;
  hand_out(v, sn_site_make_node(s, inputs, n));
  return s->b->status;
}

/* ---- vjp of cond ----------------------------------------------------------------------------- */

/* The inputs of a derived node: the old node's first input (a cond's bool), then what gives each argument its value. */
static sn_status branch_inputs(const sn_site *s, const sn_argument *arguments, size_t n,
                               sn_id **inputs) {
  SN_TRY(sn_arena_alloc(s->b->arena, n + 1, sizeof **inputs, (void **)inputs));
  (*inputs)[0] = s->x[0];
  for (size_t i = 0; i < n; i++) (*inputs)[i + 1] = arguments[i].from;
  return SN_OK;
}

static sn_status vjp_of_cond(sn_site *s, const sn_id *dy, const bool *wanted, sn_id *dx) {
  sn_graph branches[2];
  sn_argument *arguments;
  size_t n, result = 0;
  sn_id *inputs;
  for (int r = 0; r < 2; r++)
    SN_TRY(sn_site_vjp(s, s->c.regions[r], dy, wanted, &branches[r], &arguments, &n));
  for (int r = 0; r < 2; r++) SN_TRY(sn_site_put_region(s, r, &branches[r]));
  SN_TRY(branch_inputs(s, arguments, n, &inputs));
  const sn_id node = sn_site_make_node(s, inputs, n + 1);
  for (size_t k = 1; k < s->n && !s->b->status; k++) {
    if (!wanted[k]) continue;
    const sn_type type = sn_wide_type(sn_build_type(s->b, s->x[k]));
    dx[k] = sn_build_result(s->b, node, result++, &type);
  }
  return s->b->status;
}

void sn_control_vjp(sn_build *b, sn_id id, const sn_id *dy, const bool *wanted, sn_id *dx) {
  scan_vjp v = {.dy = dy, .wanted = wanted, .dx = dx};
  if (b->status) return;
  b->status = sn_site_begin(&v.s, b, id);
  if (b->status) return;
  switch ((int)v.s.c.op) {
  case SN_OP_scan: b->status = vjp_of_scan(&v); return;
  case SN_OP_cond: b->status = vjp_of_cond(&v.s, dy, wanted, dx); return;
  case SN_OP_checkpoint: b->status = sn_checkpoint_vjp(&v.s, id, dy, wanted, dx); return;
  case SN_OP_custom: b->status = sn_custom_vjp(&v.s, dy, wanted, dx); return;
  default:
    b->status = SN_FAIL(b->arena->env, SN_ERR_UNSUPPORTED, "grad",
                        "whileLoop runs nobody knows how often, so it has no reverse mode" SN_HINT
                        "use scan or foriLoop with a fixed number of rounds, or jvp");
    return;
  }
}

/* ---- jvp ------------------------------------------------------------------------------------- */

typedef struct jvp_of {
  sn_site s;
  const sn_id *dx;
  uint8_t *active;
  sn_id *tangents; /* per argument: its tangent's argument, or SN_NONE */
} jvp_of;

/* Adds arguments for all values, then for the tangents of those that have one. sn_body_close puts carries before slices
 * before consts, and within each kind values before tangents. */
static sn_status tangent_arguments(jvp_of *v) {
  sn_site *s = &v->s;
  const size_t n = sn_site_arguments(s), first = sn_control_first(s->c.op);
  sn_body_begin(&s->m, s->b, s->b->arena);
  for (size_t k = 0; k < n; k++) s->args[k] = sn_site_same_argument(s, k);
  for (size_t k = 0; k < n && !s->b->status; k++) {
    const sn_type type = sn_site_argument_type(s, k), wide_type = sn_wide_type(&type);
    v->tangents[k] = SN_NONE;
    if (!v->active[k] || !sn_dtype_is_float(type.dtype)) continue;
    sn_id from = v->dx[k + first];
    if (from == SN_NONE) from = zeros(s->b, &wide_type); /* a carry that gets one later */
    v->tangents[k] =
        sn_body_argument(&s->m, sn_argument_kind_of(&s->c, k), SN_GIVEN_NODE, from, &wide_type);
  }
  SN_TRY(s->b->status);
  return s->m.b.status;
}

/* Adds outputs for the tangents of the region's carries, or of its other results. Carries without a tangent have none. */
static sn_status tangent_outputs(jvp_of *v, const sn_graph *region, bool carries) {
  sn_site *s = &v->s;
  sn_arena *arena = s->b->arena;
  const size_t n = sn_site_arguments(s);
  sn_id *y, *dy, *wrt, *dwrt;
  size_t n_y = 0, n_wrt = 0;
  SN_TRY(sn_arena_alloc(arena, s->c.n_results, sizeof *y, (void **)&y));
  SN_TRY(sn_arena_alloc(arena, s->c.n_results, sizeof *y, (void **)&dy));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *wrt, (void **)&wrt));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *wrt, (void **)&dwrt));
  for (size_t k = 0; k < n; k++) {
    if (v->tangents[k] == SN_NONE) continue;
    wrt[n_wrt] = s->args[k];
    dwrt[n_wrt++] = v->tangents[k];
  }
  for (size_t k = 0; k < s->c.n_results; k++) {
    const bool carry = k < s->c.n_carries;
    if (carry != carries || !sn_dtype_is_float(sn_output_type(region, k)->dtype)) continue;
    if (!carry || v->active[k]) y[n_y++] = s->map[region->outputs[k]];
  }
  SN_TRY(sn_jvp_nodes(&s->m.b, y, n_y, wrt, dwrt, n_wrt, dy));
  for (size_t i = 0; i < n_y; i++) sn_body_output(&s->m, dy[i]);
  return s->m.b.status;
}

static sn_status jvp_of_region(jvp_of *v, const sn_graph *region, bool is_test, sn_graph *out,
                               sn_argument **arguments, size_t *n) {
  sn_site *s = &v->s;
  SN_TRY(tangent_arguments(v));
  sn_site_inline(s, region);
  SN_TRY(s->m.b.status);
  for (size_t k = 0; k < (is_test ? 1 : s->c.n_carries); k++)
    sn_body_output(&s->m, s->map[region->outputs[k]]);
  if (!is_test) {
    SN_TRY(tangent_outputs(v, region, true));
    SN_TRY(tangent_outputs(v, region, false));
  }
  return sn_body_close(&s->m, NULL, false, out, arguments, n);
}

/* Sets dy to the results that are tangents, in the order of tangent_outputs. */
static void tangent_results(jvp_of *v, sn_id node, sn_id *dy) {
  sn_site *s = &v->s;
  const sn_graph *region = s->c.regions[0];
  size_t number = s->c.n_carries;
  for (size_t k = 0; k < s->c.n_results && !s->b->status; k++) {
    const bool carry = k < s->c.n_carries;
    const sn_type slice = sn_wide_type(sn_output_type(region, k));
    dy[k] = SN_NONE;
    if (!sn_dtype_is_float(slice.dtype) || (carry && !v->active[k])) continue;
    const bool stack = s->c.op == SN_OP_scan && !carry;
    const sn_type type = stack ? sn_type_stacked(&slice, s->c.length) : slice;
    dy[k] = sn_build_result(s->b, node, number++, &type);
  }
}

static sn_status jvp(jvp_of *v, sn_id *dy) {
  sn_site *s = &v->s;
  sn_graph regions[SN_MAX_REGIONS];
  sn_argument *arguments;
  bool *given;
  size_t n = 0;
  sn_id *inputs;
  SN_TRY(sn_arena_alloc(s->b->arena, s->n, sizeof *given, (void **)&given));
  SN_TRY(sn_arena_alloc(s->b->arena, s->n, sizeof *v->tangents, (void **)&v->tangents));
  for (size_t k = 0; k < s->n; k++) given[k] = v->dx[k] != SN_NONE;
  SN_TRY(find_active(s, given, &v->active));
  for (uint32_t r = 0; r < s->c.n_regions; r++) {
    const bool is_test = s->c.op == SN_OP_while_loop && r == 1;
    SN_TRY(jvp_of_region(v, s->c.regions[r], is_test, &regions[r], &arguments, &n));
  }
  for (uint32_t r = 0; r < s->c.n_regions; r++) SN_TRY(sn_site_put_region(s, (int)r, &regions[r]));
  SN_TRY(branch_inputs(s, arguments, n, &inputs));
  int64_t count[SN_ARGUMENT_KINDS] = {0};
  for (size_t i = 0; i < n; i++) count[arguments[i].kind]++;
  if (s->c.op == SN_OP_scan) {
    s->attrs[1] = count[SN_ARGUMENT_CARRY];
    s->attrs[2] = count[SN_ARGUMENT_SLICE];
  }
  if (s->c.op == SN_OP_while_loop) s->attrs[2] = count[SN_ARGUMENT_CARRY];
  if (s->c.op == SN_OP_checkpoint) s->attrs[1] = 0;
  const size_t first = 1 - sn_control_first(s->c.op);
  tangent_results(v, sn_site_make_node(s, inputs + first, n + 1 - first), dy);
  return s->b->status;
}

void sn_control_jvp(sn_build *b, sn_id id, const sn_id *dx, sn_id *dy) {
  jvp_of v = {.dx = dx};
  if (b->status) return;
  b->status = sn_site_begin(&v.s, b, id);
  if (b->status) return;
  b->status = v.s.c.op == SN_OP_custom ? sn_custom_jvp(&v.s, dx, dy) : jvp(&v, dy);
}
