/* lower_groups.c - sets of nodes -> groups: which values live in memory, and per set a loop nest
 * with its bodies.
 *
 * A node lives in memory when somebody outside its kernel needs it: another set, a view, or the
 * caller. */
#include <string.h>

#include "base/text.h"
#include "fuse/chain.h"
#include "fuse/group_visit.h"
#include "fuse/lowering.h"
#include "fuse/space.h"

/* ---- values ---------------------------------------------------------------------------------- */

static sn_status add_value(sn_lowering *l, sn_id id, sn_value_kind kind, uint32_t argument,
                           size_t *capacity) {
  SN_TRY(sn_arena_grow(l->arena, (void **)&l->out->values, capacity, l->out->n_values,
                       sizeof *l->out->values));
  const uint32_t v = (uint32_t)l->out->n_values++;
  l->out->values[v] = (sn_value){kind, argument, id, l->g->nodes[id].type};
  l->value_of[id] = v;
  return SN_OK;
}

/* Whether the user reads the node in registers: both in one kernel, in step. */
static bool same_kernel(const sn_lowering *l, sn_id user, sn_id id) {
  return l->p->owner[user] == SN_NONE && l->p->set[user] == l->p->set[id];
}

/* Marks the nodes that the user needs in memory, seen through views. reader: per node its only
 * reader, or SN_NONE if there are several. */
static void mark_read(const sn_lowering *l, sn_id user, uint8_t *stored, sn_id *reader) {
  const sn_id *x = sn_graph_inputs(l->g, user);
  for (uint32_t k = 0; k < l->g->nodes[user].n_inputs; k++) {
    const sn_id base = l->views[x[k]].base;
    if (l->p->set[base] == SN_NONE || same_kernel(l, user, base)) continue;
    reader[base] = stored[base] ? SN_NONE : user;
    if (!stored[base]) stored[base] = SN_STORED_VALUE;
  }
}

static sn_status find_values(sn_lowering *l) {
  const sn_graph *g = l->g;
  uint8_t *stored;
  sn_id *reader;
  size_t capacity = 0;
  SN_TRY(sn_arena_alloc(l->scratch, g->n_nodes, 1, (void **)&stored));
  SN_TRY(sn_arena_alloc(l->scratch, g->n_nodes, sizeof *reader, (void **)&reader));
  for (size_t i = 0; i < g->n_outputs; i++) stored[l->views[g->outputs[i]].base] = SN_STORED_OUTPUT;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    l->value_of[id] = SN_NONE;
    const bool is_view = sn_op_describe(g->nodes[id].op)->kind == SN_CLASS_VIEW;
    if (l->live[id] && !is_view) mark_read(l, id, stored, reader);
  }
  if (l->p->how.fusion) SN_TRY(sn_lower_recompute(l, stored, l->recomputed));
  for (sn_id id = 0; id < g->n_nodes; id++) {
    if (!l->live[id]) continue;
    const sn_op op = g->nodes[id].op;
    if (op == SN_OP_input)
      SN_TRY(add_value(l, id, SN_VALUE_ARGUMENT, (uint32_t)sn_graph_attrs(g, id)[0], &capacity));
    else if (stored[id] && l->p->set[id] != SN_NONE)
      SN_TRY(add_value(l, id, stored[id] == SN_STORED_OUTPUT ? SN_VALUE_OUTPUT : SN_VALUE_TEMP, 0,
                       &capacity));
  }
  if (l->p->how.fusion) sn_lower_padded(l, reader);
  SN_TRY(
      sn_arena_alloc(l->arena, g->n_outputs, sizeof *l->out->outputs, (void **)&l->out->outputs));
  l->out->n_outputs = g->n_outputs;
  for (size_t i = 0; i < g->n_outputs; i++) {
    const uint32_t v = l->value_of[l->views[g->outputs[i]].base];
    SN_CHECK(g->env, v != SN_NONE);
    l->out->values[v].type = g->nodes[g->outputs[i]].type; /* a reshape of it, see prepare.c */
    l->out->outputs[i] = v;
  }
  return SN_OK;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

sn_operand sn_lower_operand(const sn_lowering *l, sn_id id, int rank, const int *perm) {
  const sn_view *view = &l->views[id];
  sn_operand operand = {.value = l->value_of[view->base],
                        .dtype = l->g->nodes[id].type.dtype,
                        .offset = view->offset};
  for (int i = 0; i < rank; i++)
    operand.strides[i] = perm[i] == SN_MAX_RANK ? 0 : view->strides[perm[i]];
  return operand;
}

static sn_status give_insn(sn_body_builder *b, sn_id id, uint32_t insn) {
  sn_lowering *l = b->l;
  SN_TRY(sn_arena_grow(l->scratch, (void **)&l->touched, &l->cap_touched, b->n_touched,
                       sizeof *l->touched));
  l->touched[b->n_touched++] = id;
  l->insn_of[id] = insn;
  return SN_OK;
}

sn_status sn_lower_insn(sn_body_builder *b, sn_id id, const sn_insn *insn) {
  sn_lowering *l = b->l;
  SN_TRY(sn_arena_grow(l->scratch, (void **)&l->insns, &l->cap_insns, b->n_insns, sizeof *insn));
  SN_TRY(give_insn(b, id, b->n_insns));
  l->insns[b->n_insns++] = *insn;
  return SN_OK;
}

static sn_status lower_load(sn_body_builder *b, sn_id id) {
  sn_lowering *l = b->l;
  const sn_insn insn = {.kind = SN_INSN_LOAD,
                        .dtype = l->g->nodes[l->views[id].base].type.dtype,
                        .n_args = 1,
                        .args = {b->n_operands}};
  SN_TRY(sn_arena_grow(l->scratch, (void **)&l->operands, &l->cap_operands, b->n_operands,
                       sizeof *l->operands));
  sn_operand *operand = &l->operands[b->n_operands++];
  *operand = sn_lower_operand(l, id, b->space ? 0 : b->rank, b->perm);
  if (b->space)
    SN_CHECK(l->g->env, sn_space_strides(b->space, &l->g->nodes[id].type, l->views[id].strides,
                                         operand->strides));
  const sn_id from = l->views[id].base;
  if (l->views[from].is_load) SN_TRY(sn_lower_lookup(l, from, operand));
  return sn_lower_insn(b, id, &insn);
}

/* Loads a view of a cast that is done by its readers: the same view of what is cast, then the cast. */
static sn_status lower_view_of_cast(sn_body_builder *b, sn_id id) {
  sn_lowering *l = b->l;
  const sn_id cast = l->views[id].base, from = *sn_graph_inputs(l->g, cast);
  const sn_dtype small = l->g->nodes[from].type.dtype, wide = l->g->nodes[cast].type.dtype;
  SN_TRY(lower_load(b, id));
  const uint32_t load = b->n_insns - 1;
  l->insns[load].dtype = small;
  sn_operand *operand = &l->operands[b->n_operands - 1];
  operand->value = l->value_of[from];
  operand->dtype = small;
  const sn_insn insn = {.kind = SN_INSN_OP,
                        .op = SN_OP_astype,
                        .dtype = wide,
                        .n_args = 1,
                        .args = {load},
                        .in_dtype = small};
  SN_TRY(sn_arena_grow(l->scratch, (void **)&l->insns, &l->cap_insns, b->n_insns, sizeof insn));
  l->insn_of[id] = b->n_insns;
  l->insns[b->n_insns++] = insn;
  return SN_OK;
}

sn_status sn_lower_source(sn_body_builder *b, sn_id id) {
  const sn_lowering *l = b->l;
  const sn_id base = l->views[id].base;
  if (l->recomputed[id]) return sn_lower_compute(b, id);
  if (l->recomputed[base]) return lower_view_of_cast(b, id);
  if (l->g->nodes[base].op != SN_OP_constant) return lower_load(b, id);
  const sn_insn insn = {.kind = SN_INSN_CONST,
                        .dtype = l->g->nodes[base].type.dtype,
                        .value = sn_attr_double(sn_graph_attrs(l->g, base)[0])};
  return sn_lower_insn(b, id, &insn);
}

/* Gives x, which id reads, an instruction: that of its base, if the same kernel computes it, or a source. */
static sn_status add_input(sn_body_builder *b, sn_id id, sn_id x) {
  const sn_lowering *l = b->l;
  const sn_id base = l->views[x].base;
  if (l->insn_of[x] != SN_NONE) return SN_OK;
  const bool here = l->p->set[id] != SN_NONE && l->p->set[base] == l->p->set[id];
  if (here && l->insn_of[base] != SN_NONE) return give_insn(b, x, l->insn_of[base]);
  return sn_lower_source(b, x);
}

sn_status sn_lower_compute(sn_body_builder *b, sn_id id) {
  sn_lowering *l = b->l;
  const sn_node *node = sn_graph_node(l->g, id);
  const sn_id *x = sn_graph_inputs(l->g, id);
  for (uint32_t k = 0; k < node->n_inputs; k++) SN_TRY(add_input(b, id, x[k]));
  if (sn_lower_keeps_value(l, id)) return give_insn(b, id, l->insn_of[x[0]]);
  sn_insn insn = {
      .kind = SN_INSN_OP, .op = node->op, .dtype = node->type.dtype, .n_args = node->n_inputs};
  for (uint32_t k = 0; k < node->n_inputs; k++) insn.args[k] = l->insn_of[x[k]];
  insn.in_dtype = l->g->nodes[x[node->n_inputs - 1]].type.dtype;
  return sn_lower_insn(b, id, &insn);
}

/* Copies a list that is complete from where it was built. */
static sn_status copy_list(sn_arena *arena, const void *items, size_t n, size_t item_bytes,
                           void **out) {
  SN_TRY(sn_arena_alloc(arena, n, item_bytes, out));
  if (n) memcpy(*out, items, n * item_bytes);
  return SN_OK;
}

sn_status sn_lower_end_body(sn_body_builder *b, sn_body *out) {
  sn_lowering *l = b->l;
  for (size_t i = 0; i < b->n_touched; i++) l->insn_of[l->touched[i]] = SN_NONE;
  *out = (sn_body){.n_insns = b->n_insns, .n_operands = b->n_operands};
  SN_TRY(copy_list(l->arena, l->insns, b->n_insns, sizeof *l->insns, (void **)&out->insns));
  return copy_list(l->arena, l->operands, b->n_operands, sizeof *l->operands,
                   (void **)&out->operands);
}

/* ---- one group ------------------------------------------------------------------------------- */

const sn_id *sn_lower_members(const sn_lowering *l, size_t set, size_t *n) {
  *n = l->first_member[set + 1] - l->first_member[set];
  return l->members + l->first_member[set];
}

void sn_lower_space(sn_group *group, const sn_type *type) {
  group->space_rank = type->rank;
  memcpy(group->space, type->dims, sizeof group->space);
}

static sn_status add_store(sn_lowering *l, sn_group *group, uint32_t insn,
                           const sn_operand *target) {
  SN_TRY(sn_arena_grow(l->scratch, (void **)&l->stores, &l->cap_stores, group->n_stores,
                       sizeof *l->stores));
  l->stores[group->n_stores++] = (sn_store){insn, *target};
  return SN_OK;
}

/* A stack of scalars: each is stored to its place. */
static sn_status store_stack(sn_body_builder *b, sn_group *group, sn_id id) {
  sn_lowering *l = b->l;
  const sn_id *x = sn_graph_inputs(l->g, id);
  sn_operand target = {.value = l->value_of[id], .dtype = l->g->nodes[id].type.dtype};
  for (uint32_t k = 0; k < l->g->nodes[id].n_inputs; k++, target.offset++) {
    SN_TRY(add_input(b, id, x[k]));
    SN_TRY(add_store(l, group, l->insn_of[x[k]], &target));
  }
  return SN_OK;
}

static sn_status lower_post(sn_lowering *l, size_t set, sn_group *group) {
  size_t n;
  const sn_id *nodes = sn_lower_members(l, set, &n);
  sn_type space = {.rank = group->space_rank};
  memcpy(space.dims, group->space, sizeof space.dims);
  sn_body_builder b = {.l = l, .space = &space};
  for (size_t i = 0; i < n; i++) {
    if (l->p->owner[nodes[i]] != SN_NONE) continue;
    if (l->g->nodes[nodes[i]].op == SN_OP_concat) continue;
    if (nodes[i] != l->p->anchor[set]) {
      SN_TRY(sn_lower_compute(&b, nodes[i]));
      continue;
    }
    const sn_insn total = {.kind = SN_INSN_TOTAL, .dtype = l->g->nodes[nodes[i]].type.dtype};
    SN_TRY(sn_lower_insn(&b, nodes[i], &total));
  }
  for (size_t i = 0; i < n; i++) {
    const uint32_t value = l->value_of[nodes[i]];
    if (value == SN_NONE) continue;
    if (l->g->nodes[nodes[i]].op == SN_OP_concat) {
      SN_TRY(store_stack(&b, group, nodes[i]));
      continue;
    }
    sn_operand target = {.value = value, .dtype = l->g->nodes[nodes[i]].type.dtype};
    sn_row_major(&space, target.strides);
    const sn_id whole = l->out->values[value].node;
    if (whole != nodes[i]) sn_lower_inside(l, whole, &target);
    SN_TRY(add_store(l, group, l->insn_of[nodes[i]], &target));
  }
  SN_TRY(
      copy_list(l->arena, l->stores, group->n_stores, sizeof *l->stores, (void **)&group->stores));
  return sn_lower_end_body(&b, &group->post);
}

/* Ends the phase of a reduction of x by `op`: its body has been built except for x. */
static sn_status end_reduction(sn_body_builder *b, sn_id x, sn_op op, size_t set, sn_group *group) {
  sn_lowering *l = b->l;
  if (l->insn_of[x] == SN_NONE) SN_TRY(sn_lower_source(b, x));
  sn_phase *phase;
  SN_TRY(sn_arena_alloc(l->arena, 1, sizeof *phase, (void **)&phase));
  SN_TRY(sn_arena_alloc(l->arena, 1, sizeof *phase->reductions, (void **)&phase->reductions));
  phase->reductions[0] =
      (sn_reduction){op, l->g->nodes[l->p->anchor[set]].type.dtype, l->insn_of[x]};
  phase->n_reductions = 1;
  group->row.phases = phase;
  group->row.n_phases = group->row.n_totals = 1;
  SN_TRY(sn_lower_end_body(b, &phase->body));
  return lower_post(l, set, group);
}

/* Adds the nodes that the set's reduction computes on the fly. */
static sn_status lower_owned(const sn_lowering *l, size_t set, sn_body_builder *b) {
  size_t n;
  const sn_id *nodes = sn_lower_members(l, set, &n);
  for (size_t i = 0; i < n; i++)
    if (l->p->owner[nodes[i]] == l->p->anchor[set]) SN_TRY(sn_lower_compute(b, nodes[i]));
  return SN_OK;
}

/* The rows of x are the reduced points. Which of them belong to an index of the space, `ends` tells:
 * loads do not move along space dim 0. */
static sn_status lower_ragged(sn_lowering *l, size_t set, sn_group *group) {
  const sn_id anchor = l->p->anchor[set], *x = sn_graph_inputs(l->g, anchor);
  const sn_type *type = &l->g->nodes[x[0]].type;
  const int none = SN_MAX_RANK;
  group->kind = SN_GROUP_REDUCE;
  sn_lower_space(group, &l->g->nodes[anchor].type);
  group->reduced[group->reduced_rank++] = type->dims[0];
  sn_body_builder b = {.l = l, .rank = type->rank + 1, .perm = {none}};
  for (int i = 1; i < type->rank; i++) b.perm[i] = i;
  SN_TRY(lower_owned(l, set, &b));
  group->row = (sn_row){0};
  SN_TRY(sn_arena_alloc(l->arena, 1, sizeof *group->row.ends, (void **)&group->row.ends));
  *group->row.ends = sn_lower_operand(l, x[1], 1, (int[]){0});
  const sn_op op = sn_op_describe(l->g->nodes[anchor].op)->gathered;
  return end_reduction(&b, x[0], op, set, group);
}

static sn_status lower_reduce(sn_lowering *l, size_t set, sn_group *group) {
  const sn_id anchor = l->p->anchor[set], x = *sn_graph_inputs(l->g, anchor);
  const sn_type *type = &l->g->nodes[x].type;
  const uint64_t mask = (uint64_t)sn_graph_attrs(l->g, anchor)[0];
  group->kind = SN_GROUP_REDUCE;
  sn_lower_space(group, &l->g->nodes[anchor].type);
  sn_body_builder b = {.l = l, .rank = type->rank};
  int at = 0;
  for (int i = 0; i < type->rank; i++)
    if (!(mask >> i & 1)) b.perm[at++] = i;
  for (int i = 0; i < type->rank; i++) {
    if (!(mask >> i & 1)) continue;
    group->reduced[group->reduced_rank++] = type->dims[i];
    b.perm[at++] = i;
  }
  SN_TRY(lower_owned(l, set, &b));
  group->row = (sn_row){0};
  return end_reduction(&b, x, l->g->nodes[anchor].op, set, group);
}

static sn_status lower_factor(const sn_lowering *l, sn_id x, int rank, int side, sn_operand *out) {
  *out = (sn_operand){.value = l->value_of[l->views[x].base], .dtype = l->g->nodes[x].type.dtype};
  out->form = SN_FORM_NESTS;
  SN_TRY(sn_arena_alloc(l->arena, 1, sizeof *out->nests, (void **)&out->nests));
  sn_factor_of(l->g, l->views, x, rank, side, out);
  sn_factor_leave_frame(l->g, l->views, l->views[x].frame, out);
  return SN_OK;
}

static sn_status lower_contraction(sn_lowering *l, size_t set, sn_group *group) {
  const sn_id anchor = l->p->anchor[set], *x = sn_graph_inputs(l->g, anchor);
  const int rank = l->g->nodes[anchor].type.rank;
  sn_contraction *c = &group->contraction;
  group->kind = SN_GROUP_CONTRACTION;
  sn_lower_space(group, &l->g->nodes[anchor].type);
  c->total_dtype = l->g->nodes[anchor].type.dtype;
  c->k = l->g->nodes[x[0]].type.dims[rank - 1];
  SN_TRY(sn_arena_alloc(l->arena, 2, sizeof *c->factors, (void **)&c->factors));
  for (int side = 0; side < 2; side++)
    SN_TRY(lower_factor(l, x[side], rank, side, &c->factors[side]));
  return lower_post(l, set, group);
}

sn_status sn_lower_new_group(sn_lowering *l, sn_group **out) {
  *out = &l->out->groups[l->out->n_groups++];
  **out = (sn_group){.kind = SN_GROUP_MAP};
  return SN_OK;
}

/* ---- names and costs ------------------------------------------------------------------------- */

static sn_status name_group(sn_lowering *l, size_t set, sn_group *group) {
  enum { MAX_NAMES = 5 };
  size_t n, named = 0, last = SN_OP_COUNT;
  const sn_id *nodes = sn_lower_members(l, set, &n);
  sn_text text = sn_text_in(l->scratch);
  for (size_t i = 0; i < n; i++) {
    const sn_op op = l->g->nodes[nodes[i]].op;
    if ((size_t)op == last || named == MAX_NAMES) continue;
    sn_text_add(&text, named++ ? "+%s" : "%s", sn_op_describe(op)->name);
    last = op;
  }
  if (n > MAX_NAMES) sn_text_add(&text, "(%zu)", n);
  SN_TRY(text.status);
  return sn_arena_text(l->arena, text.data, &group->name);
}

static double body_flops(const sn_body *body) {
  double flops = 0;
  for (uint32_t i = 0; i < body->n_insns; i++)
    if (body->insns[i].kind == SN_INSN_OP) flops += sn_op_describe(body->insns[i].op)->cost;
  return flops;
}

double sn_operand_bytes(const sn_operand *operand, const int64_t *dims, int rank) {
  double elements = operand->value == SN_NONE ? 0 : 1;
  const int64_t *looked_up = sn_is_indexed(operand) ? operand->indexing->index.strides : NULL;
  const bool nests = operand->form == SN_FORM_NESTS;
  for (int i = 0; i < rank && !nests; i++)
    if (operand->strides[i] || (looked_up && looked_up[i])) elements *= (double)dims[i];
  for (int n = 0; n < rank && nests; n++)
    for (int i = 0; i < operand->nests->of[n].rank; i++)
      if (operand->nests->of[n].strides[i]) elements *= (double)operand->nests->of[n].dims[i];
  return elements * (double)sn_dtype_bytes(operand->dtype);
}

typedef struct work {
  sn_group *group;
  const sn_value *values;
} work;

/* Elements that overlapping windows read several times are counted once. A gather reads as much of x
 * as it writes. */
static sn_status count_bytes(void *user, const sn_touch *touch) {
  const work *w = user;
  const sn_operand *o = touch->operand;
  const sn_call *call = &w->group->call;
  int64_t dims[SN_MAX_RANK];
  if (w->group->kind == SN_GROUP_CONTROL) { /* its regions' programs count their own work */
    w->group->bytes += (double)sn_type_bytes(&w->values[o->value].type);
    return SN_OK;
  }
  memcpy(dims, touch->dims, sizeof dims);
  if (touch->role == SN_ROLE_INPUT && call->op == SN_OP_gather && o == call->operands)
    dims[touch->rank - 1] = call->length;
  double bytes = sn_operand_bytes(o, dims, touch->rank);
  if (o->form == SN_FORM_NESTS) {
    const double most = (double)sn_type_bytes(&w->values[o->value].type);
    if (bytes > most) bytes = most;
  }
  w->group->bytes += bytes;
  return SN_OK;
}

static double phase_flops(const sn_phase *phase) {
  return body_flops(&phase->body) + phase->n_reductions;
}

/* Points that phases walk. In a ragged group each reduced point is in one bag, not in all rows. */
static double phase_points(const sn_group *g) {
  const bool ragged = g->row.ends && g->space[0];
  const double points = (double)sn_group_points(g) * (double)sn_group_reduced_points(g);
  return ragged ? points / (double)g->space[0] : points;
}

static double flops_of(const sn_group *g) {
  const double points = (double)sn_group_points(g);
  double flops = points * body_flops(&g->post);
  if (g->kind == SN_GROUP_CONTROL) return 0;
  if (g->kind == SN_GROUP_CALL) return sn_call_flops(g);
  if (g->kind == SN_GROUP_CONTRACTION) flops += 2 * points * (double)g->contraction.k;
  for (uint32_t p = 0; p < sn_group_phases(g); p++)
    flops += phase_points(g) * phase_flops(&g->row.phases[p]);
  return flops;
}

static void count_work(sn_group *group, const sn_value *values) {
  group->flops = flops_of(group);
  sn_group_visit(group, count_bytes, &(work){group, values});
}

/* ---- all groups ------------------------------------------------------------------------------ */

static sn_status lower_map(sn_lowering *l, size_t set, sn_group *group) {
  size_t n;
  const sn_id *nodes = sn_lower_members(l, set, &n);
  sn_type space = l->g->nodes[nodes[0]].type;
  for (size_t i = 0; i < n; i++) /* a stack has several points, its inputs one */
    if (l->g->nodes[nodes[i]].op == SN_OP_concat) space = sn_type_scalar(space.dtype);
  for (size_t i = 0; i < n && space.rank; i++)
    SN_CHECK(l->g->env, sn_space_refine(&space, &l->g->nodes[nodes[i]].type));
  sn_lower_space(group, &space);
  return lower_post(l, set, group);
}

static sn_status lower_set(sn_lowering *l, size_t set) {
  const sn_id anchor = l->p->anchor[set];
  const sn_op_class kind =
      anchor == SN_NONE ? SN_CLASS_MAP : sn_op_describe(l->g->nodes[anchor].op)->kind;
  if (kind == SN_CLASS_PAD) return sn_lower_pad(l, anchor);
  if (kind == SN_CLASS_CONCAT && !sn_node_is_call(l->p->target, &l->g->nodes[anchor]))
    return sn_lower_concat(l, anchor);
  sn_group *group;
  SN_TRY(sn_lower_new_group(l, &group));
  SN_TRY(name_group(l, set, group));
  if (l->p->row[set] != SN_NONE) return sn_lower_row(l, set, group);
  if (kind == SN_CLASS_REDUCE) return lower_reduce(l, set, group);
  if (kind == SN_CLASS_RAGGED) return lower_ragged(l, set, group);
  if (kind == SN_CLASS_MATMUL) return lower_contraction(l, set, group);
  if (kind == SN_CLASS_CONTROL) return sn_lower_control(l, set, group);
  if (kind == SN_CLASS_BLOCKS) return sn_lower_blocks(l, set, group);
  if (kind == SN_CLASS_COLLECTIVE) return sn_lower_collective(l, set, group);
  if (anchor != SN_NONE && sn_node_is_call(l->p->target, &l->g->nodes[anchor]))
    return sn_lower_call(l, set, group);
  return lower_map(l, set, group);
}

/* Lists the nodes of each set, with those that its reduction owns. */
static sn_status list_members(sn_lowering *l) {
  const sn_graph *g = l->g;
  const size_t n_sets = l->p->n_sets;
  SN_TRY(sn_arena_alloc(l->scratch, g->n_nodes, sizeof *l->members, (void **)&l->members));
  SN_TRY(
      sn_arena_alloc(l->scratch, n_sets + 2, sizeof *l->first_member, (void **)&l->first_member));
  size_t *end = l->first_member + 1; /* after filling: end[set] = first member of the next set */
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

/* A pad makes two groups at most for each axis, a concat of few one per input, everything else one. */
static size_t count_groups(const sn_lowering *l) {
  size_t n = 0;
  for (size_t set = 0; set < l->p->n_sets; set++) {
    const sn_id anchor = l->p->anchor[set];
    const sn_node *node = anchor == SN_NONE ? NULL : sn_graph_node(l->g, anchor);
    if (node && node->op == SN_OP_concat && !sn_node_is_call(l->p->target, node))
      n += node->n_inputs;
    else
      n += node && node->op == SN_OP_pad ? 2 + 2 * (size_t)node->type.rank : 1;
  }
  return n;
}

/* Whether nobody needs a kernel for the set: its readers compute it themselves. */
static bool is_made_again(const sn_lowering *l, size_t set) {
  size_t n;
  const sn_id *nodes = sn_lower_members(l, set, &n);
  bool all = true;
  for (size_t i = 0; i < n; i++) all = all && l->recomputed[nodes[i]];
  return all;
}

sn_status sn_lower_groups(const sn_graph *g, const sn_view *views, const sn_partition *p,
                          sn_arena *scratch, sn_groups *out) {
  sn_lowering l = {
      .g = g, .p = p, .arena = g->arena, .scratch = scratch, .views = views, .out = out};
  *out = (sn_groups){
      .graph = g, .target = p->target, .made = p->how, .cuts = p->cuts, .n_cuts = p->n_cuts};
  SN_TRY(sn_arena_alloc(scratch, g->n_nodes, 1, (void **)&l.live));
  SN_TRY(sn_arena_alloc(scratch, g->n_nodes, sizeof *l.value_of, (void **)&l.value_of));
  SN_TRY(sn_arena_alloc(scratch, g->n_nodes, 1, (void **)&l.recomputed));
  SN_TRY(sn_arena_alloc(scratch, g->n_nodes, sizeof *l.insn_of, (void **)&l.insn_of));
  sn_graph_live(g, l.live);
  for (sn_id id = 0; id < g->n_nodes; id++) l.insn_of[id] = SN_NONE;
  SN_TRY(list_members(&l));
  SN_TRY(find_values(&l));
  if (p->how.excess && !p->target->deterministic) SN_TRY(sn_lower_excess(&l));
  SN_TRY(sn_arena_alloc(l.arena, count_groups(&l), sizeof *out->groups, (void **)&out->groups));
  SN_TRY(sn_arena_alloc(l.arena, g->n_nodes, sizeof *out->kernel_of, (void **)&out->kernel_of));
  for (sn_id id = 0; id < g->n_nodes; id++) out->kernel_of[id] = SN_NONE;
  for (size_t set = 0; set < p->n_sets; set++) {
    size_t n;
    const sn_id *nodes = sn_lower_members(&l, set, &n);
    if (is_made_again(&l, set)) continue;
    SN_TRY(lower_set(&l, set));
    for (size_t i = 0; i < n; i++) out->kernel_of[nodes[i]] = (uint32_t)out->n_groups - 1;
  }
  for (size_t i = 0; i < out->n_groups; i++) count_work(&out->groups[i], out->values);
  return SN_OK;
}

static sn_status check_dtypes(sn_arena *scratch, const sn_graph *g, const sn_target *target) {
  uint8_t *live;
  SN_TRY(sn_arena_alloc(scratch, g->n_nodes, 1, (void **)&live));
  sn_graph_live(g, live);
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_dtype dtype = g->nodes[id].type.dtype;
    SN_FAIL_IF(g->env, live[id] && !(target->limits.dtypes >> dtype & 1), SN_ERR_UNSUPPORTED,
               "compile", "%s has no %s", target->name, sn_dtype_name(dtype));
  }
  return SN_OK;
}

static sn_status fuse_in(sn_arena *scratch, const sn_graph *g, const sn_target *target,
                         sn_fuse_options how, sn_groups *out) {
  sn_view *views;
  SN_TRY(sn_arena_alloc(scratch, g->n_nodes, sizeof *views, (void **)&views));
  SN_TRY(check_dtypes(scratch, g, target));
  for (sn_id id = 0; id < g->n_nodes; id++) SN_TRY(sn_view_of(g, views, id, &views[id]));
  if (how.fusion) SN_TRY(sn_view_padding(g, target, views));
  if (how.fusion) SN_TRY(sn_view_lookups(g, target, scratch, views));
  sn_partition partition;
  SN_TRY(sn_partition_graph(g, target, views, how, scratch, &partition));
  SN_TRY(sn_lower_groups(g, views, &partition, scratch, out));
  SN_TRY(sn_groups_verify(out, scratch));
  if (how.fusion) SN_TRY(sn_chain_groups(out, g->arena, scratch));
  for (size_t i = 0; i < out->n_groups; i++) sn_merge_dims(&out->groups[i]);
  return SN_OK;
}

sn_status sn_fuse_graph(const sn_graph *g, const sn_target *target, sn_fuse_options how,
                        sn_groups *out) {
  sn_arena scratch;
  sn_arena_init(&scratch, g->env);
  const sn_status status = fuse_in(&scratch, g, target, how, out);
  sn_arena_free(&scratch);
  return status;
}
