/* alloc.h - all memory of the library comes from here.
 *
 * Two ways:
 *   heap    sn_alloc / sn_free: one block, 64-byte aligned, freed with its size. Long-lived things:
 *           contexts, tensors, storages, programs. Small blocks are recycled by kept_blocks.h.
 *   arena   sn_arena_alloc: bump allocation inside chunks taken from the heap, which sn_arena_free
 *           frees all at once. A compile owns two arenas for its graphs and one for the program it
 *           makes, so after a failure at any allocation it frees these.
 *
 *   arena:  chunk -> chunk -> chunk        each: [ header | used ......... | free ... ]
 *                                                                          ^ cursor
 * Only the newest chunk is bumped; a large block gets a chunk of its own. Blocks are 16-byte aligned
 * and never move. Single blocks are not freed, except when sn_arena_reserve replaces a large array. */
#ifndef SN_BASE_ALLOC_H
#define SN_BASE_ALLOC_H

#include <string.h>

#include "base/env.h"

/* Allocates bytes (0 allowed: a unique pointer) into *out; SN_ERR_MEMORY on failure, *out
 * untouched. */
sn_status sn_alloc(sn_env *env, size_t bytes, void **out);

/* Like sn_alloc, for count * size bytes, zeroed; SN_ERR_MEMORY if the product overflows. */
sn_status sn_alloc_zeroed(sn_env *env, size_t count, size_t size, void **out);

/* Frees a block. bytes: the size it was allocated with. NULL is ignored. */
void sn_free(sn_env *env, void *block, size_t bytes);

/* Returns the small blocks that the heap keeps to the allocator. For the end of a heap, when all its
 * other blocks are freed. */
void sn_heap_end(sn_heap *heap);

/* Doubles an array's capacity (in elements) when used == *capacity, keeping its contents. */
sn_status sn_grow(sn_env *env, void **items, size_t *capacity, size_t used, size_t item_bytes);

typedef struct sn_arena_chunk sn_arena_chunk;

typedef struct sn_arena {
  sn_env *env;
  sn_arena_chunk *chunk; /* the list of chunks; blocks are bumped in the first */
} sn_arena;

void sn_arena_init(sn_arena *arena, sn_env *env);
void sn_arena_free(sn_arena *arena);

/* Allocates count * size zeroed bytes. NULL with the error set if memory is short or the product
 * overflows. */
void *sn_arena_take(sn_arena *arena, size_t count, size_t size);

/* The same with a status; *out is untouched on failure. Always inline, so that the compiler can keep
 * the caller's pointer in a register although its address is taken. */
__attribute__((always_inline)) static inline sn_status sn_arena_alloc(sn_arena *arena, size_t count,
                                                                      size_t size, void **out) {
  void *block = sn_arena_take(arena, count, size);
  if (!block) return SN_ERR_MEMORY;
  *out = block;
  return SN_OK;
}

/* Gives an array in the arena room for at least count elements and keeps its first `used` ones; the
 * others are zeroed if it moves. A small old copy stays in the arena, a large one is freed. */
sn_status sn_arena_reserve(sn_arena *arena, void **items, size_t *capacity, size_t used,
                           size_t count, size_t item_bytes);

/* The same, but doubles the capacity, and only if used == *capacity. */
sn_status sn_arena_grow(sn_arena *arena, void **items, size_t *capacity, size_t used,
                        size_t item_bytes);

/* Copies a NUL-terminated text into the arena. */
sn_status sn_arena_text(sn_arena *arena, const char *text, const char **out);

/* Whether two blocks hold the same bytes. If bytes is 0 they do, and may be NULL. */
static inline bool sn_same_bytes(const void *a, const void *b, size_t bytes) {
  return bytes == 0 || memcmp(a, b, bytes) == 0;
}

#endif
