/* alloc.h - all memory of the library comes from here.
 *
 * Two ways:
 *   heap    sn_alloc / sn_free: one block, 64-byte aligned, freed with its size. Long-lived things:
 *           contexts, tensors, storages, programs. Small ones go by way of kept_blocks.h.
 *   arena   sn_arena_alloc: bump allocation inside chunks taken from the heap; all goes at once
 *           with sn_arena_free. A compile owns one for its graphs and one for the program it makes,
 *           so a failure at any allocation is cleaned up by freeing two arenas.
 *
 *   arena:  chunk -> chunk -> chunk        each: [ header | used ......... | free ... ]
 *                                                                          ^ cursor
 * Only the newest chunk is bumped; a large block has a chunk for itself. Blocks are 16-byte aligned
 * and never move. None is freed by itself, except by the functions below that let arrays grow. */
#ifndef SN_BASE_ALLOC_H
#define SN_BASE_ALLOC_H

#include <string.h>

#include "base/env.h"

/* Allocates bytes (0 allowed: a unique pointer) into *out; SN_ERR_MEMORY on failure, *out
 * untouched. */
sn_status sn_alloc(sn_env *env, size_t bytes, void **out);

/* As sn_alloc, for count * size bytes, checked, and zeroed. */
sn_status sn_alloc_zeroed(sn_env *env, size_t count, size_t size, void **out);

/* Frees a block of sn_alloc with the size it was asked with; NULL is ignored. */
void sn_free(sn_env *env, void *block, size_t bytes);

/* Gives the allocator back what the heap keeps for later: when nothing else of it is left. */
void sn_heap_end(sn_heap *heap);

/* Doubles an array's capacity (in elements) when used == *capacity, keeping its contents. */
sn_status sn_grow(sn_env *env, void **items, size_t *capacity, size_t used, size_t item_bytes);

typedef struct sn_arena_chunk sn_arena_chunk;

typedef struct sn_arena {
  sn_env *env;
  sn_arena_chunk *chunk; /* newest first */
} sn_arena;

void sn_arena_init(sn_arena *arena, sn_env *env);
void sn_arena_free(sn_arena *arena);

/* count * size zeroed bytes from the arena, checked; NULL with the error set on failure. */
void *sn_arena_take(sn_arena *arena, size_t count, size_t size);

/* The same as a status; *out untouched on failure. Inline: the pointer of a caller that is set here
 * need not lie in memory. */
__attribute__((always_inline)) static inline sn_status sn_arena_alloc(sn_arena *arena, size_t count,
                                                                      size_t size, void **out) {
  void *block = sn_arena_take(arena, count, size);
  if (!block) return SN_ERR_MEMORY;
  *out = block;
  return SN_OK;
}

/* Gives an array that lives in the arena room for at least count elements; its first `used` ones
 * are kept. A small old copy stays behind until the arena goes, a large one is freed. */
sn_status sn_arena_reserve(sn_arena *arena, void **items, size_t *capacity, size_t used,
                           size_t count, size_t item_bytes);

/* Doubles it when used == *capacity. */
sn_status sn_arena_grow(sn_arena *arena, void **items, size_t *capacity, size_t used,
                        size_t item_bytes);

/* Copies a NUL-terminated text into the arena. */
sn_status sn_arena_text(sn_arena *arena, const char *text, const char **out);

/* Whether two blocks hold the same bytes; 0 of them, which may be at NULL, are the same. */
static inline bool sn_same_bytes(const void *a, const void *b, size_t bytes) {
  return bytes == 0 || memcmp(a, b, bytes) == 0;
}

#endif
