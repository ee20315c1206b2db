#include "plan/touched.h"

#include "base/size.h"

static sn_status new_lists(sn_arena *arena, size_t n, size_t entries, sn_lists *out) {
  SN_TRY(sn_arena_alloc(arena, n + 2, sizeof *out->first, (void **)&out->first));
  return sn_arena_alloc(arena, entries, sizeof *out->list, (void **)&out->list);
}

static sn_status list_values(sn_touched *t, sn_arena *arena) {
  const size_t n = t->groups->n_groups;
  sn_value_set set;
  size_t capacity = 0;
  SN_TRY(sn_value_set_init(&set, arena, t->groups));
  SN_TRY(new_lists(arena, n, 0, &t->of_group));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *t->n_writes, (void **)&t->n_writes));
  for (size_t g = 0; g < n; g++) {
    const size_t at = t->of_group.first[g];
    t->n_writes[g] = (uint32_t)sn_group_buffers(&t->groups->groups[g], 1, &set);
    if (at + set.n > capacity)
      SN_TRY(sn_arena_reserve(arena, (void **)&t->of_group.list, &capacity, at, 2 * (at + set.n),
                              sizeof *set.ids));
    if (set.n) memcpy(t->of_group.list + at, set.ids, set.n * sizeof *set.ids);
    t->of_group.first[g + 1] = at + set.n;
  }
  return SN_OK;
}

/* Lists, by counting sort, the groups of each value: those that write it, or those that only read it. */
static sn_status list_groups(const sn_touched *t, sn_arena *arena, bool writers, sn_lists *out) {
  const size_t n = t->groups->n_groups, n_values = t->groups->n_values;
  SN_TRY(new_lists(arena, n_values, t->of_group.first[n], out));
  /* where lists begin while they are filled, and where they end afterwards */
  size_t *end = out->first + 1;
  for (int fill = 0; fill < 2; fill++) {
    for (size_t g = 0; g < n; g++) {
      const uint32_t *values = t->of_group.list + t->of_group.first[g];
      const size_t from = writers ? 0 : t->n_writes[g];
      const size_t to = writers ? t->n_writes[g] : sn_list_size(&t->of_group, g);
      for (size_t i = from; i < to; i++)
        if (fill)
          out->list[end[values[i]]++] = (uint32_t)g;
        else
          end[values[i] + 1]++;
    }
    for (size_t v = 0; !fill && v < n_values; v++) end[v + 1] += end[v];
  }
  return SN_OK;
}

static uint32_t last_reader(const sn_touched *t, uint32_t v) {
  const size_t n = sn_list_size(&t->readers, v);
  return n ? t->readers.list[t->readers.first[v] + n - 1] : 0;
}

/* The last group before which value v is in memory or can be made again. */
static uint32_t there_until(const sn_touched *t, uint32_t v, const bool *donate) {
  const sn_value *value = &t->groups->values[v];
  const uint32_t last = last_reader(t, v);
  if (value->kind == SN_VALUE_OUTPUT) return SN_NONE;
  if (value->kind == SN_VALUE_ARGUMENT) return donate && donate[value->argument] ? last : SN_NONE;
  return last > t->until[v] ? last : t->until[v];
}

/* The last group before which group g can run again: until then, all its inputs are there or can be made
 * again. 0 for control flow, which never runs again. */
static uint32_t group_until(const sn_touched *t, size_t g, const bool *donate) {
  const uint32_t *values = t->of_group.list + t->of_group.first[g];
  uint32_t until = t->groups->groups[g].kind == SN_GROUP_CONTROL ? 0 : SN_NONE;
  for (size_t i = 0; i < sn_list_size(&t->of_group, g); i++) {
    const uint32_t there = i < t->n_writes[g] ? SN_NONE : there_until(t, values[i], donate);
    if (there < until) until = there;
  }
  return until;
}

static void find_prices(sn_touched *t, const bool *donate) {
  const double per_byte = t->groups->target->costs.byte_flops;
  for (size_t v = 0; v < t->groups->n_values; v++) t->until[v] = SN_NONE;
  for (size_t g = 0; g < t->groups->n_groups; g++) {
    const sn_group *group = &t->groups->groups[g];
    const uint32_t *values = t->of_group.list + t->of_group.first[g];
    const uint32_t until = group_until(t, g, donate);
    for (size_t i = 0; i < t->n_writes[g]; i++) {
      t->price[values[i]] += group->flops + group->bytes * per_byte;
      if (until < t->until[values[i]]) t->until[values[i]] = until;
    }
  }
}

sn_status sn_touched_init(sn_touched *t, sn_arena *arena, const sn_groups *groups,
                          const bool *donate) {
  const size_t n = groups->n_values;
  *t = (sn_touched){.groups = groups};
  SN_TRY(list_values(t, arena));
  SN_TRY(list_groups(t, arena, false, &t->readers));
  SN_TRY(list_groups(t, arena, true, &t->writers));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *t->bytes, (void **)&t->bytes));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *t->price, (void **)&t->price));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *t->until, (void **)&t->until));
  for (size_t v = 0; v < n; v++)
    if (groups->values[v].kind != SN_VALUE_ARGUMENT)
      SN_CHECK(arena->env, sn_size_round_up(sn_type_bytes(&groups->values[v].type),
                                            groups->target->limits.alignment, &t->bytes[v]));
  find_prices(t, donate);
  return SN_OK;
}
