/* alone.c - linked into tests of one thread, which the build for ThreadSanitizer leaves out: they run what
 * they test on the thread of main. Invariant: such a program starts no thread but the driver of one context
 * (which test_driver tests). In all other builds this file ends a program that starts another one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*enter)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*enter)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*enter)(void *), void *argument) {
  static int started;
  if (started++ > 0) {
    fputs("this test starts threads: take its name out of `alone` in tests/native/CMakeLists.txt\n",
          stderr);
    abort();
  }
  return __real_pthread_create(thread, attributes, enter, argument);
}
