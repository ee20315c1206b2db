/* kept_blocks.h - small blocks of a heap that were freed, kept for the next ones of their size. A call of a compiled
 * function takes and frees about ten, and the host's search for aligned ones was most of its time.
 *
 *   first[size in units - 1] -> block -> block ...      a block's first word is the next one
 *
 * Blocks have whole units of bytes from the host, so one serves all sizes of its list. */
#ifndef SN_BASE_KEPT_BLOCKS_H
#define SN_BASE_KEPT_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

enum { SN_KEPT_UNIT = 64, SN_KEPT_SIZES = 64, SN_KEPT_BYTES = 256 << 10 };

typedef struct sn_kept_blocks {
  bool on;      /* constant in the life of a heap: else blocks have exactly the size that was asked for */
  size_t bytes; /* of all that are kept, at most SN_KEPT_BYTES */
  void *first[SN_KEPT_SIZES];
} sn_kept_blocks;

/* Whether blocks of so many bytes, at least 1, are kept. */
static inline bool sn_kept_is_small(const sn_kept_blocks *kept, size_t bytes) {
  return kept->on && bytes <= (size_t)SN_KEPT_SIZES * SN_KEPT_UNIT;
}

/* What the host is asked for in place of a small number of bytes. */
static inline size_t sn_kept_whole(size_t bytes) {
  return (bytes + SN_KEPT_UNIT - 1) / SN_KEPT_UNIT * SN_KEPT_UNIT;
}

/* A block of a small number of bytes, or NULL. */
static inline void *sn_kept_take(sn_kept_blocks *kept, size_t bytes) {
  void **first = &kept->first[(bytes - 1) / SN_KEPT_UNIT], *block = *first;
  if (!block) return NULL;
  *first = *(void **)block;
  kept->bytes -= sn_kept_whole(bytes);
  return block;
}

/* Keeps one; false: there is no room. */
static inline bool sn_kept_give(sn_kept_blocks *kept, void *block, size_t bytes) {
  const size_t whole = sn_kept_whole(bytes);
  if (whole > SN_KEPT_BYTES - kept->bytes) return false;
  void **first = &kept->first[(bytes - 1) / SN_KEPT_UNIT];
  *(void **)block = *first;
  *first = block;
  kept->bytes += whole;
  return true;
}

#endif
