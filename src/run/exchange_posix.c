#include "run/exchange.h"

#include "fuse/group_visit.h"

struct sn_exchanges {
  const sn_program_code *program;
  uint32_t *needed;  /* per step, and behind the last: so many exchanges, in order, must be over */
  uint32_t *number;  /* per step: the number of its exchange, or SN_NONE */
  uint64_t *tickets; /* per exchange, of the run under way */
};

/* Looks for results of exchanges among the values that a step touches. */
typedef struct search {
  const uint32_t *brings; /* per value: number of the exchange + 1, or 0 */
  uint32_t needed;
} search;

static sn_status meet(void *user, const sn_touch *touch) {
  search *s = user;
  const uint32_t value = touch->operand->value; /* SN_NONE: no memory, an iota */
  const uint32_t from = value == SN_NONE ? 0 : s->brings[value];
  if (from > s->needed) s->needed = from;
  return SN_OK;
}

static sn_status find(sn_arena *arena, const sn_program_code *program, uint32_t n,
                      sn_exchanges *e) {
  uint32_t *brings, at = 0;
  SN_TRY(sn_arena_alloc(arena, program->groups.n_values, sizeof *brings, (void **)&brings));
  for (size_t k = 0; k < program->n_steps; k++) {
    const sn_group *group = &program->groups.groups[program->steps[k].group];
    search s = {.brings = brings};
    SN_TRY(sn_group_visit(group, meet, &s));
    e->needed[k] = s.needed;
    e->number[k] = SN_NONE;
    if (program->steps[k].kind != SN_STEP_COLLECTIVE) continue;
    e->number[k] = at++;
    brings[group->stores[0].target.value] = at;
  }
  e->needed[program->n_steps] = n;
  return SN_OK;
}

sn_status sn_exchanges_make(sn_arena *arena, const sn_program_code *program, sn_exchanges **out) {
  uint32_t n = 0;
  for (size_t k = 0; k < program->n_steps; k++) n += program->steps[k].kind == SN_STEP_COLLECTIVE;
  if (!n) return SN_OK;
  sn_exchanges *e;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *e, (void **)&e));
  SN_TRY(sn_arena_alloc(arena, program->n_steps + 1, sizeof *e->needed, (void **)&e->needed));
  SN_TRY(sn_arena_alloc(arena, program->n_steps, sizeof *e->number, (void **)&e->number));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *e->tickets, (void **)&e->tickets));
  e->program = program;
  *out = e;
  return find(arena, program, n, e);
}

sn_status sn_exchange_before(const sn_exchanges *e, const sn_processes *with, size_t k) {
  const uint32_t needed = e->needed[k];
  return needed ? with->finish(with->user, e->tickets[needed - 1]) : SN_OK;
}

static sn_exchange_kind kind_of(const sn_group *group) {
  if (group->call.op == SN_OP_all_gather) return SN_EXCHANGE_ALL_GATHER;
  return group->call.options[2] == 1 ? SN_EXCHANGE_ALL_REDUCE : SN_EXCHANGE_REDUCE_SCATTER;
}

sn_status sn_exchange_start(sn_exchanges *e, const sn_processes *with, void *const *values,
                            size_t k) {
  if (e->number[k] == SN_NONE) return SN_OK;
  const sn_group *group = &e->program->groups.groups[e->program->steps[k].group];
  const sn_operand *to = &group->stores[0].target;
  const sn_exchange what = {.kind = kind_of(group),
                            .dtype = to->dtype,
                            .count = (size_t)group->call.lengths[0],
                            .from = values[group->call.operands[0].value],
                            .to = values[to->value]};
  return with->start(with->user, &what, &e->tickets[e->number[k]]);
}
