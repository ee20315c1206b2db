/* lower.c - sets of nodes -> groups: which values live in memory, and per set a loop nest with its
 * bodies.
 *
 * A node lives in memory when somebody outside its kernel needs it: another set, a view, or the
 * caller. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "fuse/fuse.h"

typedef struct lowering {
  const sn_graph *g;
  const sn_partition *p;
  sn_arena *arena;
  sn_view *views;
  uint32_t *value_of; /* per node: its buffer, or SN_NONE */
  uint32_t *insn_of;  /* per node: its instruction in the body being built */
  sn_id *members;     /* nodes of all sets, by set, ascending */
  size_t *first_member;
  uint8_t *live;
  sn_groups *out;
} lowering;

/* ---- values ---------------------------------------------------------------------------------- */

static sn_status add_value(lowering *l, sn_id id, sn_value_kind kind, uint32_t argument) {
  const uint32_t v = (uint32_t)l->out->n_values++;
  l->out->values[v] = (sn_value){kind, argument, id, l->g->nodes[id].type};
  l->value_of[id] = v;
  return SN_OK;
}

static bool same_kernel(const lowering *l, sn_id user, sn_id id) {
  return l->p->owner[user] == SN_NONE && l->p->set[user] == l->p->set[id] &&
         sn_op_is_elementwise(l->g->nodes[user].op);
}

static sn_status find_values(lowering *l) {
  const sn_graph *g = l->g;
  uint8_t *stored;
  SN_TRY(sn_arena_alloc(l->arena, g->n_nodes, 1, (void **)&stored));
  SN_TRY(sn_arena_alloc(l->arena, g->n_nodes, sizeof *l->out->values, (void **)&l->out->values));
  for (size_t i = 0; i < g->n_outputs; i++) stored[g->outputs[i]] = 2;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    l->value_of[id] = SN_NONE;
    if (!l->live[id]) continue;
    const sn_id *x = sn_graph_inputs(g, id);
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++)
      if (!stored[x[k]] && l->p->set[x[k]] != SN_NONE && !same_kernel(l, id, x[k]))
        stored[x[k]] = 1;
  }
  for (sn_id id = 0; id < g->n_nodes; id++) {
    if (!l->live[id]) continue;
    const sn_op op = g->nodes[id].op;
    if (op == SN_OP_input)
      SN_TRY(add_value(l, id, SN_VALUE_ARGUMENT, (uint32_t)sn_graph_attrs(g, id)[0]));
    else if (stored[id] && l->p->set[id] != SN_NONE)
      SN_TRY(add_value(l, id, stored[id] == 2 ? SN_VALUE_OUTPUT : SN_VALUE_TEMP, 0));
  }
  SN_TRY(
      sn_arena_alloc(l->arena, g->n_outputs, sizeof *l->out->outputs, (void **)&l->out->outputs));
  l->out->n_outputs = g->n_outputs;
  for (size_t i = 0; i < g->n_outputs; i++) {
    l->out->outputs[i] = l->value_of[g->outputs[i]];
    SN_CHECK(g->env, l->out->outputs[i] != SN_NONE);
  }
  return SN_OK;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

typedef struct body_builder {
  lowering *l;
  sn_body body;
  size_t cap_insns, cap_operands;
  int rank;
  int perm[SN_MAX_RANK]; /* dimension of the loop nest -> dimension of the nodes */
} body_builder;

static sn_operand operand_of(const lowering *l, sn_id id, int rank, const int *perm) {
  const sn_view *view = &l->views[id];
  sn_operand operand = {.value = l->value_of[view->base],
                        .dtype = l->g->nodes[id].type.dtype,
                        .offset = view->offset};
  for (int i = 0; i < rank; i++) operand.strides[i] = view->strides[perm[i]];
  return operand;
}

static sn_status add_insn(body_builder *b, sn_id id, const sn_insn *insn) {
  SN_TRY(sn_arena_grow(b->l->arena, (void **)&b->body.insns, &b->cap_insns, b->body.n_insns,
                       sizeof *insn));
  b->l->insn_of[id] = b->body.n_insns;
  b->body.insns[b->body.n_insns++] = *insn;
  return SN_OK;
}

/* A value that the body does not compute: a constant, or a load. */
static sn_status add_source(body_builder *b, sn_id id) {
  const lowering *l = b->l;
  const sn_node *base = sn_graph_node(l->g, l->views[id].base);
  sn_insn insn = {.dtype = base->type.dtype};
  if (base->op == SN_OP_constant) {
    insn.kind = SN_INSN_CONST;
    insn.value = sn_attr_double(sn_graph_attrs(l->g, l->views[id].base)[0]);
    return add_insn(b, id, &insn);
  }
  insn.kind = SN_INSN_LOAD;
  insn.n_args = 1;
  insn.args[0] = b->body.n_operands;
  SN_TRY(sn_arena_grow(l->arena, (void **)&b->body.operands, &b->cap_operands, b->body.n_operands,
                       sizeof *b->body.operands));
  b->body.operands[b->body.n_operands++] = operand_of(l, id, b->rank, b->perm);
  return add_insn(b, id, &insn);
}

static sn_status add_compute(body_builder *b, sn_id id) {
  lowering *l = b->l;
  const sn_node *node = sn_graph_node(l->g, id);
  const sn_id *x = sn_graph_inputs(l->g, id);
  for (uint32_t k = 0; k < node->n_inputs; k++)
    if (l->insn_of[x[k]] == SN_NONE) SN_TRY(add_source(b, x[k]));
  sn_insn insn = {
      .kind = SN_INSN_OP, .op = node->op, .dtype = node->type.dtype, .n_args = node->n_inputs};
  for (uint32_t k = 0; k < node->n_inputs; k++) insn.args[k] = l->insn_of[x[k]];
  insn.in_dtype = l->g->nodes[x[node->n_inputs - 1]].type.dtype;
  return add_insn(b, id, &insn);
}

/* insn_of is valid for one body at a time; only nodes of this body are reset. */
static void forget(lowering *l, const sn_id *nodes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    l->insn_of[nodes[i]] = SN_NONE;
    const sn_id *x = sn_graph_inputs(l->g, nodes[i]);
    for (uint32_t k = 0; k < l->g->nodes[nodes[i]].n_inputs; k++) l->insn_of[x[k]] = SN_NONE;
  }
}

/* ---- one group ------------------------------------------------------------------------------- */

static const sn_id *members(const lowering *l, size_t set, size_t *n) {
  *n = l->first_member[set + 1] - l->first_member[set];
  return l->members + l->first_member[set];
}

static void space_of(sn_group *group, const sn_type *type) {
  group->space_rank = type->rank;
  memcpy(group->space, type->dims, sizeof group->space);
}

static sn_status lower_post(lowering *l, size_t set, sn_group *group) {
  size_t n;
  const sn_id *nodes = members(l, set, &n);
  body_builder b = {.l = l, .rank = group->space_rank};
  for (int i = 0; i < b.rank; i++) b.perm[i] = i;
  for (size_t i = 0; i < n; i++) {
    if (l->p->owner[nodes[i]] != SN_NONE) continue;
    if (nodes[i] != l->p->head[set]) {
      SN_TRY(add_compute(&b, nodes[i]));
      continue;
    }
    const sn_insn head = {.kind = SN_INSN_HEAD, .dtype = l->g->nodes[nodes[i]].type.dtype};
    SN_TRY(add_insn(&b, nodes[i], &head));
  }
  size_t cap_stores = 0;
  for (size_t i = 0; i < n; i++) {
    const uint32_t value = l->value_of[nodes[i]];
    if (value == SN_NONE) continue;
    SN_TRY(sn_arena_grow(l->arena, (void **)&group->stores, &cap_stores, group->n_stores,
                         sizeof *group->stores));
    sn_store *store = &group->stores[group->n_stores++];
    *store = (sn_store){.insn = l->insn_of[nodes[i]]};
    store->target = (sn_operand){.value = value, .dtype = l->g->nodes[nodes[i]].type.dtype};
    sn_row_major(&l->g->nodes[nodes[i]].type, store->target.strides);
  }
  group->post = b.body;
  forget(l, nodes, n);
  return SN_OK;
}

static sn_status lower_reduce(lowering *l, size_t set, sn_group *group) {
  const sn_id head = l->p->head[set], x = *sn_graph_inputs(l->g, head);
  const sn_type *type = &l->g->nodes[x].type;
  const uint64_t mask = (uint64_t)sn_graph_attrs(l->g, head)[0];
  group->kind = SN_GROUP_REDUCE;
  space_of(group, &l->g->nodes[head].type);
  body_builder b = {.l = l, .rank = type->rank};
  int at = 0;
  for (int i = 0; i < type->rank; i++)
    if (!(mask >> i & 1)) b.perm[at++] = i;
  for (int i = 0; i < type->rank; i++) {
    if (!(mask >> i & 1)) continue;
    group->reduced[group->reduced_rank++] = type->dims[i];
    b.perm[at++] = i;
  }
  size_t n;
  const sn_id *nodes = members(l, set, &n);
  for (size_t i = 0; i < n; i++)
    if (l->p->owner[nodes[i]] == head) SN_TRY(add_compute(&b, nodes[i]));
  if (l->insn_of[x] == SN_NONE) SN_TRY(add_source(&b, x));
  sn_phase *phase;
  SN_TRY(sn_arena_alloc(l->arena, 1, sizeof *phase, (void **)&phase));
  SN_TRY(sn_arena_alloc(l->arena, 1, sizeof *phase->reductions, (void **)&phase->reductions));
  phase->reductions[0] =
      (sn_reduction){l->g->nodes[head].op, l->g->nodes[head].type.dtype, l->insn_of[x]};
  phase->n_reductions = 1;
  phase->body = b.body;
  group->phases = phase;
  group->n_phases = group->n_heads = 1;
  forget(l, nodes, n);
  return lower_post(l, set, group);
}

static sn_status lower_contraction(lowering *l, size_t set, sn_group *group) {
  const sn_id head = l->p->head[set], *x = sn_graph_inputs(l->g, head);
  const int rank = l->g->nodes[head].type.rank;
  int perm[SN_MAX_RANK];
  for (int i = 0; i < rank; i++) perm[i] = i;
  group->kind = SN_GROUP_CONTRACTION;
  group->n_heads = 1;
  group->head_dtype = l->g->nodes[head].type.dtype;
  space_of(group, &l->g->nodes[head].type);
  group->a = operand_of(l, x[0], rank, perm);
  group->b = operand_of(l, x[1], rank, perm);
  group->k = l->g->nodes[x[0]].type.dims[rank - 1];
  return lower_post(l, set, group);
}

/* The axis is the last dimension of the operands, the others are the space. */
static sn_status lower_ready(lowering *l, size_t set, sn_group *group) {
  const sn_id head = l->p->head[set], *x = sn_graph_inputs(l->g, head);
  const sn_node *node = sn_graph_node(l->g, head);
  const int64_t *attrs = sn_graph_attrs(l->g, head);
  const int rank = node->type.rank, axis = (int)attrs[0];
  int perm[SN_MAX_RANK];
  int64_t strides[SN_MAX_RANK];
  group->kind = SN_GROUP_READY;
  for (int i = 0; i < rank; i++) {
    if (i == axis) continue;
    group->space[group->space_rank] = node->type.dims[i];
    perm[group->space_rank++] = i;
  }
  perm[rank - 1] = axis;
  sn_ready *ready;
  SN_TRY(sn_arena_alloc(l->arena, 1, sizeof *ready, (void **)&ready));
  *ready = (sn_ready){.op = node->op,
                      .n_operands = node->n_inputs,
                      .length = node->type.dims[axis],
                      .options = attrs + 1};
  for (uint32_t k = 0; k < node->n_inputs; k++) {
    ready->operands[k] = operand_of(l, x[k], rank, perm);
    ready->lengths[k] = l->g->nodes[x[k]].type.dims[axis];
  }
  SN_TRY(sn_arena_alloc(l->arena, 1, sizeof *group->stores, (void **)&group->stores));
  sn_operand *target = &group->stores[0].target;
  group->stores[0] = (sn_store){.target = {.value = l->value_of[head], .dtype = node->type.dtype}};
  sn_row_major(&node->type, strides);
  for (int i = 0; i < rank; i++) target->strides[i] = strides[perm[i]];
  group->ready = ready;
  group->n_stores = 1;
  return SN_OK;
}

static sn_status new_group(lowering *l, sn_group **out) {
  *out = &l->out->groups[l->out->n_groups++];
  **out = (sn_group){.kind = SN_GROUP_MAP};
  return SN_OK;
}

/* A copy of `from` (or, when it is SN_NONE, of a constant) into a part of node's buffer. */
static sn_status lower_copy(lowering *l, sn_id node, sn_id from, double value,
                            const sn_operand *target, const sn_type *space) {
  sn_group *group;
  SN_TRY(new_group(l, &group));
  space_of(group, space);
  body_builder b = {.l = l, .rank = space->rank};
  for (int i = 0; i < b.rank; i++) b.perm[i] = i;
  const sn_insn fill = {
      .kind = SN_INSN_CONST, .dtype = l->g->nodes[node].type.dtype, .value = value};
  SN_TRY(from == SN_NONE ? add_insn(&b, node, &fill) : add_source(&b, from));
  l->insn_of[from == SN_NONE ? node : from] = SN_NONE;
  group->post = b.body;
  SN_TRY(sn_arena_alloc(l->arena, 1, sizeof *group->stores, (void **)&group->stores));
  group->stores[0] = (sn_store){.insn = 0, .target = *target};
  group->n_stores = 1;
  group->name = sn_op_describe(l->g->nodes[node].op)->name;
  return SN_OK;
}

/* pad: the value everywhere, then the input into its places */
static sn_status lower_pad(lowering *l, sn_id id) {
  const sn_type *type = &l->g->nodes[id].type;
  const sn_id x = *sn_graph_inputs(l->g, id);
  const int64_t *attrs = sn_graph_attrs(l->g, id);
  sn_operand target = {.value = l->value_of[id], .dtype = type->dtype};
  sn_row_major(type, target.strides);
  SN_TRY(lower_copy(l, id, SN_NONE, sn_attr_double(attrs[2 * type->rank]), &target, type));
  for (int i = 0; i < type->rank; i++) {
    target.offset += attrs[i] * target.strides[i];
    target.strides[i] *= attrs[type->rank + i];
  }
  return lower_copy(l, id, x, 0, &target, &l->g->nodes[x].type);
}

static sn_status lower_concat(lowering *l, sn_id id) {
  const sn_type *type = &l->g->nodes[id].type;
  const int64_t axis = sn_graph_attrs(l->g, id)[0];
  sn_operand target = {.value = l->value_of[id], .dtype = type->dtype};
  sn_row_major(type, target.strides);
  for (uint32_t k = 0; k < l->g->nodes[id].n_inputs; k++) {
    const sn_id x = sn_graph_inputs(l->g, id)[k];
    SN_TRY(lower_copy(l, id, x, 0, &target, &l->g->nodes[x].type));
    target.offset += l->g->nodes[x].type.dims[axis] * target.strides[axis];
  }
  return SN_OK;
}

/* ---- names and costs ------------------------------------------------------------------------- */

static sn_status name_group(lowering *l, size_t set, sn_group *group) {
  enum { MAX_NAMES = 5 };
  size_t n, named = 0, last = SN_OP_COUNT;
  const sn_id *nodes = members(l, set, &n);
  sn_text text = sn_text_in(l->arena);
  for (size_t i = 0; i < n; i++) {
    const sn_op op = l->g->nodes[nodes[i]].op;
    if ((size_t)op == last || named == MAX_NAMES) continue;
    const char *name = op == SN_OP_identity ? "copy" : sn_op_describe(op)->name;
    sn_text_add(&text, named++ ? "+%s" : "%s", name);
    last = op;
  }
  if (n > MAX_NAMES) sn_text_add(&text, "(%zu)", n);
  group->name = text.data;
  return text.status;
}

static double body_flops(const sn_body *body) {
  double flops = 0;
  for (uint32_t i = 0; i < body->n_insns; i++)
    if (body->insns[i].kind == SN_INSN_OP) flops += sn_op_describe(body->insns[i].op)->cost;
  return flops;
}

/* Distinct bytes an operand touches over an index space. */
static double operand_bytes(const sn_operand *operand, const int64_t *dims, int rank) {
  double elements = operand->value == SN_NONE ? 0 : 1;
  for (int i = 0; i < rank; i++)
    if (operand->strides[i]) elements *= (double)dims[i];
  return elements * (double)sn_dtype_bytes(operand->dtype);
}

static void count_phase(sn_group *group, const sn_phase *phase) {
  const int rank = group->space_rank + group->reduced_rank;
  int64_t dims[SN_MAX_RANK];
  memcpy(dims, group->space, sizeof dims);
  memcpy(dims + group->space_rank, group->reduced, (size_t)group->reduced_rank * sizeof *dims);
  group->flops += (double)sn_group_points(group) * (double)sn_group_reduced_points(group) *
                  (body_flops(&phase->body) + phase->n_reductions);
  for (uint32_t i = 0; i < phase->body.n_operands; i++)
    group->bytes += operand_bytes(&phase->body.operands[i], dims, rank);
  for (uint32_t i = 0; i < phase->n_stores; i++)
    group->bytes += operand_bytes(&phase->stores[i].target, dims, rank);
}

/* What a gather reads of x is as much as it writes. */
static void count_ready(sn_group *group) {
  const sn_ready *ready = group->ready;
  const double points = (double)sn_group_points(group), n = (double)ready->length;
  int64_t dims[SN_MAX_RANK];
  memcpy(dims, group->space, sizeof dims);
  for (uint32_t k = 0; k < ready->n_operands; k++) {
    const bool gathered = k == 0 && ready->op == SN_OP_gather;
    dims[group->space_rank] = gathered ? ready->length : ready->lengths[k];
    group->bytes += operand_bytes(&ready->operands[k], dims, group->space_rank + 1);
  }
  dims[group->space_rank] = ready->length;
  group->bytes += operand_bytes(&group->stores[0].target, dims, group->space_rank + 1);
  const sn_op_class kind = sn_op_describe(ready->op)->kind;
  if (kind == SN_CLASS_SORT) group->flops = points * n * log2(n + 1);
  if (kind == SN_CLASS_SCAN) group->flops = points * n;
  if (ready->op == SN_OP_scatter_add) group->flops = points * (double)ready->lengths[1];
}

static void count_work(sn_group *group) {
  if (group->ready) {
    count_ready(group);
    return;
  }
  const double points = (double)sn_group_points(group);
  group->flops = points * body_flops(&group->post);
  for (uint32_t i = 0; i < group->post.n_operands; i++)
    group->bytes += operand_bytes(&group->post.operands[i], group->space, group->space_rank);
  for (uint32_t i = 0; i < group->n_stores; i++)
    group->bytes += operand_bytes(&group->stores[i].target, group->space, group->space_rank);
  for (uint32_t p = 0; p < group->n_phases; p++) count_phase(group, &group->phases[p]);
  if (group->kind == SN_GROUP_CONTRACTION) {
    const int r = group->space_rank;
    int64_t dims[SN_MAX_RANK];
    memcpy(dims, group->space, sizeof dims);
    group->flops += 2 * points * (double)group->k;
    dims[r - 1] = group->k;
    group->bytes += operand_bytes(&group->a, dims, r);
    dims[r - 1] = group->space[r - 1];
    dims[r - 2] = group->k;
    group->bytes += operand_bytes(&group->b, dims, r);
  }
}

/* ---- all groups ------------------------------------------------------------------------------ */

static sn_status lower_set(lowering *l, size_t set) {
  const sn_id head = l->p->head[set];
  const sn_op_class kind =
      head == SN_NONE ? SN_CLASS_MAP : sn_op_describe(l->g->nodes[head].op)->kind;
  if (kind == SN_CLASS_PAD) return lower_pad(l, head);
  if (kind == SN_CLASS_CONCAT) return lower_concat(l, head);
  sn_group *group;
  SN_TRY(new_group(l, &group));
  SN_TRY(name_group(l, set, group));
  if (kind == SN_CLASS_REDUCE) return lower_reduce(l, set, group);
  if (kind == SN_CLASS_MATMUL) return lower_contraction(l, set, group);
  if (head != SN_NONE && sn_op_is_ready(l->g->nodes[head].op)) return lower_ready(l, set, group);
  space_of(group, &l->g->nodes[members(l, set, &(size_t){0})[0]].type);
  return lower_post(l, set, group);
}

/* Lists the nodes of each set, those computed inside a reduction with it. */
static sn_status list_members(lowering *l) {
  const sn_graph *g = l->g;
  const size_t n_sets = l->p->n_sets;
  SN_TRY(sn_arena_alloc(l->arena, g->n_nodes, sizeof *l->members, (void **)&l->members));
  SN_TRY(sn_arena_alloc(l->arena, n_sets + 2, sizeof *l->first_member, (void **)&l->first_member));
  size_t *end = l->first_member + 1; /* after filling: end[set] = first of the next */
  for (int fill = 0; fill < 2; fill++) {
    for (sn_id id = 0; id < g->n_nodes; id++) {
      if (!l->live[id]) continue;
      const sn_id owner = l->p->owner[id];
      const uint32_t set = l->p->set[owner == SN_NONE ? id : owner];
      if (set == SN_NONE) continue;
      if (fill)
        l->members[end[set]++] = id;
      else
        end[set + 1]++;
    }
    for (size_t i = 0; !fill && i < n_sets; i++) end[i + 1] += end[i];
  }
  return SN_OK;
}

/* A pad makes two groups, a concat one per input, everything else one. */
static size_t count_groups(const lowering *l) {
  size_t n = 0;
  for (size_t set = 0; set < l->p->n_sets; set++) {
    const sn_id head = l->p->head[set];
    const sn_node *node = head == SN_NONE ? NULL : sn_graph_node(l->g, head);
    if (node && node->op == SN_OP_concat)
      n += node->n_inputs;
    else
      n += node && node->op == SN_OP_pad ? 2 : 1;
  }
  return n;
}

sn_status sn_lower_groups(const sn_graph *g, const sn_partition *p, sn_groups *out) {
  lowering l = {.g = g, .p = p, .arena = g->arena, .out = out};
  *out = (sn_groups){.graph = g, .cuts = p->cuts, .n_cuts = p->n_cuts};
  SN_TRY(sn_arena_alloc(l.arena, g->n_nodes, 1, (void **)&l.live));
  SN_TRY(sn_arena_alloc(l.arena, g->n_nodes, sizeof *l.views, (void **)&l.views));
  SN_TRY(sn_arena_alloc(l.arena, g->n_nodes, sizeof *l.value_of, (void **)&l.value_of));
  SN_TRY(sn_arena_alloc(l.arena, g->n_nodes, sizeof *l.insn_of, (void **)&l.insn_of));
  sn_graph_live(g, l.live);
  for (sn_id id = 0; id < g->n_nodes; id++) {
    l.insn_of[id] = SN_NONE;
    SN_CHECK(g->env, sn_view_of(g, l.views, id, &l.views[id]));
  }
  SN_TRY(find_values(&l));
  SN_TRY(list_members(&l));
  SN_TRY(sn_arena_alloc(l.arena, count_groups(&l), sizeof *out->groups, (void **)&out->groups));
  for (size_t set = 0; set < p->n_sets; set++) SN_TRY(lower_set(&l, set));
  for (size_t i = 0; i < out->n_groups; i++) {
    count_work(&out->groups[i]);
    sn_merge_dims(&out->groups[i]);
  }
  return SN_OK;
}
