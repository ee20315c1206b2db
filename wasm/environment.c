/* environment.c - a page has no environment variables. Without this file libc would import functions
 * that ask the host for them, which no bare page has. JS calls sinter_set_debug and
 * sinter_set_poison instead. */
#include <stdlib.h>

char *getenv(const char *name) {
  (void)name;
  return NULL;
}
