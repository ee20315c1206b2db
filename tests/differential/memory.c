/* memory.c - the C library's allocation for the tests, out of the core's heap: both would think
 * that all memory behind the data is theirs. The size of a block stands before it. */
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

void *aligned_alloc(size_t alignment, size_t bytes) {
  return alignment > HEAD ? NULL : malloc(bytes);
}

void *calloc(size_t count, size_t size) {
  void *block = size && count > SIZE_MAX / size ? NULL : malloc(count * size);
  return block ? memset(block, 0, count * size) : NULL;
}

void free(void *block) {
  if (block) sn_host_release((char *)block - HEAD, *(size_t *)(void *)((char *)block - HEAD));
}
