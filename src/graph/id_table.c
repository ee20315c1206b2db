#include "graph/id_table.h"

sn_status sn_id_table_reserve(sn_arena *arena, sn_id_table *table) {
  if (table->size > 2 * table->n) return SN_OK;
  const sn_id_table old = *table;
  SN_TRY(sn_arena_alloc(arena, old.size ? 2 * old.size : 64, sizeof *old.slots,
                        (void **)&table->slots));
  table->size = old.size ? 2 * old.size : 64;
  for (size_t i = 0; i < old.size; i++) {
    if (!old.slots[i].number) continue;
    sn_id_slot *slot = sn_id_slot_at(table, old.slots[i].hash);
    while (slot->number) slot = sn_id_slot_behind(table, slot);
    *slot = old.slots[i];
  }
  return SN_OK;
}
