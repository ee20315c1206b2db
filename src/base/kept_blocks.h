/* kept_blocks.h - free lists by size: a heap keeps small blocks that are freed, for the next allocations of their size. A
 * call of a compiled function allocates and frees about ten, and most of its time was the host's search for aligned ones.
 *
 *   first[size in units - 1] -> block -> block ...      a block's first word is the next one
 *
 * The host is asked for whole units, so a block serves all sizes of its list. */
#ifndef SN_BASE_KEPT_BLOCKS_H
#define SN_BASE_KEPT_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

enum { SN_KEPT_UNIT = 64, SN_KEPT_SIZES = 64, SN_KEPT_BYTES = 256 << 10 };

typedef struct sn_kept_blocks {
  bool on;      /* constant in a heap's life; off: keeps nothing and rounds no size up */
  size_t bytes; /* in all kept blocks, at most SN_KEPT_BYTES */
  void *first[SN_KEPT_SIZES];
} sn_kept_blocks;

/* Whether blocks of this size, at least 1, are small: they are rounded up and may be kept. */
static inline bool sn_kept_is_small(const sn_kept_blocks *kept, size_t bytes) {
  return kept->on && bytes <= (size_t)SN_KEPT_SIZES * SN_KEPT_UNIT;
}

/* The size that the host is asked for when a small block of `bytes` is wanted. */
static inline size_t sn_kept_whole(size_t bytes) {
  return (bytes + SN_KEPT_UNIT - 1) / SN_KEPT_UNIT * SN_KEPT_UNIT;
}

/* Takes a kept block for a small size; NULL if there is none. */
static inline void *sn_kept_take(sn_kept_blocks *kept, size_t bytes) {
  void **first = &kept->first[(bytes - 1) / SN_KEPT_UNIT], *block = *first;
  if (!block) return NULL;
  *first = *(void **)block;
  kept->bytes -= sn_kept_whole(bytes);
  return block;
}

/* Keeps a freed small block; false if that would exceed SN_KEPT_BYTES. */
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
