/* lookup.c - gathers that are never computed: their readers look each element up in the table, so
 * that the rows of an embedding, say, go straight into the kernel that adds to them.
 *
 *   gather y[i, j] = x[index[i], j] along axis 0       z = y + p
 *   z's kernel loads x at  0 i + 1 j + 9 position(index[i])      for an x with 9 columns
 *
 * Views of the gather describe its result as if it were in memory. A load is converted dim by dim,
 * as padding.c does it: a stride of n steps along one axis of the result becomes n strides of x (0
 * along the gather's own axis) and n strides of the indices.
 *
 * Only bodies can read this way, as only they have loads. Rows along the innermost axis should be
 * contiguous in x: otherwise every element reads an index, which the target has to find worth it for
 * rows of one. A reduction over other axes than the last ones reads a copy: how it cuts its sums
 * depends on strides, and its bits must not change. */
#include "fuse/lowering.h"

/* The axis that `stride` moves along in a row-major type, and how far; false if none. */
static bool axis_of(const sn_type *type, int64_t stride, int *axis, int64_t *steps) {
  int64_t row_major[SN_MAX_RANK];
  const int64_t forward = stride < 0 ? -stride : stride;
  sn_row_major(type, row_major);
  for (*axis = 0; *axis < type->rank - 1; ++*axis)
    if (type->dims[*axis] > 1 && row_major[*axis] <= forward) break;
  *steps = type->rank ? stride / row_major[*axis] : 0;
  return type->rank > 0 && *steps * row_major[*axis] == stride;
}

/* ---- which gathers --------------------------------------------------------------------------- */

typedef struct lookups {
  const sn_graph *g;
  const sn_target *target;
  const sn_view *views;
  uint8_t *copied; /* per node: whether it is no gather, or has a reader that cannot look it up */
  uint8_t
      *in_bag; /* per node: whether only ragged reductions need it, and may compute it themselves */
} lookups;

/* Whether the gather takes rows of several elements that are contiguous in x, by one index each. */
static bool has_rows(const lookups *l, sn_id id) {
  const sn_node *node = &l->g->nodes[id];
  const sn_id *x = sn_graph_inputs(l->g, id);
  const int last = node->type.rank - 1;
  return sn_graph_attrs(l->g, id)[0] != last && node->type.dims[last] > 1 &&
         l->views[x[0]].strides[last] == 1 && l->views[x[1]].strides[last] == 0;
}

/* How many elements of gather id's result an index is read for: a row, or one. */
static int64_t row_of(const lookups *l, sn_id id) {
  const sn_type *made = &l->g->nodes[id].type;
  return has_rows(l, id) ? made->dims[made->rank - 1] : 1;
}

static bool can_look_up(const lookups *l, sn_id id) {
  const sn_id *x = sn_graph_inputs(l->g, id);
  return l->g->nodes[id].op == SN_OP_gather && !l->views[x[0]].nests && !l->views[x[1]].nests &&
         sn_type_size(&l->g->nodes[id].type) > 0;
}

/* Whether each dim of view x stays within one axis of gather base's result. */
static bool leaves(const lookups *l, sn_id x, sn_id base) {
  const sn_view *view = &l->views[x];
  const sn_type *type = &l->g->nodes[x].type, *made = &l->g->nodes[base].type;
  int64_t reach[SN_MAX_RANK], row_major[SN_MAX_RANK];
  if (view->nests) return false;
  sn_row_major(made, row_major);
  for (int i = 0; i < made->rank; i++) reach[i] = view->offset / row_major[i] % made->dims[i];
  for (int i = 0; i < type->rank; i++) {
    int axis;
    int64_t steps;
    if (type->dims[i] < 2 || !view->strides[i]) continue;
    if (view->strides[i] < 0 || !axis_of(made, view->strides[i], &axis, &steps)) return false;
    reach[axis] += (type->dims[i] - 1) * steps;
    if (reach[axis] >= made->dims[axis]) return false;
  }
  return true;
}

/* Whether the user can look up its input k, a view of gather `base`: it reads rows as the gather takes
 * them (any order will do if an index is for one element), and they are long enough to pay. */
static bool reads_rows(const lookups *l, sn_id user, uint32_t k, sn_id base) {
  const sn_id x = sn_graph_inputs(l->g, user)[k];
  const sn_type *type = &l->g->nodes[x].type;
  const bool by_rows = has_rows(l, base);
  int last = type->rank - 1;
  while (last > 0 && type->dims[last] == 1) last--;
  if (by_rows && (last < 0 || l->views[x].strides[last] != 1)) return false;
  if (sn_op_describe(l->g->nodes[user].op)->kind == SN_CLASS_RAGGED) return by_rows && k == 0;
  if (by_rows && l->in_bag[user]) return true;
  return row_of(l, base) >= l->target->costs.lookup_row &&
         (sn_op_is_elementwise(l->g->nodes[user].op) ||
          sn_row_of(l->target, l->g, user, &(sn_row_domain){0}));
}

/* Users come before their inputs. */
static sn_status find_in_bags(const lookups *l, sn_arena *scratch) {
  const sn_graph *g = l->g;
  uint8_t *needed; /* per node: by something else than ragged reductions */
  SN_TRY(sn_arena_alloc(scratch, g->n_nodes, 1, (void **)&needed));
  for (size_t i = 0; i < g->n_outputs; i++) needed[g->outputs[i]] = 1;
  for (sn_id id = (sn_id)g->n_nodes; id-- > 0;) {
    const bool ragged = sn_op_describe(g->nodes[id].op)->kind == SN_CLASS_RAGGED;
    l->in_bag[id] = sn_op_is_elementwise(g->nodes[id].op) && !needed[id];
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++)
      needed[sn_graph_inputs(g, id)[k]] |= !l->in_bag[id] && !(ragged && k == 0);
  }
  return SN_OK;
}

sn_status sn_view_lookups(const sn_graph *g, const sn_target *target, sn_arena *scratch,
                          sn_view *views) {
  lookups l = {g, target, views, NULL, NULL};
  SN_TRY(sn_arena_alloc(scratch, g->n_nodes, 1, (void **)&l.copied));
  SN_TRY(sn_arena_alloc(scratch, g->n_nodes, 1, (void **)&l.in_bag));
  SN_TRY(find_in_bags(&l, scratch));
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_id *x = sn_graph_inputs(g, id);
    l.copied[id] = !can_look_up(&l, id);
    if (sn_op_describe(g->nodes[id].op)->kind == SN_CLASS_VIEW) continue;
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) {
      const sn_id base = views[x[k]].base;
      if (!l.copied[base]) l.copied[base] = !reads_rows(&l, id, k, base) || !leaves(&l, x[k], base);
    }
  }
  for (size_t i = 0; i < g->n_outputs; i++) l.copied[views[g->outputs[i]].base] = 1;
  for (sn_id id = 0; id < g->n_nodes; id++) views[id].is_load = !l.copied[id];
  return SN_OK;
}

/* ---- their loads ----------------------------------------------------------------------------- */

sn_status sn_lower_lookup(const sn_lowering *l, sn_id id, sn_operand *load) {
  const sn_id *x = sn_graph_inputs(l->g, id);
  const sn_view *table = &l->views[x[0]], *index = &l->views[x[1]];
  const sn_type *made = &l->g->nodes[id].type;
  const int along = (int)sn_graph_attrs(l->g, id)[0];
  int64_t row_major[SN_MAX_RANK];
  sn_indexing *indexing;
  SN_TRY(sn_arena_alloc(l->arena, 1, sizeof *indexing, (void **)&indexing));
  sn_operand *at = &indexing->index;
  *indexing = (sn_indexing){.index = {.value = l->value_of[index->base], .dtype = SN_I32},
                            .stride = table->strides[along],
                            .length = l->g->nodes[x[0]].type.dims[along]};
  const sn_operand in_gather = *load;
  *load = (sn_operand){.value = l->value_of[table->base],
                       .dtype = made->dtype,
                       .offset = table->offset,
                       .indexing = indexing,
                       .form = SN_FORM_INDEXED};
  at->offset = index->offset;
  sn_row_major(made, row_major);
  for (int i = 0; i < made->rank; i++) {
    const int64_t first = in_gather.offset / row_major[i] % made->dims[i];
    load->offset += i == along ? 0 : first * table->strides[i];
    at->offset += first * index->strides[i];
  }
  for (int i = 0; i < SN_MAX_RANK; i++) {
    int axis;
    int64_t steps;
    if (!in_gather.strides[i]) continue;
    SN_CHECK(l->g->env, axis_of(made, in_gather.strides[i], &axis, &steps));
    load->strides[i] = axis == along ? 0 : steps * table->strides[axis];
    at->strides[i] = steps * index->strides[axis];
  }
  return SN_OK;
}
