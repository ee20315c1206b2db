/* extents.h - an allocator that keeps free memory as a tree of blocks, for platforms that have none.
 *
 * The caller gives the size of a block when it frees it, so blocks have no headers. A free block holds
 * its own node of the tree. Sizes and addresses are multiples of SN_EXTENT. Two adjacent free blocks
 * are always merged.
 *
 *   by address   left < node < right
 *   by size      parent >= node
 *
 * (a Cartesian tree: Stephenson, Fast Fits, 1983). One walk down maintains both orders. Its average
 * length is that in a randomly ordered tree, because sizes say little about addresses; equal sizes are
 * ordered by a hash of the address.
 *
 * Blocks are taken from either end of memory. Small blocks may live long. If a caller takes small
 * blocks from below and large ones from above, all memory between is one free block once the large
 * ones are freed. */
#ifndef SN_BASE_EXTENTS_H
#define SN_BASE_EXTENTS_H

#include <stddef.h>

#define SN_EXTENT 64

typedef struct sn_extent sn_extent;
struct sn_extent {
  sn_extent *left, *right;
  size_t bytes;
};

/* Takes `bytes` from the beginning of the lowest free block with room; NULL if there is none. */
void *sn_extents_take_low(sn_extent **root, size_t bytes);

/* Takes `bytes` from the end of the highest free block with room; NULL if there is none, or if the
 * taken block would begin below floor. */
void *sn_extents_take_high(sn_extent **root, size_t bytes, const void *floor);

void sn_extents_give(sn_extent **root, void *block, size_t bytes);

#endif
