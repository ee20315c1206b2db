/* extents.h - free memory as a tree of blocks, for a platform that has none of its own.
 *
 * Who gives a block back says how large it is, so blocks have no headers: all of one is the user's,
 * and what the tree has to know of a free one stands in the block itself. Sizes and addresses are
 * multiples of SN_EXTENT. Neighbours that are both free are one block.
 *
 *   by address   left < node < right
 *   by size      parent >= node
 *
 * (a Cartesian tree: Stephenson, Fast Fits, 1983). Both orders are kept by one walk down, on
 * average as deep as a tree in random order, as sizes say little about addresses and equal ones are
 * told apart by a hash of the address.
 *
 * Blocks are taken from either end of memory. Who takes small ones, that may stay for long, from
 * below and large ones from above has all between them in one piece once the large ones are gone. */
#ifndef SN_BASE_EXTENTS_H
#define SN_BASE_EXTENTS_H

#include <stddef.h>

#define SN_EXTENT 64

typedef struct sn_extent sn_extent;
struct sn_extent {
  sn_extent *left, *right;
  size_t bytes;
};

/* A block of so many bytes: the begin of the lowest free block that has room. NULL when there is
 * none. */
void *sn_extents_take_low(sn_extent **root, size_t bytes);

/* The same: the end of the highest one, if that is at floor or above. */
void *sn_extents_take_high(sn_extent **root, size_t bytes, const void *floor);

void sn_extents_give(sn_extent **root, void *block, size_t bytes);

#endif
