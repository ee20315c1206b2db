/* prologue.c - a map over few points whose result one product alone reads runs before it in the
 * same kernel. So the factors of a batch norm's channels need no kernel of their own:
 *
 *   map          r = rsqrt(variance + eps)
 *   contraction  relu((conv - mean) r weight + bias)
 *
 * The map moves to the product's place, where all that it reads still exists: memory is planned
 * afterwards. */
#include "fuse/chain.h"

/* Whether the group is a map over few points that makes a single value, which is no output. */
static bool is_prologue(const sn_groups *groups, const sn_group *map) {
  return map->kind == SN_GROUP_MAP && map->n_stores == 1 &&
         sn_group_points(map) <= groups->target->costs.prologue_points &&
         groups->values[map->stores[0].target.value].kind == SN_VALUE_TEMP;
}

sn_status sn_join_prologues(sn_groups *groups, sn_arena *arena, const uint32_t *n_reads,
                            const uint32_t *n_writes, sn_value_set *set, uint32_t *joins) {
  uint32_t *reader; /* per value: the last group that reads it */
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof *reader, (void **)&reader));
  for (uint32_t i = 0; i < groups->n_groups; i++) {
    sn_group_reads(&groups->groups[i], set);
    for (size_t k = 0; k < set->n; k++) reader[set->ids[k]] = i;
  }
  for (size_t i = 0; i < groups->n_groups; i++) {
    const sn_group *map = &groups->groups[i];
    joins[i] = SN_NONE;
    if (!is_prologue(groups, map)) continue;
    const uint32_t v = map->stores[0].target.value, to = reader[v];
    sn_group *product = &groups->groups[to];
    if (n_reads[v] != 1 || n_writes[v] != 1) continue; /* two groups may write a pad's buffer */
    if (product->kind != SN_GROUP_CONTRACTION || product->contraction.prologue) continue;
    sn_contraction *c = &product->contraction;
    SN_TRY(sn_arena_alloc(arena, 1, sizeof *map, (void **)&c->prologue));
    *c->prologue = *map;
    sn_group_buffers(product, 1, set);
    if (set->n > groups->target->limits.buffers) {
      c->prologue = NULL;
      continue;
    }
    product->flops += map->flops;
    product->bytes += map->bytes;
    joins[i] = to;
  }
  return SN_OK;
}
