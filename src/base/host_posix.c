#define _DEFAULT_SOURCE 1 /* madvise */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sys/mman.h>

#include "base/host.h"

double sn_host_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void sn_host_log(const char *text) { fputs(text, stderr); }

/* Large blocks are put on huge pages if the system has them: they need few TLB entries, and hardware prefetch does not
 * cross pages. */
enum { ALIGNMENT = 64, LARGE_PAGE = 2 << 20 };

#ifdef MADV_HUGEPAGE
static void ask_for_large_pages(void *block, size_t bytes) { madvise(block, bytes, MADV_HUGEPAGE); }
#else
static void ask_for_large_pages(void *block, size_t bytes) { (void)block, (void)bytes; }
#endif

void *sn_host_allocate(size_t bytes) {
  const size_t alignment = bytes < LARGE_PAGE ? ALIGNMENT : LARGE_PAGE;
  if (bytes > SIZE_MAX - alignment) return NULL;
  void *block = aligned_alloc(alignment, (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
  if (block && alignment == LARGE_PAGE) ask_for_large_pages(block, bytes / LARGE_PAGE * LARGE_PAGE);
  return block;
}

void sn_host_release(void *block, size_t bytes) {
  (void)bytes;
  free(block);
}
