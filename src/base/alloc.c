#include "base/alloc.h"

#include <string.h>

#include "base/apart.h"
#include "base/size.h"

#define SN_ALIGNMENT 64
#define SN_ARENA_ALIGNMENT 16
#define SN_ARENA_FIRST_CHUNK 4096
#define SN_ARENA_LARGEST_CHUNK ((size_t)1 << 20)
#define SN_ARENA_OWN_CHUNK ((size_t)1 << 18) /* bytes from which a block gets its own chunk */

bool sn_arena_apart;

struct sn_arena_chunk {
  sn_arena_chunk *next;
  size_t bytes; /* of the whole chunk, header included */
  size_t used;  /* header included */
  size_t padding_;
};

static bool test_failure(sn_heap *heap) {
  if (heap->fail_countdown < 0) return false;
  if (heap->fail_countdown > 0) {
    heap->fail_countdown--;
    return false;
  }
  if (!heap->fail_forever) heap->fail_countdown = -1;
  return true;
}

static void *try_allocate(sn_heap *heap, size_t bytes) {
  if (test_failure(heap) || bytes > heap->limit_bytes - heap->live_bytes) return NULL;
  size_t wanted = bytes;
  if (sn_kept_is_small(&heap->kept, bytes)) {
    void *block = sn_kept_take(&heap->kept, bytes);
    if (block) return block;
    wanted = sn_kept_whole(bytes);
  }
  return heap->allocator.allocate(heap->allocator.user, wanted, SN_ALIGNMENT);
}

static void release(sn_heap *heap, void *block, size_t bytes) {
  const bool small = sn_kept_is_small(&heap->kept, bytes);
  if (small && sn_kept_give(&heap->kept, block, bytes)) return;
  heap->allocator.release(heap->allocator.user, block, small ? sn_kept_whole(bytes) : bytes);
}

void sn_heap_end(sn_heap *heap) {
  for (size_t size = SN_KEPT_UNIT; size <= (size_t)SN_KEPT_SIZES * SN_KEPT_UNIT; size += SN_KEPT_UNIT)
    for (void *block; (block = sn_kept_take(&heap->kept, size));)
      heap->allocator.release(heap->allocator.user, block, size);
}

sn_status sn_alloc(sn_env *env, size_t bytes, void **out) {
  sn_heap *heap = &env->heap;
  const size_t asked = bytes ? bytes : 1;
  void *block = try_allocate(heap, asked);
  while (!block && heap->reclaim && heap->reclaim(heap->reclaim_user))
    block = try_allocate(heap, asked);
  SN_FAIL_IF(env, !block, SN_ERR_MEMORY, NULL, "out of memory: %zu bytes more, %zu in use", asked,
             heap->live_bytes);
  heap->live_bytes += asked;
  heap->live_blocks++;
  if (heap->live_bytes > heap->peak_bytes) heap->peak_bytes = heap->live_bytes;
  *out = block;
  return SN_OK;
}

sn_status sn_alloc_zeroed(sn_env *env, size_t count, size_t size, void **out) {
  size_t bytes;
  SN_FAIL_IF(env, sn_size_mul_overflows(count, size, &bytes), SN_ERR_MEMORY, NULL,
             "out of memory: %zu x %zu bytes", count, size);
  SN_TRY(sn_alloc(env, bytes, out));
  memset(*out, 0, bytes);
  return SN_OK;
}

void sn_free(sn_env *env, void *block, size_t bytes) {
  if (!block) return;
  const size_t asked = bytes ? bytes : 1;
  env->heap.live_bytes -= asked;
  env->heap.live_blocks--;
  release(&env->heap, block, asked);
}

sn_status sn_grow(sn_env *env, void **items, size_t *capacity, size_t used, size_t item_bytes) {
  if (used < *capacity) return SN_OK;
  const size_t count = *capacity ? *capacity * 2 : 16;
  void *grown = NULL; /* only to avoid a compiler warning: SN_TRY returns unless it is set */
  SN_TRY(sn_alloc_zeroed(env, count, item_bytes, &grown));
  if (used) memcpy(grown, *items, used * item_bytes);
  sn_free(env, *items, *capacity * item_bytes);
  *items = grown;
  *capacity = count;
  return SN_OK;
}

void sn_arena_init(sn_arena *arena, sn_env *env) { *arena = (sn_arena){.env = env}; }

void sn_arena_free(sn_arena *arena) {
  for (sn_arena_chunk *chunk = arena->chunk; chunk;) {
    sn_arena_chunk *next = chunk->next;
    sn_free(arena->env, chunk, chunk->bytes);
    chunk = next;
  }
  arena->chunk = NULL;
}

static sn_status new_chunk(sn_arena *arena, size_t bytes, sn_arena_chunk **out) {
  void *block;
  SN_TRY(sn_alloc(arena->env, bytes, &block));
  *out = block;
  **out = (sn_arena_chunk){.bytes = bytes, .used = sizeof **out};
  return SN_OK;
}

/* Adds a chunk with room for `need` bytes. A large block gets a chunk of its own, which is put behind
 * the newest chunk so that this one is filled further. */
static sn_status add_chunk(sn_arena *arena, size_t need, sn_arena_chunk **out) {
  size_t bytes = arena->chunk ? arena->chunk->bytes * 2 : SN_ARENA_FIRST_CHUNK;
  if (bytes > SN_ARENA_LARGEST_CHUNK) bytes = SN_ARENA_LARGEST_CHUNK;
  size_t least;
  SN_FAIL_IF(arena->env, sn_size_add_overflows(need, sizeof(sn_arena_chunk), &least), SN_ERR_MEMORY,
             NULL, "out of memory: %zu bytes", need);
  const bool own = arena->chunk && need >= SN_ARENA_OWN_CHUNK;
  const bool exact = own || bytes < least || sn_arena_apart;
  SN_TRY(new_chunk(arena, exact ? least : bytes, out));
  sn_arena_chunk **at = own ? &arena->chunk->next : &arena->chunk;
  (*out)->next = *at;
  *at = *out;
  return SN_OK;
}

void *sn_arena_take(sn_arena *arena, size_t count, size_t size) {
  size_t bytes;
  if (sn_size_mul_overflows(count, size, &bytes) ||
      !sn_size_round_up(bytes, SN_ARENA_ALIGNMENT, &bytes)) {
    SN_FAIL(arena->env, SN_ERR_MEMORY, NULL, "out of memory: %zu x %zu bytes", count, size);
    return NULL;
  }
  sn_arena_chunk *chunk = arena->chunk;
  const bool room = chunk && chunk->bytes - chunk->used >= bytes;
  if (!room && add_chunk(arena, bytes, &chunk)) return NULL;
  char *block = (char *)chunk + chunk->used;
  chunk->used += bytes;
  return memset(block, 0, bytes);
}

/* Frees a large block that has a chunk of its own. Any other block stays until the arena is freed. */
static void give_back(sn_arena *arena, const void *block, size_t bytes) {
  if (bytes < SN_ARENA_OWN_CHUNK) return;
  for (sn_arena_chunk **at = &arena->chunk; *at; at = &(*at)->next) {
    sn_arena_chunk *chunk = *at;
    if ((const void *)(chunk + 1) != block || chunk->bytes != bytes + sizeof *chunk) continue;
    *at = chunk->next;
    sn_free(arena->env, chunk, chunk->bytes);
    return;
  }
}

sn_status sn_arena_reserve(sn_arena *arena, void **items, size_t *capacity, size_t used,
                           size_t count, size_t item_bytes) {
  if (count <= *capacity) return SN_OK;
  void *grown = NULL; /* only to avoid a compiler warning: SN_TRY returns unless it is set */
  SN_TRY(sn_arena_alloc(arena, count, item_bytes, &grown));
  if (used) memcpy(grown, *items, used * item_bytes);
  size_t old;
  if (*capacity && sn_size_round_up(*capacity * item_bytes, SN_ARENA_ALIGNMENT, &old))
    give_back(arena, *items, old);
  *items = grown;
  *capacity = count;
  return SN_OK;
}

sn_status sn_arena_grow(sn_arena *arena, void **items, size_t *capacity, size_t used,
                        size_t item_bytes) {
  if (used < *capacity) return SN_OK;
  return sn_arena_reserve(arena, items, capacity, used, *capacity ? *capacity * 2 : 16, item_bytes);
}

sn_status sn_arena_text(sn_arena *arena, const char *text, const char **out) {
  const size_t bytes = strlen(text) + 1;
  void *copy;
  SN_TRY(sn_arena_alloc(arena, bytes, 1, &copy));
  memcpy(copy, text, bytes);
  *out = copy;
  return SN_OK;
}
