/* wait_posix.c - words on Linux futexes. */
#define _GNU_SOURCE 1

#include "threads/wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host.h"

#define LOADS_PER_TIME 16 /* the clock costs about as much as one pause */

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

uint32_t sn_wait_spin(sn_word *word, uint32_t value, int us) {
  const double end = sn_host_now_ms() + us * 1e-3;
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

/* Keeps the thread off a CPU; false if that is impossible, or it is off that CPU anyway. */
static bool avoid(int cpu, cpu_set_t *allowed, cpu_set_t *others) {
  if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof *allowed, allowed)) return false;
  *others = *allowed;
  CPU_CLR((size_t)cpu, others);
  if (CPU_EQUAL(others, allowed) || CPU_COUNT(others) == 0) return false;
  return sched_setaffinity(0, sizeof *others, others) == 0;
}

/* Allows the CPUs from before again, unless somebody has changed the thread's CPUs meanwhile. */
static void allow(const cpu_set_t *allowed, const cpu_set_t *others) {
  cpu_set_t now;
  if (sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, others))
    sched_setaffinity(0, sizeof *allowed, allowed);
}

void sn_wait_sleep_apart(sn_word *word, uint32_t value, sn_word *caller) {
  const int cpu = (int)atomic_load_explicit(caller, memory_order_relaxed) - 1;
  cpu_set_t allowed, others;
  const bool avoids = avoid(cpu, &allowed, &others);
  sn_wait_sleep(word, value);
  if (avoids) allow(&allowed, &others);
}

void sn_wait_call(sn_word *word, sn_word *caller) {
  atomic_store_explicit(caller, (uint32_t)(sched_getcpu() + 1), memory_order_relaxed);
  sn_wait_wake(word);
}

void sn_wait_wake(sn_word *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
