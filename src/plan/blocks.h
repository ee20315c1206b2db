/* blocks.h - best-fit allocation of offsets in one block that is still to be sized. Free blocks are
 * kept in order of their offsets; neighbours are merged when one is given back. */
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
  size_t end; /* bytes the block needs so far */
} sn_blocks;

/* The smallest free block that holds bytes. Where there is none, the end grows, by less if the last
 * block is free. */
sn_status sn_blocks_take(sn_blocks *blocks, size_t bytes, size_t *offset);

sn_status sn_blocks_give(sn_blocks *blocks, size_t offset, size_t bytes);

#endif
