#include <stdio.h>
#include <time.h>

#include "base/host.h"

double sn_host_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void sn_host_log(const char *text) { fputs(text, stderr); }
