/* budget.c - searches for an order of turns (evict.h) whose plan keeps within the budget, and makes the
 * order's turns into groups. */
#include "plan/budget.h"

#include "fuse/chain.h"
#include "fuse/group_visit.h"
#include "plan/evict.h"

/* How many limits on the bytes in use are tried. A plan takes more than these bytes, because of
 * fragmentation, so the limit that meets the budget is found by search. */
enum { MOST_TRIES = 8, EVEN_TRIES = 8 };

typedef struct keeper {
  const sn_groups *groups;
  const sn_touched *touched;
  const bool *donate;
  size_t n_arguments, budget;
  uint32_t *to; /* per value: the buffer it has in the group that redirect visits */
} keeper;

/* ---- the groups of an order ------------------------------------------------------------------ */

static sn_status redirect(void *user, const sn_touch *touch) {
  const keeper *k = user;
  uint32_t *value = &touch->operand->value;
  if (*value != SN_NONE) *value = k->to[*value];
  return SN_OK;
}

static sn_status redirect_all(const keeper *k, sn_group *g) {
  SN_TRY(sn_group_visit(g, redirect, (void *)(uintptr_t)k));
  for (uint32_t m = 0; g->kind == SN_GROUP_CHAIN && m < g->chain->n_members; m++)
    SN_TRY(sn_group_visit(&g->chain->members[m], redirect, (void *)(uintptr_t)k));
  return SN_OK;
}

/* Makes the group of a turn: the original, or a copy if its values lie in other buffers in this turn. */
static sn_status put_turn(const keeper *k, sn_arena *arena, const sn_turn *turn,
                          const uint32_t *buffers, sn_group *out) {
  const sn_group *from = &k->groups->groups[turn->group];
  const size_t n = sn_list_size(&k->touched->of_group, turn->group);
  const uint32_t *values = k->touched->of_group.list + k->touched->of_group.first[turn->group];
  bool moved = false;
  for (size_t i = 0; i < n; i++) moved = moved || buffers[i] != values[i];
  *out = *from;
  if (!moved) return SN_OK;
  for (size_t i = 0; i < n; i++) k->to[values[i]] = buffers[i];
  SN_TRY(sn_group_copy(arena, from, out));
  SN_TRY(redirect_all(k, out));
  for (size_t i = 0; i < n; i++) k->to[values[i]] = values[i];
  return SN_OK;
}

/* Sets out->repeats and out->kernel_of: a node belongs to the first turn of the group that computes it. */
static sn_status renumber(const keeper *k, sn_arena *arena, const sn_order *order, sn_groups *out) {
  uint32_t *first;
  SN_TRY(sn_arena_alloc(arena, k->groups->n_groups, sizeof *first, (void **)&first));
  SN_TRY(sn_arena_alloc(arena, order->n_turns, sizeof *out->repeats, (void **)&out->repeats));
  for (uint32_t i = 0; i < order->n_turns; i++) {
    const sn_turn *turn = &order->turns[i];
    out->repeats[i] = turn->is_repeat ? first[turn->group] : SN_NONE;
    if (!turn->is_repeat) first[turn->group] = i;
  }
  const size_t n = k->groups->graph->n_nodes;
  SN_TRY(sn_arena_alloc(arena, n, sizeof *out->kernel_of, (void **)&out->kernel_of));
  for (size_t id = 0; id < n; id++) {
    const uint32_t old = k->groups->kernel_of[id];
    out->kernel_of[id] = old == SN_NONE ? SN_NONE : first[old];
  }
  return SN_OK;
}

static sn_status put_groups(const keeper *k, sn_arena *arena, const sn_order *order,
                            sn_groups *out) {
  const size_t n = k->groups->n_values;
  *out = *k->groups;
  out->n_groups = order->n_turns;
  out->n_values = order->n_buffers;
  SN_TRY(sn_arena_alloc(arena, out->n_groups, sizeof *out->groups, (void **)&out->groups));
  SN_TRY(sn_arena_alloc(arena, out->n_values, sizeof *out->values, (void **)&out->values));
  for (size_t v = 0; v < out->n_values; v++) {
    out->values[v] = k->groups->values[order->value_of[v]];
    if (v >= n) out->values[v].kind = SN_VALUE_TEMP;
  }
  for (size_t i = 0; i < order->n_turns; i++) {
    const sn_turn *turn = &order->turns[i];
    SN_TRY(put_turn(k, arena, turn, order->values + turn->first, &out->groups[i]));
  }
  return renumber(k, arena, order, out);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static sn_status arena_of(const keeper *k, sn_arena *scratch, const sn_groups *groups,
                          size_t *bytes) {
  sn_plan plan;
  SN_TRY(sn_plan_memory(scratch, groups, k->donate, k->n_arguments, &plan));
  *bytes = plan.arena_bytes;
  return SN_OK;
}

/* Sets *bytes to the arena that the groups for one limit take, SIZE_MAX if there are none. If that is
 * within the budget, makes the groups in arena. */
static sn_status try_limit(const keeper *k, sn_arena *arena, sn_arena *scratch, size_t limit,
                           size_t *bytes, sn_groups *out) {
  bool found;
  sn_order order;
  sn_groups tried;
  *bytes = SIZE_MAX;
  SN_TRY(sn_order_within_limit(scratch, k->touched, limit, &found, &order));
  if (!found) return SN_OK;
  SN_TRY(put_groups(k, scratch, &order, &tried));
  SN_TRY(arena_of(k, scratch, &tried, bytes));
  return *bytes <= k->budget ? put_groups(k, arena, &order, out) : SN_OK;
}

/* Tries a limit, unless an earlier one has met the budget. *reached: the smallest arena so far. */
static sn_status search_at(const keeper *k, sn_arena *arena, size_t limit, size_t *bytes,
                           size_t *reached, sn_groups *out) {
  if (*reached <= k->budget) return SN_OK;
  sn_arena scratch;
  sn_arena_init(&scratch, arena->env);
  const sn_status status = try_limit(k, arena, &scratch, limit, bytes, out);
  sn_arena_free(&scratch);
  SN_TRY(status);
  if (*bytes < *reached) *reached = *bytes;
  return SN_OK;
}

/* Tries the budget as limit and lowers it by the bytes by which the arena exceeds the budget; then
 * limits spread evenly below the budget; then limits above it, which can show how far one gets. */
static sn_status search(const keeper *k, sn_arena *arena, size_t needed, size_t *reached,
                        sn_groups *out) {
  const size_t below = k->budget / 2 / EVEN_TRIES, above = (needed - k->budget) / EVEN_TRIES;
  size_t limit = k->budget, bytes = SIZE_MAX;
  for (int i = 0; i < MOST_TRIES; i++) {
    SN_TRY(search_at(k, arena, limit, &bytes, reached, out));
    if (*reached <= k->budget || bytes == SIZE_MAX || bytes - k->budget >= limit) break;
    limit -= bytes - k->budget;
  }
  for (size_t i = 1; i < EVEN_TRIES; i++)
    SN_TRY(search_at(k, arena, k->budget - i * below, &bytes, reached, out));
  for (size_t i = 1; i < EVEN_TRIES; i++)
    SN_TRY(search_at(k, arena, k->budget + i * above, &bytes, reached, out));
  return SN_OK;
}

static sn_status keep_in(keeper *k, sn_arena *scratch, sn_arena *arena, sn_groups *out,
                         size_t *needed) {
  const size_t n = k->groups->n_values;
  sn_touched touched;
  SN_TRY(arena_of(k, scratch, k->groups, needed));
  if (*needed <= k->budget) return SN_OK;
  SN_TRY(sn_touched_init(&touched, scratch, k->groups, k->donate));
  k->touched = &touched;
  SN_TRY(sn_arena_alloc(scratch, n, sizeof *k->to, (void **)&k->to));
  for (uint32_t v = 0; v < n; v++) k->to[v] = v;
  size_t reached = *needed;
  SN_TRY(search(k, arena, *needed, &reached, out));
  SN_FAIL_IF(arena->env, reached > k->budget, SN_ERR_ARGUMENT, "compile",
             "a memory budget of %zu bytes cannot be met: the arena came down from %zu bytes to "
             "%zu" SN_HINT "raise the budget, or use smaller batches",
             k->budget, *needed, reached);
  return sn_groups_verify(out, scratch);
}

sn_status sn_keep_within_budget(sn_arena *arena, sn_groups *groups, const bool *donate,
                                size_t n_arguments, size_t budget, size_t *needed) {
  keeper k = {.groups = groups, .donate = donate, .n_arguments = n_arguments, .budget = budget};
  sn_groups out = *groups;
  sn_arena scratch;
  sn_arena_init(&scratch, arena->env);
  const sn_status status = keep_in(&k, &scratch, arena, &out, needed);
  sn_arena_free(&scratch);
  SN_TRY(status);
  *groups = out;
  return SN_OK;
}
