/* extents.h - free memory as a tree of blocks, for a platform without an allocator of its own.
 *
 * The caller says how large a block is when giving it back, so blocks have no headers. All of a
 * block is its user's; what the tree has to know of a free one stands in the block itself. Sizes
 * and addresses are multiples of SN_EXTENT. Two free neighbours are one block.
 *
 *   by address   left < node < right
 *   by size      parent >= node
 *
 * (a Cartesian tree: Stephenson, Fast Fits, 1983). One walk down keeps both orders. On average it
 * is as deep as in a tree of random order: sizes say little about addresses, and a hash of the
 * address tells equal sizes apart.
 *
 * Blocks are taken from either end of memory. Small blocks may stay for long. A caller that takes
 * these from below and large ones from above has everything between them in one piece once the
 * large ones are gone. */
#ifndef SN_BASE_EXTENTS_H
#define SN_BASE_EXTENTS_H

#include <stddef.h>

#define SN_EXTENT 64

typedef struct sn_extent sn_extent;
struct sn_extent {
  sn_extent *left, *right;
  size_t bytes;
};

/* A block of so many bytes: the beginning of the lowest free block that has room. NULL: there is
 * none. */
void *sn_extents_take_low(sn_extent **root, size_t bytes);

/* The same: the end of the highest one, if that is at floor or above. */
void *sn_extents_take_high(sn_extent **root, size_t bytes, const void *floor);

void sn_extents_give(sn_extent **root, void *block, size_t bytes);

#endif
