/* verify_groups.c - do the groups write every buffer whole before it is read, and read and write
 * nothing outside of one?
 *
 * A node lowered in the wrong shape shows here: its strides leave its buffer, or are 0 where its
 * elements differ, so that they are stored over one another and the rest of the buffer is never
 * written. It costs a few operations per operand, and runs always: an internal error is better than
 * a wrong value. Chains and prologues are made from these groups afterwards; of chains the members
 * are looked at. */
#include "fuse/chain.h"
#include "fuse/group_visit.h"

typedef struct verifier {
  const sn_groups *groups;
  int64_t *written; /* per buffer: elements that stores put there */
} verifier;

static int64_t points_of(const sn_touch *touch) {
  int64_t points = 1;
  for (int i = 0; i < touch->rank; i++) points *= touch->dims[i];
  return points;
}

static void widen(int64_t *low, int64_t *high, int64_t dim, int64_t stride) {
  *(stride < 0 ? low : high) += (dim - 1) * stride;
}

/* Whether the operand stays inside its buffer. A factor with bounds may leave it: packing reads only
 * the positions within the bounds. */
static bool stays_inside(const verifier *v, const sn_touch *touch) {
  const sn_operand *o = touch->operand;
  int64_t low = o->offset, high = o->offset;
  const bool nests = o->form == SN_FORM_NESTS;
  for (int i = 0; i < touch->rank && !nests; i++) widen(&low, &high, touch->dims[i], o->strides[i]);
  for (int n = 0; n < touch->rank && nests; n++)
    for (int i = 0; i < o->nests->of[n].rank; i++)
      widen(&low, &high, o->nests->of[n].dims[i], o->nests->of[n].strides[i]);
  if (sn_is_indexed(o)) widen(&low, &high, o->indexing->length, o->indexing->stride);
  const int64_t size = sn_type_size(&v->groups->values[o->value].type);
  return (nests && o->nests->bounds.guards) || (low >= 0 && high < size);
}

/* Whether the value has been written whole, so that it may be read. An empty buffer needs no write. */
static bool is_written(const verifier *v, uint32_t value) {
  const sn_value *read = &v->groups->values[value];
  return read->kind == SN_VALUE_ARGUMENT || v->written[value] >= sn_type_size(&read->type);
}

/* Control flow writes buffers whole. verify_inputs checks the extent of what it reads. */
static sn_status verify_whole(const verifier *v, const sn_touch *touch) {
  const uint32_t value = touch->operand->value;
  SN_CHECK(v->groups->graph->env, value < v->groups->n_values);
  if (!sn_touch_writes(touch)) {
    SN_CHECK(v->groups->graph->env, is_written(v, value));
    return SN_OK;
  }
  SN_CHECK(v->groups->graph->env, touch->operand->offset == 0);
  v->written[value] = sn_type_size(&v->groups->values[value].type);
  return SN_OK;
}

/* Each input of control flow is a run of elements that must lie in its buffer. */
static sn_status verify_inputs(const sn_groups *groups, const sn_control_flow *c) {
  const sn_graph *g = groups->graph;
  SN_CHECK(g->env, c->node < g->n_nodes && c->n_operands == g->nodes[c->node].n_inputs);
  for (uint32_t k = 0; k < c->n_operands; k++) {
    const sn_operand *x = &c->operands[k];
    const int64_t n = sn_type_size(&g->nodes[sn_graph_inputs(g, c->node)[k]].type);
    SN_CHECK(g->env, x->value < groups->n_values && x->offset >= 0);
    SN_CHECK(g->env, x->offset + n <= sn_type_size(&groups->values[x->value].type));
  }
  return SN_OK;
}

static sn_status verify_touch(void *user, const sn_touch *touch) {
  const verifier *v = user;
  sn_env *env = v->groups->graph->env;
  const sn_operand *o = touch->operand;
  const int64_t points = points_of(touch);
  if (touch->group->kind == SN_GROUP_CONTROL) return verify_whole(v, touch);
  if (points == 0) return SN_OK; /* strides around a dim of 0 are 0 */
  if (!sn_touch_writes(touch) && o->value == SN_NONE) return SN_OK; /* no memory */
  SN_CHECK(env, o->value < v->groups->n_values);
  SN_CHECK(env, stays_inside(v, touch));
  SN_CHECK(env, touch->role != SN_ROLE_INDEX || o->dtype == SN_I32);
  SN_CHECK(env, !sn_is_indexed(o) || o->indexing->length > 0);
  SN_CHECK(env, sn_touch_writes(touch) || is_written(v, o->value));
  if (!sn_touch_writes(touch)) return SN_OK;
  for (int i = 0; i < touch->rank; i++) SN_CHECK(env, touch->dims[i] <= 1 || o->strides[i] != 0);
  v->written[o->value] += points;
  return SN_OK;
}

sn_status sn_groups_verify(const sn_groups *groups, sn_arena *arena) {
  verifier v = {.groups = groups};
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof *v.written, (void **)&v.written));
  for (size_t i = 0; i < groups->n_groups; i++) {
    const sn_group *g = &groups->groups[i];
    const bool is_chain = g->kind == SN_GROUP_CHAIN;
    for (uint32_t m = 0; m < (is_chain ? g->chain->n_members : 1); m++)
      SN_TRY(sn_group_visit(is_chain ? &g->chain->members[m] : g, verify_touch, &v));
    if (g->kind == SN_GROUP_CONTROL) SN_TRY(verify_inputs(groups, &g->control));
  }
  for (size_t i = 0; i < groups->n_values; i++) {
    const sn_value *value = &groups->values[i];
    const bool not_used = value->kind == SN_VALUE_TEMP && !v.written[i]; /* else reads had failed */
    SN_CHECK(groups->graph->env, value->kind == SN_VALUE_ARGUMENT || not_used ||
                                     v.written[i] >= sn_type_size(&value->type));
  }
  return SN_OK;
}
