/* id_table.h - a hash table from a node's hash to its id: open addressing, at most half full. The caller
 * compares the nodes:
 *
 *   slot = sn_id_slot_at(&table, hash);
 *   while (slot->number && !(slot->hash == hash && <node slot->number - 1 is equal>))
 *     slot = sn_id_slot_behind(&table, slot); */
#ifndef SN_GRAPH_ID_TABLE_H
#define SN_GRAPH_ID_TABLE_H

#include "base/alloc.h"

typedef struct sn_id_slot {
  uint32_t hash, number; /* id + 1; 0: free */
} sn_id_slot;

typedef struct sn_id_table {
  sn_id_slot *slots;
  size_t size; /* a power of two */
  size_t n;    /* slots that are taken */
} sn_id_table;

static inline sn_id_slot *sn_id_slot_at(const sn_id_table *table, uint32_t hash) {
  return &table->slots[hash & (table->size - 1)];
}

static inline sn_id_slot *sn_id_slot_behind(const sn_id_table *table, const sn_id_slot *slot) {
  return &table->slots[(size_t)(slot - table->slots + 1) & (table->size - 1)];
}

static inline void sn_id_slot_take(sn_id_table *table, sn_id_slot *slot, uint32_t hash,
                                   uint32_t id) {
  *slot = (sn_id_slot){.hash = hash, .number = id + 1};
  table->n++;
}

/* Makes room for one more node. This may move the slots, so pointers to them become invalid. */
sn_status sn_id_table_reserve(sn_arena *arena, sn_id_table *table);

#endif
