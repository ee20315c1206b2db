#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/host.h"

double sn_host_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void sn_host_log(const char *text) { fputs(text, stderr); }

enum { ALIGNMENT = 64 };

void *sn_host_allocate(size_t bytes) {
  if (bytes > SIZE_MAX - ALIGNMENT) return NULL;
  return aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
}

void sn_host_release(void *block, size_t bytes) {
  (void)bytes;
  free(block);
}
