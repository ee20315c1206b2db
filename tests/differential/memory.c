/* memory.c - the C library's allocation for the tests, taken from the core's heap: otherwise both
 * would think that all memory behind the data is theirs. The size of a block stands before it. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"

enum { HEAD = 64 };

void *malloc(size_t bytes) {
  char *block = bytes > SIZE_MAX - HEAD ? NULL : sn_host_allocate(bytes + HEAD);
  if (!block) return NULL;
  *(size_t *)(void *)block = bytes + HEAD;
  return block + HEAD;
}

int posix_memalign(void **out, size_t alignment, size_t bytes) {
  *out = alignment > HEAD ? NULL : malloc(bytes);
  return *out ? 0 : ENOMEM;
}

void *calloc(size_t count, size_t size) {
  void *block = size && count > SIZE_MAX / size ? NULL : malloc(count * size);
  return block ? memset(block, 0, count * size) : NULL;
}

void free(void *block) {
  if (block) sn_host_release((char *)block - HEAD, *(size_t *)(void *)((char *)block - HEAD));
}

void *realloc(void *block, size_t bytes) {
  void *moved = malloc(bytes);
  if (!moved || !block) return moved;
  const size_t old = *(size_t *)(void *)((char *)block - HEAD) - HEAD;
  memcpy(moved, block, old < bytes ? old : bytes);
  free(block);
  return moved;
}
