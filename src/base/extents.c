#include "base/extents.h"

#include <stdbool.h>
#include <stdint.h>

static uint32_t scatter(const sn_extent *block) {
  return (uint32_t)((uintptr_t)block / SN_EXTENT) * 0x9e3779b1u;
}

static bool stands_above(const sn_extent *a, const sn_extent *b) {
  return a->bytes != b->bytes ? a->bytes > b->bytes : scatter(a) > scatter(b);
}

static char *end_of(sn_extent *block) { return (char *)block + block->bytes; }

/* Puts two trees, all of left before all of right, in the place of one. */
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

/* The tree below the block's place is cut in two at its address. */
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

/* Takes the block at *at out of the tree, and puts what is left of it, if anything, in again. */
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
    join(at, other->left, other->right); /* the other neighbour may be below */
  }
  sn_extent *whole = (sn_extent *)from;
  whole->bytes = (size_t)(to - from);
  insert(root, whole);
}
