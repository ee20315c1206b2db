/* environment.c - a page has no environment variables. Without this libc would import functions to
 * ask its host for them, which no bare page supplies. JS calls
 * sinter_set_debug and sinter_set_poison. */
#include <stdlib.h>

char *getenv(const char *name) {
  (void)name;
  return NULL;
}
