/* place.c - what is only copied into a part of another buffer, as a concat does, is written there by its maker.
 *
 *   k1: v = a + b             k1: w[0 .. 8) = a + b
 *   k2: w[0 .. 8) = v    ->   k3: w[8 .. 9) = c
 *   k3: w[8 .. 9) = c
 *
 * The copy reads all of v in order and writes a run of w, so every place in v is one in w by a shift. Nobody reads w
 * before its last part, so it may be written sooner. That holds where no element of w is written twice: a pad writes
 * its number everywhere first. A maker with other results stays as it is, since it may run again for their sake
 * (plan/evict.c). */
#include "fuse/fuse.h"
#include "fuse/group_visit.h"

/* What groups do with a buffer. */
typedef struct use {
  uint32_t n_reads, n_writes, writer;
  int64_t written; /* elements, one as often as it is written */
  sn_operand *target;
} use;

typedef struct placing {
  sn_groups *groups;
  use *uses;
  uint32_t group; /* that is looked at */
} placing;

static sn_status note_touch(void *user, const sn_touch *touch) {
  placing *p = user;
  if (touch->operand->value == SN_NONE) return SN_OK;
  use *u = &p->uses[touch->operand->value];
  if (!sn_touch_writes(touch)) {
    u->n_reads++;
    return SN_OK;
  }
  int64_t points = 1;
  for (int i = 0; i < touch->rank; i++) points *= touch->dims[i];
  u->n_writes++;
  u->written += points;
  u->writer = p->group;
  u->target = touch->role == SN_ROLE_STORE ? touch->operand : NULL;
  return SN_OK;
}

/* Whether an operand goes through the space as memory lies, element after element. */
static bool is_run(const sn_operand *o, int rank, const int64_t *dims) {
  int64_t step = 1;
  if (o->form != SN_FORM_STRIDES) return false;
  for (int i = rank - 1; i >= 0; step *= dims[i--])
    if (dims[i] != 1 && o->strides[i] != step) return false;
  return true;
}

/* Whether a group is a copy of v, as a whole, to a run of another buffer. */
static bool is_copy(const placing *p, const sn_group *g) {
  if (g->kind != SN_GROUP_MAP || g->limited || g->n_stores != 1) return false;
  if (g->post.n_insns != 1 || g->post.insns[0].kind != SN_INSN_LOAD) return false;
  const sn_operand *from = &g->post.operands[g->post.insns[0].args[0]];
  const sn_operand *to = &g->stores[0].target;
  return from->value != SN_NONE && from->offset == 0 && from->dtype == to->dtype &&
         is_run(from, g->space_rank, g->space) && is_run(to, g->space_rank, g->space) &&
         sn_group_points(g) == sn_type_size(&p->groups->values[from->value].type);
}

static bool has_one_result(const sn_group *g) {
  uint32_t n = g->n_stores;
  if (g->kind == SN_GROUP_CALL || g->kind == SN_GROUP_CHAIN || g->kind == SN_GROUP_CONTROL)
    return false;
  for (uint32_t i = 0; i < sn_group_phases(g); i++) n += g->row.phases[i].n_stores;
  return n == 1;
}

/* The maker of what the group copies takes its place; false: it has to be copied. */
static bool forward(const placing *p, const sn_group *copy) {
  if (!is_copy(p, copy)) return false;
  const sn_operand *to = &copy->stores[0].target;
  const uint32_t v = copy->post.operands[copy->post.insns[0].args[0]].value;
  const sn_value *values = p->groups->values;
  const use *made = &p->uses[v], *whole = &p->uses[to->value];
  if (values[v].kind != SN_VALUE_TEMP || made->n_reads != 1 || made->n_writes != 1) return false;
  if (!made->target || !has_one_result(&p->groups->groups[made->writer])) return false;
  if (whole->written != sn_type_size(&values[to->value].type) || whole->n_writes < 2) return false;
  made->target->value = to->value;
  made->target->offset += to->offset;
  return true;
}

/* Groups without those that are not needed any more; a node's kernel is the one that makes it now. */
static void drop(sn_groups *groups, const uint32_t *instead, uint32_t *number) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < groups->n_groups; i++) {
    number[i] = instead[i] == i ? n : number[instead[i]];
    if (instead[i] == i) groups->groups[n++] = groups->groups[i];
  }
  groups->n_groups = n;
  for (sn_id id = 0; id < groups->graph->n_nodes; id++)
    if (groups->kernel_of[id] != SN_NONE) groups->kernel_of[id] = number[groups->kernel_of[id]];
}

/* An internal error is better than a wrong value: what was moved is looked at again. */
sn_status sn_place_groups(sn_groups *groups, sn_arena *scratch) {
  const size_t before = groups->n_groups;
  placing p = {.groups = groups};
  uint32_t *instead, *number;
  SN_TRY(sn_arena_alloc(scratch, groups->n_values, sizeof *p.uses, (void **)&p.uses));
  SN_TRY(sn_arena_alloc(scratch, groups->n_groups, sizeof *instead, (void **)&instead));
  SN_TRY(sn_arena_alloc(scratch, groups->n_groups, sizeof *number, (void **)&number));
  for (p.group = 0; p.group < groups->n_groups; p.group++)
    sn_group_visit(&groups->groups[p.group], note_touch, &p);
  for (uint32_t i = 0; i < groups->n_groups; i++) {
    const sn_group *g = &groups->groups[i];
    const bool gone = forward(&p, g);
    instead[i] = gone ? p.uses[g->post.operands[g->post.insns[0].args[0]].value].writer : i;
  }
  drop(groups, instead, number);
  return groups->n_groups < before ? sn_groups_verify(groups, scratch) : SN_OK;
}
