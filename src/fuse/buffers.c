#include "fuse/fuse.h"

sn_status sn_value_set_init(sn_value_set *set, sn_arena *arena, const sn_groups *groups) {
  *set = (sn_value_set){0};
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof *set->ids, (void **)&set->ids));
  return sn_arena_alloc(arena, groups->n_values, sizeof *set->seen, (void **)&set->seen);
}

static void begin(sn_value_set *set) {
  set->n = 0;
  set->stamp++;
}

static void use_value(sn_value_set *set, uint32_t v) {
  if (v == SN_NONE || set->seen[v] == set->stamp) return;
  set->seen[v] = set->stamp;
  set->ids[set->n++] = v;
}

static void use(sn_value_set *set, const sn_operand *operand) { use_value(set, operand->value); }

static void use_body(sn_value_set *set, const sn_body *body) {
  for (uint32_t i = 0; i < body->n_operands; i++) use(set, &body->operands[i]);
}

static void add_reads(sn_value_set *set, const sn_group *g) {
  if (g->before) use_body(set, &g->before->post);
  for (uint32_t p = 0; p < g->n_phases; p++) use_body(set, &g->phases[p].body);
  if (g->kind == SN_GROUP_CONTRACTION) {
    use_value(set, g->a.value);
    use_value(set, g->b.value);
  }
  for (uint32_t k = 0; g->call && k < g->call->n_operands; k++) use(set, &g->call->operands[k]);
  use_body(set, &g->post);
}

static void add_writes(sn_value_set *set, const sn_group *g) {
  if (g->before) add_writes(set, g->before);
  for (uint32_t p = 0; p < g->n_phases; p++)
    for (uint32_t k = 0; k < g->phases[p].n_stores; k++) use(set, &g->phases[p].stores[k].target);
  for (uint32_t k = 0; k < g->n_stores; k++) use(set, &g->stores[k].target);
}

void sn_group_reads(const sn_group *g, sn_value_set *set) {
  begin(set);
  add_reads(set, g);
}

void sn_group_writes(const sn_group *g, sn_value_set *set) {
  begin(set);
  add_writes(set, g);
}

size_t sn_group_buffers(const sn_group *groups, size_t n, sn_value_set *set) {
  begin(set);
  for (size_t i = 0; i < n; i++) add_writes(set, &groups[i]);
  const size_t n_writes = set->n;
  for (size_t i = 0; i < n; i++) add_reads(set, &groups[i]);
  return n_writes;
}
