#include "plan/blocks.h"

#include <string.h>

#include "base/size.h"

static void remove_block(sn_blocks *b, size_t i) {
  memmove(b->free + i, b->free + i + 1, (b->n_free - i - 1) * sizeof *b->free);
  b->n_free--;
}

sn_status sn_blocks_take(sn_blocks *b, size_t bytes, size_t *offset) {
  size_t best = b->n_free;
  for (size_t i = 0; i < b->n_free; i++)
    if (b->free[i].bytes >= bytes && (best == b->n_free || b->free[i].bytes < b->free[best].bytes))
      best = i;
  if (best < b->n_free) {
    *offset = b->free[best].offset;
    b->free[best].offset += bytes;
    b->free[best].bytes -= bytes;
    if (!b->free[best].bytes) remove_block(b, best);
    return SN_OK;
  }
  *offset = b->end;
  if (b->n_free && b->free[b->n_free - 1].offset + b->free[b->n_free - 1].bytes == b->end)
    *offset = b->free[--b->n_free].offset;
  SN_FAIL_IF(b->arena->env, sn_size_add_overflows(*offset, bytes, &b->end), SN_ERR_MEMORY, "plan",
             "intermediates are too large: %zu bytes and %zu more", *offset, bytes);
  return SN_OK;
}

sn_status sn_blocks_give(sn_blocks *b, size_t offset, size_t bytes) {
  if (!bytes) return SN_OK;
  SN_TRY(sn_arena_grow(b->arena, (void **)&b->free, &b->capacity, b->n_free, sizeof *b->free));
  size_t low = 0, high = b->n_free; /* a binary search for the first block behind the new one */
  while (low < high) {
    const size_t mid = (low + high) / 2;
    if (b->free[mid].offset < offset)
      low = mid + 1;
    else
      high = mid;
  }
  memmove(b->free + low + 1, b->free + low, (b->n_free - low) * sizeof *b->free);
  b->free[low] = (sn_free_block){offset, bytes};
  b->n_free++;
  if (low + 1 < b->n_free && offset + bytes == b->free[low + 1].offset) {
    b->free[low].bytes += b->free[low + 1].bytes;
    remove_block(b, low + 1);
  }
  if (low > 0 && b->free[low - 1].offset + b->free[low - 1].bytes == offset) {
    b->free[low - 1].bytes += b->free[low].bytes;
    remove_block(b, low);
  }
  return SN_OK;
}
