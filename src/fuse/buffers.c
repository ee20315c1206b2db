/* buffers.c - sets of buffers that groups read and write. */
#include "fuse/fuse.h"
#include "fuse/group_visit.h"

sn_status sn_value_set_init(sn_value_set *set, sn_arena *arena, const sn_groups *groups) {
  *set = (sn_value_set){0};
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof *set->ids, (void **)&set->ids));
  return sn_arena_alloc(arena, groups->n_values, sizeof *set->seen, (void **)&set->seen);
}

static void begin(sn_value_set *set) {
  set->n = 0;
  set->stamp++;
}

static void add(sn_value_set *set, const sn_touch *touch) {
  const uint32_t v = touch->operand->value;
  if (v == SN_NONE || set->seen[v] == set->stamp) return;
  set->seen[v] = set->stamp;
  set->ids[set->n++] = v;
}

static sn_status add_read(void *user, const sn_touch *touch) {
  if (!sn_touch_writes(touch)) add(user, touch);
  return SN_OK;
}

static sn_status add_write(void *user, const sn_touch *touch) {
  if (sn_touch_writes(touch)) add(user, touch);
  return SN_OK;
}

void sn_group_reads(const sn_group *g, sn_value_set *set) {
  begin(set);
  sn_group_visit(g, add_read, set);
}

void sn_group_writes(const sn_group *g, sn_value_set *set) {
  begin(set);
  sn_group_visit(g, add_write, set);
}

size_t sn_group_buffers(const sn_group *groups, size_t n, sn_value_set *set) {
  begin(set);
  for (size_t i = 0; i < n; i++) sn_group_visit(&groups[i], add_write, set);
  const size_t n_writes = set->n;
  for (size_t i = 0; i < n; i++) sn_group_visit(&groups[i], add_read, set);
  return n_writes;
}
