#include "base/extents.h"

#include <stdbool.h>
#include <stdint.h>

/* A hash of the address, which orders blocks of equal size. */
static uint32_t scatter(const sn_extent *block) {
  return (uint32_t)((uintptr_t)block / SN_EXTENT) * 0x9e3779b1u;
}

static bool stands_above(const sn_extent *a, const sn_extent *b) {
  return a->bytes != b->bytes ? a->bytes > b->bytes : scatter(a) > scatter(b);
}

static char *end_of(sn_extent *block) { return (char *)block + block->bytes; }

/* Merges two trees into one at *at. All addresses in left are below those in right. */
static void join(sn_extent **at, sn_extent *left, sn_extent *right) {
  while (left && right) {
    if (stands_above(left, right)) {
      *at = left;
      at = &left->right;
      left = *at;
    } else {
      *at = right;
      at = &right->left;
      right = *at;
    }
  }
  *at = left ? left : right;
}

/* Inserts a block. The subtree that was at its place is split at its address into its two children. */
static void insert(sn_extent **at, sn_extent *block) {
  while (*at && stands_above(*at, block)) at = block < *at ? &(*at)->left : &(*at)->right;
  sn_extent *rest = *at, **left = &block->left, **right = &block->right;
  *at = block;
  while (rest) {
    if (rest < block) {
      *left = rest;
      left = &rest->right;
      rest = *left;
    } else {
      *right = rest;
      right = &rest->left;
      rest = *right;
    }
  }
  *left = *right = NULL;
}

static bool fits(const sn_extent *block, size_t bytes) { return block && block->bytes >= bytes; }

/* Removes the block at *at from the tree, and inserts the left_over bytes at `rest`, if any, again. */
static void cut(sn_extent **at, char *rest, size_t left_over) {
  join(at, (*at)->left, (*at)->right);
  if (!left_over) return;
  ((sn_extent *)rest)->bytes = left_over;
  insert(at, (sn_extent *)rest);
}

void *sn_extents_take_low(sn_extent **root, size_t bytes) {
  sn_extent **at = root;
  if (!fits(*at, bytes)) return NULL;
  while (fits((*at)->left, bytes)) at = &(*at)->left;
  sn_extent *block = *at;
  cut(at, (char *)block + bytes, block->bytes - bytes);
  return block;
}

void *sn_extents_take_high(sn_extent **root, size_t bytes, const void *floor) {
  sn_extent **at = root;
  if (!fits(*at, bytes)) return NULL;
  while (fits((*at)->right, bytes)) at = &(*at)->right;
  char *block = end_of(*at) - bytes;
  if (block < (const char *)floor) return NULL;
  cut(at, (char *)*at, (*at)->bytes - bytes);
  return block;
}

void sn_extents_give(sn_extent **root, void *block, size_t bytes) {
  char *from = block, *to = from + bytes;
  for (sn_extent **at = root; *at;) {
    sn_extent *other = *at;
    if (end_of(other) != from && (char *)other != to) {
      at = from < (char *)other ? &other->left : &other->right;
      continue;
    }
    if (from == end_of(other))
      from = (char *)other;
    else
      to = end_of(other);
    /* The walk goes on at the same place: the block's other neighbour may be there or below. */
    join(at, other->left, other->right);
  }
  sn_extent *whole = (sn_extent *)from;
  whole->bytes = (size_t)(to - from);
  insert(root, whole);
}
