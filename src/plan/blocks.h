/* blocks.h - best-fit allocation of offsets (in bytes) in an arena whose size is not known yet. Free
 * blocks are kept in order of their offsets; adjacent ones are merged. */
#ifndef SN_PLAN_BLOCKS_H
#define SN_PLAN_BLOCKS_H

#include "base/alloc.h"

typedef struct sn_free_block {
  size_t offset, bytes;
} sn_free_block;

typedef struct sn_blocks {
  sn_arena *arena;
  sn_free_block *free;
  size_t n_free, capacity;
  size_t end; /* bytes that the arena needs so far */
} sn_blocks;

/* Takes bytes from the smallest free block that has them. If there is none, takes them at the end, which
 * grows; a free block at the end is used for the first part. */
sn_status sn_blocks_take(sn_blocks *blocks, size_t bytes, size_t *offset);

sn_status sn_blocks_give(sn_blocks *blocks, size_t offset, size_t bytes);

#endif
