/* in_place.c - whether a value may take the memory of one that its group reads for the last time. */
#include "fuse/in_place.h"

#include "fuse/group_visit.h"
#include "graph/ops.h"

static bool same_access(const sn_operand *a, const sn_operand *b, int rank) {
  bool same = a->offset == b->offset && a->dtype == b->dtype && !sn_is_indexed(a);
  for (int i = 0; i < rank; i++) same = same && a->strides[i] == b->strides[i];
  return same;
}

/* Whether a reduction of the phase takes elements of `from` straight from memory: it does so after the
 * phase's stores, which may have overwritten them. */
static bool reduces_memory(const sn_phase *phase, uint32_t from) {
  for (uint32_t k = 0; k < phase->n_reductions; k++) {
    const sn_insn *insn = &phase->body.insns[phase->reductions[k].insn];
    if (insn->kind == SN_INSN_LOAD && phase->body.operands[insn->args[0]].value == from)
      return true;
  }
  return false;
}

/* The write of v that is being looked at, and the value whose place it takes. */
typedef struct takeover {
  const sn_group *group;
  uint32_t v, from;
  const sn_touch *write;
  bool any, all;
} takeover;

/* Checks that `from` is not read after the write: loads of the same place, in the same phase or, row
 * by row, an earlier one, come before it. A map before a product has ended by then. */
static sn_status check_read(void *user, const sn_touch *read) {
  takeover *t = user;
  if (read->operand->value != t->from || read->group != t->group) return SN_OK;
  if (sn_touch_writes(read)) t->all = false; /* the group runs again, within a memory budget */
  const bool in_post = t->write->phase == sn_group_phases(t->group);
  const bool in_time = read->role == SN_ROLE_LOAD &&
                       (in_post ? read->phase == t->write->phase : read->phase <= t->write->phase);
  t->all = t->all && in_time && same_access(read->operand, t->write->operand, read->rank);
  return SN_OK;
}

static sn_status check_write(void *user, const sn_touch *write) {
  takeover *t = user;
  const sn_group *g = t->group;
  if (write->operand->value != t->v || !sn_touch_writes(write) || write->group != g) return SN_OK;
  t->any = true;
  t->write = write;
  if (write->phase < sn_group_phases(g) && reduces_memory(&g->row.phases[write->phase], t->from))
    t->all = false;
  return sn_group_visit(g, check_read, t);
}

/* Whether v is a carry that is updated in place, and `from` its initial value. Other such carries may have the same initial
 * value: it is copied to their places before the first round. */
static bool carries_on(const sn_group *g, uint32_t v, uint32_t from) {
  const sn_control_flow *flow = &g->control;
  bool is_carry = false;
  if (!flow->in_place) return false;
  for (uint32_t i = 0; i < g->n_stores; i++) {
    const uint32_t k = flow->results[i];
    if (g->stores[i].target.value != v || k >= flow->n_operands || !flow->in_place[k]) continue;
    is_carry = flow->operands[k].value == from && flow->operands[k].offset == 0;
  }
  for (uint32_t k = 0; k < flow->n_operands; k++)
    if (flow->operands[k].value == from && !flow->in_place[k]) return false;
  return is_carry;
}

/* Whether the call is a scatter that can write its elements into `from` itself. Its indices and
 * updates are read meanwhile, so they must lie elsewhere. */
static bool updates(const sn_group *g, uint32_t from) {
  const sn_call *call = &g->call;
  if (sn_op_describe(call->op)->kind != SN_CLASS_SCATTER) return false;
  for (uint32_t k = 1; k < call->n_operands; k++)
    if (call->operands[k].value == from) return false;
  return call->operands[0].value == from &&
         same_access(&call->operands[0], &g->stores[0].target, g->space_rank + 1);
}

/* All stores of v must fit, of which a stack of scalars has several. Not in place: calls other than scatters, which read
 * whole lines; chains, where rows of a block may read all that is not local; control flow, except for its carries. */
bool sn_takes_over_in_step(const sn_group *g, uint32_t v, uint32_t from) {
  takeover t = {.group = g, .v = v, .from = from, .all = true};
  if (g->kind == SN_GROUP_CONTROL) return carries_on(g, v, from);
  if (g->kind == SN_GROUP_CALL) return updates(g, from);
  if (g->kind == SN_GROUP_CHAIN) return false;
  sn_group_visit(g, check_write, &t);
  return t.any && t.all;
}
