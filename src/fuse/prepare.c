#include <string.h>

#include "build/rewrite.h"
#include "fuse/fuse.h"
#include "graph/reference.h"
#include "graph/regions.h"

/* prepare.c - copies where a view cannot be read in place. A reshape needs one when a dimension
 * would be a nest (view.h), unless contractions alone read it: their packing walks nests.
 *
 *   x -> transpose -> reshape -> matmul           none
 *                        |-----> transpose -> matmul    none
 *                        `-----> add                    one, which all three read */
typedef struct prepare {
  const sn_target *target;
  uint8_t *packed; /* per node of the old graph: contractions alone read it, maybe transposed */
  sn_view *views;  /* of the new graph's nodes */
  size_t n_views, capacity;
} prepare;

/* Computes the views of all nodes that were added since the last call. */
static sn_status update_views(sn_rewrite *r) {
  prepare *p = r->user;
  sn_graph *g = r->to.graph;
  for (; p->n_views < g->n_nodes; p->n_views++) {
    SN_TRY(sn_arena_grow(r->from->arena, (void **)&p->views, &p->capacity, p->n_views,
                         sizeof *p->views));
    SN_TRY(sn_view_of(g, p->views, (sn_id)p->n_views, &p->views[p->n_views]));
  }
  return SN_OK;
}

/* The op that copies. Op copy takes no small dtype; for those it is a cast to the same dtype. */
static sn_op copy_op(const sn_type *type) {
  return sn_dtype_is_small(type->dtype) ? SN_OP_astype : SN_OP_copy;
}

static sn_id copy(sn_rewrite *r, sn_id x) {
  if (r->to.status) return SN_NONE;
  const sn_type type = *sn_build_type(&r->to, x);
  return sn_build_op(&r->to, copy_op(&type), &x, 1, NULL, 0, &type);
}

/* Whether the node's elements lie in memory once its base has been computed. */
static bool in_memory(const sn_rewrite *r, sn_id x) {
  const prepare *p = r->user;
  const sn_op base = r->to.graph->nodes[p->views[x].base].op;
  return base != SN_OP_constant && base != SN_OP_iota;
}

static sn_id prepare_reshape(sn_rewrite *r, sn_id id, sn_id x) {
  const prepare *p = r->user;
  const sn_type *type = &r->from->nodes[id].type;
  sn_nest axes[SN_MAX_RANK];
  if (sn_view_reshape(sn_build_type(&r->to, x), &p->views[x], type, axes)) {
    if (sn_nests_are_plain(axes, type->rank)) return SN_NONE;
    if (p->packed[id] && in_memory(r, x)) return SN_NONE;
  }
  return sn_build_reshape(&r->to, copy(r, x), type);
}

/* The node of a small dtype that x is a cast of, or SN_NONE. From int8 to float32 there are two casts, through int32. */
static sn_id small_source(const sn_graph *g, sn_id x) {
  for (int casts = 0; casts < 2 && g->nodes[x].op == SN_OP_astype; casts++) {
    x = *sn_graph_inputs(g, x);
    if (sn_dtype_is_small(g->nodes[x].type.dtype)) return x;
  }
  return SN_NONE;
}

/* Views behind which a cast may stand. Not windows, as they overlap and packing would cast an
 * element several times. */
static bool shows_a_cast(sn_op op) {
  return op == SN_OP_reshape || op == SN_OP_transpose || op == SN_OP_broadcast || op == SN_OP_slice;
}

/* The same if x may be a view of a cast: the same view of what is cast, which is built here. */
static sn_id before_cast(sn_rewrite *r, sn_id x) {
  const prepare *p = r->user;
  const sn_graph *g = r->to.graph;
  const sn_node node = g->nodes[x];
  int64_t attrs[SN_MAX_ATTRS];
  sn_nest axes[SN_MAX_RANK];
  if (node.op == SN_OP_astype) return small_source(g, x);
  if (!shows_a_cast(node.op)) return SN_NONE;
  const sn_id source = before_cast(r, *sn_graph_inputs(g, x));
  if (source == SN_NONE || (r->to.status = update_views(r))) return SN_NONE;
  const sn_type *from = &r->to.graph->nodes[source].type;
  if (node.op == SN_OP_reshape && !(sn_view_reshape(from, &p->views[source], &node.type, axes) &&
                                    sn_nests_are_plain(axes, node.type.rank)))
    return SN_NONE;
  for (uint32_t k = 0; k < node.n_attrs; k++) attrs[k] = sn_graph_attrs(r->to.graph, x)[k];
  return sn_build_op(&r->to, node.op, &source, 1, attrs, node.n_attrs, &node.type);
}

/* Whether x is a view of a cast of integers of a small dtype. */
static bool is_of_bytes(const sn_graph *g, sn_id x) {
  while (shows_a_cast(g->nodes[x].op)) x = *sn_graph_inputs(g, x);
  x = small_source(g, x);
  return x != SN_NONE && sn_dtype_wide(g->nodes[x].type.dtype) == SN_I32;
}

/* Reads a factor in the small dtype that it is cast from: packing casts. Two factors of small integers make an int32 product
 * (graph/infer.c), all others a float32 one; so if a float32 product has two, only the second is read as integers. */
static sn_id prepare_matmul(sn_rewrite *r, const sn_id *x) {
  const sn_dtype total = sn_build_type(&r->to, x[0])->dtype;
  const bool bytes = is_of_bytes(r->to.graph, x[0]) && is_of_bytes(r->to.graph, x[1]);
  const bool whole = bytes && total == SN_I32;
  const bool may[] = {whole || (!bytes && total == SN_F32), whole || total == SN_F32};
  sn_id y[2];
  for (int k = 0; k < 2; k++) y[k] = may[k] ? before_cast(r, x[k]) : SN_NONE;
  const bool neither = whole && (y[0] == SN_NONE || y[1] == SN_NONE);
  for (int k = 0; k < 2; k++)
    if (y[k] == SN_NONE || neither) y[k] = in_memory(r, x[k]) ? x[k] : copy(r, x[k]);
  return y[0] == x[0] && y[1] == x[1] ? SN_NONE : sn_build_matmul(&r->to, y[0], y[1]);
}

/* Copies x into memory unless it is there. A broadcast needs memory only for what it repeats: one element for a constant. */
static sn_id bring_into_memory(sn_rewrite *r, sn_id x) {
  double value;
  if (in_memory(r, x)) return x;
  const sn_type type = *sn_build_type(&r->to, x), scalar = sn_type_scalar(type.dtype);
  if (!sn_graph_uniform(r->to.graph, x, &value)) {
    if (r->to.graph->nodes[x].op != SN_OP_broadcast) return copy(r, x);
    return sn_build_broadcast(&r->to, copy(r, *sn_graph_inputs(r->to.graph, x)), &type);
  }
  return sn_build_broadcast(&r->to, copy(r, sn_build_full(&r->to, &scalar, value)), &type);
}

/* Whether a buffer holds the elements of x one after the other, in their order. */
static bool is_run(const sn_rewrite *r, sn_id x) {
  const prepare *p = r->user;
  const sn_view *view = &p->views[x];
  const sn_graph *g = r->to.graph;
  const sn_type *type = &g->nodes[x].type;
  int64_t strides[SN_MAX_RANK];
  if (!in_memory(r, x)) return false;
  if (view->base == x) return true;
  if (view->nests || g->nodes[view->base].op == SN_OP_pad) return false;
  sn_row_major(type, strides);
  bool same = true;
  for (int i = 0; i < type->rank; i++)
    same = same && (type->dims[i] == 1 || view->strides[i] == strides[i]);
  return same;
}

static sn_id prepare_call(sn_rewrite *r, sn_id id, const sn_id *x) {
  const sn_node *node = sn_graph_node(r->from, id);
  sn_id few[SN_MAX_ARITY], *ready = few;
  bool changed = false;
  const sn_op_class kind = sn_op_describe(node->op)->kind;
  const bool whole =
      sn_op_is_control(node->op) || kind == SN_CLASS_BLOCKS || kind == SN_CLASS_COLLECTIVE;
  if (node->n_inputs > SN_MAX_ARITY) {
    r->to.status = sn_arena_alloc(r->from->arena, node->n_inputs, sizeof *ready, (void **)&ready);
    if (r->to.status) return SN_NONE;
  }
  for (uint32_t k = 0; k < node->n_inputs; k++) {
    ready[k] = !whole ? bring_into_memory(r, x[k]) : is_run(r, x[k]) ? x[k] : copy(r, x[k]);
    changed = changed || ready[k] != x[k];
  }
  if (!changed) return SN_NONE;
  return sn_build_op(&r->to, node->op, ready, node->n_inputs, sn_graph_attrs(r->from, id),
                     node->n_attrs, &node->type);
}

static sn_id prepare_ragged(sn_rewrite *r, sn_op op, const sn_id *x) {
  const sn_id ends = bring_into_memory(r, x[1]);
  return ends == x[1] ? SN_NONE : sn_build_op(&r->to, op, (sn_id[]){x[0], ends}, 2, NULL, 0, NULL);
}

/* A pad or concat of elements too small to be stored one by one is made as int32, and cast as a whole. */
static sn_id prepare_parts(sn_rewrite *r, sn_id id, const sn_id *x) {
  const sn_node *node = sn_graph_node(r->from, id);
  sn_type wide = node->type;
  sn_id *parts;
  r->to.status = sn_arena_alloc(r->from->arena, node->n_inputs, sizeof *parts, (void **)&parts);
  if (r->to.status) return SN_NONE;
  for (uint32_t k = 0; k < node->n_inputs; k++)
    parts[k] = sn_build_cast(&r->to, SN_OP_astype, x[k], SN_I32);
  wide.dtype = SN_I32;
  const sn_id all = sn_build_op(&r->to, node->op, parts, node->n_inputs,
                                sn_graph_attrs(r->from, id), node->n_attrs, &wide);
  return sn_build_cast(&r->to, SN_OP_astype, all, node->type.dtype);
}

static bool is_of_one_process(const sn_graph *g, sn_id id) {
  const sn_op op = g->nodes[id].op;
  return sn_op_describe(op)->kind == SN_CLASS_COLLECTIVE &&
         (op == SN_OP_shard || sn_graph_attrs(g, id)[1] == 1);
}

/* A collective of one process, which has all blocks. It sums them as the reference does: pairs of neighbours, repeatedly. */
static sn_id prepare_collective(sn_rewrite *r, sn_id id, const sn_id *x) {
  const sn_node *node = sn_graph_node(r->from, id);
  const int64_t *attrs = sn_graph_attrs(r->from, id);
  if (node->op != SN_OP_all_reduce) return x[0];
  return sn_build_sum_blocks(&r->to, x[0], attrs[0]);
}

static sn_id prepare_node(sn_rewrite *r, sn_id id, const sn_id *inputs) {
  const prepare *p = r->user;
  r->to.status = update_views(r);
  if (r->to.status) return SN_NONE;
  const sn_node *node = sn_graph_node(r->from, id);
  if (sn_op_describe(node->op)->kind == SN_CLASS_MARKER) return inputs[0];
  if (is_of_one_process(r->from, id)) return prepare_collective(r, id, inputs);
  const bool parts = node->op == SN_OP_pad || node->op == SN_OP_concat;
  if (parts && sn_dtype_bytes(node->type.dtype) < p->target->limits.store_bytes)
    return prepare_parts(r, id, inputs);
  switch (node->op) {
  case SN_OP_reshape: return prepare_reshape(r, id, inputs[0]);
  case SN_OP_matmul: return prepare_matmul(r, inputs);
  case SN_OP_ragged_sum:
  case SN_OP_ragged_or: return prepare_ragged(r, node->op, inputs);
  default:
    return sn_node_is_call(p->target, node) || sn_op_is_control(node->op)
               ? prepare_call(r, id, inputs)
               : SN_NONE;
  }
}

static sn_status find_packed(const sn_graph *g, prepare *p) {
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, 1, (void **)&p->packed));
  memset(p->packed, 1, g->n_nodes);
  for (size_t i = 0; i < g->n_outputs; i++) p->packed[g->outputs[i]] = 0;
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;) { /* users before what they use */
    const sn_op op = g->nodes[id].op;
    const bool view = op == SN_OP_transpose || op == SN_OP_barrier;
    const bool reads = op == SN_OP_matmul || (view && p->packed[id]);
    const sn_id *x = sn_graph_inputs(g, id);
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) p->packed[x[k]] &= reads;
  }
  return SN_OK;
}

static sn_op_class class_of(const sn_graph *g, sn_id id) {
  return sn_op_describe(g->nodes[id].op)->kind;
}

/* Makes every output an argument or the whole result of a kernel; others are copied. A reshape of a
 * result needs no copy, as the bytes are the same, but only one per node, as a buffer has one type. */
static sn_status prepare_outputs(sn_graph *g) {
  uint8_t *taken;
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, 1, (void **)&taken));
  for (size_t i = 0; i < g->n_outputs; i++) taken[g->outputs[i]] = 1;
  for (size_t i = 0; i < g->n_outputs; i++) {
    sn_id *output = &g->outputs[i];
    const sn_op op = g->nodes[*output].op;
    if (class_of(g, *output) > SN_CLASS_VIEW || op == SN_OP_input) continue;
    if (op == SN_OP_reshape) {
      const sn_id x = *sn_graph_inputs(g, *output);
      if (class_of(g, x) > SN_CLASS_VIEW && !taken[x]++) continue;
    }
    const sn_type type = g->nodes[*output].type;
    SN_TRY(sn_graph_add(g, copy_op(&type), output, 1, NULL, 0, &type, output));
  }
  return SN_OK;
}

/* Gives each output a buffer of its own. */
static sn_status own_outputs(sn_graph *g) {
  uint8_t *taken;
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, 1, (void **)&taken));
  g->share = false;
  for (size_t i = 0; i < g->n_outputs; i++) {
    sn_id *output = &g->outputs[i];
    const bool view = class_of(g, *output) == SN_CLASS_VIEW;
    const sn_id base = view ? *sn_graph_inputs(g, *output) : *output;
    if (g->nodes[base].op != SN_OP_input && !taken[base]++) continue;
    const sn_type type = g->nodes[*output].type;
    SN_TRY(sn_graph_append(g, copy_op(&type), output, 1, NULL, 0, &type, output));
  }
  return SN_OK;
}

sn_status sn_prepare_region(const sn_graph *from, const sn_target *target, sn_arena *arena,
                            sn_graph *to) {
  SN_TRY(sn_prepare(from, target, arena, to));
  return own_outputs(to);
}

sn_status sn_prepare(const sn_graph *from, const sn_target *target, sn_arena *arena, sn_graph *to) {
  prepare p = {.target = target};
  SN_TRY(find_packed(from, &p));
  SN_TRY(sn_rewrite_graph(from, to, arena, true, NULL, prepare_node, &p));
  return prepare_outputs(to);
}
