/* wait_posix.c - words on Linux futexes. */
#define _GNU_SOURCE 1

#include "threads/wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host.h"

#define SPIN_MS 0.02
#define LOADS_PER_TIME 16 /* the clock costs about as much as one pause */

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

uint32_t sn_wait_spin(sn_word *word, uint32_t value) {
  const double end = sn_host_now_ms() + SPIN_MS;
  do {
    for (int i = 0; i < LOADS_PER_TIME; i++) {
      const uint32_t seen = atomic_load_explicit(word, memory_order_acquire);
      if (seen != value) return seen;
      PAUSE();
    }
  } while (sn_host_now_ms() < end);
  return value;
}

void sn_wait_sleep(sn_word *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void sn_wait_wake(sn_word *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
